/// The timers of a bottle in milliseconds, as changed by its firmware plans.
///
/// A profile is data; the rules are the same for all profiles. The value 0 turns a timer off.
public struct TimerProfile: Sendable, Equatable {
  /// The number of the plan.
  public var plan: UInt16
  /// The time for which the bottle stays awake after the last activity.
  public var awake: UInt32
  /// The time for which the bottle stays awake while it has unsynchronized records.
  public var awakeUnsynced: UInt32
  /// Whether only records made since the last wake count for `awakeUnsynced`.
  public var countsNewRecordsOnly: Bool
  /// The time for which the bottle advertises; 0 for as long as it is awake.
  public var advertising: UInt32
  /// The time for which the bottle advertises while it has unsynchronized records.
  public var advertisingUnsynced: UInt32
  /// Whether writes of the phone count as activity.
  ///
  /// A connection alone and setting the clock never do.
  public var dataIsActivity: Bool
  /// The time without standing upright and still after which the bottle assumes that it is in a
  /// backpack.
  public var backpack: UInt32
  /// Whether that time restarts whenever the bottle stands still; otherwise it counts from the
  /// wake.
  public var backpackCountsFromStable: Bool
  /// Whether writes of the phone restart that time too.
  public var dataEndsBackpack: Bool
  /// Whether a bottle that has not stood still since its wake stays awake until `backpack` is over.
  public var waitsForStable: Bool
  /// The interval of health checks, for which a timer wakes the bottle from any sleep.
  public var healthCheck: UInt32
  /// The battery percentage below which the bottle sleeps and cannot wake; 0 for no limit.
  public var lockout: UInt8
  /// The battery percentage from which the bottle can wake again.
  public var recovery: UInt8

  public init(
    plan: UInt16, awake: UInt32, awakeUnsynced: UInt32, countsNewRecordsOnly: Bool,
    advertising: UInt32, advertisingUnsynced: UInt32, dataIsActivity: Bool, backpack: UInt32,
    backpackCountsFromStable: Bool, dataEndsBackpack: Bool = false, waitsForStable: Bool = false,
    healthCheck: UInt32 = 0, lockout: UInt8 = 0, recovery: UInt8 = 0
  ) {
    self.plan = plan
    self.awake = awake
    self.awakeUnsynced = awakeUnsynced
    self.countsNewRecordsOnly = countsNewRecordsOnly
    self.advertising = advertising
    self.advertisingUnsynced = advertisingUnsynced
    self.dataIsActivity = dataIsActivity
    self.backpack = backpack
    self.backpackCountsFromStable = backpackCountsFromStable
    self.dataEndsBackpack = dataEndsBackpack
    self.waitsForStable = waitsForStable
    self.healthCheck = healthCheck
    self.lockout = lockout
    self.recovery = recovery
  }

  /// The required timers: 30 s, or 120 s with unsynchronized records, for advertising and being
  /// awake.
  public static var plan028: TimerProfile {
    TimerProfile(
      plan: 28, awake: 30_000, awakeUnsynced: 120_000, countsNewRecordsOnly: false,
      advertising: 30_000, advertisingUnsynced: 120_000, dataIsActivity: false,
      backpack: 300_000, backpackCountsFromStable: false)
  }

  /// Two timers instead of six: the bottle advertises as long as it is awake, 30 s after any
  /// activity.
  public static var plan034: TimerProfile {
    TimerProfile(
      plan: 34, awake: 30_000, awakeUnsynced: 30_000, countsNewRecordsOnly: false,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true,
      backpack: 180_000, backpackCountsFromStable: true)
  }

  /// The timers of plan 034 with 240 s for records made since the wake, and the additions of later
  /// plans.
  public static var plan035: TimerProfile {
    TimerProfile(
      plan: 35, awake: 30_000, awakeUnsynced: 240_000, countsNewRecordsOnly: true,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true,
      backpack: 180_000, backpackCountsFromStable: true, dataEndsBackpack: true,
      waitsForStable: true, healthCheck: 7_200_000, lockout: 20, recovery: 25)
  }
}
