import Foundation
import HoldfastCore
import HoldfastHealthSamples
import Testing

/// Tests of the samples and counts that are read from valid exports.
@Suite struct ExportReadingTests {
  @Test func `a record becomes a sample with all of its attributes`() throws {
    let export = try Export(
      body: """
        <Record type="HKQuantityTypeIdentifierHeartRate" sourceName="Anna&#x2019;s Watch" \
        sourceVersion="11.2" device="&lt;&lt;HKDevice: 0x28&gt;, name:Apple Watch, \
        model:Watch&gt;" \
        unit="count/min" creationDate="2026-03-29 04:00:06 +0200" \
        startDate="2026-03-29 00:30:00 +0200" endDate="2026-03-29 03:30:59 +0200" value="61.5">
          <MetadataEntry key="HKTimeZone" value="Europe/Zurich"/>
          <MetadataEntry key="HKWasUserEntered" value="0"/>
         </Record>
        """)
    let sample = HealthSample(
      type: "HKQuantityTypeIdentifierHeartRate", value: .quantity(61.5), unit: "count/min",
      start: Export.time("2026-03-28T22:30:00Z"), end: Export.time("2026-03-29T01:30:59Z"),
      source: "Anna’s Watch", device: "name:Apple Watch, model:Watch", zone: "Europe/Zurich")
    #expect(export.samples == [sample])
    #expect(export.skipped == [.metadata: 1])
    #expect(export.counts.isWhole)
  }

