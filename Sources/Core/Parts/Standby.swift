/// What stays armed when the link is not tried: polls and probes, or a queued connect.
struct Standby: Sendable, Hashable {
  private let policy: LinkPolicy
  /// Polls keep inside the same windows as tries, whatever hurries them.
  var polls: Windows
  var state = State.off
  /// When a queued connect was armed last; `nil` once the device took it away.
  private(set) var armedAt: Instant?
  /// Whether the last link ended before the stability time was over.
  private var wasShort = false
  /// Whether this side closed the last link, because nothing was left to do on it.
  private var isDone = false
  /// Counts polls, so that a late answer is told from the present one.
  var pollID: UInt64 = 0

  enum State: Sendable, Hashable {
    case off
    case polling(Polling)
    case queued(AttemptID)
    case rearming(at: Instant)
  }

  struct Polling: Sendable, Hashable {
    /// When the next poll is due, or when the one that runs counts as unanswered.
    var nextPoll: Instant
    var isAsking = false
    var nextProbe: Instant
    /// When the last probe began: news of the server makes none sooner than an interval after it.
    var lastProbe: Instant?
    var server: Server
    /// The server works and does not offer the link: only the slow probe may try.
    var isSlow = false
    /// What the link failed with last; `nil` if it was not tried.
    var failure: LinkFailure?
    /// The wait after the first poll is drawn from a whole interval.
    var isSpreading: Bool
    /// Probes that failed although polls worked.
    var setbacks = 0
  }

  /// What is known of the server beside the link.
  enum Server: Sendable, Hashable {
    case unknown
    /// It could not be reached, or not serve: its next answer is a reason to probe.
    case away
    /// The last poll was answered.
    case works
  }

  init(_ policy: LinkPolicy) {
    self.policy = policy
    polls = Windows(policy.retry.windows)
  }

  var isArmed: Bool { state != .off }

  var isPolling: Bool {
    if case .polling = state { return true }
    return false
  }

  /// What the link failed with last, while polls take its place.
  var failure: LinkFailure? {
    guard case .polling(let polling) = state else { return nil }
    return polling.failure
  }

  /// Whether triggers must leave the link alone because the server does not offer it.
  var forbidsTriggers: Bool {
    guard case .polling(let polling) = state else { return false }
    return polling.isSlow
  }

  /// Arms a poll, or keeps the one that is armed and takes over the news.
  ///
  /// - Parameters:
  ///   - failure: what it follows: a server that failed for one may have failed for all, so the
  ///     first poll is spread; without one it comes at once.
  ///   - slow: the server refused as one that does not offer the link; believed while polls work.
  mutating func armPoll(
    after failure: LinkFailure?, slow: Bool, at now: Instant, chance: inout Chance
  ) {
    guard case .poll(let poll) = policy.standby else { return }
    guard case .polling(var polling) = state else {
      let first = failure.map { firstWait(after: $0, poll, &chance) } ?? .zero
      let isAway = slow || failure?.meansServerUnreachable ?? false
      state = .polling(
        Polling(
          nextPoll: polls.earliest(at: now.advanced(by: first)),
          nextProbe: now.advanced(by: poll.spread(poll.probe, &chance)),
          server: isAway ? .away : .unknown, failure: failure, isSpreading: failure != nil))
      return
    }
    guard let failure else { return }
    polling.failure = failure
    polling.isSlow = slow && polling.server == .works
    if polling.server == .unknown, slow || failure.meansServerUnreachable {
      polling.server = .away
    }
    let wait = probeWait(after: failure, &polling, poll, &chance)
    polling.nextProbe = now.advanced(by: obeying(failure, wait, poll, &chance))
    state = .polling(polling)
  }

  /// Until the next probe, if no poll is a reason for one before.
  ///
  /// While polls work and the link does not, each wait is twice as long as the one before. It is
  /// drawn widely, up to twice as long, since others met the same.
  private func probeWait(
    after failure: LinkFailure, _ polling: inout Polling, _ poll: PollPolicy,
    _ chance: inout Chance
  ) -> Duration {
    if polling.isSlow { return poll.spread(poll.slowProbe, &chance) }
    let wait = poll.interval * (1 << polling.setbacks)
    guard polling.server == .works, failure.meansServerUnreachable, wait * 2 <= poll.probe else {
      return poll.spread(poll.probe, &chance)
    }
    polling.setbacks += 1
    return wait + chance.duration(below: wait)
  }

  /// At least the server's wish, and spread beyond it: at its end all would come at once.
  private func obeying(
    _ failure: LinkFailure?, _ wait: Duration, _ poll: PollPolicy, _ chance: inout Chance
  ) -> Duration {
    guard let wish = policy.retry.obeyed(failure?.serverWish), wish > .zero else { return wait }
    return max(wait, wish + chance.duration(below: spread(poll)))
  }

  /// Until the first poll. A server that could not be reached is left alone for a fifth of the
  /// window: it may just restart, and a poll that fails makes the next one wait much longer.
  private func firstWait(
    after failure: LinkFailure, _ poll: PollPolicy, _ chance: inout Chance
  ) -> Duration {
    let window = spread(poll)
    let least = failure.meansServerUnreachable ? window / 5 : .zero
    return least + chance.duration(below: window - least)
  }

  private func spread(_ poll: PollPolicy) -> Duration {
    min(policy.retry.serverSpread, poll.interval)
  }

  /// The link is up, and not proven yet: polls wait for what becomes of it.
  mutating func pause() {
    guard case .polling(var polling) = state else {
      disarm()
      return
    }
    polling.isSlow = false
    state = .polling(polling)
  }

