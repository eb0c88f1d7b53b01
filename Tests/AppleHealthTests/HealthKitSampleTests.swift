import Foundation
@_spi(Script) import HealthKit
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSync
import HoldfastSyncData
import Testing

@testable import HoldfastHealth
@testable import HoldfastHealthKit
@testable import HoldfastHealthSamples

/// Tests of the form of samples, by comparison with the reader of exports.
@Suite(.timeLimit(.minutes(60))) struct HealthKitSampleTests {
  private typealias Fixture = HealthFixture

  @Test func `every synced type can be read`() async throws {
    let script = ScriptedHealth()
    let source = Fixture.source(script)
    try script.add([
      Fixture.sample(Fixture.steps, 812), Fixture.sample(Fixture.heart, 1.2, "count/s"),
      Fixture.sample(Fixture.quantity + "ActiveEnergyBurned", 3_058.504, "J"),
      Fixture.sample(Fixture.quantity + "BodyMass", 70, "kg"),
      Fixture.sample(Fixture.quantity + "VO2Max", 41.23, "ml/kg*min"),
      HKCategorySample(Fixture.category(of: Fixture.sleep), 5, Fixture.facts(600)),
      HKWorkout(.running, lasting: 60, [:], Fixture.facts(600)),
    ])
    let wanted: [String: (HealthSampleValue, String?)] = [
      Fixture.steps: (.quantity(812), "count"), Fixture.heart: (.quantity(72), "count/min"),
      Fixture.quantity + "ActiveEnergyBurned": (.quantity(0.731), "kcal"),
      Fixture.quantity + "BodyMass": (.quantity(154.324), "lb"),
      Fixture.quantity + "VO2Max": (.quantity(41.23), "mL/min·kg"),
      Fixture.sleep: (.category("HKCategoryValueSleepAnalysisAsleepREM"), nil),
      Fixture.workout: (
        .workout(WorkoutValue(activity: "HKWorkoutActivityTypeRunning", duration: .seconds(60))),
        nil
      ),
    ]
    #expect(Set(SyncTypes.usual) == Set(wanted.keys))
    for type in SyncTypes.usual {
      let page = try await source.page(type, from: Fixture.everything, limit: 10)
      let sample = try #require(page.added.first?.sample)
      #expect(sample.type == type)
      #expect(sample.value == wanted[type]?.0)
      #expect(sample.unit == wanted[type]?.1)
    }
    #expect(script.misuses == [])
  }

  @Test func `every unit of every type is compatible with HealthKit's quantities`() throws {
    #expect(Set(HealthKitUnits.choices.keys).isSubset(of: HealthKitTypes.all))
    let script = ScriptedHealth()
    for (type, units) in HealthKitUnits.choices {
      #expect(HealthKitTypes.type(type)?.identifier == type)
      let apples = HKQuantity(
        unit: HKUnit(from: try #require(KnownTypes.units[type])), doubleValue: 1)
      for unit in units {
        #expect(apples.is(compatibleWith: HKUnit(from: unit)), "\(type) in \(unit)")
        #expect(HealthKitUnits([type: unit]).unit(of: type) == unit)
        let sample = try Fixture.sample(type, 3, unit)
        script.add([sample])
        for other in units {
          let read = try HealthKitSamples(units: HealthKitUnits([type: other])).sample(sample)
          #expect(read.unit == other)
          guard case .quantity(let number) = read.value else {
            Issue.record("no quantity: \(read)")
            continue
          }
          #expect(number.isFinite)
          if unit == other { #expect(number == 3) }
        }
      }
    }
    #expect(script.misuses == [])
  }

  @Test func `every quantity and category of HealthKit can be read, and workouts`() {
    let names = Set(KnownTypes.units.keys).union(KnownTypes.categories)
    #expect(names.count == 190)
    #expect(HealthKitTypes.all == names.union([Fixture.workout]).sorted())
    for type in HealthKitTypes.all { #expect(HealthKitTypes.type(type)?.identifier == type) }
    #expect(Set(HealthKitUnits.choices.keys) == Set(KnownTypes.units.keys))
  }

  @Test func `the usual types are those of the sixteen words, and others of every day`() {
    #expect(Set(HealthKitTypes.usual).isSubset(of: HealthKitTypes.all))
    #expect(HealthKitTypes.usual.count == 32)
    #expect(Set(SyncTypes.usual).isSubset(of: HealthKitTypes.usual))
    let asked = HealthValueType.allCases.flatMap(\.kinds).map(\.identifier)
    #expect(Set(asked).isSubset(of: HealthKitTypes.usual))
  }

  @Test func `a value of each category has the name of exports, and another its number`() throws {
    for type in KnownTypes.categories {
      let known = try #require(HealthType.named(type))
      let names = (0...6).map { HealthKitNames.category($0, of: type) }
      #expect(names == (0...6).map { known.valueName($0) ?? "\($0)" })
      #expect(names.contains { $0.hasPrefix("HKCategoryValue") }, "\(type)")
    }
  }

  @Test func `units that the table does not contain are ignored`() {
    let units = HealthKitUnits([Fixture.heart: "lb", "unheard of": "kg", Fixture.steps: ""])
    #expect(units == HealthKitUnits())
    #expect(units.unit(of: Fixture.heart) == "count/min")
    #expect(units.unit(of: "unheard of") == nil)
    #expect(units.unit(of: Fixture.sleep) == nil)
  }

  @Test func `a quantity that does not fit its unit fails the page and is never converted`()
    async throws
  {
    let script = ScriptedHealth()
    try script.add([Fixture.sample(Fixture.heart, 70, "kg")])
    await #expect(
      throws: HealthSourceFailure.failed(
        detail: "samples of \(Fixture.heart) have no value in count/min")
    ) {
      try await Fixture.source(script).page(Fixture.heart, from: Fixture.everything, limit: 1)
    }
    #expect(script.misuses == [])
  }

  @Test func `the stand-in records a read in an incompatible unit`() throws {
    let script = ScriptedHealth()
    let sample = try Fixture.sample()
    script.add([sample])
    #expect(sample.quantity.doubleValue(for: HKUnit(from: "kg")).isNaN)
    #expect(script.misuses == ["a quantity in count was read in kg"])
    #expect(!sample.quantity.is(compatibleWith: HKUnit(from: "furlong")))
    #expect(script.misuses.last == "furlong is no unit")
  }

  @Test func `values of categories and activities have the names of exports`() {
    let stages = (0...6).map { HealthKitNames.category($0, of: Fixture.sleep) }
    let names = ["InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM"]
    #expect(stages == names.map { "HKCategoryValueSleepAnalysis" + $0 } + ["6"])
    #expect(HealthKitNames.category(-1, of: Fixture.sleep) == "-1")
    #expect(
      HealthKitNames.category(0, of: HealthKitNames.mindfulness) == "HKCategoryValueNotApplicable")
    let activities: [(HKWorkoutActivityType, String)] = [
      (.walking, "Walking"), (.running, "Running"), (.cycling, "Cycling"),
      (.swimming, "Swimming"), (.traditionalStrengthTraining, "TraditionalStrengthTraining"),
      (.functionalStrengthTraining, "FunctionalStrengthTraining"), (.hiking, "Hiking"),
      (.yoga, "Yoga"), (.elliptical, "Elliptical"), (.rowing, "Rowing"), (.other, "Other"),
      (.swimBikeRun, "SwimBikeRun"),
    ]
    for (activity, name) in activities {
      #expect(HealthKitNames.activity(activity.rawValue) == "HKWorkoutActivityType" + name)
    }
    for number: UInt in [0, 81, 85, 3_000, .max] {
      #expect(HealthKitNames.activity(number) == "HKWorkoutActivityTypeOther")
    }
    #expect(HealthKitNames.activity(84) == "HKWorkoutActivityTypeUnderwaterDiving")
  }
}

/// Tests that an exported and a live sample have the same key.
@Suite(.timeLimit(.minutes(60))) struct HealthKitExportTests {
  private typealias Fixture = HealthFixture
  /// The attributes of a sample of `facts`.
  private static let attributes =
    "sourceName=\"Mia’s&#xA0;Apple Watch\" "
    + "device=\"&lt;&lt;HKDevice: 0x174294140&gt;, name:Apple Watch, manufacturer:Apple Inc., "
    + "model:Watch, hardware:Watch6,1, software:10.2.1&gt;\" "
    + "startDate=\"2026-01-18 20:50:00 +0100\" endDate=\"2026-01-18 20:51:10 +0100\""
  private static let zone = "<MetadataEntry key=\"HKTimeZone\" value=\"Europe/Vienna\"/>"

  private static var facts: SampleFacts {
    var facts = HealthFixture.facts(599.75, lasting: 70.5, source: "Mia’s\u{A0}Apple\u{7} Watch")
    facts.device = HKDevice(
      name: "Apple Watch", manufacturer: "Apple Inc.", model: "Watch", hardware: "Watch6,1",
      software: "10.2.1")
    facts.metadata = [HKMetadataKeyTimeZone: "Europe/Vienna", "HKWasUserEntered": 1]
    return facts
  }

  private static func exported(_ element: String) throws -> HealthSample {
    var reader = HealthExportReader()
    let bytes = ArraySlice("<HealthData>\(element)</HealthData>".utf8)
    reader.append(bytes.span)
    reader.finish()
    let batch = try #require(try reader.next())
    return batch[try #require(batch.rows.first)]
  }

  private static func live(_ sample: HKSample) throws -> HealthSample {
    try HealthKitSamples(units: HealthKitUnits()).sample(sample)
  }

  private static func expectSame(_ sample: HKSample, _ element: String) throws {
    let (live, exported) = (try live(sample), try exported(element))
    #expect(live == exported)
    #expect(live.key == exported.key)
  }

  @Test func `quantities of every type equal their exports`() throws {
    let numbers = [72.0, 71.99999999999999, 0.15134212345, 154.3235835, 0, -0.5, 1_234.5, 3e-7]
    for type in HealthKitUnits.choices.keys.sorted() {
      let unit = try #require(HealthKitUnits().unit(of: type))
      for number in numbers {
        let text = String(format: "%.6g", number)
        try Self.expectSame(
          Fixture.sample(type, number, unit, Self.facts),
          "<Record type=\"\(type)\" unit=\"\(unit)\" value=\"\(text)\" \(Self.attributes)>"
            + "\(Self.zone)</Record>")
      }
    }
  }

  @Test func `large numbers keep whole units`() throws {
    #expect(try Self.live(Fixture.sample(Fixture.steps, 1_234_567)).value == .quantity(1_234_567))
  }

  @Test func `categories equal their exports`() throws {
    let names = ["InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM"]
    for (value, name) in names.enumerated() {
      try Self.expectSame(
        HKCategorySample(Fixture.category(of: Fixture.sleep), value, Self.facts),
        "<Record type=\"\(Fixture.sleep)\" value=\"HKCategoryValueSleepAnalysis\(name)\" "
          + "\(Self.attributes)>\(Self.zone)</Record>")
    }
    try Self.expectSame(
      HKCategorySample(
        Fixture.category(of: "HKCategoryTypeIdentifierHeadache"), 4, Self.facts),
      "<Record type=\"HKCategoryTypeIdentifierHeadache\" value=\"HKCategoryValueSeveritySevere\" "
        + "\(Self.attributes)>\(Self.zone)</Record>")
    try Self.expectSame(
      HKCategorySample(Fixture.category(of: HealthKitNames.mindfulness), 0, Self.facts),
      "<Record type=\"\(HealthKitNames.mindfulness)\" value=\"HKCategoryValueNotApplicable\" "
        + "\(Self.attributes)>\(Self.zone)</Record>")
  }

  /// An activity, and the sums of its statistics, each with its type, number and unit.
  private static let workouts: [(HKWorkoutActivityType, [(String, Double, String)])] = [
    (.running, [("ActiveEnergyBurned", 300, "kcal"), ("DistanceWalkingRunning", 5, "km")]),
    (.walking, [("StepCount", 4_211, "count"), ("DistanceWalkingRunning", 2.5, "mi")]),
    (.cycling, [("DistanceCycling", 20, "km"), ("DistanceWalkingRunning", 99, "km")]),
    (.cycling, [("DistanceWalkingRunning", 0.25, "km")]),
    (.swimBikeRun, [("DistanceCycling", 20, "km"), ("DistanceSwimming", 750, "m")]),
    (.yoga, [("BasalEnergyBurned", 30, "kcal"), ("DistanceWalkingRunning", 3, "m")]),
    (.other, []),
  ]

  @Test func `workouts equal their exports`() throws {
    for (activity, sums) in Self.workouts {
      var statistics: [HKQuantityType: HKStatistics] = [:]
      var body = Self.zone
      for (name, number, unit) in sums {
        statistics[try Fixture.type(of: Fixture.quantity + name)] = HKStatistics(
          sum: HKQuantity(unit: HKUnit(from: unit), doubleValue: number))
        body +=
          "<WorkoutStatistics type=\"\(Fixture.quantity + name)\" sum=\"\(number)\" "
          + "unit=\"\(unit)\"/>"
      }
      let name = HealthKitNames.activity(activity.rawValue)
      try Self.expectSame(
        HKWorkout(activity, lasting: 1_834.27, statistics, Self.facts),
        "<Workout workoutActivityType=\"\(name)\" duration=\"1834.27\" durationUnit=\"s\" "
          + "\(Self.attributes)>\(body)</Workout>")
    }
  }

  @Test func `a sample without a device and a zone has none`() throws {
    var facts = Fixture.facts(600)
    facts.device = HKDevice()
    facts.metadata = [HKMetadataKeyTimeZone: ""]
    let live = try Self.live(Fixture.sample(Fixture.steps, 1, "count", facts))
    #expect(live.device == nil)
    #expect(live.zone == nil)
  }

  @Test func `dates outside of all calendars are bounded`() throws {
    for date in [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: 1e300)] {
      let sample = try Self.live(
        Fixture.sample(Fixture.steps, 1, "count", SampleFacts(start: date, end: date)))
      #expect(sample.start == sample.end)
    }
  }
}
