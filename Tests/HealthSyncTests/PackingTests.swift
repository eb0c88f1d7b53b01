import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import Testing

@testable import HoldfastHealthSync

/// Tests of the packing of samples into batches.
@Suite struct PackingTests {
  private static let packing = SyncPacking(deviceID: "PHONE")
  private static let steps = SyncHarness.steps
  private static let anchor = HealthAnchor([1])
  private static let made = SyncHarness.time(1_768_766_400)

  private static func source(_ number: UInt64, _ sample: HealthSample) -> SourceSample {
    SourceSample(uuid: UUID128(high: 0, low: number), sample: sample)
  }

  private static func sample(
    _ type: String = steps, _ value: HealthSampleValue = .quantity(1), unit: String? = "count",
    source: String = "Watch"
  ) -> HealthSample {
    HealthSample(
      type: type, value: value, unit: unit, start: made, end: made.advanced(by: .seconds(90)),
      source: source)
  }

  private static func batches(_ page: SourcePage, of type: String = steps) throws -> [SyncBatch] {
    try packing.batches(of: type, page, made: made).map { try SyncBatch.read($0.bytes) }
  }

  @Test(arguments: [(0, 0), (1, 1), (999, 1), (1_000, 1), (1_001, 2), (2_000, 2), (2_001, 3)])
  func `a batch has at most 1,000 records`(samples: Int, batches: Int) throws {
    let page = SourcePage(
      added: (0..<samples).map { Self.source(UInt64($0), Self.sample()) }, anchor: Self.anchor)
    let found = try Self.batches(page)
    #expect(found.count == batches)
    #expect(found.flatMap { $0.records ?? [] }.map(\.uuid?.low) == (0..<UInt64(samples)).map { $0 })
    #expect(found.allSatisfy { ($0.records ?? []).count <= 1_000 && $0.deviceID == "PHONE" })
  }

  @Test func `deletions come before samples, in the first batch if they fit`() throws {
    let deleted = (0..<1_001).map { UUID128(high: 1, low: $0) }
    let added = [Self.source(7, Self.sample())]
    let one = try Self.batches(
      SourcePage(added: added, deleted: Array(deleted.prefix(2)), anchor: Self.anchor))
    #expect(one.map(\.deletedUUIDs.count) == [2])
    #expect(one.map { $0.records?.count } == [1])
    let two = try Self.batches(SourcePage(added: added, deleted: deleted, anchor: Self.anchor))
    #expect(two.map(\.deletedUUIDs.count) == [1_000, 1])
    #expect(two.map { $0.records?.count } == [nil, 1])
  }

  @Test func `a batch is split until each part has at most 1 MiB`() throws {
    let long = String(repeating: "n", count: 10_000)
    let page = SourcePage(
      added: (0..<500).map { Self.source(UInt64($0), Self.sample(source: long)) },
      anchor: Self.anchor)
    let packed = Self.packing.batches(of: Self.steps, page, made: Self.made)
    #expect(packed.allSatisfy { $0.bytes.count <= 1 << 20 })
    #expect(packed.map(\.records).reduce(0, +) == 500)
    #expect(packed.count == 8)
  }

  @Test(arguments: [(0, 1), (1, 2)])
  func `a batch of 1 MiB is not split, and one byte more splits it`(more: Int, count: Int) {
    func packed(_ length: Int) -> [SyncPacking.Packed] {
      let long = Self.sample(source: String(repeating: "n", count: length))
      let added = [Self.source(1, Self.sample()), Self.source(2, long)]
      let page = SourcePage(added: added, anchor: Self.anchor)
      return Self.packing.batches(of: Self.steps, page, made: Self.made)
    }
    let rest = packed(1).reduce(0) { $0 + $1.bytes.count } - 1
    #expect(packed((1 << 20) - rest + more).count == count)
  }

