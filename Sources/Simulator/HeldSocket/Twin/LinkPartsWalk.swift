import LinkCore

/// The parts of a link that work without one uses by itself, beside their twins.
struct LinkPartsWalk: TwinWalk {
  var chance: Chance
  var stray: String?
  private var now = Instant.zero

  init(_ chance: Chance) { self.chance = chance }

  /// Tries each part so often; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    tryChance()
    tryDefaults()
    for _ in 0..<times where stray == nil {
      var maker = LinkWalk(Chance(seed: chance.next()))
      let policy = maker.anyPolicy()
      tryWindows()
      tryRetry(policy.retry, &maker)
      tryGate(policy, &maker)
      trySchedule(happens(2) ? policy.retry.first : policy.retry.reconnect)
      tryFailure(maker.failure())
    }
    return stray
  }

  private mutating func pass() {
    let waits: [Duration] = [
      .zero, .zero, .nanoseconds(1), .milliseconds(500), .seconds(1), .seconds(2), .seconds(60),
    ]
    now = now.advanced(by: one(waits))
  }

  // Numbers.

  private mutating func tryChance() {
    for seed: UInt64 in [0, 7, .max] {
      var (plain, dice) = (Chance(seed: seed), LinkDice(seed: seed))
      compare("chance", plain.next(), dice.bits())
      compare("a share of chance", plain.unit(), dice.share())
      compare("a time by chance", plain.duration(below: .seconds(9)), dice.part(of: .seconds(9)))
    }
  }

  private mutating func tryDefaults() {
    let liveness = LivenessPolicy(
      silence: nil, ping: .seconds(1), pongTimeout: .seconds(1), pongRoundTrips: 1)
    compare("how many pings are sent in vain", liveness.pongTries, 1)
    let queue = QueuePolicy(rearm: .seconds(1), fastFailure: .seconds(1), floor: .seconds(9))
    compare("the longest wait in background", queue.background, .seconds(8))
  }

  private mutating func tryWindows() {
    var limits: [AttemptWindow] = []
    for _ in 0..<number(0...2) {
      let per = one([Duration.milliseconds(500), .seconds(1), .seconds(2)])
      limits.append(AttemptWindow(attempts: number(1...3), per: per))
    }
    var windows = Windows(limits)
    var events: [Instant] = []
    for _ in 0..<10 {
      pass()
      let at = LinkPace.soonest(now, after: events, limits)
      compare("the earliest time of windows", windows.earliest(at: now), at)
      let passes = happens(2)
      if passes { compare("what windows let pass", windows.pass(at: now), at <= now) }
      if !passes { windows.note(at: now) }
      if !passes || at <= now { events.append(now) }
    }
  }

  private mutating func tryRetry(_ policy: RetryPolicy, _ maker: inout LinkWalk) {
    let seed = chance.next()
    var (plain, dice) = (Chance(seed: seed), LinkDice(seed: seed))
    var (retry, pace) = (Retry(policy), LinkPace(policy))
    for _ in 0..<10 {
      pass()
      switch number(0...3) {
      case 0:
        retry.noteAttempt(at: now)
        pace.tries.append(now)
      case 1:
        let wish = wish()
        retry.noteFailure(at: now, wish: wish)
        pace.failed(wish, at: now)
      case 2:
        if happens(3) {
          retry.noteStable()
          pace.succeeded()
        }
      case _:
        let schedule = happens(2) ? policy.first : policy.reconnect
        let (index, spread) = (happens(3) ? nil : number(0...4), happens(2) ? wish() : nil)
        compare(
          "a plan",
          retry.plan(
            schedule, before: index, spread: spread.map { max($0, .zero) }, at: now,
            chance: &plain),
          pace.next(schedule, after: index, spread.map { max($0, .zero) }, at: now, &dice))
      }
      compareRetry(retry, pace)
    }
  }

  mutating func compareRetry(_ retry: Retry, _ pace: LinkPace) {
    compare("the earliest try", retry.earliest(at: now), pace.soonest(now))
    compare("a server's wish", retry.notBefore, pace.wishedUntil)
  }

  private mutating func wish() -> Duration? {
    let wishes: [Duration?] = [
      nil, .seconds(-1), .zero, .milliseconds(500), .seconds(1), .seconds(3), .seconds(90),
    ]
    return one(wishes)
  }

  private mutating func trySchedule(_ schedule: Schedule) {
    let seed = chance.next()
    var (plain, dice) = (Chance(seed: seed), LinkDice(seed: seed))
    compare("the number of waits", schedule.attempts, LinkPace.tries(of: schedule))
    for index in 0..<5 {
      let (wish, limits) = (wish(), LinkPace.limits(schedule, after: index))
      let most = wish.map { $0 > .zero ? $0 : .zero } ?? .zero
      compare("the shortest wait", schedule.bounds(before: index)?.lowerBound, limits?.0)
      compare("the longest wait", schedule.bounds(before: index)?.upperBound, limits?.1)
      compare(
        "the shortest wait after a wish", schedule.shortestWait(before: index, atLeast: wish),
        limits.map { $0.0 < most ? most : $0.0 })
      let wait = LinkPace.wait(schedule, after: index, &dice)
      compare(
        "a wait after a wish", schedule.wait(before: index, atLeast: wish, chance: &plain),
        wait.map { $0 < most ? most : $0 })
    }
  }

  // The gate.

  private mutating func tryGate(_ policy: LinkPolicy, _ maker: inout LinkWalk) {
    var (gate, twin) = (Gate(policy.gate), LinkTwin(policy, seed: 0))
    for _ in 0..<16 {
      pass()
      switch number(0...5) {
      case 0: (gate.wish, twin.wish) = Self.both(one([.none, .standbyOnly, .live, .live, .live]))
      case 1: (gate.reachability, twin.network) = Self.both(one(LinkWalk.ways))
      case 2: (gate.lifecycle, twin.phase) = Self.both(one([.foreground, .background]))
      case 3:
        (gate.leavesAt, twin.leavesAt) = Self.both(happens(2) ? now : nil)
      case _: tryCredentials(&gate.credentials, &twin.keys, &maker)
      }
      compareGate(gate, twin)
    }
  }

  mutating func compareGate(_ gate: Gate, _ twin: LinkTwin) {
    compare("what is in the way", gate.obstacle, twin.obstacle)
    compare(
      "whether a gate is open", gate.isOpen,
      twin.wish == .live && twin.obstacle == nil && twin.keys.areThere)
  }

  private static func both<Value>(_ value: Value) -> (Value, Value) { (value, value) }

  private mutating func tryCredentials(
    _ plain: inout Credentials, _ keys: inout LinkKeys, _ maker: inout LinkWalk
  ) {
    switch number(0...7) {
    case 0: compare("whether to refresh", plain.refresh(at: now), keys.ask(at: now))
    case 1, 2:
      let life = maker.life()
      plain.renewed(expiresIn: life, at: now)
      keys.came(for: life, at: now)
    case 3:
      plain.refreshFailed(at: now)
      keys.failed(at: now)
    case 4:
      plain.refreshRejected()
      keys.endRefresh()
    case 5:
      plain.noteRefusedByREST()
      keys.refused = keys.generation
    case 6:
      plain.noteAccepted()
      keys.refused = nil
    case _:
      plain.forget()
      keys.vanish()
    }
    compareKeys(plain, keys)
  }

  mutating func compareKeys(_ plain: Credentials, _ keys: LinkKeys) {
    compare("when credentials are due", plain.deadline, keys.deadline)
    compare("whether credentials are there", plain.state, keys.areThere ? .available : .missing)
    compare("whether a refresh runs", plain.isRefreshing, keys.runsUntil != nil)
    compare("how often credentials came", plain.generation, keys.generation)
    compare("whether credentials are unproven", plain.isUnproven, keys.refused != nil)
    compare("whether they were renewed in vain", plain.isRenewedInVain, keys.isVain)
    compare("whether they are refused", plain.isRefused, keys.refused == keys.generation)
  }

  // Failures.

  private mutating func tryFailure(_ failure: LinkFailure) {
    compare("the row of \(failure)", failure.failureClass, LinkFaults.row(failure))
    compare(
      "whether \(failure) is news", failure.meansServerUnreachable, LinkFaults.isOutage(failure))
    compare("the wish of \(failure)", failure.serverWish, LinkFaults.wish(failure))
    let (one, two) = (one(FailureClass.allCases), one(FailureClass.allCases))
    compare(
      "whether \(one) comes before \(two)", one < two,
      Array(one.rawValue.utf8).lexicographicallyPrecedes(Array(two.rawValue.utf8)))
  }
}
