import HoldfastAppleNetwork
import HoldfastCore
import HoldfastPorts
import HoldfastProtocols
import HoldfastTestKit
@_spi(Script) import Network
import Testing

/// Tests of the dialer over real sockets. The connections of each test have ports of their own.
@Suite(.timeLimit(.minutes(5)))
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
    let socket = await Opened(
      NetworkDial(),
      .to("wss://127.0.0.1:\(server.listener.port)/", openTimeout: .milliseconds(500)))
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

  @Test func `a slow reader pauses the socket and later receives every message`() async throws {
    let message: [UInt8] = [0x82, 126, 0x03, 0xE8] + [UInt8](repeating: 1, count: 1_000)
    let stalls = Mailbox<Int>()
    let server = try TestServer { peer in
      peer.upgrade()
      stalls.put(peer.flood(message, timeLimit: 200))
      peer.drain()
    }
    let (gate, read) = (Gate(), Mailbox<Void>())
    let handle = await NetworkDial().open(.to(server.socketURL)) { event in
      guard case .binary = event else { return }
      await gate.wait()
      read.put(())
    }
    let written = try #require(await stalls.next())
    #expect(written < 64_000_000 && read.count == 0)
    await gate.open()
    _ = await read.next(written / message.count)
    await handle.close(code: 1000, reason: "")
    #expect(ConnectionScript.misuses == [])
  }

  @Test func `closing does not wait longer than a second for a silent peer`() async throws {
    let server = try TestServer { peer in
      peer.upgrade()
      peer.park()
    }
    defer { server.release() }
    let socket = await Opened(NetworkDial(), .to(server.socketURL))
    _ = await socket.next()
    let taken = await ContinuousClock().measure {
      await socket.handle.close(code: 1000, reason: "")
    }
    #expect(taken >= .seconds(1) && taken < .seconds(40))
    #expect(ConnectionScript.connections(to: server.listener.port).isEmpty)
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

/// Tests of the dialer behind a proxy that injects faults.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
  private static func echo() throws -> TestServer {
    try TestServer { peer in
      peer.upgrade()
      while let event = peer.event() {
        if case .text(let text) = event { peer.send(String(decoding: text, as: UTF8.self)) }
        if case .closed = event { return }
      }
    }
  }

  private static func opened(_ proxy: FaultProxy) async throws -> Opened {
    let socket = await Opened(NetworkDial(), .to("ws://127.0.0.1:\(proxy.port)/socket"))
    guard case .opened = await socket.next() else { throw LinkFailure.ended }
    return socket
  }

  @Test(arguments: [(Fault.cut, [LinkFailure.ended]), (.reset, [.reset, .ended])])
  func `a lost connection is reported once, and a new one opens`(
    fault: Fault, failures: [LinkFailure]
  ) async throws {
    let server = try Self.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(fault)
    try await proxy.set(.pass)
    guard case .failed(let failure) = await socket.next() else {
      Issue.record("not failed")
      return
    }
    #expect(failures.contains(failure))
    let again = try await Self.opened(proxy)
    #expect(await again.handle.send(text: [0x61]) == .queued)
    #expect(await again.next() == .text([0x61]))
    #expect(socket.events.count == 0)
  }

  @Test func `a refused connection is refused, and a silent one times out`() async throws {
    let server = try Self.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let url = "ws://127.0.0.1:\(proxy.port)/socket"
    try await proxy.set(.refuse)
    #expect(await Opened(NetworkDial(), .to(url)).next() == .failed(.refused))
    try await proxy.set(.blackhole())
    let silent = await Opened(NetworkDial(), .to(url, openTimeout: .milliseconds(300)))
    #expect(await silent.next() == .failed(.timeout(.upgrade)))
    while !ConnectionScript.connections(to: proxy.port).isEmpty { await Task.yield() }
  }

  @Test func `messages survive a silence and a slow link`() async throws {
    let server = try Self.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(.blackhole())
    for byte in UInt8(0)..<10 { #expect(await socket.handle.send(text: [byte]) == .queued) }
    try await proxy.set(.rate(bytesPerSecond: 2_000))
    for byte in UInt8(0)..<10 { #expect(await socket.next() == .text([byte])) }
  }

  @Test(arguments: 0..<24)
  func `a stream that ends within a frame reports no part of the message`(bytes: Int) async throws {
    let server = try Self.echo()
    let proxy = try FaultProxy(upstream: server.listener.port)
    let socket = try await Self.opened(proxy)
    try await proxy.set(.cutAfter(bytes: bytes))
    let text = Array("twenty bytes of text".utf8)
    #expect(await socket.handle.send(text: text) == .queued)
    // A frame of this text has 22 bytes.
    if bytes >= 22 { #expect(await socket.next() == .text(text)) }
    if bytes >= 22 { try await proxy.set(.cut) }
    #expect(await socket.next() == .failed(.ended))
  }
}
