import Testing

@testable import Holdfast

/// The page that is asked for besides a socket.
@Suite struct PortalPageTests {
  @Test(arguments: [
    ("ws://127.0.0.1:8787/session", "http://127.0.0.1:8787/healthz"),
    ("wss://agent.example/a/b?c=d", "http://agent.example/healthz"),
    ("WSS://agent.example:8443/session", "http://agent.example/healthz"),
    ("wss://[::1]:443/session", "http://[::1]/healthz"),
  ])
  func `a server of TLS is asked at the port where a login page can answer`(
    socket: String, page: String
  ) {
    #expect(ServerURL.page("/healthz", besides: socket) == page)
  }

  @Test func `what is no URL has no page`() {
    #expect(ServerURL.page("/healthz", besides: "not a URL") == nil)
  }
}
