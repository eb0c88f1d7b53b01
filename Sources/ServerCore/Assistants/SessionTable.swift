import LinkCore
import LinkStorage
import LinkWire

/// Sessions by an identifier that only their clients know; bounded, and removed when unused.
struct SessionTable: Sendable {
  struct Session: Sendable {
    /// What was agreed on; without meaning for a conversation of the plain endpoints.
    var version: MCPVersion
    /// What its client calls itself.
    var client: AssistantName?
    /// The token that its login gave; `nil` for a client that shows its token itself.
    var bearer: TokenHash?
    /// Whether its client has shown a token: from then on its id alone is no login.
    var showsTokens = false
    /// Its calls that wait, by the ids that the client gave them.
    var calls: [RPCID: RequestID] = [:]
    /// Where the server would speak unasked.
    var stream: RequestID?
    var lastUsed: Instant

    var isBusy: Bool { stream != nil || !calls.isEmpty }
  }

  private let bound: Int
  private let idle: Duration
  /// Every session by its name.
  private(set) var all: [String: Session] = [:]
  private var alarms = AlarmQueue<String>()

  init(bound: Int, idle: Duration) {
    self.bound = bound
    self.idle = idle
  }

  /// The earliest moment at which one may have to be forgotten.
  var deadline: Instant? { alarms.first }

  var count: Int { all.count }

  subscript(name: String) -> Session? {
    get { all[name] }
    set {
      all[name] = newValue
      if newValue == nil { alarms.clear(name) }
    }
  }

  /// Remembers somebody new; false when everybody known is busy or signed in, and there is no room.
  mutating func insert(
    _ name: String, _ version: MCPVersion, client: AssistantName? = nil, at now: Instant
  ) -> Bool {
    if all.count >= bound {
      // A signed-in client would have to ask the user again, so only others make room.
      let idlers = all.filter { $0.value.bearer == nil && !$0.value.isBusy }
      let oldest = idlers.min { ($0.value.lastUsed, $0.key) < ($1.value.lastUsed, $1.key) }
      guard let oldest else { return false }
      self[oldest.key] = nil
    }
    all[name] = Session(version: version, client: client, lastUsed: now)
    alarms.set(name, at: now.advanced(by: idle))
    return true
  }

  /// Keeps the token of a login, unless the client shows its token itself.
  mutating func signIn(_ name: String, _ bearer: TokenHash?) {
    guard let session = all[name] else { return }
    all[name]?.bearer = session.showsTokens ? nil : bearer
  }

  /// The client has shown a token, so it can hold one: its id alone is no login any more.
  mutating func showedToken(_ name: String) {
    all[name]?.showsTokens = true
    all[name]?.bearer = nil
  }

  /// Puts off the end of a session that is used.
  mutating func touch(_ name: String, at now: Instant) {
    all[name]?.lastUsed = now
  }

  /// Forgets whom nobody heard of for too long; those with something open stay.
  mutating func expire(at now: Instant) {
    while let name = alarms.take(dueAt: now) {
      guard let session = all[name] else { continue }
      let end = (session.isBusy ? now : session.lastUsed).advanced(by: idle)
      if end > now { alarms.set(name, at: end) } else { all[name] = nil }
    }
  }
}

extension SessionTable: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(all.count <= bound, "session table: it holds no more than its bound")
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
