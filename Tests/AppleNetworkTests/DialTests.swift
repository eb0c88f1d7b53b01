import HoldfastAppleNetwork
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastTestKit
@_spi(Script) import Network
import Testing

/// Tests of the dialer over real sockets. The connections of each test have ports of their own.
@Suite(.timeLimit(.minutes(60)))
struct DialTests {
  @Test func `satisfies the contract of a dialer`() async throws {
    let closed = try Listener(backlog: nil)
    let sockets = Mailbox<FarPeer>()
    let server = try FarPeer.server(sockets)
    try await socketDialerContract(
      NetworkDial(),
      server: ContractServer(
        url: server.socketURL, refusingURL: "ws://127.0.0.1:\(closed.port)/",
        next: { try #require(await sockets.next()) }))
    while !ConnectionScript.connections(to: server.listener.port).isEmpty { await Task.yield() }
    #expect(ConnectionScript.connections(to: closed.port).isEmpty)
    #expect(ConnectionScript.misuses == [])
  }

  @Test func `time-outs are measured by the given clock`() async throws {
    let server = try TestServer { $0.drain() }
    let clock = TestClock()
    let dial = NetworkDial(clock: clock)
    let socket = await Opened(dial, .to(server.socketURL, openTimeout: .seconds(90)))
    await clock.advanceToNextDeadline()
    guard case .failed(.timeout) = await socket.next() else {
      Issue.record("not a time-out")
      return
    }
    #expect(clock.now == .second(90))
  }

  @Test func `one network opens sockets and sends requests`() async throws {
    let echo = try SocketTests.echo()
    let server = try TestServer { peer in
      while peer.request() != nil { peer.answer(200, [], "here") }
    }
    let network = AppleNetwork()
    let socket = await Opened(network, .to(echo.socketURL))
    _ = await socket.next()
    #expect(await socket.handle.send(text: [0x61]) == .queued)
    #expect(await socket.next() == .text([0x61]))
    let turns = Mailbox<[SocketEvent]>()
    let handle = await network.openInTurns(.to(echo.socketURL)) { turns.put($0) }
    #expect(await turns.next()?.count == 1)
    await handle.close(code: 1000, reason: "")
    let call = HTTPCall(method: "GET", url: server.url, timeout: .seconds(60), maxBodyBytes: 10)
    #expect(try await network.send(call).body == Array("here".utf8))
    await network.forgetConnections()
    #expect(try await network.send(call).status == 200)
    #expect(AppleNetwork.problem(ofURL: "https://shop.example/a") == nil)
    #expect(AppleNetwork.problem(ofURL: "ftp://shop.example/a") != nil)
  }

  @Test func `an unknown host name is a DNS failure that ends the connection`() async throws {
    let socket = await Opened(NetworkDial(), .to("wss://no-such-host.invalid:7/?token=s3cret"))
    guard case .failed(.dns) = await socket.next() else {
      Issue.record("not a DNS failure")
      return
    }
    while !ConnectionScript.connections(to: 7).isEmpty { await Task.yield() }
  }

  @Test(
    arguments: [
      (.fails(-9_814), .tls(.expired, detail: "The result of TLS is -9814.")),
      (.fails(-9_843), .tls(.wrongHost, detail: "The result of TLS is -9843.")),
      (.fails(-9_816), .ended), (.hangs, .timeout(.connect)),
    ] as [(ConnectionScript.Handshake, LinkFailure)])
  func `a handshake that fails or never ends has its failure`(
    handshake: ConnectionScript.Handshake, failure: LinkFailure
  ) async throws {
    let server = try TestServer { $0.drain() }
    ConnectionScript.set(handshake, port: server.listener.port)
    let limit = failure == .timeout(.connect) ? Duration.seconds(1) : .seconds(600)
    let socket = await Opened(
      NetworkDial(), .to("wss://127.0.0.1:\(server.listener.port)/", openTimeout: limit))
    #expect(await socket.next() == .failed(failure))
  }

  @Test func `TLS 1.2 is the oldest version, and a plain connection has no TLS`() async throws {
    let server = try TestServer { $0.drain() }
    let port = server.listener.port
    let secure = await Opened(NetworkDial(), .to("wss://localhost:\(port)/"))
    let tls = try #require(ConnectionScript.connections(to: port).first?.parameters.tls)
    #expect(tls.securityProtocolOptions.minimum == .TLSv12)
    #expect(tls.securityProtocolOptions.applications == ["http/1.1"])
    await secure.handle.close(code: 1000, reason: "")
    #expect(await secure.next() == .failed(.local(detail: "Closed before it opened.")))
    let plain = try TestServer { $0.drain() }
    let socket = await Opened(NetworkDial(), .to(plain.socketURL))
    let connection = ConnectionScript.connections(to: plain.listener.port).first
    #expect(connection != nil && connection?.parameters.tls == nil)
    await socket.handle.close(code: 1000, reason: "")
  }

  @Test func `an upgrade over TLS carries the query and the headers`() async throws {
    let server = try TestServer { peer in
      let head = peer.upgrade(deflate: true)
      peer.send("\(head?.target ?? "") \(head?.first("authorization") ?? "")")
      peer.drain()
    }
    let socket = await Opened(
      NetworkDial(),
      .to(
        "wss://127.0.0.1:\(server.listener.port)/socket?v=1",
        headers: [("Authorization", "Bearer abc")], query: [("token", "a/b c")]))
    #expect(
      await socket.nextAfterOpening()
        == .text(Array("/socket?v=1&token=a%2Fb%20c Bearer abc".utf8)))
  }

  @Test func `a connection that is not viable is stalled`() async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      while let event = peer.event() {
        if case .text = event { peer.send("still here") }
      }
    }
    let socket = await Opened(NetworkDial(), .to(server.socketURL))
    _ = await socket.next()
    let connection = try #require(
      ConnectionScript.connections(to: server.listener.port).first)
    connection.report(viable: false)
    #expect(await socket.next() == .stalled)
    connection.report(viable: true)
    #expect(await socket.handle.send(text: [0x61]) == .queued)
    #expect(await socket.next() == .text(Array("still here".utf8)))
  }

  @Test func `sending stops when too many bytes are not processed`() async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.park()
    }
    defer { server.release() }
    let limit = 400_000
    let dial = NetworkDial(NetworkConfiguration(maxQueuedBytes: limit, offersDeflate: false))
    let socket = await Opened(dial, .to(server.socketURL))
    _ = await socket.next()
    let text = [UInt8](repeating: 0x61, count: 50_000)
    var accepted = 0
    while await socket.handle.send(text: text) == .queued, accepted < 10_000 { accepted += 1 }
    #expect(accepted >= limit / 50_100 && accepted < 10_000)
  }

  @Test(arguments: [
    "ws://example.invalid/", "http://127.0.0.1/", "ws://", "ws://a:b@127.0.0.1/", "not a url",
    "ws://127.0.0.1:99999/",
  ])
  func `a URL that cannot be dialed is a local failure`(url: String) async {
    let socket = await Opened(NetworkDial(), .to(url, query: [("token", "s3cret")]))
    guard case .failed(.local(let detail)) = await socket.next() else {
      Issue.record("\(url)")
      return
    }
    #expect(!detail.contains("s3cret"))
  }
}
