import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of averages of days, trends and parts of weeks while a day or a span is not over.
@Suite struct WholeSpanTests {
  private static func reply(
    _ type: HealthValueType, _ start: String, _ end: String, _ groupBy: HealthGrouping,
    _ statistic: HealthStatistic? = nil, trend: Bool = false, of samples: [HealthSample],
    now: String = "2027-01-01T00:00:00Z"
  ) throws -> HealthReply {
    var run = try AnswerRun(
      ask(type, start, end, groupBy, statistic, options: HealthOptions(trend: trend)),
      Shelf(samples), now: now)
    return try run.reply()
  }

  /// Two one-hour walks on each day, at 01:00 and at 20:00, for a number of days.
  private static func walks(
    from day: String, days: Int, count: Double = 5_000
  ) -> [HealthSample] {
    (0..<days).flatMap { number in
      [1, 20].map { hour in
        let start = at(day + "T00:00:00Z").advanced(by: .seconds(86_400 * number + 3_600 * hour))
        return HealthSample(
          type: "HKQuantityTypeIdentifierStepCount", value: .quantity(count), unit: "count",
          start: start, end: start.advanced(by: .seconds(3_600)), source: "Watch")
      }
    }
  }

  /// Two weeks from a Monday, and the morning of the second Friday.
  private static let upToFriday =
    walks(from: "2026-01-05", days: 11) + [
      steps(3_400, "2026-01-16T01:00:00Z", "2026-01-16T02:00:00Z")
    ]
  private static let friday = "2026-01-16T12:00:00Z"

  @Test func `a day that is not over takes no part in averages and minima`() throws {
    func values(
      _ groupBy: HealthGrouping, _ statistic: HealthStatistic?
    ) throws -> [HealthPointValue] {
      try Self.reply(
        .steps, "2026-01-05", "2026-01-19", groupBy, statistic, of: Self.upToFriday,
        now: Self.friday
      ).points.map(\.value)
    }
    #expect(try values(.weekday, nil) == Array(repeating: .number(10_000), count: 7))
    #expect(try values(.weekpart, nil) == Array(repeating: .number(10_000), count: 2))
    #expect(try values(.hourOfDay, nil) == Array(repeating: .number(5_000), count: 2))
    #expect(try values(.week, .average) == Array(repeating: .number(10_000), count: 2))
    for statistic in [HealthStatistic.average, .min, .max] {
      #expect(try values(.total, statistic) == [.number(10_000)])
    }
    #expect(try values(.day, .average).last == .number(3_400))
    let more = Self.upToFriday + [steps(9_000, "2026-01-16T03:00:00Z", "2026-01-16T04:00:00Z")]
    let most = try Self.reply(
      .steps, "2026-01-05", "2026-01-19", .total, .max, of: more, now: Self.friday)
    #expect(most.points.map(\.value) == [.number(12_400)])
  }

  @Test func `days that the question cuts take no part in averages`() throws {
    let reply = try Self.reply(
      .steps, "2026-01-05T12:00", "2026-01-08T12:00", .total, .average, of: Self.upToFriday)
    #expect(reply.points.map(\.value) == [.number(10_000)])
    let only = try Self.reply(
      .steps, "2026-01-05T12:00", "2026-01-06T12:00", .total, .average, of: Self.upToFriday)
    #expect(only.points.map(\.value) == [.number(5_000)])
  }

  @Test(arguments: [
    (Duration.seconds(-2), true), (.seconds(-1), false), (.zero, false), (.seconds(1), false),
  ])
  func `a day is whole up to its last second`(early: Duration, isCut: Bool) throws {
    let now = at("2026-01-16T00:00:00Z").advanced(by: early)
    let query = ask(.steps, "2026-01-15", "2026-01-16", .weekday, options: HealthOptions())
    var job = try AnswerJob(
      query, zone: .utc, now: now, limits: AnswerLimits(), stored: StoredHealth())
    let shelf = Shelf(Self.upToFriday)
    while let wanted = job.wanted { job.take(shelf.page(wanted)) }
    #expect(try job.reply().points.map(\.isPartial) == [isCut])
  }

  @Test func `only the weekday that is not over is partial`() throws {
    let reply = try Self.reply(
      .steps, "2026-01-05", "2026-01-19", .weekday, of: Self.upToFriday, now: Self.friday)
    #expect(reply.points.map(\.isPartial) == [false, false, false, false, true, false, false])
    let hours = try Self.reply(
      .steps, "2026-01-05", "2026-01-19", .hourOfDay, .sum, of: Self.upToFriday,
      now: "2026-01-16T01:30:00Z")
    #expect(hours.points.map(\.isPartial) == [true, false])
  }

