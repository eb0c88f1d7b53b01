import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples
import Testing

@Suite struct HealthReadingsTests {
  private static let type = "HKQuantityTypeIdentifierHeartRate"
  private static let hour: Int64 = 3_600_000_000_000

  private static func sample(
    _ hours: Int64, _ value: Double, unit: String = "count/min", source: String = "Watch"
  ) -> HealthSample {
    let time = Timestamp(nanoseconds: hours * hour)
    return HealthSample(
      type: type, value: .quantity(value), unit: unit, start: time, end: time, source: source)
  }

  /// Returns the readings of samples that arrive in two pages.
  private static func readings(
    _ samples: [HealthSample], east: Int = 0, type: String = type
  ) -> HealthReadings {
    var readings = HealthReadings(
      type, from: Timestamp(nanoseconds: 0), to: Timestamp(nanoseconds: 100 * hour),
      zone: ZoneRules(initialSecondsEast: east))
    let position = samples.first.map {
      HealthSamplePosition(type: type, start: $0.start, key: $0.key)
    }
    readings.take(HealthSamplePage(samples: Array(samples.prefix(1)), next: position))
    #expect(readings.wanted?.after == position)
    readings.take(HealthSamplePage(samples: Array(samples.dropFirst())))
    #expect(readings.wanted == nil)
    return readings
  }

  @Test func `days follow the time zone and have an average, a minimum and a maximum`() {
    let found = Self.readings(
      [Self.sample(1, 60), Self.sample(22, 90), Self.sample(23, 75)], east: 3_600)
    let day = CivilTime(nanoseconds: 24 * Self.hour)
    #expect(found.days.map(\.day) == [CivilTime(nanoseconds: 0), day])
    #expect(found.days.map(\.figures.average) == [75, 75])
    #expect(found.days.map(\.figures.least) == [60, 75])
    #expect(found.days.map(\.figures.greatest) == [90, 75])
    #expect(found.figures.count == 3 && found.figures.average == 75)
    #expect(found.latest?.value == 75)
    #expect(found.latest?.at == Timestamp(nanoseconds: 23 * Self.hour))
  }

  @Test
  func `equal readings of several sources count once, other values or times count separately`() {
    let found = Self.readings([
      Self.sample(1, 60), Self.sample(1, 60, source: "Copy"), Self.sample(1, 66),
      Self.sample(1, 60, source: "Third"), Self.sample(2, 60),
    ])
    // The average weights 63, which is the mean of 60 and 66, and 60 by 10 minutes each.
    #expect(found.figures.count == 3 && found.figures.average == 61.5)
  }

  @Test func `units are converted, and unknown ones left out`() {
    let found = Self.readings([Self.sample(1, 1.5, unit: "Hz"), Self.sample(2, 7, unit: "lb")])
    #expect(found.figures.count == 1 && found.figures.average == 90)
    #expect(found.latest?.value == 90)
  }

  @Test func `readings that are not finite in the reported unit are ignored`() {
    let numbers = Self.readings([Self.sample(1, 60)])
    let found = Self.readings([
      Self.sample(1, 60), Self.sample(2, .infinity), Self.sample(3, .nan),
      Self.sample(4, 1e308, unit: "Hz"),
    ])
    #expect(found.figures == numbers.figures)
    #expect(found.days == numbers.days)
    #expect(found.latest == numbers.latest)
  }

  @Test func `types that no question names keep their unit`() {
    let found = Self.readings(
      [Self.sample(1, 41, unit: "mL/min\u{B7}kg")], type: "HKQuantityTypeIdentifierVO2Max")
    #expect(found.figures.average == 41)
  }

  @Test func `without samples there is no average`() {
    let found = Self.readings([])
    #expect(found.figures.average == nil && found.latest == nil && found.days == [])
    #expect(found.figures.least == 0 && found.figures.greatest == 0)
  }

  @Test func `a reading that began before the interval is ignored even if it ends within it`() {
    var early = Self.sample(-1, 50)
    early.end = Timestamp(nanoseconds: Self.hour)
    let found = Self.readings([early, Self.sample(0, 60)])
    #expect(found.days.map(\.figures.average) == [60])
    #expect(found.figures.least == 60)
  }

  @Test func `times that clocks repeat after midnight belong to the day that has already begun`() {
    // At 00:30 of the second day the clocks go back to 23:30.
    let change = Timestamp(nanoseconds: 23 * Self.hour + Self.hour / 2)
    let zone = ZoneRules(
      initialSecondsEast: 3_600, transitions: [.init(at: change, secondsEast: 0)])
    var readings = HealthReadings(
      Self.type, from: Timestamp(nanoseconds: 0), to: Timestamp(nanoseconds: 100 * Self.hour),
      zone: zone)
    var again = Self.sample(23, 70)
    again.start = change
    readings.take(
      HealthSamplePage(
        samples: [Self.sample(22, 50), Self.sample(23, 60), again, Self.sample(24, 80)]))
    let days = [0, 24].map { CivilTime(nanoseconds: $0 * Self.hour) }
    #expect(readings.days.map(\.day) == days)
    #expect(readings.days.map(\.figures.average) == [50, 70])
  }
}
