public import LinkCore

/// The samples and deletions of one type that a phone posts together.
public struct SyncBatch: Sendable, Hashable, Codable {
  /// HealthKit's identifier of what is synced, such as `HKQuantityTypeIdentifierStepCount`.
  public var dataType: String
  /// Quantities and categories; `nil` is not written.
  public var records: [SyncRecord]?
  /// Workouts; `nil` is not written.
  public var workouts: [SyncWorkout]?
  /// The samples that were deleted at their source.
  public var deletedUUIDs: [UUID128]
  /// The phone, as it names itself.
  public var deviceID: String
  /// When the batch was made; `nil` if the phone does not say.
  public var timestamp: SyncTime?

  /// The name of a phone that has none.
  public static let unknownDevice = "unknown"

  /// A batch from its parts; empty by default.
  public init(
    dataType: String, records: [SyncRecord]? = nil, workouts: [SyncWorkout]? = nil,
    deletedUUIDs: [UUID128] = [], deviceID: String = unknownDevice, timestamp: SyncTime?
  ) {
    self.dataType = dataType
    self.records = records
    self.workouts = workouts
    self.deletedUUIDs = deletedUUIDs
    self.deviceID = deviceID
    self.timestamp = timestamp
  }
}

/// A moment, with the text that stands for it on the wire and in hashes.
public struct SyncTime: Sendable, Hashable, Codable {
  /// ISO 8601 with a zone, as sent.
  public let text: String
  /// The moment that the text names.
  public let instant: Timestamp

  /// Writes a moment in UTC, rounded down to a second, as the original app does.
  public init(_ time: Timestamp) {
    let second: Int64 = 1_000_000_000
    let rest = time.nanoseconds % second
    let (whole, overflow) = time.nanoseconds.subtractingReportingOverflow(
      rest < 0 ? rest + second : rest)
    instant = Timestamp(nanoseconds: overflow ? time.nanoseconds - rest : whole)
    text = RFC3339.format(instant)
  }

  init(text: String, instant: Timestamp) { (self.text, self.instant) = (text, instant) }
}

/// A quantity or a category of a batch.
public struct SyncRecord: Sendable, Hashable, Codable {
  /// HealthKit's identifier.
  public var recordType: String
  /// The name of the app or device that wrote it.
  public var sourceName: String
  /// The bundle identifier of the app that wrote it.
  public var sourceBundle: String?
  /// The number, if it has one; infinite if it is too large for a `Double`.
  public var value: Double?
  /// The text beside the number.
  public var valueText: SyncText
  /// The unit as HealthKit spells it.
  public var unit: String?
  /// When it began.
  public var start: SyncTime
  /// When it ended.
  public var end: SyncTime
  /// What else the source says.
  public var metadata: [String: String]?
  /// HealthKit's identifier of the sample, by which it can be deleted.
  public var uuid: UUID128?

  /// A record from its parts.
  public init(
    recordType: String, sourceName: String, sourceBundle: String? = nil, value: Double? = nil,
    valueText: SyncText = .absent, unit: String? = nil, start: SyncTime, end: SyncTime,
    metadata: [String: String]? = nil, uuid: UUID128? = nil
  ) {
    self.recordType = recordType
    self.sourceName = sourceName
    self.sourceBundle = sourceBundle
    self.value = value
    self.valueText = valueText
    self.unit = unit
    self.start = start
    self.end = end
    self.metadata = metadata
    self.uuid = uuid
  }
}

/// A text that may be left out or be `null`, which hashes tell apart.
public enum SyncText: Sendable, Hashable, Codable {
  case absent
  case null
  case text(String)

  /// The text, if there is one.
  public var text: String? {
    switch self {
    case .absent, .null: nil
    case .text(let text): text
    }
  }
}

/// A workout of a batch.
public struct SyncWorkout: Sendable, Hashable, Codable {
  /// HealthKit's name of the activity, such as `HKWorkoutActivityTypeRunning`.
  public var workoutType: String
  /// The name of the app or device that wrote it.
  public var sourceName: String
  /// The bundle identifier of the app that wrote it.
  public var sourceBundle: String?
  /// When it began.
  public var start: SyncTime
  /// When it ended.
  public var end: SyncTime
  /// How long it went on without its pauses, in seconds.
  public var durationSeconds: Double
  /// Miles.
  public var totalDistance: Double?
  /// Kilocalories.
  public var totalEnergyBurned: Double?
  /// The heart rate in the course of it.
  public var statistics: Statistics?
  /// What else the source says.
  public var metadata: [String: String]?
  /// HealthKit's identifier of the sample, by which it can be deleted.
  public var uuid: UUID128?

  /// The heart rate of a workout, in beats per minute.
  public struct Statistics: Sendable, Hashable, Codable {
    /// The average.
    public var heartRateAvg: Double?
    /// The lowest.
    public var heartRateMin: Double?
    /// The highest.
    public var heartRateMax: Double?

    /// Statistics from their parts.
    public init(
      heartRateAvg: Double? = nil, heartRateMin: Double? = nil, heartRateMax: Double? = nil
    ) {
      self.heartRateAvg = heartRateAvg
      self.heartRateMin = heartRateMin
      self.heartRateMax = heartRateMax
    }
  }

  /// A workout from its parts.
  public init(
    workoutType: String, sourceName: String, sourceBundle: String? = nil, start: SyncTime,
    end: SyncTime, durationSeconds: Double, totalDistance: Double? = nil,
    totalEnergyBurned: Double? = nil, statistics: Statistics? = nil,
    metadata: [String: String]? = nil, uuid: UUID128? = nil
  ) {
    self.workoutType = workoutType
    self.sourceName = sourceName
    self.sourceBundle = sourceBundle
    self.start = start
    self.end = end
    self.durationSeconds = durationSeconds
    self.totalDistance = totalDistance
    self.totalEnergyBurned = totalEnergyBurned
    self.statistics = statistics
    self.metadata = metadata
    self.uuid = uuid
  }
}
