package import HoldfastCommandKit
package import HoldfastCore
import HoldfastOwnerFiles
import HoldfastPorts

// The options that several features share.
extension Shared {
  package static let data = Parameter.optional(
    "data", .text("DIR"), usual: "$XDG_DATA_HOME/holdfast or ~/.local/share/holdfast",
    "keep data in this directory; a missing one is created with mode 700")

  /// The data directory of a command that only reads data.
  package static let writtenData = Parameter.optional(
    "data", .text("DIR"), usual: "$XDG_DATA_HOME/holdfast or ~/.local/share/holdfast",
    "read the data in this directory")

  package static let journal = Parameter.optional(
    "journal", .text("FILE"),
    "record every decision in this file for `replay`, without tokens; an existing journal is "
      + "renamed to FILE.old1, and so on")
}

extension Invocation {
  /// Returns the directory given by `--data`, or the default of the XDG base directory
  /// specification.
  ///
  /// - Throws: A failure if there is no home directory, or if users other than the owner can change
  ///   the directory.
  package func dataDirectory() throws(CommandFailure) -> String {
    let directory = try namedDirectory()
    try demandOwned(directory)
    return directory
  }

  /// Runs `work` on a store in the data directory, and converts its failure to a command failure.
  package func withData<Value>(
    _ work: (_ directory: String) async throws(StoreFailure) -> Value
  ) async throws(CommandFailure) -> Value {
    let directory = try dataDirectory()
    return try await CommandFailure.catching { () throws(StoreFailure) in
      try await work(directory)
    }
  }

  /// Throws an error if users other than the owner can change a data directory. The ssh program has
  /// a similar check.
  package func demandOwned(_ directory: String) throws(CommandFailure) {
    guard OwnerFile.isOpenToOthers(directory) else { return }
    throw CommandFailure(
      .failed, "users other than its owner can put files into the data directory \(directory)",
      remedy: "run chmod 700 \(directory), or use another --data")
  }

  /// Returns the directory given by `--data`, or the default of the XDG base directory
  /// specification.
  package func namedDirectory() throws(CommandFailure) -> String {
    if let directory = self[Shared.data] { return directory }
    return try usualDirectory()
  }

  /// Returns the default data directory of the XDG base directory specification.
  package func usualDirectory() throws(CommandFailure) -> String {
    // The specification requires relative paths to be ignored (version 0.8, "Basics").
    if let base = environment("XDG_DATA_HOME"), base.hasPrefix("/") { return "\(base)/holdfast" }
    guard let home = environment("HOME"), home.hasPrefix("/") else {
      throw CommandFailure(
        .usage, "there is no home directory for the data", remedy: "add --data DIR")
    }
    return "\(home)/.local/share/holdfast"
  }
}

extension CommandFailure {
  /// Creates the failure for an error of a store. The store's own text contains the remedy.
  package init(_ failure: StoreFailure) {
    switch failure {
    case .full(let detail), .locked(let detail), .corrupt(let detail), .denied(let detail),
      .other(let detail):
      self.init(.failed, detail)
    case .fromTheFuture(let found, let supported):
      self.init(
        .failed, "the store has format \(found); this program supports formats up to \(supported)",
        remedy: "use the newer version of holdfast, or another --data directory")
    }
  }

  /// Runs `work` on a store, and converts its failure to a command failure.
  package static func catching<Value>(
    _ work: () async throws(StoreFailure) -> Value
  ) async throws(CommandFailure) -> Value {
    do throws(StoreFailure) {
      return try await work()
    } catch {
      throw CommandFailure(error)
    }
  }
}

extension SuspendableStore {
  /// Runs `work` and then closes the store, even if `work` throws an error.
  package func closing<Value, Failure: Error>(
    after work: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(Failure) {
      let value = try await work()
      await close()
      return value
    } catch {
      await close()
      throw error
    }
  }
}
