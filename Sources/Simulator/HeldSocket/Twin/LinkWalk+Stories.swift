import LinkCore

// What chance alone seldom brings together, one after another.
extension LinkWalk {
  mutating func tell() {
    switch number(0...9) {
    case 0: refuseTwice()
    case 1, 2: leave()
    case 3: measure()
    case 4, 5: fallSlow()
    case 6: fallFromPolls()
    case 7: proveCredentials()
    case 8: openWithoutKeys()
    case _: flap()
    }
  }

  /// Goes on until the link stands, if it can.
  private mutating func connect() {
    for _ in 0..<12 where twin.place != .ready && stray == nil {
      switch twin.place {
      case .idle, .failed: give(.want(.live))
      case .held:
        give(.lifecycle(.foreground))
        give(.reachability(Self.ways[0]))
      case .settling, .waiting: wait()
      case .refreshing: give(.credentials(.available(expiresIn: nil)))
      case .preparing: give(.prepared(attempt))
      case .opening: give(.opened(attempt))
      case .establishing: give(.established(attempt))
      case .resting:
        give(twin.side.queued.map { .opened($0) } ?? .trigger(.userRefresh))
        if twin.place == .resting { wait() }
      case .ready: return
      }
    }
  }

  /// Has a new connection, if it can.
  private mutating func connectAnew() {
    if twin.place == .ready { give(.lost(attempt, failure(.retry))) }
    connect()
  }

  /// A failure with a verdict, if there is one.
  private mutating func failure(_ verdict: Verdict) -> LinkFailure {
    for _ in 0..<12 {
      let failure = failure()
      if LinkFaults.verdict(failure, twin.policy) == verdict { return failure }
    }
    return failure()
  }

  /// Requests are refused, with newer credentials or without.
  private mutating func refuseTwice() {
    if happens(2) { connectAnew() }
    for _ in 0..<number(0...2) { wait() }
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
      case _: wait()
      }
    }
    give(happens(4) ? .credentials(.rejected) : .requested(failure))
  }

  /// The app leaves for the background, and often comes back before it is too late.
  private mutating func leave() {
    if !happens(4) { connect() }
    give(.lifecycle(.background))
    for _ in 0..<number(0...2) {
      switch number(0...9) {
      case 0: wait()
      case 1: fail()
      case 2, 8, 9: give(.lost(attempt, failure(.retry)))
      case 3: give(.reachability(one(Self.ways)))
      case 4: give(.validData(attempt))
      case 5: give(.trigger(trigger()))
      case 6: give(.requested(failure(.stop)))
      case _: rest()
      }
    }
    give(
      one([
        .flushed, .lifecycle(.foreground), .lifecycle(.foreground), .want(.none), .want(.live),
      ]))
    if happens(2) { give(.want(.live)) }
    if happens(2) { wait() }
  }

  /// Pings are answered after this time or that.
  private mutating func measure() {
    connectAnew()
    let first = one(Self.answers)
    for _ in 0..<number(2...4) where stray == nil {
      give(.trigger(.woke))
      pass(happens(2) ? first : one(Self.answers))
      give(.pong(attempt, ping))
    }
  }

  private static let answers: [Duration] = [
    .milliseconds(40), .milliseconds(200), .milliseconds(800), .milliseconds(800), .seconds(2),
  ]

  /// Time passes, unless something is due before.
  private mutating func pass(_ time: Duration) {
    let end = now.advanced(by: time)
    if let due = link.deadline, due <= end { wait() } else { skip(to: end) }
  }

  /// Tries fail one after another, while polls work or do not.
  private mutating func fallSlow() {
    for _ in 0..<number(3...5) where stray == nil {
      if happens(3) { connect() }
      if let attempt = twin.attempt {
        give(.lost(attempt, failure(one([.standbySlow, .standbySlow, .standby, .retry]))))
      }
      if happens(2) { wait() }
      if twin.side.polls?.runs == true { give(.polled(poll, happens(4) ? failure() : nil)) }
      if happens(4) { give(.trigger(trigger())) }
    }
    if happens(2) { connect() }
    if happens(2) { flap() }
  }

  /// The link is tried while polls run already.
  private mutating func fallFromPolls() {
    give(.lifecycle(.foreground))
    give(.reachability(Self.ways[0]))
    give(.want(.none))
    give(.want(.standbyOnly))
    if happens(2) { give(.polled(poll, nil)) }
    give(.want(.live))
    for _ in 0..<3 where twin.attempt == nil { wait() }
    give(.lost(attempt, failure(one([.standby, .standbySlow]))))
    give(.polled(poll, happens(4) ? failure() : nil))
    if happens(2) { wait() }
  }

  /// The queue brings a connection though there are no credentials, which is lost.
  private mutating func openWithoutKeys() {
    give(.credentials(.cleared))
    give(.want(.live))
    guard let queued = twin.side.queued else { return }
    give(.opened(queued))
    give(.established(queued))
    give(.lost(queued, failure(.retrySpread)))
    if happens(2) { give(.reachability(Self.ways[1])) }
    if happens(2) { give(.reachability(Self.ways[0])) }
    for _ in 0..<4 where twin.place == .waiting || twin.place == .settling { wait() }
    give(.credentials(.refreshFailed))
    wait()
  }

  /// A connection stands for a while with credentials that came after a refusal.
  private mutating func proveCredentials() {
    connect()
    let failure = failure(.refresh)
    give(.lost(attempt, failure))
    give(.credentials(.available(expiresIn: nil)))
    connect()
    pass(one([.zero, .nanoseconds(999_999_999), .seconds(1), .seconds(1), .milliseconds(1_500)]))
    give(.lost(attempt, failure))
  }

  /// The way out goes and comes back.
  private mutating func flap() {
    if !happens(3) { connect() }
    give(.reachability(happens(2) ? .unreachable : .captivePortal))
    if happens(3) { give(.lifecycle(.background)) }
    if happens(3) { wait() }
    if happens(2) { give(.lifecycle(.foreground)) }
    if happens(3) { give(.credentials(.refreshFailed)) }
    give(.reachability(one([Self.ways[0], Self.ways[1]])))
    if happens(2) { wait() }
  }
}
