import HoldfastCore
import HoldfastTestKit

@testable import HoldfastIdentity
@testable import HoldfastMessageData
@testable import HoldfastSyncData

// These functions draw random bodies of health sync, claims of tokens, and frames and pages of
// streams.
extension RandomSource {
  private mutating func syncTime() -> SyncTime {
    let most: Int64 = 9_000_000_000_000_000_000
    return SyncTime(Timestamp(nanoseconds: Int64.random(in: -most...most, using: &self)))
  }

  private mutating func double() -> Double {
    one([
      0, -1, 72, 0.731, 1834.27, 1e-7, 1e15, 1e21, 2.5e-300, .greatestFiniteMagnitude, unit() * 1e9,
    ])
  }

  private mutating func metadata() -> [String: String]? {
    maybe { generator in
      Dictionary(generator.few { ($0.text(upTo: 2), $0.text(upTo: 2)) }) { first, _ in first }
    }
  }

  private mutating func record() -> SyncRecord {
    SyncRecord(
      recordType: text(upTo: 2), sourceName: text(upTo: 2),
      sourceBundle: maybe { $0.text(upTo: 2) }, value: maybe { $0.double() },
      valueText: one([.absent, .null, .text(text(upTo: 2))]), unit: maybe { $0.text(upTo: 2) },
      start: syncTime(), end: syncTime(), metadata: metadata(),
      uuid: maybe { .random(using: &$0) })
  }

  private mutating func workout() -> SyncWorkout {
    SyncWorkout(
      workoutType: text(upTo: 2), sourceName: text(upTo: 2),
      sourceBundle: maybe { $0.text(upTo: 2) }, start: syncTime(), end: syncTime(),
      durationSeconds: double(), totalDistance: maybe { $0.double() },
      totalEnergyBurned: maybe { $0.double() },
      statistics: maybe { generator in
        .init(
          heartRateAvg: generator.maybe { $0.double() },
          heartRateMin: generator.maybe { $0.double() },
          heartRateMax: generator.maybe { $0.double() })
      }, metadata: metadata(), uuid: maybe { .random(using: &$0) })
  }

  mutating func syncBatch() -> SyncBatch {
    SyncBatch(
      dataType: id(), records: maybe { $0.few { $0.record() } },
      workouts: maybe { $0.few { $0.workout() } },
      deletedUUIDs: few { .random(using: &$0) }, deviceID: text(upTo: 2),
      timestamp: maybe { $0.syncTime() })
  }

  mutating func counts() -> IngestCounts {
    IngestCounts(
      records: one([0, 1, .max]), workouts: one([0, 2, .max]),
      skippedDuplicates: one([0, 3, .max]), refused: one([0, 4, .max]))
  }

  mutating func claims() -> Claims {
    func second(_ generator: inout RandomSource) -> Timestamp {
      Timestamp(
        nanoseconds: Int64.random(in: -9_000_000_000...9_000_000_000, using: &generator)
          * 1_000_000_000)
    }
    return Claims(
      user: id(), name: text(upTo: 3), shops: few { $0.one([Sample.shop, Sample.otherShop]) },
      admin: maybe { $0.few { $0.one([Sample.shop, Sample.otherShop]) } } ?? [],
      expiresAt: second(&self), notBefore: maybe(second))
  }

  mutating func streamFrame() -> StreamFrame {
    switch Int.random(in: 0...7, using: &self) {
    case 0: return .draining(within: .milliseconds(one([0, 1, 30_000])))
    case 1: return .unknown(type: id())
    case 2: return .deleted(deletion())
    case 3:
      var message = message()
      message.position = message.position ?? ShopPosition(epoch: "e", offset: 4)
      message.changed = message.position?.later(by: 7)
      return .edited(message)
    case _: return .message(message())
    }
  }

  mutating func page() -> Page {
    func position(_ generator: inout RandomSource) -> ShopPosition {
      ShopPosition(epoch: "e_1", offset: generator.next() >> 1)
    }
    var page = Page(
      messages: few { $0.message() }, hasNext: flag(), head: maybe(position), recovered: flag())
    (page.deleted, page.changes) = (few { $0.deletion() }, few { $0.message() })
    (page.through, page.changesThrough) = (maybe(position), maybe(position))
    if page.hasNext { page.nextCursor = maybe { .random(using: &$0) } }
    page.oldest = maybe(position)
    return page
  }
}
