import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import Testing

@Suite struct HealthDaysTests {
  private static let hour: Int64 = 3_600_000_000_000

  private static func sample(
    _ name: String, _ hours: Int64, to end: Int64? = nil, _ value: Double, unit: String? = "count",
    source: String = "Watch"
  ) -> HealthSample {
    HealthSample(
      type: quantity(name), value: .quantity(value), unit: unit,
      start: Timestamp(nanoseconds: hours * hour),
      end: Timestamp(nanoseconds: (end ?? hours) * hour), source: source)
  }

  private static func quantity(_ name: String) -> String { "HKQuantityTypeIdentifier\(name)" }

  /// Returns the days of samples that arrive in two pages.
  private static func days(
    _ type: String, _ samples: [HealthSample], zone: ZoneRules = .utc, days: Int64 = 9
  ) -> HealthDays {
    var found = HealthDays(
      type, from: Timestamp(nanoseconds: 0), to: Timestamp(nanoseconds: days * 24 * hour),
      zone: zone)
    let position = samples.first.map {
      HealthSamplePosition(type: type, start: $0.start, key: $0.key)
    }
    found.take(HealthSamplePage(samples: Array(samples.prefix(1)), next: position))
    #expect(found.wanted?.after == position)
    found.take(HealthSamplePage(samples: Array(samples.dropFirst())))
    #expect(found.wanted == nil)
    return found
  }

  private static func numbers(_ found: HealthDays) -> [Int64] {
    found.days.map { $0.day.nanoseconds / (24 * hour) }
  }

  @Test func `amounts are added by day, and overlapping sources count once`() {
    let found = Self.days(
      Self.quantity("FlightsClimbed"),
      [
        Self.sample("FlightsClimbed", 1, to: 2, 5),
        Self.sample("FlightsClimbed", 1, to: 3, 8, source: "iPhone"),
        Self.sample("FlightsClimbed", 23, to: 25, 6),
      ])
    #expect(found.style == .sum && found.unit == "count")
    #expect(Self.numbers(found) == [0, 1])
    // The phone counts in the hour in which the watch did not measure.
    #expect(found.days.map(\.value) == [12, 3])
    #expect(found.days.allSatisfy { $0.least == nil && $0.greatest == nil })
  }

  @Test func `a day of zero differs from a day without samples`() {
    let type = Self.quantity("StepCount")
    let found = Self.days(
      type,
      [
        Self.sample("StepCount", 1, to: 2, 100), Self.sample("StepCount", 25, to: 26, 0),
        Self.sample("StepCount", 73, 5),
      ])
    #expect(Self.numbers(found) == [0, 1, 3])
    #expect(found.days.map(\.value) == [100, 0, 5])
  }

  @Test func `a day of 25 hours has the samples of all of them`() {
    // Clocks go back from 02:00 to 01:00 on the second day.
    let change = ZoneRules.Transition(
      at: Timestamp(nanoseconds: 24 * Self.hour), secondsEast: 3_600)
    let zone = ZoneRules(initialSecondsEast: 7_200, transitions: [change])
    let samples = (0..<72).map { Self.sample("StepCount", $0, to: $0 + 1, 1) }
    let found = Self.days(Self.quantity("StepCount"), samples, zone: zone, days: 3)
    #expect(Self.numbers(found) == [0, 1, 2, 3])
    #expect(found.days.map(\.value) == [22, 25, 24, 1])
  }

  @Test func `readings have an average and extremes in the unit of the type`() {
    let found = Self.days(
      Self.quantity("BodyMass"),
      [
        Self.sample("BodyMass", 1, 80, unit: "kg"), Self.sample("BodyMass", 2, 100, unit: "lb"),
        Self.sample("BodyMass", 26, 7, unit: "count"),
      ])
    #expect(found.style == .reading && found.unit == "kg")
    #expect(found.days.map(\.least) == [45.359237])
    #expect(found.days.map(\.greatest) == [80])
    #expect(found.days.map(\.value) == [(80 + 45.359237) / 2])
  }

  @Test func `a type that no version knows has the unit of its first sample`() {
    let found = Self.days(
      Self.quantity("DietaryDistance"),
      [
        Self.sample("DietaryDistance", 1, to: 2, 2, unit: "km"),
        Self.sample("DietaryDistance", 3, to: 4, 500, unit: "m"),
        Self.sample("DietaryDistance", 5, to: 6, 9, unit: "kcal"),
      ])
    #expect(found.style == .sum && found.unit == "km")
    #expect(found.days.map(\.value) == [2.5])
    let share = Self.days(
      Self.quantity("WalkingAsymmetryPercentage"),
      [Self.sample("WalkingAsymmetryPercentage", 1, 0.25, unit: "%")])
    #expect(share.style == .reading && share.unit == "%" && share.days.map(\.value) == [25])
  }

