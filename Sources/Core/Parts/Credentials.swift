/// A record of credentials: whether they are there, when they expire, and whether a refresh runs.
///
/// `refresh(at:)` starts a refresh; the caller carries it out and reports `renewed`,
/// `refreshFailed` or `refreshRejected`. At `deadline` the next refresh is due, or one timed out.
public struct Credentials: Sendable, Hashable {
  private let policy: GatePolicy
  /// Whether there are credentials to try with.
  public internal(set) var state = State.missing
  /// The number of renewals. A refusal of older credentials does not cause another refresh.
  public private(set) var generation: UInt64 = 0
  /// When to refresh the credentials before they expire.
  public internal(set) var refreshAt: Instant?
  /// When the refresh under way times out.
  public internal(set) var refreshBy: Instant?
  /// The generation that a REST answer refused last; `nil` once the server accepted credentials.
  private var refused: UInt64?

  /// The number of refreshes that failed in a row.
  private var refusals = 0

  /// The longest pause between two refreshes that failed; ours: short beside the hour that tokens
  /// usually live.
  private static let longestPause = Duration.seconds(300)

  /// How long a link must have stood to show that its credentials were accepted; ours: many round
  /// trips, since servers check some tokens only after the upgrade, and the shortest life of a
  /// token that `holdfast token` makes.
  static let proof = Duration.seconds(1)

  /// Whether there are credentials.
  public enum State: Sendable, Hashable {
    case missing
    case available
  }

  /// Creates a record without credentials; they count as available if the policy needs none.
  public init(_ policy: GatePolicy) {
    self.policy = policy
    if !policy.needsCredentials { state = .available }
  }

  /// Whether a refresh is under way.
  public var isRefreshing: Bool { refreshBy != nil }

  /// Starts a refresh unless one runs; true if the caller must carry it out.
  public mutating func refresh(at now: Instant) -> Bool {
    refreshAt = nil
    guard refreshBy == nil else { return false }
    refreshBy = now.advanced(by: policy.refreshTimeout)
    return true
  }

  /// Notes new credentials.
  ///
  /// A life of zero or less only shows that the clocks of phone and server differ: then the
  /// server's refusal causes the next refresh.
  public mutating func renewed(expiresIn: Duration?, at now: Instant) {
    state = .available
    generation += 1
    refusals = 0
    refreshBy = nil
    refreshAt = nil
    guard let life = expiresIn, life > .zero else { return }
    let lead = min(policy.refreshLead, life / 2)
    // A clock that is ahead makes every life short; after a success it waits as after a failure.
    refreshAt = now.advanced(by: max(life - lead, policy.refreshTimeout))
  }

  /// Notes that the refresh failed for now; the old credentials stay until the server refuses them.
  ///
  /// Each pause is twice as long as the one before, up to 300 s.
  public mutating func refreshFailed(at now: Instant) {
    refreshBy = nil
    let pause = min(policy.refreshTimeout * (1 << min(refusals, 5)), Self.longestPause)
    refusals += 1
    refreshAt = state == .available ? now.advanced(by: pause) : nil
  }

  /// Notes that the issuer has no others; the old ones stay until the server refuses them.
  public mutating func refreshRejected() {
    refreshBy = nil
    refreshAt = nil
  }

  /// Forgets the credentials.
  public mutating func forget() {
    state = .missing
    refreshBy = nil
    refreshAt = nil
  }

  /// Whether REST refused credentials, and the server has accepted none since.
  public var isUnproven: Bool { refused != nil }

  /// Whether REST refused older credentials, and took none of the new ones so far: when it refuses
  /// these, too, no refresh helps. A refresh that failed for now renewed nothing.
  public var isRenewedInVain: Bool { refused.map { $0 < generation } ?? false }

  /// Whether REST refused the credentials that there are; those that are newer are not refused yet.
  public var isRefused: Bool { refused == generation }

  /// Notes that a REST answer refused the credentials.
  public mutating func noteRefusedByREST() { refused = generation }
  /// Notes that the server accepted the credentials.
  public mutating func noteAccepted() { refused = nil }

  /// When the next refresh is due or the one under way times out.
  public var deadline: Instant? {
    Instant.earlier(refreshAt, refreshBy)
  }
}

extension Credentials: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      refreshAt == nil || refreshBy == nil, "credentials: no refresh is planned while one runs")
    check.require(
      refreshAt == nil || state == .available, "credentials: only what exists is renewed in time")
  }
}
