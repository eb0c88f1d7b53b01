@testable import LinkCore

// What single random inputs seldom bring together, one after another.
extension LinkInputs {
  mutating func followScenario() {
    switch number(0...9) {
    case 0: refuseTwice()
    case 1, 2: leave()
    case 3: measure()
    case 4, 5: exhaustTries()
    case 6: failWhilePolling()
    case 7: proveCredentials()
    case 8: openWithoutCredentials()
    case _: flap()
    }
  }

  /// Goes on until the link stands, if it can.
  private mutating func connect() {
    for _ in 0..<12 where !isReady && !isOver {
      switch machine.state {
      case .idle, .failed: give(.want(.live))
      case .held:
        give(.lifecycle(.foreground))
        give(.reachability(Self.ways[0]))
      case .settling, .waiting: awaitDue()
      case .refreshing: give(.credentials(.available(expiresIn: nil)))
      case .preparing: give(.prepared(attempt))
      case .opening: give(.opened(attempt))
      case .establishing: give(.established(attempt))
      case .resting:
        give(machine.queuedAttempt.map { .opened($0) } ?? .trigger(.userRefresh))
        if isResting { awaitDue() }
      case .ready: return
      }
    }
  }

  /// Has a new connection, if it can.
  private mutating func connectAnew() {
    if isReady { give(.lost(attempt, failure(.retry))) }
    connect()
  }

  /// A failure with a verdict, if one is found soon.
  private mutating func failure(_ verdict: Verdict) -> LinkFailure {
    for _ in 0..<12 {
      let failure = linkFailure()
      if machine.policy.verdict(on: failure) == verdict { return failure }
    }
    return linkFailure()
  }

  /// Requests are refused, with newer credentials or without.
  private mutating func refuseTwice() {
    if oneIn(2) { connectAnew() }
    for _ in 0..<number(0...2) { awaitDue() }
    let failure = failure(.refresh)
    give(.requested(failure))
    for _ in 0..<number(0...3) {
      switch number(0...8) {
      case 0...2: give(.credentials(.available(expiresIn: life())))
      case 3: give(.credentials(.refreshFailed))
      case 4: give(.requested(nil))
      case 5: give(.validData(attempt))
      case 6: connect()
      case 7: give(.want(.none))
      case _: awaitDue()
      }
    }
    give(oneIn(4) ? .credentials(.rejected) : .requested(failure))
  }

  /// The app leaves for the background, and often comes back before it is too late.
  private mutating func leave() {
    if !oneIn(4) { connect() }
    give(.lifecycle(.background))
    for _ in 0..<number(0...2) {
      switch number(0...9) {
      case 0: awaitDue()
      case 1: fail()
      case 2, 8, 9: give(.lost(attempt, failure(.retry)))
      case 3: give(.reachability(one(Self.ways)))
      case 4: give(.validData(attempt))
      case 5: give(.trigger(trigger()))
      case 6: give(.requested(failure(.stop)))
      case _: answerRequest()
      }
    }
    give(
      one([
        .flushed, .lifecycle(.foreground), .lifecycle(.foreground), .want(.none), .want(.live),
      ]))
    if oneIn(2) { give(.want(.live)) }
    if oneIn(2) { awaitDue() }
  }

  /// Pings are answered after this time or that.
  private mutating func measure() {
    let answers: [Duration] = [
      .milliseconds(40), .milliseconds(200), .milliseconds(800), .milliseconds(800), .seconds(2),
    ]
    connectAnew()
    let first = one(answers)
    for _ in 0..<number(2...4) where !isOver {
      give(.trigger(.woke))
      elapse(oneIn(2) ? first : one(answers), atMost: 1)
      give(.pong(attempt, ping))
    }
  }

  /// Tries fail one after another, while polls work or do not.
  private mutating func exhaustTries() {
    for _ in 0..<number(3...5) where !isOver {
      if oneIn(3) { connect() }
      if let attempt = machine.currentAttempt {
        give(.lost(attempt, failure(one([.standbySlow, .standbySlow, .standby, .retry]))))
      }
      if oneIn(2) { awaitDue() }
      if machine.standby.isPolling { give(.polled(poll, oneIn(4) ? linkFailure() : nil)) }
      if oneIn(4) { give(.trigger(trigger())) }
    }
    if oneIn(2) { connect() }
    if oneIn(2) { flap() }
  }

  /// The link is tried while polls run already.
  private mutating func failWhilePolling() {
    give(.lifecycle(.foreground))
    give(.reachability(Self.ways[0]))
    give(.want(.none))
    give(.want(.standbyOnly))
    if oneIn(2) { give(.polled(poll, nil)) }
    give(.want(.live))
    for _ in 0..<3 where machine.currentAttempt == nil { awaitDue() }
    give(.lost(attempt, failure(one([.standby, .standbySlow]))))
    give(.polled(poll, oneIn(4) ? linkFailure() : nil))
    if oneIn(2) { awaitDue() }
  }

  /// The queued connect opens though there are no credentials, and is lost.
  private mutating func openWithoutCredentials() {
    give(.credentials(.cleared))
    give(.want(.live))
    guard let queued = machine.queuedAttempt else { return }
    give(.opened(queued))
    give(.established(queued))
    give(.lost(queued, failure(.retrySpread)))
    if oneIn(2) { give(.reachability(Self.ways[1])) }
    if oneIn(2) { give(.reachability(Self.ways[0])) }
    for _ in 0..<4 where !isReady { awaitDue() }
    give(.credentials(.refreshFailed))
    awaitDue()
  }

  /// A connection stands for a while with credentials that came after a refusal.
  private mutating func proveCredentials() {
    connect()
    let failure = failure(.refresh)
    give(.lost(attempt, failure))
    give(.credentials(.available(expiresIn: nil)))
    connect()
    let times: [Duration] = [
      .zero, .nanoseconds(999_999_999), .seconds(1), .seconds(1), .milliseconds(1_500),
    ]
    elapse(one(times), atMost: 1)
    give(.lost(attempt, failure))
  }

  /// The way out goes and comes back.
  private mutating func flap() {
    if !oneIn(3) { connect() }
    give(.reachability(oneIn(2) ? .unreachable : .captivePortal))
    if oneIn(3) { give(.lifecycle(.background)) }
    if oneIn(3) { awaitDue() }
    if oneIn(2) { give(.lifecycle(.foreground)) }
    if oneIn(3) { give(.credentials(.refreshFailed)) }
    give(.reachability(one([Self.ways[0], Self.ways[1]])))
    if oneIn(2) { awaitDue() }
  }
}
