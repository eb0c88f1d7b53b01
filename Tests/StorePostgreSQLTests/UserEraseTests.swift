import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastPostgreSQLStores

/// Tests of the search for a user's messages, and of the erasure of samples, in PostgreSQL.
@Suite(.enabled(if: TestServer.isInstalled, TestServer.remedy), .timeLimit(.minutes(60)))
struct UserEraseTests {
  @Test func `the messages of an author are found in all parts`() async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    let log = try await PostgreSQLMessageLog(of: node)
    let shop = try #require(ShopID("s"))
    var own: Set<MessageID> = []
    for part in 0..<41 {
      let requests = (0..<1_000).map { number -> LogRequest in
        let id = UUID128(high: 7, low: UInt64(part * 1_000 + number))
        let isOwn = number == 0
        if isOwn { own.insert(id) }
        return .post(
          LogEntry(
            message: ShopMessage(
              id: id, shop: shop, user: isOwn ? "ann" : "ben", username: nil, text: "text",
              createdAt: Timestamp(nanoseconds: Int64(part * 1_000 + number) * 1_000)), key: nil))
      }
      for result in await log.append(requests) { _ = try result.get() }
    }
    var (place, found, parts): (LogPlace?, [MessageID], Int) = (nil, [], 0)
    repeat {
      let part = try await log.messages(by: "ann", after: place)
      found += part.messages.map(\.id)
      #expect(part.messages.allSatisfy { $0.shop == shop })
      place = part.end
      parts += 1
    } while place != nil
    #expect(parts == 3)
    #expect(Set(found) == own && found.count == own.count)
    await log.close()
    await node.close()
  }

  @Test(arguments: [1, 2, 1_000])
  func `the samples of a user are erased in parts, and those of others stay`(
    limit: Int
  ) async throws {
    let scratch = try Scratch()
    let database = try await TestDatabase()
    let node = try await database.node(in: scratch.path)
    let store = try await PostgreSQLSyncStore(of: node)
    let records = (1...5).map { SyncSamples.record(Int64($0), uuid: UInt64($0)) }
    for user in ["ann", "ben"] {
      _ = try await store.apply(try SyncSamples.delivery(records, user: user))
    }
    var erased = 0
    while case let part = try await store.erase("ann", atMost: limit), part > 0 { erased += part }
    #expect(erased >= 10)
    #expect(try await store.summary(of: "ann") == [])
    #expect(try await store.newestStamp(of: "ann", device: "phone") == nil)
    #expect(try await store.summary(of: "ben").map(\.count) == [5])
    _ = try await store.apply(try SyncSamples.delivery(records, user: "ann"))
    #expect(try await store.summary(of: "ann").map(\.count) == [5])
    await store.close()
    await node.close()
  }
}
