import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import HoldfastSyncData
import HoldfastTestKit
import Testing

@testable import HoldfastSyncServer

/// Tests for answers about synced samples, computed from an in-memory store.
@Suite struct SyncReportTests {
  /// UTC+1, so that a day begins at 23:00 UTC.
  private static let zone = ZoneRules(initialSecondsEast: 3_600, name: "Test/East")
  /// 2026-01-20T12:00:00 in that zone.
  private static let now = Timestamp(nanoseconds: 1_768_906_800_000_000_000)

  private static func time(_ text: String) throws -> SyncTime {
    let found = try #require(HealthTime(text))
    return SyncTime(zone.instant(of: found))
  }

  private static func record(
    _ type: String, _ start: String, _ end: String? = nil, value: Double?, unit: String?,
    source: String = "Watch", text: SyncText = .absent
  ) throws -> SyncRecord {
    SyncRecord(
      recordType: "HK\(type)", sourceName: source, value: value, valueText: text, unit: unit,
      start: try time("2026-01-\(start)"), end: try time("2026-01-\(end ?? start)"))
  }

  private static func steps(
    _ start: String, _ end: String, _ value: Double, source: String = "Watch"
  ) throws -> SyncRecord {
    try record(
      "QuantityTypeIdentifierStepCount", start, end, value: value, unit: "count", source: source)
  }

  private static func report(
    _ path: SyncPath, from: String? = nil, to: String? = nil, type: String? = nil,
    records: [SyncRecord] = [], workouts: [SyncWorkout] = [], lastSync: Timestamp? = nil
  ) throws -> String {
    var store = StoredSync()
    _ = store.apply(try SyncSamples.delivery(records, workouts: workouts))
    var span = try #require(SyncSpan(from: from, to: to))
    (span.type, span.unfinished) = (type, 3)
    var report = SyncReport(
      path, span, zone: zone, now: now, stored: store.summary(of: "ann"), lastSync: lastSync)
    while var query = report.wanted {
      query.limit = 2
      report.take(store.samples(query, of: "ann"))
    }
    switch report.outcome {
    case .reported(let bytes): return String(decoding: bytes, as: UTF8.self)
    case .refused(let reason): return reason
    case .stored, .stamped, .checked, .tooLong, .failed, .written, .unfinished: return ""
    }
  }

  @Test func `daily steps are split at the user's midnight, and overlapping sources count once`()
    throws
  {
    let records = [
      try Self.steps("18T23:00", "18T23:30", 100),
      try Self.steps("19T08:00", "19T09:00", 600),
      try Self.steps("19T08:30", "19T09:30", 400, source: "Phone"),
      try Self.steps("20T08:00", "20T09:00", 50),
      try Self.record(
        "QuantityTypeIdentifierActiveEnergyBurned", "19T08:00", "19T09:00", value: 418.4,
        unit: "kJ"),
    ]
    let told = try Self.report(.steps, from: "2026-01-18", to: "2026-01-20", records: records)
    #expect(
      told
        == #"{"daily":[{"date":"2026-01-18","steps":100},{"date":"2026-01-19","steps":800},"#
        + #"{"date":"2026-01-20","steps":50}],"#
        + #""energy":[{"date":"2026-01-19","calories":100}],"today":50,"timeZone":"Test/East"}"#)
  }

  @Test func `1,200 days with 60 sources each fit into one answer`() throws {
    let (type, days, sources) = ("HKQuantityTypeIdentifierStepCount", 1_200, 60)
    let last = SyncDay(Self.zone.local(at: Self.now)).moved(by: -1)
    let first = last.moved(by: 1 - days)
    let midnight = Self.zone.instant(of: first.midnight)
    // The sources add 100 steps each, one after the other, which makes 6,000 per day.
    let samples = (0..<days * sources).map { number -> HealthSample in
      let seconds = 86_400 * (number / sources) + 600 * (number % sources)
      let start = midnight.advanced(by: .seconds(seconds))
      return HealthSample(
        type: type, value: .quantity(100), unit: "count", start: start,
        end: start.advanced(by: .seconds(60)), source: "App \(number % sources)")
    }
    let span = try #require(SyncSpan(from: first.text, to: last.text))
    var report = SyncReport(.steps, span, zone: Self.zone, now: Self.now, stored: [])
    while let query = report.wanted {
      let found = samples.filter { query.covers(start: $0.start, end: $0.end) }
      report.take(HealthSamplePage(samples: query.types == [type] ? found : []))
    }
    guard case .reported(let bytes) = report.outcome else {
      Issue.record("refused")
      return
    }
    let told = String(decoding: bytes, as: UTF8.self)
    #expect(told.ranges(of: #""steps":6000}"#).count == days)
    #expect(told.contains(#"{"date":"\#(last.text)","steps":6000}]"#))
  }

