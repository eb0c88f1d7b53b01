import LinkCore

// Where a link goes, and what is shown of it.
extension LinkTwin {
  /// Leaves the present place for another one; the caller says what counts there.
  mutating func go(_ next: Place) {
    place = next
    (reason, cause, until, wholeUntil, attempt, line) = (nil, nil, nil, nil, nil, nil)
  }

  mutating func goHeld(by obstacle: Obstacle, _ next: LinkRun) {
    go(.held)
    (hold, run) = (obstacle, next)
  }

  mutating func goWaiting(until at: Instant, _ next: LinkRun, after failure: LinkFailure?) {
    go(.waiting)
    (until, run, cause) = (at, next, failure)
  }

  mutating func goRefreshing(_ next: LinkRun, after failure: LinkFailure?) {
    go(.refreshing)
    (run, cause) = (next, failure)
    if keys.ask(at: now) { out.append(.refreshCredentials) }
  }

  mutating func goIdle(_ why: LinkStatus.Reason?) {
    go(.idle)
    reason = why
    wish = .none
    leavesAt = nil
    dropSide()
  }

  mutating func goFailed(_ why: LinkStatus.Reason) {
    dropSide()
    go(.failed)
    reason = why
    leavesAt = nil
  }

  mutating func close(_ why: HeldLink.CloseReason) {
    if let attempt { out.append(.close(attempt, why)) }
  }

  mutating func dropSide() {
    if let queued = side.queued { out.append(.disarm(queued)) }
    side.forget()
  }

  // What is shown.

  var status: LinkStatus {
    var status = bare
    if isSideAwake, side.polls != nil { status.mode = .polling }
    return status
  }

  private var bare: LinkStatus {
    switch place {
    case .idle: LinkStatus(phase: .disconnected, attempt: 0, reason: reason)
    case .held: LinkStatus(phase: .held, attempt: 0, reason: .obstacle(hold))
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing: tried
    case .ready:
      LinkStatus(phase: .connected, mode: .live, quality: line?.pulse.quality)
    case .resting: LinkStatus(phase: .standby, reason: reason)
    case .failed: LinkStatus(phase: .failed, reason: reason)
    }
  }

  private var tried: LinkStatus {
    var status = LinkStatus(phase: .standby)
    if let cause { status.reason = .failure(cause) }
    if place == .settling { status.reason = .settling }
    if run.isProbe { return status }
    if place == .settling || place == .waiting { status.retryAt = until }
    if run.isFirst, run.failures == 0 {
      (status.phase, status.attempt) = (.connecting, 1)
    } else {
      status.phase = .reconnecting
      status.attempt = 1 + (run.waits ?? 0)
      status.of = LinkPace.tries(of: pace.schedule(run))
    }
    return status
  }
}
