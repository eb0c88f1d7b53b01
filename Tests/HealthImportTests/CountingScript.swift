import Foundation
import HoldfastTestKit

/// The scripts that count in the text of an export. Only Linux has `LabProcess`, which runs them.
enum CountingScript {
  struct Outcome {
    var status: Int32
    var output: [String]
    var errors: [String]
  }

  static let python = "/usr/bin/python3"

  static var canRun: Bool {
    #if os(Linux)
      return FileManager.default.isExecutableFile(atPath: python)
    #else
      return false
    #endif
  }

  /// Runs a script in this folder.
  static func run(_ script: String, _ arguments: [String]) async throws -> Outcome {
    #if os(Linux)
      let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: script).path
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(
          [python, path] + arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1"]))
      return Outcome(status: outcome.status, output: outcome.output, errors: outcome.errors)
    #else
      return Outcome(status: -1, output: [], errors: ["scripts run on Linux only"])
    #endif
  }
}
