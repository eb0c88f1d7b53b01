// What always holds between the fields of a link.
extension HeldLink {
  public func check(_ check: inout InvariantCheck) {
    checkWish(&check)
    checkAttempts(&check)
    checkStandby(&check)
    check.require(
      deadline != nil || !waits, "link: every state that waits has a deadline or a queued connect")
    if check.isThorough {
      check.require(status == observed, "link: the user is shown the present state")
    }
    gate.check(&check)
    retry.check(&check)
    standby.check(&check)
  }

  /// Whether only time or the answer of a peer ends the present state.
  private var waits: Bool {
    switch state {
    case .idle, .failed, .held: return false
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready: return true
    case .resting:
      if case .queued = standby.state { return false }
      return true
    }
  }

  /// What the user wants and what the gate allows, beside the state.
  private func checkWish(_ check: inout InvariantCheck) {
    check.require(
      isIdle == (gate.wish == .none), "link: it is idle exactly while it is not wanted")
    check.require(
      gate.leavesAt == nil || gate.wish != .none, "link: it leaves only what is wanted")
    switch state {
    case .held(let held):
      // Where the user connects again after the background, the hold outlives its reason.
      check.require(
        held.obstacle == gate.obstacle
          || (held.obstacle == .background && policy.gate.foreground == .wait),
        "link: it is held by an obstacle that exists")
    case .settling, .waiting:
      check.require(gate.obstacle == nil, "link: it waits to try only while the gate is open")
    case .preparing(let trying), .opening(let trying), .establishing(let trying):
      check.require(
        gate.obstacle == nil || isEstablishing, "link: it tries only while the gate is open")
      check.require(
        trying.generation <= gate.credentials.generation,
        "link: an attempt uses credentials that exist")
    case .ready(let ready):
      check.require(
        ready.generation <= gate.credentials.generation,
        "link: a link that stands uses credentials that exist")
    case .refreshing:
      check.require(
        gate.credentials.isRefreshing, "link: it waits for credentials only during a refresh")
    case .idle, .resting, .failed: return
    }
  }

  /// Also behind a closed gate: the system's queued connect opens when the peer appears.
  private var isEstablishing: Bool {
    switch state {
    case .establishing: true
    case .idle, .held, .settling, .waiting, .refreshing, .preparing, .opening, .ready, .resting,
      .failed:
      false
    }
  }

  private var isIdle: Bool {
    switch state {
    case .idle: true
    case .held, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting, .failed:
      false
    }
  }

  /// The attempt under way and its limits.
  private func checkAttempts(_ check: inout InvariantCheck) {
    if let current = currentAttempt {
      check.require(current.number <= lastAttempt, "link: the current attempt was numbered")
    }
    switch state {
    case .preparing(let trying):
      check.require(
        gate.wish == .live && !isLeftForStandby,
        "link: an attempt begins only while the live link is wanted")
      check.require(
        trying.series.prepares && policy.establish.prepare != nil,
        "link: it prepares only where the policy says so")
    case .opening(let trying):
      check.require(
        gate.wish == .live && !isLeftForStandby,
        "link: a transport opens only while the live link is wanted")
      check.require(
        trying.until <= trying.establishBy && !trying.series.prepares,
        "link: opening ends within the time of the attempt")
    case .establishing(let trying):
      check.require(
        trying.until == trying.establishBy, "link: establishing ends with the time of the attempt")
    case .ready(let ready): checkReady(ready, &check)
    case .idle, .held, .settling, .waiting, .refreshing, .resting, .failed: break
    }
    if let series {
      check.require(
        !series.isProbe || series.origin == .reconnect, "link: a probe is a reconnect")
    }
  }

  private func checkReady(_ ready: Ready, _ check: inout InvariantCheck) {
    check.require(
      ready.stableAt ?? ready.since >= ready.since, "link: it is stable after it was ready")
    check.require(
      ready.liveness.lastHeard >= ready.since, "link: nothing was heard before it was ready")
    if let window = ready.drainWindow {
      check.require(
        window >= .zero && window <= policy.retry.longestWish,
        "link: the window of a drain is obeyed up to the longest wish")
    }
    ready.liveness.check(&check)
  }

  private var series: Series? {
    switch state {
    case .held(let held): held.series
    case .settling(let settling): settling.series
    case .waiting(let waiting): waiting.series
    case .refreshing(let refreshing): refreshing.series
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.series
    case .ready(let ready): ready.series
    case .idle, .resting, .failed: nil
    }
  }

  /// What stays armed beside the state.
  private func checkStandby(_ check: inout InvariantCheck) {
    if case .queued(let queued) = standby.state {
      check.require(queued.number <= lastAttempt, "link: the queued attempt was numbered")
      check.require(queued != currentAttempt, "link: an attempt is in one place")
    }
    switch state {
    case .idle, .failed:
      check.require(!standby.isArmed, "link: an ended link has nothing armed")
    case .resting: check.require(standby.isArmed, "link: a resting link has its standby armed")
    case .ready(let ready):
      check.require(
        !standby.isArmed || (standby.isPolling && ready.stableAt != nil),
        "link: only an unproven link keeps polls")
    case .held:
      check.require(!isQueueArmed, "link: a link that is held has nothing queued")
    case .settling, .waiting, .refreshing, .preparing, .opening:
      check.require(
        isQueueArmed || !policy.standby.isQueue, "link: a queued connect is armed while it tries")
    case .establishing: return
    }
  }

  private var isQueueArmed: Bool {
    switch standby.state {
    case .queued, .rearming: true
    case .off, .polling: false
    }
  }
}
