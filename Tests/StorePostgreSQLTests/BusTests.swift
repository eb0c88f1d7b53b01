import HoldfastCore
import HoldfastMessageData
import HoldfastPorts
import HoldfastTestKit
import Testing

@testable import HoldfastNodeBus
@testable import HoldfastPostgreSQLStores

/// The reports between nodes, over the database and over NATS.
@Suite(.timeLimit(.minutes(60))) struct BusTests {
  /// A bus, and the news that it has reported.
  private struct Listener {
    let bus: NodeBus
    private var news: AsyncStream<NodeNews>.Iterator

    init(_ bus: NodeBus) {
      self.bus = bus
      news = bus.news.makeAsyncIterator()
    }

    /// Waits for news of a kind. Returns the shops of the reports before it.
    @discardableResult
    mutating func wait(for wanted: NodeNews) async -> Set<ShopID> {
      var told: Set<ShopID> = []
      while let next = await news.next(isolation: #isolation), next != wanted {
        if case .told(let shop, _) = next { told.insert(shop) }
      }
      return told
    }

    /// Waits for the reports of a number of shops.
    mutating func told(_ count: Int) async -> [ShopID: ShopPosition] {
      var told: [ShopID: ShopPosition] = [:]
      while told.count < count, let next = await news.next(isolation: #isolation) {
        if case .told(let shop, let position) = next { told[shop] = position }
      }
      return told
    }

    /// Whether the bus has ended. Waits until it has.
    mutating func hasEnded() async -> Bool {
      while await news.next(isolation: #isolation) != nil {}
      return true
    }
  }

  private static let position = ShopPosition(epoch: "e", offset: 7)

  private func shop(_ name: String) throws -> ShopID { try #require(ShopID(name)) }

  /// Checks the reports from the first bus to the second, before and after connections are lost.
  ///
  /// - Parameters:
  ///   - losesAll: Whether the first one loses its connection, too.
  ///   - breaks: A function that ends connections.
  ///   - mends: A function that makes connections possible again.
  private func check(
    _ buses: [NodeBus], losesAll: Bool = false, breaks: () async throws -> Void,
    mends: () async throws -> Void = {}
  ) async throws {
    var listeners = buses.map(Listener.init)
    for index in listeners.indices { await listeners[index].wait(for: .connected) }
    let shops = try (0..<100).map { try shop("shop-\($0)") }
    for shop in shops { buses[0].tell(Self.position, of: shop) }
    let told = await listeners[1].told(100)
    #expect(Set(told.keys) == Set(shops))
    #expect(told.values.allSatisfy { $0 == Self.position })
    // An own report would arrive before the one that answers it.
    buses[1].tell(Self.position, of: try shop("own"))
    #expect(await listeners[0].told(1) == [try shop("own"): Self.position])
    buses[0].tell(Self.position, of: try shop("answer"))
    #expect(await listeners[1].told(1) == [try shop("answer"): Self.position])

    let hit = listeners.indices.filter { losesAll || $0 == 1 }
    try await breaks()
    for index in hit { await listeners[index].wait(for: .interrupted) }
    if losesAll { #expect(buses[1].failure != nil) }
    try await mends()
    for index in hit { await listeners[index].wait(for: .connected) }
    #expect(buses[1].failure == nil)
    buses[0].tell(Self.position, of: try shop("after"))
    #expect(await listeners[1].told(1) == [try shop("after"): Self.position])
    for index in listeners.indices {
      await buses[index].close()
      #expect(await listeners[index].hasEnded())
    }
  }

  @Test(.enabled(if: TestServer.isInstalled, TestServer.remedy))
  func `reports arrive over the database, and an ended connection is noticed`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let nodes = [
      try await database.node(in: scratch("a"), name: "sender"),
      try await database.node(in: scratch("b"), name: "receiver"),
    ]
    #expect(try await nodes[0].subject() == nodes[1].subject())
    #expect(try await nodes[0].subject().wholeMatch(of: /holdfast\.[0-9a-f]{32}/) != nil)
    try await check(
      nodes.map { NodeBus(of: $0) },
      breaks: {
        try database.execute(
          """
          SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
          WHERE application_name = 'holdfast-receiver' AND query LIKE '%pg_notify%'
          """)
      })
    for node in nodes { await node.close() }
  }

  @Test(.enabled(if: NATSServer.isInstalled, NATSServer.remedy))
  func `reports arrive over NATS, and a killed server is noticed`() async throws {
    let server = NATSServer()
    try await server.start()
    let settings = try NATSSettings(server.url) { _ in nil }
    try await check(
      (1...2).map { number in
        NodeBus(of: UUID128(high: 0, low: number), over: settings, subject: "holdfast.a")
      }, losesAll: true, breaks: { await server.kill() }, mends: { try await server.start() })
    await server.kill()
  }

  @Test(arguments: 1...4)
  func `each server of NATS is tried before one is tried again`(_ count: Int) throws {
    let urls = (0..<count).map { "nats://host\($0):4222" }
    let settings = try NATSSettings(urls.joined(separator: ",")) { _ in nil }
    for first in 0..<count {
      let turns = NATSTurns(settings.servers, first: first)
      let tried = (0..<2 * count).map { _ in turns.next().url }
      #expect(tried == (0..<2 * count).map { urls[(first + $0) % count] })
    }
  }

  @Test(.enabled(if: NATSServer.isInstalled, NATSServer.remedy))
  func `notes of another subject and other payloads are ignored`() async throws {
    let server = NATSServer()
    try await server.start()
    let settings = try NATSSettings(server.url) { _ in nil }
    var listeners = (1...3).map { number in
      Listener(
        NodeBus(
          of: UUID128(high: 0, low: number), over: settings,
          subject: number == 1 ? "holdfast.a" : "holdfast.b"))
    }
    for index in listeners.indices { await listeners[index].wait(for: .connected) }
    listeners[1].bus.tell(Self.position, of: try shop("elsewhere"))
    #expect(await listeners[2].told(1) == [try shop("elsewhere"): Self.position])
    let sender = UUID128(high: 1, low: 0)
    let note = NodeNote(sender: sender, heads: [try shop("stranger"): Self.position])
    let payloads = [
      "", "no note", "\(sender)\n/ e:1\na e", String(repeating: "x", count: 20_000),
      note.text + String(repeating: " ", count: NodeNote.maxBytes), note.text,
    ]
    try await server.publish(payloads, on: "holdfast.a")
    #expect(await listeners[0].told(1) == note.heads)
    for listener in listeners { await listener.bus.close() }
    await server.kill()
  }

  @Test func `a bus without a server says why, and ends`() async throws {
    let settings = try NATSSettings("nats://127.0.0.1:1") { name in
      ["NATS_USER": "ann", "NATS_PASSWORD": "quiet"][name]
    }
    let bus = NodeBus(
      of: UUID128(high: 0, low: 1), over: settings, subject: "holdfast.a")
    var news = bus.news.makeAsyncIterator()
    #expect(await news.next() == .interrupted)
    let failure = try #require(bus.failure)
    #expect(failure.hasPrefix("nats://127.0.0.1:1: ") && !failure.contains("quiet"))
    await bus.close()
    #expect(await news.next() == nil)
  }

  @Test func `URLs of NATS name servers and nothing else`() throws {
    let settings = try NATSSettings("tls://a:4222,tls://b-1.example_,tls://[::1]:4223") { _ in nil }
    #expect(settings.servers.map(\.host) == ["a", "b-1.example_", "::1"])
    #expect(settings.servers.map(\.isSecure) == [true, true, true])
    for url in [
      "nats://a,tls://b",
      "", "a:4222", "http://a", "nats://", "nats://a,", "nats://a:0", "nats://a:65536", "nats://a:",
      "nats://a/b", "nats://[::1", "nats://::1", "nats://a b",
    ] {
      #expect(throws: StoreFailure.self, "\(url)") { try NATSSettings(url) { _ in nil } }
    }
    let refused = #expect(throws: StoreFailure.self) {
      try NATSSettings("nats://ann:quiet@a:4222") { _ in nil }
    }
    #expect(refused.map { "\($0)".contains("quiet") } == false)
    #expect(throws: StoreFailure.self) {
      try NATSSettings("tls://a") { $0 == "NATS_KEY" ? "key.pem" : nil }
    }
  }

  @Test func `only an own note without an echo for 3 s shows that the bus is silent`() {
    let start = Instant.zero
    func after(_ time: Duration) -> Instant { start.advanced(by: time) }
    var echoes = EchoWatch()
    // The thread had no processor, or the machine slept.
    #expect(!echoes.areMissing(at: after(.seconds(3_600))))
    echoes.sent(at: start)
    echoes.sent(at: after(.seconds(2)))
    #expect(!echoes.areMissing(at: after(EchoWatch.limit - .nanoseconds(1))))
    #expect(echoes.areMissing(at: after(EchoWatch.limit)))
    echoes.heard()
    #expect(!echoes.areMissing(at: after(.seconds(3_600))))
  }

  @Test func `a note is read as it was written`() throws {
    let shop = try #require(ShopID("a.b_C-1"))
    let note = NodeNote(
      sender: UUID128(high: 1, low: 2), heads: [shop: ShopPosition(epoch: "e-_1", offset: 12)])
    #expect(NodeNote(note.text) == note)
    let empty = NodeNote(sender: UUID128(high: 1, low: 2), heads: [:])
    #expect(NodeNote(empty.text) == empty)
    #expect(NodeNote("") == nil)
    #expect(NodeNote("no uuid\na e:1") == nil)
    #expect(NodeNote("\(note.text)\nwrong line\n/ e:1\na e:x") == note)
    let longest = try (0..<NodeNote.most).map {
      try #require(ShopID(String(repeating: "s", count: 126) + "\($0 + 10)"))
    }
    let position = ShopPosition(epoch: String(repeating: "e", count: 64), offset: .max)
    let full = NodeNote(
      sender: UUID128(high: 1, low: 2),
      heads: Dictionary(uniqueKeysWithValues: longest.map { ($0, position) }))
    #expect(full.text.utf8.count < NodeNote.maxBytes)
  }
}
