import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of comparisons of spans that differ in length or are not over.
@Suite struct UnevenComparisonTests {
  private static func reply(
    _ type: HealthValueType, _ span: (String, String), _ other: (String, String),
    _ groupBy: HealthGrouping, _ statistic: HealthStatistic? = nil, of samples: [HealthSample],
    now: String = "2027-01-01T00:00:00Z"
  ) throws -> HealthReply {
    let options = HealthOptions(
      compareWith: QuerySpan(start: time(other.0), end: time(other.1)))
    var run = try AnswerRun(
      ask(type, span.0, span.1, groupBy, statistic, options: options), Shelf(samples), now: now)
    return try run.reply()
  }

  /// Returns the dates from one day to another, without the last.
  private static func dates(_ first: String, _ last: String) -> [String] {
    var (day, dates): (Timestamp, [String]) = (at(first + "T00:00:00Z"), [])
    while day < at(last + "T00:00:00Z") {
      dates.append(String(ZoneRules.utc.local(at: day).description.prefix(10)))
      day = day.advanced(by: .seconds(86_400))
    }
    return dates
  }

  /// 24 walks of an hour on each day.
  private static func walks(_ first: String, _ last: String, _ count: Double) -> [HealthSample] {
    dates(first, last).flatMap { date in
      (0..<24).map { hour in
        let clock = hour < 10 ? "0\(hour)" : "\(hour)"
        return steps(count / 24, "\(date)T\(clock):00:00Z", "\(date)T\(clock):59:59Z")
      }
    }
  }

  private static func numbers(_ numbers: [HealthNumber]?) -> [String: Double] {
    Dictionary(uniqueKeysWithValues: (numbers ?? []).map { ($0.name, $0.value) })
  }

  private static let january = ("2026-01-01", "2026-02-01")
  private static let february = ("2026-02-01", "2026-03-01")

  @Test func `the heart rate of workouts is not divided by the days`() throws {
    let samples =
      [("01-10", 150.0), ("02-03", 144), ("02-04", 144)].flatMap { day, rate in
        [
          workout("Running", "2026-\(day)T08:00:00Z", "2026-\(day)T08:10:00Z", distance: 1_400),
          quantity("HeartRate", rate, "count/min", "2026-\(day)T08:05:00Z"),
        ]
      }
    let reply = try Self.reply(.workout, Self.february, Self.january, .total, of: samples)
    let found = try #require(reply.points.first?.comparison)
    #expect(found.basis == "per_day")
    #expect(Self.numbers(found.perDay)["total_distance"] == 100)
    #expect(Self.numbers(found.perDay)["average_heart_rate"] == nil)
    #expect(Self.numbers(found.previousPerDay)["average_heart_rate"] == nil)
    #expect(Self.numbers(found.change)["average_heart_rate"] == -6)
    #expect(Self.numbers(found.percent)["average_heart_rate"] == -4)
  }

  @Test(arguments: [HealthGrouping.weekday, .weekpart, .hourOfDay])
  func `sums of parts of different lengths are compared as a day of each`(
    groupBy: HealthGrouping
  ) throws {
    let samples =
      Self.walks("2026-01-01", "2026-02-01", 2_400)
      + Self.walks("2026-02-01", "2026-03-01", 2_640)
    let reply = try Self.reply(
      .steps, Self.february, Self.january, groupBy, .sum, of: samples)
    #expect(reply.points.count == [.weekday: 7, .weekpart: 2][groupBy] ?? 24)
    for point in reply.points {
      #expect(Self.numbers(point.comparison?.percent) == ["": 10], "\(point.part ?? "")")
    }
  }

