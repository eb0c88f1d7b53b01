import Foundation
import HoldfastCommandKit
import HoldfastOwnerFiles
import HoldfastTestKit

/// The reason why the demo ended early.
public enum DemoFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The user interrupted the demo.
  case interrupted
  /// A part of the demo could not be set up.
  case setup(String)

  /// A human-readable description of the reason.
  public var description: String {
    switch self {
    case .interrupted: "interrupted before its end"
    case .setup(let cause): cause
    }
  }
}

/// A demo in which a phone follows a shop over real sockets while faults are injected.
public struct Demo: Sendable {
  private let program: String
  private let scenarios: [any DemoScenario]
  private let seed: UInt64
  private let narrator: Narrator
  private let page: PrivateOutput?
  private let work: Duration
  private let output: @Sendable (String) -> Void
  private let wrote: @Sendable () -> Void

  /// Creates a demo.
  ///
  /// - Parameters:
  ///   - program: The executable file that is run as the phone.
  ///   - names: The scenarios to play, from `Demo.names`. If the set is empty, all are played.
  ///     Scenarios that use the shop's messages are played while there is traffic.
  ///   - seed: The seed of the customers' texts.
  ///   - page: The file into which a page of the demo is written; `nil` for no page.
  ///   - work: The time that the machine may need for each fault, beyond what the policies set.
  ///   - wrote: A function that is called at the end if the page was written.
  ///   - output: A function that receives the output line by line.
  public init(
    program: String, scenarios names: Set<String> = [], seed: UInt64, narrator: Narrator,
    page: String? = nil, work: Duration = .seconds(2),
    wrote: @escaping @Sendable () -> Void = {}, output: @escaping @Sendable (String) -> Void
  ) {
    self.program = program
    scenarios = Self.scenarios(named: names)
    self.seed = seed
    self.narrator = narrator
    self.page = page.map { PrivateOutput($0, option: "--html") }
    (self.work, self.wrote) = (work, wrote)
    self.output = output
  }

  /// Plays the scenarios in less than a minute. Returns whether the ledger is clean.
  ///
  /// Cancel the task to end the demo early. In every case, the demo leaves no processes or files
  /// behind.
  public func run() async throws(DemoFailure) -> Bool {
    let (isClean, isDrawn) = try await played()
    if isDrawn { wrote() }
    return try isClean.get()
  }

  /// Plays the scenarios. Returns whether the ledger is clean, and whether the page was written.
  private func played() async throws(DemoFailure) -> (Result<Bool, DemoFailure>, isDrawn: Bool) {
    let scratch = try Self.scratch()
    defer { scratch.remove() }
    let environment = try await DemoEnvironment(
      scratch: scratch, scenarios: scenarios, seed: seed, program: program, narrator: narrator,
      isDrawn: page != nil, work: work, output: output)
    let isClean: Result<Bool, DemoFailure>
    do throws(DemoFailure) {
      isClean = .success(try await environment.play())
    } catch {
      isClean = .failure(error)
    }
    // The ends of the apps and of the servers belong to no scenario.
    await environment.picture?.stop()
    await environment.clear()
    guard let page, let picture = environment.picture else { return (isClean, false) }
    do throws(DemoFailure) {
      // What happened until a failure is worth a look, too.
      try await picture.write(to: page)
    } catch {
      guard case .failure(let cause) = isClean else { throw error }
      throw .setup("\(cause); \(error)")
    }
    return (isClean, true)
  }

  /// Creates the folder of all files of a demo or a lab.
  static func scratch() throws(DemoFailure) -> Scratch {
    do {
      return try Scratch()
    } catch {
      let folder = FileManager.default.temporaryDirectory.path
      let cause = (error as? CocoaError)?.underlying as? POSIXError
      let reason = cause.map { ": \(SystemCall.reason(of: $0.code.rawValue))" } ?? ""
      throw .setup(
        "no folder can be created in \(folder)\(reason); set TMPDIR to a folder in which you may write"
      )
    }
  }

  /// The path of the running program; `nil` if it is not known.
  public static var ownProgram: String? {
    #if os(Linux)
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    #else
      Bundle.main.executablePath
    #endif
  }

  /// The titles of the scenarios, in order.
  public static var titles: [String] { scenarios.map(\.title) }

  /// The names of the scenarios, in order.
  public static var names: [String] { scenarios.map(\.name) }
}
