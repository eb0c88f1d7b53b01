import Foundation
import HoldfastCore
import HoldfastHealth
import HoldfastRelayData
import HoldfastTestKit
import Testing

@testable import HoldfastBackend

/// Tests that the program in docs/relay.md works unchanged with both major versions of the SDK.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct RelayPageTests {
  /// Returns the Python program of the page.
  private static func snippet() throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../../docs/relay.md").standardizedFileURL
    let text = try String(contentsOf: page, encoding: .utf8)
    let parts = text.components(separatedBy: "```python\n")
    #expect(parts.count == 2)
    return try #require(parts.last?.components(separatedBy: "```\n").first)
  }

  @Test(arguments: Assistant.SDK.allCases)
  func `the documentation page's program logs in and asks for steps`(sdk: Assistant.SDK)
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Array(try Self.snippet().utf8), to: "steps.py")
    let python = try #require(sdk.python)
    try await BackendRig.run { rig in
      let phone = try await ScriptedPhone.connect(to: rig)
      async let output: String = Shell.run([
        python, scratch("steps.py"), phone.code.word, phone.code.code, rig.address.url + "/mcp",
      ])
      let question = try await phone.answer()
      #expect(try await output.contains("'value': 42"))
      guard case .healthData(let query) = question else {
        throw ScriptedPhone.Unexpected(what: "another question")
      }
      #expect(query.valueType == .steps)
    }
  }

  @Test func `the page's program asks for days that the generated data contain`() throws {
    let snippet = try Self.snippet()
    #expect(snippet.contains("http://127.0.0.1:8787/mcp"))
    // This is the plan of `holdfast health generate --years 1` without `--until`.
    let plan = HealthExportGenerator.Plan(
      seed: 1, years: 1, until: Timestamp(nanoseconds: 1_767_225_600_000_000_000))
    for day in ["2025-03-01", "2025-03-08"] {
      #expect(snippet.contains("\"\(day)\""))
      let time = try #require(RFC3339.parse(day + "T00:00:00Z"))
      let number = Int(time.nanoseconds / 86_400_000_000_000)
      #expect((plan.firstDay..<(plan.firstDay + plan.days)).contains(number))
    }
  }
}
