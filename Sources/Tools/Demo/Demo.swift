/// Why a story could not be told to its end.
public enum DemoFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The user wanted it to end.
  case interrupted
  /// Something that it stands on did not work.
  case setup(String)

  /// The cause in words.
  public var description: String {
    switch self {
    case .interrupted: "interrupted before its end"
    case .setup(let cause): cause
    }
  }
}

/// The story of a phone that follows a shop while everything under it breaks, on real sockets.
public struct Demo: Sendable {
  private let program: String
  private let seed: UInt64
  private let narrator: Narrator
  private let tell: @Sendable (String) -> Void

  /// A story with the phone at `program`, told line by line; `seed` decides what customers write.
  public init(
    program: String, seed: UInt64, narrator: Narrator, tell: @escaping @Sendable (String) -> Void
  ) {
    self.program = program
    self.seed = seed
    self.narrator = narrator
    self.tell = tell
  }

  /// Plays the whole story, which takes less than a minute; true when the ledger is clean.
  ///
  /// Cancel its task to end it early. Nothing stays behind: no process, no file.
  public func run() async throws(DemoFailure) -> Bool {
    let scratch = try Scratch()
    defer { scratch.remove() }
    let stage = try await Stage(
      scratch: scratch, seed: seed, program: program, narrator: narrator, tell: tell)
    do throws(DemoFailure) {
      let isClean = try await stage.play()
      await stage.clear()
      return isClean
    } catch {
      await stage.clear()
      throw error
    }
  }
}
