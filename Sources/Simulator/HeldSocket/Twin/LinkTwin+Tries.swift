import LinkCore

// How tries begin and end.
extension LinkTwin {
  /// Goes on with a run by its schedule.
  mutating func proceed(_ next: LinkRun, after failure: LinkFailure?) {
    guard mayTry(next, after: failure) else { return }
    guard let at = pace.next(next, at: now, &dice) else { return rest(failure, isSlow: false) }
    if at <= now { return begin(next) }
    // What waits for longer than a poll has polls meanwhile.
    if case .poll(let poll) = policy.standby, !side.isArmed,
      now.duration(to: at) > poll.interval
    {
      side.startPolls(after: failure, isSlow: false, at: now, &dice)
    }
    goWaiting(until: at, next, after: failure)
  }

  /// Goes on as soon as windows, the breaker and servers allow.
  mutating func hasten(_ next: LinkRun, after failure: LinkFailure?) {
    guard mayTry(next, after: failure) else { return }
    let at = pace.soonest(now)
    if at > now { goWaiting(until: at, next, after: failure) } else { begin(next) }
  }

  private mutating func mayTry(_ next: LinkRun, after failure: LinkFailure?) -> Bool {
    if let obstacle {
      goHeld(by: obstacle, next)
      return false
    }
    let isRefused = side.isSlow && !next.isProbe
    guard wish == .standbyOnly || isLeft || isRefused else { return true }
    rest(failure, isSlow: side.isSlow)
    return false
  }

  private mutating func begin(_ next: LinkRun) {
    if !keys.areThere { return goRefreshing(next, after: nil) }
    if next.isProbe { side.probed(at: now, &dice) }
    lastAttempt += 1
    generation = keys.generation
    if let time = policy.establish.prepare, next.prepares {
      go(.preparing)
      (run, attempt, until) = (next, AttemptID(lastAttempt), now.advanced(by: time))
      out.append(.prepare(AttemptID(lastAttempt)))
    } else {
      open(next, AttemptID(lastAttempt))
    }
  }

  mutating func open(_ next: LinkRun, _ name: AttemptID) {
    go(.opening)
    (run, attempt) = (next, name)
    run.prepares = false
    until = now.advanced(by: policy.establish.openTimeout)
    wholeUntil = now.advanced(by: policy.establish.timeout)
    pace.tries.append(now)
    out.append(.open(name))
  }

  mutating func opened(_ name: AttemptID) {
    if side.queued == name { return openedByQueue(name) }
    guard place == .opening, attempt == name else { return }
    switch policy.establish.milestone {
    case .opened: connect()
    case .confirmed: (place, until) = (.establishing, wholeUntil)
    }
  }

  /// The system's connect wins over a try.
  private mutating func openedByQueue(_ name: AttemptID) {
    guard isSideAwake else { return }
    close(.superseded)
    side.disarm()
    let (open, whole) = (policy.establish.openTimeout, policy.establish.timeout)
    establish(name, within: whole - open > open ? whole - open : open)
  }

  mutating func establish(_ name: AttemptID, within time: Duration) {
    go(.establishing)
    (run, attempt, generation) = (.again, name, keys.generation)
    until = now.advanced(by: time)
  }

  /// The milestone of the try under way is reached.
  mutating func connect() {
    guard let name = attempt else { return }
    if let queued = side.queued, queued != name { out.append(.disarm(queued)) }
    side.pause()
    // Only the present ones are shown to be good.
    if generation >= keys.generation { keys.refused = nil }
    go(.ready)
    attempt = name
    line = Line(
      generation: generation, since: now,
      provenAt: now.advanced(by: policy.retry.stability.after),
      pulse: LinkPulse(policy.liveness, at: now))
  }

  /// An attempt ended, or is ended by us for a reason.
  mutating func lose(
    _ name: AttemptID, _ failure: LinkFailure, _ reason: HeldLink.CloseReason?
  ) {
    if side.queued == name { return side.broke(at: now, in: phase) }
    guard attempt == name else { return }
    if let reason { out.append(.close(name, reason)) }
    if let line {
      loseLine(line, failure)
    } else {
      pace.failed(LinkFaults.wish(failure), at: now)
      follow(run, failure, line: nil, counts: true)
    }
    // In background nothing is left to stay for.
    if policy.leavesForStandby, leavesAt != nil, attempt == nil { leave() }
  }

  private mutating func loseLine(_ line: Line, _ failure: LinkFailure) {
    let stood = line.since.duration(to: now)
    side.ended(after: stood)
    generation = line.generation
    var next = line.provenAt == nil ? .again : run
    next.hadLink = true
    // What a connection stood with for a second has worked.
    if stood >= .seconds(1) { next.refreshed = false }
    pace.failed(LinkFaults.wish(failure), at: now)
    follow(next, failure, line: line, counts: line.provenAt != nil)
  }

  private mutating func follow(
    _ old: LinkRun, _ failure: LinkFailure, line: Line?, counts: Bool
  ) {
    var next = old
    next.spread = line?.drain
    switch LinkFaults.verdict(failure, policy) {
    case .stop: return goFailed(.failure(failure))
    case .standby: return rest(failure, isSlow: false)
    case .standbySlow: return rest(failure, isSlow: true)
    case .refresh:
      next.spread = nil
      return refuse(next, failure)
    case .retrySpread: next.spread = line?.drain ?? policy.retry.serverSpread
    case .retry: break
    }
    if next.isProbe { return rest(failure, isSlow: false) }
    if counts { next.failures += 1 }
    proceed(next, after: failure)
  }

  /// The server refused the credentials of the attempt.
  private mutating func refuse(_ next: LinkRun, _ failure: LinkFailure) {
    if keys.generation > generation { return hasten(next, after: failure) }
    if next.refreshed { return goFailed(.signIn) }
    var next = next
    next.refreshed = true
    goRefreshing(next, after: failure)
  }
}
