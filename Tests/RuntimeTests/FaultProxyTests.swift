import Foundation
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of each fault, observed from both ends of real sockets.
@Suite(.timeLimit(.minutes(60))) struct FaultProxyTests {
  /// The number of milliseconds after which missing bytes count as silence.
  private static let silence = 200

  /// A server behind a proxy, and its peers. All sockets are closed when `with` returns.
  private final class World: Sendable {
    let server = Peer.listening()
    let proxy: FaultProxy
    private let peers = Mutex<[Peer]>([])

    private init() throws {
      proxy = try FaultProxy(upstream: server.port)
    }

    static func with(_ body: (World) async throws -> Void) async throws {
      let world = try World()
      defer { for peer in world.peers.withLock(\.self) + [world.server] { peer.close() } }
      try await body(world)
    }

    func connect() async throws -> (client: Peer, server: Peer) {
      let client = try #require(await dial())
      let accepted = await server.accept()
      peers.withLock { $0.append(accepted) }
      return (client, accepted)
    }

    func dial() async -> Peer? {
      let client = await Peer.connect(to: proxy.port).peer
      peers.withLock { $0.append(contentsOf: [client].compactMap(\.self)) }
      return client
    }

    func error(timeLimit: Int = 20_000) async -> Int32? {
      guard case .failed(let code) = await Peer.connect(to: proxy.port, timeLimit: timeLimit) else {
        return nil
      }
      return code
    }
  }

  @Test func `bytes pass both ways and are counted`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      await client.send("question")
      #expect(await server.receive(8) == .bytes("question"))
      await server.send("answer")
      #expect(await client.receive(6) == .bytes("answer"))
      let traffic = await world.proxy.traffic(reaches: { $0.bytesDown == 6 })
      #expect(traffic == Traffic(connections: 1, open: 1, bytesUp: 8, bytesDown: 6))
    }
  }

  @Test func `a wait for traffic whose condition changes between two calls ends once`()
    async throws
  {
    let calls = Mutex((all: 0, met: 0))
    let condition: @Sendable (Traffic) -> Bool = { traffic in
      calls.withLock { calls in
        calls.all += 1
        guard traffic.bytesUp == 8 else { return false }
        calls.met += 1
        return calls.met != 2
      }
    }
    try await World.with { world in
      let (client, server) = try await world.connect()
      async let met = world.proxy.traffic(reaches: condition)
      // The first call is before the wait.
      while calls.withLock({ $0.all == 0 }) { await Task.yield() }
      await client.send("question")
      #expect(await server.receive(8) == .bytes("question"))
      #expect(await met.bytesUp == 8)
      await server.send("answer")
      #expect(await world.proxy.traffic(reaches: { $0.bytesDown == 6 }).bytesDown == 6)
    }
  }

  @Test func `a half-close is forwarded and leaves the other direction open`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      await client.send("last")
      client.finish()
      #expect(await server.receive(4) == .bytes("last"))
      #expect(await server.receive(1) == .end)
      await server.send("late")
      #expect(await client.receive(4) == .bytes("late"))
      server.finish()
      #expect(await client.receive(1) == .end)
      let traffic = await world.proxy.traffic(reaches: { $0.open == 0 })
      #expect(traffic.connections == 1)
    }
  }

  @Test func `a mebibyte arrives whole`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      let text = String((0..<1_048_576).map { Character(UnicodeScalar(UInt8(97 + $0 % 23))) })
      async let sending: Void = server.send(text)
      #expect(await client.receive(1_048_576) == .bytes(text))
      await sending
    }
  }

  @Test func `refuse rejects new connections, keeps open ones and reopens the port afterwards`()
    async throws
  {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.refuse)
      #expect(await world.error() == ECONNREFUSED)
      await client.send("still")
      #expect(await server.receive(5) == .bytes("still"))
      try await world.proxy.set(.pass)
      let again = try await world.connect()
      await again.client.send("again")
      #expect(await again.server.receive(5) == .bytes("again"))
    }
  }

  @Test func `cut ends both sides with a FIN`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.cut)
      #expect(await client.receive(1) == .end)
      #expect(await server.receive(1) == .end)
      let next = try #require(await world.dial())
      #expect(await next.receive(1) == .end)
    }
  }

  @Test func `reset ends both sides with a RST`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.reset)
      #expect(await client.receive(1) == .reset)
      #expect(await server.receive(1) == .reset)
      try await world.proxy.set(.pass)
      let again = try await world.connect()
      await again.client.send("again")
      #expect(await again.server.receive(5) == .bytes("again"))
    }
  }

  @Test func `the client is reset if the upstream is gone`() async throws {
    let upstream = Peer.listening()
    let proxy = try FaultProxy(upstream: upstream.port)
    upstream.close()
    let client = try #require(await Peer.connect(to: proxy.port).peer)
    #expect(await client.receive(1) == .reset)
    #expect(await proxy.traffic(reaches: { $0.open == 0 }) == Traffic(connections: 1))
    client.close()
  }

  @Test func `a black hole holds bytes and delivers them in order afterwards`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.blackhole())
      await client.send("one ")
      await client.send("two")
      #expect(await server.receive(1, timeLimit: Self.silence) == .silence)
      await server.send("three")
      #expect(await client.receive(1, timeLimit: Self.silence) == .silence)
      try await world.proxy.set(.pass)
      #expect(await server.receive(7) == .bytes("one two"))
      #expect(await client.receive(5) == .bytes("three"))
    }
  }

  @Test func `a black hole hides the close of the other side until it ends`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.blackhole())
      server.finish()
      #expect(await client.receive(1, timeLimit: Self.silence) == .silence)
      try await world.proxy.set(.pass)
      #expect(await client.receive(1) == .end)
    }
  }

  @Test func `a black hole can discard bytes, in one direction only`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.blackhole(Blackhole(reach: .down, fate: .swallowed)))
      await server.send("lost")
      #expect(await client.receive(1, timeLimit: Self.silence) == .silence)
      await client.send("found")
      #expect(await server.receive(5) == .bytes("found"))
      try await world.proxy.set(.pass)
      await server.send("next")
      #expect(await client.receive(4) == .bytes("next"))
    }
  }

  @Test func `a new connection into a black hole succeeds and is silent`() async throws {
    try await World.with { world in
      try await world.proxy.set(.blackhole())
      let (client, server) = try await world.connect()
      await client.send("hello")
      #expect(await server.receive(1, timeLimit: Self.silence) == .silence)
    }
  }

  #if os(Linux)
    @Test func `a new connection into a black hole can hang`() async throws {
      try await World.with { world in
        let (client, server) = try await world.connect()
        try await world.proxy.set(.blackhole(Blackhole(connects: .hang)))
        // A connection attempt that times out fails with `EINPROGRESS`.
        #expect(await world.error(timeLimit: Self.silence) == EINPROGRESS)
        try await world.proxy.set(.pass)
        let again = try await world.connect()
        await again.client.send("again")
        #expect(await again.server.receive(5) == .bytes("again"))
        await client.send("still")
        #expect(await server.receive(5) == .bytes("still"))
        #expect(await world.proxy.traffic.connections == 2)
      }
    }
  #endif

  @Test func `a delay keeps order and lets nothing through early`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      let start = ContinuousClock.now
      try await world.proxy.set(.delay(.milliseconds(150)))
      await client.send("slow ")
      await client.send("but sure")
      client.finish()
      #expect(await server.receive(13) == .bytes("slow but sure"))
      #expect(await server.receive(1) == .end)
      #expect(ContinuousClock.now - start >= .milliseconds(150))
    }
  }

  @Test func `the transfer rate is limited`() async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      let start = ContinuousClock.now
      try await world.proxy.set(.rate(bytesPerSecond: 2_000))
      await server.send(String(repeating: "x", count: 600))
      #expect(await client.receive(600) == .bytes(String(repeating: "x", count: 600)))
      // Six slices of 100 bytes are sent 50 ms apart, which causes five waits.
      #expect(ContinuousClock.now - start >= .milliseconds(250))
    }
  }

  @Test(arguments: [0, 1, 5])
  func `a connection ends after exactly the configured number of bytes`(count: Int) async throws {
    try await World.with { world in
      let (client, server) = try await world.connect()
      try await world.proxy.set(.cutAfter(bytes: count))
      await server.send("123456789")
      if count > 0 {
        #expect(await client.receive(9) == .bytes(String("123456789".prefix(count))))
      }
      #expect(await client.receive(1) == .end)
    }
  }

  @Test func `a released proxy closes its connections`() async throws {
    let upstream = Peer.listening()
    var proxy: FaultProxy? = try FaultProxy(upstream: upstream.port)
    let port = try #require(proxy?.port)
    let client = try #require(await Peer.connect(to: port).peer)
    let server = await upstream.accept()
    proxy = nil
    #expect(await client.receive(1) == .end)
    #expect(await server.receive(1) == .end)
    for peer in [client, server, upstream] { peer.close() }
  }
}
