import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct ReadingTests {
  private static let kinds = HealthValueType.bloodPressure.kinds

  /// Returns the time spans that are read for the first type, in days.
  private static func spans(days: Int) -> [Range<Int>] {
    let start = at("2026-01-01T00:00:00Z")
    let end = start.advanced(by: .seconds(86_400 * days))
    var reading = Reading(kinds, from: start, to: end, limits: AnswerLimits())
    var spans: [Range<Int>] = []
    while let query = reading.query, reading.index == 0 {
      let days = [query.from, query.to].map { Int(start.distance(to: $0) / 86_400e9) }
      spans.append(days[0]..<days[1])
      if reading.isLastBatch { reading.finishType() } else { reading.advance(nil) }
    }
    return spans
  }

  @Test(arguments: [
    (0, []), (1, [0..<1]), (74, [0..<74]), (75, [0..<75]), (76, [0..<75, 75..<76]),
    (150, [0..<75, 75..<150]), (151, [0..<75, 75..<150, 150..<151]),
  ])
  func `a reading is split into batches of at most 75 days`(days: Int, expected: [Range<Int>]) {
    #expect(Self.spans(days: days) == expected)
  }

  @Test func `types are read one after another, page by page`() {
    let limits = AnswerLimits(pageLimit: 3)
    let (start, end) = (at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"))
    var reading = Reading(Self.kinds, from: start, to: end, limits: limits)
    var query = HealthSampleQuery(
      types: ["HKQuantityTypeIdentifierBloodPressureSystolic"], from: start, to: end, limit: 3)
    #expect(reading.query == query)
    let position = HealthSamplePosition(
      type: query.types[0], start: start, key: HealthSampleKey(high: 1, low: 2))
    reading.advance(position)
    query.after = position
    #expect(reading.query == query)
    reading.finishType()
    query.after = nil
    query.types = ["HKQuantityTypeIdentifierBloodPressureDiastolic"]
    #expect(reading.query == query)
    reading.finishType()
    #expect(reading.query == nil)
  }

  private static let margins: [(HealthValueType, HealthGrouping?, hours: Int)] = [
    (.bloodPressure, nil, 0), (.bloodPressure, .day, 0), (.sleep, nil, 0),
    // A session that begins or ends outside the interval is read as a whole.
    (.sleep, .day, 12),
  ]

  @Test(arguments: margins)
  func `each type is queried once if one page is enough`(
    valueType: HealthValueType, groupBy: HealthGrouping?, hours: Int
  ) {
    let (start, end) = ("2026-01-05T10:00:00Z", "2026-01-06T14:00:00Z")
    var answering = HealthAnswering(
      .healthData(ask(valueType, start, end, groupBy)), zone: .utc,
      now: at("2026-06-01T00:00:00Z"))
    var queries: [HealthSampleQuery] = []
    while case .read(let query) = answering.step, queries.count < 9 {
      queries.append(query)
      answering.take(HealthSamplePage(samples: []))
    }
    let margin = Duration.seconds(3_600 * hours)
    let expected = valueType.kinds.map { kind in
      HealthSampleQuery(
        types: [kind.identifier], from: at(start).advanced(by: .zero - margin),
        to: at(end).advanced(by: margin), limit: 5_000)
    }
    #expect(queries == expected)
  }

  @Test func `a batch has at least one hour and a page at least one sample`() {
    let start = at("2026-01-01T00:00:00Z")
    let hour = start.advanced(by: .seconds(3_600))
    var reading = Reading(
      Self.kinds, from: start, to: at("2026-01-02T00:00:00Z"),
      limits: AnswerLimits(pageLimit: 0, batch: .zero))
    let query = HealthSampleQuery(
      types: [Self.kinds[0].identifier], from: start, to: hour, limit: 1)
    #expect(reading.query == query)
    reading.advance(nil)
    #expect(reading.query?.from == hour)
    #expect(!reading.isPast)
    // The interval is cut where the second batch begins.
    reading.shorten(to: hour)
    #expect(reading.isPast)
  }

  @Test func `a reading that is cut at its beginning reads no further type`() {
    let (start, end) = (at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z"))
    var reading = Reading(Self.kinds, from: start, to: end, limits: AnswerLimits())
    reading.shorten(to: start)
    reading.finishType()
    #expect(reading.query == nil)
  }

  @Test(arguments: [false, true])
  func `no sample counts twice where two batches meet`(isLoose: Bool) throws {
    let start = at("2026-01-01T00:00:00Z")
    let edge = start.advanced(by: .seconds(75 * 86_400))
    let times: [(Int, Int)] = [(-60, 60), (0, 0), (0, 30), (-30, 0), (-1, 1)]
    let samples = times.map { before, after in
      HealthSample(
        type: "HKQuantityTypeIdentifierStepCount", value: .quantity(10), unit: "count",
        start: edge.advanced(by: .seconds(before)), end: edge.advanced(by: .seconds(after)),
        source: "Watch")
    }
    let shelf = Shelf(samples, isLoose: isLoose)
    let span = ("2026-01-01T00:00:00", "2026-12-31T00:00:00")
    let sum = try shelf.parts(ask(.steps, span.0, span.1, .month, .sum))
    #expect(sum.points.map(\.value) == [.number(50)])
    #expect(try shelf.parts(ask(.steps, span.0, span.1)).points.count == 5)
  }

  private static let refusals: [(HealthDataQuery, String)] = [
    (
      ask(.steps, "2026-01-05", "2026-01-06", nil, .sum),
      "statistic needs group_by: HOUR, DAY, WEEK, MONTH, YEAR, WEEKDAY, WEEKPART, HOUR_OF_DAY, or "
        + "TOTAL for one number"
    ),
    (ask(.steps, "2026-01-05T00:00:01", "2026-01-05"), "start_time is after end_time"),
    (ask(.steps, "2026-06-01T00:00:01Z", "2026-07-01"), "start_time is in the future"),
    (
      ask(.steps, "1899-12-31T23:59:59.999999999Z", "2026-01-06"),
      "start_time and end_time must be within the years 1900 to 2199"
    ),
    (
      ask(.steps, "2026-01-06", "2200-01-01T00:00:00Z"),
      "start_time and end_time must be within the years 1900 to 2199"
    ),
  ]

  @Test(arguments: refusals)
  func `an invalid question is refused with its reason without reading`(
    query: HealthDataQuery, reason: String
  ) {
    let answering = HealthAnswering(
      .healthData(query), zone: .utc, now: at("2026-06-01T00:00:00Z"))
    #expect(answering.step == .done(.failure(reason)))
  }

  @Test(arguments: [
    ask(.steps, "2026-01-05", "2026-01-06", .day),
    ask(.steps, "2026-01-05", "2026-01-05"),
    ask(.steps, "2026-06-01T00:00:00Z", "2026-07-01"),
    ask(.steps, "1900-01-01T00:00:00Z", "2199-12-31T23:59:59Z", .month, .sum),
  ])
  func `a question at the limits of validity is answered`(query: HealthDataQuery) throws {
    let object = Shelf([]).answer(.healthData(query), now: "2026-06-01T00:00:00Z")
    #expect(object.succeeded)
    #expect(try HealthReply.read(object.bytes).points.isEmpty)
  }

  @Test func `an unreadable store is reported with its reason`() {
    var answering = HealthAnswering(
      .healthData(ask(.steps, "2026-01-05", "2026-01-06")), zone: .utc,
      now: at("2026-06-01T00:00:00Z"))
    answering.fail("the disk is gone")
    #expect(
      answering.step
        == .done(.failure("the health data cannot be read: the disk is gone")))
  }

  @Test func `an unrequested page changes nothing`() {
    var answering = HealthAnswering(
      .healthData(ask(.steps, "2026-01-05", "2026-01-05")), zone: .utc,
      now: at("2026-06-01T00:00:00Z"))
    let done = answering.step
    answering.take(
      HealthSamplePage(samples: [steps(1, "2026-01-05T00:00:00Z", "2026-01-05T00:00:00Z")]))
    answering.fail("late")
    #expect(answering.step == done)
  }
}
