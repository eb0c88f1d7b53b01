import HoldfastTestKit

/// Runs the built `holdfast-sim` as a child process.
enum SimulatorProcess {
  private static let program = "holdfast-sim"

  static var path: String { CommandProcess.path(of: program) }

  static func start(_ words: [String]) throws -> LabProcess {
    try CommandProcess.start(words, of: program)
  }

  static func run(
    _ words: [String], environment: [String: String] = [:]
  ) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(words, of: program, environment: environment)
  }

  static func run(_ words: String...) async throws -> CommandProcess.Outcome {
    try await run(words)
  }
}
