import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct StoreContractTests {
  @Test func `the message log in PostgreSQL satisfies its contract`() async throws {
    let nodes = try TestNodes()
    try await messageLogContract { try await PostgreSQLMessageLog(of: nodes.make()) }
    try await prunableLogContract { try await PostgreSQLMessageLog(of: nodes.make()) }
    await nodes.close()
  }

  @Test func `the relay store in PostgreSQL satisfies its contract`() async throws {
    let nodes = try TestNodes()
    try await relayStoreContract { try await PostgreSQLRelayStore(of: nodes.make()) }
    await nodes.close()
  }

  @Test func `the session store in PostgreSQL satisfies its contract`() async throws {
    let nodes = try TestNodes()
    try await sessionStoreContract { try await PostgreSQLSessionStore(of: nodes.make()) }
    await nodes.close()
  }

  @Test func `the sync store in PostgreSQL satisfies its contract`() async throws {
    let nodes = try TestNodes()
    try await syncStoreContract { try await PostgreSQLSyncStore(of: nodes.make()) }
    await nodes.close()
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `the log in PostgreSQL does what the log in memory does`(seed: UInt64) async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shops = [try #require(ShopID("s")), try #require(ShopID("t"))]
    let memory = MemoryMessageLog(epoch: try await log.head(of: shops[0]).epoch)
    var random = RandomLog(seed: seed, shops: shops, lengths: [0, 1, 9, 40])
    for step in 0..<40 {
      if step % 9 == 8 {
        let shop = random.generator.one(shops)
        let head = try await memory.head(of: shop).offset
        let cut = LogCut(
          shop: shop, first: UInt64.random(in: 0...head + 2, using: &random.generator),
          now: Timestamp(nanoseconds: 0), keysSince: Timestamp(nanoseconds: .min))
        try await compare(log, memory, cut, after: head / 2)
      }
      let requests = (0..<random.generator.one([1, 1, 2, 9])).map { _ in random.request() }
      await compare(log, memory, requests)
      for shop in shops {
        let head = try await memory.head(of: shop)
        #expect(try await log.head(of: shop) == head)
        for _ in 0..<6 {
          let query = random.query(head)
          let (page, wanted) = (
            try await log.page(query, of: shop), try await memory.page(query, of: shop)
          )
          #expect(page == wanted, "\(query)")
          let (count, total) = (
            try await log.count(query, of: shop), try await memory.count(query, of: shop)
          )
          #expect(count == total, "\(query)")
        }
      }
    }
    await log.close()
    await node.close()
  }

  private func compare(
    _ log: PostgreSQLMessageLog, _ memory: MemoryMessageLog, _ requests: [LogRequest]
  ) async {
    let found = await log.append(requests)
    let wanted = await memory.append(requests)
    for (index, request) in requests.enumerated() {
      #expect((try? found[index].get()) == (try? wanted[index].get()), "\(request)")
    }
  }

  private func compare(
    _ log: PostgreSQLMessageLog, _ memory: MemoryMessageLog, _ cut: LogCut, after: UInt64
  ) async throws {
    #expect(try await log.remove(cut) == memory.remove(cut), "\(cut)")
    #expect(
      try await log.marks(of: cut.shop, after: after, limit: 3)
        == memory.marks(of: cut.shop, after: after, limit: 3))
    #expect(try await log.extents(after: nil, limit: 9) == memory.extents(after: nil, limit: 9))
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `the sync store in PostgreSQL does what the one in memory does`(seed: UInt64) async throws {
    let scratch = try Scratch()
    let node = try await TestDatabase().node(in: scratch.path)
    let store = try await PostgreSQLSyncStore(of: node)
    var random = RandomSync(seed: seed)
    let memory = MemorySyncStore()
    for _ in 0..<3 { try await compareSync(store, memory, &random) }
    await store.close()
    await node.close()
  }

  /// After an unknown outcome, the results are read from what the batch has stored.
  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `the stored outcome of a batch gives the results again`(seed: UInt64) async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    var random = RandomLog(
      seed: seed, shops: [try #require(ShopID("s"))], lengths: [1, 9], isCalm: true)
    for _ in 0..<60 {
      let requests = (0..<3).map { _ in random.request() }
      guard requests.withoutRepeatedChanges.count == 1 else { continue }
      let results = await log.append(requests)
      let stored = try #require(database.rows("SELECT outcome FROM lanes WHERE lane = -2").first)
        .integers(0)
      let rows = try await log.read(PostgreSQLMessageLog.replay(stored, of: requests))
      let epoch = try rows[1][0].text(0)
      for (index, request) in requests.enumerated() {
        let again = try request.result(rows[0][index], epoch: epoch)
        #expect((try? again.get()) == (try? results[index].get()), "\(request)")
      }
    }
    await log.close()
    await node.close()
  }

  /// Texts are bytes: U+0000 is valid, and no collation makes two texts equal.
  @Test func `texts are stored exactly`() async throws {
    let scratch = try Scratch()
    let node = try await TestDatabase().node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shop = try #require(ShopID("s"))
    for (number, text) in ["a\u{0}b", "\u{E9}", "e\u{301}", "", "🪢\n"].enumerated() {
      let message = ShopMessage(
        id: UUID128(high: 0, low: UInt64(number)), shop: shop, user: text + "u", username: text,
        text: text, createdAt: Timestamp(nanoseconds: 1))
      _ = try await log.append(message, idempotencyKey: UUID128(high: 5, low: 5))
      let found = try await log.page(.page(number: 1, limit: 1), of: shop).messages[0]
      #expect(Array(found.text.utf8) == Array(text.utf8))
      #expect(Array(found.user.utf8) == Array((text + "u").utf8))
    }
    await log.close()
    await node.close()
  }
}
