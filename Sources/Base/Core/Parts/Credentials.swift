/// The state of credentials: whether they exist, when they expire, and whether a refresh is
/// running.
///
/// `refresh(at:)` starts a refresh. The caller carries it out and reports `renewed`,
/// `refreshFailed` or `refreshRejected`. At `deadline` the next refresh is due, or the current one
/// has timed out.
public struct Credentials: Sendable, Hashable {
  private let policy: GatePolicy
  /// Whether credentials are available.
  public internal(set) var state = State.missing
  /// The number of renewals. A rejection of older credentials causes no further refresh.
  public private(set) var generation: UInt64 = 0
  /// The instant at which to refresh the credentials, before they expire.
  public internal(set) var refreshAt: Instant?
  /// The instant at which the current refresh times out.
  public internal(set) var refreshBy: Instant?
  /// The generation that REST rejected last; `nil` once the server has accepted credentials.
  private var refused: UInt64?
  /// The generation that the server refused last, on a link or over REST.
  private var unusable: UInt64?

  /// The number of refreshes that failed in a row.
  private var refusals = 0

  /// The longest pause between failed refreshes, chosen to be short compared with the usual token
  /// lifetime of an hour.
  private static let longestPause = Duration.seconds(300)

  /// The duration for which a link must last to prove that its credentials were accepted.
  ///
  /// The duration spans many round trips, since servers verify some tokens only after the upgrade.
  /// It is also the shortest lifetime of a token that `holdfast token` makes.
  static let proof = Duration.seconds(1)

  /// Whether credentials exist.
  public enum State: Sendable, Hashable {
    case missing
    case available
  }

  /// Creates a record without credentials. Its state is `available` if the policy needs none.
  public init(_ policy: GatePolicy) {
    self.policy = policy
    if !policy.needsCredentials { state = .available }
  }

  /// Whether an attempt may use the credentials: they exist, and the server has not refused them.
  ///
  /// Refused credentials stay unusable until a refresh brings others. A policy that needs none has
  /// nothing to replace, so a refusal does not change that.
  public var isUsable: Bool {
    state == .available && (!policy.needsCredentials || !isRefused)
  }

  /// Whether a refresh is under way.
  public var isRefreshing: Bool { refreshBy != nil }

  /// Starts a refresh unless one is running. Returns true if the caller must carry it out.
  public mutating func refresh(at now: Instant) -> Bool {
    refreshAt = nil
    guard refreshBy == nil else { return false }
    refreshBy = now.advanced(by: policy.refreshTimeout)
    return true
  }

  /// Notes new credentials.
  ///
  /// A lifetime of zero or less only shows that the clocks of phone and server differ. In that
  /// case, the next refresh follows a rejection by the server.
  public mutating func renewed(expiresIn: Duration?, at now: Instant) {
    state = .available
    generation += 1
    refusals = 0
    refreshBy = nil
    refreshAt = nil
    guard let life = expiresIn, life > .zero else { return }
    let lead = min(policy.refreshLead, life / 2)
    // If the phone's clock is ahead, every lifetime appears short. The wait is therefore at least
    // as long as after a failure.
    refreshAt = now.advanced(by: max(life - lead, policy.refreshTimeout))
  }

  /// Notes that a refresh failed for now. The old credentials stay in use unless the server has
  /// refused them.
  ///
  /// The pause doubles with each failure, at most five times and up to 300 s.
  public mutating func refreshFailed(at now: Instant) {
    refreshBy = nil
    refusals += 1
    let pauses = Schedule.doubling(from: policy.refreshTimeout, to: Self.longestPause)
    let pause = pauses.wait(after: min(refusals, 6))
    refreshAt = state == .available ? now.advanced(by: pause) : nil
  }

  /// Notes that the issuer refuses new credentials. The old ones stay in use until the server
  /// rejects them.
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

  /// Whether REST rejected credentials and the server has not accepted any since.
  public var isUnproven: Bool { refused != nil }

  /// Whether REST rejected older credentials and the server has not accepted the new ones yet.
  ///
  /// If REST rejects the new ones too, another refresh does not help. A refresh that failed does
  /// not count, since it brought no new credentials.
  public var isRenewedInVain: Bool { refused.map { $0 < generation } ?? false }

  /// Whether the server refused the current credentials. It is false once newer credentials are
  /// available.
  public var isRefused: Bool { unusable == generation }

  /// Notes that the server refused the current credentials, which are not used again.
  public mutating func noteRefused() { unusable = generation }

  /// Notes that REST rejected the credentials.
  public mutating func noteRefusedByREST() {
    refused = generation
    noteRefused()
  }

  /// Notes that the server accepted the credentials.
  public mutating func noteAccepted() { refused = nil }

  /// The instant at which the next refresh is due or the current one times out.
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
