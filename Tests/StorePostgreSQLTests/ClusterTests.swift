import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

/// Several nodes over one database: dense offsets, and the role that one node has.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy), .timeLimit(.minutes(60)))
struct ClusterTests {
  private func post(_ number: UInt64, in shop: ShopID, at time: Int64 = 0) -> LogRequest {
    .post(
      LogEntry(
        message: ShopMessage(
          id: UUID128(high: 1, low: number), shop: shop, user: "u", username: nil,
          text: "t\(number)", createdAt: Timestamp(nanoseconds: time)),
        key: UUID128(high: 2, low: number)))
  }

  /// Posts 25 messages of a client of a node. The clocks of the nodes differ.
  private func post25(
    of client: UInt64, to log: PostgreSQLMessageLog, in shop: ShopID
  ) async throws {
    for number in 0..<25 as Range<UInt64> {
      let time = Int64(1_000_000 * (number + 100 * (client % 3)))
      let outcome = try await log.append(post(client * 25 + number, in: shop, at: time))
      guard case .posted(let message, isNew: true) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(message.createdAt.nanoseconds >= time)
    }
  }

  @Test func `posts of one batch with the same time get times in their order`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let shop = try #require(ShopID("s"))
    let log = try await PostgreSQLMessageLog(
      of: try await database.node(in: scratch("a"), name: "a"), stampsPosts: true)
    let times: [Int64] = [5_000_000, 5_000_000, 4_000_000, 5_000_500, 9_000_000, 9_000_000]
    let outcomes = await log.append(
      times.enumerated().map { post(UInt64($0.offset), in: shop, at: $0.element) })
    let stamped = try outcomes.map { outcome in
      guard case .posted(let message, isNew: true) = try outcome.get() else { return Int64(-1) }
      return message.createdAt.nanoseconds
    }
    #expect(stamped == [5_000_000, 5_001_000, 5_002_000, 5_003_000, 9_000_000, 9_001_000])
    let start = ShopPosition(epoch: try await log.head(of: shop).epoch, offset: 0)
    let page = try await log.page(.after(start, limit: 10), of: shop)
    #expect(page.messages.map(\.createdAt.nanoseconds) == stamped)
    await log.close()
  }

  @Test func `posts of three nodes have dense offsets, and times in their order`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let shop = try #require(ShopID("s"))
    var nodes: [DatabaseNode] = []
    var logs: [PostgreSQLMessageLog] = []
    for name in ["a", "b", "c"] {
      let node = try await database.node(in: scratch(name), name: name)
      nodes.append(node)
      logs.append(try await PostgreSQLMessageLog(of: node, stampsPosts: true))
    }
    let epoch = try await logs[0].head(of: shop).epoch
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<12 as Range<UInt64> {
        let log = logs[Int(client % 3)]
        group.addTask { try await post25(of: client, to: log, in: shop) }
      }
      try await group.waitForAll()
    }
    let page = try await logs[2].page(
      .after(ShopPosition(epoch: epoch, offset: 0), limit: 1_000), of: shop)
    #expect(page.messages.compactMap { $0.position?.offset } == Array(1...300))
    #expect(Set(page.messages.map(\.id)).count == 300)
    let times = page.messages.map(\.createdAt)
    #expect(zip(times, times.dropFirst()).allSatisfy(<))
    let other = try #require(ShopID("t"))
    let heads = try await logs[1].heads(of: [shop, other, shop])
    #expect(heads.map(\.offset) == [300, 0, 300])
    for log in logs { await log.close() }
    for node in nodes { await node.close() }
  }

  @Test func `one node has the role, and the next one takes it when that node is gone`()
    async throws
  {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let first = try await database.node(in: scratch("a"), name: "first")
    let second = try await database.node(in: scratch("b"), name: "second")
    #expect(first.holdsRole && !second.holdsRole)
    #expect(try NodeRecord.all(of: database.settings).map(\.hasRole) == [true, false])
    func refusal(of node: DatabaseNode) throws -> String {
      let late = try ServerChoice.open(database.settings, applicationName: "late", known: 0)
      let batch = Lane.Batch(
        run: node.run, lane: Lane.Kind.session.lock, role: DatabaseNode.role, number: 9)
      do {
        _ = try late.run(batch.beginning)
        return "none"
      } catch {
        return "\(error)"
      }
    }
    #expect(try refusal(of: first) == "none")
    #expect(try refusal(of: second).contains(DatabaseFailure.roleLost))
    var changes = second.changes.makeAsyncIterator()
    await first.close()
    while let change = await changes.next(), change != .role(true) {}
    #expect(second.holdsRole)
    #expect(try refusal(of: second) == "none")
    #expect(try refusal(of: first).contains(DatabaseFailure.leaseEnded))
    #expect(try NodeRecord.all(of: database.settings).map(\.name) == ["second"])
    await second.close()
  }

  @Test func `an epoch that ends is replaced once, though two nodes notice it`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let shop = try #require(ShopID("s"))
    var nodes: [DatabaseNode] = []
    var logs: [PostgreSQLMessageLog] = []
    for name in ["noticing-a", "noticing-b"] {
      let node = try await database.node(in: scratch(name), name: name)
      nodes.append(node)
      logs.append(try await PostgreSQLMessageLog(of: node))
    }
    for number in 1...4 as ClosedRange<UInt64> {
      _ = try await logs[Int(number % 2)].append(post(number, in: shop))
    }
    // The state of a standby that lacked the last commit of each node.
    try database.execute(
      """
      DELETE FROM messages WHERE "offset" > 2; UPDATE lanes SET number = 1;
      SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE application_name LIKE 'holdfast-noticing-%' AND query LIKE '%COMMIT%';
      """)
    _ = try await logs[0].append(post(5, in: shop))
    let epoch = try await logs[0].head(of: shop).epoch
    _ = try await logs[1].append(post(6, in: shop))
    #expect(try await logs[1].head(of: shop) == ShopPosition(epoch: epoch, offset: 4))
    for log in logs { await log.close() }
    for node in nodes { await node.close() }
  }

  @Test func `two nodes that apply batches of one user at once lose no deletion`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let nodes = [
      try await database.node(in: scratch("a")), try await database.node(in: scratch("b")),
    ]
    let stores = [
      try await PostgreSQLSyncStore(of: nodes[0]), try await PostgreSQLSyncStore(of: nodes[1]),
    ]
    for round in 0..<20 as Range<UInt64> {
      // Two UUIDs name the same sample.
      let (first, second) = (2 * round + 1, 2 * round + 2)
      let start = Int64(round)
      _ = try await stores[0].apply(
        SyncSamples.delivery([
          SyncSamples.record(start, uuid: first), SyncSamples.record(start, uuid: second),
        ]))
      async let left = stores[0].apply(SyncSamples.delivery(deleted: [first], made: 2_000 + start))
      async let right = stores[1].apply(
        SyncSamples.delivery(deleted: [second], made: 2_000 + start))
      _ = try await (left, right)
      #expect(try await stores[1].summary(of: "ann").allSatisfy { $0.count == 0 }, "\(round)")
    }
    for store in stores { await store.close() }
    for node in nodes { await node.close() }
  }

  @Test func `a node that has the role again goes on to write`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    for round in 0..<3 {
      let store = PostgreSQLSessionStore(of: node)
      for _ in 0...round { try await store.apply([.endClient("nobody")]) }
      await store.close()
    }
    await node.close()
  }

  @Test func `the role of another term is reported as lost and taken`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    var changes = node.changes.makeAsyncIterator()
    while let change = await changes.next(), change != .role(true) {}
    // As after another node had the role, and left, while this one was paused.
    try database.execute("UPDATE roles SET term = term + 2")
    var seen: [NodeChange] = []
    while seen.count < 2, let change = await changes.next() {
      if case .syncEpoch = change { continue }
      seen.append(change)
    }
    #expect(seen == [.role(false), .role(true)])
    await node.close()
  }

  @Test func `a node whose lease ended before a move does not come back after it`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    // As at a real node, its secrets differ from those of a mover, which has none. A node that comes
    // back before the mover has a lease then removes the mover's row.
    let node = try await database.node(in: scratch("a"), name: "paused", secrets: [1])
    var mover: DatabaseNode?
    // The node may renew its lease, or come back, before the mover has a lease.
    for _ in 0..<20 where mover == nil {
      try database.execute(
        "UPDATE nodes SET lease_until = now() - interval '1 s' WHERE NOT moves")
      mover = try? await DatabaseNode.openToMove(
        database.settings, in: scratch("b"), name: "mover")
    }
    try database.execute("INSERT INTO moved VALUES ('to elsewhere')")
    await mover?.close()
    for await change in node.changes where change == .lease(false) { break }
    #expect(node.reason?.contains("moves the content of this database") == true)
    await node.close()
  }
}
