import LinkCore

// What is done beside tries, and what time brings.
extension LinkTwin {
  /// Leaves the work to the standby.
  mutating func rest(_ failure: LinkFailure?, isSlow: Bool) {
    switch policy.standby {
    case .none:
      return goFailed(.exhausted(failure ?? .local(detail: "no try was allowed")))
    case .poll: side.startPolls(after: failure, isSlow: isSlow, at: now, &dice)
    case .queuedConnect: break
    }
    let why: LinkStatus.Reason = .ended(isLeft ? .background : .leaving)
    go(.resting)
    reason = failure.map { .failure($0) } ?? why
  }

  /// A queued connect is armed wherever something is wanted, allowed and not open.
  mutating func keepQueue() {
    guard case .queuedConnect = policy.standby else { return }
    switch place {
    case .held: dropSide()
    case .idle, .establishing, .ready, .failed: return
    case .settling, .waiting, .refreshing, .preparing, .opening, .resting:
      if !side.isArmed, !side.holdsOff(at: now, in: phase) { arm() }
    }
  }

  private mutating func arm() {
    lastAttempt += 1
    side.arm(AttemptID(lastAttempt), at: now)
    out.append(.arm(AttemptID(lastAttempt)))
  }

  mutating func probe() {
    var next = LinkRun.again
    next.isProbe = true
    hasten(next, after: nil)
  }

  mutating func polled(_ id: UInt64, _ failure: LinkFailure?) {
    guard side.polls != nil, id == side.lastPoll else { return }
    let isTime = side.polled(failure, at: now, &dice)
    guard isSideAwake else { return }
    requested(failure)
    if isTime, place == .resting, wish == .live { probe() }
  }

  mutating func pull(_ trigger: HeldLink.Trigger) {
    switch place {
    case .ready:
      let quiet = line.map { $0.pulse.heardAt.duration(to: now) } ?? .zero
      if trigger == .woke || !(quiet < policy.liveness.pongTimeout) { suspect() }
    case .waiting: hasten(run, after: cause)
    case .resting:
      side.hurry(at: now)
      if wish == .live, !side.isSlow { probe() }
    case .failed:
      if case .exhausted? = reason, trigger == .userRefresh { hasten(.first, after: nil) }
    case .idle, .held, .settling, .refreshing, .preparing, .opening, .establishing: return
    }
  }

  // Time.

  mutating func passPlace() {
    switch place {
    case .settling: hasten(run, after: nil)
    case .waiting:
      run.spread = nil
      hasten(run, after: cause)
    case .preparing: runOut(.response)
    case .opening: runOut(.connect)
    case .establishing: runOut(.establish)
    case .idle, .held, .refreshing, .ready, .resting, .failed: return
    }
  }

  private mutating func runOut(_ phase: LinkFailure.Phase) {
    if let attempt { lose(attempt, .timeout(phase), .timeout) }
  }

  mutating func passLine() {
    guard let attempt, var next = line else { return }
    if let at = next.provenAt, at <= now { prove(&next) }
    let due = next.pulse.due(at: now)
    line = next
    switch due {
    case nil: return
    case .ping(let id): out.append(.ping(attempt, id))
    case .dead(let phase): lose(attempt, .timeout(phase), .silent)
    case .idle(.idle):
      close(.idle)
      goIdle(.ended(.idle))
    case .idle(.standby):
      close(.idle)
      rest(nil, isSlow: false)
      reason = .ended(.idle)
    }
  }

  /// The connection has proven itself: the next loss begins anew.
  private mutating func prove(_ line: inout Line) {
    line.provenAt = nil
    side.disarm()
    pace.succeeded()
  }

  mutating func passSide() {
    guard isSideAwake else { return }
    if let poll = side.takePoll(at: now) { return out.append(.poll(poll)) }
    if let polls = side.polls {
      if polls.probeAt <= now { probe() }
    } else if side.rearmAt != nil {
      arm()
    }
  }

  // What comes in on a connection.

  mutating func hear(_ name: AttemptID, _ sign: (inout LinkPulse, Instant) -> Void) {
    guard attempt == name, var next = line else { return }
    sign(&next.pulse, now)
    line = next
  }

  mutating func data(_ name: AttemptID) {
    guard attempt == name, var next = line else { return }
    next.pulse.data(at: now)
    if policy.retry.stability.provenByData, next.provenAt != nil { prove(&next) }
    line = next
  }

  mutating func drain(_ name: AttemptID, within time: Duration) {
    guard attempt == name else { return }
    line?.drain = LinkFaults.obeyed(time, policy.retry)
  }

  /// Asks a connection that something may have cut for a sign of life.
  mutating func suspect() {
    guard let attempt, var next = line else { return }
    let id = next.pulse.suspect(at: now)
    line = next
    if let id { out.append(.ping(attempt, id)) }
  }
}
