import HoldfastCore
import HoldfastRelayData

/// An assistant's access to a phone.
package struct RelayAccess: Sendable {
  /// The stored form, possibly with a newer `lastAsked`.
  fileprivate(set) var stored: StoredAccess
  /// The expiry. It is computed once, at login or restore, so that a jump of the wall clock does
  /// not end an access.
  fileprivate(set) var expiresAt: Instant
  /// The instant until which the previous generation of a grant is accepted, too.
  fileprivate(set) var graceUntil: Instant
  /// Whether the newest generation of a grant is being stored.
  fileprivate(set) var isRenewing = false
  /// The instant at which the phone was informed of the access, or `nil` if it still has to be.
  fileprivate(set) var shownAt: Instant?

  var phone: PhoneID { stored.phone }
}

/// A login or logout that waits for secrets or for the store.
enum RelayLogin: Sendable {
  /// A login with a correct pairing code. Its token is being created and stored.
  case login(PhoneID, AssistantName?, wall: Timestamp, isGrant: Bool)
  /// A renewal of this grant that is being stored.
  case renewal(TokenHash)
  case logout
}

/// The bearer tokens of assistants, and the pending logins and logouts.
struct RelayTokens: Sendable {
  private let (memory, grace): (Duration, Duration)
  private var all: [TokenHash: RelayAccess] = [:]
  /// The tokens for each phone, oldest first.
  private var byPhone: [PhoneID: [TokenHash]] = [:]
  /// The tokens whose `lastAsked` has not been stored yet.
  private var unnoted: Set<TokenHash> = []
  /// The accesses that ended early, with the reasons that their assistants receive.
  private var signedOut = SignedOut()
  private var logins: [RequestID: RelayLogin] = [:]

  init(_ policy: RelayServerPolicy) {
    (memory, grace) = (policy.tokenMemory, policy.renewalGrace)
  }

  var count: Int { all.count }

  subscript(token: TokenHash) -> RelayAccess? { all[token] }

  /// Returns the tokens for a phone, oldest first.
  func tokens(of phone: PhoneID) -> [TokenHash] { byPhone[phone] ?? [] }

  /// Returns the accesses to a phone, oldest first.
  func accesses(to phone: PhoneID) -> [RelayAccess] { tokens(of: phone).compactMap { all[$0] } }

  // MARK: Lifetime

  /// Admits a new token, or one of a previous run. The answer to a renewal may have been lost when
  /// that run ended.
  ///
  /// - Parameter isNew: Whether its phone has not been informed of it.
  mutating func admit(
    _ access: StoredAccess, until expiresAt: Instant, isNew: Bool, at now: Instant
  ) {
    all[access.token] = RelayAccess(
      stored: access, expiresAt: expiresAt, graceUntil: now.advanced(by: grace),
      shownAt: isNew ? nil : now)
    byPhone[access.phone, default: []].append(access.token)
  }

  /// Removes a token and returns its access, or `nil` if it is unknown.
  mutating func remove(_ token: TokenHash) -> RelayAccess? {
    guard let access = all.removeValue(forKey: token) else { return nil }
    let left = tokens(of: access.phone).filter { $0 != token }
    byPhone[access.phone] = left.isEmpty ? nil : left
    return access
  }

  /// Returns whether the token is a grant whose code was redeemed, and which has not expired.
  func isGrant(_ token: TokenHash, at now: Instant) -> Bool {
    guard let access = all[token], let generation = access.stored.generation else { return false }
    return generation > 0 && now < access.expiresAt
  }

  /// Records that a renewal is being stored.
  mutating func beginRenewal(of token: TokenHash) { all[token]?.isRenewing = true }

  /// Ends a renewal. Returns the calls that waited for it, sorted.
  mutating func endRenewal(of token: TokenHash) -> [RequestID] {
    all[token]?.isRenewing = false
    return logins.filter { if case .renewal(token) = $0.value { true } else { false } }.keys
      .sorted()
  }

  /// Accepts the previous generation of a grant for a time.
  mutating func beginGrace(of token: TokenHash, at now: Instant) {
    all[token]?.graceUntil = now.advanced(by: grace)
  }

  /// Changes the generation and the expiry of an access.
  mutating func renew(
    _ token: TokenHash, generation: UInt64?, until expiresAt: Instant, wall: Timestamp
  ) {
    all[token]?.stored.generation = generation
    all[token]?.stored.expiresAt = wall
    all[token]?.expiresAt = expiresAt
  }

