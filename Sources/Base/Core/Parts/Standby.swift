/// The standby of a link that makes no attempts: polls and probes, or a queued connect.
struct Standby: Sendable, Hashable {
  private let policy: LinkPolicy
  /// The rate limiter of polls. It has the limits of attempts, and also applies to polls that are
  /// brought forward.
  var polls: Windows
  var state = State.off
  /// The instant at which a queued connect was last armed; `nil` once the device has dropped it.
  private(set) var armedAt: Instant?
  /// Whether the last link ended before it was stable.
  private var wasShort = false
  /// Whether this side closed the last link because no work was left.
  private var isDone = false
  /// The number of the current poll, so that results of earlier polls are detected.
  var pollID: UInt64 = 0

  enum State: Sendable, Hashable {
    case off
    case polling(Polling)
    case queued(AttemptID)
    case rearming(at: Instant)
  }

  struct Polling: Sendable, Hashable {
    /// The instant at which the next poll is due, or at which the current one counts as unanswered.
    var nextPoll: Instant
    var isAsking = false
    var nextProbe: Instant
    /// The instant at which the last probe began. If the server recovers, the next probe begins at
    /// least one interval after it.
    var lastProbe: Instant?
    var server: Server
    /// Whether the server works but does not offer the link, so that only the slow probe is made.
    var isSlow = false
    /// The last failure of the link; `nil` if no attempt was made.
    var failure: LinkFailure?
    /// Whether the wait after the first poll is a random part of the whole interval.
    var isSpreading: Bool
    /// The number of probes that failed although polls succeeded.
    var setbacks = 0
  }

  /// The state of the server as shown by polls and failures.
  enum Server: Sendable, Hashable {
    case unknown
    /// The server could not be reached or could not serve. Its next response is a reason to probe.
    case away
    /// The server answered the last poll.
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

  /// The last failure of the link while polls replace it.
  var failure: LinkFailure? {
    guard case .polling(let polling) = state else { return nil }
    return polling.failure
  }

  /// Whether triggers must not start an attempt because the server does not offer the link.
  var forbidsTriggers: Bool {
    guard case .polling(let polling) = state else { return false }
    return polling.isSlow
  }

  /// Arms polls, or updates the armed polls with a new failure.
  ///
  /// - Parameters:
  ///   - failure: The failure of the link, if any. The server may have failed for all clients, so
  ///     the first poll has jitter. Without a failure, the first poll is due at once.
  ///   - slow: Whether the server does not offer the link. This applies while polls succeed.
  mutating func armPoll(
    after failure: LinkFailure?, slow: Bool, at now: Instant, generator: inout RandomSource
  ) {
    guard case .poll(let poll) = policy.standby else { return }
    guard case .polling(var polling) = state else {
      let first = failure.map { firstWait(after: $0, poll, &generator) } ?? .zero
      let isAway = slow || failure?.meansServerUnreachable ?? false
      state = .polling(
        Polling(
          nextPoll: polls.earliest(at: now.advanced(by: first)),
          nextProbe: now.advanced(by: poll.jittered(poll.probe, &generator)),
          server: isAway ? .away : .unknown, failure: failure, isSpreading: failure != nil))
      return
    }
    guard let failure else { return }
    polling.failure = failure
    polling.isSlow = slow && polling.server == .works
    if polling.server == .unknown, slow || failure.meansServerUnreachable {
      polling.server = .away
    }
    let wait = probeWait(after: failure, &polling, poll, &generator)
    polling.nextProbe = now.advanced(by: honoringRetryAfter(failure, wait, poll, &generator))
    state = .polling(polling)
  }

  /// Returns the wait until the next probe. A poll may bring the probe forward.
  ///
  /// While polls succeed but the link fails, each wait is twice as long as the previous one. Jitter
  /// of up to the same length is added, since other clients have the same problem.
  private func probeWait(
    after failure: LinkFailure, _ polling: inout Polling, _ poll: PollPolicy,
    _ generator: inout RandomSource
  ) -> Duration {
    if polling.isSlow { return poll.jittered(poll.slowProbe, &generator) }
    let waits = Schedule.doubling(from: poll.interval, to: poll.probe)
    let wait = waits.wait(after: polling.setbacks + 1)
    guard polling.server == .works, failure.meansServerUnreachable, wait * 2 <= poll.probe else {
      return poll.jittered(poll.probe, &generator)
    }
    polling.setbacks += 1
    return wait + generator.duration(below: wait)
  }

  /// Returns a wait that is at least the retry-after, plus jitter, so that clients do not all
  /// return at the same time.
  private func honoringRetryAfter(
    _ failure: LinkFailure?, _ wait: Duration, _ poll: PollPolicy, _ generator: inout RandomSource
  ) -> Duration {
    guard let retryAfter = policy.retry.honored(failure?.retryAfter), retryAfter > .zero else {
      return wait
    }
    return max(wait, retryAfter + generator.duration(below: jitterWindow(poll)))
  }

