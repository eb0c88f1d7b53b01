/// Keeps track of whether credentials are there, when they expire, and whether they are refreshed.
struct Credentials: Sendable, Hashable {
  private let policy: LinkPolicy
  private(set) var state = State.missing
  /// Counts renewals, so that a refusal of older credentials does not cause another refresh.
  private(set) var generation: UInt64 = 0
  /// When to refresh before they expire.
  private(set) var refreshAt: Instant?
  /// Until when a running refresh is waited for.
  private(set) var refreshBy: Instant?
  /// Refreshed because REST refused them, and nothing succeeded since.
  private(set) var isUnproven = false

  /// Refreshes that failed in a row.
  private var refusals = 0

  /// Between two refreshes that failed; short beside the hour that tokens usually live.
  private static let longestPause = Duration.seconds(300)

  enum State: Sendable, Hashable {
    case missing
    case available
  }

  init(_ policy: LinkPolicy) {
    self.policy = policy
    if !policy.gate.needsCredentials { state = .available }
  }

  var isRefreshing: Bool { refreshBy != nil }

  /// Starts a refresh unless one runs; true when the effect must go out.
  mutating func refresh(at now: Instant) -> Bool {
    refreshAt = nil
    guard refreshBy == nil else { return false }
    refreshBy = now.advanced(by: policy.gate.refreshTimeout)
    return true
  }

  /// There are new ones. A life that is not positive says nothing but that the clocks of phone and
  /// server differ: then the server's refusal is what renews them.
  mutating func renewed(expiresIn: Duration?, at now: Instant) {
    state = .available
    generation += 1
    refusals = 0
    refreshBy = nil
    refreshAt = nil
    guard let life = expiresIn, life > .zero else { return }
    let lead = min(policy.gate.refreshLead, life / 2)
    // A clock that is ahead makes every life short; after a success it waits as after a failure.
    refreshAt = now.advanced(by: max(life - lead, policy.gate.refreshTimeout))
  }

  /// The refresh failed for now; the old credentials stay until the server refuses them.
  ///
  /// The next one waits twice as long as the one before, up to `longestPause`.
  mutating func refreshFailed(at now: Instant) {
    refreshBy = nil
    let pause = min(policy.gate.refreshTimeout * (1 << min(refusals, 5)), Self.longestPause)
    refusals += 1
    refreshAt = state == .available ? now.advanced(by: pause) : nil
  }

  /// Their issuer has no others: what there is serves until the server refuses it.
  mutating func refreshRejected() {
    refreshBy = nil
    refreshAt = nil
  }

  mutating func forget() {
    state = .missing
    refreshBy = nil
    refreshAt = nil
  }

  mutating func noteRefusedByREST() { isUnproven = true }
  mutating func noteAccepted() { isUnproven = false }

  var deadline: Instant? {
    Instant.earlier(refreshAt, refreshBy)
  }
}
