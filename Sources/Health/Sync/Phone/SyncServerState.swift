import HoldfastCore
import HoldfastUploads

/// The server's availability for all types, and the report of a complete sync.
struct SyncServerState: Sendable, Hashable {
  /// The state of the report to the server that everything was sent.
  private enum Refresh: Sendable, Hashable {
    case none
    /// A batch was accepted since the last report.
    case pending
    case running
    /// A batch was accepted during the report.
    case runningAndPending
  }

  /// The instant before which nothing is sent; `nil` if there is no wait.
  private(set) var heldUntil: Instant?
  /// The failure that exhausted the retry schedule.
  private(set) var exhausted: LinkFailure?
  /// The type of the most recent attempt while the server fails. The next attempt is for another
  /// type.
  private(set) var lastTried: String?
  private let policy: LinkPolicy
  private var generator: RandomSource
  /// The rate-limit windows and the server's retry-after. Every attempt after a failure counts
  /// toward the windows.
  private var retry: Retry
  /// The number of consecutive failures that concern all types.
  private var failures = 0
  /// The instant at which the last of these failures occurred. The failure of a request that was
  /// sent before adds no information.
  private var failedAt: Instant?
  /// Whether a batch was accepted in this process.
  private var wasReached = false
  private var refresh = Refresh.none

  /// Creates the state of a server to which no request was sent.
  init(_ policy: LinkPolicy, seed: UInt64) {
    (self.policy, generator, retry) = (policy, RandomSource(seed: seed), Retry(policy.retry))
  }

  /// Whether the most recent attempts failed, regardless of their content.
  var isFailing: Bool { failures > 0 }

  // MARK: Waits

  /// Returns the earliest instant at which an attempt is allowed.
  func earliest(at now: Instant) -> Instant { retry.earliest(at: now) }

  /// Counts an attempt after a failure, if the rate-limit windows allow one.
  mutating func mayTry(at now: Instant) -> Bool {
    let earliest = retry.earliest(at: now)
    guard earliest <= now else {
      if failures > 0 { heldUntil = earliest }
      return false
    }
    retry.noteAttempt(at: now)
    return true
  }

  /// Records the type of an attempt while the server fails.
  mutating func tries(_ type: String) { lastTried = type }

  /// Delays all requests until an instant.
  mutating func hold(until due: Instant) { heldUntil = max(heldUntil ?? due, due) }

  /// Clears the wait if it is over.
  mutating func endWait(at now: Instant) {
    if let held = heldUntil, now >= held { heldUntil = nil }
  }

  /// Ends all waits, except rate-limit windows and the server's retry-after.
  mutating func tryNow(at now: Instant) {
    if heldUntil != nil { heldUntil = retry.earliest(at: now) }
    exhausted = nil
  }

  // MARK: Answers

  /// Records that the server responds. A retry-after from the response to another upload stays in
  /// effect.
  mutating func answered(at now: Instant) {
    (failures, exhausted) = (0, nil)
    heldUntil = retry.notBefore.flatMap { $0 > now ? $0 : nil }
  }

  /// Records that the server has stored a batch.
  mutating func accepted(at now: Instant) {
    wasReached = true
    answered(at: now)
    if heldUntil == nil { retry.noteStable() }
    switch refresh {
    case .none, .pending: refresh = .pending
    case .running, .runningAndPending: refresh = .runningAndPending
    }
  }

  /// Records a failure that concerns all types, and starts a wait.
  ///
  /// - Parameter since: The instant at which the request began.
  /// - Returns: Whether the failure exhausted the retry schedule.
  mutating func failed(_ failure: LinkFailure, since: Instant, at now: Instant) -> Bool {
    retry.noteFailure(at: now, retryAfter: failure.retryAfter)
    // Uploads that began before the failure was known do not count as further failures.
    if let failedAt, since < failedAt, failures > 0 { return false }
    failures += 1
    failedAt = now
    let (due, isLast) = next(after: failures, failure, at: now)
    heldUntil = due
    guard isLast, exhausted == nil else { return false }
    exhausted = failure
    return true
  }

  /// Records a failure that concerns only one type.
  mutating func failedOneType(_ failure: LinkFailure, at now: Instant) {
    // Any response, even this one, shows that the server is reachable.
    answered(at: now)
    retry.noteFailure(at: now, retryAfter: failure.retryAfter)
  }

  /// Returns the instant of the next retry after a number of failures, and whether the schedule is
  /// exhausted.
  mutating func next(
    after failures: Int, _ failure: LinkFailure, at now: Instant
  ) -> (due: Instant, isLast: Bool) {
    let schedule = wasReached ? policy.retry.reconnect : policy.retry.first
    let jitterWindow =
      policy.action(on: failure) == .retryJittered ? policy.retry.serverJitter : nil
    if let due = plan(schedule, failures - 1, jitterWindow, at: now) { return (due, false) }
    let last = schedule.attempts.flatMap {
      $0 > 0 ? plan(schedule, $0 - 1, jitterWindow, at: now) : nil
    }
    return (last ?? retry.earliest(at: now.advanced(by: SyncSettings.longestPause)), true)
  }

  private mutating func plan(
    _ schedule: Schedule, _ index: Int, _ jitterWindow: Duration?, at now: Instant
  ) -> Instant? {
    retry.plan(schedule, before: index, jitterWindow: jitterWindow, at: now, generator: &generator)
  }

  // MARK: The end of a sync

  /// Whether the server has received the report for every accepted batch.
  var isReported: Bool { refresh == .none }

  /// Whether a report is in progress.
  var isReporting: Bool { refresh == .running || refresh == .runningAndPending }

  /// Begins the report that everything was sent. Returns false if no report is needed.
  mutating func beginReport() -> Bool {
    guard refresh == .pending else { return false }
    refresh = .running
    return true
  }

  /// Records that the report has ended. Returns false for a late response.
  mutating func endReport() -> Bool {
    switch refresh {
    case .none, .pending: return false
    case .running: refresh = .none
    case .runningAndPending: refresh = .pending
    }
    return true
  }

  /// Reports each violated invariant.
  func check(_ check: inout InvariantCheck) {
    check.require(
      exhausted == nil || failures > 0, "sync: a server that is given up has failed")
    retry.check(&check)
  }
}
