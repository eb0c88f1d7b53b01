public import LinkCore
import LinkWire

/// The backend of shop messages as a value: rooms, order, limits, liveness and the end.
///
/// A request waits for the store at most; a socket goes this way:
///
///     upgrade ──► waiting ──► open ──► closing ──► forgotten
///        └► refused   └► refused   └► dropped ──────►┘
///
/// A message is broadcast after the store called it durable and in the order of its offsets; an
/// upgrade is accepted and subscribed in one step, so the head it states leaves no hole.
public struct ShopServer: ServerRules {
  let policy: ShopServerPolicy
  let startedAt: Instant
  var chance: Chance

  /// The moment of the input that is being handled.
  var now: Instant
  /// What it asks for so far; empty between inputs.
  var effects: [Effect] = []

  var mode = ServerMode.serving
  var connections: [ConnectionID: ShopSocket] = [:]
  var sockets: [String: Int] = [:]
  var rooms: [ShopID: ShopRoom] = [:]
  var removed: Set<Membership> = []
  var requests: [RequestID: Pending] = [:]
  var questions: [StoreToken: Question] = [:]
  var lastToken: UInt64 = 0
  var alarms = AlarmQueue<ConnectionID>()
  var rate: PostRate
  /// Why the last message was not stored; `nil` once one was.
  var writeFailure: StoreFailure?
  var metrics = ShopMetrics()

  /// A request that has no answer yet.
  struct Pending: Sendable {
    var route: ShopCallRoute
    var since: Instant
    /// What a post asks to be stored; `nil` for other requests.
    var draft: Draft?
  }

  /// What the store was asked.
  enum Question: Sendable {
    /// Its head, before anything else of the shop.
    case head(ShopID)
    /// To make a post durable.
    case append(ShopID, RequestID)
    /// For the whole history.
    case all(RequestID)
    /// For one page.
    case page(RequestID, PageQuery)
    /// For what an upgrade wants first.
    case arrears(ConnectionID, ShopID, after: Position)
    /// A plain server's `since`, asked as a page of the whole history.
    case newestSince(RequestID, Timestamp, PageQuery)
  }

  /// A server that begins at `now`; `seed` makes its message ids, so give each run its own.
  public init(policy: ShopServerPolicy = ShopServerPolicy(), seed: UInt64, at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    startedAt = now
    self.now = now
    chance = Chance(seed: seed)
    rate = PostRate(
      interval: policy.postInterval, burst: policy.postBurst, bound: policy.maxWatchedUsers)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .request(let id, let call, let credential, let wall):
      take(id, call, credential, wall: wall)
    case .abandoned(let id):
      requests[id] = nil
    case .upgrade(let id, let shop, let after, let credential, let wall):
      upgrade(id, to: shop, after: after, credential, wall: wall)
    case .heard(let id):
      heard(id)
    case .overflowed(let id):
      overflowed(id)
    case .gone(let id, let code):
      gone(id, code: code)
    case .stored(let token, let answer):
      stored(token, answer)
    case .removed(let membership):
      remove(membership)
    case .removals(let memberships):
      replaceRemovals(with: memberships)
    case .drain(let window):
      drain(within: window)
    }
    finishIfEmpty()
    return takeEffects()
  }

  /// Lets pings, silences, expiries and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    while let id = alarms.take(dueAt: now) {
      wake(id)
    }
    advanceDrain()
    finishIfEmpty()
    return takeEffects()
  }

  /// The next instant at which something may be due; early at most, never late.
  public var deadline: Instant? {
    [alarms.first, mode.deadline].compactMap(\.self).min()
  }

  private mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  mutating func ask(_ question: Question) -> StoreToken {
    lastToken += 1
    let token = StoreToken(lastToken)
    questions[token] = question
    return token
  }
}