  @Test func `an average too large for a number is null`() throws {
    let records = try ["18T08:00", "18T09:00"].map {
      try Self.record(
        "QuantityTypeIdentifierHeartRate", $0, value: 1.7e308, unit: "count/min")
    }
    let told = try Self.report(.heartRate, from: "2026-01-18", to: "2026-01-18", records: records)
    let daily = #""daily":[{"date":"2026-01-18","avg":null,"min":1.7e+308,"max":1.7e+308}]"#
    #expect(told.contains(daily))
  }

  @Test(arguments: [
    (999_999_999.123_456_7, "999999999.123457"), (1_000_000_000.123_456_7, "1000000000.1234567"),
  ])
  func `values below a billion are rounded to millionths`(value: Double, text: String) throws {
    let record = try Self.record(
      "QuantityTypeIdentifierHeartRate", "18T08:00", value: value, unit: "count/min")
    let told = try Self.report(.heartRate, from: "2026-01-18", to: "2026-01-18", records: [record])
    let figures = #""avg":\#(text),"min":\#(text),"max":\#(text)"#
    #expect(told.contains(#""daily":[{"date":"2026-01-18",\#(figures)}]"#))
  }

  @Test func `steps that add up to more than a number can hold are refused for that`() throws {
    let records = [
      try Self.steps("18T08:00", "18T09:00", 1.7e308),
      try Self.steps("18T09:00", "18T10:00", 1.7e308),
    ]
    let told = try Self.report(.steps, from: "2026-01-18", to: "2026-01-18", records: records)
    #expect(told.hasPrefix("the samples add up to more than a number can hold"))
  }

  @Test func `periods read the 365 days before today`() throws {
    let span = try #require(SyncSpan(from: nil, to: nil))
    let report = SyncReport(.periods, span, zone: Self.zone, now: Self.now, stored: [])
    let queries: [HealthSampleQuery] = report.parts.compactMap { part in
      if case .readings(let readings) = part { readings.wanted } else { nil }
    }
    let midnight = Self.now.advanced(by: .seconds(-12 * 3_600))
    let first = midnight.advanced(by: .seconds(-365 * 86_400))
    let types = [SyncType.variability, SyncType.resting, SyncType.oxygenUptake]
    let wanted = types.map { HealthSampleQuery(types: [$0], from: first, to: midnight) }
    #expect(queries == wanted)
  }

  @Test func `a type has values by day`() throws {
    let steps = "HKQuantityTypeIdentifierStepCount"
    let records = [
      try Self.steps("18T08:00", "18T09:00", 600), try Self.steps("19T08:00", "19T09:00", 0),
      try Self.record("QuantityTypeIdentifierBodyMass", "18T08:00", value: 80, unit: "kg"),
      try Self.record("QuantityTypeIdentifierBodyMass", "18T09:00", value: 81, unit: "kg"),
    ]
    #expect(
      try Self.report(.daily, from: "2026-01-01", type: steps, records: records)
        == #"{"type":"\#(steps)","style":"sum","unit":"count","daily":["#
        + #"{"date":"2026-01-18","value":600},{"date":"2026-01-19","value":0}],"#
        + #""timeZone":"Test/East"}"#)
    let mass = "HKQuantityTypeIdentifierBodyMass"
    #expect(
      try Self.report(.daily, from: "2026-01-01", type: mass, records: records)
        == #"{"type":"\#(mass)","style":"reading","unit":"kg","daily":["#
        + #"{"date":"2026-01-18","value":80.5,"min":80,"max":81}],"timeZone":"Test/East"}"#)
  }

