/// An event that a bottle handles.
public enum BottleInput: Sendable, Equatable {
  /// The bottle was moved, which wakes it unless it assumes that it is in a backpack.
  case moved
  /// The bottle was tapped twice, which wakes it from any sleep.
  case tapped
  /// The bottle began or stopped standing upright and still.
  case stands(Bool)
  /// An amount was drunk, in milliliters; a negative amount is a refill.
  case poured(Int16)
  /// The battery was measured, in percent.
  case battery(UInt8)
  /// The phone connected.
  case connected
  case disconnected
  /// The phone requested records.
  case sync(count: UInt16, chunkSize: UInt16)
  /// The phone acknowledged the last chunk.
  case acknowledged
  case command(FirmwareCommand)
  /// The phone wrote the settings.
  case settings(shakeToEmpty: Bool)
  /// The phone wrote the configuration.
  case configuration(FirmwareConfiguration)
  /// The bottle was shaken, which empties it if the settings say so.
  case shaken
}

/// A command of the phone.
public enum FirmwareCommand: Sendable, Equatable {
  case tare, ping, resetDaily, clearHistory, startCalibration, cancelCalibration
  case measure(full: Bool)
  case calibrate(empty: Int32, full: Int32, scale: Float)
  case setTime(UInt32)
  case delete(UInt32)
  case activitySummary
}

/// The calibration and configuration of a bottle.
public struct FirmwareConfiguration: Sendable, Equatable {
  /// The raw units of the scale for each gram: 100 to 800.
  public var scale: Float
  /// The tare in grams.
  public var tare: Int32
  /// The capacity in milliliters.
  public var capacity: UInt16
  /// The daily goal in milliliters: 1000 to 4000.
  public var dailyGoal: UInt16

  public init(scale: Float, tare: Int32, capacity: UInt16, dailyGoal: UInt16) {
    (self.scale, self.tare, self.capacity, self.dailyGoal) = (scale, tare, capacity, dailyGoal)
  }

  /// The configuration before a calibration: 412.5 counts per gram, 830 ml, 2,500 ml a day.
  public static var usual: FirmwareConfiguration {
    FirmwareConfiguration(scale: 412.5, tare: 0, capacity: 830, dailyGoal: 2500)
  }

  /// Whether the bottle accepts the configuration.
  public var isValid: Bool {
    scale >= 100 && scale <= 800 && dailyGoal >= 1000 && dailyGoal <= 4000
  }
}

/// The effects of a bottle, several at once, as a set of bits that needs no allocation.
public struct BottleEffects: Sendable, Equatable {
  /// The effects of this set, one bit each, from 1 to 1024.
  public private(set) var bits: UInt16

  public init(_ bits: UInt16 = 0) {
    self.bits = bits
  }

  /// Begin to advertise, so that a phone can connect.
  public static var advertise: BottleEffects { BottleEffects(1) }
  /// Stop advertising: a phone connected, the time is over, or the bottle falls asleep.
  public static var stopAdvertising: BottleEffects { BottleEffects(2) }
  /// Sleep until the bottle is moved or tapped.
  public static var sleep: BottleEffects { BottleEffects(4) }
  /// Sleep until the bottle is tapped.
  public static var sleepDeeply: BottleEffects { BottleEffects(8) }
  /// End the connection because the bottle falls asleep.
  public static var disconnect: BottleEffects { BottleEffects(16) }
  /// Notify the state (characteristic 0001), 14 bytes.
  public static var notifyState: BottleEffects { BottleEffects(32) }
  /// Notify the next chunk of records (characteristic 0004), 6 bytes and 14 for each record.
  public static var notifyChunk: BottleEffects { BottleEffects(64) }
  /// Notify the progress of the calibration (characteristic 0008), 12 bytes.
  public static var notifyCalibration: BottleEffects { BottleEffects(128) }
  /// Notify the requested activities (characteristic 0007).
  public static var notifyActivity: BottleEffects { BottleEffects(256) }
  /// Write changed records, marks or configuration to flash.
  public static var persist: BottleEffects { BottleEffects(512) }
  /// Reject the write of the phone.
  public static var reject: BottleEffects { BottleEffects(1024) }

  /// Returns whether this set contains all of `other`.
  public func contains(_ other: BottleEffects) -> Bool { bits & other.bits == other.bits }

  mutating func add(_ other: BottleEffects) { bits |= other.bits }

  mutating func remove(_ other: BottleEffects) { bits &= ~other.bits }
}
