/// The rules of a bottle: when it wakes and advertises, what it records, and how it synchronizes.
///
///             moved, tapped, power
///     asleep ───────────────────────▶ awake ──connected──▶ awake, connected
///        ▲                             │  ▲                  │         │
///        │   no activity for a while   │  └──disconnected────┘         │
///        ├─────────────────────────────┴───────────────────────────────┤
///        │   in a backpack: never still for a long while               │
///     asleep deeply ◀──────────────────────────────────────────────────┘
///
/// A bottle is a value that allocates no memory, so the same code runs on microcontrollers and on a
/// host. Time is a counter of milliseconds that may wrap around. The owner calls `tick` at the
/// deadline. Effects are bits, and the owner reads their data from the value.
public struct Bottle<Storage: RecordStorage> {
  /// The timers and rules of the firmware version.
  public let profile: TimerProfile
  /// The stored drinks and refills, oldest first.
  public internal(set) var ring: RecordRing<Storage>
  /// The bottle's side of the synchronization with a phone.
  public internal(set) var sync = SyncResponder()
  /// Whether the bottle is awake, or how deeply it sleeps.
  public internal(set) var power = Power.asleep
  /// Whether a phone is connected. At most one phone is connected at a time.
  public internal(set) var isConnected = false
  /// Whether phones can find the bottle, which requires that it is awake and not connected.
  public internal(set) var isAdvertising = false
  /// The clock for the times of records.
  public internal(set) var clock: BottleClock
  /// The amount of water in the bottle, in milliliters.
  public internal(set) var level: UInt16
  /// The amount drunk today in milliliters, without refills.
  public internal(set) var dailyTotal: UInt16 = 0
  /// The charge of the battery at its last measurement, in percent.
  public internal(set) var battery: UInt8 = 100
  /// Whether the bottle stands upright and still.
  public internal(set) var isStill = false
  /// Whether the battery is too low to wake the bottle. This lasts until `profile.recovery`
  /// percent.
  public internal(set) var isLocked = false
  /// The scale factor, tare, capacity and daily goal (characteristic 0002).
  public internal(set) var configuration: FirmwareConfiguration
  /// Whether shaking the bottle sets its level to 0 (characteristic 0006).
  public internal(set) var shakeToEmpty = true
  /// The progress of a calibration (characteristic 0008).
  public internal(set) var calibration = CalibrationProgress()
  /// The number of wakes by motion or a tap.
  public internal(set) var motionWakes: UInt16 = 0
  /// The number of health checks that became due during sleep.
  public internal(set) var timerWakes: UInt16 = 0
  /// The number of deep sleeps that began because the bottle seemed to be in a backpack.
  public internal(set) var backpacks: UInt16 = 0
  /// Whether deleted records count as unsynchronized and are marked, as by older firmware.
  public var countsDeleted = false

  var wokeAt: UInt32
  var activeAt: UInt32
  var stableAt: UInt32
  var advertisedAt: UInt32
  var checkAt: UInt32
  var hasStood = false
  var unsyncedAtWake: UInt16 = 0
  var notifiedLevel: UInt16
  var day: UInt32 = 0

  /// The power state of a bottle.
  public enum Power: UInt8, Sendable, Equatable {
    case awake, asleep, deep
  }

  /// Creates a bottle that has just been switched on. It sleeps until its first input.
  public init(
    _ profile: TimerProfile, ring: RecordRing<Storage>,
    configuration: FirmwareConfiguration = .usual, level: UInt16 = 0, at now: UInt32 = 0
  ) {
    (self.profile, self.ring, self.configuration) = (profile, ring, configuration)
    self.level = level
    notifiedLevel = level
    clock = BottleClock(now)
    (wokeAt, activeAt, stableAt, advertisedAt) = (now, now, now, now)
    checkAt = now &+ profile.healthCheck
  }

  /// The number of records that the bottle reports as unsynchronized.
  public var unsynced: UInt16 { ring.unsynced(withDeleted: countsDeleted) }

