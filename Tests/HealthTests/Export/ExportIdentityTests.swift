import Foundation
import HoldfastCore
import HoldfastHealthSamples
import Testing

/// Tests of the identity of entries in an export, and of the choice of a workout's distance.
@Suite struct ExportIdentityTests {
  /// Returns the default record with a creation date.
  private static func record(created: String) -> String {
    Export.record("value=\"1\" creationDate=\"\(created)\"")
  }

  @Test func `entries with equal content and different creation dates are two samples`() throws {
    let (one, other) = ("2026-01-05 08:15:00 +0100", "2026-01-05 08:15:01 +0100")
    let export = try Export(body: [one, other].map(Self.record).joined())
    #expect(export.samples == [Export.sample(), Export.sample()])
    #expect(Set(export.keys).count == 2)
  }

  @Test func `a sample has the same key in a copy within a correlation and in a later export`()
    throws
  {
    let (winter, summer) = ("2026-01-05 08:15:00 +0100", "2026-01-05 09:15:00 +0200")
    let copy = "<Correlation type=\"c\">\(Self.record(created: winter))</Correlation>"
    let export = try Export(body: [winter, summer].map(Self.record).joined() + copy)
    #expect(export.samples.count == 3)
    #expect(Set(export.keys).count == 1)
  }

  @Test func `a record without a creation date has the key of its content`() throws {
    let export = try Export(body: Export.record() + Self.record(created: "yesterday"))
    #expect(export.keys == [Export.sample().key])
    #expect(export.skipped == [.noDate: 1])
  }

  @Test func `a key with a creation date matches another implementation of MurmurHash3`()
    throws
  {
    let export = try Export(body: Self.record(created: "2026-01-05 08:10:06 +0100"))
    #expect(
      export.keys == [
        HealthSampleKey(high: 8_068_475_126_456_762_426, low: 10_410_115_742_833_450_661)
      ])
  }

  @Test func `a workout that was entered twice is two samples`() throws {
    func workout(_ created: String) -> String {
      """
      <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="App" \
      creationDate="2026-01-05 \(created) +0100" startDate="2026-01-05 08:00:00 +0100" \
      endDate="2026-01-05 08:30:00 +0100"/>
      """
    }
    let export = try Export(body: ["09:00:00", "09:00:00", "10:00:00"].map(workout).joined())
    #expect(export.keys[0] == export.keys[1])
    #expect(export.keys[0] != export.keys[2])
  }

  /// The expected counts come from a Python script that compares the attributes as strings.
  @Test(.enabled(if: RealExport.path != nil, "no real export; set HOLDFAST_EXPORT to its path"))
  func `a real export has one key for each distinct content and creation date`() throws {
    let path = try #require(RealExport.path)
    let export = try Export(Data(contentsOf: URL(filePath: path)))
    #expect(Set(export.keys).count == 10_930 + 61)
    #expect(export.counts.unread == [])
    var carbohydrates: [HealthSampleKey: Double] = [:]
    for (sample, key) in zip(export.samples, export.keys)
    where sample.type == "HKQuantityTypeIdentifierDietaryCarbohydrates" {
      if case .quantity(let grams) = sample.value { carbohydrates[key] = grams }
    }
    #expect(carbohydrates.count == 52)
    #expect(abs(carbohydrates.values.reduce(0, +) - 2_704.057_3) < 0.000_1)
  }

  // Unreadable parts.

  @Test(arguments: [
    "x", "Record type=\"t\"/>", "\u{0}", "<Record/>", "<Record type=\"t\"\"/>", "<", "< >",
    "<Correlation></Correlation <Record type=\"t\" sourceName=\"swallowed by an end tag\"/>",
  ])
  func `damage that may hide a sample of any type marks all types as unread`(damage: String) throws
  {
    for pieces in [1, 7, 10_000] {
      let export = try Export(body: "\(Export.record())\n\(damage)\n", pieces: pieces)
      #expect(export.samples == [Export.sample()])
      #expect(export.counts.unread == nil)
    }
  }

  @Test func `damage that may hide a sample of one type marks that type as unread`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\""
    let cases: [(String, Set<String>)] = [
      ("", []), ("<Thing/>", []), ("<Thing type=\"t\" \(dates)/>", []),
      ("<Rekord type=\"t\" sourceName=\"s\" \(dates)/>", ["t"]),
      (
        "<Workaut workoutActivityType=\"a\" sourceName=\"s\" \(dates)/>", [HealthSample.workoutType]
      ),
      ("<Record type=\"t\" sourceName=\"s\" \(dates) value=\"?\"/>", ["t"]),
      ("<!-- <Record/> --><?x y?>", []), ("</HealthData>\u{1}x", []),
    ]
    for (body, unread) in cases {
      #expect(try Export(body: Export.record() + body).counts.unread == unread, "\(body)")
    }
  }

  // Distances.

  private static func metres(
    _ activity: String, _ parts: [(String, Double)], attribute: Double? = nil
  ) throws -> Double? {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""
    let statistics = parts.map { name, metres in
      "<WorkoutStatistics type=\"HKQuantityTypeIdentifierDistance\(name)\" "
        + "sum=\"\(metres)\" unit=\"m\"/>"
    }
    let whole = attribute.map { "totalDistance=\"\($0)\" totalDistanceUnit=\"m\"" } ?? ""
    let export = try Export(
      body: "<Workout workoutActivityType=\"HKWorkoutActivityType\(activity)\" sourceName=\"s\" "
        + "\(dates) \(whole)>\(statistics.joined())</Workout>")
    guard case .workout(let value)? = export.samples.first?.value else { return nil }
    return value.distance
  }

  /// The names of activities and distances come from Apple's documentation of
  /// `HKWorkoutActivityType` and `HKQuantityTypeIdentifier`.
  @Test(
    arguments: [
      ("SwimBikeRun", [("Swimming", 750), ("Cycling", 20_000), ("WalkingRunning", 5_000)], 25_750),
      ("Cycling", [("Cycling", 20_000), ("WalkingRunning", 30_000)], 20_000),
      ("Swimming", [("Swimming", 1_500), ("WalkingRunning", 1_620)], 1_500),
      ("Running", [("Cycling", 9_000), ("WalkingRunning", 5_000)], 5_000),
      ("Hiking", [("Cycling", 9_000), ("WalkingRunning", 5_000)], 5_000),
      ("WheelchairRunPace", [("Wheelchair", 400), ("WalkingRunning", 500)], 400),
      ("DownhillSkiing", [("DownhillSnowSports", 400), ("WalkingRunning", 500)], 400),
      ("Yoga", [("Cycling", 20), ("WalkingRunning", 30)], 30),
    ] as [(String, [(String, Double)], Double)])
  func `a workout's distance is the one that fits its activity, in any order`(
    activity: String, parts: [(String, Double)], metres: Double
  ) throws {
    for order in [parts, parts.reversed()] {
      #expect(try Self.metres(activity, order) == metres)
      #expect(try Self.metres(activity, order, attribute: 1) == metres)
    }
  }

  @Test func `walking distance does not count as the distance of a bicycle ride`() throws {
    #expect(try Self.metres("Cycling", [("WalkingRunning", 300)]) == nil)
    #expect(try Self.metres("Cycling", [("WalkingRunning", 300)], attribute: 20_000) == 20_000)
  }
}
