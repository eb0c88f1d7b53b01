import Foundation

/// The built programs of this package, run as child processes. The default program is `holdfast`.
package enum CommandProcess {
  /// The result of a finished run.
  package struct Outcome: Equatable {
    package var status: Int32
    package var output: [String]
    package var errors: [String]

    package init(status: Int32, output: [String], errors: [String]) {
      self.status = status
      self.output = output
      self.errors = errors
    }

    package static func failure(_ status: Int32, _ line: String) -> Outcome {
      Outcome(status: status, output: [], errors: [line])
    }
  }

  /// The path of the `holdfast` program.
  package static var path: String { path(of: "holdfast") }

  /// Returns the path of a program, which is in the same directory as the tests.
  package static func path(of program: String) -> String {
    let tests = Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments[0])
    return tests.resolvingSymlinksInPath().deletingLastPathComponent()
      .appending(path: program).path
  }

  package static func start(
    _ arguments: [String], of program: String = "holdfast", environment: [String: String] = [:]
  ) throws -> LabProcess {
    try LabProcess([path(of: program)] + arguments, environment: environment)
  }

  package static func run(
    _ arguments: String..., environment: [String: String] = [:]
  ) async throws -> Outcome {
    try await run(arguments, environment: environment)
  }

  package static func run(
    _ arguments: [String], of program: String = "holdfast", environment: [String: String] = [:]
  ) async throws -> Outcome {
    try await outcome(of: start(arguments, of: program, environment: environment))
  }

  package static func outcome(of process: LabProcess) async -> Outcome {
    var outcome = Outcome(status: 0, output: [], errors: [])
    for await line in process.lines { outcome.output.append(line) }
    for await line in process.diagnostics { outcome.errors.append(line) }
    outcome.status = await process.exit()
    return outcome
  }

  /// Runs `body` with a temporary directory, which is removed afterwards.
  package static func scratch<R>(_ body: (String) async throws -> R) async throws -> R {
    let directory = NSTemporaryDirectory() + "holdfast-command-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    return try await body(directory)
  }
}

extension [String: Any] {
  /// Returns the members of the JSON object in a line.
  package static func reading(_ line: String?) throws -> [String: Any] {
    let value = try JSONSerialization.jsonObject(with: Data((line ?? "").utf8))
    guard let object = value as? Self else { throw NoJSONObject(line: line) }
    return object
  }
}

/// An error that reports a line that is not a JSON object.
package struct NoJSONObject: Error {
  package var line: String?

  package init(line: String?) { self.line = line }
}
