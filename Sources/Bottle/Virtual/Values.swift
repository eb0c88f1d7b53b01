public import HoldfastBottleData
public import HoldfastFirmware

// The firmware's values in the format that the phone uses.
extension VirtualBottle {
  /// The current state, as a notification contains it.
  public var state: BottleState {
    var flags: BottleState.Flags = []
    if bottle.clock.isValid { flags.insert(.timeIsValid) }
    if bottle.calibration.isDone { flags.insert(.isCalibrated) }
    if bottle.isStill { flags.insert(.isStable) }
    if bottle.isLocked { flags.insert(.batteryIsLow) }
    var state = BottleState(
      time: bottle.clock.seconds, weight: Int16(clamping: Int(bottle.level)), level: bottle.level,
      dailyTotal: bottle.dailyTotal, battery: bottle.battery, flags: flags,
      unsynced: bottle.unsynced)
    if bottle.calibration.hasResult {
      let raw = UInt32(bitPattern: bottle.rawValue)
      state.flags.insert(.hasMeasured)
      state.level = UInt16(truncatingIfNeeded: raw >> 16)
      state.weight = Int16(truncatingIfNeeded: raw)
    }
    return state
  }

  var chunk: BottleChunk {
    guard bottle.sync.isSending else { return BottleChunk(index: 0, total: 0, records: []) }
    let count = bottle.sync.recordCount(in: bottle.ring)
    return BottleChunk(
      index: bottle.sync.index, total: bottle.sync.total,
      records: (0..<count).map { BottleRecord(bottle.sync.record($0, in: bottle.ring)) })
  }

  var activity: BottleActivity {
    BottleActivity(
      motions: UInt8(clamping: bottle.motionWakes), backpacks: UInt8(clamping: bottle.backpacks),
      timeIsValid: bottle.clock.isValid, timerWakes: bottle.timerWakes)
  }

  var calibration: BottleCalibration {
    BottleCalibration(
      step: BottleCalibration.Step(rawValue: bottle.calibration.step) ?? .error,
      hasFailed: bottle.calibration.step == 10, empty: bottle.calibration.empty,
      full: bottle.calibration.full)
  }
}

extension BottleInput {
  /// Creates the input of a write; `nil` if the bytes are invalid or the characteristic is not
  /// writable.
  init?(_ bytes: [UInt8], to attribute: BottleAttribute) {
    do throws(BottleFormatError) {
      switch attribute {
      case .syncControl:
        let sync = try BottleSync(bytes)
        switch sync.command {
        case .start: self = .sync(count: sync.count, chunkSize: sync.chunkSize)
        case .acknowledge: self = .acknowledged
        case .query: return nil
        }
      case .command:
        guard let command = FirmwareCommand(try BottleCommand(bytes)) else { return nil }
        self = .command(command)
      case .settings: self = .settings(shakeToEmpty: try BottleSwitches(bytes).shakeToEmpty)
      case .configuration:
        self = .configuration(FirmwareConfiguration(try BottleConfiguration(bytes)))
      case .state, .drinks, .activity, .calibration, .battery: return nil
      }
    } catch {
      return nil
    }
  }
}

extension FirmwareCommand {
  /// Creates a command; `nil` if this firmware does not support it.
  fileprivate init?(_ command: BottleCommand) {
    switch command {
    case .tare: self = .tare
    case .ping: self = .ping
    case .resetDaily: self = .resetDaily
    case .clearHistory: self = .clearHistory
    case .startCalibration: self = .startCalibration
    case .cancelCalibration: self = .cancelCalibration
    case .measure(let full): self = .measure(full: full)
    case .calibrate(let empty, let full, let scale):
      self = .calibrate(empty: empty, full: full, scale: scale)
    case .setTime(let time): self = .setTime(time)
    case .delete(let id): self = .delete(id)
    case .activitySummary: self = .activitySummary
    case .setDailyTotal, .motions, .backpacks: return nil
    }
  }
}

extension FirmwareConfiguration {
  fileprivate init(_ configuration: BottleConfiguration) {
    self.init(
      scale: configuration.scale, tare: configuration.tare, capacity: configuration.capacity,
      dailyGoal: configuration.dailyGoal)
  }
}

extension BottleConfiguration {
  init(_ configuration: FirmwareConfiguration) {
    self.init(
      scale: configuration.scale, tare: configuration.tare, capacity: configuration.capacity,
      dailyGoal: configuration.dailyGoal)
  }
}

extension BottleRecord {
  init(_ record: DrinkRecord) {
    self.init(
      id: record.id, time: record.time, amount: record.amount, level: record.level,
      kind: record.kind, flags: Flags(rawValue: record.flags))
  }
}

extension DrinkRecord {
  init(_ record: BottleRecord) {
    self.init(
      id: record.id, time: record.time, amount: record.amount, level: record.level,
      kind: record.kind, flags: record.flags.rawValue)
  }
}

/// The flash of a virtual bottle.
public struct ArrayStorage: RecordStorage, Sendable, Hashable {
  private var records: [HashableRecord]

  private struct HashableRecord: Sendable, Hashable {
    var record: DrinkRecord

    func hash(into hasher: inout Hasher) { hasher.combine(record.id) }
  }

  /// Creates empty flash.
  public init(capacity: Int) {
    records = Array(repeating: HashableRecord(record: .blank), count: capacity)
  }

  public var capacity: Int { records.count }

  /// Accesses the record at an index from 0 to `capacity - 1`.
  public subscript(slot: Int) -> DrinkRecord {
    get { records[slot].record }
    set { records[slot].record = newValue }
  }
}