  /// Handles one input.
  public mutating func handle(_ input: BottleInput, at now: UInt32) -> BottleEffects {
    clock.advance(to: now)
    let wasAdvertising = isAdvertising
    var effects = expire(at: now)
    switch input {
    case .moved: effects.add(wake(byTap: false, at: now))
    case .tapped: effects.add(wake(byTap: true, at: now))
    case .stands(let isStill): effects.add(stand(isStill, at: now))
    case .poured(let amount): effects.add(pour(amount, at: now))
    case .shaken: effects.add(shake(at: now))
    case .battery(let percent): effects.add(measured(percent, at: now))
    case .connected: effects.add(connect())
    case .disconnected: effects.add(disconnected(at: now))
    case .sync, .acknowledged, .command, .settings, .configuration:
      effects.add(isConnected ? written(input, at: now) : .reject)
    }
    // The input may cancel the effects of timers that expired in this call.
    if power == .awake {
      effects.remove(.sleep)
      effects.remove(.sleepDeeply)
    }
    if isAdvertising, wasAdvertising {
      effects.remove(.advertise)
      effects.remove(.stopAdvertising)
    }
    return effects
  }

  /// Handles the timers that have expired. The owner calls it at `deadline`.
  public mutating func tick(at now: UInt32) -> BottleEffects {
    clock.advance(to: now)
    return expire(at: now)
  }

  /// The time at which `tick` must be called; `nil` while only an input can change the bottle.
  public var deadline: UInt32? {
    guard power == .awake else { return profile.healthCheck > 0 ? checkAt : nil }
    var due = sleepsAt
    if isBefore(backpackAt, due) { due = backpackAt }
    if let stops = stopsAdvertisingAt, isBefore(stops, due) { due = stops }
    return due
  }
}

/// Returns whether a time of the counter is before another, even if the counter has wrapped around.
func isBefore(_ left: UInt32, _ right: UInt32) -> Bool { Int32(bitPattern: left &- right) < 0 }

/// The bottle's clock, which counts seconds since it was switched on, or since 1970 once it is set.
public struct BottleClock: Sendable, Equatable {
  /// The seconds since 1970, or since the bottle was switched on while `isValid` is false.
  public private(set) var seconds: UInt32 = 0
  /// Whether a phone has set the clock.
  public private(set) var isValid = false
  private var counter: UInt32
  private var rest: UInt32 = 0

  init(_ now: UInt32) { counter = now }

  mutating func advance(to now: UInt32) {
    rest &+= now &- counter
    counter = now
    seconds &+= rest / 1000
    rest %= 1000
  }

  mutating func set(_ time: UInt32) {
    (seconds, rest, isValid) = (time, 0, true)
  }
}

/// The progress of a calibration. The numbers are those of its characteristic.
public struct CalibrationProgress: Sendable, Equatable {
  /// The step: 0 idle, 3 waiting for the empty bottle, 6 waiting for the full bottle, 8 both
  /// measured, 9 complete, 10 error.
  public internal(set) var step: UInt8 = 0
  /// The raw value of the scale with the empty bottle; 0 before it is measured.
  public internal(set) var empty: Int32 = 0
  /// The raw value of the scale with the full bottle; 0 before it is measured.
  public internal(set) var full: Int32 = 0
  /// Whether this calibration has measured a raw value.
  public internal(set) var hasResult = false
  /// Whether the bottle reports that it is calibrated: flag 0x02 of its state.
  public internal(set) var isDone = true
}

extension Bottle: Sendable where Storage: Sendable {}

// Waking, advertising and sleeping.
extension Bottle {
  /// The time at which the bottle falls asleep if there is no further activity.
  var sleepsAt: UInt32 {
    let isWaiting =
      profile.countsNewRecordsOnly ? unsynced > unsyncedAtWake : unsynced > 0
    let at = activeAt &+ (isWaiting ? profile.awakeUnsynced : profile.awake)
    // Deep sleep at `backpackAt` takes precedence, so a later time has no effect.
    return profile.waitsForStable && !hasStood ? backpackAt : at
  }

  /// The time at which the bottle assumes that it is in a backpack.
  var backpackAt: UInt32 {
    (profile.backpackCountsFromStable ? stableAt : wokeAt) &+ profile.backpack
  }

  var stopsAdvertisingAt: UInt32? {
    guard isAdvertising, profile.advertising > 0 else { return nil }
    return advertisedAt
      &+ (unsynced > 0 ? profile.advertisingUnsynced : profile.advertising)
  }

