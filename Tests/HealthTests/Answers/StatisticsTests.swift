import HoldfastCore
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthSamples

@Suite struct StatisticsTests {
  @Test func `steps that span two days are divided between the days by time`() throws {
    let shelf = Shelf([
      // 20 minutes, 10 of them on each day.
      steps(20, "2026-01-05T23:50:00Z", "2026-01-06T00:10:00Z"),
      steps(100, "2026-01-06T08:00:00Z", "2026-01-06T08:05:00Z"),
      // 40 minutes. Only the last 10 are requested.
      steps(40, "2026-01-04T23:30:00Z", "2026-01-05T00:10:00Z"),
      // 10 minutes. Only the first 3 are requested.
      steps(10, "2026-01-06T17:57:00Z", "2026-01-06T18:07:00Z"),
    ])
    let query = ask(.steps, "2026-01-05T00:00:00", "2026-01-06T18:00:00", .day, .sum)
    let sums: [Double] = [10 + 10, 10 + 100 + 3]
    let points = [
      point("STEPS", sums[0], "count", "2026-01-05T00:00:00", "2026-01-06T00:00:00"),
      point("STEPS", sums[1], "count", "2026-01-06T00:00:00", "2026-01-06T18:00:00"),
    ]
    #expect(try shelf.parts(query) == HealthReply(query: query, points: points))
    var mean = query
    (mean.groupBy, mean.statistic) = (.week, .average)
    // The question cuts the second day.
    #expect(try shelf.parts(mean).points.map(\.value) == [.number(sums[0])])
    mean.end = time("2026-01-07T00:00:00")
    // The average is that of the two days. It does not depend on their number of samples.
    #expect(try shelf.parts(mean).points.map(\.value) == [.number((sums[0] + sums[1] + 7) / 2)])
  }

