import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of points that are compared with those of another span.
@Suite struct ComparisonTests {
  private static func with(_ start: String, _ end: String) -> HealthOptions {
    HealthOptions(compareWith: QuerySpan(start: time(start), end: time(end)))
  }

  private static func answer(
    _ query: HealthDataQuery, of samples: [HealthSample], now: String = "2027-01-01T00:00:00Z",
    zone: ZoneRules = .utc
  ) throws -> (points: [HealthComparison], notes: [String], text: String) {
    var answering = try AnswerRun(query, Shelf(samples), zone: zone, now: now)
    let reply = try answering.reply()
    return (
      reply.points.compactMap(\.comparison), reply.notes,
      String(decoding: reply.object.bytes, as: UTF8.self)
    )
  }

  /// A one-hour walk on each day of a month, from the first to the last.
  private static func walks(_ month: String, _ days: ClosedRange<Int>, _ count: Double)
    -> [HealthSample]
  {
    days.map { day in
      let date = month + (day < 10 ? "-0\(day)" : "-\(day)")
      return steps(count, date + "T12:00:00Z", date + "T13:00:00Z")
    }
  }

  private static let samples =
    walks("2026-01", 1...31, 100) + walks("2026-02", 2...8, 130)

  @Test func `sums of spans of different lengths are compared as a day of each`() throws {
    let query = ask(
      .steps, "2026-02-02", "2026-02-09", .total, options: Self.with("2026-01-01", "2026-02-01"))
    let found = try Self.answer(query, of: Self.samples)
    #expect(
      found.points == [
        HealthComparison(
          previous: .number(3_100), previousStart: time("2026-01-01T00:00:00"),
          previousEnd: time("2026-02-01T00:00:00"), basis: "average_per_day",
          perDay: [HealthNumber(name: "", value: 130)],
          previousPerDay: [HealthNumber(name: "", value: 100)],
          change: [HealthNumber(name: "", value: 30)],
          percent: [HealthNumber(name: "", value: 30)])
      ])
    #expect(
      found.notes == [
        "The spans have 7 and 31 days, so change compares a day of each: per_day and "
          + "previous_per_day."
      ])
    #expect(found.text.contains("\"applied\":[\"compare_with\"]"))
    #expect(
      found.text.contains(
        "\"previous\":3100,\"previous_from\":\"2026-01-01T00:00:00\",\"previous_to\":"
          + "\"2026-02-01T00:00:00\",\"per_day\":130,\"previous_per_day\":100,\"change_of\":"
          + "\"average_per_day\",\"change\":30,\"change_percent\":30"))
  }

  @Test func `sums of spans of the same length are compared as they are`() throws {
    let query = ask(
      .steps, "2026-02-02", "2026-02-09", .total, options: Self.with("2026-01-05", "2026-01-12"))
    let found = try Self.answer(query, of: Self.samples)
    #expect(found.points.map(\.basis) == ["sum"])
    #expect(found.points.map(\.change) == [[HealthNumber(name: "", value: 210)]])
    #expect(found.notes == [])
  }

  @Test func `spans whose lengths differ by a change of clocks have the same length`() throws {
    let samples = [
      steps(10, "2026-03-29T10:00:00Z", "2026-03-29T11:00:00Z"),
      steps(30, "2026-03-30T10:00:00Z", "2026-03-30T11:00:00Z"),
    ]
    let query = ask(
      .steps, "2026-03-30", "2026-03-31", .total, options: Self.with("2026-03-29", "2026-03-30"))
    let found = try Self.answer(query, of: samples, zone: Zones.berlin)
    #expect(found.points.map(\.basis) == ["sum"])
  }

  @Test func `a span that is not over is compared as a day of each`() throws {
    let query = ask(
      .steps, "2026-02-02", "2026-02-09", .total, options: Self.with("2026-01-26", "2026-02-02"))
    let found = try Self.answer(query, of: Self.samples, now: "2026-02-05T00:00:00Z")
    #expect(found.points.map(\.basis) == ["average_per_day"])
    #expect(found.notes.first?.contains("3 and 7 days") == true)
  }

  @Test func `averages are compared as they are, whatever the lengths`() throws {
    let nights = [
      stage("AsleepCore", "2026-01-10T23:00:00Z", "2026-01-11T06:00:00Z"),
      stage("AsleepCore", "2026-01-11T23:00:00Z", "2026-01-12T07:00:00Z"),
      stage("AsleepCore", "2026-02-02T23:00:00Z", "2026-02-03T05:45:00Z"),
    ]
    let query = ask(
      .sleep, "2026-02-02", "2026-02-09", .total, options: Self.with("2026-01-01", "2026-02-01"))
    let found = try Self.answer(query, of: nights)
    #expect(found.points.map(\.previous) == [.number(450)])
    #expect(found.points.map(\.basis) == ["average_per_night"])
    #expect(found.points.map(\.change) == [[HealthNumber(name: "", value: -45)]])
    #expect(found.points.map(\.percent) == [[HealthNumber(name: "", value: -10)]])
    #expect(found.notes == [])
  }

  @Test func `workouts of spans of different lengths are compared as a day of the calendar`() throws
  {
    let samples =
      [("01-10", 1_000.0), ("01-20", 3_000), ("02-03", 5_000)].map { day, distance in
        workout(
          "Running", "2026-\(day)T08:00:00Z", "2026-\(day)T08:30:00Z", distance: distance)
      }
    let query = ask(
      .workout, "2026-02-01", "2026-02-11", .total, options: Self.with("2026-01-01", "2026-01-21"))
    let found = try #require(try Self.answer(query, of: samples).points.first)
    #expect(found.basis == "per_day")
    #expect(
      found.perDay == [
        HealthNumber(name: "total_distance", value: 500),
        HealthNumber(name: "session_count", value: 0.1),
        HealthNumber(name: "duration_minutes", value: 3),
      ])
    #expect(
      found.change == [
        HealthNumber(name: "total_distance", value: 300),
        HealthNumber(name: "session_count", value: 0),
        HealthNumber(name: "duration_minutes", value: 0),
      ])
    let counts = ask(
      .workout, "2026-02-01", "2026-02-11", .total, .count,
      options: Self.with("2026-01-01", "2026-01-21"))
    #expect(
      try Self.answer(counts, of: samples).points.first?.perDay
        == [HealthNumber(name: "", value: 0.1)])
  }

  @Test func `points of series are paired by their place, also where a day has no data`() throws {
    let samples =
      Self.walks("2026-01", 5...6, 10) + Self.walks("2026-01", 13...14, 30)
    let query = ask(
      .steps, "2026-01-12", "2026-01-19", .day, options: Self.with("2026-01-05", "2026-01-12"))
    let found = try Self.answer(query, of: samples).points
    // The second day is paired with the second day. The third day of the other week has no data.
    #expect(found.map(\.previous) == [.number(10), nil])
    #expect(found.map(\.previousStart) == [time("2026-01-06T00:00:00"), nil])
    #expect(found.map(\.change) == [[HealthNumber(name: "", value: 20)], []])
    let weeks = ask(
      .steps, "2026-01-12", "2026-01-19", .week, options: Self.with("2025-12-29", "2026-01-12"))
    // The week from December 29 to January 4, over a year's end, is the first.
    #expect(try Self.answer(weeks, of: samples).points.map(\.previous) == [nil])
  }

  @Test func `months and years are paired over the ends of years`() throws {
    let samples =
      Self.walks("2024-02", 29...29, 5) + Self.walks("2025-12", 1...1, 7)
      + Self.walks("2025-02", 1...1, 9)
    let months = ask(
      .steps, "2025-02-01", "2026-02-01", .month, options: Self.with("2024-02-01", "2025-02-01"))
    #expect(try Self.answer(months, of: samples).points.map(\.previous) == [.number(5), nil])
    let years = ask(
      .steps, "2025-01-01", "2026-01-01", .year, options: Self.with("2024-01-01", "2025-01-01"))
    #expect(try Self.answer(years, of: samples).points.map(\.previous) == [.number(5)])
  }

  @Test func `weekdays are compared with the same weekday`() throws {
    let query = ask(
      .steps, "2026-02-02", "2026-02-09", .weekday, options: Self.with("2026-01-05", "2026-01-12"))
    let found = try Self.answer(query, of: Self.samples).points
    #expect(found.map(\.previous) == Array(repeating: .number(100), count: 7))
  }

  @Test func `a change of a temperature or of a percentage has no percent`() throws {
    let samples = [
      quantity("BodyTemperature", 36, "degC", "2026-01-05T08:00:00Z"),
      quantity("BodyTemperature", 37, "degC", "2026-01-12T08:00:00Z"),
      quantity("OxygenSaturation", 0.96, "%", "2026-01-05T08:00:00Z"),
      quantity("OxygenSaturation", 0.98, "%", "2026-01-12T08:00:00Z"),
    ]
    for type in [HealthValueType.bodyTemperature, .bloodOxygen] {
      let query = ask(
        type, "2026-01-12", "2026-01-19", .total, options: Self.with("2026-01-05", "2026-01-12"))
      let found = try Self.answer(query, of: samples).points
      #expect(found.map(\.percent) == [[]])
      #expect(found.first?.change.count == 1)
    }
  }

  @Test func `an earlier span of zero or without data has no percentage`() throws {
    let zero = [
      steps(0, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z"),
      steps(9, "2026-01-12T08:00:00Z", "2026-01-12T09:00:00Z"),
    ]
    let options = Self.with("2026-01-05", "2026-01-12")
    let query = ask(.steps, "2026-01-12", "2026-01-19", .total, options: options)
    #expect(try Self.answer(query, of: zero).points.map(\.percent) == [[]])
    let after = try Self.answer(query, of: Array(zero.suffix(1)))
    #expect(after.notes == ["No data in compare_with."])
    #expect(after.text.contains("\"previous\":null"))
    let before = try Self.answer(query, of: Array(zero.prefix(1)))
    #expect(
      before.notes == ["No data from start_time to end_time. Only in compare_with: STEPS: 0."])
    #expect(try Self.answer(query, of: []).notes == [])
  }

  @Test func `an hour that clocks show twice is named in the notes, with its time`() throws {
    let autumn = ["00:30", "01:30", "02:30"].map { time in
      quantity("HeartRate", 60, "count/min", "2026-10-25T\(time):00Z", source: "Watch")
    }
    let before = [
      quantity("HeartRate", 50, "count/min", "2026-10-24T00:30:00Z", source: "Watch"),
      quantity("HeartRate", 50, "count/min", "2026-10-24T01:30:00Z", source: "Watch"),
    ]
    let query = ask(
      .heartRate, "2026-10-24", "2026-10-24T05:00:00", .hour,
      options: Self.with("2026-10-25", "2026-10-25T05:00:00"))
    let found = try Self.answer(query, of: before + autumn, zone: Zones.berlin)
    // 02:00 is compared with the first 02:00, and 03:00 with 03:00.
    #expect(found.points.map(\.previous) == [.number(60), .number(60)])
    #expect(found.notes == ["Only in compare_with: HEART_RATE 2026-10-25T02:00:00+01:00: 60."])
  }

  @Test func `an hour without a partner is named by its time`() throws {
    let samples = ["2026-01-04T08:30:00Z", "2026-01-04T09:30:00Z", "2026-01-05T08:30:00Z"].map {
      quantity("HeartRate", 60, "count/min", $0, source: "Watch")
    }
    let query = ask(
      .heartRate, "2026-01-05", "2026-01-06", .hour, options: Self.with("2026-01-04", "2026-01-05"))
    #expect(
      try Self.answer(query, of: samples).notes
        == ["Only in compare_with: HEART_RATE 2026-01-04T09:00:00: 60."])
  }

  private static let refused: [(HealthGrouping?, HealthOptions, String)] = [
    (nil, with("2026-01-05", "2026-01-12"), OptionRefusal.comparisonAlone.description),
    (
      .total, with("2026-01-12", "2026-01-05"), "compare_with: start_time is after end_time"
    ),
    (.total, with("2030-01-12", "2030-01-13"), "compare_with: start_time is in the future"),
  ]

  @Test(arguments: refused)
  func `a comparison that makes no sense is refused with what to ask instead`(
    groupBy: HealthGrouping?, options: HealthOptions, reason: String
  ) {
    let query = ask(.steps, "2026-02-02", "2026-02-09", groupBy, options: options)
    #expect(Shelf([]).answer(.healthData(query)).reason == reason)
  }

  @Test func `a comparison that does not fit is refused, because it cannot be cut`() {
    var query = ask(
      .steps, "2026-01-12", "2026-02-01", .day, options: Self.with("2026-01-01", "2026-01-12"))
    query.maxBytes = 3_000
    #expect(
      Shelf(Self.samples).answer(.healthData(query)).reason == AnswerRefusal.tooLong.description)
    query.options.format = .table
    query.maxBytes = 6_000
    #expect(Shelf(Self.samples).answer(.healthData(query)).succeeded)
  }
}

/// A query that is answered from a shelf, with the members of its points that are not read back.
struct AnswerRun {
  private var job: AnswerJob
  private let shelf: Shelf

  init(
    _ query: HealthDataQuery, _ shelf: Shelf, zone: ZoneRules = .utc,
    now: String = "2027-01-01T00:00:00Z", limits: AnswerLimits = AnswerLimits(pageLimit: 7)
  ) throws {
    job = try AnswerJob(
      query, zone: zone, now: at(now), limits: limits, stored: StoredHealth())
    self.shelf = shelf
  }

  mutating func reply() throws -> HealthReply {
    while let wanted = job.wanted { job.take(shelf.page(wanted)) }
    return try job.reply()
  }
}
