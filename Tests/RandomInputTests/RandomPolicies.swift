import HoldfastCore

/// A source of valid policies with small numbers, so that deadlines often coincide.
struct RandomPolicies: RandomValues {
  var generator: RandomSource

  mutating func next() -> LinkPolicy {
    if oneIn(12) { return one(LinkPolicy.presets) }
    let standby = anyStandby()
    let rests = standby != .none
    let policy = try? LinkPolicy(
      name: "random", retry: anyRetry(), gate: anyGate(rests), liveness: anyLiveness(rests),
      establish: anyEstablish(), standby: standby, actions: anyVerdicts(rests))
    return policy ?? .messageStream
  }

  private mutating func time(_ seconds: [Double]) -> Duration {
    .nanoseconds(Int64(one(seconds) * 1_000_000_000))
  }

  private mutating func anySchedule() -> Schedule {
    if oneIn(2) {
      let waits: [Duration] = [.milliseconds(100), .milliseconds(500), .seconds(1), .seconds(3)]
      var list = (0..<number(0...3)).map { _ in one(waits) }
      if oneIn(2), !list.isEmpty { list[0] = .zero }
      return .list(list)
    }
    let jitter = one([0, 0, 0.25, 0.5, 1])
    let first = time([0.5, 1, 1.5])
    let floor = jitter == 1 ? first : one([.zero, .milliseconds(100), first / 2, first])
    return .exponential(
      first: first, factor: number(1...3), cap: first + time([0, 1, 3.5, 60]), jitter: jitter,
      floor: floor, attempts: one([nil, 1, 2, 3, 4]))
  }

  private mutating func anyRetry() -> RetryPolicy {
    var windows = [AttemptWindow(attempts: number(1...4), per: time([2, 3, 5]))]
    if oneIn(2) { windows = [AttemptWindow(attempts: 12, per: .seconds(10))] }
    if oneIn(3) { windows.append(AttemptWindow(attempts: number(1...3), per: time([1, 2, 9]))) }
    let breaker = Breaker(
      failures: number(1...3), within: time([1, 3, 6]), pause: time([1, 2, 5]))
    let jitterWindow = time([0.5, 1, 3])
    return RetryPolicy(
      first: anySchedule(), reconnect: anySchedule(), windows: windows,
      breaker: oneIn(3) ? breaker : nil,
      stability: Stability(after: time([0.5, 1, 2, 3]), provenByData: oneIn(2)),
      serverJitter: jitterWindow, maxRetryAfter: jitterWindow + time([0, 1, 4]))
  }

  private mutating func anyGate(_ rests: Bool) -> GatePolicy {
    var ends: [BackgroundRule.AfterLeaving] = [.hold, .idle]
    if rests { ends += [.standby, .standby] }
    return GatePolicy(
      needsCredentials: !oneIn(3), refreshLead: time([0, 1, 2, 5]),
      refreshTimeout: time([1, 1, 2, 3, 30, 400]), debounce: time([0, 1, 2]),
      networkChange: one(NetworkChangeRule.allCases),
      background: oneIn(4) ? .stay : .leave(after: time([0, 1, 2]), then: one(ends)),
      foreground: oneIn(3) ? .wait : .connect(after: time([0, 0.5, 1])))
  }

  private mutating func anyLiveness(_ rests: Bool) -> LivenessPolicy {
    let ping: Duration? = oneIn(4) ? nil : time([1, 1, 2])
    let idle = IdleRule(after: time([1, 3, 5, 9]), then: rests && oneIn(2) ? .standby : .idle)
    let isBare = oneIn(20) && rests
    return LivenessPolicy(
      silence: isBare || ping != nil && oneIn(2) ? nil : time([3, 4, 6]),
      ping: isBare ? nil : ping, degradedPing: one([nil, .seconds(1), .seconds(2), .seconds(3)]),
      poorPing: one([nil, .seconds(1), .seconds(2), .seconds(3), .seconds(4)]),
      pongTimeout: time([0.1, 0.5, 1, 2]), pongRoundTrips: number(1...4),
      pongTries: number(1...4), idle: oneIn(2) ? idle : nil)
  }

  private mutating func anyEstablish() -> EstablishPolicy {
    let open = time([0.5, 1, 2])
    return EstablishPolicy(
      milestone: one(EstablishPolicy.Milestone.allCases), openTimeout: open,
      timeout: open + time([0, 0.5, 1, 3]), prepare: oneIn(2) ? time([0.5, 1]) : nil)
  }

  private mutating func anyStandby() -> StandbyPolicy {
    switch number(0...6) {
    case 0, 1: return .none
    case 2...4:
      let probe = time([1, 2, 4, 6, 20])
      return .poll(
        PollPolicy(
          interval: time([1, 2, 3]), jitter: one([0, 0, 0.1, 0.5]), probe: probe,
          slowProbe: probe + time([0, 2])))
    case _:
      let (rearm, fast) = (time([1, 2]), time([0.5, 1, 3]))
      let least = max(rearm, fast + .milliseconds(500))
      return .queuedConnect(
        QueuePolicy(
          rearm: rearm, fastFailure: fast, floor: least + time([0, 1, 3]),
          background: least + time([0, 0.5, 2])))
    }
  }

  private mutating func anyVerdicts(_ rests: Bool) -> [FailureClass: FailureAction] {
    var actions: [FailureClass: FailureAction] = [:]
    var choices: [FailureAction] = [
      .retry, .retry, .retryJittered, .retryJittered, .refresh, .refresh,
    ]
    choices.append(.stop)
    if rests { choices += [.standby, .standbySlow, .standbySlow] }
    for row in FailureClass.allCases { actions[row] = one(choices) }
    if oneIn(2) { actions[.unauthorized] = .refresh }
    return actions
  }
}

extension RandomValues {
  /// Returns a random failure of a connection.
  mutating func linkFailure() -> LinkFailure {
    let codes: [UInt16] = [
      999, 1000, 1001, 1002, 1003, 1005, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 4401, 4403,
      4409,
    ]
    let statuses = [302, 400, 401, 401, 403, 404, 410, 429, 499, 500, 503, 503, 599, 600]
    switch number(0...14) {
    case 0: return .unreachable(detail: "a")
    case 1: return .dns(detail: "b")
    case 2: return .refused
    case 3: return .timeout(one(LinkFailure.Phase.allCases))
    case 4: return .tls(one(LinkFailure.TLSReason.allCases), detail: "c")
    case 5: return .reset
    case 6: return .ended
    case 7, 8: return .closed(code: one(codes), reason: "d")
    case 9: return .protocolError(detail: "e")
    case 10: return .proxy(detail: "f")
    case 11: return oneIn(2) ? .captivePortal : .local(detail: "g")
    case _:
      let retryAfterChecker: [Duration?] = [
        nil, nil, nil, .seconds(-1), .zero, .seconds(1), .seconds(60),
      ]
      return .http(status: one(statuses), retryAfter: one(retryAfterChecker), detail: "h")
    }
  }
}

extension RandomValues {
  /// Returns a random failure of a store.
  mutating func storeFailure() -> StoreFailure {
    switch number(0...5) {
    case 0: .full(detail: "i")
    case 1: .locked(detail: "j")
    case 2: .corrupt(detail: "k")
    case 3: .denied(detail: "l")
    case 4: .fromTheFuture(found: 2, supported: 1)
    case _: .other(detail: "m")
    }
  }
}
