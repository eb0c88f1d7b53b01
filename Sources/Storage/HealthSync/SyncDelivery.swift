public import LinkCore
public import LinkHealth
public import LinkWire

/// A batch as a store takes it: of one user, each sample with its hash.
public struct SyncDelivery: Sendable, Hashable {
  /// Whose samples they are.
  public var user: String
  /// The phone, as it names itself.
  public var device: String
  /// When the phone made the batch; `nil` if it does not say.
  public var made: Timestamp?
  /// When the batch came, by the clock of the server, which bounds `made`; `nil` bounds nothing.
  public var arrived: Timestamp?
  /// What was deleted at its source; applied before samples are added.
  public var deleted: [UUID128]
  /// The records, then the workouts.
  public var samples: [SyncSample]

  /// A delivery from its parts; empty by default.
  public init(
    user: String, device: String = SyncBatch.unknownDevice, made: Timestamp? = nil,
    arrived: Timestamp? = nil, deleted: [UUID128] = [], samples: [SyncSample] = []
  ) {
    (self.user, self.device) = (user, device)
    (self.made, self.arrived) = (made, arrived)
    (self.deleted, self.samples) = (deleted, samples)
  }

  /// Prepares what was read.
  ///
  /// - Parameters:
  ///   - arrived: When it came; `nil` bounds nothing.
  ///   - hash: Returns the SHA-256 of a text.
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

/// A record or a workout as a store keeps it.
public struct SyncSample: Sendable, Hashable {
  /// What it is known by.
  public var hash: SyncHash
  /// What its source knows it by, if that was sent.
  public var uuid: UUID128?
  /// HealthKit's identifier; every workout has `HealthSample.workoutType`.
  public var type: String
  /// When it began.
  public var start: Timestamp
  /// When it ended; never before `start`.
  public var end: Timestamp
  /// The name of the app or device that wrote it.
  public var source: String
  /// The unit as HealthKit spells it.
  public var unit: String?
  /// What was measured; `nil` if nothing that can be answered with, so that only `raw` is kept.
  public var value: HealthSampleValue?
  /// The JSON object as it was sent.
  public var raw: ArraySlice<UInt8>

  /// Metres of a mile (NIST Special Publication 811, appendix B).
  private static let metersPerMile = 1_609.344

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

  /// HealthKit's raw values of sleep analysis, from 0.
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
  /// Its place among those of its user.
  package var place: HealthSamplePlace {
    HealthSamplePlace(type: type, start: start, key: hash.key)
  }

  /// Its duration in nanoseconds; at most 2^63 - 1.
  package var duration: Int64 {
    let (length, overflow) = end.nanoseconds.subtractingReportingOverflow(start.nanoseconds)
    return overflow ? .max : length
  }

  /// What answers are made from.
  package var sample: HealthSample? {
    value.map {
      HealthSample(type: type, value: $0, unit: unit, start: start, end: end, source: source)
    }
  }
}

extension SyncHash {
  /// The first half, by which pages are ordered.
  package var key: HealthSampleKey { HealthSampleKey(high: words[0], low: words[1]) }
}

/// A record as it was sent, and its place among those of its type.
public struct SyncRaw: Sendable, Hashable {
  /// The place, after which to ask for the next ones.
  public var place: HealthSamplePlace
  /// The JSON object.
  public var bytes: [UInt8]

  /// A record from its parts.
  public init(place: HealthSamplePlace, bytes: [UInt8]) {
    (self.place, self.bytes) = (place, bytes)
  }
}
