import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

/// One node, its lease, and servers that end or come back.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct NodeTests {
  private func post(_ number: UInt64, in shop: ShopID) -> LogRequest {
    .post(
      LogEntry(
        message: ShopMessage(
          id: UUID128(high: 1, low: number), shop: shop, user: "u", username: nil,
          text: "t\(number)",
          createdAt: Timestamp(nanoseconds: Int64(number))), key: UUID128(high: 2, low: number)))
  }

  private func failure(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "none"
    } catch {
      return "\(error)"
    }
  }

  @Test func `a node with other secrets is refused while the first one lives`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let first = try await database.node(in: scratch("a"), name: "first", secrets: [1])
    let refusal = await failure {
      _ = try await database.node(in: scratch("b"), name: "second", secrets: [2])
    }
    #expect(refusal.contains("The node first has other secrets"))
    let sameDirectory = await failure { _ = try await database.node(in: scratch("a")) }
    #expect(sameDirectory.contains("Another process uses"))
    let moving = await failure {
      _ = try await DatabaseNode.openToMove(database.settings, in: scratch("c"), name: "third")
    }
    #expect(moving.contains("A node, first, uses this database. Stop all nodes"))
    await first.close()
    let second = try await database.node(in: scratch("b"), name: "second", secrets: [2])
    #expect(second.reason == nil)
    await second.close()
  }

  @Test func `a run in the same directory takes over at once, and the former one is cut off`()
    async throws
  {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch("a"), name: "former")
    let log = try await PostgreSQLMessageLog(of: node)
    let shop = try #require(ShopID("s"))
    _ = try await log.append(post(1, in: shop))
    // As another process does, after this one has lost its lock of the directory.
    try database.execute(
      "UPDATE nodes SET run = gen_random_uuid(), lease_until = now() + interval '1 hour'")
    let refusal = await failure { _ = try await log.append(post(2, in: shop)) }
    #expect(refusal.contains("The node former") && refusal.contains("has the same identity"))
    let check = await failure { try await log.check() }
    #expect(check == refusal)
    #expect(try database.rows("SELECT 1 FROM messages").count == 1)
    await log.close()
    await node.close()
  }

  @Test func `a transaction of a frozen node delays a move for 10 s at most`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let former = try await database.node(in: scratch("a"), name: "former")
    let frozen = try ServerChoice.open(database.settings, applicationName: "frozen", known: 0)
    _ = try frozen.run(Lane.Batch(run: former.run, lane: -5, role: nil, number: 1).beginning)
    // As after 10 s without a renewal.
    await former.close()
    let next = try await DatabaseNode.openToMove(
      database.settings, in: scratch("b"), name: "next")
    #expect(next.reason == nil)
    #expect(throws: DatabaseFailure.self) { try frozen.run([.commit]) }
    await next.close()
  }

  @Test func `an attempt that arrives after a later transaction is refused`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shop = try #require(ShopID("s"))
    _ = try await log.append(post(1, in: shop))
    _ = try await log.append(post(2, in: shop))
    let late = try ServerChoice.open(database.settings, applicationName: "late", known: 0)
    for number in [1, 2] as [Int64] {
      let batch = Lane.Batch(
        run: node.run, lane: Lane.Kind.log.lock, role: nil, number: number)
      let commands = batch.beginning + [Command("DELETE FROM messages")] + batch.ending()
      #expect(throws: DatabaseFailure.self) { try late.run(commands + [.commit]) }
    }
    #expect(try await log.head(of: shop).offset == 2)
    _ = try await log.append(post(3, in: shop))
    await log.close()
    await node.close()
  }

  @Test func `a copy of the data directory does not take over from a live node`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let first = try await database.node(in: scratch("a"), name: "first")
    try await Shell.run(["cp", "-a", scratch("a"), scratch("copy")])
    let refusal = await failure { _ = try await database.node(in: scratch("copy")) }
    #expect(refusal.contains("The node first") && refusal.contains("remove its file"))
    #expect(first.reason == nil)
    await first.close()
    let copy = try await database.node(in: scratch("copy"))
    #expect(copy.reason == nil)
    await copy.close()
  }

  @Test func `a copy of the data directory on another machine does not take over`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let first = try await database.node(in: scratch("a"), name: "first")
    try await Shell.run(["cp", "-a", scratch("a"), scratch("copy")])
    try database.execute("UPDATE nodes SET machine = 'another'")
    let refusal = await failure { _ = try await database.node(in: scratch("copy")) }
    #expect(refusal.contains("The node first") && refusal.contains("remove its file"))
    #expect(first.reason == nil)
    await first.close()
  }

  @Test func `warnings that do not come with a commit are not about it`() async throws {
    let database = try await TestDatabase()
    let connection = try ServerChoice.open(database.settings, applicationName: "test", known: 0)
    let warning = Command("DO $$ BEGIN RAISE WARNING 'something else'; END $$")
    #expect(try connection.run([warning]).count == 1)
    #expect(try connection.run([.begin, warning, .commit]).count == 3)
    #expect(connection.isOpen)
  }

  @Test func `a database of a newer version is refused`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    await (try await database.node(in: scratch.path)).close()
    let next = Migrations.version + 1
    try database.execute("UPDATE schema_version SET version = \(next), oldest_reader = 1")
    await (try await database.node(in: scratch.path)).close()
    try database.execute("UPDATE schema_version SET oldest_reader = \(next)")
    let refusal = await failure { _ = try await database.node(in: scratch.path) }
    #expect(refusal.contains("format \(next)"))
  }

  @Test func `nothing is lost or doubled when the server is killed under load`() async throws {
    let scratch = try Scratch()
    let server = try await TestServer()
    try await server.start()
    let database = try await TestDatabase(on: [server])
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shops = [try #require(ShopID("s")), try #require(ShopID("t"))]
    let epoch = try await log.head(of: shops[0]).epoch
    let rounds: UInt64 = 4
    for round in 0..<rounds {
      let positions = try await positions(in: log, shops, from: round * 320) { number in
        // Kills while the other clients wait for their commits.
        guard number == 10 + round * 3 else { return }
        await server.kill()
        try await server.start()
      }
      #expect(positions.values.allSatisfy { $0?.epoch == epoch })
    }
    for shop in shops {
      #expect(try await log.head(of: shop).offset == rounds * 160)
      let page = try await log.page(
        .after(
          ShopPosition(epoch: epoch, offset: 0), limit: 10_000), of: shop)
      #expect(page.messages.compactMap { $0.position?.offset } == Array(1...rounds * 160))
      #expect(Set(page.messages.map(\.id)).count == Int(rounds) * 160)
    }
    await log.close()
    await node.close()
    await server.kill()
  }

  @Test func `commits that a failover lost begin a new epoch`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shop = try #require(ShopID("s"))
    _ = try await log.append(post(1, in: shop))
    let epoch = try await log.head(of: shop).epoch
    // The state of a standby that lacked the newest commit.
    _ = try await log.append(post(2, in: shop))
    try database.execute(
      """
      DELETE FROM messages WHERE "offset" = 2; UPDATE lanes SET number = 1;
      SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
      WHERE application_name = 'holdfast-node' AND query LIKE '%COMMIT%' AND pid <> pg_backend_pid();
      """)
    let outcome = try await log.append(post(3, in: shop))
    guard case .posted(let message, isNew: true) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(message.position?.offset == 2)
    #expect(message.position?.epoch != epoch)
    await log.close()
    await node.close()
  }

  /// Starts a primary and its synchronous standby.
  private func pair() async throws -> (primary: TestServer, standby: TestServer) {
    let primary = try await TestServer()
    let standby = try await TestServer(copyOf: primary)
    try await standby.write("", to: "data/standby.signal")
    let source = "primary_conninfo=host=\(primary.path) user=test application_name=standby"
    try await primary.start(["synchronous_standby_names=standby"])
    try await standby.start([source])
    return (primary, standby)
  }

  private typealias Positions = [MessageID: ShopPosition?]

  /// Posts 40 messages of each of eight clients, and returns their positions. `meanwhile` is called
  /// after each post of the first client.
  private func positions(
    in log: PostgreSQLMessageLog, _ shops: [ShopID], from first: UInt64 = 0,
    meanwhile: @escaping @Sendable (UInt64) async throws -> Void
  ) async throws -> Positions {
    try await withThrowingTaskGroup(of: Positions.self) { group in
      for client in 0..<8 as Range<UInt64> {
        group.addTask {
          var positions: Positions = [:]
          for number in 0..<40 as Range<UInt64> {
            let shop = shops[Int(client) % shops.count]
            let outcome = try await log.append(post(first + client * 40 + number, in: shop))
            guard case .posted(let message, isNew: true) = outcome else {
              throw TestServer.Problem(text: "\(outcome)")
            }
            positions[message.id] = message.position
            if client == 0 { try await meanwhile(number) }
          }
          return positions
        }
      }
      return try await group.reduce(into: [:]) { $0.merge($1) { $1 } }
    }
  }

  /// Kills the primary while eight clients post, and promotes its standby. `HOLDFAST_FAILOVERS=N`
  /// sets the number of rounds.
  @Test func `failovers under load lose, double and move nothing`() async throws {
    let rounds = ProcessInfo.processInfo.environment["HOLDFAST_FAILOVERS"].flatMap(UInt64.init) ?? 1
    for round in 1...rounds {
      let scratch = try Scratch()
      let (primary, standby) = try await pair()
      let database = try await TestDatabase(on: [primary, standby])
      let node = try await database.node(in: scratch.path)
      let log = try await PostgreSQLMessageLog(of: node)
      let shop = try #require(ShopID("s"))
      let epoch = try await log.head(of: shop).epoch
      let moment = 3 + round * 7 % 30
      let positions = try await positions(in: log, [shop]) { number in
        guard number == moment else { return }
        await primary.kill()
        try await standby.promote()
      }
      let page = try await log.page(
        .after(ShopPosition(epoch: epoch, offset: 0), limit: 10_000), of: shop)
      #expect(page.messages.compactMap { $0.position?.offset } == Array(1...320))
      for message in page.messages { #expect(positions[message.id] == message.position) }
      #expect(positions.count == 320)
      await log.close()
      await node.close()
      await standby.kill()
    }
  }

  @Test func `a former primary that comes back is not used`() async throws {
    let scratch = try Scratch()
    let (former, standby) = try await pair()
    let database = try await TestDatabase(on: [former, standby])
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shop = try #require(ShopID("s"))
    _ = try await log.append(post(1, in: shop))
    let epoch = try await log.head(of: shop).epoch
    await former.kill()
    try await standby.promote()
    let second = try await log.append(post(2, in: shop))
    guard case .posted(let message, isNew: true) = second else {
      Issue.record("\(second)")
      return
    }
    #expect(message.position == ShopPosition(epoch: epoch, offset: 2))
    // Without its list of standbys, the former primary accepts writes again.
    try await former.start()
    let connection = try ServerChoice.open(
      database.settings, applicationName: "test", known: 0)
    #expect(connection.timeline == 2)
    #expect(connection.host.contains(standby.path))
    await log.close()
    await node.close()
    await standby.kill()
    let refusal = await failure {
      _ = try ServerChoice.open(database.settings, applicationName: "test", known: 2)
    }
    #expect(refusal.contains("has timeline 1, and 2 was seen before"))
    await former.kill()
  }
}
