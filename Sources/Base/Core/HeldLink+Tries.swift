// The start, success and failure of attempts.
extension HeldLink {
  /// Makes the next attempt of a series, now or when it is due, or goes to standby if none is left.
  mutating func proceed(_ series: Series, after failure: LinkFailure?, _ step: inout Step) {
    guard mayTry(series, after: failure, &step) else { return }
    guard let planned = retry.wait(series, at: step.now, generator: &generator) else {
      exhaust(failure, &step)
      return
    }
    if planned.until > step.now {
      wait(planned, series, after: failure, &step)
    } else {
      begin(series, after: failure, &step)
    }
  }

  /// Makes an attempt as soon as the windows, the breaker and the server's retry-after allow.
  mutating func expedite(_ series: Series, after failure: LinkFailure?, _ step: inout Step) {
    guard mayTry(series, after: failure, &step) else { return }
    let planned = retry.wait(at: step.now)
    if planned.until > step.now {
      wait(planned, series, after: failure, &step)
    } else {
      begin(series, after: failure, &step)
    }
  }

  private mutating func wait(
    _ wait: RetryWait, _ series: Series, after failure: LinkFailure?, _ step: inout Step
  ) {
    pollMeanwhile(until: wait.until, after: failure, &step)
    let isLimited = retry.isLimited(until: wait.until, at: step.now)
    state = .waiting(
      Waiting(wait: wait, series: series, failure: failure, isLimited: isLimited))
  }

  /// Returns whether the user, the gate and the server allow an attempt.
  ///
  /// If not, the link enters the state in which it waits.
  private mutating func mayTry(
    _ series: Series, after failure: LinkFailure?, _ step: inout Step
  ) -> Bool {
    if let blockedReason = gate.blockedReason {
      state = .held(Held(blockedReason: blockedReason, series: series))
      return false
    }
    let standbyOnly = gate.intent == .standbyOnly || isLeftForStandby
    if standbyOnly || (standby.forbidsTriggers && !series.isProbe) {
      rest(failure, slow: standby.forbidsTriggers, &step)
      return false
    }
    return true
  }

  /// Whether the app is in the background and the policy keeps only the standby active there.
  var isLeftForStandby: Bool {
    guard case .leave(_, .standby) = policy.gate.background else { return false }
    return gate.lifecycle == .background && gate.leavesAt == nil
  }

