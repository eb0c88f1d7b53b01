import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct FigureTests {
  private static let day = ("2026-01-05", "2026-01-06")

  @Test(arguments: HealthValueType.allCases)
  func `by default amounts are summed, readings averaged, and nights averaged per night`(
    valueType: HealthValueType
  ) throws {
    for kind in valueType.kinds {
      let expected: Figure =
        switch kind.aggregation {
        case .cumulative: .sum
        case .discrete: kind.type == "HEART_RATE" ? .averageOverTime : .average
        case .nightly: .averagePerNight
        case .events: .count
        }
      #expect(try kind.figure(nil, by: .day) == expected)
      #expect(try kind.figure(.count, by: .hour) == .count)
      #expect(try kind.figure(.latest, by: .hour) == .latest)
    }
  }

  private static let readings: [(HealthValueType, String)] = [
    (.heartRate, "HEART_RATE and RESTING_HEART_RATE"),
    (.bloodPressure, "BLOOD_PRESSURE_SYSTOLIC and BLOOD_PRESSURE_DIASTOLIC"),
    (.bloodOxygen, "BLOOD_OXYGEN"), (.walkingSpeed, "WALKING_SPEED"), (.glucose, "BLOOD_GLUCOSE"),
    (.bodyTemperature, "BODY_TEMPERATURE"), (.respiratoryRate, "RESPIRATORY_RATE"),
    (.heartRateVariability, "HEART_RATE_VARIABILITY_SDNN"),
  ]

  @Test(arguments: readings)
  func `a sum of readings is refused, and the reason lists the statistics that apply`(
    valueType: HealthValueType, types: String
  ) {
    let query = ask(valueType, Self.day.0, Self.day.1, .day, .sum)
    #expect(
      Shelf([]).answer(.healthData(query)).reason
        == "SUM does not apply to \(types): these are readings, which cannot be added. Ask for "
        + "AVERAGE, MIN, MAX, COUNT or LATEST")
  }

  @Test func `a sum over amounts and readings omits the readings and adds a note`() throws {
    let shelf = Shelf([
      quantity("BodyMass", 80, "kg", "2026-01-05T08:00:00Z"),
      quantity("DietaryWater", 2, "L", "2026-01-05T09:00:00Z"),
    ])
    let sum = try shelf.reply(ask(.bodyMetrics, Self.day.0, Self.day.1, .day, .sum))
    #expect(Set(sum.points.map(\.type)) == ["WATER"])
    #expect(
      sum.notes == [
        "Left out: SUM does not apply to WEIGHT, HEIGHT and BODY_FAT_PERCENTAGE: these are "
          + "readings, which cannot be added. Ask for AVERAGE, MIN, MAX, COUNT or LATEST."
      ])
    let usual = try shelf.reply(ask(.bodyMetrics, Self.day.0, Self.day.1, .day))
    #expect(usual.points.map(\.type) == ["WEIGHT", "WEIGHT", "WATER", "WATER"])
    #expect(usual.points.map(\.source) == ["all", "Watch", "merged", "Watch"])
    #expect(usual.points.map(\.statistic) == ["average", "average", "sum", "sum"])
    #expect(usual.query.statistic == nil)
    #expect(usual.notes.isEmpty)
  }

  @Test(arguments: [HealthStatistic.average, .min, .max])
  func `statistics that compare days are refused by the hour`(statistic: HealthStatistic) throws {
    func reason(_ valueType: HealthValueType) -> String? {
      Shelf([]).answer(
        .healthData(ask(valueType, Self.day.0, Self.day.1, .hour, statistic))
      ).reason
    }
    #expect(
      reason(.steps)
        == "\(statistic.rawValue) of STEPS compares days or nights, so it needs group_by DAY, "
        + "WEEK, MONTH, YEAR, WEEKDAY, WEEKPART or TOTAL; by the hour ask for SUM, COUNT or LATEST")
    #expect(reason(.sleep)?.contains("SLEEP_SESSION") == true)
    #expect(reason(.heartRate) == nil)
  }

  private static let walks = [
    steps(10, "2026-01-05T08:00:00Z", "2026-01-05T08:10:00Z"),
    steps(30, "2026-01-05T09:00:00Z", "2026-01-05T09:10:00Z"),
    // Half of the walk is on the 6th, half on the 7th.
    steps(20, "2026-01-06T23:00:00Z", "2026-01-07T01:00:00Z"),
    steps(0, "2026-01-09T08:00:00Z", "2026-01-09T08:10:00Z"),
  ]

  private static let figures: [(HealthStatistic?, String, Double)] = [
    (nil, "sum", 60), (.sum, "sum", 60),
    // The days have 40, 10, 10 and 0 steps. The 8th has no data.
    (.average, "average_per_day", 15), (.min, "min_per_day", 0), (.max, "max_per_day", 40),
    (.count, "count", 4), (.latest, "latest", 0),
  ]

  @Test(arguments: figures)
  func `statistics of amounts compare the days with data and are labeled accordingly`(
    statistic: HealthStatistic?, label: String, value: Double
  ) throws {
    let query = ask(.steps, "2026-01-05", "2026-01-12", .total, statistic)
    let points = try Shelf(Self.walks).reply(query).points.filter { $0.source == "Watch" }
    #expect(points.map(\.value) == [.number(value)])
    #expect(points.map(\.statistic) == [label])
    #expect(points.map(\.unit) == ["count"])
    let week = ask(.steps, "2026-01-05", "2026-01-12", .week, statistic)
    #expect(try Shelf(Self.walks).parts(week).points.map(\.value) == [.number(value)])
  }

  @Test func `the latest of several days is the value of the last day with data`() {
    let days: [(value: Double, isKnown: Bool)] = [(1, true), (2, true), (3, false)]
    #expect(Figure.latest.combine(days) == 2)
  }

  private static let pulses = [
    quantity("HeartRate", 70, "count/min", "2026-01-05T08:00:00Z"),
    quantity("HeartRate", 50, "count/min", "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z"),
    quantity("HeartRate", 90, "count/min", "2026-01-06T08:00:00Z"),
    quantity("HeartRate", 60, "count/min", "2026-01-06T09:00:00Z", "2026-01-06T09:05:00Z"),
  ]

  private static let readingFigures: [(HealthStatistic?, String, Double, String)] = [
    // Each of the four readings has a weight of 10 minutes.
    (nil, "average_over_time", 67.5, "beatsPerMinute"),
    (.average, "average_over_time", 67.5, "beatsPerMinute"),
    (.min, "min", 50, "beatsPerMinute"), (.max, "max", 90, "beatsPerMinute"),
    (.count, "count", 4, "count"), (.latest, "latest", 60, "beatsPerMinute"),
  ]

  @Test(arguments: readingFigures)
  func `readings are compared one by one`(
    statistic: HealthStatistic?, label: String, value: Double, unit: String
  ) throws {
    let query = ask(.heartRate, "2026-01-05", "2026-01-12", .total, statistic)
    var expected = point("HEART_RATE", value, unit, "2026-01-05T00:00:00", "2026-01-12T00:00:00")
    expected.statistic = label
    if statistic == .latest {
      (expected.start, expected.end) = (time("2026-01-06T09:00:00"), time("2026-01-06T09:05:00"))
    }
    var all = expected
    all.source = "all"
    #expect(try Shelf(Self.pulses).reply(query).points == [all, expected])
  }

  @Test func `statistics of meals and workouts compare days too, for each number separately`()
    throws
  {
    let shelf = Shelf([
      quantity("DietaryProtein", 30, "g", "2026-01-05T12:00:00Z"),
      quantity("DietaryProtein", 10, "g", "2026-01-05T18:00:00Z"),
      quantity("DietaryProtein", 20, "g", "2026-01-06T18:00:00Z"),
      quantity("DietaryEnergyConsumed", 600, "kcal", "2026-01-06T18:00:00Z"),
    ])
    let query = ask(.bodyMetrics, "2026-01-05", "2026-01-07", .total, .average)
    let meal = NutritionTotals(calories: 600, protein: 30)
    #expect(try shelf.parts(query).points.map(\.value) == [.nutrition(meal)])
    let workouts = Shelf([
      workout("Running", "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z", distance: 5_000),
      workout("Running", "2026-01-05T12:00:00Z", "2026-01-05T13:00:00Z", distance: 1_000),
      workout("Yoga", "2026-01-06T12:00:00Z", "2026-01-06T13:00:00Z", energy: 80),
    ])
    func values(_ statistic: HealthStatistic) throws -> [HealthPointValue] {
      try workouts.parts(ask(.workout, "2026-01-05", "2026-01-07", .total, statistic)).points
        .map(\.value)
    }
    let yoga = HealthPointValue.workout(
      WorkoutTotals(type: "YOGA", energy: 80, sessions: 1, duration: 60))
    #expect(
      try values(.max) == [
        .workout(
          WorkoutTotals(type: "RUNNING", distance: 5_000, sessions: 1, duration: 60)), yoga,
      ])
    #expect(try values(.count) == [.number(2), .number(1)])
    let count = ask(.workout, "2026-01-05", "2026-01-07", .total, .count)
    #expect(try workouts.parts(count).points.map(\.workoutType) == ["RUNNING", "YOGA"])
    #expect(
      try values(.latest) == [
        .workout(WorkoutTotals(type: "RUNNING", distance: 1_000, sessions: 1, duration: 60)), yoga,
      ])
  }

  private static let edges: [(String, String, [Bool])] = [
    ("2026-01-05T00:00:00", "2026-01-06T00:00:00", [false]),
    // One second of the span may be missing, as with an end at 23:59:59, but not two seconds.
    ("2026-01-05T00:00:00", "2026-01-05T23:59:59", [false]),
    ("2026-01-05T00:00:00", "2026-01-05T23:59:58", [true]),
    ("2026-01-05T00:00:01", "2026-01-06T00:00:00", [false]),
    ("2026-01-05T00:00:02", "2026-01-06T00:00:00", [true]),
  ]

  @Test(arguments: edges)
  func `a span that the question cuts is partial`(
    start: String, end: String, expected: [Bool]
  ) throws {
    let shelf = Shelf([steps(1, "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z")])
    let points = try shelf.reply(ask(.steps, start, end, .day, .sum)).points
    #expect(points.filter { !$0.isMerged }.map(\.isPartial) == expected)
    let total = try shelf.reply(ask(.steps, start, end, .total, .sum)).points
    #expect(total.map(\.isPartial) == [false, false])
  }

  @Test(arguments: [("2026-01-05T23:59:58Z", true), ("2026-01-05T23:59:59Z", false)])
  func `a span that is not over is partial`(now: String, isPartial: Bool) throws {
    let shelf = Shelf([steps(1, "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z")])
    for groupBy in [HealthGrouping.day, .total] {
      let query = ask(.steps, "2026-01-05", "2026-01-06", groupBy, .sum)
      let object = shelf.answer(.healthData(query), now: now)
      #expect(
        try HealthReply.read(object.bytes).points.map(\.isPartial) == [isPartial, isPartial])
    }
  }

  @Test func `an answer reports its zone, its time and the freshness of its data`() throws {
    let stored = StoredHealth(
      lastSamples: [
        "HKQuantityTypeIdentifierHeartRate": at("2026-01-04T10:00:00Z"),
        "HKQuantityTypeIdentifierStepCount": at("2026-01-04T11:00:00Z"),
      ], lastImport: at("2026-01-04T12:00:00Z"))
    func freshness(_ start: String) throws -> HealthFreshness? {
      let query = ask(.heartRate, start, "2026-01-06", .day, .max)
      return try HealthReply.read(
        Shelf([]).answer(
          .healthData(query), zone: Zones.berlin, now: "2026-01-05T08:00:00Z", stored: stored
        ).bytes
      ).freshness
    }
    let answered = HealthTime.instant(at("2026-01-05T08:00:00Z"), minutesEast: 60)
    #expect(
      try freshness("2026-01-05")
        == HealthFreshness(
          zone: "Europe/Berlin", answered: answered,
          imported: .instant(at("2026-01-04T12:00:00Z"), minutesEast: 60),
          lastSamples: [
            .init(type: "HEART_RATE", at: time("2026-01-04T11:00:00")),
            .init(type: "RESTING_HEART_RATE", at: nil),
          ]))
    #expect(
      try freshness("2026-01-05T00:00:00Z")?.imported
        == .instant(at("2026-01-04T12:00:00Z"), minutesEast: 60))
  }

  @Test func `a type of several kinds is as fresh as the last sample of any of them`() throws {
    let stored = StoredHealth(
      lastSamples: [
        "HKQuantityTypeIdentifierDietaryEnergyConsumed": at("2026-01-04T10:00:00Z"),
        "HKQuantityTypeIdentifierDietaryProtein": at("2026-01-04T11:00:00Z"),
        "HKQuantityTypeIdentifierDietaryCarbohydrates": at("2026-01-04T09:00:00Z"),
      ])
    let query = ask(.bodyMetrics, "2026-01-05", "2026-01-06", .day, .count)
    let reply = try HealthReply.read(Shelf([]).answer(.healthData(query), stored: stored).bytes)
    let meals = reply.freshness?.lastSamples.filter { $0.type == "NUTRITION" }
    #expect(meals == [.init(type: "NUTRITION", at: time("2026-01-04T11:00:00"))])
  }

  @Test func `a summary reports the time of the last import`() throws {
    let query = SummaryQuery(start: time("2026-01-05"), end: time("2026-01-06"))
    for imported in [nil, at("2026-01-04T12:00:00Z")] {
      let stored = StoredHealth(lastSamples: [:], lastImport: imported)
      let object = Shelf([]).answer(.summary(query), stored: stored)
      let reported = try SummaryReply.read(object.bytes).freshness?.imported
      #expect(reported == imported.map { .instant($0, minutesEast: 0) })
    }
  }

  @Test(arguments: [(3_600, "UTC+01:00"), (-12_600, "UTC-03:30"), (0, "UTC+00:00")])
  func `a zone without a name is titled by its offset`(east: Int, title: String) {
    #expect(ZoneRules(initialSecondsEast: east).title(at: at("2026-01-05T08:00:00Z")) == title)
  }

  @Test func `samples fill up to 32 KiB unless the question or the limits set another size`() throws
  {
    let shelf = Shelf(
      (0..<600).map { second in
        HealthSample(
          type: "HKQuantityTypeIdentifierStepCount", value: .quantity(1), unit: "count",
          start: at("2026-01-05T09:00:00Z").advanced(by: .seconds(second)),
          end: at("2026-01-05T09:00:00Z").advanced(by: .seconds(second)), source: "Watch")
      })
    func bytes(_ maxBytes: Int?, limit: Int = 8 << 20) -> Int {
      var query = ask(.steps, "2026-01-05", "2026-01-06")
      query.maxBytes = maxBytes
      return shelf.answer(.healthData(query), limits: AnswerLimits(maxBytes: limit)).bytes.count
    }
    #expect((30_000...32_768).contains(bytes(nil)))
    #expect((8_000...10_000).contains(bytes(10_000)))
    #expect(bytes(1_000_000) > 70_000)
    #expect((18_000...20_000).contains(bytes(1_000_000, limit: 20_000)))
    var hours = ask(.steps, "2026-01-05", "2026-01-06", .hour)
    hours.maxBytes = 2_000
    #expect(shelf.answer(.healthData(hours)).bytes.count <= 2_000)
  }
}
