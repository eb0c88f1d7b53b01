import LinkCore

/// A reference model of the firmware.
///
/// It shares no rule and no codec with the firmware: its timers are a table of its own, its times
/// do not wrap, its records are a list, and it puts its values together from bytes. What the
/// firmware does is compared with it after every step.
struct BottleTwin: Sendable {
  let timers: Timers
  let capacity: Int
  /// Whether deleted records count as unsynchronised.
  let countsDeleted: Bool
  var power = Power.asleep
  var isConnected = false
  var isAdvertising = false
  /// Before the present step.
  var wasAdvertising = false
  /// The longest value that a notification carries.
  var longest = 20
  var records: [Record] = []
  var nextID: UInt32 = 1
  var sending: Sending?
  var level: Int
  var toldLevel: Int
  var total = 0
  /// The day of the newest record, counted from 1970 or from the start.
  var day = 0
  var battery = 100
  var isLocked = false
  var isStill = false
  var emptiesWhenShaken = true
  var configuration = Configuration()
  var calibration = Calibration()
  var wakes = 0
  var checks = 0
  var backpacks = 0
  // In milliseconds since the start.
  var now: Int64 = 0
  /// Of the last step in which the firmware had its turn.
  var turn: Int64 = 0
  var wokeAt: Int64 = 0
  var activeAt: Int64 = 0
  var stoodAt: Int64 = 0
  var advertisedAt: Int64 = 0
  var checkAt: Int64
  var hasStood = false
  var waitingAtWake = 0
  private var start: Instant
  private var last: Instant
  /// When the clock was set, and to what.
  private var clock: (at: Int64, seconds: Int64)?

  enum Power: Sendable { case awake, asleep, deep }

  struct Record: Sendable, Equatable {
    var id: UInt32
    var time: UInt32
    var amount: Int
    var level: Int
    var beginsDay: Bool
    var isSynced = false
    var isDeleted = false

    var isWaiting: Bool { !isSynced && !isDeleted }
  }

  struct Configuration: Sendable, Equatable {
    var scale: Float = 412.5
    var tare: Int32 = 0
    var capacity = 830
    var goal = 2500
  }

  struct Calibration: Sendable, Equatable {
    var step: UInt8 = 0
    var empty: Int32 = 0
    var full: Int32 = 0
    var hasResult = false
  }

  /// A synchronisation: the ids that were asked for, and what the present chunk spans.
  struct Sending: Sendable {
    var asked: Int
    var size: Int
    var last: UInt32
    var index = 0
    var before: UInt32 = 0
    var end: UInt32 = 0

    var total: Int { (asked + size - 1) / size }
  }

  init(plan: Int, capacity: Int, countsDeleted: Bool, level: Int, at time: Instant) {
    timers = Timers.of(plan)
    (self.capacity, self.countsDeleted) = (capacity, countsDeleted)
    (self.level, toldLevel) = (level, level)
    (start, last) = (time, time)
    checkAt = timers.check
  }

  // Time.

  /// Lets the counter go on, as a bottle's does.
  mutating func advance(to time: Instant) {
    last = max(last, time)
    now = start.duration(to: last).nanoseconds / 1_000_000
  }

  var isTimeSet: Bool { clock != nil }

  /// What the bottle's clock shows, as of the firmware's last turn.
  var seconds: Int64 {
    clock.map { $0.seconds + (turn - $0.at) / 1000 } ?? turn / 1000
  }

  mutating func setClock(_ seconds: Int64) { clock = (now, seconds) }

  /// When it wants to be called.
  var deadline: Instant? {
    let due: Int64
    switch power {
    case .awake: due = [sleepsAt, backpackAt, silentAt].compactMap(\.self).min() ?? sleepsAt
    case .asleep, .deep:
      guard timers.check > 0 else { return nil }
      due = checkAt
    }
    return last.advanced(by: .milliseconds(max(due - now, 0)))
  }

  /// Its battery was taken out: what is not in its flash is gone.
  mutating func restart(at time: Instant) {
    let (records, next, kept) = (self.records, nextID, configuration)
    self = BottleTwin(
      plan: timers.plan, capacity: capacity, countsDeleted: countsDeleted, level: level, at: time)
    (self.records, nextID, configuration) = (records, next, kept)
  }

  /// Its flash was erased too: of what it knew, only the level in it is left.
  mutating func erase(at time: Instant) {
    self = BottleTwin(
      plan: timers.plan, capacity: capacity, countsDeleted: countsDeleted, level: level, at: time)
  }
}

extension BottleTwin {
  /// The timers of a plan, in milliseconds; 0 for none.
  struct Timers: Sendable {
    var plan: Int
    var awake: Int64
    var awakeWaiting: Int64
    var advertising: Int64
    var advertisingWaiting: Int64
    var backpack: Int64
    var check: Int64 = 0
    /// Only records since it woke keep it awake for longer.
    var countsNew = false
    /// Writes keep it awake; writes also tell that it is in no backpack.
    var writesWake = false
    var writesUnpack = false
    /// The backpack's time is counted from when it stood last, not from when it woke.
    var standingUnpacks = false
    /// It stays awake until it stood once.
    var waitsToStand = false
    var locksBelow = 0
    var unlocksFrom = 0

    static func of(_ plan: Int) -> Timers {
      switch plan {
      case 28:
        Timers(
          plan: 28, awake: 30_000, awakeWaiting: 120_000, advertising: 30_000,
          advertisingWaiting: 120_000, backpack: 300_000)
      case 34:
        Timers(
          plan: 34, awake: 30_000, awakeWaiting: 30_000, advertising: 0, advertisingWaiting: 0,
          backpack: 180_000, writesWake: true, standingUnpacks: true)
      case _:
        Timers(
          plan: 35, awake: 30_000, awakeWaiting: 240_000, advertising: 0, advertisingWaiting: 0,
          backpack: 180_000, check: 7_200_000, countsNew: true, writesWake: true,
          writesUnpack: true, standingUnpacks: true, waitsToStand: true, locksBelow: 20,
          unlocksFrom: 25)
      }
    }
  }

  /// What a bottle does in a step; a set, since a step does nothing twice.
  struct Signs: OptionSet, Sendable {
    let rawValue: Int

    static let stores = Signs(rawValue: 1)
    static let advertises = Signs(rawValue: 2)
    static let stopsAdvertising = Signs(rawValue: 4)
    static let tellsState = Signs(rawValue: 8)
    static let tellsCalibration = Signs(rawValue: 16)
    static let tellsActivity = Signs(rawValue: 32)
    static let tellsChunk = Signs(rawValue: 64)
    static let disconnects = Signs(rawValue: 128)
    static let sleeps = Signs(rawValue: 256)
    static let sleepsDeeply = Signs(rawValue: 512)
    static let refuses = Signs(rawValue: 1024)
  }
}
