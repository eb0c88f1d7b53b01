import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of points that cover all Mondays, weekends or hours of the day, and of years.
@Suite struct RecurringTests {
  private static let plain = HealthOptions()

  private static func points(
    _ valueType: HealthValueType, _ start: String, _ end: String, _ groupBy: HealthGrouping,
    _ statistic: HealthStatistic? = nil, of samples: [HealthSample], zone: ZoneRules = .utc
  ) throws -> [HealthPoint] {
    try Shelf(samples).reply(
      ask(valueType, start, end, groupBy, statistic, options: plain), zone: zone
    ).points
  }

  private static func numbers(_ points: [HealthPoint]) -> [String: Double] {
    var found: [String: Double] = [:]
    for point in points {
      if case .number(let number) = point.value { found[point.part ?? ""] = number }
    }
    return found
  }

  /// A one-hour walk at noon on each day of January 2026. The steps are the day of the month.
  private static let january = (1...31).map { day in
    let date = day < 10 ? "2026-01-0\(day)" : "2026-01-\(day)"
    return steps(Double(day), date + "T12:00:00Z", date + "T13:00:00Z")
  }

  @Test func `the average of steps on a weekday is the mean of its days, and says so`() throws {
    let points = try Self.points(
      .steps, "2026-01-01", "2026-02-01", .weekday, of: Self.january)
    // 2026-01-01 was a Thursday. The Mondays are the 5th, 12th, 19th and 26th.
    #expect(
      Self.numbers(points) == [
        "MONDAY": 15.5, "TUESDAY": 16.5, "WEDNESDAY": 17.5, "THURSDAY": 15, "FRIDAY": 16,
        "SATURDAY": 17, "SUNDAY": 14.5,
      ])
    #expect(
      points.map(\.part) == [
        "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY",
      ])
    #expect(Set(points.map(\.statistic)) == ["average_per_day"])
    #expect(Set(points.map(\.source)) == ["merged"])
    #expect(Set(points.map(\.start)) == [time("2026-01-01T00:00:00")])
    #expect(Set(points.map(\.end)) == [time("2026-02-01T00:00:00")])
  }

  @Test func `days without data take no part in the average of their weekday`() throws {
    let some = Self.january.filter { $0.start != at("2026-01-05T12:00:00Z") }
    let points = try Self.points(.steps, "2026-01-01", "2026-02-01", .weekday, of: some)
    #expect(Self.numbers(points)["MONDAY"] == 19)
    let few = try Self.points(
      .steps, "2026-01-01", "2026-02-01", .weekday, of: Array(Self.january.prefix(2)))
    #expect(few.map(\.part) == ["THURSDAY", "FRIDAY"])
  }

  @Test(arguments: [
    (HealthStatistic.sum, 62.0, "sum"), (.min, 5, "min_per_day"), (.max, 26, "max_per_day"),
    (.count, 4, "count"), (.latest, 26, "latest"),
  ])
  func `each statistic of a weekday is that of its days`(
    statistic: HealthStatistic, value: Double, label: String
  ) throws {
    let points = try Self.points(
      .steps, "2026-01-01", "2026-02-01", .weekday, statistic, of: Self.january)
    #expect(Self.numbers(points)["MONDAY"] == value)
    #expect(points.first?.statistic == label)
  }

  @Test func `a week has two parts`() throws {
    let points = try Self.points(.steps, "2026-01-05", "2026-01-12", .weekpart, of: Self.january)
    #expect(Self.numbers(points) == ["WEEKDAYS": 7, "WEEKEND": 10.5])
  }

  @Test func `the hours of the day add up to the average day`() throws {
    let samples = [
      steps(120, "2026-01-05T07:30:00Z", "2026-01-05T08:30:00Z"),
      steps(40, "2026-01-06T08:00:00Z", "2026-01-06T08:30:00Z"),
    ]
    let hours = try Self.points(.steps, "2026-01-05", "2026-01-12", .hourOfDay, of: samples)
    #expect(Self.numbers(hours) == ["07": 30, "08": 50])
    #expect(Set(hours.map(\.statistic)) == ["average_per_day"])
    let whole = try Self.points(.steps, "2026-01-05", "2026-01-12", .total, .average, of: samples)
    #expect(Self.numbers(whole) == ["": 80])
  }

  @Test func `readings at an hour of the day are averaged over all days`() throws {
    let samples = [
      quantity("BloodGlucose", 90, "mg/dL", "2026-01-05T07:10:00Z"),
      quantity("BloodGlucose", 110, "mg/dL", "2026-01-06T07:50:00Z"),
      quantity("BloodGlucose", 150, "mg/dL", "2026-01-06T12:00:00Z"),
    ]
    let average = try Self.points(.glucose, "2026-01-05", "2026-01-12", .hourOfDay, of: samples)
    #expect(Self.numbers(average) == ["07": 100, "12": 150])
    let most = try Self.points(.glucose, "2026-01-05", "2026-01-12", .hourOfDay, .max, of: samples)
    #expect(Self.numbers(most) == ["07": 110, "12": 150])
  }

  @Test func `hours that clocks skip or show twice belong to what clocks show`() throws {
    let spring = [steps(60, "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z")]
    // In Berlin clocks go from 02:00 to 03:00 at 01:00 UTC.
    let skipped = try Self.points(
      .steps, "2026-03-29", "2026-03-30", .hourOfDay, .sum, of: spring, zone: Zones.berlin)
    #expect(Self.numbers(skipped) == ["01": 30, "03": 30])
    let autumn = [steps(60, "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z")]
    let twice = try Self.points(
      .steps, "2026-10-25", "2026-10-26", .hourOfDay, .sum, of: autumn, zone: Zones.berlin)
    #expect(Self.numbers(twice) == ["02": 60])
  }

  @Test func `a night belongs to the weekday on which it ends`() throws {
    let nights = [
      // A Sunday evening, and a Friday evening.
      stage("AsleepCore", "2026-01-04T22:00:00Z", "2026-01-05T05:00:00Z"),
      stage("AsleepCore", "2026-01-11T22:00:00Z", "2026-01-12T06:00:00Z"),
      stage("AsleepCore", "2026-01-09T23:00:00Z", "2026-01-10T08:00:00Z"),
    ]
    let days = try Self.points(.sleep, "2026-01-05", "2026-01-19", .weekday, of: nights)
    #expect(Self.numbers(days) == ["MONDAY": 450, "SATURDAY": 540])
    #expect(days.first?.statistic == "average_per_night")
    #expect(days.first?.sleep?.nights == 2)
    let parts = try Self.points(.sleep, "2026-01-05", "2026-01-19", .weekpart, of: nights)
    #expect(Self.numbers(parts) == ["WEEKDAYS": 450, "WEEKEND": 540])
  }

  @Test func `what has no hours of the day is refused with what to ask instead`() {
    func reason(_ type: HealthValueType, _ statistic: HealthStatistic?) -> String? {
      Shelf([]).answer(
        .healthData(ask(type, "2026-01-05", "2026-01-12", .hourOfDay, statistic))
      ).reason
    }
    #expect(reason(.sleep, nil)?.contains("group_by WEEKDAY, WEEKPART or DAY") == true)
    #expect(reason(.sleep, .sum)?.contains("group_by WEEKDAY, WEEKPART or DAY") == true)
    #expect(
      reason(.steps, .max)
        == "MIN and MAX of STEPS compare days, so they have no hours of the day; "
        + "with HOUR_OF_DAY ask for AVERAGE, SUM, COUNT or LATEST")
    #expect(reason(.steps, .average) == nil)
    #expect(reason(.heartRate, .max) == nil)
  }

  @Test func `parts that do not fit are refused, because they cannot be cut`() {
    let samples = (0..<24).map { hour in
      let clock = hour < 10 ? "0\(hour)" : "\(hour)"
      return quantity("HeartRate", 60, "count/min", "2026-01-05T\(clock):00:00Z")
    }
    func answer(_ maxBytes: Int) -> HealthObject {
      Shelf(samples).answer(
        .healthData(ask(.heartRate, "2026-01-05", "2026-01-06", .hourOfDay, options: Self.plain)),
        limits: AnswerLimits(maxBytes: maxBytes))
    }
    let whole = answer(32_768)
    let points = (try? HealthReply.read(whole.bytes).points) ?? []
    let room = points.reduce(HealthAnswer.around) { $0 + $1.length + 1 }
    #expect(points.count == 24)
    #expect(answer(room).succeeded)
    #expect(answer(room - 1).reason == AnswerRefusal.tooLong.description)
  }

  @Test func `years begin on January 1, also leap years`() throws {
    let samples = [
      steps(1, "2023-12-31T23:00:00Z", "2023-12-31T23:30:00Z"),
      steps(2, "2024-01-01T00:00:00Z", "2024-01-01T00:30:00Z"),
      steps(4, "2024-12-31T23:00:00Z", "2025-01-01T01:00:00Z"),
    ]
    let years = try Self.points(.steps, "2023-01-01", "2026-01-01", .year, of: samples)
    #expect(years.map(\.value) == [.number(1), .number(4), .number(2)])
    #expect(
      years.map(\.start)
        == ["2023-01-01T00:00:00", "2024-01-01T00:00:00", "2025-01-01T00:00:00"].map(time))
    #expect(years.map(\.isPartial) == [false, false, false])
    let average = try Self.points(.steps, "2024-01-01", "2025-01-01", .year, .average, of: samples)
    #expect(average.map(\.value) == [.number(2)])
  }

  @Test(arguments: [-719_162, -1, 0, 58, 59, 364, 365, 10_956, 11_016, 19_782, 20_453])
  func `every day of a year has the same span of 365 or 366 days`(day: Int) {
    let calendar = CalendarBuckets(zone: .utc, grouping: .year)
    let nanoseconds = Int64(max(day, -100_000)) * 86_400_000_000_000
    let bucket = calendar.bucket(at: Timestamp(nanoseconds: nanoseconds))
    #expect(bucket.members.contains(Timestamp(nanoseconds: nanoseconds)))
    let days = bucket.start.distance(to: bucket.end) / 86_400e9
    #expect(days == 365 || days == 366)
    #expect(calendar.bucket(at: bucket.start) == bucket)
    #expect(calendar.bucket(at: bucket.end.advanced(by: .nanoseconds(-1))) == bucket)
    #expect(calendar.bucket(at: bucket.end).start == bucket.end)
  }
}
