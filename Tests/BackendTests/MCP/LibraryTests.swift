import Foundation
import HoldfastBackend
import HoldfastRelayData
import HoldfastTestKit
import Testing

/// Tests of libraries that hand a model the text of an answer, and not its structured content.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct LibraryTests {
  /// A library, by the name of its function in `libraries.py`.
  enum Library: String, CaseIterable {
    case openaiAgents = "openai_agents"
    case langchain
    case strands
    case autogen
  }

  /// The text that a model gets.
  private struct Handed: Decodable {
    var text: String
  }

  @Test(arguments: Library.allCases)
  func `a library that passes only text hands the model the number`(library: Library) async throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "SDK/libraries.py").path
    let python = try #require(Assistant.SDK.one.python)
    try await BackendRig.run { rig in
      let phone = try await ScriptedPhone.connect(to: rig)
      let process = try LabProcess(
        [
          python, script, library.rawValue, rig.address.url + "/mcp", phone.code.word,
          phone.code.code,
        ],
        environment: Assistant.environment)
      process.endInput()
      async let outcome = CommandProcess.outcome(of: process)
      try await phone.answer()
      let ended = await outcome
      let line = try #require(ended.output.last, "\(ended.errors.suffix(20))")
      let handed = try JSONDecoder().decode(Handed.self, from: Data(line.utf8))
      #expect(handed.text.contains(#""value":42,"unit":"COUNT""#), "\(handed.text)")
    }
  }
}