  @Test func `a summary names the newest sample of each type in the user's time`() throws {
    let records = [
      try Self.steps("18T08:00", "18T09:00", 600), try Self.steps("19T23:30", "19T23:40", 1),
      try Self.record("QuantityTypeIdentifierVO2Max", "05T08:00", value: 40, unit: nil),
    ]
    let told = try Self.report(.summary, records: records, lastSync: Self.now)
    #expect(
      told
        == #"{"types":[{"type":"HKQuantityTypeIdentifierStepCount","word":"STEPS","style":"sum","#
        + #""unit":"count","#
        + #""count":2,"first":"2026-01-18T08:00:00+01:00","newest":"2026-01-19T23:30:00+01:00"},"#
        + #"{"type":"HKQuantityTypeIdentifierVO2Max","word":"VO2_MAX","style":"reading","#
        + #""unit":"mL/min·kg","count":1,"#
        + #""first":"2026-01-05T08:00:00+01:00","newest":"2026-01-05T08:00:00+01:00"}],"#
        + #""newest":"2026-01-19T23:30:00+01:00","lastSync":"2026-01-20T12:00:00+01:00","#
        + #""unfinishedUploads":3,"now":"2026-01-20T12:00:00+01:00","timeZone":"Test/East"}"#)
  }

  @Test func `the list of types is that of assistants`() throws {
    let told = try Self.report(
      .types, records: [try Self.steps("18T08:00", "18T09:00", 600)], lastSync: Self.now)
    #expect(
      told.hasPrefix(
        #"{"success":true,"count":1,"types":[{"value_type":"STEPS","what":"steps of walking "#
          + #"and running","unit":"count","count":1,"first":"2026-01-18T08:00:00","#
          + #""last":"2026-01-18T08:00:00","sources":["#))
    #expect(told.contains(#""time_zone":"Test/East","#))
  }

  @Test func `without samples there are no days`() throws {
    #expect(
      try Self.report(.summary)
        == #"{"types":[],"newest":null,"lastSync":null,"unfinishedUploads":3,"#
        + #""now":"2026-01-20T12:00:00+01:00","timeZone":"Test/East"}"#)
    #expect(
      try Self.report(.steps) == #"{"daily":[],"energy":[],"today":0,"timeZone":"Test/East"}"#)
    #expect(
      try Self.report(.heartRate)
        == #"{"latest":null,"latestAt":null,"avg_7d":null,"daily":[],"timeZone":"Test/East"}"#)
    #expect(
      try Self.report(.sleep)
        == #"{"daily":[],"lastNight":null,"lastNightDate":null,"timeZone":"Test/East"}"#)
    #expect(try Self.report(.workouts) == #"{"workouts":[],"timeZone":"Test/East"}"#)
  }

  @Test func `heart rates of all sources are included, duplicates once`() throws {
    func beat(_ start: String, _ value: Double, _ source: String = "Watch") throws -> SyncRecord {
      try Self.record(
        "QuantityTypeIdentifierHeartRate", start, value: value, unit: "count/min", source: source)
    }
    let records = [
      try beat("10T08:00", 200), try beat("19T08:00", 60), try beat("19T08:00", 60, "Copy"),
      try beat("19T23:30", 90), try beat("20T08:00", 75),
    ]
    #expect(
      try Self.report(.heartRate, from: "2026-01-19", records: records)
        == #"{"latest":75,"latestAt":"2026-01-20T07:00:00Z","avg_7d":75,"daily":["#
        + #"{"date":"2026-01-19","avg":75,"min":60,"max":90},"#
        + #"{"date":"2026-01-20","avg":75,"min":75,"max":75}],"timeZone":"Test/East"}"#)
  }

  /// The current time in the zone is noon on the 20th.
  @Test func `a heart rate in the future is not the latest one`() throws {
    let records = try [("18T08:00", 60.0), ("20T08:00", 75), ("28T08:00", 200)].map {
      try Self.record("QuantityTypeIdentifierHeartRate", $0, value: $1, unit: "count/min")
    }
    let told = try Self.report(.heartRate, from: "2026-01-19", records: records)
    #expect(told.hasPrefix(#"{"latest":75,"latestAt":"2026-01-20T07:00:00Z","#))
  }

  @Test func `a night belongs to the day on which it ends`() throws {
    func stage(_ start: String, _ end: String, _ name: String) throws -> SyncRecord {
      try Self.record(
        "CategoryTypeIdentifierSleepAnalysis", start, end, value: 3, unit: nil,
        text: .text(name))
    }
    let told = try Self.report(
      .sleep,
      records: [
        try stage("18T23:00", "19T01:00", "AsleepCore"),
        try stage("19T01:00", "19T02:00", "AsleepDeep"),
        try stage("19T02:00", "19T02:30", "Awake"), try stage("19T02:30", "19T05:00", "AsleepREM"),
      ])
    #expect(
      told
        == #"{"daily":[{"date":"2026-01-19","hours":5.5,"inBed":null,"awake":0.5,"core":2,"#
        + #""deep":1,"rem":2.5}],"lastNight":5.5,"lastNightDate":"2026-01-19","#
        + #""timeZone":"Test/East"}"#)
  }

  @Test func `workouts are reported in meters and kilocalories`() throws {
    let workout = SyncWorkout(
      workoutType: "HKWorkoutActivityTypeRunning", sourceName: "Watch",
      start: try Self.time("2026-01-19T08:00"), end: try Self.time("2026-01-19T08:30"),
      durationSeconds: 1_800, totalDistance: 2, totalEnergyBurned: 300)
    #expect(
      try Self.report(.workouts, workouts: [workout])
        == #"{"workouts":[{"type":"RUNNING","start":"2026-01-19T08:00:00","#
        + #""end":"2026-01-19T08:30:00","distanceMeters":3218.688,"energyKcal":300,"#
        + #""source":"Watch"}],"timeZone":"Test/East"}"#)
  }

  @Test func `workouts beyond the byte limit are omitted, and the answer gives the next start`()
    throws
  {
    // Seven workouts with names of 1 MiB fit into 8 MiB, but eight do not.
    let name = String(repeating: "x", count: 1 << 20)
    let workouts = try (0..<8).map { number in
      let start = try Self.time("2026-01-19T08:0\(number)")
      return SyncWorkout(
        workoutType: "HKWorkoutActivityTypeRunning", sourceName: "\(number)\(name)", start: start,
        end: start, durationSeconds: 0)
    }
    let end = #""}],"nextStart":"2026-01-19T08:07:00","timeZone":"Test/East"}"#
    let told = try Self.report(.workouts, workouts: workouts)
    #expect(String(told.suffix(end.count)) == end)
  }

  @Test func `periods are averages of the days with data before today`() throws {
    let oxygen = "mL/min\u{B7}kg"
    let records = [
      try Self.steps("05T08:00", "05T09:00", 1_000), try Self.steps("19T08:00", "19T09:00", 3_000),
      try Self.steps("20T08:00", "20T09:00", 9_000),
      try Self.record(
        "QuantityTypeIdentifierVO2Max", "05T08:00", value: 40, unit: oxygen),
      try Self.record(
        "QuantityTypeIdentifierVO2Max", "19T08:00", value: 42, unit: oxygen),
      try Self.record(
        "QuantityTypeIdentifierVO2Max", "19T09:00", value: 44, unit: oxygen),
    ]
    let none = #"{"7d":null,"30d":null,"90d":null,"365d":null}"#
    #expect(
      try Self.report(.periods, records: records)
        == #"{"steps":{"7d":3000,"30d":2000,"90d":2000,"365d":2000},"energy":\#(none),"#
        + #""hrv":\#(none),"rhr":\#(none),"#
        + #""vo2max":{"7d":43,"30d":42,"90d":42,"365d":42},"timeZone":"Test/East"}"#)
  }

  @Test(arguments: [
    ("2016-01-21", "2026-01-20", true), ("2016-01-20", "2026-01-20", false),
    ("2026-01-20", "2026-01-19", false),
    ("2026-01-20", "2026-01-20", true), ("2026-01-21", "2026-01-22", false),
  ])
  func `an answer covers at most 3,653 days and begins no later than today`(
    from: String, to: String, isAnswered: Bool
  ) throws {
    #expect(try Self.report(.steps, from: from, to: to).hasPrefix("{") == isAnswered)
  }
}
