/// A command to a bottle (characteristic 0005).
public enum BottleCommand: Sendable, Hashable, Codable {
  /// Use the current weight as that of the empty bottle.
  case tare
  /// Keep the bottle awake.
  case ping
  /// Reset the day's total.
  case resetDaily
  /// Delete all records.
  case clearHistory
  case startCalibration
  case cancelCalibration
  /// Measure a calibration point.
  case measure(full: Bool)
  /// Calibrate with raw values and the scale factor.
  case calibrate(empty: Int32, full: Int32, scale: Float)
  /// Set the clock, in seconds since 1970.
  case setTime(UInt32)
  /// Set the day's total. Current bottles ignore the command.
  case setDailyTotal(UInt16)
  /// Delete a record. The bottle responds with its state, even if the id is unknown.
  case delete(UInt32)
  /// Send the summary of activities as a notification.
  case activitySummary
  /// Send a part of the list of motions as a notification.
  case motions(chunk: UInt8)
  /// Send a part of the list of backpack periods as a notification.
  case backpacks(chunk: UInt8)

  /// The reason why a bottle would reject the command, with the remedy, or `nil` if it would accept
  /// it.
  public var problem: String? {
    switch self {
    case .calibrate(let empty, let full, let scale):
      if !BottleConfiguration.scales.contains(scale) {
        return "the scale factor must be 100 to 800"
      }
      return full > empty ? nil : "the raw value of the full bottle must exceed that of the empty"
    case .setTime(let time):
      return BottleRecord.validTimes.contains(time) ? nil : "the time must be from 2020 to 2106"
    case .tare, .ping, .resetDaily, .clearHistory, .startCalibration, .cancelCalibration,
      .measure, .setDailyTotal, .delete, .activitySummary, .motions, .backpacks:
      return nil
    }
  }

  private var code: UInt8 {
    switch self {
    case .tare: 0x01
    case .ping: 0x02
    case .measure: 0x03
    case .calibrate: 0x04
    case .resetDaily: 0x05
    case .clearHistory: 0x06
    case .setTime: 0x10
    case .setDailyTotal: 0x11
    case .delete: 0x12
    case .startCalibration: 0x20
    case .cancelCalibration: 0x21
    case .activitySummary: 0x30
    case .motions: 0x31
    case .backpacks: 0x32
    }
  }

  /// The 3, 4, 5 or 13 bytes of the command.
  public var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.byte(code)
    switch self {
    case .tare, .ping, .resetDaily, .clearHistory, .startCalibration, .cancelCalibration,
      .activitySummary:
      writer.byte(0)
      writer.short(0)
    case .measure(let full):
      writer.byte(full ? 1 : 0)
      writer.short(0)
    case .motions(let chunk), .backpacks(let chunk):
      writer.byte(chunk)
      writer.short(0)
    case .calibrate(let empty, let full, let scale):
      writer.word(UInt32(bitPattern: empty))
      writer.word(UInt32(bitPattern: full))
      writer.word(scale.bitPattern)
    case .setTime(let number), .delete(let number): writer.word(number)
    case .setDailyTotal(let total): writer.short(total)
    }
    return writer.bytes
  }

  /// Creates a command from its 3, 4, 5 or 13 bytes. The length depends on the code.
  public init(_ bytes: [UInt8]) throws(BottleFormatError) {
    let name = "command"
    var head = try PackedReader(name, bytes, atLeast: 1)
    let code = head.byte()
    switch code {
    case 0x04:
      var reader = try PackedReader(name, bytes, count: 13)
      _ = reader.byte()
      let (empty, full) = (reader.signedWord(), reader.signedWord())
      self = .calibrate(empty: empty, full: full, scale: try reader.number())
    case 0x10, 0x12:
      var reader = try PackedReader(name, bytes, count: 5)
      _ = reader.byte()
      self = code == 0x10 ? .setTime(reader.word()) : .delete(reader.word())
    case 0x11:
      var reader = try PackedReader(name, bytes, count: 3)
      _ = reader.byte()
      self = .setDailyTotal(reader.short())
    case _:
      var reader = try PackedReader(name, bytes, count: 4)
      _ = reader.byte()
      guard let command = Self(short: code, reader.byte()) else {
        throw reader.fault("an unknown code \(code)")
      }
      self = command
    }
  }

  /// Creates a command of 4 bytes. Returns `nil` if the code or the parameter is unknown.
  private init?(short code: UInt8, _ parameter: UInt8) {
    switch code {
    case 0x01: self = .tare
    case 0x02: self = .ping
    case 0x03 where parameter <= 1: self = .measure(full: parameter == 1)
    case 0x05: self = .resetDaily
    case 0x06: self = .clearHistory
    case 0x20: self = .startCalibration
    case 0x21: self = .cancelCalibration
    case 0x30: self = .activitySummary
    case 0x31: self = .motions(chunk: parameter)
    case 0x32: self = .backpacks(chunk: parameter)
    case _: return nil
    }
  }
}
