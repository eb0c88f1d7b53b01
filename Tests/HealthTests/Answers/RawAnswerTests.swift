import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct RawAnswerTests {
  private static let day = ("2026-01-05T00:00:00", "2026-01-06T00:00:00")

  @Test func `samples are returned unchanged in the units of statistics`() throws {
    let shelf = Shelf([
      quantity("HeartRate", 61, "count/min", "2026-01-05T09:00:00Z"),
      quantity("RestingHeartRate", 52, "count/min", "2026-01-05T08:00:00Z"),
      // One sample begins before the requested time, and another at its end.
      quantity("HeartRate", 1, "count/min", "2026-01-04T23:59:59Z", "2026-01-05T00:00:01Z"),
      quantity("HeartRate", 2, "count/min", "2026-01-06T00:00:00Z"),
    ])
    let query = ask(.heartRate, Self.day.0, Self.day.1)
    let unit = "beatsPerMinute"
    let points = [
      point("HEART_RATE", 61, unit, "2026-01-05T09:00:00", "2026-01-05T09:00:00"),
      point("RESTING_HEART_RATE", 52, unit, "2026-01-05T08:00:00", "2026-01-05T08:00:00"),
    ]
    #expect(try shelf.parts(query) == HealthReply(query: query, points: points))
  }

  private static let units: [(HealthValueType, String, Double, String, Double, String)] = [
    (.steps, "StepCount", 12, "count", 12, "count"),
    (.heartRateVariability, "HeartRateVariabilitySDNN", 0.05, "s", 50, "millisecond"),
    (.calories, "ActiveEnergyBurned", 4.184, "kJ", 1, "kilocalorie"),
    (.calories, "ActiveEnergyBurned", 3, "Cal", 3, "kilocalorie"),
    (.bloodOxygen, "OxygenSaturation", 0.97, "%", 97, "percentage"),
    (.bloodPressure, "BloodPressureSystolic", 120, "mmHg", 120, "millimeterOfMercury"),
    (.bodyTemperature, "BodyTemperature", 98.6, "degF", 37, "degreeCelsius"),
    (.bodyTemperature, "BodyTemperature", 310.15, "K", 37, "degreeCelsius"),
    (.bodyMetrics, "BodyMass", 100, "lb", 45.359237, "kilogram"),
    (.bodyMetrics, "Height", 6, "ft", 1.8288, "meter"),
    (.bodyMetrics, "BodyFatPercentage", 0.2, "%", 20, "percentage"),
    (.bodyMetrics, "DietaryWater", 250, "mL", 0.25, "liter"),
    (
      .glucose, "BloodGlucose", 5, "mmol<180.1558800000541>/L", 90.07794000027,
      "milligramPerDeciliter"
    ),
    (.exerciseTime, "AppleExerciseTime", 90, "s", 1.5, "minute"),
    (.respiratoryRate, "RespiratoryRate", 14, "count/min", 14, "respirationsPerMinute"),
    (.walkingSpeed, "WalkingSpeed", 3.6, "km/hr", 1, "meterPerSecond"),
    (.distance, "DistanceWalkingRunning", 1, "mi", 1_609.344, "meter"),
  ]

  @Test(arguments: units)
  func `values are converted from every stored unit to one unit`(
    valueType: HealthValueType, identifier: String, value: Double, unit: String, expected: Double,
    name: String
  ) throws {
    let shelf = Shelf([quantity(identifier, value, unit, "2026-01-05T09:00:00Z")])
    let point = try #require(try shelf.parts(ask(valueType, Self.day.0, Self.day.1)).points.first)
    guard case .number(let number) = point.value else {
      Issue.record("no number")
      return
    }
    #expect(abs(number - expected) < 1e-9 * max(1, expected))
    #expect(point.unit == name)
  }

  @Test func `samples with an unknown unit are skipped and counted`() throws {
    let shelf = Shelf([
      quantity("StepCount", 5, "furlong", "2026-01-05T09:00:00Z"),
      quantity("StepCount", 6, "count", "2026-01-05T10:00:00Z"),
      quantity("StepCount", .infinity, "count", "2026-01-05T11:00:00Z"),
      quantity("StepCount", 7, nil, "2026-01-05T12:00:00Z"),
    ])
    let raw = try shelf.parts(ask(.steps, Self.day.0, Self.day.1))
    #expect(raw.points.map(\.value) == [.number(6), .number(7)])
    #expect(raw.skipped == 2)
    let sum = try shelf.parts(ask(.steps, Self.day.0, Self.day.1, .day, .sum))
    #expect(sum.points.map(\.value) == [.number(13)])
    #expect(sum.skipped == 2)
  }

  @Test func `samples that are not finite in the reported unit are skipped and counted`() throws {
    let shelf = Shelf([
      quantity("DistanceWalkingRunning", 1e305, "km", "2026-01-05T09:00:00Z"),
      quantity("DistanceWalkingRunning", 1e306, "km", "2026-01-05T10:00:00Z"),
    ])
    let raw = try shelf.parts(ask(.distance, Self.day.0, Self.day.1))
    #expect(raw.points.map(\.value) == [.number(1e308)])
    #expect(raw.skipped == 1)
    let workouts = Shelf([
      workout("Yoga", "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z", distance: .infinity)
    ])
    for groupBy in [nil, HealthGrouping.day] {
      let reply = try workouts.parts(ask(.workout, Self.day.0, Self.day.1, groupBy))
      #expect(reply.points.isEmpty && reply.skipped == 1)
    }
  }

  @Test func `the unit of one type does not affect the next type`() throws {
    let shelf = Shelf([
      quantity("BodyMass", 80_000, "g", "2026-01-05T09:00:00Z"),
      quantity("DietaryProtein", 30, "g", "2026-01-05T09:00:00Z"),
    ])
    let points = try shelf.parts(ask(.bodyMetrics, Self.day.0, Self.day.1)).points
    #expect(
      points.map(\.value) == [.number(80), .nutrition(NutritionTotals(protein: 30))])
  }

  @Test(arguments: [("CrossTraining", "CROSS_TRAINING"), ("Cycling", "BIKING"), ("", "OTHER")])
  func `workouts are named as in the original`(activity: String, name: String) throws {
    let shelf = Shelf([
      workout(activity, "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z", distance: 1)
    ])
    let points = try shelf.parts(ask(.workout, Self.day.0, Self.day.1)).points
    let totals = WorkoutTotals(type: name, distance: 1, sessions: 1, duration: 60)
    #expect(points.map(\.value) == [.workout(totals)])
    #expect(points.map(\.unit) == ["noUnit"])
  }

  @Test(arguments: HealthValueType.allCases)
  func `every value type has an answer with and without samples`(valueType: HealthValueType) throws
  {
    let samples = valueType.kinds.map { kind in
      let value: HealthSampleValue =
        switch kind.measure {
        case .quantity, .nutrient: .quantity(1)
        case .minutes: .category("0")
        case .sleep: .category("HKCategoryValueSleepAnalysisAsleepCore")
        case .workout: .workout(WorkoutValue(activity: "HKWorkoutActivityTypeYoga"))
        case .event: .category("1")
        }
      return HealthSample(
        type: kind.identifier, value: value, start: at("2026-01-05T02:00:00Z"),
        end: at("2026-01-05T02:30:00Z"), source: "Watch")
    }
    for groupBy in HealthGrouping.allCases
    where valueType != .sleep || groupBy != .hourOfDay {
      var query = ask(valueType, Self.day.0, Self.day.1, groupBy)
      let reply = try Shelf(samples).parts(query)
      #expect(Set(reply.points.map(\.type)) == Set(valueType.kinds.map(\.type)))
      query.statistic = reply.query.statistic
      #expect(try Shelf([]).parts(query) == HealthReply(query: query, points: []))
    }
    let raw = ask(valueType, Self.day.0, Self.day.1)
    #expect(try Shelf(samples).parts(raw).points.count == samples.count)
    #expect(try Shelf([]).parts(raw) == HealthReply(query: raw, points: []))
  }
}
