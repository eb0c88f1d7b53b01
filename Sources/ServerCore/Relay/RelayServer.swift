public import LinkCore
import LinkStorage
import LinkWire

/// The relay between assistants and phones as a value: pairing, tokens, calls, leases and the end.
///
/// A phone goes this way; a plain one, which names no device, goes from `here` to `over` at once:
///
///     upgrade ──► greeting ──► here ──► away ──► over ──► forgotten
///                    ▲          └────────┴► greeting (resumed)
///
/// A question this way, and has exactly one outcome, for the one who asked:
///
///     ask ──► waiting ──► asked ──► ended       (the phone's socket ended: waiting again)
///                └──────► leased ─► ended       (the lease expired: waiting again)
public struct RelayServer: ServerRules {
  let policy: RelayServerPolicy
  let life: String

  /// The moment of the input that is being handled.
  var now: Instant
  /// What it asks for so far; empty between inputs.
  var effects: [Effect] = []

  var mode = ServerMode.serving
  var sockets: [ConnectionID: RelaySocket] = [:]
  var addresses: [String: Int] = [:]
  /// The clients of sockets whose phone has no name yet.
  var arrivals: [ConnectionID: Arrival] = [:]
  var phones: [PhoneID: RelayPhone] = [:]
  var devices: [UUID128: PhoneID] = [:]
  /// Phones that a device was before, as far as the store still had them when the process began.
  var formers: [UUID128: [PhoneID]] = [:]
  var resumes: [TokenHash: PhoneID] = [:]
  var accesses: [TokenHash: Access] = [:]
  /// Tokens that asked since the store was told when they did.
  var unnoted: Set<TokenHash> = []
  /// Accesses that were ended before their time, so that their assistants are told why.
  var signedOut = SignedOut()
  var pairs = RelayPairs()
  var lockOut: LockOut
  var knocks: PostRate

  var calls: [CallID: RelayCall] = [:]
  var callsByRequest: [RelayRequestID: CallID] = [:]
  var callsByAsk: [AskID: CallID] = [:]
  /// Logins and logouts that wait for secrets or for the store.
  var pending: [AskID: Pending] = [:]
  /// Bytes of unfinished answers.
  var gathered = 0

  /// What waits for the store.
  var waits: [StoreToken: Written] = [:]
  /// Ends that the store failed: said again until they are durable, since what is over must not
  /// stay at rest. Each is of something that was kept, so what bounds that bounds these.
  var owedEnds: [RelayChange] = []
  /// Phones that the store failed to keep as they are: after a restart they would count as away
  /// since they left before, and lose their pairings.
  var owedPhones: Set<PhoneID> = []
  var lastStore: UInt64 = 0
  var lastCall: UInt64 = 0
  var lastLease: UInt64 = 0
  var alarms = AlarmQueue<RelayAlarm>()
  /// Why the last change was not stored; `nil` once one was.
  var storeFailure: StoreFailure?
  var metrics = RelayMetrics()

  /// An assistant's access to a phone.
  struct Access: Sendable {
    /// As the store has it, but for a newer `lastAsked`.
    var kept: StoredAccess
    /// Judged once, when it was made or restored, so that a jumping clock cuts nobody off.
    var expiresAt: Instant

    var phone: PhoneID { kept.phone }
  }

  /// A call that is no question.
  enum Pending: Sendable {
    /// The pair was right; a token is made and stored.
    case login(PhoneID, AssistantName?, wall: Timestamp)
    case logout
  }

  /// Changes on their way to the store.
  struct Written: Sendable {
    var changes: [RelayChange]
    var wait: Wait
  }

  /// What happens once a change is durable.
  enum Wait: Sendable {
    /// Nothing.
    case nothing
    /// The phone is told its resume token.
    case phone(PhoneID)
    /// The assistant is told its token.
    case access(AskID, StoredAccess, RelaySecret)
    case logout(AskID)
    case push(RequestID, PhoneID)
  }

  /// A relay that begins at `now`.
  ///
  /// `life` begins the ids of its questions and leases: at most 32 letters and digits that no other
  /// run of this backend has.
  public init(policy: RelayServerPolicy = RelayServerPolicy(), life: String, at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    self.life = String(life.prefix(32))
    self.now = now
    lockOut = LockOut(policy, at: now)
    knocks = PostRate(
      interval: policy.pushInterval, burst: policy.pushBurst, bound: policy.maxPhones)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .restored(let kept, let wall): restore(kept, wall: wall)
    case .phoneOpened(let id, let arrival, let wall): open(id, arrival, wall: wall)
    case .heard(let id): heard(id)
    case .phoneSaid(let id, let message): said(id, message)
    case .phoneUnreadable(let id, let error): unreadable(id, error)
    case .overflowed(let id): overflowed(id)
    case .phoneGone(let id, let code, let wall): gone(id, code: code, wall: wall)
    case .ask(let id, let ask, let bearer, let address, let wall):
      take(id, ask, bearer: bearer, from: address, wall: wall)
    case .abandoned(let id): abandon(id)
    case .pull(let id, let pull, let bearer, let wall): take(id, pull, bearer: bearer, wall: wall)
    case .minted(let minted): take(minted)
    case .stored(let token, let failure): stored(token, failure: failure)
    case .pushed(let id, let address, let outcome): pushed(id, to: address, outcome)
    case .drain(let window): drain(within: window)
    }
    advanceDrain()
    return takeEffects()
  }

  /// Lets pings, pairs, deadlines, leases, graces and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] {
    guard mode != .finished else { return [] }
    self.now = now
    while let alarm = alarms.take(dueAt: now) {
      switch alarm {
      case .socket(let id): wake(id)
      case .call(let id): wake(id)
      case .pending(let id): pendingExpired(id)
      case .pair(let id): pairExpired(id)
      case .grace(let id): endGrace(id)
      case .knock(let id): knock(id)
      case .access(let token): forget(token)
      case .store: storeOwed()
      case .notes: storeNotes()
      }
    }
    advanceDrain()
    return takeEffects()
  }

  /// The next instant at which something may be due; early at most, never late.
  public var deadline: Instant? {
    mode == .finished ? nil : [alarms.first, mode.deadline].compactMap(\.self).min()
  }

  private mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  /// Asks the store for a change; what follows it waits.
  mutating func store(_ changes: [RelayChange], then wait: Wait = .nothing) {
    guard !changes.isEmpty else { return }
    lastStore += 1
    let token = StoreToken(lastStore)
    waits[token] = Written(changes: changes, wait: wait)
    effects.append(.store(token, changes))
  }

  /// Whether the store is so far behind that nothing new may begin: what has begun still ends, and
  /// each call, socket and phone adds a few changes at the most.
  var isBehind: Bool { waits.count >= policy.maxWrites }

  /// The phones that are connected, and those that are being let go.
  var present: Int { sockets.count }
}
