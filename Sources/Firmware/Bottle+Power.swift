// When a bottle wakes, advertises and sleeps.
extension Bottle {
  /// When it sleeps if nothing happens.
  var sleepsAt: UInt32 {
    let isWaiting =
      profile.countsNewRecordsOnly ? unsynced > unsyncedAtWake : unsynced > 0
    let at = activeAt &+ (isWaiting ? profile.awakeUnsynced : profile.awake)
    // Deep sleep at `backpackAt` comes first, so a later time has no effect.
    return profile.waitsForStable && !hasStood ? backpackAt : at
  }

  /// When it takes itself for being in a backpack.
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

  /// Wakes it, or notes the activity of a bottle that is awake.
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

  /// A connection alone keeps nothing awake.
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

  /// The phone is told of the new state, if there is one.
  var notifiesState: BottleEffects { isConnected ? .notifyState : BottleEffects() }
}
