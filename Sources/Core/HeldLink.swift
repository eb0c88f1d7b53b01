/// A link that is kept alive by a policy.
///
/// It decides everything and does nothing: inputs say what happened, effects say what to do, and
/// `deadline` is the one instant to be woken at. While it is wanted something is always
/// outstanding (a deadline, an attempt, a poll, a queued connect), or its status says why not.
///
///             want                     gate open
///     idle ─────────▶ held ◀──────────────────────────── any wanted state
///      ▲               │ reachable, foreground    obstacle
///      │ end           ▼
///      │           settling ──▶ waiting ◀──────────────┐ schedule, windows, wish
///      │                           │                   │
///      │            refreshing ◀───┼── no credentials  │
///      │                 │         ▼                   │
///      │                 └───▶ preparing ──┐           │
///      │                           ▼       │ fails     │
///      │                        opening ───┼───────────┤
///      │                           ▼       │           │
///      │                     establishing ─┤           │
///      │                           ▼       │           │
///      ├──────────────────────── ready ────┘ lost      │
///      │                                               │
///      │    exhausted, refused         probe, back up  │
///      ├────────────────── resting ◀───────────────────┤
///      └─────────────────── failed ◀───────────────────┘ terminal answer
///
/// Every (state, input) pair is written in the `Link+*` files; pairs that change nothing are named
/// in the last arm of their switch.
public struct HeldLink: Machine, Hashable {
  /// The numbers that it goes by.
  public let policy: LinkPolicy
  var chance: Chance
  var state = State.idle(nil)
  var gate: Gate
  var retry: Retry
  var standby: Standby
  private(set) var lastAttempt: UInt64 = 0
  /// What the user was shown last.
  public private(set) var status = LinkStatus(phase: .disconnected)

  /// - Parameter seed: the start of its chance; the same seed and inputs make the same effects.
  public init(policy: LinkPolicy, seed: UInt64) {
    self.policy = policy
    chance = Chance(seed: seed)
    gate = Gate(policy.gate)
    retry = Retry(policy.retry)
    standby = Standby(policy)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    var rounds = 0
    while let due = deadline, due <= now {
      expire(&step)
      // Few waits can end together, and what follows each ends later: one that does not move on
      // would spin here for ever.
      rounds += 1
      precondition(rounds < 100, "a deadline comes again and again: \(state)")
    }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    Instant.earlier(
      Instant.earlier(gate.leavesAt, credentialsDeadline),
      Instant.earlier(stateDeadline, standbyDeadline))
  }

  /// Polls that fell due go out, and the status follows the state, after every step.
  private mutating func finish(_ step: inout Step) {
    keepQueue(&step)
    if runsStandby, let poll = standby.takePoll(at: step.now) {
      step.effects.append(.poll(poll))
    }
    let current = observed
    if current != status {
      status = current
      step.effects.append(.status(current))
    }
  }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []
  }

  mutating func newAttempt() -> AttemptID {
    lastAttempt += 1
    return AttemptID(lastAttempt)
  }

  mutating func note(found attempt: AttemptID) { lastAttempt = attempt.number }
}

extension HeldLink {
  private mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .want(let wish): want(wish, &step)
    case .reachability(let reachability): change(to: reachability, &step)
    case .lifecycle(.background): goToBackground(&step)
    case .lifecycle(.foreground): comeToForeground(&step)
    case .flushed: flushed(&step)
    case .credentials(let event): credentials(event, &step)
    case .requested(let failure): requested(failure, &step)
    case .trigger(let trigger): pull(trigger, &step)
    case .polled(let id, let failure): polled(id, failure, &step)
    case .prepared(let attempt): prepared(attempt, &step)
    case .opened(let attempt): opened(attempt, &step)
    case .found(let attempt, let isEstablished):
      found(attempt, established: isEstablished, &step)
    case .established(let attempt): established(attempt, &step)
    case .heard(let attempt): hear(attempt, &step) { $0.heard(at: $1) }
    case .pong(let attempt, let id): hear(attempt, &step) { $0.pong(id, at: $1) }
    case .validData(let attempt): validData(attempt, &step)
    case .draining(let attempt, let window): draining(attempt, within: window)
    case .lost(let attempt, let failure): lost(attempt, failure, closing: nil, &step)
    case .reject(let attempt, let failure): lost(attempt, failure, closing: .rejected, &step)
    }
  }

  /// Whether the link is wanted in any form.
  public var isWanted: Bool { gate.wish != .none }

  /// The attempt whose events count; `nil` when none is under way.
  public var currentAttempt: AttemptID? {
    switch state {
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.attempt
    case .ready(let ready): ready.attempt
    case .idle, .held, .settling, .waiting, .refreshing, .resting, .failed: nil
    }
  }

  /// The system's queued connect while one is armed; its events count as well.
  public var queuedAttempt: AttemptID? {
    if case .queued(let attempt) = standby.state { attempt } else { nil }
  }

  /// Credentials are kept fresh only while the link is wanted and a person looks.
  var credentialsDeadline: Instant? {
    switch state {
    case .idle, .failed: return nil
    case .held(let held) where held.obstacle == .background: return nil
    case .held, .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .ready,
      .resting:
      return gate.credentials.deadline
    }
  }

  var stateDeadline: Instant? {
    switch state {
    case .settling(let settling): settling.until
    case .waiting(let waiting): waiting.until
    case .preparing(let trying), .opening(let trying), .establishing(let trying): trying.until
    case .ready(let ready): min(ready.liveness.deadline, ready.stableAt ?? ready.liveness.deadline)
    case .idle, .held, .refreshing, .resting, .failed: nil
    }
  }

  /// Whether what standby has armed may act: it pauses while the gate is closed.
  var runsStandby: Bool {
    switch state {
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .resting: true
    case .idle, .held, .ready, .failed: false
    }
  }

  var standbyDeadline: Instant? {
    guard runsStandby else { return nil }
    switch standby.state {
    case .polling(let polling):
      // In background with only the standby left, a probe would come to nothing again and again.
      guard case .resting = state, gate.wish == .live, !isLeftForStandby else {
        return polling.nextPoll
      }
      return min(polling.nextProbe, polling.nextPoll)
    case .rearming(let at): return at
    case .off, .queued: return nil
    }
  }
}
