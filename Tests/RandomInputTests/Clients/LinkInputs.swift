@testable import LinkCore

/// Random inputs for a link of any policy.
struct LinkInputs: InputGenerator {
  var run: RandomRun<HeldLink>
  /// What was asked for last.
  private var ping: UInt64 = 0
  private var poll: UInt64 = 0
  // What the properties compare with.
  private(set) var opens: [Instant] = []
  private(set) var polls: [Instant] = []
  private(set) var ended: Set<AttemptID> = []
  /// Lengths of the policy that mean something.
  private let waits: [Duration]

  private static let ways: [Reachability] = [
    .reachable(path: PathID("wifi")), .reachable(path: PathID("cell"), traits: .cellular),
    .reachable(path: PathID("wifi"), traits: .expensive), .unreachable, .captivePortal,
  ]

  init(seed: UInt64) {
    var policies = RandomPolicies(chance: Chance(seed: seed))
    let policy = policies.next()
    run = RandomRun(
      HeldLink(policy: policy, seed: policies.chance.next()), seed: seed, chance: policies.chance)
    waits =
      [
        .seconds(1), policy.retry.stability.after, policy.liveness.pongTimeout,
        policy.gate.refreshTimeout, policy.establish.openTimeout, .milliseconds(100),
        .milliseconds(800), .seconds(7), .seconds(350),
      ] + policy.standby.waits
  }

  mutating func begin() {
    if !oneIn(4) { give(.reachability(Self.ways[0])) }
    if !oneIn(4) { give(.credentials(.available(expiresIn: life()))) }
    if !oneIn(4) { give(.want(.live)) }
  }

  mutating func act() {
    passTime(waits)
    switch number(0...19) {
    case 0...9: goOn()
    case 10...12: useConnection()
    case 13, 14: fail()
    case 15, 16: changeDevice()
    case 17: answerRequest()
    case 18: changeCredentials()
    case _: awaitDue()
    }
  }

  mutating func note(_ step: MachineStep<HeldLink>) {
    ended.formUnion(step.endedByInput)
    for effect in step.effects {
      switch effect {
      case .ping(_, let id): ping = id
      case .poll(let id):
        poll = id
        polls.append(now)
      case .open: opens.append(now)
      case .close(let attempt, _), .disarm(let attempt): ended.insert(attempt)
      case .prepare, .refreshCredentials, .arm, .status: continue
      }
    }
  }

  static func request(in effect: HeldLink.Effect) -> String? {
    switch effect {
    case .prepare, .open, .arm, .poll, .ping: "\(effect)"
    case .close, .refreshCredentials, .disarm, .status: nil
    }
  }
}

// Single inputs.
extension LinkInputs {
  private var attempt: AttemptID { machine.currentAttempt ?? machine.queuedAttempt ?? AttemptID(1) }

  /// The attempt that counts, or another one.
  private mutating func anyAttempt() -> AttemptID {
    if let queued = machine.queuedAttempt, oneIn(3) { return queued }
    if oneIn(12) { return AttemptID(UInt64(number(0...Int(machine.lastAttempt) + 1))) }
    return attempt
  }

  private mutating func life() -> Duration? {
    let lives: [Duration?] = [
      nil, nil, .seconds(-1), .zero, .nanoseconds(1), .seconds(1), .seconds(3), .seconds(4),
      .seconds(20), .seconds(900),
    ]
    return one(lives)
  }

  /// Gives what is expected where the link is.
  private mutating func goOn() {
    switch machine.state {
    case .idle, .failed:
      if oneIn(4) { return oneIn(2) ? answerRequest() : changeCredentials() }
      give(one([.trigger(.userRefresh), .want(.live), .want(.live), .want(machine.gate.wish)]))
    case .held(let held):
      give(
        held.obstacle == .background
          ? .lifecycle(.foreground) : .reachability(one(Self.ways)))
    case .settling, .waiting: give(oneIn(5) ? .trigger(trigger()) : nil)
    case .refreshing:
      give(.credentials(oneIn(3) ? .refreshFailed : .available(expiresIn: life())))
    case .preparing: give(.prepared(anyAttempt()))
    case .opening: give(.opened(anyAttempt()))
    case .establishing: give(oneIn(4) ? .opened(anyAttempt()) : .established(anyAttempt()))
    case .ready: useConnection()
    case .resting:
      if let queued = machine.queuedAttempt { give(.opened(queued)) } else { answerRequest() }
    }
  }

  private mutating func trigger() -> HeldLink.Trigger { one(HeldLink.Trigger.allCases) }

  /// Something comes on a connection.
  private mutating func useConnection() {
    switch number(0...9) {
    case 0, 1: give(.heard(anyAttempt()))
    case 2: give(.validData(anyAttempt()))
    case 3...6:
      let late: [Duration] = [.zero, .milliseconds(200), .milliseconds(800), .seconds(1)]
      let end = now.advanced(by: one(late))
      if let due, due > end { skip(to: end) }
      give(.pong(anyAttempt(), oneIn(9) ? one([ping + 1, ping &- 1]) : ping))
    case 7:
      give(.draining(anyAttempt(), within: one([.seconds(-1), .zero, .seconds(1), .seconds(90)])))
    case 8: give(.trigger(trigger()))
    case _: give(.established(anyAttempt()))
    }
  }

  /// A try fails, or a connection is lost.
  private mutating func fail() {
    let failure = linkFailure()
    give(oneIn(3) ? .reject(anyAttempt(), failure) : .lost(anyAttempt(), failure))
  }

  /// The user or the device changes something.
  private mutating func changeDevice() {
    switch number(0...9) {
    case 0...2: give(.reachability(one(Self.ways)))
    case 3: give(.lifecycle(.background))
    case 4: give(.lifecycle(.foreground))
    case 5: give(machine.gate.leavesAt != nil || oneIn(4) ? .flushed : .lifecycle(.background))
    case 6: give(.trigger(trigger()))
    case 7: give(.want(oneIn(4) ? .none : .standbyOnly))
    case 8: give(.want(.live))
    case _:
      // The number of the next attempt, or of one that began since.
      let number = oneIn(3) ? AttemptID(machine.lastAttempt) : machine.nextAttempt
      give(.found(number, established: oneIn(2)))
    }
  }

  /// A poll or a request is answered.
  private mutating func answerRequest() {
    let failure = oneIn(2) ? linkFailure() : nil
    if oneIn(3) { return give(.requested(failure)) }
    give(.polled(oneIn(9) ? poll - min(poll, 1) : poll, failure))
  }

  private mutating func changeCredentials() {
    switch number(0...5) {
    case 0, 1: give(.credentials(.available(expiresIn: life())))
    case 2: give(.credentials(.refreshFailed))
    case 3: give(.credentials(.rejected))
    case 4: give(.credentials(.cleared))
    case _: give(.requested(.http(status: 401, retryAfter: nil, detail: "i")))
    }
  }
}

extension StandbyPolicy {
  fileprivate var waits: [Duration] {
    switch self {
    case .none: []
    case .poll(let poll): [poll.interval, poll.probe]
    case .queuedConnect(let queue): [queue.fastFailure, queue.rearm, queue.floor]
    }
  }
}
