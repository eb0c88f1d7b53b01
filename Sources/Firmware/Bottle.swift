/// The rules of a bottle: when it is awake and advertises, what it records, how it synchronises.
///
///             moved, tapped, power
///     asleep ───────────────────────▶ awake ──connected──▶ awake, connected
///        ▲                             │  ▲                  │         │
///        │   no activity for a while   │  └──disconnected────┘         │
///        ├─────────────────────────────┴───────────────────────────────┤
///        │   in a backpack: never still for a long while               │
///     asleep deeply ◀──────────────────────────────────────────────────┘
///
/// A value without allocations: it compiles for microcontrollers and is the same on a host. Time is
/// a counter of milliseconds that may wrap around; whoever holds it calls `tick` at its deadline.
/// Effects are bits, and what they are about is read from the value.
public struct Bottle<Storage: RecordStorage> {
  /// The timers and rules of its firmware version.
  public let profile: TimerProfile
  /// The drinks and refills that it keeps, oldest first.
  public internal(set) var ring: RecordRing<Storage>
  /// The synchronisation with the phone, if one runs.
  public internal(set) var sync = SyncResponder()
  /// The depth of its sleep, or `awake`.
  public internal(set) var power = Power.asleep
  /// Whether a phone is connected; there is room for one.
  public internal(set) var isConnected = false
  /// Whether a phone can find it: only while it is awake and not connected.
  public internal(set) var isAdvertising = false
  /// The time in seconds, with which records are stamped.
  public internal(set) var clock: BottleClock
  /// What is in the bottle, in millilitres.
  public internal(set) var level: UInt16
  /// The millilitres that were drunk today, without refills.
  public internal(set) var dailyTotal: UInt16 = 0
  /// The charge of the battery when it was measured last, 0 to 100 percent.
  public internal(set) var battery: UInt8 = 100
  /// Whether it stands upright and still.
  public internal(set) var isStill = false
  /// Whether the battery is too low to wake, until it reaches `profile.recovery` percent.
  public internal(set) var isLocked = false
  /// The scale factor, tare, capacity and daily goal (characteristic 0002).
  public internal(set) var configuration: FirmwareConfiguration
  /// Whether shaking it means that it was emptied (characteristic 0006).
  public internal(set) var shakeToEmpty = true
  /// The progress of a calibration (characteristic 0008).
  public internal(set) var calibration = CalibrationProgress()
  /// How often it was woken by motion or a tap.
  public internal(set) var motionWakes: UInt16 = 0
  /// How often the health check came due in its sleep.
  public internal(set) var timerWakes: UInt16 = 0
  /// How often it went into deep sleep, since it took itself for being in a backpack.
  public internal(set) var backpacks: UInt16 = 0
  /// Whether it counts and marks deleted records as bottles did until now.
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

  /// Whether it is awake.
  public enum Power: UInt8, Sendable, Equatable {
    case awake, asleep, deep
  }

  /// A bottle that was just switched on, and sleeps until its first input.
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

  /// How many records it says to be unsynchronised.
  public var unsynced: UInt16 { ring.unsynced(withDeleted: countsDeleted) }

  /// Takes one input.
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
    // The input can cancel effects of timers that expired in this call.
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

  /// Lets time pass; call it at `deadline`.
  public mutating func tick(at now: UInt32) -> BottleEffects {
    clock.advance(to: now)
    return expire(at: now)
  }

  /// When it wants to be called; `nil` while only an input can change anything.
  public var deadline: UInt32? {
    guard power == .awake else { return profile.healthCheck > 0 ? checkAt : nil }
    var due = sleepsAt
    if isBefore(backpackAt, due) { due = backpackAt }
    if let stops = stopsAdvertisingAt, isBefore(stops, due) { due = stops }
    return due
  }
}

/// Whether one time of the counter is before another, across its wrap.
func isBefore(_ left: UInt32, _ right: UInt32) -> Bool { Int32(bitPattern: left &- right) < 0 }

/// The bottle's clock: seconds since it was switched on, or since 1970 once the phone has set it.
public struct BottleClock: Sendable, Equatable {
  /// Seconds since 1970, or since it was switched on while `isValid` is false.
  public private(set) var seconds: UInt32 = 0
  /// Whether it was set.
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

/// Where a calibration stands, with the numbers of its characteristic.
public struct CalibrationProgress: Sendable, Equatable {
  /// 0 idle, 3 waits for the empty bottle, 6 for the full one, 8 both measured, 9 complete, 10
  /// error.
  public internal(set) var step: UInt8 = 0
  /// The raw value of the scale with the empty bottle; 0 until it is measured.
  public internal(set) var empty: Int32 = 0
  /// The raw value of the scale with the full bottle; 0 until it is measured.
  public internal(set) var full: Int32 = 0
  /// Whether this calibration has measured a raw value.
  public internal(set) var hasResult = false
  /// Whether the bottle reports itself as calibrated: flag 0x02 of its state.
  public internal(set) var isDone = true
}

extension Bottle: Sendable where Storage: Sendable {}
