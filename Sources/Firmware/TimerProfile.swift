/// The timers of a bottle, in milliseconds, as its plans changed them.
///
/// A profile is data: the rules are the same for all. Where a number is 0 there is no such timer.
public struct TimerProfile: Sendable, Equatable {
  /// The number of the plan.
  public var plan: UInt16
  /// How long it stays awake after the last activity.
  public var awake: UInt32
  /// The same while it has unsynchronised records.
  public var awakeUnsynced: UInt32
  /// Whether only records that were made since it woke count for `awakeUnsynced`.
  public var countsNewRecordsOnly: Bool
  /// How long it advertises; 0 for as long as it is awake.
  public var advertising: UInt32
  /// The same while it has unsynchronised records.
  public var advertisingUnsynced: UInt32
  /// Whether writes of the phone count as activity. A connection alone never does, and neither does
  /// setting the clock.
  public var dataIsActivity: Bool
  /// After this long without standing upright and still it takes itself for being in a backpack.
  public var backpack: UInt32
  /// Whether that time begins anew each time it stands still; otherwise it is counted from waking.
  public var backpackCountsFromStable: Bool
  /// Whether writes of the phone begin that time anew, too.
  public var dataEndsBackpack: Bool
  /// Whether a bottle that did not stand still since it woke stays awake until `backpack` is over.
  public var waitsForStable: Bool
  /// How often a timer wakes it from any sleep, to look after itself.
  public var healthCheck: UInt32
  /// Below this many percent it sleeps and nothing wakes it; 0 for no such rule.
  public var lockout: UInt8
  /// From this many percent on it can be woken again.
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

  /// The seed: 30 s, and 120 s with unsynchronised records, for advertising and being awake.
  public static var plan028: TimerProfile {
    TimerProfile(
      plan: 28, awake: 30_000, awakeUnsynced: 120_000, countsNewRecordsOnly: false,
      advertising: 30_000, advertisingUnsynced: 120_000, dataIsActivity: false,
      backpack: 300_000, backpackCountsFromStable: false)
  }

  /// Two timers instead of six: it advertises as long as it is awake, 30 s after any activity.
  public static var plan034: TimerProfile {
    TimerProfile(
      plan: 34, awake: 30_000, awakeUnsynced: 30_000, countsNewRecordsOnly: false,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true,
      backpack: 180_000, backpackCountsFromStable: true)
  }

  /// The same, with 240 s for records that were made since it woke, and what later plans added.
  public static var plan035: TimerProfile {
    TimerProfile(
      plan: 35, awake: 30_000, awakeUnsynced: 240_000, countsNewRecordsOnly: true,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true,
      backpack: 180_000, backpackCountsFromStable: true, dataEndsBackpack: true,
      waitsForStable: true, healthCheck: 7_200_000, lockout: 20, recovery: 25)
  }
}
