import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of the last value before a time, however old it is.
@Suite struct NearestTests {
  private static let options = HealthOptions(nearest: true)

  private static func points(
    _ type: HealthValueType, _ start: String, _ end: String, of samples: [HealthSample],
    zone: ZoneRules = .utc
  ) throws -> [HealthPoint] {
    try Shelf(samples).reply(ask(type, start, end, options: options), zone: zone).points
  }

  private static func weight(_ value: Double, _ start: String) -> HealthSample {
    quantity("BodyMass", value, "kg", start, source: "Scale")
  }

  @Test(arguments: [
    "2026-03-03T07:00:00Z", "2026-03-02T23:59:59Z", "2026-02-01T07:00:00Z",
    "2025-01-01T07:00:00Z", "1999-12-31T07:00:00Z", "1900-01-01T00:00:00Z",
  ])
  func `the last weight before the end is found, however old it is`(start: String) throws {
    let samples = [
      Self.weight(80, start), Self.weight(90, "2026-03-04T00:00:00Z"),
      Self.weight(91, "2026-08-01T00:00:00Z"),
    ]
    let found = try Self.points(.bodyMetrics, "2026-03-03", "2026-03-04", of: samples)
    #expect(found.map(\.value) == [.number(80)])
    #expect(found.map(\.start) == [.local(CivilTime(nanoseconds: at(start).nanoseconds))])
    #expect(found.map(\.statistic) == ["latest"])
    #expect(found.map(\.source) == ["all"])
  }

  @Test func `the newest of several is found, and each type has its own time`() throws {
    let samples = [
      Self.weight(80, "2025-11-01T07:00:00Z"), Self.weight(81, "2025-12-01T07:00:00Z"),
      quantity("BodyFatPercentage", 0.2, "%", "2020-12-01T07:00:00Z"),
    ]
    let found = try Self.points(.bodyMetrics, "2026-03-03", "2026-03-04", of: samples)
    #expect(found.map(\.type) == ["WEIGHT", "BODY_FAT_PERCENTAGE"])
    #expect(found.map(\.value) == [.number(81), .number(20)])
  }

  @Test func `a kind of workout is found before the start, and only a missing one has a note`()
    throws
  {
    let run = HealthSample(
      type: HealthSample.workoutType,
      value: .workout(WorkoutValue(activity: "HKWorkoutActivityTypeRunning", distance: 5_000)),
      start: at("2019-06-01T08:00:00Z"), end: at("2019-06-01T09:00:00Z"), source: "Watch")
    func reply(_ kind: String) throws -> HealthReply {
      let options = HealthOptions(nearest: true, workoutType: kind)
      return try Shelf([run]).reply(ask(.workout, "2020-01-31", "2020-02-01", options: options))
    }
    let found = try reply("running")
    #expect(found.points.count == 1)
    #expect(found.notes == [])
    #expect(
      try reply("swimming").notes
        == ["No workout of kind SWIMMING before end_time; recorded kinds are RUNNING."])
  }

  @Test func `an instant can be asked for, and no value ends the search`() throws {
    let noon = "2026-03-03T12:00:00"
    let samples = [Self.weight(80, "2026-03-03T11:59:59Z")]
    #expect(try Self.points(.bodyMetrics, noon, noon, of: samples).map(\.value) == [.number(80)])
    #expect(try Self.points(.bodyMetrics, noon, noon, of: []) == [])
    var reads = 0
    var job = try AnswerJob(
      ask(.steps, noon, noon, options: Self.options), zone: .utc,
      now: at("2027-01-01T00:00:00Z"), limits: AnswerLimits(), stored: StoredHealth())
    while job.wanted != nil {
      job.take(HealthSamplePage(samples: []))
      reads += 1
    }
    #expect(reads == 12)
  }

  @Test func `the last night is found`() throws {
    let nights = [
      stage("AsleepCore", "2026-01-04T22:00:00Z", "2026-01-05T05:00:00Z"),
      stage("AsleepCore", "2026-01-05T22:00:00Z", "2026-01-06T04:00:00Z"),
    ]
    let found = try Self.points(.sleep, "2026-03-03", "2026-03-04", of: nights)
    #expect(found.map(\.value) == [.number(360)])
    #expect(found.map(\.start) == [time("2026-01-05T22:00:00")])
  }

  private static let refused: [(HealthDataQuery, OptionRefusal)] = [
    (ask(.steps, "2026-01-05", "2026-01-06", .day, options: options), .nearestIsLatest),
    (ask(.steps, "2026-01-05", "2026-01-06", nil, .sum, options: options), .nearestIsLatest),
    (
      ask(
        .steps, "2026-01-05", "2026-01-06",
        options: HealthOptions(trend: true, nearest: true)), .nearestAlone
    ),
  ]

  @Test(arguments: refused)
  func `other statistics and options are refused`(query: HealthDataQuery, refusal: OptionRefusal) {
    #expect(Shelf([]).answer(.healthData(query)).reason == refusal.description)
  }

  @Test func `latest and total may be given`() {
    let query = ask(.steps, "2026-01-05", "2026-01-06", .total, .latest, options: Self.options)
    #expect(Shelf([]).answer(.healthData(query)).succeeded)
  }
}
