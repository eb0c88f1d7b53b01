import Foundation
import HoldfastBackend
import HoldfastBackups
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastMessageData
import HoldfastSQLiteStores
import HoldfastTestKit
import Synchronization
import Testing

@testable import HoldfastPostgreSQLStores

/// Moves of stores between SQLite files and PostgreSQL.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy))
struct MoveTests {
  private func failure(_ body: () async throws -> Void) async -> String {
    do {
      try await body()
      return "none"
    } catch {
      return "\(error)"
    }
  }

  /// Appends to a log and to one in memory, and compares the results and pages.
  private func extend(
    _ log: any MessageLog, _ memory: MemoryMessageLog, _ random: inout RandomLog, shops: [ShopID]
  ) async throws {
    for _ in 0..<25 {
      let requests = (0..<random.generator.one([1, 2, 9])).map { _ in random.request() }
      let found = await log.append(requests)
      let wanted = await memory.append(requests)
      for (index, request) in requests.enumerated() {
        #expect((try? found[index].get()) == (try? wanted[index].get()), "\(request)")
      }
    }
    for shop in shops {
      let query = PageQuery.newest(
        knowing: try await memory.head(of: shop), limit: 10_000)
      #expect(try await log.page(query, of: shop) == memory.page(query, of: shop))
      let all = PageQuery.page(number: 1, limit: 10_000)
      #expect(try await log.page(all, of: shop) == memory.page(all, of: shop))
    }
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `a log goes to PostgreSQL and back, and continues as if it had stayed`(
    seed: UInt64
  ) async throws {
    let scratch = try Scratch()
    let (directory, other) = (scratch("a"), scratch("b"))
    let database = try await TestDatabase()
    let shops = [try #require(ShopID("s")), try #require(ShopID("t"))]
    // Large texts need more than one transaction.
    let lengths = seed == 3 ? [9, 60_000] : [0, 1, 9, 40]
    var random = RandomLog(seed: seed, shops: shops, lengths: lengths)
    let files = try await SQLiteMessageLog.open(in: directory)
    let memory = MemoryMessageLog(epoch: try await files.head(of: shops[0]).epoch)
    try await extend(files, memory, &random, shops: shops)
    await files.close()

    let moved = try await StoreMove.run(directory: directory, database: database.url)
    #expect(moved?.first { $0.name == "messages" }?.rows ?? 0 > 20)
    let node = try await database.node(in: directory)
    let log = try await PostgreSQLMessageLog(of: node)
    try await extend(log, memory, &random, shops: shops)
    await log.close()
    await node.close()

    let back = try await StoreMove.run(
      directory: other, database: database.url, isReturn: true)
    #expect(back?.count == moved?.count)
    let files2 = try await SQLiteMessageLog.open(in: other)
    try await extend(files2, memory, &random, shops: shops)
    await files2.close()
  }

  @Test func `the contents of images go to PostgreSQL and back`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    await (try await SQLiteMessageLog.open(in: scratch("a"))).close()
    // More than one batch, one of which is larger than a transaction.
    let contents = (1...9 as ClosedRange<UInt64>).map { number in
      let size = number == 5 ? 3_000_000 : Int(number) * 10
      return (UUID128(high: number << 56, low: 1), [UInt8](repeating: UInt8(number), count: size))
    }
    try FileManager.default.createDirectory(
      atPath: scratch("a/images"), withIntermediateDirectories: true)
    for (id, content) in contents { try scratch.write(content, to: "a/images/\(id)") }
    try scratch.write([1], to: "a/images/no-image")
    let moved = try await StoreMove.run(directory: scratch("a"), database: database.url)
    #expect(moved?.first { $0.name == "image contents" }?.rows == 9)
    let node = try await database.node(in: scratch("a"))
    let log = try await PostgreSQLMessageLog(of: node)
    for (id, content) in contents {
      let found = try await log.content(of: id, 3..<10)
      #expect(found?.length == content.count && found?.part == Array(content[3..<10]))
    }
    #expect(try await log.content(of: UUID128(high: 0, low: 1), 0..<1) == nil)
    await log.close()
    await node.close()
    let back = try await StoreMove.run(
      directory: scratch("b"), database: database.url, isReturn: true)
    #expect(back == moved)
    for (id, content) in contents {
      #expect(try scratch.bytes(of: "b/images/\(id)") == content)
    }
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `synced samples go to PostgreSQL and back, and continue as if they had stayed`(
    seed: UInt64
  ) async throws {
    let scratch = try Scratch()
    let (directory, other) = (scratch("a"), scratch("b"))
    let database = try await TestDatabase()
    var random = RandomSync(seed: seed)
    let memory = MemorySyncStore()
    await (try await SQLiteMessageLog.open(in: directory)).close()
    let files = try await SQLiteSyncStore.open(in: directory)
    try await compareSync(files, memory, &random)
    await files.close()
    let moved = try await StoreMove.run(directory: directory, database: database.url)
    #expect(moved?.first { $0.name == "samples" }?.rows ?? 0 > 20)
    let node = try await database.node(in: directory)
    let store = try await PostgreSQLSyncStore(of: node)
    try await compareSync(store, memory, &random)
    await store.close()
    await node.close()
    _ = try await StoreMove.run(directory: other, database: database.url, isReturn: true)
    let files2 = try await SQLiteSyncStore.open(in: other)
    try await compareSync(files2, memory, &random)
    await files2.close()
  }

  @Test func `the relay's and the sessions' state goes to PostgreSQL and back`() async throws {
    let scratch = try Scratch()
    let folders = Mutex<[String]>([])
    func folder() -> String {
      folders.withLock { folders in
        folders.append(scratch("\(folders.count)"))
        return folders[folders.count - 1]
      }
    }
    try await relayStoreContract { try await SQLiteRelayStore.open(in: folder()) }
    try await sessionStoreContract { try await SQLiteSessionStore.open(in: folder()) }
    for (index, directory) in folders.withLock({ $0 }).enumerated() {
      let database = try await TestDatabase()
      await (try await SQLiteMessageLog.open(in: directory)).close()
      let moved = try await StoreMove.run(directory: directory, database: database.url)
      let node = try await database.node(in: directory)
      let (relay, session) = (
        try await PostgreSQLRelayStore(of: node).stored(),
        try await PostgreSQLSessionStore(of: node).stored()
      )
      await node.close()
      let other = scratch("back\(index)")
      let back = try await StoreMove.run(
        directory: other, database: database.url, isReturn: true)
      #expect(moved == back)
      let relays = [
        try await SQLiteRelayStore.open(in: directory), try await SQLiteRelayStore.open(in: other),
      ]
      let sessions = [
        try await SQLiteSessionStore.open(in: directory),
        try await SQLiteSessionStore.open(in: other),
      ]
      for store in relays { #expect(try await store.stored() == relay) }
      for store in sessions { #expect(try await store.stored() == session) }
      for store in relays { await store.close() }
      for store in sessions { await store.close() }
    }
  }

  /// Cancels a move after each of its first reports in turn, and runs it again.
  @Test func `a move that is interrupted 20 times ends with what an uninterrupted one has`()
    async throws
  {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let shop = try #require(ShopID("s"))
    let log = try await SQLiteMessageLog.open(in: scratch("a"))
    var random = RandomLog(seed: 5, shops: [shop], lengths: [9], isCalm: true)
    for _ in 0..<12 { _ = await log.append((0..<1_000).map { _ in random.request() }) }
    await log.close()
    let reference = try await StoreMove.run(
      directory: scratch("a"), database: (try await TestDatabase()).url)
    try FileManager.default.removeItem(atPath: scratch("a/moved"))
    var runs = 0
    var result: [StoreMove.Table]?
    while result == nil, runs < 60 {
      runs += 1
      let left = Mutex(runs <= 20 ? 2 : Int.max)
      let task = Task {
        try await StoreMove.run(directory: scratch("a"), database: database.url) { progress in
          let isEnough = left.withLock { left in
            left -= 1
            return left == 0
          }
          if isEnough { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
        }
      }
      result = try await task.value
      if result == nil {
        let refusal = await failure { _ = try await database.node(in: scratch("a")) }
        #expect(refusal.contains("incomplete copy"))
      }
    }
    #expect(runs == 21)
    #expect(result == reference)
  }

  @Test func `a move refuses places that are in use, moved or not empty`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let directory = scratch("a")
    func move(isReturn: Bool = false, to other: String? = nil) async -> String {
      await failure {
        _ = try await StoreMove.run(
          directory: other ?? directory, database: database.url, isReturn: isReturn)
      }
    }
    #expect(await move().contains("There is no store"))
    let log = try await SQLiteMessageLog.open(in: directory)
    #expect(await move().contains("has opened"))
    let shop = try #require(ShopID("s"))
    var random = RandomLog(seed: 1, shops: [shop], lengths: [9], isCalm: true)
    _ = await log.append((0..<30).map { _ in random.request() })
    await log.close()
    let node = try await database.node(in: scratch("other"), name: "other")
    #expect(await move().contains("A node, other, uses this database. Stop all nodes"))
    await node.close()
    #expect(await move() == "none")
    #expect(await move().contains("were moved to"))
    let configuration = BackendConfiguration(dataDirectory: directory)
    let start = await failure { _ = try await Backend(configuration).start() }
    #expect(start.contains("was moved to"))
    #expect(await move(isReturn: true).contains("already contains messages"))
    #expect(await move(isReturn: true, to: scratch("b")) == "none")
    let second = await failure { _ = try await database.node(in: scratch("b")) }
    #expect(second.contains("was moved to \(scratch("b"))"))
  }

  /// Both forms are one text for Swift, and two for both databases.
  @Test func `texts that look the same are moved as they are`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    await (try await SQLiteMessageLog.open(in: scratch.path)).close()
    for source in ["Zo\u{EB}", "Zoe\u{308}"] {
      let files = try await SQLiteSyncStore.open(in: scratch.path)
      _ = try await files.apply(
        SyncSamples.delivery([SyncSamples.record(source.utf8.count == 4 ? 1 : 2, source: source)]))
      await files.close()
    }
    #expect(try await StoreMove.run(directory: scratch.path, database: database.url) != nil)
    let other = scratch("back")
    _ = try await StoreMove.run(directory: other, database: database.url, isReturn: true)
  }

  @Test func `a copy that differs is not served`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let directory = scratch("a")
    let log = try await SQLiteMessageLog.open(in: directory)
    var random = RandomLog(
      seed: 1, shops: [try #require(ShopID("s"))], lengths: [9], isCalm: true)
    _ = await log.append((0..<30).map { _ in random.request() })
    await log.close()
    let result = await failure {
      _ = try await StoreMove.run(directory: directory, database: database.url) { progress in
        guard progress.part == .comparing, progress.table == "log epoch" else { return }
        try? database.execute("UPDATE messages SET text = 'x' WHERE \"offset\" = 1")
      }
    }
    #expect(result.contains("The copy of messages differs"))
    let refusal = await failure { _ = try await database.node(in: directory) }
    #expect(refusal.contains("incomplete copy"))
  }
}

/// Applies batches to a store and to one in memory, and compares the results and what is read.
func compareSync(
  _ store: any SyncStore, _ memory: MemorySyncStore, _ random: inout RandomSync
) async throws {
  for _ in 0..<30 {
    let delivery = try random.delivery()
    let found = try await store.apply(delivery)
    #expect(try await found == memory.apply(delivery), "\(delivery)")
  }
  for user in RandomSync.users {
    #expect(try await store.summary(of: user) == memory.summary(of: user))
    #expect(try await store.lastSync(of: user) == memory.lastSync(of: user))
    let types = RandomSync.types + [HealthSample.workoutType]
    for (from, to) in [(0, 100), (5, 6), (20, 25)] as [(Int64, Int64)] {
      let query = SyncSamples.query(types, from: from, to: to, limit: 7)
      #expect(try await store.samples(query, of: user) == memory.samples(query, of: user))
    }
    for type in types {
      let raw = try await store.raw(type, after: nil, limit: 1_000, of: user)
      #expect(try await raw == memory.raw(type, after: nil, limit: 1_000, of: user))
    }
  }
}
