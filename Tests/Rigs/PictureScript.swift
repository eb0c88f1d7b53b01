import HoldfastTestKit

/// The scripts that check pictures in Chromium.
package enum PictureScript {
  /// Runs a script to its end, and returns the checks that failed; `nil` if some ran and all passed.
  package static func failures(_ script: String, _ arguments: [String]) async throws -> String? {
    let run = try await PageCheck.run(script, arguments)
    if run.status == 0, run.output.contains(where: { $0.hasPrefix("✓") }) { return nil }
    let said = (run.output.filter { !$0.hasPrefix("✓") } + run.errors.suffix(8))
    return String(said.joined(separator: "\n").prefix(6_000))
  }
}
