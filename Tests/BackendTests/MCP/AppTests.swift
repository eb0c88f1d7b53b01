import HoldfastBackend
import HoldfastTestKit
import Testing

/// Tests of the page that draws answers (MCP Apps), in a headless browser.
@Suite(
  .enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"), .offThePool,
  .timeLimit(.minutes(60)))
struct AppPageTests {
  @Test func `a host shows the page, and sends it answers`() async throws {
    let done = try await PageCheck.run("check_app.py", [CommandProcess.path])
    for line in done.output where line.hasPrefix("✗") { Issue.record("\(line)") }
    #expect(done.status == 0, "\(done.errors.suffix(20).joined(separator: "\n"))")
    #expect(done.output.count(where: { $0.hasPrefix("✓") }) >= 100)
  }
}

/// Tests of the page as a resource, with the official SDKs.
@Suite(
  .enabled(
    if: Assistant.SDK.areInstalled,
    "needs the Python SDK of MCP: run scripts/peers where there is a network"),
  .offThePool, .serialized, .timeLimit(.minutes(60)))
struct AppSDKTests {
  private static func check(_ assistant: Assistant) async throws {
    let page = try await assistant.order("page")
    #expect(page.failed == nil)
    #expect(page.tools == ["get_health_metrics", "get_summary"])
    #expect(page.text?.hasPrefix("<!doctype html>") == true)
    await assistant.leave()
  }

  @Test(arguments: Assistant.Kind.all)
  func `a client reads the page over HTTP, before a login`(kind: Assistant.Kind) async throws {
    try await BackendRig.run({ _ in }) { rig in
      try await Self.check(Assistant.connect(kind, to: rig.address.url).0)
    }
  }

  @Test(arguments: Assistant.Kind.all)
  func `a client reads the page over standard input and output`(kind: Assistant.Kind) async throws {
    let scratch = try Scratch()
    try await Self.check(
      Assistant.connect(kind, starting: ["mcp", "--data", scratch("data")]).0)
  }
}