  mutating func expire(at now: UInt32) -> BottleEffects {
    guard power == .awake else {
      if profile.healthCheck > 0, !isBefore(now, checkAt) {
        timerWakes &+= 1
        checkAt = now &+ profile.healthCheck
      }
      return BottleEffects()
    }
    if !isBefore(now, backpackAt) { return fallAsleep(deeply: true, at: now) }
    if !isBefore(now, sleepsAt) { return fallAsleep(deeply: false, at: now) }
    if let stops = stopsAdvertisingAt, !isBefore(now, stops) {
      isAdvertising = false
      return .stopAdvertising
    }
    return BottleEffects()
  }

  /// Wakes the bottle, or restarts the sleep timer if the bottle is awake.
  mutating func wake(byTap: Bool, at now: UInt32) -> BottleEffects {
    switch power {
    case .awake: break
    case .deep where !byTap: return BottleEffects()
    case .asleep, .deep:
      guard !isLocked else { return BottleEffects() }
      power = .awake
      motionWakes &+= 1
      (wokeAt, stableAt, hasStood, isStill) = (now, now, false, false)
      unsyncedAtWake = unsynced
    }
    activeAt = now
    return isConnected ? BottleEffects() : advertise(at: now)
  }

  mutating func stand(_ isStill: Bool, at now: UInt32) -> BottleEffects {
    guard power == .awake, isStill != self.isStill else { return BottleEffects() }
    self.isStill = isStill
    activeAt = now
    if isStill {
      stableAt = now
      hasStood = true
    }
    return notifiesState
  }

  mutating func measured(_ percent: UInt8, at now: UInt32) -> BottleEffects {
    battery = percent
    let wasLocked = isLocked
    if percent < profile.lockout { isLocked = true }
    if percent >= profile.recovery { isLocked = false }
    guard isLocked != wasLocked else { return BottleEffects() }
    var effects = notifiesState
    if isLocked, power == .awake { effects.add(fallAsleep(deeply: false, at: now)) }
    return effects
  }

  mutating func connect() -> BottleEffects {
    guard isAdvertising else { return .reject }
    (isConnected, isAdvertising) = (true, false)
    return .stopAdvertising
  }

  mutating func disconnected(at now: UInt32) -> BottleEffects {
    guard isConnected else { return BottleEffects() }
    isConnected = false
    sync.stop()
    return power == .awake ? advertise(at: now) : BottleEffects()
  }

  private mutating func advertise(at now: UInt32) -> BottleEffects {
    advertisedAt = now
    guard !isAdvertising else { return BottleEffects() }
    isAdvertising = true
    return .advertise
  }

  /// Puts the bottle to sleep. A connection alone does not keep it awake.
  private mutating func fallAsleep(deeply: Bool, at now: UInt32) -> BottleEffects {
    var effects = deeply ? BottleEffects.sleepDeeply : BottleEffects.sleep
    if isConnected { effects.add(.disconnect) }
    if isAdvertising { effects.add(.stopAdvertising) }
    if deeply { backpacks &+= 1 }
    power = deeply ? .deep : .asleep
    (isConnected, isAdvertising) = (false, false)
    sync.stop()
    checkAt = now &+ profile.healthCheck
    return effects
  }

  /// The effect that notifies the phone of a new state; empty if no phone is connected.
  var notifiesState: BottleEffects { isConnected ? .notifyState : BottleEffects() }
}

// Recording, and writes by the phone.
extension Bottle {
  /// The smallest recorded drink and the smallest recorded refill, in milliliters.
  static var leastDrink: Int16 { 30 }
  static var leastRefill: Int16 { -100 }
  /// The smallest change of the level that causes a notification, in milliliters.
  static var notifiedChange: UInt16 { 10 }

  mutating func pour(_ amount: Int16, at now: UInt32) -> BottleEffects {
    // The bottle moves when somebody drinks from it.
    var effects = wake(byTap: false, at: now)
    guard power == .awake else { return effects }
    let after = Int32(level) &- Int32(amount)
    let most = Int32(configuration.capacity)
    level = UInt16(truncatingIfNeeded: after < 0 ? 0 : after > most ? most : after)
    if amount >= Self.leastDrink || amount <= Self.leastRefill {
      effects.add(record(amount))
    } else {
      effects.add(levelChanged())
    }
    return effects
  }

