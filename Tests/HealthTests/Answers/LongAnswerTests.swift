import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct LongAnswerTests {
  /// Returns `count` random samples of 2026 that begin at whole seconds, with and without source
  /// names.
  private static func samples(
    _ count: Int, of kinds: [HealthKind], from generator: inout RandomSource
  ) -> [HealthSample] {
    let first = at("2026-01-01T00:00:00Z")
    return (0..<count).map { _ in
      let start = first.advanced(by: .seconds(Int.random(in: 0..<20_000_000, using: &generator)))
      let length = [0, 60, 3_600, 200_000].randomElement(using: &generator) ?? 0
      return HealthSample(
        type: kinds.randomElement(using: &generator)?.identifier ?? "",
        value: .quantity(Double(Int.random(in: 1...1_000, using: &generator))), start: start,
        end: start.advanced(by: .seconds(length)),
        source: ["Watch", "Phone", ""].randomElement(using: &generator) ?? "")
    }
  }

  /// Returns the points of all answers. Each question continues where the previous answer was cut.
  private static func all(
    _ query: HealthDataQuery, of shelf: Shelf, zone: ZoneRules, limits: AnswerLimits
  ) throws -> [HealthPoint] {
    var query = query
    var points: [HealthPoint] = []
    for _ in 0..<1_000 {
      let object = shelf.answer(.healthData(query), zone: zone, limits: limits)
      #expect(object.bytes.count <= limits.maxBytes)
      let reply = try HealthReply.read(object.bytes)
      points += reply.points
      guard let next = reply.nextStart else { return points }
      #expect(!reply.points.isEmpty)
      query.start = next
    }
    Issue.record("the answers never end")
    return points
  }

  private static func order(_ left: HealthPoint, _ right: HealthPoint) -> Bool {
    (left.type, left.source ?? "", "\(left.start)", "\(left.end)", "\(left.value)")
      < (right.type, right.source ?? "", "\(right.start)", "\(right.end)", "\(right.value)")
  }

  @Test(arguments: [HealthValueType.heartRate, .bloodPressure, .bodyMetrics])
  func `samples that do not fit can be requested from the next start without loss or repeats`(
    valueType: HealthValueType
  ) throws {
    var generator = RandomSource(seed: 41)
    let shelf = Shelf(Self.samples(400, of: valueType.kinds, from: &generator))
    var query = ask(valueType, "2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z")
    query.maxBytes = 1 << 20
    let whole = try shelf.reply(query).points
    for maxBytes in [2_500, 5_000, 20_000] {
      let limits = AnswerLimits(maxBytes: maxBytes, pageLimit: 50, isExact: true)
      let parts = try Self.all(query, of: shelf, zone: .utc, limits: limits)
      #expect(parts.sorted(by: Self.order) == whole.sorted(by: Self.order))
    }
  }

  @Test func `a full answer stops reading`() throws {
    var generator = RandomSource(seed: 43)
    let shelf = Shelf(Self.samples(2_000, of: HealthValueType.heartRate.kinds, from: &generator))
    let limits = AnswerLimits(maxBytes: 5_000, pageLimit: 10)
    var answering = HealthAnswering(
      .healthData(ask(.heartRate, "2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z")), zone: .utc,
      now: at("2027-01-01T00:00:00Z"), limits: limits)
    var pages = 0
    while case .read(let query) = answering.step {
      answering.take(shelf.page(query))
      pages += 1
    }
    // A point takes more than 50 bytes, so fewer than 100 points, from 10 pages, fill the answer.
    #expect(pages <= 10)
  }

  @Test func `cells accept entries up to their limit and refuse one more`() {
    let calendar = CalendarBuckets(zone: .utc, grouping: .day)
    var cells = Cells(limit: 3)
    func update(_ type: Int, _ source: Int, _ day: Int64) -> Bool {
      let bucket = calendar.bucket(at: Timestamp(nanoseconds: day * 86_400_000_000_000))
      return cells.update(type: type, source: source, bucket: bucket) { $0.take(1, for: .sum) }
    }
    #expect([update(0, 0, 1), update(0, 0, 2), update(0, 1, 2)] == [true, true, true])
    #expect([update(0, 1, 1), update(1, 0, 1), update(0, 0, 3)] == [false, false, false])
    #expect([update(0, 0, 1), update(0, 1, 2)] == [true, true])
    #expect(cells.all.count == 3)
  }

  @Test func `the later half begins after the first span, even if that span has most cells`() {
    func day(_ number: Int64) -> Timestamp {
      Timestamp(nanoseconds: number * 86_400_000_000_000)
    }
    let calendar = CalendarBuckets(zone: .utc, grouping: .day)
    var cells = Cells(limit: 4)
    let samples: [(source: Int, day: Int64)] = [(0, 1), (1, 1), (2, 1), (0, 2)]
    for (source, number) in samples {
      let bucket = calendar.bucket(at: day(number))
      let isTaken = cells.update(type: 0, source: source, bucket: bucket) { $0.take(1, for: .sum) }
      #expect(isTaken)
    }
    #expect(cells.middle == day(2))
  }

  @Test func `a sample that does not fit uses no space after the cut`() throws {
    let days = (5...8).map { "2026-01-0\($0)T00:00:00Z" }
    let query = ask(.heartRate, days[0], "2026-01-09T00:00:00Z", .day, .average)
    // There is room for three spans. Each also has a point for all sources.
    var answer = try HealthAnswer(
      query, zone: .utc, now: at("2027-01-01T00:00:00Z"), limits: AnswerLimits(maxBytes: 360),
      stored: StoredHealth())
    let samples = days.map { quantity("HeartRate", 60, "count/min", $0) }
    answer.take(HealthSamplePage(samples: samples))
    #expect(answer.nextStart == at(days[1]))
    #expect(answer.cells.all.map(\.bucket.start) == [at(days[0]), at(days[0])])
  }

  @Test func `an answer in parts is limited to the maximum size of an object`() {
    #expect(AnswerLimits.parts == AnswerLimits(maxBytes: HealthObject.maxBytes))
  }

  @Test(arguments: [
    (HealthValueType.steps, HealthGrouping.day), (.heartRate, .hour), (.bodyMetrics, .week),
    (.calories, .month),
  ])
  func `statistics that do not fit are cut between two spans`(
    valueType: HealthValueType, groupBy: HealthGrouping
  ) throws {
    var generator = RandomSource(seed: 42)
    let shelf = Shelf(Self.samples(400, of: valueType.kinds, from: &generator))
    let query = ask(valueType, "2026-01-01T00:00:00", "2026-12-31T00:00:00", groupBy)
    let whole = try shelf.reply(query, zone: Zones.newYork).points
    for maxBytes in [6_000, 12_000] {
      let limits = AnswerLimits(maxBytes: maxBytes, pageLimit: 50, isExact: true)
      let parts = try Self.all(query, of: shelf, zone: Zones.newYork, limits: limits)
      #expect(parts.sorted(by: Self.order) == whole.sorted(by: Self.order))
    }
  }

  private static func zone(_ before: Int, _ at: Timestamp, _ after: Int) -> ZoneRules {
    ZoneRules(initialSecondsEast: before, transitions: [.init(at: at, secondsEast: after)])
  }

  /// Zones whose clocks skip January 6, February 1, the first hour of January 6, or nothing.
  private static let skipping = [
    "day": zone(-36_000, at("2026-01-06T10:00:00Z"), 50_400),
    "first": zone(-36_000, at("2026-02-01T10:00:00Z"), 50_400),
    "hour": zone(-10_800, at("2026-01-06T03:00:00Z"), -7_200), "none": .utc,
  ]

  @Test(arguments: [
    ("day", "2026-01-02T00:00:00", "2026-01-11T00:00:00", HealthGrouping.day),
    ("day", "2026-01-02T10:00:00Z", "2026-01-10T10:00:00Z", .day),
    ("day", "2026-01-02T00:00:00", "2026-01-10T14:00:00", .day),
    ("day", "2026-01-02T22:00:00", "2026-01-10T14:00:00", .day),
    ("first", "2025-11-01T00:00:00", "2026-05-01T00:00:00", .month),
    ("first", "2025-11-01T00:00:00", "2026-04-20T14:00:00", .month),
    ("hour", "2026-01-02T00:00:00", "2026-01-11T00:00:00", .day),
    ("hour", "2026-01-02T03:00:00Z", "2026-01-10T02:00:00Z", .day),
    ("none", "2026-01-02T00:00:00", "2026-01-10T14:00:00", .day),
    ("none", "2026-01-02T00:00:00", "2026-02-27T14:00:00", .week),
  ])
  func `nights that do not fit can be requested in parts without losing an evening`(
    zone: String, start: String, end: String, groupBy: HealthGrouping
  ) throws {
    let zone = try #require(Self.skipping[zone])
    let first = at("2025-10-30T00:30:00Z")
    // There is a nap of 50 minutes every two hours.
    let shelf = Shelf(
      (0..<2_500).map { nap in
        let start = first.advanced(by: .seconds(nap * 7_200))
        return HealthSample(
          type: "HKCategoryTypeIdentifierSleepAnalysis", value: .category("Asleep"), start: start,
          end: start.advanced(by: .seconds(3_000)), source: "Watch")
      })
    let query = ask(.sleep, start, end, groupBy, .sum)
    let whole = try shelf.reply(query, zone: zone).points
    for maxBytes in [3_200, 3_700, 4_200, 5_000] {
      let limits = AnswerLimits(maxBytes: maxBytes, pageLimit: 5_000)
      let parts = try Self.all(query, of: shelf, zone: zone, limits: limits)
      #expect(parts.sorted(by: Self.order) == whole.sorted(by: Self.order))
    }
  }

  @Test func `an answer of exactly the maximum size is whole, and one byte less room cuts it`()
    throws
  {
    let shelf = Shelf(
      (0..<30).map { quantity("StepCount", 1, "count", "2026-01-05T09:00:\(10 + $0)Z") })
    let query = ask(.steps, "2026-01-05T00:00:00", "2026-01-06T00:00:00")
    let points = try shelf.parts(query).points
    // The room holds each point with its comma, and 1,500 bytes for the members around the points.
    let room = points.reduce(1_500) { $0 + $1.length + 1 }
    func reply(_ maxBytes: Int) throws -> HealthReply {
      try shelf.parts(query, limits: AnswerLimits(maxBytes: maxBytes))
    }
    #expect(try reply(room + 1) == HealthReply(query: query, points: points))
    #expect(try reply(room) == HealthReply(query: query, points: points))
    #expect(
      try reply(room - 1)
        == HealthReply(
          query: query, points: points.dropLast(), nextStart: points.last?.start))
  }

  @Test func `more samples at one instant than fit are refused with the advice to use group_by`()
    throws
  {
    let samples = (0..<40).map {
      quantity("StepCount", Double($0), "count", "2026-01-05T09:00:00Z")
    }
    let limits = AnswerLimits(maxBytes: 3_000)
    let shelf = Shelf(samples)
    let day = ("2026-01-05T00:00:00", "2026-01-06T00:00:00")
    let object = shelf.answer(.healthData(ask(.steps, day.0, day.1)), limits: limits)
    #expect(object.reason == "more at one time than an answer can hold; ask with group_by")
    // Asks with `group_by`, as the error advises.
    let sum = try shelf.parts(ask(.steps, day.0, day.1, .day, .sum), limits: limits)
    #expect(sum.points.map(\.value) == [.number(40 * 39 / 2)])
  }
}
