import LinkCore
import LinkHealth
import LinkServerCore
import LinkWire

/// What the server of the relay must do, told a second time (seed 000, contract 1, decisions 0016
/// and 0030).
///
/// It shares no rule with the server, and looks up in its lists what the server counts as it goes.
/// Left out is the bound of 4,096 accesses that are remembered as ended.
struct RelayHouse: Sendable {
  typealias Effect = RelayServer.Effect

  /// A phone, as long as an assistant may ask for it.
  struct Phone: Sendable {
    let id: PhoneID
    let device: UUID128?
    let resume: TokenHash?
    var place: Place
    var push: PushAddress?
    var notice: String?
    var shown: RelayPair?
    var shownUntil = Instant.zero
    var done: [Done] = []
    var seenAt: Instant
    var leftAt: Timestamp?
    var wokenAt: Instant?
    var visitUntil: Instant?
    var quietUntil: Instant?
  }

  /// Where a phone is.
  enum Place: Sendable, Equatable {
    case arriving(ConnectionID, token: String?)
    case here(ConnectionID)
    case away(since: Instant)
    case over(since: Instant, isReplaced: Bool)
  }

  /// A question that was leased and ended.
  struct Done: Sendable {
    let id: RelayRequestID
    let lease: String
    let wasTaken: Bool
  }

  /// A phone's socket.
  struct Socket: Sendable {
    let address: String
    var phone: PhoneID?
    /// The arrival of a phone that waits for its name.
    var arrival: RelayServer.Arrival?
    /// Answers of a plain phone that may still come, and are worth nothing.
    var owed = 0
    var heardAt: Instant
    var pingAt: Instant
    var closesAt: Instant?
  }

  /// A question from its arrival to its outcome.
  struct Call: Sendable {
    let number: UInt64
    let id: RelayRequestID
    let phone: PhoneID
    let asker: TokenHash
    let question: HealthQuestion
    var ask: AskID?
    let since: Instant
    var deadline: Instant
    var deadlineWall: Timestamp
    var stage: Stage
    var tries = 0
    var leases = 0
    var isKept = false
    /// What came of its answer.
    var text = ""
    var pieces = 0
    var wanted: Int?
  }

  /// Where a question is.
  enum Stage: Sendable, Equatable {
    case waits(since: Instant)
    case asked(ConnectionID)
    case leased(String, until: Instant)
  }

  /// A token of an assistant.
  struct Access: Sendable {
    var kept: KeptAccess
    let until: Instant
  }

  /// A token that was ended before its time.
  struct Ended: Sendable {
    let token: TokenHash
    let reason: RelayRefusal.SignOut
    let until: Instant
  }

  /// A login or a logout that is not done.
  enum Pending: Sendable {
    case login(PhoneID, AssistantName?, Timestamp)
    case logout
  }

  /// Changes on their way to the store.
  struct Written: Sendable {
    let changes: [RelayChange]
    let then: Then
  }

  /// What follows once changes are durable.
  enum Then: Sendable {
    case nothing
    case phone(PhoneID)
    case access(AskID, KeptAccess, String)
    case logout(AskID)
    case push(RequestID, PhoneID)
  }

  /// What is due at a time; what is due at one time comes in this order.
  enum Bell: Sendable, Hashable, Comparable {
    case socket(ConnectionID)
    case call(UInt64)
    case pending(AskID)
    case pair(PhoneID)
    case grace(PhoneID)
    case knock(PhoneID)
    case access(TokenHash)
    case store
    case notes
  }

  /// How far the server is on its way to its end.
  enum Mode: Sendable, Equatable {
    case serves, ended
    case warns(within: Duration, closeAt: Instant, until: Instant)
    case leaves(until: Instant)
  }

  let numbers: RelayServerPolicy
  let life: String
  var now: Instant
  var out: [Effect] = []
  var mode = Mode.serves
  var sockets: [ConnectionID: Socket] = [:]
  var phones: [PhoneID: Phone] = [:]
  /// In the order of their arrival.
  var calls: [Call] = []
  /// In the order in which they were let in.
  var accesses: [Access] = []
  var ended: [Ended] = []
  var pending: [AskID: Pending] = [:]
  var waits: [UInt64: Written] = [:]
  var owedEnds: [RelayChange] = []
  var owedPhones: Set<PhoneID> = []
  var unnoted: Set<TokenHash> = []
  var lock: RelayHouseLock
  /// When each phone may be woken as often as at first.
  var restedAt: [PhoneID: Instant] = [:]
  var lastCall: UInt64 = 0
  var lastLease: UInt64 = 0
  var lastStore: UInt64 = 0
  var bells: [Bell: Instant] = [:]
  var failure: StoreFailure?
  var counts: [String: UInt64] = [:]

  init(_ policy: RelayServerPolicy, life: String, at now: Instant) {
    numbers = Self.least(policy)
    (self.life, self.now) = (String(life.prefix(32)), now)
    lock = RelayHouseLock(numbers, at: now)
  }

