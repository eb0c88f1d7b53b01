import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

/// Tests of numbers for a language model: rounding, averages over time, values of all sources, and
/// the heart rates of workouts.
@Suite struct AssistantNumberTests {
  private static let limits = AnswerLimits(maxBytes: 8 << 20, pageLimit: 2)
  private static let hour = ("2026-01-05T10:00:00", "2026-01-05T11:00:00")

  private static func pulse(
    _ rate: Double, _ clock: String, source: String = "Watch"
  ) -> HealthSample {
    quantity("HeartRate", rate, "count/min", "2026-01-05T\(clock)Z", source: source)
  }

  private static func points(
    _ samples: [HealthSample], _ query: HealthDataQuery
  ) throws -> [HealthPoint] {
    try Shelf(samples).reply(query, limits: limits).points
  }

  @Test func `an average heart rate is weighted by time, not by the number of readings`() throws {
    let rest = ["10:00:00", "10:05:00", "10:10:00", "10:10:30"].map { Self.pulse(60, $0) }
    let workout = ["05", "10", "15", "20", "25"].map { Self.pulse(180, "10:10:\($0)") }
    let query = ask(.heartRate, Self.hour.0, Self.hour.1, .hour, .average)
    let points = try Self.points(rest + workout, query)
    // A rate of 60 has a weight of 300 + 300 + 5 s and of 600 s, the maximum for one reading. A
    // rate of 180 has a weight of 25 s. 76,800 / 1,230 is 62.439. The unweighted mean is 126.7.
    #expect(points.map(\.value) == [.number(62.439), .number(62.439)])
    #expect(points.map(\.statistic) == ["average_over_time", "average_over_time"])
  }