  @Test func `a day that is not over does not bend a trend of averages`() throws {
    for groupBy in [HealthGrouping.day, .week] {
      let reply = try Self.reply(
        .steps, "2026-01-05", "2026-01-19", groupBy, .average, trend: true, of: Self.upToFriday,
        now: Self.friday)
      #expect(reply.trends.map(\.perWeek) == [0])
      #expect(reply.trends.map(\.statistic) == ["average_per_day"])
    }
  }

  @Test func `the lengths of months do not bend a trend`() throws {
    let samples = Self.walks(from: "2026-01-01", days: 90)
    for statistic in [nil, HealthStatistic.count] {
      let reply = try Self.reply(
        .steps, "2026-01-01", "2026-06-01", .month, statistic, trend: true, of: samples,
        now: "2026-04-01T00:00:00Z")
      let trend = try #require(reply.trends.first)
      #expect(trend.perWeek == 0)
      #expect(trend.points == 3)
      #expect(trend.statistic == (statistic == nil ? "average_per_day" : "per_day"))
      #expect(trend.grouping == .month)
    }
    let reply = try Self.reply(
      .steps, "2026-01-01", "2026-04-01", .month, trend: true, of: samples)
    // The points are still sums.
    #expect(reply.points.first?.value == .number(310_000))
  }

  @Test func `weeks without a workout are zeros of its trend`() throws {
    // A run in the first and in the third week, and a ride in the fifth.
    let samples = [("01-05", "Running"), ("01-19", "Running"), ("02-05", "Cycling")].map {
      day, kind in
      workout(kind, "2026-\(day)T08:00:00Z", "2026-\(day)T08:30:00Z", distance: 1_000)
    }
    let reply = try Self.reply(
      .workout, "2025-12-01", "2026-03-02", .week, .count, trend: true, of: samples)
    let lines = Dictionary(uniqueKeysWithValues: reply.trends.map { ($0.workoutType, $0) })
    // 1, 0, 1, 0, 0 and 0, 0, 0, 0, 1.
    #expect(lines["RUNNING"]?.points == 5)
    #expect(lines["RUNNING"]?.perWeek == -0.2)
    #expect(lines["RUNNING"]?.start == time("2026-01-05T00:00:00"))
    #expect(lines["RUNNING"]?.end == time("2026-02-09T00:00:00"))
    #expect(lines["BIKING"]?.points == 5)
    #expect(lines["BIKING"]?.perWeek == 0.2)
  }

  @Test func `each number of a workout has its unit, and its heart rate no zeros`() throws {
    let samples = ["05", "19"].flatMap { day in
      [
        workout(
          "Running", "2026-01-\(day)T08:00:00Z", "2026-01-\(day)T08:30:00Z", distance: 1_000,
          energy: 70),
        quantity("HeartRate", 150, "count/min", "2026-01-\(day)T08:05:00Z"),
      ]
    }
    let reply = try Self.reply(
      .workout, "2026-01-05", "2026-01-26", .week, trend: true, of: samples)
    #expect(
      reply.trends.map(\.number) == [
        "total_distance", "total_energy_burned", "session_count", "duration_minutes",
        "average_heart_rate",
      ])
    #expect(
      reply.trends.map(\.unit) == ["meter", "kilocalorie", "count", "minute", "beatsPerMinute"])
    #expect(reply.trends.map(\.points) == [3, 3, 3, 3, 2])
    #expect(
      reply.trends.map(\.statistic) == ["sum", "sum", "sum", "sum", "average_over_time"])
  }

  @Test func `days without steps are no zeros`() throws {
    let samples = [5, 8].map { day in
      steps(100, "2026-01-0\(day)T08:00:00Z", "2026-01-0\(day)T09:00:00Z")
    }
    let reply = try Self.reply(
      .steps, "2026-01-05", "2026-01-12", .day, trend: true, of: samples)
    #expect(reply.trends.map(\.points) == [2])
  }

  @Test func `a trend over too many hours without a workout is refused`() throws {
    let samples = ["2000-01-01", "2025-01-01"].map {
      workout("Running", $0 + "T08:00:00Z", $0 + "T08:30:00Z")
    }
    let query = ask(
      .workout, "2000-01-01", "2026-01-01", .hour, options: HealthOptions(trend: true))
    #expect(
      Shelf(samples).answer(.healthData(query)).reason == AnswerRefusal.tooManyDays.description)
  }
}
