// What a bottle records, and what the phone writes.
extension Bottle {
  /// The least drink that is recorded, in millilitres, and the least refill.
  static var leastDrink: Int16 { 30 }
  static var leastRefill: Int16 { -100 }
  /// A smaller change of the level is not notified, in millilitres.
  static var notifiedChange: UInt16 { 10 }

  mutating func pour(_ amount: Int16, at now: UInt32) -> BottleEffects {
    // A bottle is moved to be drunk from.
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

  /// Takes what the phone wrote.
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
      // It does not count as activity: every connection begins with it.
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
      // The phone is answered for an unknown id too.
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

  /// What the scale shows without a calibration.
  public var rawValue: Int32 {
    // Only the conversion from `Int` is free of allocations on 32-bit targets.
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
