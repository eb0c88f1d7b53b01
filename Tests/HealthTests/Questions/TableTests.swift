import HoldfastCore
import HoldfastJSON
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of answers whose points are rows, and of the length of answers.
@Suite struct TableTests {
  private static let table = HealthOptions(format: .table)

  private static func text(
    _ query: HealthDataQuery, of samples: [HealthSample], zone: ZoneRules = .utc,
    limits: AnswerLimits = AnswerLimits()
  ) -> String {
    let object = Shelf(samples).answer(.healthData(query), zone: zone, limits: limits)
    return String(decoding: object.bytes, as: UTF8.self)
  }

  /// Steps on each day of a year, of two devices.
  private static func year(_ year: Int) -> [HealthSample] {
    let first = Gregorian.days(year: year, month: 1, day: 1)
    let next = Gregorian.days(year: year + 1, month: 1, day: 1)
    return (first..<next).flatMap { day in
      ["Watch", "iPhone"].map { source in
        let noon = Timestamp(nanoseconds: Int64(day) * 86_400_000_000_000 + 43_200_000_000_000)
        return HealthSample(
          type: "HKQuantityTypeIdentifierStepCount", value: .quantity(Double(10_000 + day % 977)),
          unit: "count", start: noon, end: noon.advanced(by: .seconds(3_600)), source: source)
      }
    }
  }

  @Test func `a table has what rows share once, and dates without hours`() {
    let samples = [
      steps(10, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z"),
      steps(20, "2026-01-06T08:00:00Z", "2026-01-06T09:00:00Z"),
    ]
    let text = Self.text(
      ask(.steps, "2026-01-05", "2026-01-06T12:00:00", .day, options: Self.table), of: samples)
    #expect(
      text.hasPrefix(
        "{\"success\":true,\"count\":2,\"common\":{\"type\":\"STEPS\",\"unit\":\"count\","
          + "\"source_id\":\"merged\",\"statistic\":\"sum\",\"merged\":true},"
          + "\"columns\":[\"date\",\"value\"],"
          + "\"rows\":[[\"2026-01-05\",10],[\"2026-01-06\",20]],\"partial_rows\":[1],"))
    #expect(text.contains("\"applied\":[\"format\"]"))
    #expect(!text.contains("health_data"))
  }

