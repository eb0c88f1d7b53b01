/// The calibration and the configuration of a bottle (characteristic 0002).
public struct BottleConfiguration: Sendable, Hashable, Codable {
  /// The number of raw units of the scale for each gram.
  public var scale: Float
  /// The weight of the empty bottle, in grams.
  public var tare: Int32
  /// The capacity of the bottle, in milliliters.
  public var capacity: UInt16
  /// The amount to drink each day, in milliliters.
  public var dailyGoal: UInt16

  /// The scale factors that a bottle accepts. It rejects a write of any other factor.
  public static let scales: ClosedRange<Float> = 100...800
  /// The daily goals that a bottle accepts, in milliliters.
  public static let dailyGoals: ClosedRange<UInt16> = 1000...4000

  public init(scale: Float, tare: Int32, capacity: UInt16 = 830, dailyGoal: UInt16 = 2500) {
    (self.scale, self.tare, self.capacity, self.dailyGoal) = (scale, tare, capacity, dailyGoal)
  }

  /// The reason why a bottle would reject the configuration, with the remedy, or `nil` if it would
  /// accept it.
  public var problem: String? {
    if !Self.scales.contains(scale) { return "the scale factor must be 100 to 800" }
    if !Self.dailyGoals.contains(dailyGoal) { return "the daily goal must be 1000 to 4000 ml" }
    return nil
  }

  /// Creates a configuration from its 12 bytes.
  public init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("configuration", bytes, count: 12)
    scale = try reader.number()
    tare = reader.signedWord()
    capacity = reader.short()
    dailyGoal = reader.short()
  }

  /// The 12 bytes of the configuration.
  public var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.word(scale.bitPattern)
    writer.word(UInt32(bitPattern: tare))
    writer.short(capacity)
    writer.short(dailyGoal)
    return writer.bytes
  }
}

/// The settings of a bottle (characteristic 0006).
public struct BottleSwitches: Sendable, Hashable, Codable {
  /// Whether shaking the bottle signals that it was emptied.
  public var shakeToEmpty: Bool

  public init(shakeToEmpty: Bool) {
    self.shakeToEmpty = shakeToEmpty
  }

  /// Creates settings from their 4 bytes.
  public init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("settings", bytes, count: 4)
    shakeToEmpty = reader.byte() & 1 == 1
  }

  /// The 4 bytes of the settings.
  public var bytes: [UInt8] { [shakeToEmpty ? 1 : 0, 0, 0, 0] }
}

/// The progress of a calibration (characteristic 0008).
public struct BottleCalibration: Sendable, Hashable, Codable {
  /// The current step of the calibration, transmitted as 0 to 10.
  public var step: Step
  /// Whether the last measurement failed.
  public var hasFailed: Bool
  /// The raw value of the empty bottle.
  public var empty: Int32
  /// The raw value of the full bottle.
  public var full: Int32

  /// A step of a calibration.
  public enum Step: UInt8, Sendable, Hashable, Codable, CaseIterable {
    case idle, triggered, started, waitEmpty, measureEmpty, confirmEmpty
    case waitFull, measureFull, confirmFull, complete, error
  }

  public init(step: Step, hasFailed: Bool = false, empty: Int32 = 0, full: Int32 = 0) {
    (self.step, self.hasFailed, self.empty, self.full) = (step, hasFailed, empty, full)
  }

  /// Creates the progress of a calibration from its 12 bytes.
  public init(_ bytes: [UInt8]) throws(BottleFormatError) {
    var reader = try PackedReader("calibration", bytes, count: 12)
    let number = reader.byte()
    guard let step = Step(rawValue: number) else { throw reader.fault("an unknown step \(number)") }
    self.step = step
    hasFailed = reader.byte() & 1 == 1
    empty = reader.signedWord()
    full = reader.signedWord()
  }

  /// The 12 bytes of the progress.
  public var bytes: [UInt8] {
    var writer = PackedWriter()
    writer.byte(step.rawValue)
    writer.byte(hasFailed ? 1 : 0)
    writer.word(UInt32(bitPattern: empty))
    writer.word(UInt32(bitPattern: full))
    writer.short(0)
    return writer.bytes
  }
}