  @Test func `the JSON of a batch matches the expected bytes`() throws {
    let page = SourcePage(
      added: [Self.source(0xAB, Self.sample())], deleted: [UUID128(high: 0, low: 0xCD)],
      anchor: Self.anchor)
    let packed = Self.packing.batches(of: Self.steps, page, made: Self.made)
    #expect(packed.map(\.records) == [1] && packed.map(\.deletions) == [1])
    #expect(
      packed.map { String(decoding: $0.bytes, as: UTF8.self) } == [
        #"{"dataType":"HKQuantityTypeIdentifierStepCount","records":[{"recordType":"#
          + #""HKQuantityTypeIdentifierStepCount","sourceName":"Watch","value":1,"unit":"count","#
          + #""startTime":"2026-01-18T20:00:00Z","endTime":"2026-01-18T20:01:30Z","#
          + #""uuid":"00000000-0000-0000-0000-0000000000AB"}],"#
          + #""deletedUUIDs":["00000000-0000-0000-0000-0000000000CD"],"deviceId":"PHONE","#
          + #""timestamp":"2026-01-18T20:00:00Z"}"#
      ])
  }

  static let units: [(String, String, Double, Double, String)] = [
    ("HKQuantityTypeIdentifierBodyMass", "kg", 45.359237, 100, "lb"),
    ("HKQuantityTypeIdentifierBodyMass", "lb", 150.5, 150.5, "lb"),
    ("HKQuantityTypeIdentifierActiveEnergyBurned", "Cal", 0.731, 0.731, "kcal"),
    ("HKQuantityTypeIdentifierHeartRate", "count/min", 72, 72, "count/min"),
    ("HKQuantityTypeIdentifierVO2Max", "mL/min·kg", 40, 40, "mL/min·kg"),
    ("HKQuantityTypeIdentifierBodyMass", "bushel", 3, 3, "bushel"),
    ("HKQuantityTypeIdentifierHeight", "cm", 180, 180, "cm"),
  ]

  @Test(arguments: units)
  func `quantities have the units of the original`(
    type: String, unit: String, value: Double, wanted: Double, wantedUnit: String
  ) throws {
    let page = SourcePage(
      added: [Self.source(1, Self.sample(type, .quantity(value), unit: unit))],
      anchor: Self.anchor)
    let record = try #require(try Self.batches(page, of: type)[0].records?.first)
    #expect(record.value.map { abs($0 - wanted) < 1e-9 } == true)
    #expect(record.unit == wantedUnit)
  }

  @Test(
    arguments: [
      ("HKCategoryValueSleepAnalysisInBed", 0.0, "InBed"),
      ("HKCategoryValueSleepAnalysisAsleep", 1, "AsleepUnspecified"),
      ("HKCategoryValueSleepAnalysisAsleepUnspecified", 1, "AsleepUnspecified"),
      ("HKCategoryValueSleepAnalysisAwake", 2, "Awake"),
      ("HKCategoryValueSleepAnalysisAsleepCore", 3, "AsleepCore"),
      ("HKCategoryValueSleepAnalysisAsleepDeep", 4, "AsleepDeep"),
      ("HKCategoryValueSleepAnalysisAsleepREM", 5, "AsleepREM"), ("something", nil, "Unknown"),
    ] as [(String, Double?, String)])
  func `a sleep stage is encoded as a number and a name`(
    name: String, value: Double?, stage: String
  )
    throws
  {
    let type = "HKCategoryTypeIdentifierSleepAnalysis"
    let page = SourcePage(
      added: [Self.source(1, Self.sample(type, .category(name), unit: nil))], anchor: Self.anchor)
    let record = try #require(try Self.batches(page, of: type)[0].records?.first)
    #expect(record.value == value)
    #expect(record.valueText == .text(stage))
  }

  @Test func `a category other than sleep is encoded as its own name`() throws {
    let type = "HKCategoryTypeIdentifierMindfulSession"
    let page = SourcePage(
      added: [Self.source(1, Self.sample(type, .category("calm"), unit: nil))],
      anchor: Self.anchor)
    let record = try #require(try Self.batches(page, of: type)[0].records?.first)
    #expect(record.value == nil)
    #expect(record.valueText == .text("calm"))
  }

  @Test func `the types of the original are five quantities, sleep and workouts`() {
    #expect(
      SyncTypes.usual == [
        "HKQuantityTypeIdentifierStepCount", "HKQuantityTypeIdentifierHeartRate",
        "HKQuantityTypeIdentifierActiveEnergyBurned", "HKQuantityTypeIdentifierBodyMass",
        "HKQuantityTypeIdentifierVO2Max", "HKCategoryTypeIdentifierSleepAnalysis",
        HealthSample.workoutType,
      ])
  }

  @Test func `workouts are encoded in miles and seconds`() throws {
    let value = WorkoutValue(
      activity: "HKWorkoutActivityTypeRunning", duration: .milliseconds(1_834_270),
      distance: 3_218.688, energy: 300)
    let page = SourcePage(
      added: [
        Self.source(1, Self.sample(HealthSample.workoutType, .workout(value), unit: nil)),
        Self.source(
          2,
          Self.sample(
            HealthSample.workoutType, .workout(WorkoutValue(activity: "x")), unit: nil)),
      ], anchor: Self.anchor)
    let batch = try Self.batches(page, of: HealthSample.workoutType)[0]
    #expect(batch.dataType == "HKWorkoutType")
    #expect(batch.records == nil)
    #expect(batch.workouts?.map(\.durationSeconds) == [1_834.27, 90])
    #expect(batch.workouts?.map(\.totalDistance) == [2, nil])
    #expect(batch.workouts?.map(\.totalEnergyBurned) == [300, nil])
  }

  @Test(arguments: [(0, 0), (0, 1), (1, 0)])
  func `an empty batch and a batch with one record or deletion cannot be split`(
    records: Int, deletions: Int
  ) throws {
    #expect(try Self.halves(records, deletions) == nil)
  }

  @Test(arguments: [(0, 2), (1, 1), (2, 0), (2, 2), (3, 1), (1_000, 1_000)])
  func `the halves of a batch contain its records and deletions in order`(
    records: Int, deletions: Int
  ) throws {
    let halves = try #require(try Self.halves(records, deletions))
    #expect(halves.count == 2)
    #expect(
      halves.flatMap { $0.records ?? [] }.map(\.uuid?.low) == (0..<UInt64(records)).map { $0 })
    #expect(halves.flatMap(\.deletedUUIDs).map(\.low) == (0..<UInt64(deletions)).map { $0 })
    for half in halves { #expect(!(half.records ?? []).isEmpty || !half.deletedUUIDs.isEmpty) }
    // No part deletes a sample that an earlier part adds.
    #expect(records == 0 || halves[1].deletedUUIDs.isEmpty)
  }

  @Test(arguments: [(1, 3), (3, 1), (2, 2), (0, 3)])
  func `the halves of a batch contain its records and workouts in order`(
    records: Int, workouts: Int
  ) throws {
    var batch = SyncBatch(dataType: Self.steps, timestamp: nil)
    batch.records = (0..<records).compactMap {
      SyncTypes.record(Self.source(UInt64($0), Self.sample()))
    }
    batch.workouts = (0..<workouts).compactMap {
      SyncTypes.workout(Self.source(UInt64($0), Self.workout))
    }
    let (first, second) = try #require(batch.halves)
    let halves = [first, second]
    #expect(halves.flatMap { $0.records ?? [] } == batch.records)
    #expect(halves.flatMap { $0.workouts ?? [] } == batch.workouts)
    let count = (first.records ?? []).count + (first.workouts ?? []).count
    #expect(count == (records + workouts) / 2)
  }

  private static let workout = sample(
    HealthSample.workoutType, .workout(WorkoutValue(activity: "x")), unit: nil)

  private static func halves(_ records: Int, _ deletions: Int) throws -> [SyncBatch]? {
    let page = SourcePage(
      added: (0..<records).map { source(UInt64($0), sample()) },
      deleted: (0..<deletions).map { UUID128(high: 0, low: UInt64($0)) }, anchor: anchor)
    let packed = packing.batches(of: steps, page, made: made)
    let body =
      packed.first?.bytes ?? SyncBatch(dataType: steps, timestamp: nil).bytes
    return try SyncPacking.halves(of: body)?.map { try SyncBatch.read($0.bytes) }
  }

  @Test func `bytes that are not a batch are not split`() {
    #expect(SyncPacking.halves(of: Array("[]".utf8)) == nil)
  }
}
