import LinkCore
import LinkWire

/// How well the server answers, for all types together, and whether it was told that all was sent.
struct SyncServerState: Sendable, Hashable {
  /// Telling the server that all was sent.
  private enum Refresh: Sendable, Hashable {
    case none
    /// A batch was accepted since the last time.
    case pending
    case running
    /// A batch was accepted while the server was told.
    case runningAndPending
  }

  /// Nothing is sent before.
  private(set) var heldUntil: Instant?
  /// The failure that ended the schedule of tries.
  private(set) var exhausted: LinkFailure?
  /// The type of the last try while the server fails, so that the next one is of another.
  private(set) var lastTried: String?
  private let policy: LinkPolicy
  private var chance: Chance
  /// Windows and the server's wishes; every try that follows a failure counts.
  private var retry: Retry
  /// Failures in a row that concern all types.
  private var failures = 0
  /// When the last of the failures was noted; what was sent before says nothing new.
  private var failedAt: Instant?
  /// Whether a batch was accepted in this process.
  private var wasReached = false
  private var refresh = Refresh.none

  /// Creates the state of a server that was not asked yet.
  init(_ policy: LinkPolicy, seed: UInt64) {
    (self.policy, chance, retry) = (policy, Chance(seed: seed), Retry(policy.retry))
  }

  /// Whether the last tries failed, whatever they sent.
  var isFailing: Bool { failures > 0 }

  // MARK: Waits

  /// The earliest instant of a try.
  func earliest(at now: Instant) -> Instant { retry.earliest(at: now) }

  /// Counts a try after a failure, if the windows allow one.
  mutating func mayTry(at now: Instant) -> Bool {
    let earliest = retry.earliest(at: now)
    guard earliest <= now else {
      if failures > 0 { heldUntil = earliest }
      return false
    }
    retry.noteAttempt(at: now)
    return true
  }

  /// Notes the type of a try while the server fails.
  mutating func tries(_ type: String) { lastTried = type }

  /// Sends nothing before a time.
  mutating func hold(until due: Instant) { heldUntil = max(heldUntil ?? due, due) }

  /// Forgets a wait that is over.
  mutating func endWait(at now: Instant) {
    if let held = heldUntil, now >= held { heldUntil = nil }
  }

  /// Ends all waits; windows and the server's wishes still count.
  mutating func tryNow(at now: Instant) {
    if heldUntil != nil { heldUntil = retry.earliest(at: now) }
    exhausted = nil
  }

  // MARK: Answers

  /// The server is there. What it asked for before, in the answer to another upload, still counts.
  mutating func answered(at now: Instant) {
    (failures, exhausted) = (0, nil)
    heldUntil = retry.notBefore.flatMap { $0 > now ? $0 : nil }
  }

  /// The server has stored a batch.
  mutating func accepted(at now: Instant) {
    wasReached = true
    answered(at: now)
    if heldUntil == nil { retry.noteStable() }
    switch refresh {
    case .none, .pending: refresh = .pending
    case .running, .runningAndPending: refresh = .runningAndPending
    }
  }

  /// Counts a failure that concerns all types, and waits.
  ///
  /// - Parameter since: When the request began.
  /// - Returns: Whether the schedule of tries ended with it.
  mutating func failed(_ failure: LinkFailure, since: Instant, at now: Instant) -> Bool {
    retry.noteFailure(at: now, wish: failure.serverWish)
    // Uploads that began before the failure was known share it.
    if let failedAt, since < failedAt, failures > 0 { return false }
    failures += 1
    failedAt = now
    let (due, isLast) = next(after: failures, failure, at: now)
    heldUntil = due
    guard isLast, exhausted == nil else { return false }
    exhausted = failure
    return true
  }

  /// Notes a failure that concerns one type.
  mutating func failedOneType(_ failure: LinkFailure, at now: Instant) {
    // An answer, even this one, shows that the server is there.
    answered(at: now)
    retry.noteFailure(at: now, wish: failure.serverWish)
  }

  /// Returns when to try again after so many failures, and whether the schedule has ended.
  mutating func next(
    after failures: Int, _ failure: LinkFailure, at now: Instant
  ) -> (due: Instant, isLast: Bool) {
    let schedule = wasReached ? policy.retry.reconnect : policy.retry.first
    let spread = policy.verdict(on: failure) == .retrySpread ? policy.retry.serverSpread : nil
    if let due = plan(schedule, failures - 1, spread, at: now) { return (due, false) }
    let last = schedule.attempts.flatMap { $0 > 0 ? plan(schedule, $0 - 1, spread, at: now) : nil }
    return (last ?? retry.earliest(at: now.advanced(by: SyncSettings.longestPause)), true)
  }

  private mutating func plan(
    _ schedule: Schedule, _ index: Int, _ spread: Duration?, at now: Instant
  ) -> Instant? {
    retry.plan(schedule, before: index, spread: spread, at: now, chance: &chance)
  }

  // MARK: The end of a sync

  /// Whether the server was told of all that it accepted.
  var isTold: Bool { refresh == .none }

  /// Begins to tell the server that all was sent; returns false if it knows.
  mutating func tell() -> Bool {
    guard refresh == .pending else { return false }
    refresh = .running
    return true
  }

  /// Notes that the server was told; returns false for a late answer.
  mutating func told() -> Bool {
    switch refresh {
    case .none, .pending: return false
    case .running: refresh = .none
    case .runningAndPending: refresh = .pending
    }
    return true
  }

  /// Notes each invariant that does not hold now.
  func check(_ check: inout InvariantCheck) {
    check.require(
      exhausted == nil || failures > 0, "sync: a server that is given up has failed")
    retry.check(&check)
  }
}

/// What follows from an answer that is no success.
enum Consequence {
  case retryAll, retryType, newSecret, split, park

  init(_ failure: LinkFailure) {
    guard case .http(let status, _, _) = failure else {
      self = .retryAll
      return
    }
    self =
      switch status {
      case 401: .newSecret
      case 413: .split
      // Too early, too slow, too often: the same batch may be accepted later.
      case 408, 425, 429: .retryAll
      case 400..<500: .park
      // Gateways and overload concern all batches, other faults of a server perhaps one; so does an
      // answer of success that says that the batch was not stored.
      case 200..<300: .retryType
      case 502, 503, 504: .retryAll
      case 500..<600: .retryType
      case _: .retryAll
      }
  }
}