  private mutating func record(_ amount: Int16) -> BottleEffects {
    let today = clock.seconds / 86_400
    let beginsDay = today != day
    if beginsDay { (day, dailyTotal) = (today, 0) }
    if amount > 0 { dailyTotal = dailyTotal > 60_000 ? dailyTotal : dailyTotal &+ UInt16(amount) }
    _ = ring.add(time: clock.seconds, amount: amount, level: level, beginsDay: beginsDay)
    notifiedLevel = level
    var effects = BottleEffects.persist
    effects.add(notifiesState)
    return effects
  }

  private mutating func levelChanged() -> BottleEffects {
    let change = level > notifiedLevel ? level &- notifiedLevel : notifiedLevel &- level
    guard change >= Self.notifiedChange else { return BottleEffects() }
    notifiedLevel = level
    return notifiesState
  }

  mutating func shake(at now: UInt32) -> BottleEffects {
    var effects = wake(byTap: false, at: now)
    guard shakeToEmpty, power == .awake else { return effects }
    level = 0
    effects.add(levelChanged())
    return effects
  }

  /// Handles a write by the phone.
  mutating func written(_ input: BottleInput, at now: UInt32) -> BottleEffects {
    var effects = BottleEffects()
    switch input {
    case .sync(let count, let size):
      effects = sync.start(count: count, chunkSize: size, in: ring) ? .notifyChunk : effects
    case .acknowledged: effects = acknowledged()
    case .settings(let isOn):
      shakeToEmpty = isOn
      effects = .persist
    case .configuration(let new):
      guard new.isValid else { return .reject }
      configuration = new
      effects = .persist
    case .command(.setTime(let time)):
      // Setting the time does not count as activity, because every connection begins with it.
      clock.set(time)
      return notifiesState
    case .command(let command): effects = obey(command)
    case .moved, .tapped, .stands, .poured, .shaken, .battery, .connected, .disconnected: break
    }
    if profile.dataIsActivity { activeAt = now }
    if profile.dataEndsBackpack { stableAt = now }
    return effects
  }

  private mutating func acknowledged() -> BottleEffects {
    guard sync.isSending else { return BottleEffects() }
    if sync.acknowledge(in: &ring, marksFirst: countsDeleted) { return .notifyChunk }
    var effects = BottleEffects.persist
    effects.add(.notifyState)
    return effects
  }

  private mutating func obey(_ command: FirmwareCommand) -> BottleEffects {
    switch command {
    case .ping, .setTime: return BottleEffects()
    case .tare:
      level = 0
      notifiedLevel = 0
      return .notifyState
    case .resetDaily:
      dailyTotal = 0
      return .notifyState
    case .clearHistory:
      ring.clear()
      sync.stop()
      dailyTotal = 0
      return changed
    case .delete(let id):
      // The phone receives a response even if the id is unknown.
      return ring.delete(id) ? changed : .notifyState
    case .activitySummary: return .notifyActivity
    case .startCalibration:
      calibration = CalibrationProgress()
      calibration.step = 3
      return progressed
    case .cancelCalibration:
      calibration = CalibrationProgress()
      return progressed
    case .measure(let full): return measure(full: full)
    case .calibrate(let empty, let full, let scale):
      guard scale >= 100, scale <= 800, full > empty else { return .reject }
      configuration.scale = scale
      calibration = CalibrationProgress()
      calibration.step = 9
      var effects = progressed
      effects.add(.persist)
      return effects
    }
  }

  private mutating func measure(full: Bool) -> BottleEffects {
    guard calibration.step == (full ? 6 : 3) else {
      calibration.step = 10
      return progressed
    }
    if full {
      calibration.full = rawValue
    } else {
      calibration.empty = rawValue
    }
    calibration.step = full ? 8 : 6
    calibration.hasResult = true
    return progressed
  }

  /// The reading of the scale in raw units, before the calibration is applied.
  public var rawValue: Int32 {
    // Converting from a type other than `Int` would allocate memory on 32-bit targets.
    100_000 &+ Int32(Float(Int(level)) * configuration.scale)
  }

  private var changed: BottleEffects {
    var effects = BottleEffects.persist
    effects.add(.notifyState)
    return effects
  }

  private var progressed: BottleEffects {
    var effects = BottleEffects.notifyCalibration
    effects.add(.notifyState)
    return effects
  }
}