  /// Begins an attempt, or first requests credentials if there are none that it may use.
  private mutating func begin(_ series: Series, after failure: LinkFailure?, _ step: inout Step) {
    guard gate.credentials.isUsable else {
      state = .refreshing(Refreshing(series: series, failure: failure))
      if gate.credentials.refresh(at: step.now) { step.effects.append(.refreshCredentials) }
      return
    }
    if series.isProbe { standby.noteProbe(at: step.now, generator: &generator) }
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
    case .preparing, .idle, .held, .debouncing, .waiting, .refreshing, .opening, .establishing,
      .ready, .resting, .failed:
      return  // a late event
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
    case .opening, .idle, .held, .debouncing, .waiting, .refreshing, .preparing, .establishing,
      .ready, .resting, .failed:
      return  // a late event
    }
  }

  mutating func established(_ attempt: AttemptID, _ step: inout Step) {
    switch state {
    case .establishing(let trying) where trying.attempt == attempt:
      become(ready: trying, &step)
    case .establishing, .idle, .held, .debouncing, .waiting, .refreshing, .preparing, .opening,
      .ready, .resting, .failed:
      return  // a late event
    }
  }

  mutating func become(ready trying: Trying, _ step: inout Step) {
    if case .queued(let queued) = standby.state { step.effects.append(.disarm(queued)) }
    standby.pause()
    // An attempt with older credentials does not show that newer ones are accepted.
    if trying.generation == gate.credentials.generation { gate.credentials.noteAccepted() }
    state = .ready(Ready(trying, policy: policy, at: step.now))
  }

  /// Ends the given attempt or link. `closing` is the reason for closing a transport that is still
  /// open.
  mutating func lost(
    _ attempt: AttemptID, _ failure: LinkFailure, closing: CloseReason?, _ step: inout Step
  ) {
    if case .queued(attempt) = standby.state {
      standby.rearmLater(at: step.now, in: gate.lifecycle)
      return
    }
    guard currentAttempt == attempt else { return }  // a late event
    if let closing { step.effects.append(.close(attempt, closing)) }
    over(failure, &step)
    // The system's queued connect takes over, so the app does not need to stay awake.
    if case .leave(_, .standby) = policy.gate.background, gate.leavesAt != nil,
      currentAttempt == nil
    {
      leave(&step)
    }
  }

  /// Ends the current attempt or link.
  private mutating func over(_ failure: LinkFailure, _ step: inout Step) {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      fail(trying.series, failure, window: nil, generation: trying.generation, counts: true, &step)
    case .ready(let ready):
      let isStable = ready.stableAt == nil
      standby.noteLink(stood: ready.since.duration(to: step.now))
      var series = isStable ? .reconnect : ready.series
      series.hadLink = true
      // A link that lasted this long proves that its credentials were valid. A rejection after it
      // may therefore cause another refresh.
      if ready.since.duration(to: step.now) >= Credentials.proof { series.refreshed = false }
      fail(
        series, failure, window: ready.drainWindow, generation: ready.generation,
        counts: !isStable, &step)
    case .idle, .held, .debouncing, .waiting, .refreshing, .resting, .failed:
      return  // no attempt is under way
    }
  }

  /// Applies the policy's failure action after a failed attempt or a lost link.
  private mutating func fail(
    _ failed: Series, _ failure: LinkFailure, window: Duration?, generation: UInt64, counts: Bool,
    _ step: inout Step
  ) {
    var series = failed
    series.jitterWindow = nil
    retry.noteFailure(at: step.now, retryAfter: failure.retryAfter)
    switch policy.action(on: failure) {
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
    case .retryJittered: series.jitterWindow = window ?? policy.retry.serverJitter
    case .retry: series.jitterWindow = window
    }
    if series.isProbe {
      rest(failure, slow: false, &step)
      return
    }
    if counts { series.failures += 1 }
    proceed(series, after: failure, &step)
  }

  /// Refreshes rejected credentials once, unless newer ones are already available.
  ///
  /// The rejected ones are not used again, whatever the result of the refresh.
  private mutating func refreshAndRetry(
    _ refused: Series, _ failure: LinkFailure, generation: UInt64, _ step: inout Step
  ) {
    var series = refused
    if generation < gate.credentials.generation {
      expedite(series, after: failure, &step)
      explain(failure)
      return
    }
    gate.credentials.noteRefused()
    if series.refreshed {
      end(.signIn, &step)
    } else {
      series.refreshed = true
      state = .refreshing(Refreshing(series: series, failure: failure))
      if gate.credentials.refresh(at: step.now) { step.effects.append(.refreshCredentials) }
    }
  }

  /// Keeps the reason for an attempt that is made at once, so that the status does not lack one.
  private mutating func explain(_ cause: LinkFailure) {
    switch state {
    case .preparing(var trying):
      trying.cause = cause
      state = .preparing(trying)
    case .opening(var trying):
      trying.cause = cause
      state = .opening(trying)
    case .idle, .held, .debouncing, .waiting, .refreshing, .establishing, .ready, .resting,
      .failed:
      return  // the state has a reason of its own
    }
  }

  /// Goes to standby because the schedule has no attempt left.
  private mutating func exhaust(_ failure: LinkFailure?, _ step: inout Step) {
    rest(failure, slow: false, &step)
  }

  /// Stops until the user acts.
  mutating func end(_ reason: LinkStatus.Reason, _ step: inout Step) {
    dropStandby(&step)
    gate.leavesAt = nil
    state = .failed(reason)
  }
}

