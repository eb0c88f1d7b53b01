import HoldfastTestKit

/// Functions that run the built `holdfast-sim` as a child process.
enum SimulatorProcess {
  private static let program = "holdfast-sim"

  static var path: String { CommandProcess.path(of: program) }

  static func start(_ arguments: [String]) throws -> LabProcess {
    try CommandProcess.start(arguments, of: program)
  }

  static func run(
    _ arguments: [String], environment: [String: String] = [:]
  ) async throws -> CommandProcess.Outcome {
    try await CommandProcess.run(arguments, of: program, environment: environment)
  }

  static func run(_ arguments: String...) async throws -> CommandProcess.Outcome {
    try await run(arguments)
  }
}
