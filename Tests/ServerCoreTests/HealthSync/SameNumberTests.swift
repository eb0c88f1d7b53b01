import Foundation
import HoldfastCore
import HoldfastHealth
import HoldfastStorage
import HoldfastTestKit
import HoldfastWire
import Testing

@testable import HoldfastServerCore

/// Tests that the same question about the same samples has the same number, whoever asks: an
/// assistant, a client of `/api/health`, and the dashboard.
@Suite struct SameNumberTests {
  /// UTC+1, so that a day begins at 23:00 UTC.
  private static let zone = ZoneRules(initialSecondsEast: 3_600, name: "Test/East")
  /// 2026-01-20T12:00:00 in that zone.
  private static let now = Timestamp(nanoseconds: 1_768_906_800_000_000_000)
  private static let days = (from: "2026-01-14", to: "2026-01-20")

  private typealias Values = [String: [Double]]

  private struct Daily: Decodable {
    var daily: [Day]

    struct Day: Decodable {
      var date: String
      var value, min, max: Double?
      var steps, avg: Double?
    }
  }

  private struct Workouts: Decodable {
    var workouts: [Workout]

    struct Workout: Decodable {
      var type: String
      var distanceMeters: Double?
    }
  }

  private static func time(_ text: String) throws -> SyncTime {
    SyncTime(zone.instant(of: try #require(HealthTime("2026-01-\(text)"))))
  }

  private static func record(
    _ type: String, _ start: String, _ end: String, _ value: Double, _ unit: String,
    source: String = "Watch"
  ) throws -> SyncRecord {
    SyncRecord(
      recordType: "HKQuantityTypeIdentifier\(type)", sourceName: source, value: value, unit: unit,
      start: try time(start), end: try time(end))
  }

  private static func workout(
    _ start: String, _ end: String, _ miles: Double, source: String = "Watch",
    kind: String = "Running"
  ) throws -> SyncWorkout {
    SyncWorkout(
      workoutType: "HKWorkoutActivityType\(kind)", sourceName: source, start: try time(start),
      end: try time(end), durationSeconds: 60, totalDistance: miles)
  }

  private static func store() throws -> StoredSync {
    let (steps, beats) = ("StepCount", "HeartRate")
    let records = [
      // A phone and a watch that overlap, and a walk over midnight.
      try record(steps, "15T08:00", "15T09:00", 600, "count"),
      try record(steps, "15T08:30", "15T09:30", 400, "count", source: "iPhone"),
      try record(steps, "16T23:30", "17T00:30", 1_000, "count"),
      try record(steps, "20T11:00", "20T11:30", 70, "count"),
      // A run measured each minute between readings at rest, and a copy of a reading.
      try record(beats, "15T08:00", "15T08:00", 60, "count/min"),
      try record(beats, "15T08:01", "15T08:01", 150, "count/min"),
      try record(beats, "15T08:02", "15T08:02", 160, "count/min"),
      try record(beats, "15T08:02", "15T08:02", 160, "count/min", source: "Copy"),
      try record(beats, "15T12:00", "15T12:00", 55, "count/min"),
      try record(beats, "16T23:59", "16T23:59", 58, "count/min"),
      try record(beats, "20T11:58", "20T11:58", 90, "count/min"),
    ]
    let workouts = [
      // One run that two apps recorded, a walk at the same time, and a ride over midnight.
      try workout("15T08:00", "15T09:00", 6),
      try workout("15T08:01", "15T08:59", 5.9, source: "RunLog"),
      try workout("15T08:00", "15T09:00", 2, kind: "Walking"),
      try workout("16T23:30", "17T00:45", 15, kind: "Cycling"),
      try workout("17T18:00", "17T19:00", 4),
    ]
    var store = StoredSync()
    _ = store.apply(try SyncSamples.delivery(records, workouts: workouts))
    return store
  }

  /// Returns what `/api/health` answers. The dashboard reads the path `daily`.
  private static func report<Answer: Decodable>(
    _ path: SyncPath, type: String? = nil, as answer: Answer.Type = Daily.self
  ) throws -> Answer {
    let store = try store()
    var span = try #require(SyncSpan(from: days.from, to: days.to))
    span.type = type
    var report = SyncReport(
      path, span, zone: zone, now: now, stored: store.summary(of: "ann"), lastSync: nil)
    while let query = report.wanted { report.take(store.samples(query, of: "ann")) }
    guard case .reported(let bytes) = report.outcome else { throw Refused() }
    return try JSONDecoder().decode(Answer.self, from: Data(bytes))
  }

  private struct Refused: Error {}

  /// Returns what an assistant's question is answered with, by the code of relay and program.
  private static func reply(
    _ type: HealthValueType, _ grouping: HealthGrouping?, _ statistic: HealthStatistic? = nil
  ) throws -> HealthReply {
    let store = try store()
    let query = HealthDataQuery(
      valueType: type, start: try #require(HealthTime(days.from)),
      end: try #require(HealthTime("2026-01-21")), groupBy: grouping,
      statistic: statistic)
    var answering = HealthAnswering(
      .healthData(query), zone: zone, now: now, limits: .exact, stored: StoredHealth())
    while case .read(let query) = answering.step {
      answering.take(store.samples(query, of: "ann"))
    }
    guard case .done(let object) = answering.step else { throw Refused() }
    return try HealthReply.read(object.bytes)
  }

  /// Returns the numbers of an answer by day. Kinds of workouts are added.
  private static func numbers(_ reply: HealthReply) -> [String: Double] {
    var found: [String: Double] = [:]
    for point in reply.points {
      let number: Double =
        switch point.value {
        case .number(let number): number
        case .workout(let totals): Double(totals.sessions)
        case .nutrition, .text: .nan
        }
      found[String(point.start.description.prefix(10)), default: 0] += number
    }
    return found
  }

  private static func values(
    _ daily: Daily, _ value: (Daily.Day) -> Double?
  ) -> [String: Double] {
    Dictionary(
      uniqueKeysWithValues: daily.daily.compactMap { day in value(day).map { (day.date, $0) } })
  }

  @Test func `steps are the same by day`() throws {
    let told = Self.numbers(try Self.reply(.steps, .day))
    #expect(told["2026-01-15"] == 800 && told["2026-01-17"] == 500)
    #expect(Self.values(try Self.report(.steps), \.steps) == told)
    let daily = try Self.report(.daily, type: "HKQuantityTypeIdentifierStepCount")
    #expect(Self.values(daily, \.value) == told)
  }

  @Test func `averages and extremes of heart rates are the same by day`() throws {
    let type = "HKQuantityTypeIdentifierHeartRate"
    let (daily, route) = (try Self.report(.daily, type: type), try Self.report(.heartRate))
    let average = Self.numbers(try Self.reply(.heartRate, .day, .average))
    #expect(average.count == 3)
    for values in [Self.values(daily, \.value), Self.values(route, \.avg)] {
      #expect(values.keys.sorted() == average.keys.sorted())
      // Reports have six decimal places.
      for (day, value) in values { #expect(abs(value - (average[day] ?? .nan)) < 1e-6, "\(day)") }
    }
    let least = Self.numbers(try Self.reply(.heartRate, .day, .min))
    let greatest = Self.numbers(try Self.reply(.heartRate, .day, .max))
    #expect(least["2026-01-15"] == 55 && greatest["2026-01-15"] == 160)
    #expect(Self.values(daily, \.min) == least && Self.values(daily, \.max) == greatest)
    #expect(Self.values(route, \.min) == least && Self.values(route, \.max) == greatest)
  }

  @Test func `workouts are the same by day, and one that two apps recorded counts once`() throws {
    let told = Self.numbers(try Self.reply(.workout, .day))
    #expect(told == ["2026-01-15": 2, "2026-01-17": 2])
    #expect(Self.values(try Self.report(.daily, type: HealthSample.workoutType), \.value) == told)
    // Without a grouping, both list each workout of each app.
    let listed = try Self.report(.workouts, as: Workouts.self).workouts
    let single = try Self.reply(.workout, nil).points
    #expect(listed.count == 5)
    for (one, point) in zip(listed, single) {
      guard case .workout(let totals) = point.value else { throw Refused() }
      #expect(one.type == totals.type && one.distanceMeters == totals.distance)
    }
    #expect(single.count == 5)
  }
}
