import HoldfastCore
import HoldfastSyncData
import HoldfastTestKit

/// Random batches of synced samples. Users, devices, samples and UUIDs repeat often.
struct RandomSync {
  var generator: RandomSource
  private var clock: Int64 = 1_000

  init(seed: UInt64) { generator = RandomSource(seed: seed) }

  static let users = ["ann", "bob"]
  static let types = ["HKQuantityTypeIdentifierStepCount", "HKCategoryTypeIdentifierSleepAnalysis"]

  mutating func delivery() throws -> SyncDelivery {
    clock += Int64.random(in: -20...60, using: &generator)
    let records = (0..<generator.one([0, 1, 3, 9])).map { _ in record() }
    let workouts = generator.one([false, false, true]) ? [workout()] : []
    let deleted = (0..<generator.one([0, 0, 1, 3])).map { _ in uuid() }
    return try SyncSamples.delivery(
      records, workouts: workouts, deleted: deleted, user: generator.one(Self.users),
      made: generator.one([clock, clock, clock, nil]), device: generator.one(["phone", "pad"]),
      arrived: generator.one([nil, clock, clock - 500]), hash: Self.hash)
  }

  /// Returns a hash whose halves depend on all bytes.
  private static func hash(_ text: [UInt8]) -> SyncHash {
    var state = FNV1a.hash(text)
    var words = SIMD4<UInt64>()
    for index in 0..<4 {
      state = (state ^ state >> 29) &* 0x9E37_79B9_7F4A_7C15
      words[index] = state
    }
    return SyncHash(words: words)
  }

  private mutating func uuid() -> UInt64 { UInt64.random(in: 1...12, using: &generator) }

  private mutating func record() -> SyncRecord {
    let start = Int64.random(in: 0...30, using: &generator)
    return SyncSamples.record(
      start, to: start + generator.one([0, 1, 40]), type: generator.one(Self.types),
      value: generator.one([1, 2.5, nil]), text: generator.one([.absent, .text("asleep")]),
      unit: generator.one(["count", nil]), source: generator.one(["Watch", "Phone \u{E9}"]),
      uuid: generator.one([nil, uuid(), uuid()]))
  }

  private mutating func workout() -> SyncWorkout {
    let start = Int64.random(in: 0...9, using: &generator)
    return SyncSamples.workout(start, uuid: generator.maybe { _ in 3 })
  }
}
