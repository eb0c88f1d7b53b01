// How tries begin, succeed and fail.
extension HeldLink {
  /// Goes on with a series when nothing is open: now, later, or not at all.
  mutating func proceed(_ series: Series, after failure: LinkFailure?, _ step: inout Step) {
    guard mayTry(series, after: failure, &step) else { return }
    guard let at = retry.plan(series, at: step.now, chance: &chance) else {
      exhaust(failure, &step)
      return
    }
    if at > step.now {
      wait(until: at, series, after: failure, &step)
    } else {
      begin(series, &step)
    }
  }

  /// Tries now, or as soon as the windows and the server's wish allow.
  mutating func expedite(_ series: Series, after failure: LinkFailure?, _ step: inout Step) {
    guard mayTry(series, after: failure, &step) else { return }
    let at = retry.earliest(at: step.now)
    if at > step.now {
      wait(until: at, series, after: failure, &step)
    } else {
      begin(series, &step)
    }
  }

  private mutating func wait(
    until time: Instant, _ series: Series, after failure: LinkFailure?, _ step: inout Step
  ) {
    pollMeanwhile(until: time, after: failure, &step)
    let isLimited = retry.isLimited(until: time, at: step.now)
    state = .waiting(
      Waiting(until: time, series: series, failure: failure, isLimited: isLimited))
  }

  /// Whether the user, the gate and the server allow tries; otherwise goes where the link waits.
  private mutating func mayTry(
    _ series: Series, after failure: LinkFailure?, _ step: inout Step
  ) -> Bool {
    if let obstacle = gate.obstacle {
      state = .held(Held(obstacle: obstacle, series: series))
      return false
    }
    let standbyOnly = gate.wish == .standbyOnly || isLeftForStandby
    if standbyOnly || (standby.forbidsTriggers && !series.isProbe) {
      rest(failure, slow: standby.forbidsTriggers, &step)
      return false
    }
    return true
  }

  /// In background with a policy that leaves only the standby armed.
  var isLeftForStandby: Bool {
    guard case .leave(_, .standby) = policy.gate.background else { return false }
    return gate.lifecycle == .background && gate.leavesAt == nil
  }

  private mutating func begin(_ series: Series, _ step: inout Step) {
    guard gate.credentials.state == .available else {
      state = .refreshing(Refreshing(series: series, failure: nil))
      if gate.credentials.refresh(at: step.now) { step.effects.append(.refreshCredentials) }
      return
    }
    if series.isProbe { standby.noteProbe(at: step.now, chance: &chance) }
    var trying = Trying(
      attempt: newAttempt(), until: step.now, establishBy: step.now, series: series,
      generation: gate.credentials.generation)
    guard series.prepares, let time = policy.establish.prepare else {
      open(trying, &step)
      return
    }
    trying.until = step.now.advanced(by: time)
    state = .preparing(trying)
    step.effects.append(.prepare(trying.attempt))
  }

  private mutating func open(_ prepared: Trying, _ step: inout Step) {
    var trying = prepared
    trying.series.prepares = false
    trying.until = step.now.advanced(by: policy.establish.openTimeout)
    trying.establishBy = step.now.advanced(by: policy.establish.timeout)
    retry.noteAttempt(at: step.now)
    state = .opening(trying)
    step.effects.append(.open(trying.attempt))
  }

  mutating func prepared(_ attempt: AttemptID, _ step: inout Step) {
    switch state {
    case .preparing(let trying) where trying.attempt == attempt: open(trying, &step)
    case .preparing, .idle, .held, .settling, .waiting, .refreshing, .opening, .establishing,
      .ready, .resting, .failed:
      return  // late
    }
  }

  mutating func opened(_ attempt: AttemptID, _ step: inout Step) {
    if case .queued(attempt) = standby.state {
      openedByQueue(attempt, &step)
      return
    }
    switch state {
    case .opening(var trying) where trying.attempt == attempt:
      switch policy.establish.milestone {
      case .opened: become(ready: trying, &step)
      case .confirmed:
        trying.until = trying.establishBy
        state = .establishing(trying)
      }
    case .opening, .idle, .held, .settling, .waiting, .refreshing, .preparing, .establishing,
      .ready, .resting, .failed:
      return  // late
    }
  }

