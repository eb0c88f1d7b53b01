import HoldfastCore
import HoldfastPorts
import Testing

@testable import HoldfastCurlNetwork

@Suite(.timeLimit(.minutes(60)))
struct ProxyTests {
  @Test func `a socket uses a tunnel through the proxy, even without TLS`() async throws {
    let proxy = try TestServer { peer in
      let asked = String(decoding: peer.receive(), as: UTF8.self)
      peer.write(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
      peer.upgrade()
      peer.send(String(asked.prefix { !$0.isNewline }))
      peer.drain()
    }
    let network = try CurlNetwork(CurlConfiguration(proxy: proxy.url, allowsPlaintext: true))
    let socket = await Opened(network, .to("ws://shop.invalid/socket?token=s3cret"))
    #expect(
      await socket.nextAfterOpening() == .text(Array("CONNECT shop.invalid:80 HTTP/1.1".utf8)))
  }

  @Test func `a refused tunnel is a proxy failure`() async throws {
    let proxy = try TestServer { peer in
      _ = peer.receive()
      peer.answer(403)
    }
    let socket = await Opened(
      try CurlNetwork(CurlConfiguration(proxy: proxy.url)), .to("wss://shop.invalid/"))
    #expect(await socket.failure() == .proxy(detail: "The proxy answered 403."))
  }

  @Test func `an unreachable proxy is a proxy failure`() async throws {
    let closed = try Listener(backlog: nil)
    let network = try CurlNetwork(CurlConfiguration(proxy: "http://127.0.0.1:\(closed.port)"))
    let socket = await Opened(network, .to("wss://shop.invalid/"))
    guard case .proxy = await socket.failure() else {
      Issue.record("not the proxy's")
      return
    }
  }

  @Test func `loopback never goes through a proxy`() async throws {
    let closed = try Listener(backlog: nil)
    let server = try SocketTests.echo()
    let network = try CurlNetwork(CurlConfiguration(proxy: "http://127.0.0.1:\(closed.port)"))
    let socket = await Opened(network, .to(server.socketURL))
    guard case .opened = await socket.next() else {
      Issue.record("not opened")
      return
    }
  }
}
