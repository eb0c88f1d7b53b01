import HoldfastTestKit
import HoldfastCore

@testable import HoldfastWire

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
      expiresAt: second(&self), notBefore: maybe(second))
  }

  mutating func streamFrame() -> StreamFrame {
    switch Int.random(in: 0...5, using: &self) {
    case 0: .draining(within: .milliseconds(one([0, 1, 30_000])))
    case 1: .unknown(type: id())
    case _: .message(message())
    }
  }

  mutating func page() -> Page {
    Page(
      messages: few { $0.message() }, hasNext: flag(),
      head: maybe { ShopPosition(epoch: "e_1", offset: $0.next() >> 1) }, recovered: flag())
  }
}