  // Steps.

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: RelayServer.Input?, at now: Instant) -> [Effect] {
    (self.now, out) = (now, [])
    if let input { take(input) } else { ring() }
    goOnLeaving()
    return out
  }

  var deadline: Instant? {
    let due = bells.values.min()
    switch mode {
    case .serves, .ended: return due
    case .warns(_, let at, let until): return min(due ?? at, at, until)
    case .leaves(let until): return min(due ?? until, until)
    }
  }

  private mutating func ring() {
    while let first = bells.filter({ $0.value <= now })
      .min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
    {
      bells[first.key] = nil
      switch first.key {
      case .socket(let id): look(at: id)
      case .call(let number): timeIsUp(number)
      case .pending(let ask):
        if pending.removeValue(forKey: ask) != nil { refuse(ask, .storeFailed(retryAfter: busy)) }
      case .pair(let id):
        phones[id]?.shown = nil
        renewPair(of: id)
      case .grace(let id): if phones[id]?.isAway == true { end(id) }
      case .knock(let id): knock(id)
      case .access(let token): forget(token)
      case .store: storeOwed()
      case .notes: storeNotes()
      }
    }
  }

  private mutating func take(_ input: RelayServer.Input) {
    switch input {
    case .restored(let kept, let wall): restore(kept, wall)
    case .phoneOpened(let id, let arrival, _): open(id, arrival)
    case .heard(let id): if isOpen(id) { sockets[id]?.heardAt = now }
    case .phoneSaid(let id, let message): hear(id, message)
    case .phoneUnreadable(let id, let error): puzzle(id, error)
    case .overflowed(let id):
      guard isOpen(id) else { return }
      count("relay_slow_readers_total")
      close(id, 1013, "slow reader")
    case .phoneGone(let id, let code, let wall): gone(id, code, wall)
    case .ask(let id, let ask, let bearer, let from, let wall):
      answer(id, ask, bearer, from: from, wall)
    case .abandoned(let id): abandon(id)
    case .pull(let id, let pull, let bearer, let wall): serve(id, pull, bearer, wall)
    case .minted(let minted): take(minted)
    case .stored(let token, let failure): stored(token.number, failure)
    case .pushed(let id, let address, let outcome): pushed(id, address, outcome)
    case .drain(let window): drain(within: window)
    }
  }

  private mutating func take(_ minted: RelayServer.Minted) {
    switch minted {
    case .phone(let connection, let id, let secret, let pair):
      introduce(connection, id, secret, pair)
    case .pair(let id, let pair): show(pair, of: id)
    case .access(let ask, let secret): grant(ask, secret)
    }
  }

  // Small parts.

  var busy: Duration { numbers.busyRetry }
  var isBehind: Bool { waits.count >= numbers.maxWrites }

  mutating func ring(_ bell: Bell, after time: Duration) { bells[bell] = now.advanced(by: time) }
  mutating func count(_ name: String) { counts[name, default: 0] += 1 }

  mutating func store(_ changes: [RelayChange], then: Then = .nothing) {
    if changes.isEmpty { return }
    lastStore += 1
    waits[lastStore] = Written(changes: changes, then: then)
    out.append(.store(StoreToken(lastStore), changes))
  }

  /// Has a phone stored as it is; a plain one cannot come back.
  mutating func keep(_ id: PhoneID, then: Then = .nothing) {
    if let kept = phones[id]?.kept { store([.phone(kept)], then: then) }
  }

  func access(_ token: TokenHash?) -> Access? { accesses.first { $0.kept.token == token } }
  func accesses(to phone: PhoneID) -> [Access] { accesses.filter { $0.kept.phone == phone } }
  func calls(to phone: PhoneID) -> [Call] { calls.filter { $0.phone == phone } }
  func place(of call: UInt64) -> Int? { calls.firstIndex { $0.number == call } }
}

extension RelayHouse.Phone {
  var connection: ConnectionID? {
    switch place {
    case .arriving(let id, _), .here(let id): id
    case .away, .over: nil
    }
  }

  var leftSince: Instant? { if case .away(let since) = place { since } else { nil } }
  var isAway: Bool { leftSince != nil }
  var isOver: Bool { if case .over = place { true } else { false } }

  var kept: KeptPhone? {
    guard let device, let resume else { return nil }
    return KeptPhone(id: id, device: device, resume: resume, push: push, leftAt: leftAt)
  }
}

extension RelayHouse.Call {
  var waitsSince: Instant? { if case .waits(let since) = stage { since } else { nil } }
  var isWaiting: Bool { waitsSince != nil }
  var leaseEnd: Instant? { if case .leased(_, let until) = stage { until } else { nil } }

  var kept: KeptQuestion {
    KeptQuestion(
      id: id, phone: phone, asker: asker, question: question, deadline: deadlineWall)
  }
}
