import HoldfastCore
import HoldfastRelayData

/// A bounded table of sessions, keyed by secret identifiers. Unused sessions are removed.
struct SessionTable: Sendable {
  struct Session: Sendable {
    /// The negotiated version. It has no meaning for a conversation of the plain endpoints.
    var version: MCPVersion
    /// The name under which the client introduced itself.
    var client: AssistantName?
    /// The grant with which the session began, if its client signed in with OAuth. No other grant
    /// may use the session.
    var owner: TokenHash?
    /// The token from the session's login, or `nil` if the client sends its own token.
    var bearer: TokenHash?
    /// Whether the client can ask its user to open a page.
    var elicitsURL = false
    /// Whether the client has sent a token. From then on, the session id alone does not
    /// authenticate it.
    var showsTokens = false
    /// The pending calls, by the request ids that the client chose.
    var calls: [RPCID: RequestID] = [:]
    /// The GET stream of the session.
    var stream: RequestID?
    var lastUsed: Instant
    /// The hash of the session's name; `nil` if it is not known. The session is then not stored.
    var hash: TokenHash?
    /// The state of the session in the store; `nil` if it is not stored.
    var stored: StoredAssistantSession?
    /// Whether that state could not be stored.
    var isUnstored = false

    var isBusy: Bool { stream != nil || !calls.isEmpty }
  }

  private let bound: Int
  private let idle: Duration
  /// Whether the sessions are conversations, whose version has no meaning.
  private let isOfConversations: Bool
  /// The sessions by name.
  private(set) var all: [String: Session] = [:]
  private var alarms = AlarmQueue<String>()
  /// The stored sessions that were not used since the start, by the hashes of their names.
  private var unused: [TokenHash: StoredAssistantSession] = [:]
  /// The time at which the unused sessions are removed.
  private var unusedUntil: Instant?
  /// The stored sessions that have ended.
  private var ended: [TokenHash] = []

  init(bound: Int, idle: Duration, isOfConversations: Bool = false) {
    self.bound = bound
    self.idle = idle
    self.isOfConversations = isOfConversations
  }

  /// The earliest time at which a session may have to be removed.
  var deadline: Instant? { [alarms.first, unusedUntil].compactMap(\.self).min() }

  var count: Int { all.count }

  subscript(name: String) -> Session? {
    get { all[name] }
    set {
      if newValue == nil { end(all[name]) }
      all[name] = newValue
      if newValue == nil { alarms.clear(name) }
    }
  }

  /// Adds a session. Returns false if the table is full and every session is busy or signed in.
  mutating func insert(
    _ name: String, _ version: MCPVersion, client: AssistantName? = nil, owner: TokenHash? = nil,
    at now: Instant
  ) -> Bool {
    if all.count + unused.count >= bound {
      // Only idle sessions that are not signed in are replaced, since others would have to sign in
      // again. A grant replaces its own.
      let idlers = all.filter { _, session in
        session.bearer == nil && !session.isBusy
          && (session.owner == nil || session.owner == owner)
      }
      let oldest = idlers.min { ($0.value.lastUsed, $0.key) < ($1.value.lastUsed, $1.key) }
      if let oldest { self[oldest.key] = nil } else if !replaceUnused(of: owner) { return false }
    }
    all[name] = Session(version: version, client: client, owner: owner, lastUsed: now)
    alarms.set(name, at: now.advanced(by: idle))
    return true
  }

  /// Stores the token of a login, unless the client sends its own token.
  mutating func signIn(_ name: String, _ bearer: TokenHash?) {
    guard let session = all[name] else { return }
    all[name]?.bearer = session.showsTokens ? nil : bearer
  }

  /// Records that the client has sent a token. The session id alone no longer authenticates it.
  mutating func showedToken(_ name: String) {
    all[name]?.showsTokens = true
    all[name]?.bearer = nil
  }

  /// Records the use of a session, which postpones its removal.
  mutating func touch(_ name: String, at now: Instant) {
    all[name]?.lastUsed = now
  }