  @Test func `the day is that of the user's zone, also if the question has times in UTC`() {
    let samples = [steps(10, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z")]
    let text = Self.text(
      ask(
        .steps, "2026-01-04T23:00:00Z", "2026-01-05T23:00:00Z", .day, options: Self.table),
      of: samples, zone: Zones.berlin)
    #expect(text.contains("\"rows\":[[\"2026-01-05\",10]]"))
  }

  @Test func `hours and single samples have their times, and parts have none`() {
    let samples = [
      steps(10, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z"),
      steps(20, "2026-01-05T09:00:00Z", "2026-01-05T09:30:00Z"),
    ]
    func rows(_ groupBy: HealthGrouping?, _ statistic: HealthStatistic? = nil) -> String {
      let text = Self.text(
        ask(.steps, "2026-01-05", "2026-01-06", groupBy, statistic, options: Self.table),
        of: samples)
      return String(text.drop { $0 != "[" }.prefix { $0 != "}" })
    }
    #expect(
      rows(.hour).hasPrefix(
        "[\"date_from\",\"value\"],\"rows\":[[\"2026-01-05T08:00:00\",10],"
          + "[\"2026-01-05T09:00:00\",20]]"))
    #expect(
      rows(nil).hasPrefix(
        "[\"date_from\",\"date_to\",\"value\"],\"rows\":[[\"2026-01-05T08:00:00\","
          + "\"2026-01-05T09:00:00\",10]"))
    #expect(rows(.total).hasPrefix("[\"value\"],\"rows\":[[30]]"))
    #expect(
      rows(.weekday).hasPrefix("[\"value\",\"group\"],\"rows\":[[30,\"MONDAY\"]]"))
    #expect(
      rows(.total, .latest).hasPrefix("[\"date_from\",\"date_to\",\"value\"],\"rows\":[[\"2026-"))
  }

  @Test func `members of workouts and nights are columns, and what is missing is null`() {
    let samples = [
      workout("Running", "2026-01-05T08:00:00Z", "2026-01-05T08:30:00Z", distance: 5_000),
      workout("Yoga", "2026-01-05T10:00:00Z", "2026-01-05T11:00:00Z"),
      stage("AsleepCore", "2026-01-04T22:00:00Z", "2026-01-05T05:00:00Z"),
    ]
    let workouts = Self.text(
      ask(.workout, "2026-01-05", "2026-01-06", .day, options: Self.table), of: samples)
    #expect(
      workouts.contains(
        "\"columns\":[\"date\",\"workout_type\",\"total_distance\",\"session_count\","
          + "\"distance_unit\",\"duration_minutes\"],"
          + "\"rows\":[[\"2026-01-05\",\"RUNNING\",5000,1,\"meter\",30],"
          + "[\"2026-01-05\",\"YOGA\",null,1,null,60]]"))
    let nights = Self.text(
      ask(.sleep, "2026-01-05", "2026-01-06", .day, options: Self.table), of: samples)
    #expect(nights.contains("\"columns\":[\"date\",\"value\",\"light\"]"))
    #expect(nights.contains("\"nights\":1,\"naps\":0}"))
  }

  @Test func `numbers of a comparison are columns`() {
    let samples = [
      steps(10, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z"),
      steps(20, "2026-01-12T08:00:00Z", "2026-01-12T09:00:00Z"),
    ]
    var options = Self.table
    options.compareWith = QuerySpan(
      start: time("2026-01-05T00:00:00"), end: time("2026-01-12T00:00:00"))
    let text = Self.text(
      ask(.steps, "2026-01-12", "2026-01-19", .day, options: options), of: samples)
    #expect(
      text.contains(
        "\"columns\":[\"date\",\"value\",\"previous\","
          + "\"change\",\"change_percent\"],\"rows\":[[\"2026-01-12\",20,10,"))
  }

  @Test func `a table without points has no columns`() {
    let text = Self.text(
      ask(.steps, "2026-01-05", "2026-01-06", .day, options: Self.table), of: [])
    #expect(
      text.hasPrefix("{\"success\":true,\"count\":0,\"common\":{},\"columns\":[],\"rows\":[],"))
  }

  @Test(arguments: [2023, 2024])
  func `a year of steps by day is one answer below 24 kB as a table`(year: Int) throws {
    let query = ask(
      .steps, "\(year)-01-01", "\(year + 1)-01-01", .day, options: Self.table)
    let object = Shelf(Self.year(year)).answer(.healthData(query), limits: .oneFrame)
    let fields = JSONFields(object.bytes, keeping: ["rows", "truncated"])
    let rows = try fields.elements("rows", atMost: 400)
    #expect(rows.count == (year == 2024 ? 366 : 365))
    #expect(!fields.has("truncated"))
    #expect(object.bytes.count < 24_000)
  }

  @Test func `points of a year by day are cut at 32 KiB, and two years of rows are too`() throws {
    let samples = Self.year(2024) + Self.year(2025)
    func size(_ options: HealthOptions) throws -> (count: Int, isCut: Bool, bytes: Int) {
      let query = ask(.steps, "2024-01-01", "2026-01-01", .day, options: options)
      let object = Shelf(samples).answer(.healthData(query), limits: .parts)
      let fields = JSONFields(object.bytes, keeping: ["count", "next_start_time"])
      return (
        try fields.int("count", in: 0...9_999), fields.has("next_start_time"), object.bytes.count
      )
    }
    let points = try size(HealthOptions())
    #expect(points.isCut)
    #expect((100...365).contains(points.count))
    #expect(points.bytes <= AnswerLimits.usualBytes)
    let rows = try size(Self.table)
    #expect((rows.count, rows.isCut) == (731, false))
    #expect(rows.bytes <= AnswerLimits.usualBytes)
  }

  @Test func `rows that do not fit can be requested from the next start without loss or repeats`()
    throws
  {
    let shelf = Shelf(Self.year(2025))
    for maxBytes in [2_300, 3_000, 5_000] {
      var query = ask(.steps, "2025-01-01", "2026-01-01", .day, options: Self.table)
      var rows: [[UInt8]] = []
      for _ in 0..<400 {
        let object = shelf.answer(
          .healthData(query), limits: AnswerLimits(maxBytes: maxBytes, pageLimit: 100))
        #expect(object.bytes.count <= maxBytes)
        let fields = JSONFields(object.bytes, keeping: ["rows", "next_start_time"])
        rows += try fields.elements("rows", atMost: 400)
        guard fields.has("next_start_time") else { break }
        query.start = try fields.time("next_start_time")
      }
      #expect(rows.count == 365)
      #expect(Set(rows).count == 365)
    }
  }

  @Test func `the default size of an answer is 32 KiB, also for summaries`() {
    #expect(AnswerLimits.usualBytes == 32_768)
    let metrics = (0..<6).map { _ in SummaryMetric(valueType: .steps, groupBy: .day) }
    let query = SummaryQuery(
      start: time("2025-01-01T00:00:00"), end: time("2026-01-01T00:00:00"), metrics: metrics)
    let answer = Shelf(Self.year(2025)).answer(.summary(query), limits: .parts)
    #expect(answer.bytes.count <= 32_768)
    #expect(answer.bytes.count > 20_000)
  }

  @Test func `a summary has tables, comparisons and their names`() throws {
    let query = SummaryQuery(
      start: time("2025-06-02T00:00:00"), end: time("2025-06-09T00:00:00"),
      metrics: [SummaryMetric(valueType: .steps, groupBy: .total)],
      options: HealthOptions(
        format: .table,
        compareWith: QuerySpan(
          start: time("2025-05-26T00:00:00"), end: time("2025-06-02T00:00:00")),
        nearest: true))
    let answer = Shelf(Self.year(2025)).answer(.summary(query))
    let text = String(decoding: answer.bytes, as: UTF8.self)
    #expect(answer.succeeded)
    #expect(text.contains("\"change_percent\""))
    // What the summary says is not repeated.
    #expect(text.ranges(of: "\"answered_at\"").count == 1)
    #expect(text.hasSuffix("}") && text.contains("],\"applied\":[\"format\",\"compare_with\"]"))
  }
}
