import HoldfastCore
import HoldfastHealthSamples
import HoldfastSyncData
import Testing

/// Tests of the samples that a store receives from a batch.
@Suite struct SyncDeliveryTests {
  private static func time(_ second: Int64) -> SyncTime {
    SyncTime(Timestamp(nanoseconds: second * 1_000_000_000))
  }

  /// Returns the only sample of a batch in the form in which a store receives it.
  private static func sample(
    _ record: SyncRecord? = nil, _ workout: SyncWorkout? = nil
  ) throws -> SyncSample {
    let batch = SyncBatch(
      dataType: "t", records: record.map { [$0] }, workouts: workout.map { [$0] },
      timestamp: time(9))
    let delivery = SyncDelivery(of: try SyncReading.read(batch.bytes), user: "ann") { _ in
      SyncHash(words: SIMD4(1, 2, 3, 4))
    }
    #expect(delivery.user == "ann")
    #expect(delivery.made == time(9).instant)
    #expect(delivery.samples.count == 1)
    return try #require(delivery.samples.first)
  }

  private static func record(
    _ value: Double?, _ text: SyncText = .absent, type: String = "HKQuantityTypeIdentifierX",
    start: Int64 = 5, end: Int64 = 7
  ) -> SyncRecord {
    SyncRecord(
      recordType: type, sourceName: "watch", value: value, valueText: text, unit: "count",
      start: time(start), end: time(end))
  }

  private static func workout(
    _ duration: Double, _ distance: Double? = nil, _ energy: Double? = nil
  ) -> SyncWorkout {
    SyncWorkout(
      workoutType: "run", sourceName: "watch", start: time(5), end: time(4),
      durationSeconds: duration, totalDistance: distance, totalEnergyBurned: energy)
  }

  @Test func `a sample never ends before its start`() throws {
    let whole = try Self.sample(Self.record(1))
    #expect((whole.start, whole.end) == (Self.time(5).instant, Self.time(7).instant))
    #expect(whole.duration == 2_000_000_000)
    let odd = try Self.sample(Self.record(1, start: 5, end: 4))
    #expect((odd.start, odd.end) == (Self.time(5).instant, Self.time(5).instant))
    #expect(try Self.sample(nil, Self.workout(1)).duration == 0)
    var long = whole
    (long.start, long.end) = (Timestamp(nanoseconds: .min), Timestamp(nanoseconds: .max))
    #expect(long.duration == .max)
  }

  @Test func `stores a quantity without a finite number, but shows nothing of it`() throws {
    let shown = try Self.sample(Self.record(2))
    #expect(shown.value == .quantity(2))
    #expect(shown.sample?.unit == "count")
    for value in [nil, Double.infinity, -.infinity] {
      let sample = try Self.sample(Self.record(value, .text("x")))
      #expect(sample.value == nil)
      #expect(sample.sample == nil)
      #expect(!sample.raw.isEmpty)
    }
  }

  @Test(
    arguments: [
      (0, .absent, "InBed"), (5, .absent, "AsleepREM"), (6, .absent, nil), (-1, .absent, nil),
      (1.5, .absent, nil), (nil, .absent, nil), (0, .null, "InBed"), (0, .text("y"), "y"),
      (.infinity, .absent, nil),
    ] as [(Double?, SyncText, String?)])
  func `a category is its text, or the name of its number`(
    value: Double?, text: SyncText, name: String?
  ) throws {
    let sleep = "HKCategoryTypeIdentifierSleepAnalysis"
    let sample = try Self.sample(Self.record(value, text, type: sleep))
    #expect(sample.value == name.map { .category($0) })
    let other = try Self.sample(Self.record(7, type: "HKCategoryTypeIdentifierX"))
    #expect(other.value == .category("7"))
  }

  @Test func `a workout has only the numbers that can be shown`() throws {
    func value(_ workout: SyncWorkout) throws -> HealthSampleValue? {
      try Self.sample(nil, workout).value
    }
    func shown(
      _ duration: Duration?, _ distance: Double? = nil, _ energy: Double? = nil
    ) -> HealthSampleValue {
      .workout(
        WorkoutValue(activity: "run", duration: duration, distance: distance, energy: energy))
    }
    #expect(try value(Self.workout(50.5, 2, 30)) == shown(.milliseconds(50_500), 3_218.688, 30))
    let long = 8_589_934_592.0
    #expect(try value(Self.workout(long)) == shown(.seconds(8_589_934_592)))
    #expect(try value(Self.workout(-long)) == shown(.seconds(-8_589_934_592)))
    for tooMuch in [9e9, -9e9, .infinity, 1e300] {
      #expect(try value(Self.workout(tooMuch, .infinity, -.infinity)) == shown(nil))
    }
  }
}