  /// Removes sessions that have been unused for too long. Busy sessions stay.
  mutating func expire(at now: Instant) {
    while let name = alarms.take(dueAt: now) {
      guard let session = all[name] else { continue }
      let end = (session.isBusy ? now : session.lastUsed).advanced(by: idle)
      if end > now {
        alarms.set(name, at: end)
      } else {
        self.end(session)
        all[name] = nil
      }
    }
    guard let unusedUntil, unusedUntil <= now else { return }
    ended += unused.keys.sorted()
    (unused, self.unusedUntil) = ([:], nil)
  }
}

/// The sessions that are stored, so that they survive a restart.
extension SessionTable {
  /// Takes the stored sessions of this kind. They have the time of an unused session from now.
  mutating func restore(_ stored: [StoredAssistantSession], at now: Instant) {
    for session in stored where (session.version == nil) == isOfConversations {
      let isKnown = isOfConversations || version(of: session) != nil
      guard isKnown, all.count + unused.count < bound else {
        ended.append(session.id)
        continue
      }
      unused[session.id] = session
    }
    unusedUntil = unused.isEmpty ? nil : now.advanced(by: idle)
  }

  private func version(of stored: StoredAssistantSession) -> MCPVersion? {
    stored.version.flatMap { MCPVersion(rawValue: $0) }
  }

  /// Continues a stored session that a client uses.
  mutating func recall(_ name: String?, _ hash: TokenHash?, at now: Instant) {
    guard let name, let hash else { return }
    if all[name] == nil, let stored = unused.removeValue(forKey: hash) {
      all[name] = Session(
        version: version(of: stored) ?? .newestWithSessions, client: stored.client,
        owner: stored.owner, bearer: stored.bearer, elicitsURL: stored.elicitsURL,
        showsTokens: stored.showsTokens, lastUsed: now, stored: stored)
      alarms.set(name, at: now.advanced(by: idle))
      if unused.isEmpty { unusedUntil = nil }
    }
    all[name]?.hash = hash
  }

  /// Removes a stored session that was not used since the start, and that needs no sign-in or is one
  /// of the same grant. Returns false if there is none.
  private mutating func replaceUnused(of owner: TokenHash?) -> Bool {
    let found = unused.values.filter { session in
      session.bearer == nil && (session.owner == nil || session.owner == owner)
    }
    guard let first = found.map(\.id).min() else { return false }
    unused[first] = nil
    ended.append(first)
    if unused.isEmpty { unusedUntil = nil }
    return true
  }

  /// Returns the session as it is to be stored; `nil` if it is stored like this, or if its hash is
  /// not known.
  ///
  /// - Parameter isNew: Whether a session that is not stored yet is to be stored.
  mutating func store(_ name: String, isNew: Bool) -> StoredAssistantSession? {
    guard let session = all[name], let id = session.hash, isNew || session.stored != nil else {
      return nil
    }
    let stored = StoredAssistantSession(
      id: id, version: isOfConversations ? nil : session.version.rawValue, client: session.client,
      owner: session.owner, bearer: session.bearer, elicitsURL: session.elicitsURL,
      showsTokens: session.showsTokens)
    guard stored != session.stored || session.isUnstored else { return nil }
    all[name]?.stored = stored
    all[name]?.isUnstored = false
    return stored
  }

  /// Records that the state of a session could not be stored. It is stored with the next call.
  mutating func storeFailed(_ name: String) { all[name]?.isUnstored = true }

  /// Removes and returns the stored sessions that have ended.
  mutating func takeEnded() -> [TokenHash] {
    defer { ended = [] }
    return ended
  }

  private mutating func end(_ session: Session?) {
    if let id = session?.stored?.id { ended.append(id) }
  }
}

extension SessionTable: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      all.count + unused.count <= bound, "session table: it holds no more than its bound")
    check.require(
      unused.isEmpty == (unusedUntil == nil), "session table: unused sessions have an end")
    check.require(ended.isEmpty, "session table: a session that has ended was reported")
    check.require(
      alarms.count == all.count, "session table: each session has one alarm, and no other")
    alarms.check(&check)
    guard check.isThorough else { return }
    check.require(
      all.keys.allSatisfy { alarms.keys.contains($0) },
      "session table: each session ends if it is not used")
    check.require(
      all.values.allSatisfy { !$0.showsTokens || $0.bearer == nil },
      "session table: no token is kept for a client that shows its own")
  }
}
