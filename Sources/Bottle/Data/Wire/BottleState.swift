/// The state of a bottle (characteristic 0001).
public struct BottleState: Sendable, Hashable, Codable {
  /// The time in seconds since 1970, shifted by the bottle's time zone. The shift is normally 0.
  public var time: UInt32
  /// The weight on the scale, in grams.
  public var weight: Int16
  /// The amount in the bottle, in milliliters.
  public var level: UInt16
  /// The amount drunk today, in milliliters.
  public var dailyTotal: UInt16
  /// The battery level, in percent.
  public var battery: UInt8
  /// The conditions of the bottle: byte 11.
  public var flags: Flags
  /// The number of records that the bottle counts as unsynchronized. It may include deleted
  /// records.
  public var unsynced: UInt16

  /// The conditions of a bottle.
  public struct Flags: OptionSet, Sendable, Hashable, Codable {
    /// The transmitted bits. Unknown bits are preserved.
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// The flag of a bottle whose clock was set by a phone, so that `time` is reliable.
    public static let timeIsValid = Flags(rawValue: 0x01)
    /// The flag of a bottle whose scale is calibrated, so that `level` is reliable.
    public static let isCalibrated = Flags(rawValue: 0x02)
    /// The flag of a bottle at rest, so that `weight` is steady.
    public static let isStable = Flags(rawValue: 0x04)
    /// The flag of a calibration measurement in progress.
    public static let isMeasuring = Flags(rawValue: 0x08)
    /// The flag of a state whose `weight` and `level` together contain a raw value of the scale.
    public static let hasMeasured = Flags(rawValue: 0x10)
    /// The flag of a low battery. The bottle determines the threshold.
    public static let batteryIsLow = Flags(rawValue: 0x20)
  }

  public init(
    time: UInt32 = 0, weight: Int16 = 0, level: UInt16 = 0, dailyTotal: UInt16 = 0,
    battery: UInt8 = 100, flags: Flags = [], unsynced: UInt16 = 0
  ) {
    (self.time, self.weight, self.level, self.dailyTotal) = (time, weight, level, dailyTotal)
    (self.battery, self.flags, self.unsynced) = (battery, flags, unsynced)
  }

  /// The raw value of the scale after a calibration measurement, or `nil` if the state contains
  /// none.
  public var measurement: Int32? {
    guard flags.contains(.hasMeasured) else { return nil }
    return Int32(bitPattern: UInt32(level) << 16 | UInt32(UInt16(bitPattern: weight)))
  }

  /// Creates a state from its 14 bytes.
  public init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("state", bytes, count: 14)
    time = reader.word()
    weight = reader.signedShort()
    level = reader.short()
    dailyTotal = reader.short()
    battery = reader.byte()
    flags = Flags(rawValue: reader.byte())
    unsynced = reader.short()
  }

  /// The 14 bytes of the state.
  public var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.word(time)
    writer.short(UInt16(bitPattern: weight))
    writer.short(level)
    writer.short(dailyTotal)
    writer.byte(battery)
    writer.byte(flags.rawValue)
    writer.short(unsynced)
    return writer.bytes
  }
}
