/// An event that a bottle handles.
public enum BottleInput: Sendable, Equatable {
  /// The bottle was moved. This wakes it unless it is in deep sleep.
  case moved
  /// The bottle was tapped twice. This wakes it even from deep sleep.
  case tapped
  /// The bottle started or stopped standing upright and still.
  case stands(Bool)
  /// Water was drunk or refilled, in milliliters. A negative amount is a refill.
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
  /// The bottle was shaken. This sets its level to 0 if the settings allow it.
  case shaken
}

/// A command from the phone.
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
  /// The number of raw units of the scale per gram, from 100 to 800.
  public var scale: Float
  /// The tare in grams.
  public var tare: Int32
  /// The capacity in milliliters.
  public var capacity: UInt16
  /// The daily goal in milliliters, from 1000 to 4000.
  public var dailyGoal: UInt16

  public init(scale: Float, tare: Int32, capacity: UInt16, dailyGoal: UInt16) {
    (self.scale, self.tare, self.capacity, self.dailyGoal) = (scale, tare, capacity, dailyGoal)
  }

  /// The configuration before a calibration: 412.5 raw units per gram, a capacity of 830 ml, and a
  /// daily goal of 2,500 ml.
  public static var usual: FirmwareConfiguration {
    FirmwareConfiguration(scale: 412.5, tare: 0, capacity: 830, dailyGoal: 2500)
  }

  /// Whether the scale and the daily goal are within their bounds.
  public var isValid: Bool {
    scale >= 100 && scale <= 800 && dailyGoal >= 1000 && dailyGoal <= 4000
  }
}

/// A set of effects of a bottle. It is a bit mask, so that it needs no allocation.
public struct BottleEffects: Sendable, Equatable {
  /// The bit mask, with one bit for each effect, from 1 to 1024.
  public private(set) var bits: UInt16

  public init(_ bits: UInt16 = 0) {
    self.bits = bits
  }

  /// Starts advertising, so that a phone can connect.
  public static var advertise: BottleEffects { BottleEffects(1) }
  /// Stops advertising: a phone has connected, the time is over, or the bottle falls asleep.
  public static var stopAdvertising: BottleEffects { BottleEffects(2) }
  /// Puts the bottle to sleep until it is moved or tapped.
  public static var sleep: BottleEffects { BottleEffects(4) }
  /// Puts the bottle to sleep until it is tapped.
  public static var sleepDeeply: BottleEffects { BottleEffects(8) }
  /// Ends the connection because the bottle falls asleep.
  public static var disconnect: BottleEffects { BottleEffects(16) }
  /// Notifies the phone of the state (characteristic 0001), in 14 bytes.
  public static var notifyState: BottleEffects { BottleEffects(32) }
  /// Notifies the phone of the next chunk of records (characteristic 0004), in 6 bytes and 14 more
  /// for each record.
  public static var notifyChunk: BottleEffects { BottleEffects(64) }
  /// Notifies the phone of the progress of the calibration (characteristic 0008), in 12 bytes.
  public static var notifyCalibration: BottleEffects { BottleEffects(128) }
  /// Notifies the phone of the activities that it requested (characteristic 0007).
  public static var notifyActivity: BottleEffects { BottleEffects(256) }
  /// Writes changed records, marks or configuration to flash.
  public static var persist: BottleEffects { BottleEffects(512) }
  /// Rejects the phone's write.
  public static var reject: BottleEffects { BottleEffects(1024) }

  /// Returns whether this set contains all of `other`.
  public func contains(_ other: BottleEffects) -> Bool { bits & other.bits == other.bits }

  mutating func add(_ other: BottleEffects) { bits |= other.bits }

  mutating func remove(_ other: BottleEffects) { bits &= ~other.bits }
}
