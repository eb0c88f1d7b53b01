import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastSocketEngine
import Testing

@testable import HoldfastCurlNetwork

/// Tests of failures that only libcurl's dialer tells apart, or that need its proxy.
@Suite(.timeLimit(.minutes(60)))
struct CurlLossTests {
  @Test(arguments: LossTests.pages)
  func `a login page in place of a remote server is reported as a captive portal`(
    status: Int, headers: [(String, String)], body: String, detail: String
  ) async throws {
    let proxy = try TestServer { peer in
      _ = peer.receive()
      peer.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
      _ = peer.request()
      peer.answer(status, headers, body)
      peer.drain()
    }
    let network = try CurlNetwork(CurlConfiguration(proxy: proxy.url, allowsPlaintext: true))
    let socket = await Opened(network, .to("ws://shop.invalid/socket"))
    let isOfServer = detail == "points to /ws/"
    #expect(
      await socket.failure()
        == (isOfServer
          ? .http(status: status, retryAfter: nil, detail: detail) : .captivePortal))
  }

  @Test func `a DNS failure names the host`() async throws {
    let network = try CurlNetwork(CurlConfiguration(proxy: ""))
    let socket = await Opened(network, .to("wss://no-such-host.invalid/?token=s3cret"))
    guard case .dns(let detail) = await socket.failure() else {
      Issue.record("not dns")
      return
    }
    #expect(detail.contains("no-such-host.invalid"))
  }

  @Test func `a server that never answers the handshake causes a TLS time-out`() async throws {
    let server = try TestServer { $0.drain() }
    let failure = try await timeout(in: .tls) { limit in
      await Opened(
        try CurlNetwork(), .to("wss://127.0.0.1:\(server.listener.port)", openTimeout: limit)
      ).failure()
    }
    #expect(failure == .timeout(.tls))
  }
}

@Suite struct RefusalTests {
  @Test func `a refusal with a random body has a detail of at most 200 characters`() {
    var generator = RandomSource(seed: 7)
    let alphabet = Array(#"{}[]":,\ message error 0\u{0}"#.utf8) + [0xFF, 0xC3, 0x0D, 0x0A]
    for _ in 0..<2_000 {
      let body = (0..<Int.random(in: 0..<300, using: &generator)).map { _ in
        alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
      }
      let head = HTTPResponseHead(status: 500, reason: "Oops", headers: [])
      let refusal = Refusal(head: head, from: "http://a:80/", prefix: body)
      guard case .http(500, nil, let detail) = refusal.failure else {
        Issue.record("another failure")
        return
      }
      #expect(detail.count <= 200)
    }
  }

  @Test(arguments: [(199, 199), (200, 200), (201, 200)])
  func `a refusal's message is truncated to 200 characters`(length: Int, expected: Int) {
    let message = String(repeating: "x", count: length)
    let refusal = Refusal(
      head: HTTPResponseHead(status: 400, reason: "Bad Request", headers: []),
      from: "https://a:443/", prefix: Array(#"{"message":"\#(message)"}"#.utf8))
    #expect(
      refusal.failure
        == .http(
          status: 400, retryAfter: nil, detail: String(repeating: "x", count: expected)))
  }
}
