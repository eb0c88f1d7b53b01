import LinkCore
import LinkStorage
import LinkWire

/// An assistant's access to a phone.
struct RelayAccess: Sendable {
  /// As the store has it, but for a newer `lastAsked`.
  fileprivate(set) var kept: StoredAccess
  /// Judged once, when it was made or restored, so that a jump of the wall clock ends no access.
  let expiresAt: Instant

  var phone: PhoneID { kept.phone }
}

/// A call that waits for secrets or for the store.
enum RelayLogin: Sendable {
  /// The pair was right; a token is made and stored.
  case login(PhoneID, AssistantName?, wall: Timestamp)
  case logout
}

/// The bearer tokens of assistants, and the logins and logouts that wait.
struct RelayTokens: Sendable {
  private let memory: Duration
  private var all: [TokenHash: RelayAccess] = [:]
  /// The tokens that may ask each phone, oldest first.
  private var byPhone: [PhoneID: [TokenHash]] = [:]
  /// Tokens that asked since the store was told when they did.
  private var unnoted: Set<TokenHash> = []
  /// Accesses that were ended before their time, so that their assistants are told why.
  private var signedOut = SignedOut()
  private var logins: [RequestID: RelayLogin] = [:]

  init(_ policy: RelayServerPolicy) {
    memory = policy.tokenMemory
  }

  var count: Int { all.count }

  subscript(token: TokenHash) -> RelayAccess? { all[token] }

  /// Returns the tokens that may ask a phone, oldest first.
  func tokens(of phone: PhoneID) -> [TokenHash] { byPhone[phone] ?? [] }

  /// Returns the accesses to a phone, oldest first.
  func accesses(to phone: PhoneID) -> [RelayAccess] { tokens(of: phone).compactMap { all[$0] } }

  // MARK: From the login to the end

  mutating func admit(_ access: StoredAccess, until expiresAt: Instant) {
    all[access.token] = RelayAccess(kept: access, expiresAt: expiresAt)
    byPhone[access.phone, default: []].append(access.token)
  }

  /// Forgets a token; returns its access, `nil` if it is not known.
  mutating func remove(_ token: TokenHash) -> RelayAccess? {
    guard let access = all.removeValue(forKey: token) else { return nil }
    let left = tokens(of: access.phone).filter { $0 != token }
    byPhone[access.phone] = left.isEmpty ? nil : left
    return access
  }

  /// Remembers why a token is ended before its time.
  mutating func signOut(_ token: TokenHash, _ reason: RelayRefusal.SignOut, at now: Instant) {
    signedOut.add(token, reason, until: now.advanced(by: memory), at: now)
  }

  /// Returns why a token that is not known cannot ask.
  func refusal(of bearer: TokenHash?, at now: Instant) -> RelayRefusal {
    bearer.flatMap { signedOut.reason($0, at: now) }.map { .signedOut($0) } ?? .notSignedIn
  }

  // MARK: When assistants asked last

  var hasNotes: Bool { !unnoted.isEmpty }

  /// Notes when an assistant asked; returns whether it is the first note since they were taken.
  mutating func noteQuestion(of token: TokenHash, wall: Timestamp) -> Bool {
    all[token]?.kept.lastAsked = wall
    defer { unnoted.insert(token) }
    return unnoted.isEmpty
  }

  /// Takes the changes that store when assistants asked last.
  mutating func takeNotes() -> [RelayChange] {
    defer { unnoted = [] }
    return unnoted.sorted().compactMap { all[$0] }.map { .access($0.kept) }
  }

  // MARK: Logins and logouts that wait

  var waiting: Int { logins.count }

  /// The calls that wait, in their order.
  var waitingCalls: [RequestID] { logins.keys.sorted() }

  func login(_ call: RequestID) -> RelayLogin? { logins[call] }

  mutating func wait(_ call: RequestID, _ login: RelayLogin) {
    logins[call] = login
  }

  /// Forgets a call that waits; returns false if it does not wait any more.
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

  /// Whether every token and its access match.
  func allSatisfy(_ matches: (TokenHash, RelayAccess) -> Bool) -> Bool { all.allSatisfy(matches) }
}

/// The accesses that were ended before their time, by their tokens' hashes.
///
/// Holds at most 4,096; beyond, those that end first are forgotten, and their assistants are told
/// that they are not signed in.
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
