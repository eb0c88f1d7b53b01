@testable import HoldfastCore

/// Random inputs for a link with a random policy.
struct LinkInputs: LinkedGenerator {
  var run: RandomRun<HeldLink>
  /// The identifier of the most recent ping. `poll` is the identifier of the most recent poll.
  private var ping: UInt64 = 0
  private var poll: UInt64 = 0
  /// The times at which connections were opened, for use in a property.
  private var opens: [Instant] = []
  /// Waits that are significant for the policy, and some others.
  private let waits: [Duration]

  init(seed: UInt64) {
    var policies = RandomPolicies(generator: RandomSource(seed: seed))
    let policy = policies.next()
    run = RandomRun(
      HeldLink(policy: policy, seed: policies.generator.next()), seed: seed,
      generator: policies.generator)
    waits = [
      .milliseconds(100), .milliseconds(800), .seconds(1), .seconds(7), .seconds(350),
      policy.retry.stability.after, policy.liveness.pongTimeout, policy.gate.refreshTimeout,
      policy.establish.openTimeout,
    ]
  }

  mutating func begin() {
    if !oneIn(4) { give(.reachability(.reachable(path: PathID("wifi")))) }
    if !oneIn(4) { give(.credentials(.available(expiresIn: nil))) }
    if !oneIn(4) { give(.setIntent(.live)) }
  }

  mutating func act() {
    passTime(waits)
    switch number(0...19) {
    case 0...9: goOn()
    case 10...12: useConnection()
    case 13: give(.reject(likelyAttempt(), linkFailure()))
    case 14: disturbLink(ping: ping)
    case 15: changeDevice()
    case 16: changeIntent()
    case 17: answerRequest()
    case 18: give(.credentials(credentialsEvent()))
    case _: awaitDue()
    }
  }

  mutating func note(_ step: MachineStep<HeldLink>) {
    for effect in step.effects {
      if case .ping(_, let id) = effect { ping = id }
      if case .poll(let id) = effect { poll = id }
      if case .open = effect { opens.append(now) }
    }
  }

  static func request(in effect: HeldLink.Effect) -> String? {
    switch effect {
    case .close(let attempt, _): "close \(attempt)"
    case .prepare, .open, .arm, .poll, .ping, .disarm: "\(effect)"
    case .refreshCredentials, .status: nil
    }
  }

  static func attempt(of effect: HeldLink.Effect) -> AttemptID? {
    switch effect {
    case .prepare(let attempt), .open(let attempt), .close(let attempt, _),
      .ping(let attempt, _), .arm(let attempt, _), .disarm(let attempt):
      attempt
    case .refreshCredentials, .poll, .status: nil
    }
  }

  static func input(_ event: LinkEvent, at wall: Timestamp) -> HeldLink.Input {
    HeldLink.Input(event)
  }

  // The exploration in CoreTests checks the other promises for all states of each preset: an event
  // or a deadline is outstanding, polls respect the rate limits, late events have no effect, and a
  // terminal response ends the tries.
  static let properties: [MachineProperty<LinkInputs>] = [
    .usesPresentAttempt,
    .reportsChanges(of: { $0.status }) { effect -> LinkStatus? in
      if case .status(let status) = effect { status } else { nil }
    },
    MachineProperty("connections stay inside every window of the policy") { generator, step in
      let new = step.effects.count { if case .open = $0 { true } else { false } }
      return step.after.policy.retry.windows.allSatisfy { window in
        let earlier = generator.opens.count { $0.duration(to: step.now) < window.per }
        return new == 0 || earlier + new <= window.attempts
      }
    },
  ]
}

// MARK: Inputs
extension LinkInputs {
  /// Returns the current or the queued attempt, or rarely another one.
  private mutating func likelyAttempt() -> AttemptID {
    if let queued = machine.queuedAttempt, oneIn(3) { return queued }
    if oneIn(12) { return AttemptID(UInt64(number(0...Int(machine.lastAttempt) + 1))) }
    return attempt
  }

  /// Passes an input that is expected in the current state.
  private mutating func goOn() {
    switch machine.state {
    case .idle, .failed:
      if oneIn(4) { return oneIn(2) ? answerRequest() : give(.credentials(credentialsEvent())) }
      give(
        one([
          .trigger(.userRefresh), .setIntent(.live), .setIntent(.live),
          .setIntent(machine.gate.intent),
        ]))
    case .held(let held):
      give(
        held.blockedReason == .background
          ? .lifecycle(.foreground) : .reachability(.reachable(path: PathID("wifi"))))
    case .debouncing, .waiting: give(oneIn(5) ? trigger() : nil)
    case .refreshing: give(.credentials(credentialsEvent()))
    case .preparing: give(.prepared(likelyAttempt()))
    case .opening: give(.opened(likelyAttempt()))
    case .establishing: give(oneIn(4) ? .opened(likelyAttempt()) : .established(likelyAttempt()))
    case .ready: useConnection()
    case .resting:
      if let queued = machine.queuedAttempt { give(.opened(queued)) } else { answerRequest() }
    }
  }

  private mutating func trigger() -> HeldLink.Input {
    .trigger(one(HeldLink.Trigger.allCases))
  }

  /// Passes an input from a connection.
  private mutating func useConnection() {
    switch number(0...9) {
    case 0, 1: give(.heard(likelyAttempt()))
    case 2: give(.validData(likelyAttempt()))
    case 3...6:
      let late: [Duration] = [.zero, .milliseconds(200), .milliseconds(800), .seconds(1)]
      let end = now.advanced(by: one(late))
      if let due, due > end { skip(to: end) }
      give(.pong(likelyAttempt(), oneIn(9) ? ping &- 1 : ping))
    case 7: give(.draining(likelyAttempt(), within: .seconds(one([-1, 0, 1, 90]))))
    case 8: give(trigger())
    case _: give(.established(likelyAttempt()))
    }
  }

  /// Changes the connection intent, or passes an input from the system.
  private mutating func changeIntent() {
    switch number(0...5) {
    case 0: give(.setIntent(oneIn(4) ? .none : .standbyOnly))
    case 1: give(.setIntent(.live))
    case 2: give(trigger())
    case 3, 4: give(machine.gate.leavesAt != nil || oneIn(4) ? .flushed : .lifecycle(.background))
    case _:
      // This is the number of the next attempt, or of the latest attempt, which may have begun in
      // the meantime.
      let number = oneIn(3) ? AttemptID(machine.lastAttempt) : machine.nextAttempt
      give(.found(number, established: oneIn(2)))
    }
  }

  /// Answers a poll or another request.
  private mutating func answerRequest() {
    let failure = oneIn(2) ? linkFailure() : nil
    if oneIn(3) { return give(.requested(failure)) }
    give(.polled(oneIn(9) ? poll - min(poll, 1) : poll, failure))
  }
}
