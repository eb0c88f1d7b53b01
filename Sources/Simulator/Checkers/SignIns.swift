import LinkCore

/// Finds a user who is asked to sign in although nobody refused them for good.
///
/// That takes one of three things: there are no credentials and the issuer gives none; the issuer
/// gives none after the server refused those that there are; or the server refuses new ones as it
/// refused those before, and took neither meanwhile.
struct SignIns<Feature: SimulatedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var isThere = false
  /// The server refused the present credentials.
  private var isRefused = false
  /// What became of credentials on the socket, and beside it.
  private var socket = Fate.fine
  private var requests = Fate.fine
  /// How often there were new credentials; what was opened with which.
  private var renewals = 0
  private var renewedAt: Instant?
  private var opening: (attempt: AttemptID, renewals: Int)?
  private var openedAt: Instant?
  /// What is told now is a reason to ask the user.
  private var isAllowed = false

  private enum Fate: Sendable {
    case fine
    case refused
    /// Refused, and there are new ones since.
    case renewed

    mutating func refuse() { if self == .fine { self = .refused } }
    mutating func renew() { if self == .refused { self = .renewed } }
  }

  /// A connection that stood for so long has shown that its credentials were taken.
  private static var proof: Duration { .seconds(1) }
  /// An answer may come twice; its copy comes within this time, and shows nothing of newer
  /// credentials.
  private static var echo: Duration { .seconds(30) }

  mutating func told(_ role: InputRole, isLate: Bool, _ standing: Standing<Feature>) {
    isAllowed = false
    switch role {
    case .credentials(let event): take(event, at: standing.now)
    case .opened:
      guard !isLate else { return }
      requests = .fine
      openedAt = standing.now
    case .answered:
      let isProof = renewedAt.map { $0.duration(to: standing.now) >= Self.echo } ?? true
      if isProof { requests = .fine }
    case .lost(let attempt, let failure):
      if !isLate { lose(attempt, failure, standing) }
    case .refused(let failure):
      guard standing.policy.verdict(on: failure) == .refresh else { return }
      isAllowed = socket == .renewed || requests == .renewed
      isRefused = true
      requests.refuse()
      socket.refuse()
    case .wanted, .left, .changed, .lifecycle, .trigger, .data, .draining, .heard, .other: return
    }
  }

  mutating func ticked(_ standing: Standing<Feature>) { isAllowed = false }

  mutating func asked(
    _ role: EffectRole, _ effect: Feature.Effect, _ standing: Standing<Feature>
  ) {
    if case .open(let attempt) = role {
      opening = (attempt, renewals)
      openedAt = nil
    }
    guard case .signIn = role, !isAllowed else { return }
    found.add(.needless, at: standing.now, "the user is asked to sign in without need")
  }

  mutating func met(_ seen: Observation<Feature>, _ standing: Standing<Feature>) {
    if case .launched = seen {
      let before = found
      self = SignIns()
      found = before
    }
  }

  private mutating func take(_ event: HeldLink.CredentialsEvent, at now: Instant) {
    switch event {
    case .available:
      isThere = true
      isRefused = false
      renewals += 1
      renewedAt = now
      socket.renew()
      requests.renew()
    case .refreshFailed: return
    case .rejected: isAllowed = !isThere || isRefused
    case .cleared:
      isThere = false
      isAllowed = true
    }
  }

  private mutating func lose(
    _ attempt: AttemptID, _ failure: LinkFailure, _ standing: Standing<Feature>
  ) {
    if let openedAt, openedAt.duration(to: standing.now) >= Self.proof { socket = .fine }
    openedAt = nil
    guard standing.policy.verdict(on: failure) == .refresh,
      let opening, opening.attempt == attempt, opening.renewals == renewals
    else { return }
    isAllowed = socket == .renewed
    isRefused = true
    socket.refuse()
  }
}
