import HoldfastBottleData
import HoldfastCore
import Testing

@testable import HoldfastBottleLink

/// A harness that drives a phone's model step by step. The test takes the place of the radio and
/// the store, and so can compare all effects of each step.
struct Harness {
  static let bottle = KnownBottle(PeripheralID(UUID128(high: 7, low: 7)), name: "Bottle")
  static let start = Timestamp(nanoseconds: 1_768_766_400_000_000_000)

  var model: BottleModel
  var now = Instant.zero
  var wall = Harness.start
  /// The attempt of the open connection.
  private(set) var attempt = AttemptID(0)
  /// The id of the last write.
  private(set) var write = WriteID(0)
  private(set) var commit: UInt64 = 0

  init(_ change: (inout BottleSettings) -> Void = { _ in }) {
    var settings = BottleSettings()
    change(&settings)
    model = BottleModel(settings, seed: 7)
  }

  /// Returns a phone that scans for its bottle.
  static func looking(_ change: (inout BottleSettings) -> Void = { _ in }) -> Harness {
    var harness = Harness(change)
    var snapshot = DrinkSnapshot()
    snapshot.bottle = bottle
    harness.give(.restored(snapshot))
    harness.give(.start)
    harness.give(.central(.adapter(.on)))
    return harness
  }

  /// Returns a connected phone that has not discovered the bottle's services.
  static func opened(_ change: (inout BottleSettings) -> Void = { _ in }) throws -> Harness {
    var harness = looking(change)
    harness.give(.central(.found(bottle.id, name: "Bottle")))
    harness.attempt = try #require(harness.model.search.burst?.attempt)
    #expect(
      harness.give(.central(.connected(harness.attempt))).contains(.discover(harness.attempt)))
    return harness
  }

  /// Returns a connected phone that has discovered the services, set the clock and stored the
  /// bottle.
  static func ready(
    unsynced: UInt16 = 0, _ change: (inout BottleSettings) -> Void = { _ in }
  ) throws -> Harness {
    var harness = try opened(change)
    harness.give(.discovered(harness.attempt, longestValue: 244, state(unsynced), at: harness.wall))
    return harness
  }

  static func state(_ unsynced: UInt16, level: UInt16 = 500) -> BottleState {
    BottleState(level: level, unsynced: unsynced)
  }

  static func record(_ id: UInt32, at time: UInt32 = 1_768_766_000) -> BottleRecord {
    BottleRecord(id: id, time: time, amount: 40, level: 500)
  }

  static func drink(_ id: UInt32, _ via: BottleDrink.Via = .sync) -> BottleDrink {
    BottleDrink(number: UInt64(id), record: record(id), via: via, storedAt: start)
  }

  @discardableResult
  mutating func give(_ input: BottleModel.Input) -> [BottleModel.Effect] {
    take(model.handle(input, at: now))
  }

  @discardableResult
  mutating func say(_ news: BottleModel.News) -> [BottleModel.Effect] {
    give(.heard(attempt, news, at: wall))
  }

  /// Reports that the last write has completed.
  @discardableResult
  mutating func written() -> [BottleModel.Effect] { give(.written(write)) }

  @discardableResult
  mutating func committed(_ drinks: [BottleDrink] = []) -> [BottleModel.Effect] {
    give(.committed(commit, drinks))
  }

  @discardableResult
  mutating func chunk(
    _ index: UInt16, of total: UInt16, _ records: [BottleRecord]
  ) -> [BottleModel.Effect] {
    say(.chunk(BottleChunk(index: index, total: total, records: records)))
  }

  /// Lets time pass and runs all timers. The phone's clock advances by the same time.
  @discardableResult
  mutating func pass(_ time: Duration) -> [BottleModel.Effect] {
    let end = now.advanced(by: time)
    var effects: [BottleModel.Effect] = []
    while let due = model.deadline, due <= end {
      wall = wall.advanced(by: now.duration(to: max(due, now)))
      now = max(due, now)
      effects += take(model.tick(at: now))
    }
    wall = wall.advanced(by: now.duration(to: end))
    now = end
    return effects
  }

  private mutating func take(_ effects: [BottleModel.Effect]) -> [BottleModel.Effect] {
    #expect(model.brokenInvariants(.thorough) == [])
    for effect in effects {
      switch effect {
      case .write(_, let id, _, _): write = id
      case .commit(let id, _): commit = id
      case .scan, .stopScan, .connect, .cancel, .discover, .confirm, .update: break
      }
    }
    return effects
  }
}

extension [BottleModel.Effect] {
  /// The bytes of the writes, without their ids.
  var writes: [[UInt8]] {
    compactMap { if case .write(_, _, _, let bytes) = $0 { bytes } else { nil } }
  }

  var notices: [BottleNotice] {
    compactMap { if case .update(.notice(let notice)) = $0 { notice } else { nil } }
  }

  /// The updates shown to the user, except for the status of the link.
  var shown: [BottleUpdate] {
    compactMap {
      switch $0 {
      case .update(.status): nil
      case .update(let update): update
      case .scan, .stopScan, .connect, .cancel, .discover, .write, .commit, .confirm: nil
      }
    }
  }
}