  @Test func `categories keep their name, and workouts keep their totals`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""
    let export = try Export(
      body: """
        <Record type="HKCategoryTypeIdentifierSleepAnalysis" sourceName="W" \(dates) \
        value="HKCategoryValueSleepAnalysisAsleepREM"/>
        <Record type="HKCategoryTypeIdentifierMindfulSession" sourceName="W" \(dates)/>
        <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="29.5" \
        durationUnit="min" totalDistance="3.1" totalDistanceUnit="mi" totalEnergyBurned="1000" \
        totalEnergyBurnedUnit="kJ" sourceName="Old" \(dates)/>
        <Workout workoutActivityType="HKWorkoutActivityTypeWalking" sourceName="New" \(dates)>
          <WorkoutActivity uuid="1"><WorkoutStatistics sum="7"
            type="HKQuantityTypeIdentifierStepCount" unit="count"/></WorkoutActivity>
          <WorkoutStatistics type="HKQuantityTypeIdentifierStepCount" sum="3000" unit="count"/>
          <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned"
            sum="150.5" unit="Cal"/>
          <WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning"
            sum="2.5" unit="km"/>
          <WorkoutStatistics type="HKQuantityTypeIdentifierSwimmingStrokeCount" sum="9" unit="m"/>
          <WorkoutEvent type="HKWorkoutEventTypePause"/>
        </Workout>
        """)
    let values: [HealthSampleValue] = [
      .category("HKCategoryValueSleepAnalysisAsleepREM"), .category(""),
      .workout(
        WorkoutValue(
          activity: "HKWorkoutActivityTypeRunning", duration: .seconds(1_770),
          distance: 3.1 * 1_609.344, energy: 1_000 / 4.184)),
      .workout(
        WorkoutValue(
          activity: "HKWorkoutActivityTypeWalking", distance: 2_500, energy: 150.5, steps: 3_000)),
    ]
    #expect(export.samples.map(\.value) == values)
    #expect(export.samples.map(\.source) == ["W", "W", "Old", "New"])
    #expect(export.skipped == [.workoutDetail: 2])
  }

  @Test func `statistics of a part of a workout do not count for the whole`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""
    func steps(_ count: Int) -> String {
      "<WorkoutStatistics type=\"HKQuantityTypeIdentifierStepCount\" sum=\"\(count)\"/>"
    }
    let bodies = [
      steps(3_000) + "<WorkoutActivity>" + steps(7) + "</WorkoutActivity>",
      "<WorkoutActivity/>" + steps(5),
    ]
    let workouts = bodies.map {
      "<Workout workoutActivityType=\"a\" sourceName=\"s\" \(dates)>\($0)</Workout>"
    }
    let export = try Export(body: workouts.joined())
    let values: [HealthSampleValue] = [
      .workout(WorkoutValue(activity: "a", steps: 3_000)),
      .workout(WorkoutValue(activity: "a", steps: 5)),
    ]
    #expect(export.samples.map(\.value) == values)
    #expect(export.skipped == [.workoutDetail: 2])
  }

  /// Returns the totals of a workout with the given attributes.
  private static func workout(_ attributes: String) throws -> WorkoutValue? {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""
    let export = try Export(
      body: "<Workout workoutActivityType=\"a\" sourceName=\"s\" \(dates) \(attributes)/>")
    guard case .workout(let value)? = export.samples.first?.value else { return nil }
    return value
  }

  @Test(arguments: [
    ("m", 1.0), ("km", 1_000), ("cm", 0.01), ("mi", 1_609.344), ("ft", 0.3048), ("yd", 0.9144),
    ("au", nil),
  ])
  func `a distance is converted to meters`(unit: String, metres: Double?) throws {
    let value = try Self.workout("totalDistance=\"3\" totalDistanceUnit=\"\(unit)\"")
    #expect(value?.distance == metres.map { 3 * $0 })
  }

  @Test(arguments: [
    ("kcal", 1.0), ("Cal", 1), ("cal", 0.001), ("kJ", 1 / 4.184), ("J", 1 / 4_184), ("eV", nil),
  ])
  func `energy is converted to kilocalories`(unit: String, kilocalories: Double?) throws {
    let value = try Self.workout("totalEnergyBurned=\"3\" totalEnergyBurnedUnit=\"\(unit)\"")
    #expect(value?.energy == kilocalories.map { 3 * $0 })
  }

  @Test(arguments: [
    ("2", "s", 2), ("2", "sec", 2), ("2", "min", 120), ("2", "hr", 7_200), ("2", "h", 7_200),
    ("2", "d", nil), ("0", "s", 0), ("-1", "s", nil), ("999999999", "s", 999_999_999),
    ("1000000000", "s", nil), ("1e300", "min", nil), ("17000000", "min", nil),
  ])
  func `a duration below 32 years is converted to seconds`(
    amount: String, unit: String, seconds: Int?
  ) throws {
    let value = try Self.workout("duration=\"\(amount)\" durationUnit=\"\(unit)\"")
    #expect(value?.duration == seconds.map { .seconds($0) })
  }

  @Test func `a batch has its own rows and workouts, 8,192 if no span ends`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""
    let workouts = (0..<40_000).map {
      "<Workout workoutActivityType=\"a\" sourceName=\"s\" duration=\"\($0)\" "
        + "durationUnit=\"s\" \(dates)/>"
    }
    var reader = HealthExportReader()
    reader.append(("<HealthData>" + workouts.joined() + "</HealthData>").utf8)
    reader.finish()
    var counts: [Int] = []
    while let batch = try reader.next() {
      #expect(batch.workouts.count == batch.rows.count)
      counts.append(batch.rows.count)
    }
    // All samples have the same key, which does not end a span, so each batch is as long as
    // allowed.
    #expect(counts == [8_192, 8_192, 8_192, 8_192, 7_232])
  }

  @Test func `fingerprints differ for exports that differ only in one value`() throws {
    func fingerprint(_ value: Int) throws -> HealthFingerprint {
      var reader = HealthExportReader()
      let text = "<HealthData>\(Export.record("value=\"\(value)\""))</HealthData>"
      reader.append(text.utf8)
      reader.finish()
      var fingerprint = HealthFingerprint()
      while let batch = try reader.next() { fingerprint.add(batch) }
      return fingerprint
    }
    #expect(try fingerprint(1) == fingerprint(1))
    #expect(try fingerprint(1) != fingerprint(2))
  }

  @Test func `the reader reports the version, locale, export date and counts by type`() throws {
    let export = try Export(Export.generated())
    #expect(export.counts.version == 14)
    #expect(export.counts.locale == "en_CH")
    #expect(export.counts.exported == Export.time("2026-03-31T08:20:00Z"))
    #expect(export.counts.total == export.samples.count)
    let types = Dictionary(grouping: export.samples, by: \.type).mapValues(\.count)
    #expect(export.counts.samples == types)
    #expect(export.counts.bytes == Export.generated().count)
  }

  @Test(arguments: [9, 10, 29, 9_054])
  func `the version is read with all of its digits`(version: Int) throws {
    let definition = "<!DOCTYPE HealthData [<!-- HealthKit Export Version: \(version) -->]>"
    let export = try Export("\(definition)<HealthData></HealthData>".utf8)
    #expect(export.counts.version == version)
  }

  @Test(arguments: ["Figure", "Remark", "Remarks"])
  func `an unknown element in a record does not end the record`(name: String) throws {
    let zone = "<MetadataEntry key=\"HKTimeZone\" value=\"UTC\"/>"
    let export = try Export(body: Export.record(body: "<\(name)></\(name)>\(zone)"))
    #expect(export.samples.map(\.zone) == ["UTC"])
    #expect(export.skipped == [.unknown: 1])
  }

  @Test func `a zone after the end of a workout does not belong to that workout`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""
    let workout = "<Workout workoutActivityType=\"a\" sourceName=\"s\" \(dates)></Workout>"
    let zone = "<MetadataEntry key=\"HKTimeZone\" value=\"UTC\"/>"
    let export = try Export(body: workout + zone)
    #expect(export.samples.map(\.zone) == [nil])
  }

  @Test func `a text that is repaired counts, even if no sample has it`() throws {
    let export = try Export(body: "<Record type=\"a\u{0B}\" sourceName=\"s\" value=\"1\"/>")
    #expect(export.samples == [])
    #expect(export.skipped == [.noDate: 1])
    #expect(export.counts.repaired == 1)
  }

  @Test func `records within correlations have the same keys as records outside`() throws {
    let pair = Export.record() + "<Correlation type=\"c\">" + Export.record() + "</Correlation>"
    let export = try Export(body: pair)
    #expect(export.samples == [Export.sample(), Export.sample()])
    #expect(export.samples[0].key == export.samples[1].key)
    #expect(export.skipped == [.correlation: 1])
  }

  @Test func `the key depends on the content, not on its notation`() throws {
    let summer = try Export(
      body: """
        <Record value="61.50" unit="count" type="t" sourceName="a&amp;b" device="x" \
        startDate="2026-01-05 09:00:00 +0200" endDate="2026-01-05 10:00:00 +0200"/>
        """)
    let winter = try Export(
      body: """
        <Record type='t' sourceName='a&#38;b' unit='count' value='61.5' \
        startDate='2026-01-05 08:00:00 +0100' endDate='2026-01-05 09:00:00 +0100'/>
        """)
    #expect(summer.samples[0].key == winter.samples[0].key)
    #expect(summer.digests == winter.digests)
  }

  @Test func `keys never change, because stores contain them`() {
    #expect(
      Export.sample().key
        == HealthSampleKey(high: 13_672_763_444_206_537_925, low: 4_765_347_262_619_812_782))
    var workout = Export.sample()
    workout.value = .workout(WorkoutValue(activity: "HKWorkoutActivityTypeWalking"))
    #expect(
      workout.key
        == HealthSampleKey(high: 15_199_382_341_972_639_724, low: 580_206_862_411_084_553))
  }

  @Test(arguments: [1, 2, 3, 7, 64, 1_000, 4_099])
  func `pieces of any size lead to the same result`(_ size: Int) throws {
    let bytes = Export.generated(days: 1, density: 0.05)
    #expect(try Export(bytes, pieces: size) == (try Export(bytes)))
  }

  @Test func `names that exceed the numbers of one batch start another batch`() throws {
    let records = (0..<40_000).map {
      "<Record type=\"t\" sourceName=\"s\($0)\" unit=\"u\" value=\"\($0)\" "
        + "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\"/>"
    }
    let export = try Export(body: records.joined(separator: "\n"))
    #expect(export.samples.map(\.source) == (0..<40_000).map { "s\($0)" })
    #expect(export.samples.allSatisfy { $0.type == "t" && $0.unit == "u" })
    #expect(export.counts.samples == ["t": 40_000])
  }

  @Test func `names of skipped elements do not fill up the reader`() throws {
    let dates = "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:00:00 +0000\""
    let unread = (0..<70_000).map { "<Record type=\"t\($0)\" sourceName=\"s\" value=\"1\"/>" }
    let zones = (0..<70_000).map { "<MetadataEntry key=\"HKTimeZone\" value=\"z\($0)\"/>" }
    let open = (0..<40_000).map {
      "<Record type=\"HKCategoryTypeIdentifierX\" sourceName=\"s\($0)\" value=\"v\($0 % 7)\" "
        + "device=\"d\" \(dates)><MetadataEntry key=\"HKTimeZone\" value=\"UTC\"/></Record>"
    }
    let export = try Export(
      body: unread.joined() + Export.record(body: zones.joined()) + open.joined())
    #expect(export.skipped == [.noDate: 70_000])
    #expect(export.samples.count == 40_001)
    #expect(export.samples.first?.zone == "z69999")
    for (number, sample) in export.samples.dropFirst().enumerated() {
      guard sample.source == "s\(number)", sample.value == .category("v\(number % 7)"),
        sample.type == "HKCategoryTypeIdentifierX", sample.device == "d", sample.zone == "UTC"
      else {
        Issue.record("\(number): \(sample)")
        break
      }
    }
  }

  @Test func `a newer export keeps more than half of the spans of the older one`() throws {
    let older = try Export(Export.generated(days: 12, density: 1))
    let newer = try Export(Export.generated(days: 13, density: 1))
    let known = Set(older.digests)
    let shared = older.digests.count { newer.digests.contains($0) }
    #expect(older.digests.count > 10)
    // The last span of each type continues in the newer export. Types with few samples share a
    // span.
    #expect(shared * 2 > older.digests.count, "\(shared) of \(older.digests.count)")
    #expect(newer.digests.contains { !known.contains($0) })
  }

  @Test(.enabled(if: RealExport.path != nil, "no real export; set HOLDFAST_EXPORT to its path"))
  func `a real export of iOS 11 is read completely`() throws {
    let path = try #require(RealExport.path)
    let export = try Export(Data(contentsOf: URL(filePath: path)))
    #expect(export.counts.version == 3)
    #expect(export.counts.isWhole)
    #expect(export.samples.count == 11_101 + 61)
    #expect(export.counts.samples["HKQuantityTypeIdentifierStepCount"] == 3_980)
    #expect(export.counts.samples[HealthSample.workoutType] == 61)
    #expect(export.skipped == [.correlation: 34, .metadata: 1_915, .workoutDetail: 4])
    #expect(export.samples.count { $0.zone != nil } == 19)
    #expect(export.counts.repaired == 0)
  }
}
