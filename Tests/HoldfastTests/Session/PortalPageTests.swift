import HoldfastCore
import HoldfastTestKit
import Testing

@testable import Holdfast
@testable import HoldfastSession

/// Tests of the page that a session requests, outside its socket, to detect a login page.
@Suite struct PortalPageTests {
  @Test(arguments: [
    ("ws://127.0.0.1:8787/session", "http://127.0.0.1:8787/healthz"),
    ("wss://agent.example/a/b?c=d", "http://agent.example/healthz"),
    ("WSS://agent.example:8443/session", "http://agent.example/healthz"),
    ("wss://[::1]:443/session", "http://[::1]/healthz"),
  ])
  func `a TLS server is asked on the port where a login page can answer`(
    socket: String, page: String
  ) {
    #expect(ServerURL.page("/healthz", besides: socket) == page)
  }

  @Test func `an invalid URL has no page`() {
    #expect(ServerURL.page("/healthz", besides: "not a URL") == nil)
  }

  @Test(arguments: [(200, ["Content-Type": "text/html"]), (302, ["Location": "http://login/"])])
  func `a login page blocks the link, and the key is not sent to it`(
    status: Int, headers: [String: String]
  ) async throws {
    let clock = TestClock()
    let network = FakeNetwork(clock: clock)
    var configuration = SessionConfiguration(
      "wss://agent.example/session", storage: .memory, tokens: .fixed("key"))
    configuration.ports = DevicePorts(
      network: network, reachability: AlwaysReachable(), clock: clock)
    let session = try await HeldSession(configuration)
    await network.sockets.next()?.fail(.reset)
    let probe = try #require(await network.exchanges.next())
    #expect(probe.request.url == "http://agent.example/healthz")
    #expect(probe.request.headers.isEmpty && probe.request.body.isEmpty)
    probe.respond(status: status, headers: headers)
    await session.waitUntil { $0.link.status.phase == .held }
    #expect(await session.snapshot.link.status.reason == .blocked(.captivePortal))
    await session.close()
  }
}
