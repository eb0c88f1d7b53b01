/// The state of a bottle, as it notifies it (characteristic 0001).
public struct BottleState: Sendable, Hashable, Codable {
  /// Seconds since 1970, shifted by the bottle's time zone, which is normally 0.
  public var time: UInt32
  /// The weight on the scale, in grams.
  public var weight: Int16
  /// What is in the bottle, in millilitres.
  public var level: UInt16
  /// What was drunk today, in millilitres.
  public var dailyTotal: UInt16
  /// In percent.
  public var battery: UInt8
  /// The conditions of the bottle, byte 11.
  public var flags: Flags
  /// How many records the bottle believes to be unsynchronised. It may count deleted ones.
  public var unsynced: UInt16

  /// Conditions of a bottle.
  public struct Flags: OptionSet, Sendable, Hashable, Codable {
    /// The bits as on the air; unknown ones are kept.
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
      self.rawValue = rawValue
    }

    /// The clock was set by a phone, so `time` can be relied on.
    public static let timeIsValid = Flags(rawValue: 0x01)
    /// The scale was calibrated, so `level` can be relied on.
    public static let isCalibrated = Flags(rawValue: 0x02)
    /// The bottle stands still, so `weight` has settled.
    public static let isStable = Flags(rawValue: 0x04)
    /// A measurement for the calibration is under way.
    public static let isMeasuring = Flags(rawValue: 0x08)
    /// `weight` and `level` hold a raw value of the scale instead.
    public static let hasMeasured = Flags(rawValue: 0x10)
    /// The battery is low, by the threshold of the bottle.
    public static let batteryIsLow = Flags(rawValue: 0x20)
  }

  public init(
    time: UInt32 = 0, weight: Int16 = 0, level: UInt16 = 0, dailyTotal: UInt16 = 0,
    battery: UInt8 = 100, flags: Flags = [], unsynced: UInt16 = 0
  ) {
    (self.time, self.weight, self.level, self.dailyTotal) = (time, weight, level, dailyTotal)
    (self.battery, self.flags, self.unsynced) = (battery, flags, unsynced)
  }

  /// The raw value of the scale after a measurement for the calibration; `nil` without one.
  public var measurement: Int32? {
    guard flags.contains(.hasMeasured) else { return nil }
    return Int32(bitPattern: UInt32(level) << 16 | UInt32(UInt16(bitPattern: weight)))
  }

  /// Reads 14 bytes.
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

  /// Its 14 bytes.
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
