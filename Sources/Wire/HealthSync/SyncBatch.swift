public import LinkCore
import LinkJSON

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

extension SyncBatch {
  /// The batch as the body of a request.
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
  /// The form in which HealthKit writes a UUID.
  var upperCase: String { description.uppercased() }
}

extension JSONWriter {
  fileprivate mutating func optional(_ name: String, _ text: String?) {
    if let text { entry(name, text) }
  }

  /// Writes a number as JavaScript does. JSON has no infinite ones, and a number that is too large
  /// is read as one.
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
