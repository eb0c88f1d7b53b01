import LinkCore

/// What can be wrong with the parts of a policy, told a second time: every rule with whether it is
/// broken, in the order of the keys.
struct PolicyProblems {
  private(set) var list: [String] = []

  init(_ sheet: PolicySheet) {
    schedule(sheet.retry.first, "retry.first")
    schedule(sheet.retry.reconnect, "retry.reconnect")
    retry(sheet.retry)
    gate(sheet.gate, sheet.standby)
    liveness(sheet.liveness, sheet.standby)
    establish(sheet.establish)
    standby(sheet.standby, sheet.verdicts)
  }

  private mutating func add(_ problem: String, if isBroken: Bool) {
    if isBroken && !list.contains(problem) { list.append(problem) }
  }

  private mutating func least(_ name: String, _ value: Duration, _ text: String) {
    let least: Duration = text == "100ms" ? .milliseconds(100) : .seconds(1)
    add("\(name) must be at least \(text)", if: value < least)
  }

  private mutating func schedule(_ schedule: Schedule, _ name: String) {
    switch schedule {
    case .list(let waits):
      let isShort = waits.map { $0 < .milliseconds(100) }
      add(
        name + ": its first wait must be 0s or at least 100ms",
        if: isShort.first == true && waits.first != .zero)
      add(
        name + ": waits behind the first must be at least 100ms",
        if: isShort.dropFirst().contains(true))
      add(name + " must not hold over 1000 waits", if: waits.count > 1_000)
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      let (shortest, longest) = (first * (1 - jitter), first * (1 + jitter))
      add(
        name + ": the shortest wait must be at least 100ms",
        if: shortest < .milliseconds(100) && floor < .milliseconds(100))
      add(
        name + ": its floor leaves no room for jitter",
        if: jitter != 0 && longest <= floor)
      add(name + ": factor must be at least 1", if: factor < 1)
      add(name + ": cap must be at least first", if: cap < first)
      add(name + ": jitter must be 0 to 1", if: jitter < 0 || jitter > 1)
      add(name + ": floor must be 0s to cap", if: floor < .zero || floor > cap)
      add(name + ": attempts must be at least 1", if: (attempts ?? 1) < 1)
    }
  }

  private mutating func retry(_ retry: RetryPolicy) {
    add("retry.windows must hold at least one window", if: retry.windows.isEmpty)
    for window in retry.windows {
      add("retry.windows must allow at least 1 attempt", if: window.attempts < 1)
      add(
        "retry.windows must not remember more than 1000 attempts", if: window.attempts > 1_000)
      add("retry.windows must last longer than 0s", if: window.per <= .zero)
    }
    let isSlow = retry.windows.map { $0.per / 500 >= .milliseconds(1) * $0.attempts }
    add(
      "retry.windows must hold one that allows at most 2 attempts a second",
      if: !isSlow.isEmpty && !isSlow.contains(true))
    if let breaker = retry.breaker {
      add("retry.breaker must count at least 1 failure", if: breaker.failures < 1)
      add("retry.breaker must not count over 1000 failures", if: breaker.failures > 1_000)
      add(
        "retry.breaker must last longer than 0s",
        if: breaker.within <= .zero || breaker.pause <= .zero)
    }
    add("retry.stability must be longer than 0s", if: retry.stability.after <= .zero)
    add("retry.spread must be longer than 0s", if: retry.serverSpread <= .zero)
    add(
      "retry.longestWish must be at least retry.spread", if: retry.longestWish < retry.serverSpread)
  }

  private mutating func gate(_ gate: GatePolicy, _ standby: StandbyPolicy) {
    add("gate.refreshLead must not be negative", if: gate.refreshLead < .zero)
    least("gate.refreshTimeout", gate.refreshTimeout, "1s")
    add("gate.settle must not be negative", if: gate.settle < .zero)
    switch gate.background {
    case .stay: break
    case .leave(let after, let then):
      add("gate.background must not leave after a negative time", if: after < .zero)
      add(
        "gate.background=standby needs a standby", if: then == .standby && standby == .none)
    }
    switch gate.foreground {
    case .wait: break
    case .connect(let after): add("gate.foreground must not be negative", if: after < .zero)
    }
    guard let portal = gate.portal else { return }
    if let probe = portal.probe { least("gate.portalProbe", probe, "100ms") }
    least("gate.portalWait", portal.wait, "1s")
  }

  private mutating func liveness(_ liveness: LivenessPolicy, _ standby: StandbyPolicy) {
    if let silence = liveness.silence { least("liveness.silence", silence, "1s") }
    if let silence = liveness.silence, let ping = liveness.ping {
      add("liveness.ping must be shorter than liveness.silence", if: ping >= silence)
    }
    if let ping = liveness.ping { least("liveness.ping", ping, "1s") }
    let isWatched = liveness.silence != nil || liveness.ping != nil || liveness.idle != nil
    add(
      "liveness needs silence, ping or idle: a half-open link would never be found",
      if: !isWatched && standby == .none)
    least("liveness.pongTimeout", liveness.pongTimeout, "100ms")
    let (trips, tries) = (liveness.pongRoundTrips, liveness.pongTries)
    add("liveness.pongRoundTrips must be 1 to 100", if: trips < 1 || trips > 100)
    add("liveness.pongTries must be 1 to 10", if: tries < 1 || tries > 10)
    if let idle = liveness.idle {
      least("liveness.idle", idle.after, "1s")
      add(
        "liveness.idle=standby needs a standby", if: idle.then == .standby && standby == .none)
    }
  }

  private mutating func establish(_ establish: EstablishPolicy) {
    least("establish.openTimeout", establish.openTimeout, "100ms")
    add(
      "establish.timeout must be at least establish.openTimeout",
      if: establish.timeout < establish.openTimeout)
    if let prepare = establish.prepare { least("establish.prepare", prepare, "100ms") }
  }

  private mutating func standby(
    _ standby: StandbyPolicy, _ verdicts: [FailureClass: Verdict]
  ) {
    switch standby {
    case .none:
      let rows = FailureClass.allCases.filter {
        verdicts[$0] == .standby || verdicts[$0] == .standbySlow
      }
      for row in rows.map({ $0.rawValue }).sorted() {
        add("failure.\(row) needs a standby, and there is none", if: true)
      }
    case .poll(let poll):
      least("standby.interval", poll.interval, "1s")
      add("standby.jitter must be 0 to 0.5", if: poll.jitter < 0 || poll.jitter > 0.5)
      least("standby.probe", poll.probe, "1s")
      add("standby.slowProbe must be at least standby.probe", if: poll.slowProbe < poll.probe)
    case .queuedConnect(let queue):
      least("standby.rearm", queue.rearm, "1s")
      least("standby.fastFailure", queue.fastFailure, "100ms")
      for (name, value) in [("floor", queue.floor), ("background", queue.background)] {
        add(
          "standby.\(name) must be at least standby.rearm and longer than standby.fastFailure",
          if: value < queue.rearm || value <= queue.fastFailure)
      }
    }
  }
}