  @Test(
    arguments: [
      ("NewTemperature", "degC", [("degF", 86), ("K", 303.15)], 30),
      ("NewTemperature", "degF", [("degC", 30), ("K", 303.15)], 86),
      ("DietaryFluid", "mL", [("L", 1.5)], 1_500), ("NewSpeed", "km/hr", [("m/s", 10)], 36),
      ("Pressure", "mmHg", [("kPa", 133.322387415)], 1_000),
    ] as [(String, String, [(String, Double)], Double)])
  func `samples in other units of the dimension are converted`(
    name: String, unit: String, samples: [(String, Double)], value: Double
  ) throws {
    for (other, amount) in samples {
      var found = HealthDays(
        Self.quantity(name), from: Timestamp(nanoseconds: 0),
        to: Timestamp(nanoseconds: 24 * Self.hour), zone: .utc,
        newest: Timestamp(nanoseconds: 90 * Self.hour))
      found.take(HealthSamplePage(samples: [Self.sample(name, 90, 1, unit: unit)]))
      found.take(HealthSamplePage(samples: [Self.sample(name, 1, to: 2, amount, unit: other)]))
      let day = try #require(found.days.first)
      #expect(found.unit == unit && abs(day.value - value) < 1e-9 * value, "\(day.value)")
    }
  }

  @Test func `the unit of the newest sample is that of every interval`() {
    let type = Self.quantity("DietaryDistance")
    let newest = Timestamp(nanoseconds: 90 * Self.hour)
    let day = 24 * Self.hour
    func values(_ samples: [HealthSample], _ first: HealthSamplePage) -> HealthDays {
      var found = HealthDays(
        type, from: Timestamp(nanoseconds: 0), to: Timestamp(nanoseconds: day), zone: .utc,
        newest: newest)
      #expect(found.wanted?.from == newest && found.wanted?.after == nil)
      found.take(first)
      #expect(found.wanted?.from == Timestamp(nanoseconds: 0) && found.wanted?.after == nil)
      found.take(HealthSamplePage(samples: samples))
      #expect(found.wanted == nil)
      return found
    }
    let long = Self.sample("DietaryDistance", 80, to: 95, 1, unit: "kcal")
    let last = Self.sample("DietaryDistance", 90, 1, unit: "km")
    let metres = [Self.sample("DietaryDistance", 1, to: 2, 500, unit: "m")]
    let found = values(metres, HealthSamplePage(samples: [long, last]))
    #expect(found.unit == "km" && found.days.map(\.value) == [0.5])
    // The newest sample can be deleted between the queries.
    let alone = values(metres, HealthSamplePage(samples: []))
    #expect(alone.unit == "m" && alone.days.map(\.value) == [500])
    let none = values([], HealthSamplePage(samples: [last]))
    #expect(none.unit == "km" && none.days.isEmpty)
  }

  @Test func `the lengths of sessions are added, and other samples are counted`() {
    func session(_ type: String, _ start: Int64, _ end: Int64) -> HealthSample {
      HealthSample(
        type: type, value: .category("x"), start: Timestamp(nanoseconds: start * Self.hour),
        end: Timestamp(nanoseconds: end * Self.hour), source: "Watch")
    }
    let mindful = "HKCategoryTypeIdentifierMindfulSession"
    let minutes = Self.days(mindful, [session(mindful, 1, 2), session(mindful, 5, 6)])
    #expect(minutes.style == .sum && minutes.unit == "min" && minutes.days.map(\.value) == [120])
    let other = "HKCategoryTypeIdentifierHandwashingEvent"
    let counts = Self.days(other, [session(other, 1, 1), session(other, 3, 3)])
    #expect(counts.style == .count && counts.unit == nil && counts.days.map(\.value) == [2])
  }

  @Test(
    arguments: [
      ("HKQuantityTypeIdentifierHeartRate", .reading, "count/min"),
      ("HKQuantityTypeIdentifierDietaryVitaminC", .sum, "mg"),
      ("HKQuantityTypeIdentifierDietaryEnergyConsumed", .sum, "kcal"),
      ("HKQuantityTypeIdentifierDietaryProtein", .sum, "g"),
      ("HKQuantityTypeIdentifierBodyTemperature", .reading, "degC"),
      ("HKQuantityTypeIdentifierOxygenSaturation", .reading, "%"),
      ("HKCategoryTypeIdentifierSleepAnalysis", .count, nil),
      ("HKQuantityTypeIdentifierNewThing", .reading, nil), ("HKWorkoutType", .count, nil),
      ("anything", .count, nil), ("", .count, nil),
    ] as [(String, HealthDays.Style, String?)])
  func `each type has a style, and known ones a unit`(
    type: String, style: HealthDays.Style, unit: String?
  ) {
    #expect(HealthDays.style(of: type) == style)
    #expect(HealthDays.unit(of: type) == unit)
  }
}