  /// Records the reason why a token ended early.
  mutating func signOut(_ token: TokenHash, _ reason: RelayRefusal.SignOut, at now: Instant) {
    signedOut.add(token, reason, until: now.advanced(by: memory), at: now)
  }

  /// Returns the refusal of a call with an unknown token.
  func refusal(of bearer: TokenHash?, at now: Instant) -> RelayRefusal {
    bearer.flatMap { signedOut.reason($0, at: now) }.map { .signedOut($0) } ?? .notSignedIn
  }

  /// Allows or forbids an access to read synced samples. Returns the changed access, or `nil` if
  /// nothing changed.
  mutating func allowSynced(_ allows: Bool, to token: TokenHash) -> StoredAccess? {
    guard let access = all[token], access.stored.readsSynced != allows else { return nil }
    all[token]?.stored.readsSynced = allows
    return all[token]?.stored
  }

  // MARK: New accesses

  /// Returns whether a phone has not been informed of an access.
  func hasNew(to phone: PhoneID) -> Bool { accesses(to: phone).contains { $0.shownAt == nil } }

  /// Returns the accesses of which a phone has not been informed, and records that it is now.
  mutating func takeNew(to phone: PhoneID, at now: Instant) -> [RelayAccess] {
    let new = accesses(to: phone).filter { $0.shownAt == nil && now < $0.expiresAt }
    for access in new { all[access.stored.token]?.shownAt = now }
    return new
  }

  /// Records that a phone received nothing that was sent after `instant`.
  mutating func missed(by phone: PhoneID, since instant: Instant) {
    for access in accesses(to: phone) where access.shownAt.map({ $0 > instant }) == true {
      all[access.stored.token]?.shownAt = nil
    }
  }

  // MARK: Times of the last questions

  var hasNotes: Bool { !unnoted.isEmpty }

  /// Records the time of an assistant's question.
  ///
  /// Returns whether this is the only time that waits to be stored.
  mutating func noteQuestion(of token: TokenHash, wall: Timestamp) -> Bool {
    all[token]?.stored.lastAsked = wall
    defer { unnoted.insert(token) }
    return unnoted.isEmpty
  }

  /// Removes and returns the changes that store the times of the last questions.
  mutating func takeNotes() -> [RelayChange] {
    defer { unnoted = [] }
    return unnoted.sorted().compactMap { all[$0] }.map { .access($0.stored) }
  }

  // MARK: Pending logins and logouts

  var waiting: Int { logins.count }

  /// The pending calls, sorted.
  var waitingCalls: [RequestID] { logins.keys.sorted() }

  func login(_ call: RequestID) -> RelayLogin? { logins[call] }

  mutating func wait(_ call: RequestID, _ login: RelayLogin) {
    logins[call] = login
  }

  /// Removes a pending call. Returns false if it is not pending.
  mutating func endWaiting(_ call: RequestID) -> Bool { logins.removeValue(forKey: call) != nil }
}

extension RelayTokens: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    signedOut.check(&check)
    guard check.isThorough else { return }
    check.require(
      all.allSatisfy { token, access in tokens(of: access.phone).contains(token) }
        && all.count == byPhone.values.reduce(0) { $0 + $1.count },
      "relay tokens: a token is an access to one phone")
  }

  /// Returns whether a condition holds for every token and its access.
  func allSatisfy(_ matches: (TokenHash, RelayAccess) -> Bool) -> Bool { all.allSatisfy(matches) }
}

/// The accesses that ended early, by the hashes of their tokens.
///
/// The table holds at most 4,096 entries. Beyond that limit, the entries that expire first are
/// removed, and their assistants receive `notSignedIn`.
struct SignedOut: Sendable {
  static let bound = 4_096

  private(set) var reasons: [TokenHash: (reason: RelayRefusal.SignOut, until: Instant)] = [:]

  mutating func add(
    _ token: TokenHash, _ reason: RelayRefusal.SignOut, until: Instant, at now: Instant
  ) {
    if reasons.count >= Self.bound {
      reasons = reasons.filter { $0.value.until > now }
      let first = reasons.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
      if reasons.count >= Self.bound, let first { reasons[first.key] = nil }
    }
    reasons[token] = (reason, until)
  }

  func reason(_ token: TokenHash, at now: Instant) -> RelayRefusal.SignOut? {
    reasons[token].flatMap { $0.until > now ? $0.reason : nil }
  }
}

extension SignedOut: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(reasons.count <= Self.bound, "signed out: what is remembered is bounded")
  }
}