  @Test func `sessions of a part are divided by the days of the part`() throws {
    // January 2026 has nine days of weekends, and February eight.
    let days = [
      "01-03", "01-04", "01-10", "01-11", "01-17", "01-18", "01-24", "01-25", "01-31", "02-01",
      "02-07", "02-08", "02-14", "02-15", "02-21", "02-22", "02-28",
    ]
    let samples = days.map {
      workout("Running", "2026-\($0)T08:00:00Z", "2026-\($0)T08:10:00Z", distance: 1_000)
    }
    let reply = try Self.reply(.workout, Self.february, Self.january, .weekpart, of: samples)
    let found = try #require(reply.points.first?.comparison)
    #expect(
      Self.numbers(found.perDay)
        == ["total_distance": 1_000, "session_count": 1, "duration_minutes": 10])
    #expect(Set(Self.numbers(found.change).values) == [0])
    let counts = try Self.reply(
      .workout, Self.february, Self.january, .weekpart, .count, of: samples)
    #expect(Self.numbers(counts.points.first?.comparison?.perDay) == ["": 1])
  }

  @Test func `months of different lengths are compared as a day of each`() throws {
    let samples =
      Self.walks("2026-01-01", "2026-02-01", 2_400)
      + Self.walks("2026-02-01", "2026-03-01", 2_400)
    let reply = try Self.reply(.steps, Self.february, Self.january, .month, of: samples)
    let found = try #require(reply.points.first?.comparison)
    #expect(found.basis == "average_per_day")
    #expect(Self.numbers(found.change) == ["": 0])
    #expect(
      reply.notes == [
        "Where spans differ in length, change compares a day of each: per_day and "
          + "previous_per_day."
      ])
  }

  @Test func `a week that the span cuts is compared as a day, and says so`() throws {
    // The year 2026 begins on a Thursday.
    let samples = Self.walks("2026-01-01", "2026-02-01", 2_400)
    let reply = try Self.reply(
      .steps, ("2026-01-12", "2026-01-19"), ("2026-01-01", "2026-01-12"), .week, of: samples)
    let found = try #require(reply.points.first?.comparison)
    #expect(found.previous == .number(9_600))
    #expect(found.isPreviousPartial)
    #expect(Self.numbers(found.percent) == ["": 0])
    #expect(
      String(decoding: reply.object.bytes, as: UTF8.self).contains("\"previous_partial\":true"))
  }

  @Test func `today is not compared with yesterday while it lasts`() throws {
    let samples =
      Self.walks("2026-01-05", "2026-01-06", 2_400)
      + [steps(100, "2026-01-06T00:10:00Z", "2026-01-06T00:20:00Z")]
    for groupBy in [HealthGrouping.total, .day] {
      let reply = try Self.reply(
        .steps, ("2026-01-06", "2026-01-07"), ("2026-01-05", "2026-01-06"), groupBy, of: samples,
        now: "2026-01-06T01:00:00Z")
      let found = try #require(reply.points.first?.comparison)
      #expect(found.previous == .number(2_400))
      #expect(found.change == [])
      #expect(
        reply.notes == [
          "Spans of different lengths, of which one has no whole day, have no change. End both at "
            + "the same time of day."
        ])
      #expect(!String(decoding: reply.object.bytes, as: UTF8.self).contains("\"change"))
    }
    let average = try Self.reply(
      .steps, ("2026-01-06", "2026-01-07"), ("2026-01-05", "2026-01-06"), .total, .average,
      of: samples, now: "2026-01-06T01:00:00Z")
    #expect(average.points.first?.comparison?.change == [])
    let same = try Self.reply(
      .steps, ("2026-01-06T00:00", "2026-01-06T01:00"), ("2026-01-05T00:00", "2026-01-05T01:00"),
      .total, of: samples, now: "2026-01-06T01:00:00Z")
    #expect(Self.numbers(same.points.first?.comparison?.change) == ["": 0])
  }

  @Test func `the day that is not over takes no part in an average of this week`() throws {
    let samples =
      Self.walks("2026-01-05", "2026-01-15", 2_400)
      + [steps(100, "2026-01-15T00:10:00Z", "2026-01-15T00:20:00Z")]
    let reply = try Self.reply(
      .steps, ("2026-01-12", "2026-01-19"), ("2026-01-05", "2026-01-12"), .total, of: samples,
      now: "2026-01-15T12:00:00Z")
    let found = try #require(reply.points.first?.comparison)
    #expect(Self.numbers(found.perDay) == ["": 2_400])
    #expect(Self.numbers(found.percent) == ["": 0])
  }

  @Test(arguments: [
    ("2026-01-12T01:00", true), ("2026-01-12T01:03", true), ("2026-01-12T01:04", false),
    ("2026-01-12T02:00", false),
  ])
  func `short spans differ in length by more than a twentieth`(end: String, isEven: Bool) throws {
    let samples = Self.walks("2026-01-05", "2026-01-13", 2_400)
    let reply = try Self.reply(
      .steps, ("2026-01-12T00:00", end), ("2026-01-05T00:00", "2026-01-05T01:00"), .total,
      of: samples)
    #expect(reply.points.first?.comparison?.change.isEmpty == !isEven)
  }

  @Test func `events of different lengths are counted a day, and their minutes too`() throws {
    let samples = ["01-10", "02-03", "02-04"].map { day in
      HealthSample(
        type: "HKCategoryTypeIdentifierHeadache",
        value: .category("HKCategoryValueSeverityMild"), start: at("2026-\(day)T08:00:00Z"),
        end: at("2026-\(day)T08:14:00Z"), source: "Phone")
    }
    let type = try #require(HealthValueType(rawValue: "HEADACHE"))
    for statistic in [HealthStatistic.count, .sum] {
      let reply = try Self.reply(
        type, Self.february, Self.january, .total, statistic, of: samples)
      #expect(reply.points.first?.comparison?.basis == "per_day")
    }
  }

  @Test func `what exists only in the other span is named`() throws {
    let samples =
      (1...7).map {
        workout(
          "Running", "2026-01-0\($0)T08:00:00Z", "2026-01-0\($0)T08:30:00Z", distance: 5_000)
      } + [workout("Cycling", "2026-02-03T08:00:00Z", "2026-02-03T08:30:00Z")]
    let reply = try Self.reply(.workout, Self.february, Self.january, .total, of: samples)
    #expect(
      reply.notes == [
        "Only in compare_with: RUNNING: total_distance 35000, session_count 7, "
          + "duration_minutes 210."
      ])
    let days = try Self.reply(
      .workout, ("2026-02-02", "2026-02-04"), ("2026-01-01", "2026-01-04"), .day, .count,
      of: samples)
    // The third day of the other span has no place in this one.
    #expect(
      days.notes == [
        "Only in compare_with: RUNNING 2026-01-01: 1; RUNNING 2026-01-02: 1."
      ])
  }

  @Test func `the stages of sleep are compared`() throws {
    let nights = [
      stage("AsleepCore", "2026-01-10T23:00:00Z", "2026-01-11T05:00:00Z"),
      stage("AsleepDeep", "2026-01-11T05:00:00Z", "2026-01-11T06:00:00Z"),
      stage("AsleepCore", "2026-02-10T23:00:00Z", "2026-02-11T05:00:00Z"),
      stage("AsleepDeep", "2026-02-11T05:00:00Z", "2026-02-11T05:45:00Z"),
    ]
    for statistic in [nil, HealthStatistic.sum] {
      let reply = try Self.reply(
        .sleep, Self.february, Self.january, .total, statistic, of: nights)
      let found = try #require(reply.points.first?.comparison)
      #expect(found.previousSleep?.deep == 60)
      #expect(Self.numbers(found.sleepChange)["deep"] == -15)
      let text = String(decoding: reply.object.bytes, as: UTF8.self)
      #expect(text.contains("\"previous_sleep\":{\"light\":360,\"deep\":60,"))
      #expect(text.contains("\"sleep_change\":{\"light\":0,\"deep\":-15}"))
    }
  }

  @Test func `the stages of sleep in a table of comparisons are whole minutes`() throws {
    let nights = [
      stage("AsleepCore", "2026-01-10T23:00:00Z", "2026-01-11T06:01:20Z"),
      stage("AsleepREM", "2026-01-11T06:01:20Z", "2026-01-11T07:00:00Z"),
      stage("AsleepCore", "2026-02-10T23:00:00Z", "2026-02-11T05:45:00Z"),
      stage("AsleepREM", "2026-02-11T05:45:00Z", "2026-02-11T06:00:00Z"),
    ]
    let options = HealthOptions(
      format: .table,
      compareWith: QuerySpan(start: time(Self.january.0), end: time(Self.january.1)))
    var run = try AnswerRun(
      ask(.sleep, Self.february.0, Self.february.1, .total, options: options), Shelf(nights))
    let text = String(decoding: try run.reply().object.bytes, as: UTF8.self)
    #expect(text.contains("\"previous_sleep_rem\""))
    #expect(text.contains("\"sleep_change_rem\""))
    // REM lasted 58 minutes and 40 seconds, and then 15 minutes.
    #expect(text.contains(",59,"))
    #expect(text.contains(",-44]"))
  }

  @Test func `previous has no texts and units, which are beside it`() throws {
    let samples = ["01-10", "02-10"].map {
      workout(
        "Running", "2026-\($0)T08:00:00Z", "2026-\($0)T08:30:00Z", distance: 5_000, energy: 300)
    }
    let reply = try Self.reply(.workout, Self.february, Self.january, .total, of: samples)
    let text = String(decoding: reply.object.bytes, as: UTF8.self)
    #expect(
      text.contains(
        "\"previous\":{\"total_distance\":5000,\"total_energy_burned\":300,\"session_count\":1,"
          + "\"duration_minutes\":30}"))
  }

  @Test func `a summary with a comparison has the whole spans, unless it has a trend`() throws {
    let samples = Self.walks("2025-11-01", "2026-01-01", 2_400)
    func groupings(trend: Bool) throws -> Set<HealthGrouping?> {
      let options = HealthOptions(
        compareWith: QuerySpan(start: time("2025-11-01"), end: time("2025-12-01")), trend: trend)
      let query = SummaryQuery(
        start: time("2025-12-01"), end: time("2026-01-01"), options: options)
      let object = Shelf(samples).answer(
        .summary(query), limits: AnswerLimits(maxBytes: AnswerLimits.usualBytes))
      let replies = try SummaryReply.read(object.bytes).results.map(\.data)
      #expect(trend || replies.allSatisfy(\.succeeded))
      return Set(
        try replies.filter(\.succeeded).map { try HealthReply.read($0.bytes).query.groupBy })
    }
    #expect(try groupings(trend: false) == [.total])
    #expect(try groupings(trend: true) == [.day])
  }
}
