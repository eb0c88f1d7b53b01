import Foundation
import HoldfastBackend
import HoldfastRelayData
import HoldfastTestKit
import Testing

/// Tests of assistants of other makers that sign in with OAuth, with a backend and a phone. A script
/// is their browser.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct SignInTests {
  private static let steps =
    #""value_type":"STEPS","start_time":"2026-03-01T00:00:00","end_time":"2026-03-02T00:00:00""#

  private func ask(_ assistant: Assistant) async throws {
    let answer = try await assistant.call("get_health_metrics", Self.steps)
    #expect(answer.structured?.healthData?.map(\.value) == [42], "\(answer)")
  }

  @Test(arguments: Assistant.Kind.all + [.fastMCP])
  func `a client signs in, asks, renews its token, and signs in anew when it is ended`(
    kind: Assistant.Kind
  ) async throws {
    try await SignInRig.run { rig in
      let (assistant, version) = try await Assistant.connect(kind, to: rig.url, codes: rig.codes)
      #expect(version == kind.version)
      #expect(try await assistant.order("list").tools?.contains("get_summary") == true)
      try await ask(assistant)
      let isSDK = kind.mode != "fastmcp"
      if isSDK {
        // The next request uses the refresh token.
        _ = try await assistant.order("expire")
        try await ask(assistant)
      }
      #expect(rig.shown.all.count == 2)
      #expect(try await rig.assistants() == [isSDK ? "The SDK of a test" : "FastMCP Client"])
      try await rig.endAll()
      if kind.version == "2026-07-28" {
        try await ask(assistant)
      } else {
        // The new sign-in does not take over the session. These clients begin none by themselves.
        let answer = try await assistant.call("get_health_metrics", Self.steps)
        #expect(answer.failed?.contains("Session") == true, "\(answer)")
      }
      #expect(try await rig.assistants() == [isSDK ? "The SDK of a test" : "FastMCP Client"])
      #expect(rig.leaks() == [])
      await assistant.leave()
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `a client that can open a page signs in there, and no message has a secret`(
    kind: Assistant.Kind
  ) async throws {
    try await SignInRig.run { rig in
      let (assistant, version) = try await Assistant.connect(
        kind, to: rig.url, path: "/mcp/code", codes: rig.codes)
      #expect(version == kind.version)
      try await ask(assistant)
      #expect(rig.shown.all.count == 2)
      // A session remembers its sign-in.
      if kind.version != "2026-07-28" {
        try await ask(assistant)
        #expect(rig.shown.all.count == 2)
      }
      let said = try await assistant.order("messages").text ?? ""
      #expect(kind.sdk == .one || said.contains("STEPS"))
      for secret in [rig.first.word, rig.first.code, #""access_token":""#, "uthorization"] {
        #expect(!said.contains(secret), "\(said)")
      }
      #expect(rig.leaks() == [])
      await assistant.leave()
    }
  }

  /// The members of the report of `mcp-authlab scan` that the test checks.
  private struct Report: Decodable {
    struct Result: Decodable {
      var id: String
      var status: String
      var message: String
    }

    var grade: String
    var conformance: String
    var must_failures: [String]
    var warnings: [String]
    var results: [Result]
  }

  @Test func `mcp-authlab signs in, and its scan finds no fault`() async throws {
    let scratch = try Scratch()
    let python = try #require(Assistant.SDK.two.python)
    try await SignInRig.run { rig in
      let environment = Assistant.signIn(rig.codes).merging(
        ["MCP_AUTHLAB_TOKENS": scratch("tokens.json")]) { $1 }
      func authlab(_ arguments: String...) async throws -> CommandProcess.Outcome {
        let process = try LabProcess(
          [python, "-m", "mcp_authlab"] + arguments + [rig.url + "/mcp"], environment: environment)
        process.endInput()
        return await CommandProcess.outcome(of: process)
      }
      let login = try await authlab("login", "--no-color", "--timeout", "600")
      #expect(login.status == 0, "\(login)")
      let scan = try await authlab("scan", "--format", "json", "--output", scratch("report.json"))
      #expect(scan.status == 0, "\(scan)")
      let report = try JSONDecoder().decode(
        Report.self, from: Data(contentsOf: URL(filePath: scratch("report.json"))))
      #expect(report.grade == "A")
      #expect(report.must_failures == [], "\(report.results.filter { $0.status == "fail" })")
      // The scan is over plain HTTP, on this machine alone.
      #expect(report.warnings == ["TLS-01"], "\(report.results.filter { $0.status == "warn" })")
      #expect(rig.leaks() == [])
    }
  }
}

/// Tests of the pages of the sign-in, in a headless browser.
@Suite(
  .enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"), .offThePool,
  .timeLimit(.minutes(60)))
struct SignInPageTests {
  @Test func `the pages work without JavaScript, in each size and color, and with a keyboard`()
    async throws
  {
    try await SignInRig.run { rig in
      let done = try await PageCheck.run(
        "check_oauth.py", [rig.url, rig.first.word, rig.first.code])
      for line in done.output where line.hasPrefix("✗") { Issue.record("\(line)") }
      #expect(done.status == 0, "\(done.errors.suffix(20).joined(separator: "\n"))")
      #expect(done.output.count(where: { $0.hasPrefix("✓") }) >= 60)
      #expect(rig.leaks() == [])
    }
  }
}
