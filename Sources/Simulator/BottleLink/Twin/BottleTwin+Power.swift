// When a bottle is awake, and when a phone can find it.
extension BottleTwin {
  var waiting: Int {
    records.filter { countsDeleted ? !$0.isSynced : $0.isWaiting }.count
  }

  var backpackAt: Int64 { (timers.standingUnpacks ? stoodAt : wokeAt) + timers.backpack }

  var sleepsAt: Int64 {
    let keepsAwake = waiting > (timers.countsNew ? waitingAtWake : 0)
    let at = activeAt + (keepsAwake ? timers.awakeWaiting : timers.awake)
    return timers.waitsToStand && !hasStood ? max(at, backpackAt) : at
  }

  /// When it stops advertising although it is awake.
  var silentAt: Int64? {
    guard isAdvertising, timers.advertising > 0 else { return nil }
    return advertisedAt + (waiting > 0 ? timers.advertisingWaiting : timers.advertising)
  }

  /// Does what has come due.
  mutating func expire() -> Signs {
    turn = now
    if power != .awake {
      if timers.check > 0, now >= checkAt {
        checks += 1
        checkAt = now + timers.check
      }
      return []
    }
    if now >= backpackAt { return sleep(.deep) }
    if now >= sleepsAt { return sleep(.asleep) }
    guard let silentAt, now >= silentAt else { return [] }
    isAdvertising = false
    return .stopsAdvertising
  }

  private mutating func sleep(_ depth: Power) -> Signs {
    var signs: Signs = depth == .deep ? .sleepsDeeply : .sleeps
    if isConnected { signs.insert(.disconnects) }
    if isAdvertising { signs.insert(.stopsAdvertising) }
    if depth == .deep { backpacks += 1 }
    (power, isConnected, isAdvertising, sending) = (depth, false, false, nil)
    checkAt = now + timers.check
    return signs
  }

  /// A move wakes it from sleep; only a tap wakes it from deep sleep, and nothing while locked.
  mutating func wake(byTap: Bool) -> Signs {
    if power == .deep, !byTap { return [] }
    if power != .awake {
      if isLocked { return [] }
      power = .awake
      wakes += 1
      (wokeAt, stoodAt, hasStood, isStill) = (now, now, false, false)
      waitingAtWake = waiting
    }
    activeAt = now
    return isConnected ? [] : advertise()
  }

  private mutating func advertise() -> Signs {
    advertisedAt = now
    defer { isAdvertising = true }
    return isAdvertising ? [] : .advertises
  }

  mutating func stand(_ stands: Bool) -> Signs {
    guard power == .awake, stands != isStill else { return [] }
    (isStill, activeAt) = (stands, now)
    if stands { (stoodAt, hasStood) = (now, true) }
    return telling
  }

  mutating func measure(_ percent: Int) -> Signs {
    battery = percent
    let wasLocked = isLocked
    isLocked = percent < timers.locksBelow || wasLocked && percent < timers.unlocksFrom
    guard isLocked != wasLocked else { return [] }
    let told = telling
    return isLocked && power == .awake ? told.union(sleep(.asleep)) : told
  }

  mutating func connect(_ longest: Int) -> Signs {
    self.longest = max(longest, 20)
    let signs = expire()
    guard isAdvertising else { return signs.union(.refuses) }
    (isConnected, isAdvertising) = (true, false)
    return signs.union(.stopsAdvertising)
  }

  mutating func disconnect() -> Signs {
    let signs = expire()
    guard isConnected else { return signs }
    (isConnected, sending) = (false, nil)
    return power == .awake ? signs.union(advertise()) : signs
  }

  /// A connected phone is told the new state.
  var telling: Signs { isConnected ? .tellsState : [] }
}
