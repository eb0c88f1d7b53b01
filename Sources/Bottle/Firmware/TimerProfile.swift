/// The timers of a bottle in milliseconds. Each profile is that of a plan for the firmware.
///
/// A profile is data, and the same rules apply to all profiles. The value 0 turns a timer off.
public struct TimerProfile: Sendable, Equatable {
  /// The number of the plan that specifies these timers.
  public var plan: UInt16
  /// The time for which the bottle stays awake after the last activity.
  public var awake: UInt32
  /// The time for which the bottle stays awake while it has unsynchronized records.
  public var awakeUnsynced: UInt32
  /// Whether `awakeUnsynced` applies only to records that were made since the last wake.
  public var countsNewRecordsOnly: Bool
  /// The time for which the bottle advertises; 0 if it advertises for as long as it is awake.
  public var advertising: UInt32
  /// The time for which the bottle advertises while it has unsynchronized records.
  public var advertisingUnsynced: UInt32
  /// Whether writes by the phone count as activity.
  ///
  /// A connection alone never counts, and neither does setting the clock.
  public var dataIsActivity: Bool
  /// The time after which the bottle assumes that it is in a backpack if it has not stood upright
  /// and still.
  public var backpack: UInt32
  /// Whether the time of `backpack` restarts whenever the bottle stands still. Otherwise it starts
  /// at the wake.
  public var backpackCountsFromStable: Bool
  /// Whether writes by the phone also restart the time of `backpack`.
  public var dataEndsBackpack: Bool
  /// Whether a bottle that has not stood still since its wake stays awake until the time of
  /// `backpack` ends.
  public var waitsForStable: Bool
  /// The interval of health checks, which wake the bottle from any sleep.
  public var healthCheck: UInt32
  /// The battery percentage below which the bottle sleeps and cannot wake; 0 if there is no limit.
  public var lockout: UInt8
  /// The battery percentage at which the bottle can wake again.
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

  /// The timers of the requirements: 30 s for advertising and staying awake, or 120 s with
  /// unsynchronized records.
  public static var plan028: TimerProfile {
    TimerProfile(
      plan: 28, awake: 30_000, awakeUnsynced: 120_000, countsNewRecordsOnly: false,
      advertising: 30_000, advertisingUnsynced: 120_000, dataIsActivity: false,
      backpack: 300_000, backpackCountsFromStable: false)
  }

  /// The profile with two timers instead of six: the bottle advertises for as long as it is awake,
  /// which is for 30 s after any activity.
  public static var plan034: TimerProfile {
    TimerProfile(
      plan: 34, awake: 30_000, awakeUnsynced: 30_000, countsNewRecordsOnly: false,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true,
      backpack: 180_000, backpackCountsFromStable: true)
  }

  /// The timers of plan 034, 240 s with records made since the wake, and the additions of later
  /// plans.
  public static var plan035: TimerProfile {
    TimerProfile(
      plan: 35, awake: 30_000, awakeUnsynced: 240_000, countsNewRecordsOnly: true,
      advertising: 0, advertisingUnsynced: 0, dataIsActivity: true,
      backpack: 180_000, backpackCountsFromStable: true, dataEndsBackpack: true,
      waitsForStable: true, healthCheck: 7_200_000, lockout: 20, recovery: 25)
  }
}
