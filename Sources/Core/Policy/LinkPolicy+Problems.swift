extension LinkPolicy {
  /// Everything that is wrong with the parts taken together; empty for a valid policy.
  var problems: [String] {
    var found = Problems()
    found.check(schedule: retry.first, "retry.first")
    found.check(schedule: retry.reconnect, "retry.reconnect")
    checkRetry(&found)
    checkGate(&found)
    checkLiveness(&found)
    checkEstablish(&found)
    checkStandby(&found)
    return found.list
  }

  private func checkRetry(_ found: inout Problems) {
    found.require(!retry.windows.isEmpty, "retry.windows must hold at least one window")
    for window in retry.windows {
      found.require(window.attempts >= 1, "retry.windows must allow at least 1 attempt")
      found.require(
        window.attempts <= 1000, "retry.windows must not remember more than 1000 attempts")
      found.require(window.per > .zero, "retry.windows must last longer than 0s")
    }
    if let breaker = retry.breaker {
      found.require(breaker.failures >= 1, "retry.breaker must count at least 1 failure")
      found.require(breaker.failures <= 1000, "retry.breaker must not count over 1000 failures")
      found.require(
        breaker.within > .zero && breaker.pause > .zero, "retry.breaker must last longer than 0s")
    }
    found.require(retry.stability.after > .zero, "retry.stability must be longer than 0s")
    found.require(retry.serverSpread > .zero, "retry.spread must be longer than 0s")
    found.require(
      retry.longestWish >= retry.serverSpread, "retry.longestWish must be at least retry.spread")
  }

  private func checkGate(_ found: inout Problems) {
    found.require(gate.refreshLead >= .zero, "gate.refreshLead must not be negative")
    found.require(gate.refreshTimeout > .zero, "gate.refreshTimeout must be longer than 0s")
    found.require(gate.settle >= .zero, "gate.settle must not be negative")
    if case .leave(let after, let then) = gate.background {
      found.require(after >= .zero, "gate.background must not leave after a negative time")
      found.require(
        then != .standby || standby != .none, "gate.background=standby needs a standby")
    }
    if case .connect(let after) = gate.foreground {
      found.require(after >= .zero, "gate.foreground must not be negative")
    }
  }

  private func checkLiveness(_ found: inout Problems) {
    if let silence = liveness.silence {
      found.require(silence > .zero, "liveness.silence must be longer than 0s")
      if let ping = liveness.ping {
        found.require(ping < silence, "liveness.ping must be shorter than liveness.silence")
      }
    }
    if let ping = liveness.ping {
      found.require(ping > .zero, "liveness.ping must be longer than 0s")
    }
    found.require(
      liveness.silence != nil || liveness.ping != nil || standby != .none || liveness.idle != nil,
      "liveness needs silence, ping or idle: a half-open link would never be found")
    found.require(liveness.pongTimeout > .zero, "liveness.pongTimeout must be longer than 0s")
    found.require(
      (1...100).contains(liveness.pongRoundTrips), "liveness.pongRoundTrips must be 1 to 100")
    if let idle = liveness.idle {
      found.require(idle.after > .zero, "liveness.idle must be longer than 0s")
      found.require(
        idle.then != .standby || standby != .none, "liveness.idle=standby needs a standby")
    }
  }

  private func checkEstablish(_ found: inout Problems) {
    found.require(establish.openTimeout > .zero, "establish.openTimeout must be longer than 0s")
    found.require(
      establish.timeout >= establish.openTimeout,
      "establish.timeout must be at least establish.openTimeout")
    if let prepare = establish.prepare {
      found.require(prepare > .zero, "establish.prepare must be longer than 0s")
    }
  }

  private func checkStandby(_ found: inout Problems) {
    switch standby {
    case .none:
      let needing = verdicts.keys.sorted().filter {
        verdicts[$0] == .standby || verdicts[$0] == .standbySlow
      }
      for row in needing {
        found.require(false, "failure.\(row.rawValue) needs a standby, and there is none")
      }
    case .poll(let poll):
      found.require(poll.interval > .zero, "standby.interval must be longer than 0s")
      found.require((0...0.5).contains(poll.jitter), "standby.jitter must be 0 to 0.5")
      found.require(poll.probe > .zero, "standby.probe must be longer than 0s")
      found.require(
        poll.slowProbe >= poll.probe, "standby.slowProbe must be at least standby.probe")
    case .queuedConnect(let rearm):
      found.require(rearm > .zero, "standby.rearm must be longer than 0s")
    }
  }
}

/// Collects problems, each once.
private struct Problems {
  var list: [String] = []

  mutating func require(_ condition: Bool, _ problem: String) {
    if !condition, !list.contains(problem) { list.append(problem) }
  }

  mutating func check(schedule: Schedule, _ key: String) {
    switch schedule {
    case .list(let waits):
      require(waits.allSatisfy { $0 >= .zero }, "\(key) must not hold negative waits")
      require(waits.count <= 1000, "\(key) must not hold over 1000 waits")
    case .exponential(let first, let factor, let cap, let jitter, let floor, let attempts):
      require(first > .zero, "\(key): first must be longer than 0s")
      require(factor >= 1, "\(key): factor must be at least 1")
      require(cap >= first, "\(key): cap must be at least first")
      require((0...1).contains(jitter), "\(key): jitter must be 0 to 1")
      require(floor >= .zero && floor <= cap, "\(key): floor must be 0s to cap")
      require(attempts.map { $0 >= 1 } ?? true, "\(key): attempts must be at least 1")
    }
  }
}
