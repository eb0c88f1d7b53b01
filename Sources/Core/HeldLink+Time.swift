// What happens when a wait is over, and what proves life.
extension HeldLink {
  /// Moves on from the earliest wait that is over.
  mutating func expire(_ step: inout Step) {
    let now = step.now
    if let at = gate.leavesAt, at <= now {
      leave(&step)
    } else if let at = credentialsDeadline, at <= now {
      expireCredentials(&step)
    } else if let at = stateDeadline, at <= now {
      expireState(&step)
    } else {
      expireStandby(&step)
    }
  }

  private mutating func expireState(_ step: inout Step) {
    switch state {
    case .settling(let settling): expedite(settling.series, after: nil, &step)
    case .waiting(let waiting):
      var series = waiting.series
      series.spread = nil
      expedite(series, after: waiting.failure, &step)
    case .preparing(let trying):
      lost(trying.attempt, .timeout(.response), closing: .timeout, &step)
    case .opening(let trying):
      lost(trying.attempt, .timeout(.connect), closing: .timeout, &step)
    case .establishing(let trying):
      lost(trying.attempt, .timeout(.establish), closing: .timeout, &step)
    case .ready(let ready): expireReady(ready, &step)
    case .idle, .held, .refreshing, .resting, .failed: return  // have no deadline of their own
    }
  }

  private mutating func expireReady(_ before: Ready, _ step: inout Step) {
    var ready = before
    if let stableAt = ready.stableAt, stableAt <= step.now { settleDown(&ready) }
    let due = ready.liveness.due(at: step.now)
    state = .ready(ready)
    switch due {
    case .ping(let id): step.effects.append(.ping(ready.attempt, id))
    case .dead(let phase): lost(ready.attempt, .timeout(phase), closing: .silent, &step)
    case .idle(.idle):
      closeCurrent(.idle, &step)
      dropStandby(&step)
      gate.wish = .none
      gate.leavesAt = nil
      state = .idle(.ended(.idle))
    case .idle(.standby):
      closeCurrent(.idle, &step)
      standby.noteDone()
      rest(nil, slow: false, &step)
      state = .resting(.ended(.idle))
    case nil: return
    }
  }

  /// The link proved itself: the next loss starts a new series.
  private mutating func settleDown(_ ready: inout Ready) {
    ready.stableAt = nil
    standby.disarm()
    retry.noteStable()
  }

  private mutating func expireStandby(_ step: inout Step) {
    switch standby.state {
    case .polling:
      if let poll = standby.takePoll(at: step.now) {
        step.effects.append(.poll(poll))
      } else {
        probe(&step)
      }
    case .rearming: armQueue(&step)
    case .off, .queued: return
    }
  }

  /// Something came in on the link.
  mutating func hear(
    _ attempt: AttemptID, _ step: inout Step, _ note: (inout Liveness, Instant) -> Void
  ) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // late
    note(&ready.liveness, step.now)
    state = .ready(ready)
  }

  mutating func validData(_ attempt: AttemptID, _ step: inout Step) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // late
    ready.liveness.data(at: step.now)
    if policy.retry.stability.provenByData { settleDown(&ready) }
    state = .ready(ready)
  }

  mutating func draining(_ attempt: AttemptID, within window: Duration) {
    guard case .ready(var ready) = state, ready.attempt == attempt else { return }  // late
    ready.drainWindow = min(max(window, .zero), policy.retry.longestWish)
    state = .ready(ready)
  }
}
