// What happens while the link is not tried.
extension HeldLink {
  /// Leaves the work to the standby; without one the link has failed.
  mutating func rest(_ failure: LinkFailure?, slow: Bool, _ step: inout Step) {
    let last = failure ?? .local(detail: "no try was allowed")
    switch policy.standby {
    case .none:
      end(.exhausted(last), &step)
      return
    case .poll:
      standby.armPoll(after: failure, slow: slow, at: step.now, chance: &chance)
    case .queuedConnect: break  // armed after the step
    }
    state = .resting(failure.map { .failure($0) } ?? restingReason)
  }

  /// Why nothing is tried although nothing has failed just now: the user's switch, the background,
  /// or a server that refused the link before and is believed.
  private var restingReason: LinkStatus.Reason {
    if isLeftForStandby { return .ended(.background) }
    guard gate.wish == .live, let failure = standby.failure else { return .ended(.leaving) }
    return .failure(failure)
  }

  /// A wait that is longer than one between polls leaves the reader nothing but polls.
  mutating func pollMeanwhile(
    until at: Instant, after failure: LinkFailure?, _ step: inout Step
  ) {
    guard case .poll(let poll) = policy.standby, !standby.isArmed,
      at > step.now.advanced(by: poll.interval)
    else { return }
    standby.armPoll(after: failure, slow: false, at: step.now, chance: &chance)
  }

  /// Keeps the queued connect armed while the link is wanted, allowed and not open.
  mutating func keepQueue(_ step: inout Step) {
    guard case .queuedConnect = policy.standby else { return }
    switch state {
    case .settling, .waiting, .refreshing, .preparing, .opening, .resting: break
    case .held:
      // Without a radio the system has dropped it.
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

  /// Takes back whatever is armed.
  mutating func dropStandby(_ step: inout Step) {
    if case .queued(let attempt) = standby.state { step.effects.append(.disarm(attempt)) }
    standby.forget()
  }

  /// The OS's queued connect opened: it wins over a try that is under way.
  mutating func openedByQueue(_ attempt: AttemptID, _ step: inout Step) {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      step.effects.append(.close(trying.attempt, .superseded))
    case .settling, .waiting, .refreshing, .resting:
      break
    case .idle, .held, .ready, .failed:
      return  // no queue is armed in these
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
    guard id == standby.pollID, standby.isPolling else { return }  // late
    let isTime = standby.polled(id, failure, at: step.now, chance: &chance)
    switch state {
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .resting:
      requested(failure, &step)
    case .idle, .held, .ready, .failed:
      return
    }
    if isTime, case .resting = state, gate.wish == .live { probe(&step) }
  }

  /// One try out of standby.
  mutating func probe(_ step: inout Step) {
    var series = Series.reconnect
    series.isProbe = true
    expedite(series, after: nil, &step)
  }

  /// Something is a reason to try now.
  mutating func pull(_ trigger: Trigger, _ step: inout Step) {
    switch state {
    case .ready(let ready):
      let quiet = ready.liveness.lastHeard.duration(to: step.now)
      if trigger == .woke || quiet >= policy.liveness.pongTimeout { probeSuspect(&step) }
    case .waiting(let waiting):
      let series = trigger == .userRefresh ? waiting.series.restarted : waiting.series
      expedite(series, after: waiting.failure, &step)
    case .preparing(let trying) where trigger == .userRefresh: state = .preparing(trying.restarted)
    case .opening(let trying) where trigger == .userRefresh: state = .opening(trying.restarted)
    case .establishing(let trying) where trigger == .userRefresh:
      state = .establishing(trying.restarted)
    case .resting:
      standby.hurry(at: step.now)
      if gate.wish == .live, !standby.forbidsTriggers { probe(&step) }
    case .failed(.exhausted) where trigger == .userRefresh:
      expedite(.first, after: nil, &step)
    case .idle, .held, .settling, .refreshing, .preparing, .opening, .establishing, .failed:
      return  // under way already, or only the user's wish helps
    }
  }
}