  @Test func `simultaneous readings count as their mean, and a copied reading counts once`() throws
  {
    let samples = [
      Self.pulse(60, "10:00:00"), Self.pulse(90, "10:00:00", source: "Strap"),
      Self.pulse(60, "10:00:00", source: "Copy"), Self.pulse(100, "10:05:00"),
    ]
    let points = try Self.points(samples, ask(.heartRate, Self.hour.0, Self.hour.1, .hour))
    // For all sources, the rate is 75 for 5 minutes and 100 for 10 minutes. For the watch, it is 60
    // for 5 minutes and 100 for 10 minutes.
    #expect(points.map(\.source) == ["all", "Copy", "Strap", "Watch"])
    #expect(
      points.map(\.value) == [.number(91.6667), .number(60), .number(90), .number(86.6667)])
  }

  private static let glucose = [
    quantity("BloodGlucose", 90, "mg/dL", "2026-01-05T08:00:00Z", source: "Meter"),
    quantity("BloodGlucose", 90, "mg/dL", "2026-01-05T08:00:00Z", source: "Diary"),
    quantity("BloodGlucose", 110, "mg/dL", "2026-01-05T12:00:00Z", source: "Meter"),
    quantity("BloodGlucose", 130, "mg/dL", "2026-01-05T18:00:00Z", source: "Diary"),
  ]

  @Test(arguments: [
    (HealthStatistic.average, 110.0), (.min, 90), (.max, 130), (.count, 3), (.latest, 130),
  ])
  func `readings have a value for all sources, in which a copied reading counts once`(
    statistic: HealthStatistic, value: Double
  ) throws {
    let query = ask(.glucose, "2026-01-05", "2026-01-06", .total, statistic)
    let points = try Self.points(Self.glucose, query)
    #expect(points.map(\.source) == ["all", "Diary", "Meter"])
    let all = try #require(points.first)
    #expect(all.value == .number(value) && !all.isMerged)
    if statistic == .latest { #expect(all.start == time("2026-01-05T18:00:00")) }
  }

  @Test func `amounts have a count and a latest value of all sources, and merged sums and maxima`()
    throws
  {
    let walks = [
      steps(100, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z"),
      steps(90, "2026-01-05T08:00:00Z", "2026-01-05T09:00:00Z", source: "Phone"),
    ]
    for (statistic, source) in [
      (HealthStatistic.count, "all"), (.latest, "all"), (.sum, "merged"), (.max, "merged"),
    ] {
      let query = ask(.steps, "2026-01-05", "2026-01-06", .total, statistic)
      #expect(try Self.points(walks, query).map(\.source) == [source, "Phone", "Watch"])
    }
  }

  private static let numbers: [(Double, Double)] = [
    (0, 0), (0.123456, 0.1235), (1.23456, 1.2346), (-1.23456, -1.2346),
    (12_345.678_91, 12_345.6789), (0.000_123_456, 0.000_123_5), (98.599_999_999, 98.6),
    (0.05, 0.05), (1e-30, 1e-30), (1e300, 1e300), (1_234.567_849, 1_234.567_8),
  ]

  @Test(arguments: numbers)
  func `numbers are rounded to four decimals, and those below 1 to four digits`(
    number: Double, rounded: Double
  ) {
    #expect(number.roundedForAnswer == rounded)
    #expect(Dimension.mass.rounded(number) == rounded)
    #expect(Dimension.count.rounded(number) == number.rounded())
  }

  @Test func `step counts are whole numbers, even if two days share a sample`() throws {
    // A third of the hour is on the first day.
    let walk = steps(100, "2026-01-05T23:40:00Z", "2026-01-06T00:40:00Z")
    let points = try Self.points([walk], ask(.steps, "2026-01-05", "2026-01-07", .day))
    #expect(points.filter(\.isMerged).map(\.value) == [.number(33), .number(67)])
  }

  private static let trainings = [
    workout("Running", "2026-01-05T10:00:00Z", "2026-01-05T10:20:00Z", distance: 4_000),
    workout("Running", "2026-01-06T10:00:00Z", "2026-01-06T10:20:00Z", distance: 5_000),
    workout("Yoga", "2026-01-06T12:00:00Z", "2026-01-06T13:00:00Z"),
  ]
  /// Heart rates before, during and after the first run.
  private static let pulses = [
    pulse(70, "09:59:59"), pulse(120, "10:00:00"), pulse(150, "10:05:00"),
    pulse(180, "10:15:00", source: "Strap"), pulse(90, "10:20:00"),
  ]

  @Test func `a workout has the heart rate of its own time, of all sources`() throws {
    let query = ask(.workout, "2026-01-05", "2026-01-07")
    let points = try Self.points(Self.trainings + Self.pulses, query)
    // The rates are 120 for 5 minutes, 150 for 10 minutes and 180 for 5 minutes.
    let rates = points.map { point -> Double? in
      if case .workout(let totals) = point.value { totals.heartRate } else { nil }
    }
    #expect(rates == [150, nil, nil])
    let object = Shelf(Self.trainings + Self.pulses).answer(
      .healthData(query), limits: Self.limits)
    #expect(String(decoding: object.bytes, as: UTF8.self).contains(#""average_heart_rate":150}"#))
  }

  @Test(arguments: [HealthStatistic.sum, .average, .max, .latest])
  func `workouts of one kind average the heart rate of those with readings`(
    statistic: HealthStatistic
  ) throws {
    let query = ask(
      .workout, "2026-01-05", "2026-01-07", .total, statistic, options: HealthOptions())
    let points = try Self.points(Self.trainings + Self.pulses, query)
    let rates = points.map { point -> Double? in
      if case .workout(let totals) = point.value { totals.heartRate } else { nil }
    }
    // The last run, which is also the longest, has no heart rates.
    #expect(rates == [[.latest, .max].contains(statistic) ? nil : 150, nil])
  }

  @Test func `the minutes of a workout exclude its pauses if they are known`() throws {
    var paused = Self.trainings[0]
    if case .workout(var value) = paused.value {
      value.duration = .seconds(900)
      paused.value = .workout(value)
    }
    let query = ask(
      .workout, "2026-01-05", "2026-01-07", .total, .sum, options: HealthOptions())
    let points = try Self.points([paused, Self.trainings[1]], query)
    #expect(
      points.map(\.value) == [
        .workout(WorkoutTotals(type: "RUNNING", distance: 9_000, sessions: 2, duration: 35))
      ])
  }

  @Test(arguments: [(1_000, false), (1_001, true)])
  func `heart rates of more than 1,000 workouts are omitted with a note`(
    count: Int, isLeftOut: Bool
  ) throws {
    let first = at("2026-01-05T00:00:00Z")
    let runs = (0..<count).map { number in
      var run = Self.trainings[0]
      run.start = first.advanced(by: .seconds(600 * number))
      run.end = run.start.advanced(by: .seconds(300))
      return run
    }
    let rates = runs.map {
      var rate = Self.pulse(140, "10:00:00")
      (rate.start, rate.end) = ($0.start, $0.start)
      return rate
    }
    let query = ask(.workout, "2026-01-05", "2026-02-05", .total, .sum)
    var answering = HealthAnswering(
      .healthData(query), zone: .utc, now: at("2027-01-01T00:00:00Z"),
      limits: AnswerLimits(maxBytes: 8 << 20))
    while case .read(let wanted) = answering.step {
      let all = wanted.types == [HealthSample.workoutType] ? runs : rates
      answering.take(
        HealthSamplePage(
          samples: all.filter { $0.start >= wanted.from && $0.start < wanted.to }))
    }
    guard case .done(let object) = answering.step else { return }
    let reply = try HealthReply.read(object.bytes)
    #expect(reply.notes.contains { $0.contains("average_heart_rate") } == isLeftOut)
    guard case .workout(let totals) = try #require(reply.points.first).value else { return }
    #expect(totals.sessions == count && (totals.heartRate == nil) == isLeftOut)
  }

  @Test func `answers with statistics use up to 32,768 bytes unless the question allows more`()
    throws
  {
    let start = at("2026-01-01T00:00:00Z")
    let samples = (0..<4_000).map { hour in
      let from = start.advanced(by: .seconds(3_600 * hour))
      return HealthSample(
        type: "HKQuantityTypeIdentifierStepCount", value: .quantity(1), unit: "count",
        start: from, end: from.advanced(by: .seconds(60)), source: "Watch")
    }
    func bytes(_ maxBytes: Int?) -> Int {
      var query = ask(.steps, "2026-01-01", "2026-12-31", .hour, options: HealthOptions())
      query.maxBytes = maxBytes
      var answering = HealthAnswering(
        .healthData(query), zone: .utc, now: at("2027-01-01T00:00:00Z"), limits: .parts)
      while case .read(let wanted) = answering.step {
        answering.take(
          HealthSamplePage(
            samples: samples.filter { $0.start >= wanted.from && $0.start < wanted.to }))
      }
      guard case .done(let object) = answering.step else { return 0 }
      return object.bytes.count
    }
    #expect((31_000...32_768).contains(bytes(nil)))
    #expect(bytes(8 << 20) > 600_000)
  }
}
