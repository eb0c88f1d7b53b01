/// What stays armed when the link is not tried: polls and probes, or a queued connect.
struct Standby: Sendable, Hashable {
  private let policy: StandbyPolicy
  /// Polls keep inside the same windows as tries, whatever hurries them.
  private var polls: Windows
  private(set) var state = State.off
  /// Counts polls, so that a late answer is told from the present one.
  private(set) var pollID: UInt64 = 0

  enum State: Sendable, Hashable {
    case off
    case polling(Polling)
    case queued(AttemptID)
    case rearming(at: Instant)
  }

  struct Polling: Sendable, Hashable {
    /// When the next poll is due, or when the one that runs counts as unanswered.
    var nextPoll: Instant
    var isAsking: Bool
    var nextProbe: Instant
    /// The server could not be reached: its next answer is a reason to probe.
    var awaitsRecovery: Bool
    /// The server does not offer the link: only the slow probe may try.
    var isSlow: Bool
  }

  init(_ policy: StandbyPolicy, windows: [AttemptWindow]) {
    self.policy = policy
    polls = Windows(windows)
  }

  var isArmed: Bool { state != .off }

  var isPolling: Bool {
    if case .polling = state { return true }
    return false
  }

  /// Whether triggers must leave the link alone because the server does not offer it.
  var forbidsTriggers: Bool {
    guard case .polling(let polling) = state else { return false }
    return polling.isSlow
  }

  /// Arms a poll, or keeps the one that is armed and takes over the news.
  ///
  /// - Parameter spread: the first poll comes within this time: a server that failed for one may
  ///   have failed for all.
  mutating func armPoll(
    slow: Bool, awaitsRecovery: Bool, within spread: Duration, at now: Instant,
    chance: inout Chance
  ) {
    guard case .poll(let policy) = policy else { return }
    let wait = slow ? policy.slowProbe : policy.probe
    let probe = now.advanced(by: Self.spread(wait, policy.jitter, &chance))
    if case .polling(var polling) = state {
      polling.nextProbe = probe
      polling.isSlow = slow
      polling.awaitsRecovery = awaitsRecovery
      state = .polling(polling)
    } else {
      let first = now.advanced(by: chance.duration(below: min(spread, policy.interval)))
      state = .polling(
        Polling(
          nextPoll: polls.earliest(at: first), isAsking: false, nextProbe: probe,
          awaitsRecovery: awaitsRecovery,
          isSlow: slow))
    }
  }

  mutating func armQueued(_ attempt: AttemptID) { state = .queued(attempt) }

  /// The queued connect broke; it is armed again a little later.
  mutating func rearmLater(at now: Instant) {
    guard case .queuedConnect(let rearm) = policy else { return }
    state = .rearming(at: now.advanced(by: rearm))
  }

  mutating func disarm() { state = .off }

  /// Makes the next poll due as soon as the windows allow, unless one runs.
  mutating func hurry(at now: Instant) {
    guard case .polling(var polling) = state, !polling.isAsking else { return }
    polling.nextPoll = min(polling.nextPoll, polls.earliest(at: now))
    state = .polling(polling)
  }

  /// Takes a due poll; `nil` when none is due. One that was never answered is given up for it.
  mutating func takePoll(at now: Instant) -> UInt64? {
    guard case .poll(let policy) = policy, case .polling(var polling) = state,
      polling.nextPoll <= now
    else { return nil }
    pollID += 1
    polling.awaitsRecovery = polling.awaitsRecovery || polling.isAsking
    polls.note(at: now)
    polling.nextPoll = polls.earliest(at: now.advanced(by: policy.interval))
    polling.isAsking = true
    state = .polling(polling)
    return pollID
  }

  /// A poll was answered. True when the server is back and the link should be probed.
  mutating func polled(
    _ id: UInt64, failure: LinkFailure?, wish: Duration?, at now: Instant,
    chance: inout Chance
  ) -> Bool {
    guard id == pollID, case .poll(let policy) = policy, case .polling(var polling) = state,
      polling.isAsking
    else { return false }
    polling.isAsking = false
    let wait = max(
      Self.spread(policy.interval, policy.jitter, &chance), wish ?? .zero)
    polling.nextPoll = polls.earliest(at: now.advanced(by: wait))
    let isBack = failure == nil && polling.awaitsRecovery && !polling.isSlow
    if let failure {
      polling.awaitsRecovery = polling.awaitsRecovery || failure.meansServerUnreachable
    } else {
      polling.awaitsRecovery = false
    }
    state = .polling(polling)
    return isBack
  }

  /// Moves the next probe on; called when one starts.
  mutating func noteProbe(at now: Instant, chance: inout Chance) {
    guard case .poll(let policy) = policy, case .polling(var polling) = state else { return }
    let wait = polling.isSlow ? policy.slowProbe : policy.probe
    polling.nextProbe = now.advanced(by: Self.spread(wait, policy.jitter, &chance))
    state = .polling(polling)
  }

  private static func spread(_ wait: Duration, _ jitter: Double, _ chance: inout Chance) -> Duration
  {
    wait * (1 - jitter + 2 * jitter * chance.unit())
  }
}
