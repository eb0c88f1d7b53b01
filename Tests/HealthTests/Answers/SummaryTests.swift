import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct SummaryTests {
  private static let shelf = Shelf([
    steps(100, "2026-01-05T09:00:00Z", "2026-01-05T09:05:00Z"),
    quantity("HeartRate", 60, "count/min", "2026-01-05T09:00:00Z"),
    stage("Asleep", "2026-01-04T23:00:00Z", "2026-01-05T06:00:00Z"),
  ])

  /// Samples with one step in each of 500 hours.
  private static let hours = Shelf(
    (0..<500).map { hour in
      let start = at("2026-01-05T00:00:00Z").advanced(by: .seconds(3_600 * hour))
      return HealthSample(
        type: "HKQuantityTypeIdentifierStepCount", value: .quantity(1), unit: "count",
        start: start, end: start, source: "Watch")
    })

  private static func summary(
    _ start: String, _ end: String, _ metrics: [SummaryMetric] = [], zone: ZoneRules = .utc,
    limits: AnswerLimits = AnswerLimits(maxBytes: 8 << 20)
  ) throws -> SummaryReply {
    let query = SummaryQuery(start: time(start), end: time(end), metrics: metrics)
    return try SummaryReply.read(shelf.answer(.summary(query), zone: zone, limits: limits).bytes)
  }

  @Test func `a summary without metrics returns the five default metrics as if asked separately`()
    throws
  {
    let (start, end) = ("2026-01-05T00:00:00", "2026-01-06T00:00:00")
    let queries = [
      plain(.steps, start, end, .day, .sum), plain(.calories, start, end, .day, .sum),
      plain(.distance, start, end, .day, .sum), plain(.workout, start, end, .day, .sum),
      plain(.sleep, start, end, .day, .average),
    ]
    let results = queries.map {
      SummaryResult(valueType: $0.valueType.rawValue, data: Self.shelf.answer(.healthData($0)))
    }
    let summary = try Self.summary(start, end)
    #expect(
      summary
        == SummaryReply(
          start: time(start), end: time(end), results: results, freshness: summary.freshness))
    #expect(summary.freshness?.zone == "UTC")
    #expect(results.map(\.data.succeeded) == [true, true, true, true, true])
  }

  @Test(arguments: [
    ("2026-03-01T00:00:00", "2026-04-01T00:00:00", HealthGrouping.day),
    ("2026-03-01T00:00:00", "2026-04-01T00:00:01", .week),
    ("2026-03-01T00:00:00", "2026-06-02T00:00:00", .week),
    ("2026-03-01T00:00:00", "2026-06-02T00:00:01", .month),
    // The 31 days include a day of 25 hours. A day of March above has 23 hours.
    ("2026-10-01T00:00:00", "2026-11-01T00:00:00", .day),
    ("2026-10-01T00:00:00", "2026-11-01T00:00:01", .week),
    // The interval has more nanoseconds than a 64-bit integer can represent.
    ("1900-01-02T00:00:00", "2199-12-31T00:00:00", .month),
  ])
  func `the default grouping follows from the calendar length of the question`(
    start: String, end: String, expected: HealthGrouping
  ) throws {
    let reply = try Self.summary(
      start, end, [SummaryMetric(valueType: .steps)], zone: Zones.berlin)
    let data = try HealthReply.read(try #require(reply.results.first).data.bytes)
    #expect(data.query.groupBy == expected)
  }

  @Test func `a metric keeps its requested options and gets defaults for the rest`() throws {
    let reply = try Self.summary(
      "2026-01-05", "2026-01-06",
      [
        SummaryMetric(valueType: .heartRate), SummaryMetric(valueType: .heartRate, statistic: .max),
        SummaryMetric(valueType: .heartRateVariability, groupBy: .hour),
        SummaryMetric(valueType: .glucose),
      ])
    let queries = try reply.results.map { try HealthReply.read($0.data.bytes).query }
    #expect(queries.map(\.statistic) == [.average, .max, .average, .average])
    #expect(queries.map(\.groupBy) == [.day, .day, .hour, .day])
  }

  @Test func `one failing metric does not affect the others`() throws {
    let query = SummaryQuery(
      start: time("2026-01-05"), end: time("2026-01-06"),
      metrics: [SummaryMetric(valueType: .steps), SummaryMetric(valueType: .glucose)])
    var answering = HealthAnswering(
      .summary(query), zone: .utc, now: at("2026-06-01T00:00:00Z"))
    answering.fail("locked")
    while case .read(let wanted) = answering.step { answering.take(Self.shelf.page(wanted)) }
    guard case .done(let object) = answering.step else {
      Issue.record("not done")
      return
    }
    #expect(!object.succeeded)
    #expect(object.reason == "no answer for STEPS")
    let results = try SummaryReply.read(object.bytes).results
    #expect(results.map(\.data.succeeded) == [false, true])
    #expect(results[0].data.reason == "the health data cannot be read: locked")
  }

  @Test
  func `rejected metrics keep their position, whether the sender or the reader rejected them`()
    throws
  {
    let text = """
      {"start_time":"2026-01-05","end_time":"2026-01-06",\
      "metrics":[{"value_type":"MOOD"},{"value_type":"STEPS"}],\
      "rejected":[{"place":0,"value_type":"SHOES","error_message":"no"}]}
      """
    let query = try SummaryQuery.read(Array(text.utf8))
    let reply = try SummaryReply.read(Self.shelf.answer(.summary(query)).bytes)
    #expect(reply.results.map(\.valueType) == ["SHOES", "MOOD", "STEPS"])
  }

  @Test func `an invalid summary reports the reason for each metric`() throws {
    let reply = try Self.summary("2026-01-06", "2026-01-05", [SummaryMetric(valueType: .steps)])
    #expect(reply.results.map(\.data.reason) == ["start_time is after end_time"])
  }

  @Test(arguments: [10_000, 30_000])
  func `a summary stays within its maximum size for any metrics`(maxBytes: Int) throws {
    let metric = SummaryMetric(valueType: .steps, groupBy: .hour, statistic: .sum)
    let query = SummaryQuery(
      start: time("2026-01-01"), end: time("2026-03-01"), metrics: [metric, metric, metric])
    let object = Self.hours.answer(.summary(query), limits: AnswerLimits(maxBytes: maxBytes))
    #expect(object.succeeded)
    #expect(object.bytes.count <= maxBytes)
    for result in try SummaryReply.read(object.bytes).results {
      let data = try HealthReply.read(result.data.bytes)
      #expect(data.nextStart != nil)
      #expect(!data.points.isEmpty)
    }
  }

  @Test
  func `a summary reserves 1,000 bytes and 100 for each result, and the results share the rest`()
    throws
  {
    let (start, end) = ("2026-01-01", "2026-03-01")
    let metric = SummaryMetric(valueType: .steps, groupBy: .hour, statistic: .sum)
    let query = SummaryQuery(start: time(start), end: time(end), metrics: [metric, metric])
    func alone(_ maxBytes: Int) -> HealthObject {
      Self.hours.answer(
        .healthData(plain(.steps, start, end, .hour, .sum)),
        limits: AnswerLimits(maxBytes: maxBytes))
    }
    // These sizes cut each result at several points.
    for maxBytes in 10_000..<10_600 {
      let object = Self.hours.answer(.summary(query), limits: AnswerLimits(maxBytes: maxBytes))
      let room = maxBytes - 1_000
      let first = alone(room / 2)
      let second = alone(room - first.bytes.count - 100)
      #expect(try SummaryReply.read(object.bytes).results.map(\.data) == [first, second])
    }
  }

  @Test func `a summary respects its own maximum size if the limits allow more`() {
    var query = SummaryQuery(
      start: time("2026-01-01"), end: time("2026-03-01"),
      metrics: [SummaryMetric(valueType: .steps, groupBy: .hour, statistic: .sum)])
    let room = AnswerLimits(maxBytes: 8 << 20)
    let short = Self.hours.answer(.summary(query), limits: AnswerLimits(maxBytes: 10_000))
    #expect(Self.hours.answer(.summary(query), limits: room) != short)
    query.maxBytes = 10_000
    #expect(Self.hours.answer(.summary(query), limits: room) == short)
  }
}

/// Returns a question without options.
private func plain(
  _ valueType: HealthValueType, _ start: String, _ end: String, _ groupBy: HealthGrouping,
  _ statistic: HealthStatistic
) -> HealthDataQuery {
  ask(valueType, start, end, groupBy, statistic, options: HealthOptions())
}