  /// Returns the wait until the first poll.
  ///
  /// A server that could not be reached is not polled for the first fifth of the window. It may be
  /// restarting, and a failed poll makes the next wait much longer.
  private func firstWait(
    after failure: LinkFailure, _ poll: PollPolicy, _ generator: inout RandomSource
  ) -> Duration {
    let window = jitterWindow(poll)
    let least = failure.meansServerUnreachable ? window / 5 : .zero
    return least + generator.duration(below: window - least)
  }

  private func jitterWindow(_ poll: PollPolicy) -> Duration {
    min(policy.retry.serverJitter, poll.interval)
  }

  /// Pauses polls while a link is open but not stable yet. Disarms any other standby.
  mutating func pause() {
    guard case .polling(var polling) = state else {
      disarm()
      return
    }
    polling.isSlow = false
    state = .polling(polling)
  }

  /// Records that a queued connect is armed.
  ///
  /// - Returns: How long the system ignores the peer before it connects.
  mutating func armQueued(_ attempt: AttemptID, at now: Instant) -> Duration {
    state = .queued(attempt)
    armedAt = now
    defer { isDone = false }
    guard isDone, case .queuedConnect(let queue) = policy.standby else { return .zero }
    return queue.rest
  }

  /// Notes that this side closed a link with no work left.
  mutating func noteDone() { isDone = true }

  /// Schedules the rearming of a queued connect that failed.
  mutating func rearmLater(at now: Instant, in lifecycle: AppLifecycle) {
    guard case .queuedConnect(let queue) = policy.standby else { return }
    state = .rearming(at: queue.next(after: armedAt, brokeAt: now, in: lifecycle))
  }

  /// Cancels the wait for arming a queued connect, since the app may be suspended before the wait
  /// ends.
  mutating func armBeforeSuspension() {
    if case .rearming = state { forget() }
  }

  /// Delays arming the queued connect if its last link ended quickly. Returns whether it is
  /// delayed.
  mutating func waitsToArm(at now: Instant, in lifecycle: AppLifecycle) -> Bool {
    guard case .queuedConnect(let queue) = policy.standby, let armedAt,
      armedAt.duration(to: now) < queue.fastFailure
    else { return false }
    state = .rearming(at: queue.next(after: armedAt, brokeAt: now, in: lifecycle))
    return true
  }

  /// Notes the end of a link that was ready. A short link is a fast failure only if the previous
  /// one was short too.
  mutating func noteLink(stood time: Duration) {
    let isShort = time < policy.retry.stability.after
    if isShort, !wasShort { armedAt = nil }
    wasShort = isShort
  }

  mutating func disarm() { state = .off }

  /// Disarms the standby for the device or the user. Arming it again does not count as a fast
  /// failure.
  mutating func forget() {
    state = .off
    armedAt = nil
    isDone = false
  }

  /// Makes the next poll due as soon as the windows allow, unless a poll is running.
  mutating func pollNow(at now: Instant) {
    guard case .polling(var polling) = state, !polling.isAsking else { return }
    polling.nextPoll = min(polling.nextPoll, polls.earliest(at: now))
    state = .polling(polling)
  }

  /// Starts a due poll and returns its number. Returns `nil` if none is due. A current poll without
  /// a result counts as unanswered.
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

  /// Handles the result of a poll. Returns true if the server is back and the link should be probed
  /// now.
  ///
  /// If the last probe began only shortly before, the next probe is brought forward instead.
  mutating func polled(
    _ id: UInt64, _ failure: LinkFailure?, at now: Instant, generator: inout RandomSource
  ) -> Bool {
    guard id == pollID, case .poll(let poll) = policy.standby,
      case .polling(var polling) = state, polling.isAsking
    else { return false }
    polling.isAsking = false
    let wait =
      polling.isSpreading
      ? jitterWindow(poll) + generator.duration(below: poll.interval - jitterWindow(poll))
      : poll.jittered(poll.interval, &generator)
    polling.isSpreading = false
    polling.nextPoll = polls.earliest(
      at: now.advanced(by: honoringRetryAfter(failure, wait, poll, &generator)))
    var isTime = false
    if failure == nil, polling.server == .away {
      polling.setbacks = 0
      let earliest =
        polling.lastProbe?.advanced(by: poll.jittered(poll.interval, &generator)) ?? now
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

  /// Schedules the next probe. Called when a probe begins.
  mutating func noteProbe(at now: Instant, generator: inout RandomSource) {
    guard case .poll(let poll) = policy.standby, case .polling(var polling) = state else { return }
    let wait = polling.isSlow ? poll.slowProbe : poll.probe
    polling.nextProbe = now.advanced(by: poll.jittered(wait, &generator))
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

  /// Whether the standby is a queued connect of the system.
  var isQueue: Bool {
    switch self {
    case .queuedConnect: true
    case .none, .poll: false
    }
  }
}

extension PollPolicy {
  /// Returns `wait` with the policy's jitter.
  fileprivate func jittered(_ wait: Duration, _ generator: inout RandomSource) -> Duration {
    wait * (1 - jitter + 2 * jitter * generator.unit())
  }
}