// The user's intent and the device's conditions.
extension HeldLink {
  mutating func setIntent(_ intent: ConnectionIntent, _ step: inout Step) {
    let isNew = gate.intent != intent
    gate.intent = intent
    switch intent {
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
      // A link is kept if the queued connect opened it while only the standby was wanted.
      guard isNew || isEnded, currentAttempt == nil else { return }
      proceed(.first, after: nil, &step)
    }
  }

  private var isEnded: Bool {
    switch state {
    case .idle, .failed: true
    case .held, .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting:
      false
    }
  }

  /// Closes the current attempt or link. The caller decides how to continue.
  mutating func closeCurrent(_ reason: CloseReason, _ step: inout Step) {
    if let attempt = currentAttempt { step.effects.append(.close(attempt, reason)) }
  }

  mutating func change(to reachability: Reachability, _ step: inout Step) {
    let before = gate.reachability
    gate.reachability = reachability
    guard !reachability.isSameWay(as: before) else { return }
    if let blockedReason = gate.blockedReason {
      hold(by: blockedReason, &step)
    } else if case .reachable? = before {
      pathChanged(&step)
    } else if before != nil {
      pathReturned(&step)
    }
  }

  /// Pauses while attempts are blocked. The pause does not count as an attempt.
  ///
  /// A link held in the background stays held.
  private mutating func hold(by blockedReason: BlockedReason, _ step: inout Step) {
    switch state {
    case .ready:
      switch policy.gate.networkChange {
      case .reconnect, .loss:
        closeCurrent(.networkChanged, &step)
        state = .held(Held(blockedReason: blockedReason, series: .reconnect))
      case .probe: verify(&step)
      case .ignore: return
      }
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      closeCurrent(.networkChanged, &step)
      state = .held(Held(blockedReason: blockedReason, series: trying.series))
    case .debouncing(let debouncing):
      state = .held(Held(blockedReason: blockedReason, series: debouncing.series))
    case .waiting(let waiting):
      state = .held(Held(blockedReason: blockedReason, series: waiting.series))
    case .refreshing(let refreshing):
      state = .held(Held(blockedReason: blockedReason, series: refreshing.series))
    case .resting:
      state = .held(Held(blockedReason: blockedReason, series: .reconnect))
    case .held(let held):
      state = .held(Held(blockedReason: blockedReason, series: held.series))
    case .idle, .failed: return
    }
  }

  /// Starts a fresh series once the path that has returned is stable.
  private mutating func pathReturned(_ step: inout Step) {
    switch state {
    case .held(let held): debounce(held.series.fresh, for: policy.gate.debounce, &step)
    case .ready: verify(&step)
    case .idle, .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .resting,
      .failed:
      return  // no attempt was held back
    }
  }

  /// Applies the policy's rule for a change of route.
  private mutating func pathChanged(_ step: inout Step) {
    guard policy.gate.networkChange != .ignore else { return }
    switch state {
    case .ready:
      switch policy.gate.networkChange {
      case .reconnect:
        closeCurrent(.networkChanged, &step)
        debounce(.reconnect, for: policy.gate.debounce, &step)
      case .loss:
        closeCurrent(.networkChanged, &step)
        proceed(.reconnect, after: .unreachable(detail: "the network changed"), &step)
      case .probe: verify(&step)
      case .ignore: return
      }
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      guard policy.gate.networkChange == .reconnect else { return }
      closeCurrent(.networkChanged, &step)
      debounce(trying.series, for: policy.gate.debounce, &step)
    case .debouncing(let debouncing): debounce(debouncing.series, for: policy.gate.debounce, &step)
    case .waiting(let waiting):
      debounce(waiting.series.fresh, for: policy.gate.debounce, &step)
    case .resting:
      guard gate.intent == .live, !standby.forbidsTriggers, !isLeftForStandby else { return }
      debounce(.reconnect, for: policy.gate.debounce, &step)
    case .idle, .held, .refreshing, .failed: return
    }
  }

