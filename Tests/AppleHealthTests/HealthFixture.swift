import Foundation
@_spi(Script) import HealthKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthKit
import HoldfastPorts
import HoldfastTestKit

/// Functions that create samples of HealthKit, and sources that read them.
enum HealthFixture {
  static let quantity = "HKQuantityTypeIdentifier"
  static let steps = quantity + "StepCount"
  static let heart = quantity + "HeartRate"
  static let sleep = "HKCategoryTypeIdentifierSleepAnalysis"
  static let workout = "HKWorkoutTypeIdentifier"

  /// The time of the clock: 2026-01-18T20:00:00Z.
  static let now = Timestamp(nanoseconds: 1_768_766_400_000_000_000)
  static let everything = HealthPageStart.last(.seconds(400 * 86_400))

  /// Returns the date that lies some seconds before the time of the clock.
  static func date(_ secondsBefore: Double) -> Date {
    Date(timeIntervalSince1970: 1_768_766_400 - secondsBefore)
  }

  static func facts(
    _ secondsBefore: Double, lasting duration: Double = 60, source: String = "Phone"
  ) -> SampleFacts {
    let start = date(secondsBefore)
    return SampleFacts(
      start: start, end: start.addingTimeInterval(duration), source: HKSource(source))
  }

  static func type(of identifier: String) throws -> HKQuantityType {
    guard
      let type = HKObjectType.quantityType(
        forIdentifier: HKQuantityTypeIdentifier(rawValue: identifier))
    else { throw FixtureError(what: identifier) }
    return type
  }

  static func category(of identifier: String) throws -> HKCategoryType {
    guard
      let type = HKObjectType.categoryType(
        forIdentifier: HKCategoryTypeIdentifier(rawValue: identifier))
    else { throw FixtureError(what: identifier) }
    return type
  }

  static func sample(
    _ identifier: String = steps, _ number: Double = 12, _ unit: String = "count",
    _ facts: SampleFacts = facts(600)
  ) throws -> HKQuantitySample {
    HKQuantitySample(
      try type(of: identifier), HKQuantity(unit: HKUnit(from: unit), doubleValue: number), facts)
  }

  static func source(
    _ script: ScriptedHealth, units: [String: String] = [:],
    events: @escaping @Sendable (HealthKitEvent) -> Void = { _ in }
  ) -> HealthKitSource {
    HealthKitSource(
      HKHealthStore(script), units: HealthKitUnits(units), clock: TestClock(wall: now),
      events: events)
  }

  static func reading(
    _ script: ScriptedHealth, types: [String] = HealthKitTypes.all
  ) -> HealthKitReading {
    HealthKitReading(HKHealthStore(script), types: types, clock: TestClock(wall: now))
  }

  /// Waits, without a pause, until a condition holds.
  static func until(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
  }
}

/// An identifier that the stand-in does not know.
struct FixtureError: Error { var what: String }

/// A call of an observer.
struct Fire: Sendable {
  var types: [String]
  var wake: Wake
}
