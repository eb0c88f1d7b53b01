public import HoldfastCore
public import HoldfastHealthSamples

/// A batch of one user as it is passed to a store, with the hash of each sample.
public struct SyncDelivery: Sendable, Hashable {
  /// The user who owns the samples.
  public var user: String
  /// The phone's ID, as the phone sent it.
  public var device: String
  /// The time at which the phone created the batch; `nil` if unknown.
  public var made: Timestamp?
  /// The arrival time by the server's clock, which is an upper bound of `made`; `nil` for no bound.
  public var arrived: Timestamp?
  /// The UUIDs of samples deleted at the source. Deletions are applied before samples are added.
  public var deleted: [UUID128]
  /// The samples of the records, followed by those of the workouts.
  public var samples: [SyncSample]

  /// Creates a delivery, which is empty by default.
  public init(
    user: String, device: String = SyncBatch.unknownDevice, made: Timestamp? = nil,
    arrived: Timestamp? = nil, deleted: [UUID128] = [], samples: [SyncSample] = []
  ) {
    (self.user, self.device) = (user, device)
    (self.made, self.arrived) = (made, arrived)
    (self.deleted, self.samples) = (deleted, samples)
  }

  /// Creates a delivery from a decoded batch.
  ///
  /// - Parameters:
  ///   - arrived: The arrival time; `nil` for no bound.
  ///   - hash: A function that returns the SHA-256 hash of a text.
  public init(
    of reading: SyncReading, user: String, arrived: Timestamp? = nil, hash: ([UInt8]) -> SyncHash
  ) {
    let batch = reading.batch
    self.init(
      user: user, device: batch.deviceID, made: batch.timestamp?.instant, arrived: arrived,
      deleted: batch.deletedUUIDs)
    samples = zip(batch.records ?? [], reading.recordRanges).map { record, range in
      SyncSample(record, hash: hash(record.hashInput), raw: reading.body[range])
    }
    samples += zip(batch.workouts ?? [], reading.workoutRanges).map { workout, range in
      SyncSample(workout, hash: hash(workout.hashInput), raw: reading.body[range])
    }
  }
}

/// A record or a workout in its stored form.
public struct SyncSample: Sendable, Hashable {
  /// The hash that identifies the sample.
  public var hash: SyncHash
  /// The UUID of the sample at its source; `nil` if the UUID was not sent.
  public var uuid: UUID128?
  /// HealthKit's identifier of the type. Every workout has `HealthSample.workoutType`.
  public var type: String
  /// The start of the sample.
  public var start: Timestamp
  /// The end of the sample, which is never before `start`.
  public var end: Timestamp
  /// The name of the app or device that created the sample.
  public var source: String
  /// The unit, as HealthKit spells it.
  public var unit: String?
  /// The measured value; `nil` if no answer can use it, in which case only `raw` is stored.
  public var value: HealthSampleValue?
  /// The JSON object as it was sent.
  public var raw: ArraySlice<UInt8>

  /// The length of a mile in meters (NIST Special Publication 811, appendix B).
  private static let metersPerMile = 1_609.344

  /// Creates a sample without a value, as a store reads it to apply a batch.
  package init(hash: SyncHash, type: String, start: Timestamp, source: String) {
    (self.hash, self.type, self.source, raw) = (hash, type, source, [])
    (self.start, end) = (start, start)
  }

  init(_ record: SyncRecord, hash: SyncHash, raw: ArraySlice<UInt8>) {
    (self.hash, self.raw, uuid) = (hash, raw, record.uuid)
    (type, source, unit) = (record.recordType, record.sourceName, record.unit)
    start = record.start.instant
    end = max(start, record.end.instant)
    if type.hasPrefix("HKCategoryTypeIdentifier") {
      value = Self.category(record).map { .category($0) }
    } else if let number = record.value, number.isFinite {
      value = .quantity(number)
    }
  }

  init(_ workout: SyncWorkout, hash: SyncHash, raw: ArraySlice<UInt8>) {
    (self.hash, self.raw, uuid) = (hash, raw, workout.uuid)
    (type, source) = (HealthSample.workoutType, workout.sourceName)
    start = workout.start.instant
    end = max(start, workout.end.instant)
    func finite(_ number: Double?) -> Double? { number.flatMap { $0.isFinite ? $0 : nil } }
    // 2^63 ns are 9.2e9 s.
    let seconds = finite(workout.durationSeconds).flatMap { abs($0) < 9e9 ? $0 : nil }
    value = .workout(
      WorkoutValue(
        activity: workout.workoutType,
        duration: seconds.map { .nanoseconds(Int64($0 * 1_000_000_000)) },
        distance: finite(workout.totalDistance.map { $0 * Self.metersPerMile }),
        energy: finite(workout.totalEnergyBurned)))
  }

  /// The names of HealthKit's raw values for sleep analysis, indexed from 0.
  private static let sleep = [
    "InBed", "AsleepUnspecified", "Awake", "AsleepCore", "AsleepDeep", "AsleepREM",
  ]

  private static func category(_ record: SyncRecord) -> String? {
    if let text = record.valueText.text { return text }
    guard let number = record.value.flatMap({ Int(exactly: $0) }) else { return nil }
    guard record.recordType == "HKCategoryTypeIdentifierSleepAnalysis" else { return "\(number)" }
    return sleep.indices.contains(number) ? sleep[number] : nil
  }
}

extension SyncSample {
  /// The position of the sample among those of its user.
  package var position: HealthSamplePosition {
    HealthSamplePosition(type: type, start: start, key: hash.key)
  }

  /// The duration in nanoseconds, at most 2^63 - 1.
  package var duration: Int64 {
    let (length, overflow) = end.nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    return overflow ? .max : length
  }

  /// The sample from which answers are computed.
  package var sample: HealthSample? {
    value.map {
      HealthSample(type: type, value: $0, unit: unit, start: start, end: end, source: source)
    }
  }
}

extension SyncHash {
  /// The first half of the hash, which determines the order in pages.
  package var key: HealthSampleKey { HealthSampleKey(high: words[0], low: words[1]) }
}

/// A record as it was sent, with its position among the records of its type.
public struct SyncRaw: Sendable, Hashable {
  /// The position after which the next page begins.
  public var position: HealthSamplePosition
  /// The JSON object.
  public var bytes: [UInt8]

  /// Creates a record.
  public init(position: HealthSamplePosition, bytes: [UInt8]) {
    (self.position, self.bytes) = (position, bytes)
  }
}
