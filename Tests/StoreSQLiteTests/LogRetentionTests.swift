import Foundation
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastMessageData
import HoldfastTestKit
import Testing

@testable import HoldfastSQLiteStores

/// Tests of the file of the backend's log while its beginning is removed.
@Suite struct LogRetentionTests {
  private static func cut(_ shop: ShopID, _ first: UInt64) -> LogCut {
    LogCut(
      shop: shop, first: first, now: Timestamp(nanoseconds: 0),
      keysSince: Timestamp(nanoseconds: .max))
  }

  private static func fill(
    _ log: SQLiteMessageLog, _ shop: ShopID, _ numbers: ClosedRange<UInt64>, text: String
  ) async {
    let requests = numbers.map { number in
      // Real ids are random.
      LogRequest.post(
        LogEntry(
          message: ShopMessage(
            id: UUID128(high: number &* 0x9E37_79B9_7F4A_7C15, low: number), shop: shop, user: "u",
            username: nil, text: "<\(number)>" + text,
            createdAt: Timestamp(nanoseconds: Int64(number))), key: nil))
    }
    _ = await log.append(requests)
  }

  private static func size(_ scratch: Scratch, _ name: String = "messages.sqlite") throws -> Int {
    try scratch.bytes(of: name).count
  }

  @Test func `a file that is prepared shrinks, and contains nothing that was removed`()
    async throws
  {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    var log = try await SQLiteMessageLog.open(in: scratch.path)
    // The type itself also has the default implementation, which an asynchronous caller would get.
    #expect(try await (log as any PrunableLog).prepareToShrink() == nil)
    await Self.fill(log, shop, 1...9_000, text: String(repeating: "x", count: 2_000))
    try await log.removeTraces()
    let full = try Self.size(scratch)
    for first in stride(from: UInt64(500), through: 8_990, by: 500) {
      #expect(try await log.remove(Self.cut(shop, first)) > 0)
    }
    var rounds = 0
    while try await log.tidy(keysBefore: Timestamp(nanoseconds: 0)) { rounds += 1 }
    #expect(rounds > 3, "one round gives back at most 2 MB")
    try await log.removeTraces()
    #expect(try Self.size(scratch) < full / 2)
    let page = try await log.page(.page(number: 1, limit: 1_000), of: shop)
    #expect(page.messages.count == 501)
    await log.close()
    let bytes = try scratch.bytes(of: "messages.sqlite")
    let removed = [UInt8]("<4242>".utf8)
    #expect(bytes.firstRange(of: removed) == nil)
    // Every page is valid.
    log = try await SQLiteMessageLog.open(in: scratch.path)
    let found = try await log.read { tables throws(StoreFailure) in
      try tables.database.query("PRAGMA integrity_check") { row throws(StoreFailure) in
        try row.text(0)
      }
    }
    #expect(found == ["ok"])
    await Self.fill(log, shop, 9_001...9_100, text: "later")
    #expect(try await log.head(of: shop).offset == 9_100)
    await log.close()
  }

  @Test func `the room of removed messages is used again, also without pointer maps`()
    async throws
  {
    let scratch = try Scratch()
    let shop = try Sample.shop()
    let log = try await SQLiteMessageLog.open(in: scratch.path)
    var sizes: [Int] = []
    for round in 0..<12 as Range<UInt64> {
      let numbers = round * 400 + 1...(round + 1) * 400
      await Self.fill(log, shop, numbers, text: String(repeating: "x", count: 1_000))
      _ = try await log.remove(Self.cut(shop, numbers.lowerBound))
      try await log.removeTraces()
      sizes.append(try Self.size(scratch))
    }
    #expect(sizes[11] < sizes[2] * 3 / 2)
    await log.close()
  }
}