  /// A queued connect is armed.
  ///
  /// - Returns: How long the system leaves the peer alone before it connects.
  mutating func armQueued(_ attempt: AttemptID, at now: Instant) -> Duration {
    state = .queued(attempt)
    armedAt = now
    defer { isDone = false }
    guard isDone, case .queuedConnect(let queue) = policy.standby else { return .zero }
    return queue.rest
  }

  /// This side has closed a link on which nothing was left to do.
  mutating func noteDone() { isDone = true }

  /// The queued connect broke; it is armed again later.
  mutating func rearmLater(at now: Instant, in lifecycle: Lifecycle) {
    guard case .queuedConnect(let queue) = policy.standby else { return }
    state = .rearming(at: queue.next(after: armedAt, brokeAt: now, in: lifecycle))
  }

  /// Waits no longer to arm the queued connect: the app may be suspended before.
  mutating func armBeforeSuspension() {
    if case .rearming = state { forget() }
  }

  /// Waits before the queued connect is armed again, if what it brought ended fast; returns whether
  /// it waits.
  mutating func waitsToArm(at now: Instant, in lifecycle: Lifecycle) -> Bool {
    guard case .queuedConnect(let queue) = policy.standby, let armedAt,
      armedAt.duration(to: now) < queue.fastFailure
    else { return false }
    state = .rearming(at: queue.next(after: armedAt, brokeAt: now, in: lifecycle))
    return true
  }

  /// A link that was ready has ended. A short one is no fast failure, unless the last one was short
  /// too.
  mutating func noteLink(stood time: Duration) {
    let isShort = time < policy.retry.stability.after
    if isShort, !wasShort { armedAt = nil }
    wasShort = isShort
  }

  mutating func disarm() { state = .off }

  /// Disarms because the device or the user ended it: arming it again is no repetition.
  mutating func forget() {
    state = .off
    armedAt = nil
    isDone = false
  }

  /// Makes the next poll due as soon as the windows allow, unless one runs.
  mutating func hurry(at now: Instant) {
    guard case .polling(var polling) = state, !polling.isAsking else { return }
    polling.nextPoll = min(polling.nextPoll, polls.earliest(at: now))
    state = .polling(polling)
  }

  /// Takes a due poll; `nil` when none is due. One that was never answered is given up for it.
  mutating func takePoll(at now: Instant) -> UInt64? {
    guard case .polling(var polling) = state, polling.nextPoll <= now,
      case .poll(let poll) = policy.standby
    else { return nil }
    pollID += 1
    if polling.isAsking { polling.server = .away }
    polls.note(at: now)
    polling.nextPoll = polls.earliest(at: now.advanced(by: poll.interval))
    polling.isAsking = true
    state = .polling(polling)
    return pollID
  }

  /// A poll was answered. True when the server is back and the link should be probed now; after a
  /// probe that was made lately, the next one is brought forward instead.
  mutating func polled(
    _ id: UInt64, _ failure: LinkFailure?, at now: Instant, chance: inout Chance
  ) -> Bool {
    guard id == pollID, case .poll(let poll) = policy.standby,
      case .polling(var polling) = state, polling.isAsking
    else { return false }
    polling.isAsking = false
    let wait =
      polling.isSpreading
      ? spread(poll) + chance.duration(below: poll.interval - spread(poll))
      : poll.spread(poll.interval, &chance)
    polling.isSpreading = false
    polling.nextPoll = polls.earliest(
      at: now.advanced(by: obeying(failure, wait, poll, &chance)))
    var isTime = false
    if failure == nil, polling.server == .away {
      polling.setbacks = 0
      let earliest = polling.lastProbe?.advanced(by: poll.spread(poll.interval, &chance)) ?? now
      isTime = earliest <= now
      polling.nextProbe = min(polling.nextProbe, earliest)
    }
    if let failure {
      if failure.meansServerUnreachable {
        polling.server = .away
        polling.isSlow = false
      }
    } else {
      polling.server = .works
    }
    state = .polling(polling)
    return isTime
  }

  /// Moves the next probe on; called when one starts.
  mutating func noteProbe(at now: Instant, chance: inout Chance) {
    guard case .poll(let poll) = policy.standby, case .polling(var polling) = state else { return }
    let wait = polling.isSlow ? poll.slowProbe : poll.probe
    polling.nextProbe = now.advanced(by: poll.spread(wait, &chance))
    polling.lastProbe = now
    state = .polling(polling)
  }
}

extension Standby: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    switch state {
    case .off: break
    case .polling(let polling):
      check.require(policy.standby.polls, "standby: it polls only where the policy does")
      check.require(
        !polling.isAsking || pollID > 0, "standby: the poll that is awaited was numbered")
      check.require(
        polling.nextProbe >= polling.lastProbe ?? polling.nextProbe,
        "standby: the next probe is due after the last one")
    case .queued, .rearming:
      check.require(policy.standby.isQueue, "standby: it queues only where the policy does")
    }
    polls.check(&check)
  }
}

extension StandbyPolicy {
  fileprivate var polls: Bool {
    switch self {
    case .poll: true
    case .none, .queuedConnect: false
    }
  }

  /// Whether the system keeps a queued connect.
  var isQueue: Bool {
    switch self {
    case .queuedConnect: true
    case .none, .poll: false
    }
  }
}

extension PollPolicy {
  /// `wait`, spread by the share that the policy states.
  fileprivate func spread(_ wait: Duration, _ chance: inout Chance) -> Duration {
    wait * (1 - jitter + 2 * jitter * chance.unit())
  }
}
