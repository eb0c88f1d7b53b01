import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct MergeTests {
  private static func merged(
    _ samples: [HealthSample], _ groupBy: HealthGrouping = .day,
    _ start: String = "2026-01-05", _ end: String = "2026-01-07"
  ) throws -> [HealthPointValue] {
    try Shelf(samples).merged(ask(.steps, start, end, groupBy, .sum)).map(\.value)
  }

  private static let walk = ("2026-01-05T10:00:00Z", "2026-01-05T10:10:00Z")

  @Test func `where a watch and a phone overlap only the watch counts`() throws {
    let watch = steps(90, "2026-01-05T10:02:00Z", "2026-01-05T10:05:00Z")
    let phone = steps(100, Self.walk.0, Self.walk.1, source: "iPhone")
    // The sum has the watch's three minutes and the phone's other seven.
    #expect(try Self.merged([watch, phone]) == [.number(90 + 70)])
    let points = try Shelf([watch, phone]).reply(ask(.steps, "2026-01-05", "2026-01-06", .day))
      .points
    #expect(points.map(\.source) == ["merged", "Watch", "iPhone"])
    #expect(points.map(\.value) == [.number(160), .number(90), .number(100)])
    #expect(points.map(\.isMerged) == [true, false, false])
    #expect(points.map(\.statistic) == ["sum", "sum", "sum"])
  }

  @Test func `the merged sum of a single source is its own sum`() throws {
    let samples = [
      steps(11, "2026-01-05T10:00:00Z", "2026-01-05T10:07:00Z"),
      steps(13, "2026-01-05T10:03:00Z", "2026-01-05T10:09:00Z"),
      steps(17, "2026-01-05T23:30:00Z", "2026-01-06T00:30:00Z"),
      steps(5, "2026-01-06T12:00:00Z", "2026-01-06T12:00:00Z"),
    ]
    #expect(try Self.merged(samples) == [.number(11 + 13 + 8.5), .number(8.5 + 5)])
  }

  private static let moments: [(String, Bool)] = [
    ("2026-01-05T09:59:59Z", true), ("2026-01-05T10:00:00Z", false),
    ("2026-01-05T10:09:59Z", false), ("2026-01-05T10:10:00Z", true),
  ]

  @Test(arguments: moments)
  func `an instantaneous sample counts unless a source of higher rank measures at that time`(
    moment: String, counts: Bool
  ) throws {
    let watch = steps(50, Self.walk.0, Self.walk.1)
    let phone = steps(7, moment, moment, source: "iPhone")
    #expect(try Self.merged([watch, phone]) == [.number(counts ? 57 : 50)])
    // If the ranks are exchanged, both count, because an instant takes no time from a longer
    // sample.
    let span = steps(50, Self.walk.0, Self.walk.1, source: "iPhone")
    let tap = steps(7, moment, moment)
    #expect(try Self.merged([span, tap]) == [.number(57)])
  }

  @Test func `an entry by hand without a length counts within a longer sample of the phone`() throws
  {
    let phone = steps(100, Self.walk.0, Self.walk.1, source: "iPhone")
    let entry = steps(6_000, "2026-01-05T10:03:00Z", "2026-01-05T10:03:00Z", source: "Health")
    #expect(try Self.merged([phone, entry]) == [.number(6_100)])
  }

  @Test func `an entry by hand counts instead of what a watch measured meanwhile`() throws {
    let watch = steps(100, Self.walk.0, Self.walk.1)
    let entry = steps(30, "2026-01-05T10:02:00Z", "2026-01-05T10:04:00Z", source: "Health")
    #expect(try Self.merged([watch, entry]) == [.number(80 + 30)])
  }

  @Test func `an instantaneous sample at the start of a question counts`() throws {
    let start = "2026-01-05T00:00:00Z"
    #expect(try Self.merged([steps(7, start, start)]) == [.number(7)])
  }

  @Test func `an instantaneous sample before the start of a series is ignored`() {
    let tap = steps(7, "2026-01-05T09:59:59Z", "2026-01-05T09:59:59Z")
    var merge = SourceMerge(calendar: CalendarBuckets(zone: .utc, grouping: .day))
    var tracks = SourceMerger()
    let track = tracks.track(of: tap, source: 1)
    merge.take(7, tap, from: at("2026-01-05T10:00:00Z"), track: track, tracks.ranks)
    merge.finish(at: at("2026-01-06T00:00:00Z"), tracks.ranks)
    #expect(merge.finished == [])
  }

  @Test func `instantaneous samples of several sources at one time count once`() throws {
    let samples = ["B", "A", "iPhone"].enumerated().map { number, source in
      steps(Double(number + 1), Self.walk.0, Self.walk.0, source: source)
    }
    #expect(try Self.merged(samples) == [.number(3)])
    #expect(try Self.merged(Array(samples.prefix(2))) == [.number(2)])
  }

  private static let kinds: [(String, String?, SourceRank.Kind)] = [
    ("Anna’s\u{A0}Apple\u{A0}Watch", nil, .watch), ("Uhr", "name:x, hardware:Watch6,2", .watch),
    ("Runner", "model:Watch", .watch), ("Watchful", nil, .app), ("Anna’s iPhone", nil, .phone),
    ("Anna", "name:iPhone, model:iPhone, hardware:iPhone15,2", .phone),
    ("Ring", "name:R1", .device),
    ("Diary", nil, .app), ("Diary", " ", .app), ("Health", nil, .manual), ("Salute", nil, .manual),
    ("Health", "name:Scale", .device), ("Health Mate", nil, .app), ("health", nil, .app),
  ]

  @Test(arguments: kinds)
  func `the rank of a source follows from its name and its device`(
    source: String, device: String?, kind: SourceRank.Kind
  ) {
    #expect(SourceRank.Kind(source: source, device: device) == kind)
  }

  @Test func `sources rank as entries by hand, watch, phone, device, then app, and by name`() {
    let ranks = [
      SourceRank(kind: .manual, name: "Z"),
      SourceRank(kind: .watch, name: "Z"), SourceRank(kind: .phone, name: "Y"),
      SourceRank(kind: .device, name: "X"), SourceRank(kind: .app, name: "A"),
      SourceRank(kind: .app, name: "B"),
    ]
    #expect(ranks.shuffled().sorted() == ranks)
  }

  @Test(arguments: [
    (HealthValueType.distance, "DistanceWalkingRunning", "m"),
    (.calories, "ActiveEnergyBurned", "kcal"), (.exerciseTime, "AppleExerciseTime", "min"),
    (.bodyMetrics, "DietaryWater", "L"),
  ])
  func `every amount measured over time is merged`(
    valueType: HealthValueType, name: String, unit: String
  ) throws {
    let shelf = Shelf([
      quantity(name, 10, unit, Self.walk.0, Self.walk.1),
      quantity(name, 20, unit, Self.walk.0, Self.walk.1, source: "Phone"),
    ])
    let query = ask(valueType, "2026-01-05", "2026-01-06", .day)
    #expect(try shelf.merged(query).map(\.value) == [.number(10)])
    var average = query
    average.statistic = .average
    #expect(try shelf.merged(average).map(\.statistic) == ["average_per_day"])
    for statistic in [HealthStatistic.count, .latest] {
      var other = query
      other.statistic = statistic
      #expect(try shelf.merged(other).isEmpty)
    }
  }

  @Test func `readings are not merged`() throws {
    let shelf = Shelf([quantity("HeartRate", 60, "count/min", "2026-01-05T10:00:00Z")])
    #expect(try shelf.merged(ask(.heartRate, "2026-01-05", "2026-01-06", .day)).isEmpty)
  }

  /// A sample, its rank, and its value per second.
  private typealias Ranked = (sample: HealthSample, rank: SourceRank, value: Double)

  /// Returns the sum of each day, computed second by second.
  ///
  /// In each second only the source of the highest rank counts, with its samples' share of that
  /// second.
  private static func slow(
    _ samples: [HealthSample], _ days: Range<Timestamp>
  ) -> [Timestamp: Double] {
    let ranked = samples.map { sample -> Ranked in
      let kind = SourceRank.Kind(source: sample.source, device: sample.device)
      guard case .quantity(let value) = sample.value else { preconditionFailure("a quantity") }
      let seconds = max(1, sample.start.distance(to: sample.end) / 1e9)
      return (sample, SourceRank(kind: kind, name: sample.source), value / seconds)
    }
    var sums: [Timestamp: Double] = [:]
    var second = days.lowerBound
    while second < days.upperBound {
      let next = second.advanced(by: .seconds(1))
      let active = ranked.filter { $0.sample.start <= second && next <= $0.sample.end }
      let best = active.map(\.rank).min()
      let day = second.advanced(
        by: .nanoseconds(-(second.nanoseconds % CivilTime.nanosecondsPerDay)))
      for going in active where going.rank == best { sums[day, default: 0] += going.value }
      let taps = ranked.filter { $0.sample.start == second && $0.sample.end == second }
      let first = taps.map(\.rank).min()
      for tap in taps where tap.rank == first && best.map({ tap.rank <= $0 }) != false {
        sums[day, default: 0] += tap.value
      }
      second = next
    }
    return sums
  }

  @Test func `a sample that continues after the end of a total counts only up to the end`() throws {
    let samples = [
      steps(60, "2026-01-06T23:50:00Z", "2026-01-07T00:10:00Z"),
      steps(60, "2026-01-06T23:40:00Z", "2026-01-07T00:20:00Z", source: "iPhone"),
    ]
    // The sum has half of the watch's steps, and the phone's steps before them.
    #expect(try Self.merged(samples, .total) == [.number(30 + 15)])
  }

  @Test(arguments: 1...12, [HealthGrouping.day, .total])
  func `merging equals counting each second separately`(seed: UInt64, groupBy: HealthGrouping)
    throws
  {
    var generator = RandomSource(seed: seed)
    let from = at("2026-01-05T23:30:00Z")
    let to = at("2026-01-06T00:30:00Z")
    let samples = (0..<60).map { _ in
      let start = from.advanced(by: .seconds(Int.random(in: -600..<3_600, using: &generator)))
      let length = [0, 0, 30, 300, 1_500].randomElement(using: &generator) ?? 0
      return HealthSample(
        type: "HKQuantityTypeIdentifierStepCount",
        value: .quantity(Double(Int.random(in: 0...90, using: &generator))), unit: "count",
        start: start, end: start.advanced(by: .seconds(length)),
        source: ["Health", "Watch", "iPhone", "A", "B"].randomElement(using: &generator) ?? "",
        device: [nil, "name:Ring"].randomElement(using: &generator) ?? nil)
    }
    let query = HealthDataQuery(
      valueType: .steps, start: .instant(from, minutesEast: nil),
      end: .instant(to, minutesEast: nil), groupBy: groupBy, statistic: .sum)
    var expected = Self.slow(samples, from..<to)
    if groupBy == .total { expected = [from: expected.values.reduce(0, +)] }
    for point in try Shelf(samples).merged(query) {
      guard case .number(let value) = point.value, case .instant(let day, _) = point.start else {
        throw FieldFaultInTest()
      }
      #expect(abs(value - (expected[day] ?? 0)) < 1e-6)
    }
  }

  private struct FieldFaultInTest: Error {}

  @Test func `merging 10,000 overlapping samples does not take quadratic time`() throws {
    let first = at("2026-01-05T00:00:00Z")
    let count = 10_000
    let samples = (0..<count).map { number in
      HealthSample(
        type: "HKQuantityTypeIdentifierStepCount", value: .quantity(1), unit: "count",
        start: first.advanced(by: .seconds(number)),
        end: first.advanced(by: .seconds(2 * count - number)), source: "App \(number)")
    }
    var merge = SourceMerge(calendar: CalendarBuckets(zone: .utc, grouping: .month))
    var tracks = SourceMerger()
    for (number, sample) in samples.enumerated() {
      let track = tracks.track(of: sample, source: number + 1)
      merge.take(1, sample, from: first, track: track, tracks.ranks)
    }
    merge.finish(at: first.advanced(by: .seconds(86_400 * 31)), tracks.ranks)
    // The source whose name sorts first counts from its start to its end.
    #expect(merge.finished.count == 1)
    #expect(merge.finished.allSatisfy { $0.value >= 1 })
  }
}
