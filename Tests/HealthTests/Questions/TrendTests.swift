import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of the straight line through the points of an answer.
@Suite struct TrendTests {
  private static func trends(
    _ type: HealthValueType, _ start: String, _ end: String, _ groupBy: HealthGrouping,
    _ statistic: HealthStatistic? = nil, of samples: [HealthSample],
    now: String = "2027-01-01T00:00:00Z"
  ) throws -> HealthReply {
    var run = try AnswerRun(
      ask(type, start, end, groupBy, statistic, options: HealthOptions(trend: true)),
      Shelf(samples), now: now)
    return try run.reply()
  }

  private static func pulses(_ values: [Double?]) -> [HealthSample] {
    values.enumerated().compactMap { index, value in
      let day = index + 5
      return value.map {
        quantity(
          "RestingHeartRate", $0, "count/min",
          "2026-01-\(day < 10 ? "0" : "")\(day)T08:00:00Z")
      }
    }
  }

  @Test func `the slope is the change in a week`() throws {
    let reply = try Self.trends(
      .heartRate, "2026-01-05", "2026-01-20", .day,
      of: Self.pulses((0..<15).map { 60 - Double($0) / 7 }))
    #expect(
      reply.trends == [
        HealthTrend(
          type: "RESTING_HEART_RATE", source: "all", statistic: "average", grouping: .day,
          unit: "beatsPerMinute", perWeek: -1, change: -2, start: time("2026-01-05T00:00:00"),
          end: time("2026-01-20T00:00:00"),
          points: 15)
      ])
    let text = String(decoding: reply.object.bytes, as: UTF8.self)
    #expect(
      text.contains(
        "\"trend\":[{\"type\":\"RESTING_HEART_RATE\",\"source_id\":\"all\",\"statistic\":"
          + "\"average\",\"group_by\":\"day\",\"slope_per_week\":-1,"
          + "\"change_over_span\":-2,\"unit\":\"beatsPerMinute\""))
  }

  @Test func `days without data leave the line where it is`() throws {
    let reply = try Self.trends(
      .heartRate, "2026-01-05", "2026-01-20", .day, of: Self.pulses([60, nil, nil, nil, nil, 65]))
    #expect(reply.trends.map(\.perWeek) == [7])
    #expect(reply.trends.map(\.points) == [2])
  }

  @Test func `one point has no trend, and the answer says so`() throws {
    let reply = try Self.trends(
      .heartRate, "2026-01-05", "2026-01-20", .day, of: Self.pulses([60]))
    #expect(reply.trends == [])
    #expect(reply.notes == ["No trend: it needs at least two whole spans with data."])
    let none = try Self.trends(.heartRate, "2026-01-05", "2026-01-20", .day, of: [])
    #expect(none.notes.count == 1)
  }

  @Test func `sums of spans that are not over do not bend the line`() throws {
    let samples = (5...8).map { day in
      steps(100, "2026-01-0\(day)T08:00:00Z", "2026-01-0\(day)T09:00:00Z")
    }
    let reply = try Self.trends(
      .steps, "2026-01-05", "2026-01-12", .day, of: samples, now: "2026-01-08T08:30:00Z")
    #expect(reply.trends.map(\.points) == [3])
    #expect(reply.trends.map(\.perWeek) == [0])
  }

  @Test func `each number of a workout has its own trend`() throws {
    let samples = [("05", 1_000.0), ("12", 1_500)].map { day, distance in
      workout(
        "Running", "2026-01-\(day)T08:00:00Z", "2026-01-\(day)T08:30:00Z", distance: distance)
    }
    let reply = try Self.trends(.workout, "2026-01-05", "2026-01-19", .week, of: samples)
    #expect(
      reply.trends.map(\.number) == ["total_distance", "session_count", "duration_minutes"])
    #expect(reply.trends.map(\.perWeek) == [500, 0, 0])
    #expect(Set(reply.trends.map(\.workoutType)) == ["RUNNING"])
  }

  @Test func `points that are cut off still count for the trend`() throws {
    var query = ask(
      .heartRate, "2026-01-05", "2026-01-20", .day, options: HealthOptions(trend: true))
    query.maxBytes = 3_000
    let shelf = Shelf(Self.pulses((0..<15).map { 60 + Double($0) / 7 }))
    var run = try AnswerRun(query, shelf, limits: AnswerLimits(maxBytes: 3_000))
    let reply = try run.reply()
    #expect(reply.nextStart != nil)
    #expect(reply.trends.map(\.points) == [15])
    #expect(
      reply.notes == ["trend covers the whole span, also what did not fit. Continue without trend."]
    )
    #expect(reply.object.bytes.count <= 3_000)
  }

  @Test(arguments: [nil, HealthGrouping.total, .weekday, .weekpart, .hourOfDay])
  func `a trend of points that do not follow each other is refused`(groupBy: HealthGrouping?) {
    let query = ask(
      .steps, "2026-01-05", "2026-01-12", groupBy, options: HealthOptions(trend: true))
    #expect(
      Shelf([]).answer(.healthData(query)).reason == OptionRefusal.trendNeedsSeries.description)
  }
}