  @Test func `one step per minute adds up to the minutes of the day, even on clock changes`() throws
  {
    let zone = Zones.berlin
    let first = at("2026-03-27T23:00:00Z")
    let march = (0..<(3 * 24 * 60)).map { minute in
      HealthSample(
        type: "HKQuantityTypeIdentifierStepCount", value: .quantity(1), unit: "count",
        start: first.advanced(by: .seconds(60 * minute)),
        end: first.advanced(by: .seconds(60 * minute + 60)), source: "Watch")
    }
    let query = ask(.steps, "2026-03-28T00:00:00", "2026-03-31T00:00:00", .day, .sum)
    let limits = AnswerLimits(maxBytes: 8 << 20)
    #expect(
      try Shelf(march).parts(query, zone: zone, limits: limits).points == [
        point("STEPS", 24 * 60, "count", "2026-03-28T00:00:00", "2026-03-29T00:00:00"),
        point("STEPS", 23 * 60, "count", "2026-03-29T00:00:00", "2026-03-30T00:00:00"),
        point("STEPS", 24 * 60, "count", "2026-03-30T00:00:00", "2026-03-31T00:00:00"),
      ])
    let october = [steps(25 * 60, "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z")]
    let day = ask(.steps, "2026-10-25T00:00:00", "2026-10-26T00:00:00", .day, .sum)
    #expect(try Shelf(october).parts(day, zone: zone).points.map(\.value) == [.number(25 * 60)])
  }

  @Test func `an hour that clocks show twice is reported twice with distinct times`() throws {
    let shelf = Shelf([steps(60 * 4, "2026-10-24T23:00:00Z", "2026-10-25T03:00:00Z")])
    let query = ask(.steps, "2026-10-25T01:00:00", "2026-10-25T04:00:00", .hour, .sum)
    #expect(
      try shelf.parts(query, zone: Zones.berlin).points == [
        point("STEPS", 60, "count", "2026-10-25T01:00:00", "2026-10-25T02:00:00"),
        point("STEPS", 60, "count", "2026-10-25T02:00:00", "2026-10-25T02:00:00+01:00"),
        point("STEPS", 60, "count", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00"),
        point("STEPS", 60, "count", "2026-10-25T03:00:00", "2026-10-25T04:00:00"),
      ])
  }

  @Test func `buckets follow the user's time zone in every notation of the question`() throws {
    // In New York, this sample is at 23:30 on the 5th.
    let shelf = Shelf([steps(7, "2026-01-06T04:30:00Z", "2026-01-06T04:30:00Z")])
    func points(_ start: String, _ end: String) throws -> [HealthPoint] {
      try shelf.parts(ask(.steps, start, end, .day, .sum), zone: Zones.newYork).points
    }
    #expect(
      try points("2026-01-05T00:00:00", "2026-01-07T00:00:00") == [
        point("STEPS", 7, "count", "2026-01-05T00:00:00", "2026-01-06T00:00:00")
      ])
    #expect(
      try points("2026-01-05T05:00:00Z", "2026-01-07T05:00:00Z") == [
        point("STEPS", 7, "count", "2026-01-05T05:00:00Z", "2026-01-06T05:00:00Z")
      ])
    #expect(
      try points("2026-01-05T06:00:00+01:00", "2026-01-07T06:00:00+01:00") == [
        point("STEPS", 7, "count", "2026-01-05T00:00:00-05:00", "2026-01-06T00:00:00-05:00")
      ])
  }

  @Test func `weeks begin on Monday, and months last to their end`() throws {
    let shelf = Shelf([
      steps(1, "2026-02-01T12:00:00Z", "2026-02-01T12:01:00Z"),
      steps(2, "2026-02-02T12:00:00Z", "2026-02-02T12:01:00Z"),
      steps(4, "2026-02-28T23:59:00Z", "2026-03-01T00:00:00Z"),
      steps(8, "2026-03-01T00:00:00Z", "2026-03-01T00:01:00Z"),
    ])
    let span = ("2026-01-15T00:00:00", "2026-03-10T00:00:00")
    #expect(
      try shelf.parts(ask(.steps, span.0, span.1, .week, .sum)).points == [
        point("STEPS", 1, "count", "2026-01-26T00:00:00", "2026-02-02T00:00:00"),
        point("STEPS", 2, "count", "2026-02-02T00:00:00", "2026-02-09T00:00:00"),
        point("STEPS", 4 + 8, "count", "2026-02-23T00:00:00", "2026-03-02T00:00:00"),
      ])
    #expect(
      try shelf.parts(ask(.steps, span.0, span.1, .month, .sum)).points == [
        point("STEPS", 1 + 2 + 4, "count", "2026-02-01T00:00:00", "2026-03-01T00:00:00"),
        point("STEPS", 8, "count", "2026-03-01T00:00:00", "2026-03-10T00:00:00"),
      ])
  }

  @Test func `a reading belongs to the span in which it began`() throws {
    let shelf = Shelf([
      quantity("HeartRate", 60, "count/min", "2026-01-05T09:59:59Z", "2026-01-05T10:30:00Z"),
      quantity("HeartRate", 70, "count/min", "2026-01-05T10:00:00Z"),
      quantity("HeartRate", 1.5, "count/s", "2026-01-05T10:59:59Z"),
      quantity("HeartRate", 50, "count/min", "2026-01-05T11:00:00Z"),
      quantity("RestingHeartRate", 55, "count/min", "2026-01-05T10:00:00Z"),
    ])
    let query = ask(.heartRate, "2026-01-05T09:00:00", "2026-01-05T11:00:00", .hour, .average)
    #expect(
      try shelf.parts(query).points == [
        point("HEART_RATE", 60, "beatsPerMinute", "2026-01-05T09:00:00", "2026-01-05T10:00:00"),
        point(
          // 70 has a weight of 600 s, the maximum for one reading, and 90 has a weight of 1 s.
          "HEART_RATE", 42_090.0 / 601, "beatsPerMinute", "2026-01-05T10:00:00",
          "2026-01-05T11:00:00"),
        point(
          "RESTING_HEART_RATE", 55, "beatsPerMinute", "2026-01-05T10:00:00", "2026-01-05T11:00:00"),
      ])
  }

  @Test func `each type keeps its own rule, whichever came first`() throws {
    // A weight is measured at one moment, but water is drunk over time. The original treats both
    // like the type that comes first.
    let shelf = Shelf([
      quantity("BodyMass", 80, "kg", "2026-01-05T23:00:00Z", "2026-01-06T01:00:00Z"),
      quantity("DietaryWater", 500, "mL", "2026-01-05T23:30:00Z", "2026-01-06T00:30:00Z"),
      quantity("DietaryEnergyConsumed", 600, "kcal", "2026-01-05T12:00:00Z"),
      quantity("DietaryProtein", 30, "g", "2026-01-05T12:00:00Z"),
      quantity("DietaryProtein", 10, "g", "2026-01-05T18:00:00Z"),
    ])
    let query = ask(.bodyMetrics, "2026-01-05T00:00:00", "2026-01-07T00:00:00", .day)
    let days = ["2026-01-05T00:00:00", "2026-01-06T00:00:00", "2026-01-07T00:00:00"]
    func meal(_ totals: NutritionTotals) -> HealthPoint {
      HealthPoint(
        type: "NUTRITION", value: .nutrition(totals), unit: "noUnit", start: time(days[0]),
        end: time(days[1]), source: "Watch")
    }
    #expect(
      try shelf.parts(query).points == [
        point("WEIGHT", 80, "kilogram", days[0], days[1]),
        point("WATER", 0.25, "liter", days[0], days[1]),
        point("WATER", 0.25, "liter", days[1], days[2]),
        meal(NutritionTotals(calories: 600, protein: 40)),
      ])
    var mean = query
    mean.statistic = .average
    // The average is that of the one day with meals, not of the meals.
    #expect(
      try shelf.parts(mean).points.last == meal(NutritionTotals(calories: 600, protein: 40)))
  }

  @Test(arguments: [
    (HealthValueType.calories, "ActiveEnergyBurned", "kcal", "ACTIVE_ENERGY_BURNED"),
    (.distance, "DistanceWalkingRunning", "m", "DISTANCE_WALKING_RUNNING"),
    (.exerciseTime, "AppleExerciseTime", "min", "EXERCISE_TIME"),
  ])
  func `amounts over time are divided between buckets, unlike in the original`(
    valueType: HealthValueType, identifier: String, unit: String, type: String
  ) throws {
    let shelf = Shelf([
      quantity(identifier, 30, unit, "2026-01-05T09:50:00Z", "2026-01-05T10:20:00Z")
    ])
    let query = ask(valueType, "2026-01-05T09:00:00", "2026-01-05T11:00:00", .hour, .sum)
    let points = try shelf.parts(query).points
    #expect(points.map(\.value) == [.number(10), .number(20)])
    #expect(points.map(\.type) == [type, type])
  }

  @Test func `a session counts in the bucket that contains its middle`() throws {
    let mindful = [
      // The first session has 40 of its 60 minutes after 10:00. The second has 30 of its 40 minutes
      // before 11:00. The third lasts 2 h 20 min and has its middle at 10:00.
      ("2026-01-05T09:40:00Z", "2026-01-05T10:40:00Z"),
      ("2026-01-05T10:30:00Z", "2026-01-05T11:10:00Z"),
      ("2026-01-05T08:50:00Z", "2026-01-05T11:10:00Z"),
    ].map { start, end in
      HealthSample(
        type: "HKCategoryTypeIdentifierMindfulSession", value: .category("x"), start: at(start),
        end: at(end), source: "Watch")
    }
    let query = ask(.mindfulness, "2026-01-05T08:00:00", "2026-01-05T12:00:00", .hour, .sum)
    #expect(
      try Shelf(mindful).parts(query).points == [
        point(
          "MINDFULNESS", 60 + 40 + 140, "minute", "2026-01-05T10:00:00", "2026-01-05T11:00:00")
      ])
  }

  @Test func `a session of zero length counts on its day`() throws {
    let moment = "1969-12-30T23:59:59.999999999Z"
    let query = ask(.workout, "1969-12-30T00:00:00Z", "1970-01-01T00:00:00Z", .day, .sum)
    let points = try Shelf([workout("Yoga", moment, moment)]).parts(query).points
    #expect(points.map(\.start) == [time("1969-12-30T00:00:00Z")])
  }

  @Test func `workouts report their distance, energy, steps and duration`() throws {
    let shelf = Shelf([
      workout(
        "Running", "2026-01-05T09:00:00Z", "2026-01-05T10:00:00Z", distance: 10_000, energy: 700,
        steps: 9_000),
      workout("Cycling", "2026-01-05T11:00:00Z", "2026-01-05T12:00:00Z", distance: 20_000),
      workout("TraditionalStrengthTraining", "2026-01-06T11:00:00Z", "2026-01-06T12:00:00Z"),
    ])
    func point(_ totals: WorkoutTotals, _ start: String, _ end: String, _ unit: String)
      -> HealthPoint
    {
      HealthPoint(
        type: "WORKOUT", value: .workout(totals), unit: unit, start: time(start), end: time(end),
        source: "Watch")
    }
    let riding = WorkoutTotals(type: "BIKING", distance: 20_000, sessions: 1, duration: 60)
    let running = WorkoutTotals(
      type: "RUNNING", distance: 10_000, energy: 700, steps: 9_000, sessions: 1, duration: 60)
    let lifting = WorkoutTotals(
      type: "TRADITIONAL_STRENGTH_TRAINING", sessions: 1, duration: 60)
    let days = ["2026-01-05T00:00:00", "2026-01-06T00:00:00", "2026-01-07T00:00:00"]
    let sum = try shelf.parts(ask(.workout, days[0], days[2], .day, .sum)).points
    #expect(
      sum == [
        point(riding, days[0], days[1], "noUnit"), point(running, days[0], days[1], "noUnit"),
        point(lifting, days[1], days[2], "noUnit"),
      ])
    // The average covers the days with workouts of the same kind.
    let mean = try shelf.parts(ask(.workout, days[0], days[2], .week, .average)).points
    #expect(mean == [riding, running, lifting].map { point($0, days[0], days[2], "noUnit") })
  }

  @Test func `blood pressure is two numbers, and sources are never added up`() throws {
    let shelf = Shelf([
      quantity("BloodPressureSystolic", 120, "mmHg", "2026-01-05T09:00:00Z", source: "Cuff"),
      quantity("BloodPressureSystolic", 130, "mmHg", "2026-01-05T19:00:00Z", source: "Cuff"),
      quantity("BloodPressureSystolic", 140, "mmHg", "2026-01-05T09:00:00Z", source: "App"),
      quantity("BloodPressureDiastolic", 80, "mmHg", "2026-01-05T09:00:00Z", source: "Cuff"),
    ])
    let query = ask(.bloodPressure, "2026-01-05T00:00:00", "2026-01-06T00:00:00", .day, .average)
    let day = ("2026-01-05T00:00:00", "2026-01-06T00:00:00")
    let unit = "millimeterOfMercury"
    #expect(
      try shelf.parts(query).points == [
        point("BLOOD_PRESSURE_SYSTOLIC", 140, unit, day.0, day.1, source: "App"),
        point("BLOOD_PRESSURE_SYSTOLIC", 125, unit, day.0, day.1, source: "Cuff"),
        point("BLOOD_PRESSURE_DIASTOLIC", 80, unit, day.0, day.1, source: "Cuff"),
      ])
  }

  @Test func `a source is the first name that is not blank`() throws {
    var blank = steps(1, "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z", source: " ")
    let nobody = blank
    blank.device = "Pedometer"
    let shelf = Shelf([blank, nobody, steps(2, "2026-01-05T09:00:00Z", "2026-01-05T09:01:00Z")])
    let query = ask(.steps, "2026-01-05T00:00:00", "2026-01-06T00:00:00", .day, .sum)
    let reply = try shelf.parts(query)
    #expect(reply.points.map(\.source) == [nil, "Pedometer", "Watch"])
  }

  @Test(arguments: [HealthStatistic.sum, .average])
  func `a sum that overflows is an error, and the largest possible sum is returned`(
    statistic: HealthStatistic
  ) throws {
    func answer(_ second: Double) -> HealthObject {
      let shelf = Shelf([
        quantity("StepCount", 1e308, "count", "2026-01-05T09:00:00Z"),
        quantity("StepCount", second, "count", "2026-01-05T10:00:00Z"),
      ])
      return shelf.answer(
        .healthData(ask(.steps, "2026-01-05", "2026-01-06", .day, statistic)))
    }
    let sum = Double.greatestFiniteMagnitude
    let points = try HealthReply.read(answer(sum - 1e308).bytes).points
    // The points are the merged value and the value of the only source. Both are averages of one
    // day.
    #expect(points.map(\.value) == [.number(sum), .number(sum)])
    #expect(
      answer(1e308)
        == .failure(
          "the samples add up to more than a number can hold, so some of them are wrong; ask for "
            + "the samples themselves, or for a time without them"))
  }
}
