import Foundation
import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastSyncServer

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
      /// The hours of a night, and those of its parts.
      var hours, awake, core, deep: Double?
    }
  }

  /// The averages of the days before today, by their number, such as `7d`.
  private struct Periods: Decodable {
    var steps, rhr: [String: Double?]
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

  private static func stage(
    _ start: String, _ end: String, _ name: String, source: String = "Watch"
  ) throws -> SyncRecord {
    SyncRecord(
      recordType: "HKCategoryTypeIdentifierSleepAnalysis", sourceName: source, value: 0,
      valueText: .text(name), start: try time(start), end: try time(end))
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
    let resting = "RestingHeartRate"
    let others = [
      try record(resting, "15T08:00", "15T08:00", 50, "count/min"),
      try record(resting, "16T08:00", "16T08:00", 54, "count/min"),
      try record(resting, "16T09:00", "16T09:00", 55, "count/min"),
      // A night of a watch, and the time in bed of a phone.
      try stage("15T22:30", "16T06:30", "InBed", source: "iPhone"),
      try stage("15T23:00", "16T01:00", "AsleepCore"),
      try stage("16T01:00", "16T02:00", "AsleepDeep"),
      try stage("16T02:00", "16T02:30", "Awake"),
      try stage("16T02:30", "16T06:00", "AsleepCore"),
    ]
    var store = StoredSync()
    _ = store.apply(try SyncSamples.delivery(records + others, workouts: workouts()))
    return store
  }

  private static func workouts() throws -> [SyncWorkout] {
    [
      // One run that two apps recorded, a walk at the same time, and a ride over midnight.
      try workout("15T08:00", "15T09:00", 6),
      try workout("15T08:01", "15T08:59", 5.9, source: "RunLog"),
      try workout("15T08:00", "15T09:00", 2, kind: "Walking"),
      try workout("16T23:30", "17T00:45", 15, kind: "Cycling"),
      try workout("17T18:00", "17T19:00", 4),
    ]
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
    _ type: HealthValueType, _ grouping: HealthGrouping?, _ statistic: HealthStatistic? = nil,
    from first: String = days.from, to end: String = "2026-01-21"
  ) throws -> HealthReply {
    let store = try store()
    let query = HealthDataQuery(
      valueType: type, start: try #require(HealthTime(first)), end: try #require(HealthTime(end)),
      groupBy: grouping, statistic: statistic)
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
    // HEART_RATE has the resting heart rates beside it.
    for point in reply.points where point.type != "RESTING_HEART_RATE" {
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

  @Test func `nights and their parts are the same`() throws {
    let told = try Self.reply(.sleep, .day)
    let (point, daily) = (try #require(told.points.first), try Self.report(.sleep).daily)
    #expect(told.points.count == 1 && daily.map(\.date) == ["2026-01-16"])
    #expect(point.value == .number(390))
    #expect(daily[0].hours == 6.5)
    #expect(point.sleep?.light == daily[0].core.map { $0 * 60 })
    #expect(point.sleep?.deep == daily[0].deep.map { $0 * 60 })
    #expect(point.sleep?.awake == daily[0].awake.map { $0 * 60 })
  }

  @Test func `averages of the days before today are the same`() throws {
    let periods = try Self.report(.periods, as: Periods.self)
    let resting = try #require(HealthValueType(rawValue: "RESTING_HEART_RATE"))
    for (type, found) in [(HealthValueType.steps, periods.steps), (resting, periods.rhr)] {
      let told = try Self.reply(
        type, .total, .average, from: "2026-01-13", to: "2026-01-20"
      ).points
      guard case .number(let number)? = told.first?.value else { throw Refused() }
      #expect(told.count == 1 && number > 0)
      // Reports have six decimal places.
      let average = found["7d"] ?? nil
      #expect(abs((average ?? .nan) - number) < 1e-6, "\(type)")
    }
  }

  @Test func `workouts are the same by day, and one that two apps recorded counts once`() throws {
    let told = Self.numbers(try Self.reply(.workout, .day))
    #expect(told == ["2026-01-15": 2, "2026-01-17": 2])
    #expect(Self.values(try Self.report(.daily, type: HealthSample.workoutType), \.value) == told)
    // Without a grouping, both list each workout once.
    let listed = try Self.report(.workouts, as: Workouts.self).workouts
    let single = try Self.reply(.workout, nil).points
    #expect(listed.count == 4)
    for (one, point) in zip(listed, single) {
      guard case .workout(let totals) = point.value else { throw Refused() }
      #expect(one.type == totals.type && one.distanceMeters == totals.distance)
    }
    #expect(single.count == 4)
  }
}
