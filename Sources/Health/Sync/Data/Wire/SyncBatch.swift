public import HoldfastCore
import HoldfastJSON

/// The samples and deletions of one type that a phone sends in one request.
public struct SyncBatch: Sendable, Hashable, Codable {
  /// HealthKit's identifier of the synced type, such as `HKQuantityTypeIdentifierStepCount`.
  public var dataType: String
  /// The quantities and categories. If it is `nil`, the member is not written.
  public var records: [SyncRecord]?
  /// The workouts. If it is `nil`, the member is not written.
  public var workouts: [SyncWorkout]?
  /// The UUIDs of the samples that were deleted at their source.
  public var deletedUUIDs: [UUID128]
  /// The phone's self-reported name.
  public var deviceID: String
  /// The time at which the batch was created, or `nil` if the phone does not report it.
  public var timestamp: SyncTime?

  /// The name that is used for a phone that reports none.
  public static let unknownDevice = "unknown"

  /// Creates a batch. By default, it is empty.
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

/// A time, with the text that represents it in messages and hashes.
public struct SyncTime: Sendable, Hashable, Codable {
  /// The text as it is sent: ISO 8601 with a time zone.
  public let text: String
  /// The time that the text represents.
  public let instant: Timestamp

  /// Creates a value with the text of a time in UTC, rounded down to a second as in the original
  /// app.
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
  /// The name of the app or device that wrote the record.
  public var sourceName: String
  /// The bundle identifier of the app that wrote the record.
  public var sourceBundle: String?
  /// The number, if there is one. A number that is too large for a `Double` becomes infinite.
  public var value: Double?
  /// The text that accompanies the number.
  public var valueText: SyncText
  /// The unit in HealthKit's spelling.
  public var unit: String?
  /// The start of the record.
  public var start: SyncTime
  /// The end of the record.
  public var end: SyncTime
  /// Additional values from the source.
  public var metadata: [String: String]?
  /// HealthKit's UUID of the sample. It identifies the sample when the sample is deleted.
  public var uuid: UUID128?

  /// Creates a record.
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

/// A text that may be absent or `null`. Hashes distinguish the two.
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
  /// The name of the app or device that wrote the workout.
  public var sourceName: String
  /// The bundle identifier of the app that wrote the workout.
  public var sourceBundle: String?
  /// The start of the workout.
  public var start: SyncTime
  /// The end of the workout.
  public var end: SyncTime
  /// The duration without pauses, in seconds.
  public var durationSeconds: Double
  /// The distance, in miles.
  public var totalDistance: Double?
  /// The active energy, in kilocalories.
  public var totalEnergyBurned: Double?
  /// The heart rate during the workout.
  public var statistics: Statistics?
  /// Additional values from the source.
  public var metadata: [String: String]?
  /// HealthKit's UUID of the sample. It identifies the sample when the sample is deleted.
  public var uuid: UUID128?

  /// The heart rate of a workout, in beats per minute.
  public struct Statistics: Sendable, Hashable, Codable {
    /// The average heart rate.
    public var heartRateAvg: Double?
    /// The lowest heart rate.
    public var heartRateMin: Double?
    /// The highest heart rate.
    public var heartRateMax: Double?

    /// Creates statistics.
    public init(
      heartRateAvg: Double? = nil, heartRateMin: Double? = nil, heartRateMax: Double? = nil
    ) {
      self.heartRateAvg = heartRateAvg
      self.heartRateMin = heartRateMin
      self.heartRateMax = heartRateMax
    }
  }

  /// Creates a workout.
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

extension SyncBatch {
  /// The encoded batch: the body of a request.
  public var bytes: [UInt8] {
    var writer = JSONWriter()
    writer.object {
      $0.entry("dataType", dataType)
      if let records {
        $0.array("records") { for record in records { record.write(to: &$0) } }
      }
      if let workouts {
        $0.array("workouts") { for workout in workouts { workout.write(to: &$0) } }
      }
      $0.array("deletedUUIDs") { for uuid in deletedUUIDs { $0.string(uuid.upperCase) } }
      $0.entry("deviceId", deviceID)
      $0.optional("timestamp", timestamp?.text)
    }
    return writer.bytes
  }
}

extension SyncRecord {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object {
      $0.entry("recordType", recordType)
      $0.entry("sourceName", sourceName)
      $0.optional("sourceBundle", sourceBundle)
      $0.number("value", value)
      switch valueText {
      case .absent: break
      case .null: $0.entry("valueText", String?.none)
      case .text(let text): $0.entry("valueText", text)
      }
      $0.optional("unit", unit)
      $0.entry("startTime", start.text)
      $0.entry("endTime", end.text)
      $0.metadata(metadata)
      $0.optional("uuid", uuid?.upperCase)
    }
  }
}

extension SyncWorkout {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object {
      $0.entry("workoutType", workoutType)
      $0.entry("sourceName", sourceName)
      $0.optional("sourceBundle", sourceBundle)
      $0.entry("startTime", start.text)
      $0.entry("endTime", end.text)
      $0.number("durationSeconds", durationSeconds)
      $0.number("totalDistance", totalDistance)
      $0.number("totalEnergyBurned", totalEnergyBurned)
      if let statistics {
        $0.object("statistics") {
          $0.number("heartRateAvg", statistics.heartRateAvg)
          $0.number("heartRateMin", statistics.heartRateMin)
          $0.number("heartRateMax", statistics.heartRateMax)
        }
      }
      $0.metadata(metadata)
      $0.optional("uuid", uuid?.upperCase)
    }
  }
}

extension UUID128 {
  /// The UUID in the form that HealthKit writes.
  var upperCase: String { description.uppercased() }
}

extension JSONWriter {
  fileprivate mutating func optional(_ name: String, _ text: String?) {
    if let text { entry(name, text) }
  }

  /// Writes a number in the form that JavaScript uses. JSON has no infinity, so an infinite value
  /// is written as a number that is too large for a `Double`.
  fileprivate mutating func number(_ name: String, _ value: Double?) {
    guard let value, !value.isNaN else { return }
    key(name)
    let large = value.sign == .minus ? "-1e999" : "1e999"
    raw(value.isInfinite ? Array(large.utf8) : SyncNumber.text(value))
  }

  fileprivate mutating func metadata(_ metadata: [String: String]?) {
    guard let metadata else { return }
    object("metadata") {
      for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { $0.entry(key, value) }
    }
  }
}
