import Foundation
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
  private let page: String?
  private let output: @Sendable (String) -> Void

  /// Creates a demo.
  ///
  /// - Parameters:
  ///   - program: The executable file that is run as the phone.
  ///   - names: The scenarios to play, from `Demo.names`. If the set is empty, all are played.
  ///     Scenarios that use the shop's messages are played while there is traffic.
  ///   - seed: The seed of the customers' texts.
  ///   - page: The file into which a page of the demo is written; `nil` for no page.
  ///   - output: A function that receives the output line by line.
  public init(
    program: String, scenarios names: Set<String> = [], seed: UInt64, narrator: Narrator,
    page: String? = nil, output: @escaping @Sendable (String) -> Void
  ) {
    self.program = program
    scenarios = Self.scenarios(named: names)
    self.seed = seed
    self.narrator = narrator
    self.page = page
    self.output = output
  }

  /// Plays the scenarios in less than a minute. Returns whether the ledger is clean.
  ///
  /// Cancel the task to end the demo early. In every case, the demo leaves no processes or files
  /// behind.
  public func run() async throws(DemoFailure) -> Bool {
    let scratch = try DemoEnvironment.checked { () throws(any Error) in try Scratch() }
    defer { scratch.remove() }
    let environment = try await DemoEnvironment(
      scratch: scratch, scenarios: scenarios, seed: seed, program: program, narrator: narrator,
      isDrawn: page != nil, output: output)
    do throws(DemoFailure) {
      let isClean = try await environment.play()
      await environment.picture?.stop()
      await environment.clear()
      try await draw(environment)
      return isClean
    } catch {
      await environment.clear()
      // What happened until the failure is worth a look, too.
      try? await draw(environment)
      throw error
    }
  }

  private func draw(_ environment: DemoEnvironment) async throws(DemoFailure) {
    guard let page, let picture = environment.picture else { return }
    try await picture.write(to: page)
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
