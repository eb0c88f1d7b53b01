import HoldfastTestKit
import Testing

/// Tests of connections that the proxy answers itself, and of stranded ones.
@Suite(.timeLimit(.minutes(60))) struct FaultProxyAnswerTests {
  /// The number of milliseconds after which missing bytes count as silence.
  private static let silence = 200
  private static let answer = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"

  @Test func `a request is answered by the proxy, and open connections continue`() async throws {
    let server = Peer.listening()
    defer { server.close() }
    let proxy = try FaultProxy(upstream: server.port)
    let first = try #require(await Peer.connect(to: proxy.port).peer)
    let accepted = await server.accept()
    try await proxy.set(.answer(Array(Self.answer.utf8)))
    let second = try #require(await Peer.connect(to: proxy.port).peer)
    await second.send("POST / HTTP/1.1\r\nContent-Length: 9\r\n")
    #expect(await second.receive(1, timeLimit: Self.silence) == .silence)
    await second.send("\r\nthe body, and more than it")
    #expect(await second.receive(Self.answer.utf8.count) == .bytes(Self.answer))
    #expect(await second.receive(1) == .end)
    second.close()
    await first.send("still")
    #expect(await accepted.receive(5) == .bytes("still"))
    #expect(await proxy.traffic { $0.open == 1 }.connections == 2)
    first.close()
    accepted.close()
  }

  @Test func `a reset ends the connections that the proxy answers`() async throws {
    let server = Peer.listening()
    defer { server.close() }
    let proxy = try FaultProxy(upstream: server.port)
    try await proxy.set(.answer([]))
    let client = try #require(await Peer.connect(to: proxy.port).peer)
    _ = await proxy.traffic { $0.open == 1 }
    try await proxy.set(.reset)
    #expect(await client.receive(1) != .silence)
    #expect(await proxy.traffic.open == 0)
    client.close()
  }

  @Test func `a stranded connection is silent for good, and new ones work`() async throws {
    let server = Peer.listening()
    defer { server.close() }
    let proxy = try FaultProxy(upstream: server.port)
    let old = try #require(await Peer.connect(to: proxy.port).peer)
    let oldEnd = await server.accept()
    await proxy.strand()
    try await proxy.set(.pass)
    await old.send("lost")
    await oldEnd.send("lost")
    #expect(await oldEnd.receive(1, timeLimit: Self.silence) == .silence)
    #expect(await old.receive(1, timeLimit: Self.silence) == .silence)
    let new = try #require(await Peer.connect(to: proxy.port).peer)
    let newEnd = await server.accept()
    await new.send("here")
    #expect(await newEnd.receive(4) == .bytes("here"))
    old.close()
    #expect(await proxy.traffic { $0.open == 1 }.open == 1)
    for peer in [oldEnd, new, newEnd] { peer.close() }
  }
}
