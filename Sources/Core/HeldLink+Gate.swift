// What the user wants and what the device allows.
extension HeldLink {
  mutating func want(_ wish: Wish, _ step: inout Step) {
    let isNew = gate.wish != wish
    gate.wish = wish
    switch wish {
    case .none:
      closeCurrent(.leaving, &step)
      dropStandby(&step)
      gate.leavesAt = nil
      state = .idle(nil)
    case .standbyOnly:
      guard isNew || isEnded else { return }
      closeCurrent(.leaving, &step)
      proceed(.first, after: nil, &step)
    case .live:
      // What the queue brought, while only the standby was wanted, stays.
      guard isNew || isEnded, currentAttempt == nil else { return }
      proceed(.first, after: nil, &step)
    }
  }

  private var isEnded: Bool {
    switch state {
    case .idle, .failed: true
    case .held, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting:
      false
    }
  }

  /// Closes what is open or under way; the caller decides what follows.
  mutating func closeCurrent(_ reason: CloseReason, _ step: inout Step) {
    if let attempt = currentAttempt { step.effects.append(.close(attempt, reason)) }
  }

  mutating func change(to reachability: Reachability, _ step: inout Step) {
    let before = gate.reachability
    gate.reachability = reachability
    guard !reachability.isSameWay(as: before) else { return }
    if let obstacle = gate.obstacle {
      hold(by: obstacle, &step)
    } else if case .reachable? = before {
      pathChanged(&step)
    } else if before != nil {
      pathReturned(&step)
    }
  }

  /// Pauses for an obstacle, which costs no try. What the background holds back stays held.
  private mutating func hold(by obstacle: Obstacle, _ step: inout Step) {
    switch state {
    case .ready:
      switch policy.gate.networkChange {
      case .reconnect, .loss:
        closeCurrent(.networkChanged, &step)
        state = .held(Held(obstacle: obstacle, series: .reconnect))
      case .probe: probeSuspect(&step)
      case .ignore: return
      }
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      closeCurrent(.networkChanged, &step)
      state = .held(Held(obstacle: obstacle, series: trying.series))
    case .settling(let settling):
      state = .held(Held(obstacle: obstacle, series: settling.series))
    case .waiting(let waiting):
      state = .held(Held(obstacle: obstacle, series: waiting.series))
    case .refreshing(let refreshing):
      state = .held(Held(obstacle: obstacle, series: refreshing.series))
    case .resting:
      state = .held(Held(obstacle: obstacle, series: .reconnect))
    case .held(let held):
      state = .held(Held(obstacle: obstacle, series: held.series))
    case .idle, .failed: return
    }
  }

  /// There is a way out again: a fresh series, once it has settled.
  private mutating func pathReturned(_ step: inout Step) {
    switch state {
    case .held(let held): settle(held.series.fresh, for: policy.gate.settle, &step)
    case .ready: probeSuspect(&step)
    case .idle, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .resting,
      .failed:
      return  // was never held back
    }
  }

  /// Traffic goes another way than before.
  private mutating func pathChanged(_ step: inout Step) {
    guard policy.gate.networkChange != .ignore else { return }
    switch state {
    case .ready:
      switch policy.gate.networkChange {
      case .reconnect:
        closeCurrent(.networkChanged, &step)
        settle(.reconnect, for: policy.gate.settle, &step)
      case .loss:
        closeCurrent(.networkChanged, &step)
        proceed(.reconnect, after: .unreachable(detail: "the network changed"), &step)
      case .probe: probeSuspect(&step)
      case .ignore: return
      }
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      guard policy.gate.networkChange == .reconnect else { return }
      closeCurrent(.networkChanged, &step)
      settle(trying.series, for: policy.gate.settle, &step)
    case .settling(let settling): settle(settling.series, for: policy.gate.settle, &step)
    case .waiting(let waiting):
      settle(waiting.series.fresh, for: policy.gate.settle, &step)
    case .resting:
      guard gate.wish == .live, !standby.forbidsTriggers, !isLeftForStandby else { return }
      settle(.reconnect, for: policy.gate.settle, &step)
    case .idle, .held, .refreshing, .failed: return
    }
  }

  /// Asks a connection that something may have cut for a sign of life.
  mutating func probeSuspect(_ step: inout Step) {
    guard case .ready(var ready) = state else { return }
    let id = ready.liveness.suspect(at: step.now)
    state = .ready(ready)
    if let id { step.effects.append(.ping(ready.attempt, id)) }
  }

  /// Waits for the network or the app to settle, then tries.
  mutating func settle(_ series: Series, for time: Duration, _ step: inout Step) {
    if time > .zero {
      state = .settling(Settling(until: step.now.advanced(by: time), series: series))
    } else {
      expedite(series, after: nil, &step)
    }
  }

  mutating func goToBackground(_ step: inout Step) {
    guard gate.lifecycle != .background else { return }
    gate.lifecycle = .background
    standby.armBeforeSuspension()
    guard case .leave(let after, _) = policy.gate.background else { return }
    switch state {
    case .ready, .establishing:
      if after > .zero {
        gate.leavesAt = step.now.advanced(by: after)
      } else {
        leave(&step)
      }
    case .held, .settling, .waiting, .refreshing, .preparing, .opening, .resting: leave(&step)
    case .idle, .failed: return
    }
  }

  mutating func flushed(_ step: inout Step) {
    if gate.leavesAt != nil { leave(&step) }
  }

  /// Leaves for the background now.
  mutating func leave(_ step: inout Step) {
    gate.leavesAt = nil
    guard case .leave(_, let then) = policy.gate.background else { return }
    closeCurrent(.background, &step)
    if case .ready = state { standby.noteDone() }
    switch then {
    case .hold:
      state = .held(Held(obstacle: gate.obstacle ?? .background, series: .reconnect))
    case .standby: proceed(.reconnect, after: nil, &step)
    case .idle:
      gate.wish = .none
      dropStandby(&step)
      state = .idle(.ended(.background))
    }
  }

  mutating func comeToForeground(_ step: inout Step) {
    guard gate.lifecycle != .foreground else { return }
    gate.lifecycle = .foreground
    if gate.leavesAt != nil {
      gate.leavesAt = nil
      probeSuspect(&step)
      return
    }
    guard case .connect(let after) = policy.gate.foreground else { return }
    switch state {
    case .held, .resting, .failed(.exhausted):
      if let obstacle = gate.obstacle {
        state = .held(Held(obstacle: obstacle, series: .first))
        return
      }
      standby.hurry(at: step.now)
      settle(.first, for: after, &step)
    case .ready: probeSuspect(&step)
    case .idle, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .failed:
      return  // under way already, or only the user's wish helps
    }
  }
}
