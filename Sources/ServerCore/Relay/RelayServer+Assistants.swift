import LinkCore
import LinkStorage
import LinkWire

// The assistants of a phone, as its user sees and ends them.
extension RelayServer {
  /// How long the time of an assistant's last question may wait for the store.
  private static let noteInterval = Duration.seconds(60)

  /// Ends some of a phone's accesses, and lists the rest.
  mutating func take(_ request: RequestID, _ order: AssistantsOrder, of id: PhoneID) {
    let tokens = phones[id]?.tokens ?? []
    switch order {
    case .list: break
    case .endAll: for token in tokens { signOut(token, .byUser) }
    case .end(let name):
      guard let token = tokens.first(where: { $0.shortName == name }) else {
        return respond(request, .refused(.unknownAssistant))
      }
      signOut(token, .byUser)
    }
    respond(request, .assistants(assistants(of: id)))
  }

  private func assistants(of id: PhoneID) -> PairedAssistants {
    let accesses = (phones[id]?.tokens ?? []).compactMap { self.accesses[$0] }
    let live = accesses.filter { now < $0.expiresAt }
    return PairedAssistants(
      limit: policy.tokensPerPhone,
      assistants: live.map { access in
        PairedAssistants.Assistant(
          id: access.kept.token.shortName, name: access.kept.assistant, since: access.kept.since,
          lastQuestion: access.kept.lastAsked, expiresAt: access.kept.expiresAt)
      })
  }

  /// Ends an access before its time; its assistant is told why when it asks, the user at once.
  mutating func signOut(_ token: TokenHash, _ reason: RelayRefusal.SignOut) {
    guard let access = accesses[token] else { return }
    signedOut.add(token, reason, until: now.advanced(by: policy.tokenMemory), at: now)
    forget(token, refusing: .signedOut(reason))
    guard case .byAnother(let limit) = reason, now < access.expiresAt else { return }
    let name = access.kept.assistant.map { "\($0)" } ?? "The assistant that was paired first"
    phones[access.phone]?.notice =
      "\(name) was signed out: another assistant was paired, and a phone has at most \(limit)."
    guard let phone = phones[access.phone], case .here(let connection) = phone.presence else {
      return
    }
    tellPair(of: phone, on: connection, token: nil)
  }

  /// Why a token that is not known cannot ask.
  func refusal(of bearer: TokenHash?) -> RelayRefusal {
    bearer.flatMap { signedOut.reason($0, at: now) }.map { .signedOut($0) } ?? .notSignedIn
  }

  /// Notes when an assistant asked; the store is told within a minute.
  mutating func noteQuestion(of token: TokenHash, wall: Timestamp) {
    accesses[token]?.kept.lastAsked = wall
    if unnoted.isEmpty { alarms.set(.notes, at: now.advanced(by: Self.noteInterval)) }
    unnoted.insert(token)
  }

  /// Tells the store when assistants asked last.
  mutating func storeNotes() {
    alarms.clear(.notes)
    let changes = unnoted.sorted().compactMap { accesses[$0] }.map { RelayChange.access($0.kept) }
    unnoted = []
    store(changes)
  }
}

/// The accesses that were ended before their time, by their tokens' hashes.
///
/// Holds at most 4,096; beyond, those that end first are forgotten, and their assistants are told
/// that they are not signed in.
struct SignedOut: Sendable {
  static let bound = 4_096

  var reasons: [TokenHash: (reason: RelayRefusal.SignOut, until: Instant)] = [:]

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