  /// Verifies with a ping that a connection is alive after an event that may have cut it.
  mutating func verify(_ step: inout Step) {
    guard case .ready(var ready) = state else { return }
    let id = ready.liveness.verify(at: step.now)
    state = .ready(ready)
    if let id { step.effects.append(.ping(ready.attempt, id)) }
  }

  /// Waits for the network or the app to become stable, then makes an attempt.
  mutating func debounce(_ series: Series, for time: Duration, _ step: inout Step) {
    if time > .zero {
      state = .debouncing(Debouncing(until: step.now.advanced(by: time), series: series))
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
    case .held, .debouncing, .waiting, .refreshing, .preparing, .opening, .resting: leave(&step)
    case .idle, .failed: return
    }
  }

  mutating func flushed(_ step: inout Step) {
    if gate.leavesAt != nil { leave(&step) }
  }

  /// Leaves for the background now, as the policy specifies.
  mutating func leave(_ step: inout Step) {
    gate.leavesAt = nil
    guard case .leave(_, let then) = policy.gate.background else { return }
    closeCurrent(.background, &step)
    if case .ready = state { standby.noteDone() }
    switch then {
    case .hold:
      state = .held(Held(blockedReason: gate.blockedReason ?? .background, series: .reconnect))
    case .standby: proceed(.reconnect, after: nil, &step)
    case .idle:
      gate.intent = .none
      dropStandby(&step)
      state = .idle(.ended(.background))
    }
  }

  mutating func comeToForeground(_ step: inout Step) {
    guard gate.lifecycle != .foreground else { return }
    gate.lifecycle = .foreground
    if gate.leavesAt != nil {
      gate.leavesAt = nil
      // A link that came to rest in the meantime is tried again, as after a longer absence.
      guard case .resting = state else { return verify(&step) }
    }
    guard case .connect(let after) = policy.gate.foreground else { return }
    switch state {
    case .held, .resting:
      if let blockedReason = gate.blockedReason {
        state = .held(Held(blockedReason: blockedReason, series: .first))
        return
      }
      standby.pollNow(at: step.now)
      debounce(.first, for: after, &step)
    case .ready: verify(&step)
    case .idle, .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .failed:
      return  // already under way, or only the user's intent can change it
    }
  }
}

// The standby, in which a link makes no attempts.
extension HeldLink {
  /// Activates the standby. If there is no standby, the link has failed.
  mutating func rest(_ failure: LinkFailure?, slow: Bool, _ step: inout Step) {
    let last = failure ?? .local(detail: "no attempt was allowed")
    switch policy.standby {
    case .none:
      end(.exhausted(last), &step)
      return
    case .poll:
      standby.armPoll(after: failure, slow: slow, at: step.now, generator: &generator)
    case .queuedConnect: break  // armed after the step
    }
    state = .resting(failure.map { .failure($0) } ?? restingReason)
  }

  /// The reason for resting without a new failure: the user's intent, the background, or an earlier
  /// refusal by the server that still applies.
  private var restingReason: LinkStatus.Reason {
    if isLeftForStandby { return .ended(.background) }
    guard gate.intent == .live, let failure = standby.failure else { return .ended(.leaving) }
    return .failure(failure)
  }

  /// Arms polls for a wait that is longer than the poll interval, since the app has no other source
  /// of data in the meantime.
  mutating func pollMeanwhile(
    until at: Instant, after failure: LinkFailure?, _ step: inout Step
  ) {
    guard case .poll(let poll) = policy.standby, !standby.isArmed,
      at > step.now.advanced(by: poll.interval)
    else { return }
    standby.armPoll(after: failure, slow: false, at: step.now, generator: &generator)
  }

  /// Keeps the queued connect armed while the link is wanted, allowed and not open.
  mutating func keepQueue(_ step: inout Step) {
    guard case .queuedConnect = policy.standby else { return }
    switch state {
    case .debouncing, .waiting, .refreshing, .preparing, .opening, .resting: break
    case .held:
      // The system dropped the queued connect together with the radio.
      dropStandby(&step)
      return
    case .establishing, .ready, .idle, .failed: return
    }
    switch standby.state {
    case .queued, .rearming: return
    case .off, .polling:
      if !standby.waitsToArm(at: step.now, in: gate.lifecycle) { armQueue(&step) }
    }
  }

