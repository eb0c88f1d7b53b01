import HoldfastCore
import HoldfastRelayData
import HoldfastServerParts

/// A bounded table of sign-ins on the page, keyed by the ids in the page's address.
struct ElicitationTable: Sendable {
  /// A sign-in that a client was asked for.
  struct Elicitation: Sendable {
    /// The client that asks, under the name that it gave itself.
    var client: AssistantName?
    /// The session that the sign-in is for; `nil` for a client without sessions.
    var session: String?
    /// The secret that a client without sessions sends with its next try. The page does not have
    /// it, so that its address gives no access.
    var state: String
    var progress = Progress.open
    /// The instant at which the sign-in expires.
    let until: Instant
  }

  enum Progress: Sendable, Hashable {
    case open
    /// The person at the page refused.
    case denied
    /// The phone is paired, and this is the hash of the token.
    case signedIn(TokenHash)
  }

  private let bound: Int
  private let life: Duration
  private(set) var all: [String: Elicitation] = [:]
  private var alarms = AlarmQueue<String>()
  private var rates: TokenBuckets

  init(_ policy: MCPPolicy) {
    (bound, life) = (policy.maxElicitations, policy.elicitationLife)
    rates = TokenBuckets(
      interval: policy.elicitationInterval, burst: policy.elicitationBurst, bound: 10_000)
  }

  /// The time at which the next sign-in expires.
  var deadline: Instant? { alarms.first }

  /// Adds a sign-in under the first half of the secret. In a full table, it replaces the oldest one
  /// at whose page nobody has signed in.
  ///
  /// Returns its id, or `nil` if there is no room or if the address asks too often.
  mutating func insert(
    _ secret: MCPSessionID, client: AssistantName?, session: String?, from address: String,
    at now: Instant
  ) -> String? {
    guard rates.spend(address, at: now) == nil else { return nil }
    if all.count >= bound {
      let unused = all.filter { if case .signedIn = $0.value.progress { false } else { true } }
      let first = unused.min { ($0.value.until, $0.key) < ($1.value.until, $1.key) }
      guard let first else { return nil }
      all[first.key] = nil
      alarms.clear(first.key)
    }
    let id = String(secret.text.prefix(secret.text.count / 2))
    let until = now.advanced(by: life)
    all[id] = Elicitation(client: client, session: session, state: secret.text, until: until)
    alarms.set(id, at: until)
    return id
  }

  /// Returns the open sign-in of a session.
  func open(in session: String) -> String? {
    all.first { $0.value.session == session && $0.value.progress == .open }?.key
  }

  /// Returns the sign-in with this state, and its id.
  func find(state: String) -> (id: String, Elicitation)? {
    let id = String(state.prefix(state.count / 2))
    guard let found = all[id], found.session == nil, found.state == state else { return nil }
    return (id, found)
  }

  subscript(id: String) -> Elicitation? { all[id] }

  /// Returns the time since a sign-in was added.
  func age(of id: String, at now: Instant) -> Duration? {
    all[id].map { life - now.duration(to: $0.until) }
  }

  /// Records how a sign-in went on. One that is complete does not change any more.
  mutating func set(_ id: String, _ progress: Progress) {
    if case .signedIn = all[id]?.progress { return }
    all[id]?.progress = progress
  }

  /// Removes the sign-ins that have expired.
  mutating func expire(at now: Instant) {
    while let id = alarms.take(dueAt: now) { all[id] = nil }
  }
}

extension ElicitationTable: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(all.count <= bound, "elicitations: the table holds no more than its bound")
    check.require(alarms.count == all.count, "elicitations: each sign-in has one alarm")
    alarms.check(&check)
    rates.check(&check)
  }
}
