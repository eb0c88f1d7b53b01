package import Foundation

/// The Python interpreter and the browser with which tests check web pages.
package enum PageCheck {
  /// The reason for which a test of a page is skipped.
  package static let remedy =
    "needs Chromium and Playwright: run scripts/setup, then scripts/peers where there is a network"

  /// Whether pages can be checked.
  package static let isInstalled = python != nil && browser != nil

  /// The path of Chromium; `nil` if it is not installed. The environment variable `CHROMIUM` names
  /// another browser.
  package static let browser: String? =
    ProcessInfo.processInfo.environment["CHROMIUM"]
    ?? ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
    .lazy.compactMap { Shell.find($0) }.first

  /// The folder of the package.
  package static let package = URL(filePath: #filePath).appending(path: "../../../..")
    .standardizedFileURL

  /// The path of a Python interpreter with Playwright and jsonschema, which `scripts/peers`
  /// installs; `nil` if they are not installed.
  private static let python = [package.path, FileManager.default.currentDirectoryPath]
    .map { "\($0)/.build/picture-checks/bin/python" }
    .first(where: FileManager.default.isExecutableFile)

  /// Runs a script of `Tests/Pages` with this Python to its end.
  package static func run(
    _ script: String, _ arguments: [String]
  ) async throws -> CommandProcess.Outcome {
    let process = try LabProcess(
      [python ?? "python3", package.appending(path: "Tests/Pages/\(script)").path] + arguments,
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    process.endInput()
    return await CommandProcess.outcome(of: process)
  }
}