  mutating func armQueue(_ step: inout Step) {
    let attempt = newAttempt()
    let rest = standby.armQueued(attempt, at: step.now)
    step.effects.append(.arm(attempt, after: rest))
  }

  /// Disarms the standby.
  mutating func dropStandby(_ step: inout Step) {
    if case .queued(let attempt) = standby.state { step.effects.append(.disarm(attempt)) }
    standby.forget()
  }

  /// Adopts the link that the system's queued connect opened, and closes an attempt under way.
  mutating func openedByQueue(_ attempt: AttemptID, _ step: inout Step) {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      step.effects.append(.close(trying.attempt, .superseded))
    case .debouncing, .waiting, .refreshing, .resting:
      break
    case .idle, .held, .ready, .failed:
      return  // no queued connect is armed in these states
    }
    standby.disarm()
    let time = policy.establish.timeout - policy.establish.openTimeout
    let until = step.now.advanced(by: max(time, policy.establish.openTimeout))
    state = .establishing(
      Trying(
        attempt: attempt, until: until, establishBy: until, series: .reconnect,
        generation: gate.credentials.generation))
  }

  mutating func polled(_ id: UInt64, _ failure: LinkFailure?, _ step: inout Step) {
    guard id == standby.pollID, standby.isPolling else { return }  // a late event
    let isTime = standby.polled(id, failure, at: step.now, generator: &generator)
    switch state {
    case .debouncing, .waiting, .refreshing, .preparing, .opening, .establishing, .resting:
      requested(failure, &step)
    case .idle, .held, .ready, .failed:
      return
    }
    if isTime, case .resting = state, gate.intent == .live { probe(&step) }
  }

  /// Makes a single attempt from standby.
  mutating func probe(_ step: inout Step) {
    var series = Series.reconnect
    series.isProbe = true
    expedite(series, after: nil, &step)
  }

  /// Handles an event that is a reason to make an attempt now.
  mutating func pull(_ trigger: Trigger, _ step: inout Step) {
    switch state {
    case .ready(let ready):
      let quiet = ready.liveness.lastReceived.duration(to: step.now)
      if trigger == .woke || quiet >= policy.liveness.pongTimeout { verify(&step) }
    case .waiting(let waiting):
      let series = trigger == .userRefresh ? waiting.series.restarted : waiting.series
      expedite(series, after: waiting.failure, &step)
    case .preparing(let trying) where trigger == .userRefresh: state = .preparing(trying.restarted)
    case .opening(let trying) where trigger == .userRefresh: state = .opening(trying.restarted)
    case .establishing(let trying) where trigger == .userRefresh:
      state = .establishing(trying.restarted)
    case .resting:
      standby.pollNow(at: step.now)
      if gate.intent == .live, !standby.forbidsTriggers { probe(&step) }
    case .failed(.exhausted) where trigger == .userRefresh:
      expedite(.first, after: nil, &step)
    case .idle, .held, .debouncing, .refreshing, .preparing, .opening, .establishing, .failed:
      return  // already under way, or only the user's intent can change it
    }
  }
}

// Credentials: refreshed before they expire, once for each rejection, never in a loop.
extension HeldLink {
  mutating func credentials(_ event: CredentialsEvent, _ step: inout Step) {
    switch event {
    case .available(let expiresIn):
      gate.credentials.renewed(expiresIn: expiresIn, at: step.now)
      goOnWithCredentials(&step)
    case .refreshFailed(let detail):
      gate.credentials.refreshFailed(at: step.now)
      refreshFailed(detail, &step)
    case .rejected:
      gate.credentials.refreshRejected()
      guard gate.intent != .none else { return }
      if gate.credentials.isRefused || isWaitingForCredentials { signIn(&step) }
    case .cleared:
      gate.credentials.forget()
      if gate.intent != .none { signIn(&step) }
    }
  }

