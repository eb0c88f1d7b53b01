import HoldfastTestKit
import Testing

/// The scripts that check pictures in Chromium.
enum PictureScript {
  /// Runs a script to its end. The failed checks are the comment of the failure.
  static func pass(_ script: String, _ arguments: [String]) async throws {
    let run = try await PageCheck.run(script, arguments)
    let passed = run.output.count { $0.hasPrefix("✓") }
    let said = (run.output.filter { !$0.hasPrefix("✓") } + run.errors.suffix(8))
    #expect(run.status == 0 && passed > 0, "\(said.joined(separator: "\n").prefix(6_000))")
  }
}