  mutating func established(_ attempt: AttemptID, _ step: inout Step) {
    switch state {
    case .establishing(let trying) where trying.attempt == attempt:
      become(ready: trying, &step)
    case .establishing, .idle, .held, .settling, .waiting, .refreshing, .preparing, .opening,
      .ready, .resting, .failed:
      return  // late
    }
  }

  mutating func become(ready trying: Trying, _ step: inout Step) {
    if case .queued(let queued) = standby.state { step.effects.append(.disarm(queued)) }
    standby.pause()
    // A try with older ones shows nothing of those that replaced them meanwhile.
    if trying.generation == gate.credentials.generation { gate.credentials.noteAccepted() }
    state = .ready(Ready(trying, policy: policy, at: step.now))
  }

  /// The attempt or link named is over; `closing` says why we end a transport that still stands.
  mutating func lost(
    _ attempt: AttemptID, _ failure: LinkFailure, closing: CloseReason?, _ step: inout Step
  ) {
    if case .queued(attempt) = standby.state {
      standby.rearmLater(at: step.now, in: gate.lifecycle)
      return
    }
    guard currentAttempt == attempt else { return }  // late
    if let closing { step.effects.append(.close(attempt, closing)) }
    over(failure, &step)
    // The system's queued connect takes over: nothing is left for which the app would stay.
    if case .leave(_, .standby) = policy.gate.background, gate.leavesAt != nil,
      currentAttempt == nil
    {
      leave(&step)
    }
  }

  /// The attempt that counts is over.
  private mutating func over(_ failure: LinkFailure, _ step: inout Step) {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      fail(trying.series, failure, window: nil, generation: trying.generation, counts: true, &step)
    case .ready(let ready):
      let isStable = ready.stableAt == nil
      standby.noteLink(stood: ready.since.duration(to: step.now))
      var series = isStable ? .reconnect : ready.series
      series.hadLink = true
      // Credentials that a link has stood with have worked: their end is a cause of its own.
      if ready.since.duration(to: step.now) >= Credentials.proof { series.refreshed = false }
      fail(
        series, failure, window: ready.drainWindow, generation: ready.generation,
        counts: !isStable, &step)
    case .idle, .held, .settling, .waiting, .refreshing, .resting, .failed:
      return  // no attempt is under way
    }
  }

  /// What follows a failed try or a lost link.
  private mutating func fail(
    _ failed: Series, _ failure: LinkFailure, window: Duration?, generation: UInt64, counts: Bool,
    _ step: inout Step
  ) {
    var series = failed
    series.spread = nil
    retry.noteFailure(at: step.now, wish: failure.serverWish)
    switch policy.verdict(on: failure) {
    case .refresh:
      refreshAndRetry(series, failure, generation: generation, &step)
      return
    case .stop:
      end(.failure(failure), &step)
      return
    case .standby:
      rest(failure, slow: false, &step)
      return
    case .standbySlow:
      rest(failure, slow: true, &step)
      return
    case .retrySpread: series.spread = window ?? policy.retry.serverSpread
    case .retry: series.spread = window
    }
    if series.isProbe {
      rest(failure, slow: false, &step)
      return
    }
    if counts { series.failures += 1 }
    proceed(series, after: failure, &step)
  }

  /// Credentials were refused: refresh once, unless newer ones are there already.
  private mutating func refreshAndRetry(
    _ refused: Series, _ failure: LinkFailure, generation: UInt64, _ step: inout Step
  ) {
    var series = refused
    if generation < gate.credentials.generation {
      expedite(series, after: failure, &step)
    } else if series.refreshed {
      end(.signIn, &step)
    } else {
      series.refreshed = true
      state = .refreshing(Refreshing(series: series, failure: failure))
      if gate.credentials.refresh(at: step.now) { step.effects.append(.refreshCredentials) }
    }
  }

  /// No try is left in the schedule.
  private mutating func exhaust(_ failure: LinkFailure?, _ step: inout Step) {
    rest(failure, slow: false, &step)
  }

  /// Stops for good until the user acts.
  mutating func end(_ reason: LinkStatus.Reason, _ step: inout Step) {
    dropStandby(&step)
    gate.leavesAt = nil
    state = .failed(reason)
  }
}
