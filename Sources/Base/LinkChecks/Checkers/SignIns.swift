import HoldfastCore

/// A checker that detects sign-in requests that are not justified.
///
/// A sign-in request is justified in three cases:
///
/// - There are no credentials, and the issuer returns none.
/// - The server refused the current credentials, and the issuer then returns none.
/// - The server refuses new credentials after it refused the previous ones, and it accepted neither
///   in the meantime.
struct SignIns<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  private var isThere = false
  /// Whether the server refused the current credentials.
  private var isRefused = false
  /// The state of the credentials on the socket, and of those in other requests.
  private var socket = Fate.fine
  private var requests = Fate.fine
  /// The number of times that new credentials arrived.
  private var renewals = 0
  private var renewedAt: Instant?
  private var opening: (attempt: AttemptID, renewals: Int)?
  private var openedAt: Instant?
  /// Whether the current input justifies a sign-in request.
  private var isAllowed = false

  private enum Fate: Sendable {
    case fine
    case refused
    /// The credentials were refused, and new ones have arrived since.
    case renewed

    mutating func refuse() { if self == .fine { self = .refused } }
    mutating func renew() { if self == .refused { self = .renewed } }
  }

  /// The age at which a connection proves that the server accepted its credentials.
  private static var proof: Duration { .seconds(1) }
  /// The time within which the copy of a response may arrive. A copy proves nothing about newer
  /// credentials.
  private static var echo: Duration { .seconds(30) }

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    isAllowed = false
    switch role {
    case .credentials(let event): take(event, at: phoneState.now)
    case .opened:
      guard !isLate else { return }
      requests = .fine
      openedAt = phoneState.now
    case .answered:
      let isProof = renewedAt.map { $0.duration(to: phoneState.now) >= Self.echo } ?? true
      if isProof { requests = .fine }
    case .lost(let attempt, let failure):
      if !isLate { lose(attempt, failure, phoneState) }
    case .refused(let failure):
      guard phoneState.policy.action(on: failure) == .refresh else { return }
      isAllowed = socket == .renewed || requests == .renewed
      isRefused = true
      requests.refuse()
      socket.refuse()
    case .wanted, .left, .changed, .lifecycle, .trigger, .data, .draining, .received, .other: return
    }
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) { isAllowed = false }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    if case .open(let attempt) = role {
      opening = (attempt, renewals)
      openedAt = nil
    }
    guard case .signIn = role, !isAllowed else { return }
    found.add(.needless, at: phoneState.now, "the user is asked to sign in without need")
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
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
    _ attempt: AttemptID, _ failure: LinkFailure, _ phoneState: PhoneState<Feature>
  ) {
    if let openedAt, openedAt.duration(to: phoneState.now) >= Self.proof { socket = .fine }
    openedAt = nil
    guard phoneState.policy.action(on: failure) == .refresh,
      let opening, opening.attempt == attempt, opening.renewals == renewals
    else { return }
    isAllowed = socket == .renewed
    isRefused = true
    socket.refuse()
  }
}