  /// Handles a refresh that timed out or is due.
  mutating func expireCredentials(_ step: inout Step) {
    if gate.credentials.isRefreshing {
      credentials(.refreshFailed(), &step)
    } else if gate.credentials.refresh(at: step.now) {
      step.effects.append(.refreshCredentials)
    }
  }

  private var isWaitingForCredentials: Bool {
    guard case .refreshing = state else { return false }
    return true
  }

  private mutating func goOnWithCredentials(_ step: inout Step) {
    switch state {
    case .refreshing(let refreshing):
      expedite(refreshing.series, after: refreshing.failure, &step)
    case .failed(.signIn):
      proceed(.first, after: nil, &step)
    case .resting:
      // A poll that was rejected is repeated with the new credentials.
      standby.pollNow(at: step.now)
    case .idle, .held, .debouncing, .waiting, .preparing, .opening, .establishing, .ready, .failed:
      return
    }
  }

  private mutating func refreshFailed(_ detail: String?, _ step: inout Step) {
    guard case .refreshing(let refreshing) = state else { return }
    var series = refreshing.series
    // Refused credentials are not used again. The next refresh is therefore for the same refusal.
    if gate.credentials.isUsable { series.refreshed = false }
    series.failures += 1
    let failure = LinkFailure.local(detail: detail ?? "credentials could not be refreshed")
    if series.isProbe {
      rest(failure, slow: false, &step)
    } else {
      proceed(series, after: failure, &step)
    }
  }

  private mutating func signIn(_ step: inout Step) {
    closeCurrent(.leaving, &step)
    end(.signIn, &step)
  }

  /// Handles the result of a request that was made outside the link.
  mutating func requested(_ failure: LinkFailure?, _ step: inout Step) {
    guard let failure else {
      gate.credentials.noteAccepted()
      return
    }
    guard gate.intent != .none, !isFailed else { return }
    switch policy.action(on: failure) {
    case .refresh where gate.credentials.isRefreshing: return
    case .refresh where gate.credentials.isRenewedInVain:
      gate.credentials.noteRefused()
      signIn(&step)
    case .refresh:
      gate.credentials.noteRefusedByREST()
      if gate.credentials.refresh(at: step.now) { step.effects.append(.refreshCredentials) }
    case .stop:
      closeCurrent(.leaving, &step)
      end(.failure(failure), &step)
    case .retry, .retryJittered, .standby, .standbySlow: return
    }
  }

  private var isFailed: Bool {
    guard case .failed = state else { return false }
    return true
  }
}

// Adopted transports, which this link did not open, such as a peripheral that the system restored
// or an upload of an earlier process.
extension HeldLink {
  /// The identifier under which an adopted transport must be reported.
  public var nextAttempt: AttemptID { AttemptID(lastAttempt + 1) }

  /// Adopts a transport in place of an attempt under way, or closes the transport if it is not
  /// needed.
  mutating func found(_ attempt: AttemptID, established: Bool, _ step: inout Step) {
    guard attempt.number > lastAttempt else { return }  // an attempt has used this identifier since
    note(found: attempt)
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      step.effects.append(.close(trying.attempt, .superseded))
    case .debouncing, .waiting, .refreshing, .resting:
      break
    case .idle, .failed:
      step.effects.append(.close(attempt, .leaving))
      return
    case .held, .ready:
      step.effects.append(.close(attempt, .superseded))
      return
    }
    if case .queued = standby.state { dropStandby(&step) }
    let until = step.now.advanced(by: policy.establish.timeout)
    let trying = Trying(
      attempt: attempt, until: until, establishBy: until, series: .reconnect,
      generation: gate.credentials.generation)
    guard established || policy.establish.milestone == .opened else {
      state = .establishing(trying)
      return
    }
    become(ready: trying, &step)
  }
}
