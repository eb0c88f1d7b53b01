public import LinkCore
import LinkHealth
public import LinkStorage
public import LinkWire

/// The relay between assistants and phones as a value: pairing, tokens, questions, leases, the end.
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
  var frame: ServerFrame<Effect>
  var sockets: RelaySockets
  var phones: RelayPhones
  var pairing: RelayPairing
  var tokens: RelayTokens
  var questions: RelayQuestions
  var writes: RelayWrites
  var alarms = AlarmQueue<RelayAlarm>()
  var metrics = RelayMetrics()

  /// A relay that begins at `now`.
  ///
  /// `life` begins the ids of its questions and leases: at most 32 letters and digits that no other
  /// run of this backend has.
  public init(policy: RelayServerPolicy = RelayServerPolicy(), life: String, at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    frame = ServerFrame(at: now)
    sockets = RelaySockets(policy.timing)
    phones = RelayPhones(policy)
    pairing = RelayPairing(policy, at: now)
    tokens = RelayTokens(policy)
    questions = RelayQuestions(policy, life: life)
    writes = RelayWrites(bound: policy.maxWrites)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .restored(let kept, let wall): restore(kept, wall: wall)
    case .phoneOpened(let id, let arrival, let wall): open(id, arrival, wall: wall)
    case .heard(let id): sockets.heard(id, at: now)
    case .phoneSaid(let id, let message): said(id, message)
    case .phoneUnreadable(let id, let error): unreadable(id, error)
    case .overflowed(let id): overflowed(id)
    case .phoneGone(let id, let code, let wall): gone(id, code: code, wall: wall)
    case .call(let id, let call, let bearer, let address, let wall):
      take(id, call, bearer: bearer, from: address, wall: wall)
    case .abandoned(let id): abandon(id)
    case .pull(let id, let pull, let bearer, let wall): take(id, pull, bearer: bearer, wall: wall)
    case .minted(let minted): take(minted)
    case .stored(let token, let failure): stored(token, failure: failure)
    case .pushed(let id, let address, let outcome): pushed(id, to: address, outcome)
    case .drain(let window): drain(within: window)
    }
    advanceDrain()
    return frame.takeEffects()
  }

  /// Lets pings, pairs, deadlines, leases, graces and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] {
    guard !frame.isFinished else { return [] }
    frame.begin(at: now)
    while let alarm = alarms.take(dueAt: now) {
      switch alarm {
      case .socket(let id): wake(id)
      case .question(let id): wake(id)
      case .login(let id): loginExpired(id)
      case .pair(let id): pairExpired(id)
      case .grace(let id): endGrace(id)
      case .wakePush(let id): sendWakePush(to: id)
      case .access(let token): forget(token)
      case .store: store(writes.takePending { phones[$0] })
      case .notes: storeNotes()
      }
    }
    advanceDrain()
    return frame.takeEffects()
  }

  /// The next instant at which something may be due; early at most, never late.
  public var deadline: Instant? {
    frame.isFinished ? nil : [alarms.first, frame.mode.deadline].compactMap(\.self).min()
  }

  var now: Instant { frame.now }

  mutating func emit(_ effect: Effect) {
    frame.emit(effect)
  }

  /// Asks the store for a change; what follows it waits.
  mutating func store(_ changes: [RelayChange], then next: RelayWrites.Next = .nothing) {
    guard !changes.isEmpty else { return }
    emit(.store(writes.begin(changes, then: next), changes))
  }

  /// The store answered.
  private mutating func stored(_ token: StoreToken, failure: StoreFailure?) {
    guard let next = writes.end(token, failure: failure) else { return }
    if failure != nil {
      metrics.storeFailures += 1
      if writes.hasPending { alarms.set(.store, at: now.advanced(by: policy.storeRetry)) }
    }
    switch next {
    case .nothing: break
    case .phone(let id):
      guard failure != nil else { return greet(id) }
      guard let connection = phones[id]?.connection else { return }
      close(connection, .tryAgainLater)
      end(id, .lost)
    case .access(let call, let access, let secret):
      granted(call, access, secret, failure: failure)
    case .logout(let call):
      guard endWaiting(call) else { return }
      guard failure == nil else { return refuse(call, storeFailed) }
      answer(call, .loggedOut)
    case .push(let request, let id):
      respond(
        request,
        failure == nil ? .registered : .refused(.storeFailed(retryAfter: policy.busyRetry)))
      // This run can use the address whether or not the next one will know it.
      sendWakePush(to: id)
    }
  }
}

/// The alarms of the relay, by what they are for.
enum RelayAlarm: Sendable, Hashable, Comparable {
  case socket(ConnectionID)
  case question(QuestionID)
  case login(RequestID)
  case pair(PhoneID)
  case grace(PhoneID)
  case wakePush(PhoneID)
  case access(TokenHash)
  case store
  case notes
}

extension RelayServer {
  /// Everything that can happen to the relay.
  ///
  /// `wall` is the wall clock when the input arrived: it judges and stamps what is kept.
  public enum Input: Sendable, Hashable, Codable {
    /// What the store held when the process began; said once, before anything else.
    case restored(StoredRelay, wall: Timestamp)

    /// A well-formed upgrade of a phone arrived.
    case phoneOpened(ConnectionID, Arrival, wall: Timestamp)
    /// Any byte came from a phone's socket.
    case heard(ConnectionID)
    /// A phone sent a message.
    case phoneSaid(ConnectionID, PhoneMessage)
    /// A phone sent what is no message.
    case phoneUnreadable(ConnectionID, RelayWireError)
    /// The send queue of a phone's socket passed its bound.
    case overflowed(ConnectionID)
    /// A phone's connection is gone, with the code by which it ended (RFC 6455 section 7.1.5; 1006
    /// when it broke). Said once for every connection, whoever ended it.
    case phoneGone(ConnectionID, code: UInt16, wall: Timestamp)

    /// An assistant calls; `from` is its address, an IPv6 one cut to its /64. A call has the name
    /// of the request that it came with, which no other call of this run has.
    case call(RequestID, RelayCall, bearer: TokenHash?, from: String, wall: Timestamp)
    /// It left before the outcome.
    case abandoned(RequestID)
    /// A phone in background came for its questions, with an answer, or with an address.
    case pull(RequestID, RelayPull, bearer: TokenHash?, wall: Timestamp)

    /// What was asked for by `mint`.
    case minted(Minted)
    /// The store made a change durable, or failed to.
    case stored(StoreToken, failure: StoreFailure?)
    /// What became of a push to an address.
    case pushed(PhoneID, to: PushAddress, PushOutcome)
    /// Go away politely; phones are told to spread their return over `within`.
    case drain(within: Duration)
  }

  /// The client of an upgrade request.
  public struct Arrival: Sendable, Hashable, Codable {
    /// The header `Holdfast-Device`; a phone without it is a plain one, which cannot resume.
    public var device: UUID128?
    /// The hash of the header `Holdfast-Resume`.
    public var resume: TokenHash?
    /// The client's address, an IPv6 one cut to its /64.
    public var address: String

    /// An arrival from its parts.
    public init(device: UUID128? = nil, resume: TokenHash? = nil, address: String) {
      self.device = device
      self.resume = resume
      self.address = address
    }
  }

  /// What a secure generator drew.
  public enum Minted: Sendable, Hashable, Codable {
    /// For a phone that came: its name, its resume token and its first pair.
    case phone(ConnectionID, PhoneID, RelaySecret, RelayPair)
    /// For a phone whose pair was used or has expired.
    case pair(PhoneID, RelayPair)
    /// For an assistant that paired.
    case access(RequestID, RelaySecret)
  }
}

extension RelayServer {
  /// Everything that the relay can ask for; carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Complete a phone's upgrade.
    case accept(ConnectionID)
    /// Answer a phone's upgrade with a plain HTTP response.
    case refuse(ConnectionID, HTTPRefusal)
    /// Send a message to a phone.
    case send(ConnectionID, BackendMessage)
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame behind what is queued.
    case close(ConnectionID, Closure)
    /// End the connection without a word; `phoneGone` follows as for every end.
    case drop(ConnectionID)

    /// Tell an assistant the outcome; said once a call, never after it was abandoned.
    case answer(RequestID, RelayOutcome)
    /// Answer a pull; said once.
    case respond(RequestID, RelayReply)

    /// Draw secrets; the answer is `minted`, in the same turn or later.
    case mint(Mint)
    /// Make changes durable, all or none, in the order of these effects.
    case store(StoreToken, [RelayChange])
    /// Wake a phone; the push is worth nothing from `expiresAt` on.
    case push(PhoneID, PushAddress, expiresAt: Timestamp)
    /// The drain is over: nothing is open, or its time is up.
    case finished
  }

  /// What a secure generator is asked for.
  public enum Mint: Sendable, Hashable, Codable {
    /// A name, a resume token and a pair.
    case phone(ConnectionID)
    /// A pair.
    case pair(PhoneID)
    /// A bearer token.
    case access(RequestID)
  }
}

extension Closure {
  /// The same device came again; only the newest connection of a device stands.
  public static let replaced = Closure(4409, "replaced by another connection of this device")
  /// What the phone must be promised cannot be kept now (RFC 6455 section 7.4, IANA: 1013).
  public static let tryAgainLater = Closure(1013, "try again later")
}

// What was stored, and the drain.
extension RelayServer {
  /// Takes what was kept, before anything else happens; what is over is forgotten there too.
  private mutating func restore(_ kept: StoredRelay, wall: Timestamp) {
    var changes: [RelayChange] = []
    for phone in kept.phones.prefix(policy.maxPhones) {
      changes += restore(phone, wall: wall)
    }
    // By age, so that the order in which one more ends the oldest is that of before.
    let accesses = kept.accesses.sorted {
      ($0.since ?? $0.expiresAt, $0.token) < ($1.since ?? $1.expiresAt, $1.token)
    }
    for access in accesses {
      let expiresAt = now.advanced(by: wall.duration(to: access.expiresAt))
      guard now < expiresAt.advanced(by: policy.tokenMemory), tokens[access.token] == nil else {
        changes.append(.endAccess(access.token))
        continue
      }
      if phones[access.phone] == nil {
        phones.add(RelayPhone(knownByTokens: access.phone, at: now))
      }
      admit(access, until: expiresAt)
    }
    for question in kept.questions where !restore(question, wall: wall) {
      changes.append(.endQuestion(question.id))
    }
    for phone in kept.phones { armGrace(phone.id) }
    store(changes)
  }

  /// A phone that was connected when the process ended counts as gone from now on.
  private mutating func restore(_ kept: StoredPhone, wall: Timestamp) -> [RelayChange] {
    guard phones[kept.id] == nil else { return [] }
    let left = kept.leftAt.map { min(.zero, wall.duration(to: $0)) } ?? .zero
    let phone = RelayPhone(kept, since: now.advanced(by: left), wall: wall)
    phones.restore(phone)
    return kept.leftAt == nil ? phone.changes : []
  }

  /// A question waits for its assistant to ask it again; returns false when none could.
  private mutating func restore(_ kept: StoredQuestion, wall: Timestamp) -> Bool {
    let deadline = now.advanced(by: wall.duration(to: kept.deadline))
    guard let phone = phones[kept.phone], !phone.isOver, tokens[kept.asker] != nil,
      now < deadline, let id = questions.restore(kept, until: deadline, at: now)
    else { return false }
    arm(id)
    return true
  }

  /// The input that begins a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { frame.isFinished }

  /// Refuses new work from now on; open questions may still be answered during the grace.
  private mutating func drain(within window: Duration) {
    let isIdle = questions.isEmpty && tokens.waiting == 0
    _ = frame.drain(
      within: window, grace: isIdle ? .zero : policy.drainGrace, limit: policy.drainLimit)
  }

  private mutating func advanceDrain() {
    if let window = frame.leave() { leave(within: window) }
    if frame.givesUp { giveUp() }
    switch frame.mode {
    case .serving, .draining, .finished: return
    case .leaving: break
    }
    guard sockets.isEmpty, writes.isIdle, !writes.hasPending else { return }
    frame.finish(with: .finished)
  }

  /// Ends all calls and begins to close all sockets.
  private mutating func leave(within window: Duration) {
    storeNotes()
    let late = RelayRefusal.stopping(retryAfter: max(window, policy.busyRetry))
    for id in questions.ids { settle(id, .refused(late)) }
    for id in tokens.waitingCalls {
      endWaiting(id)
      refuse(id, late)
    }
    for id in sockets.connections { close(id, .draining(within: window)) }
  }

  /// Drops what is left when the time of the drain is up.
  private mutating func giveUp() {
    for id in sockets.connections {
      forget(id)
      emit(.drop(id))
    }
    for request in writes.giveUp() {
      respond(request, .refused(.busy(retryAfter: policy.busyRetry)))
    }
  }
}

// Assistants: logins, questions and logouts.
extension RelayServer {
  /// An assistant wants something.
  private mutating func take(
    _ id: RequestID, _ call: RelayCall, bearer: TokenHash?, from address: String, wall: Timestamp
  ) {
    guard frame.isServing else { return refuse(id, .stopping(retryAfter: policy.busyRetry)) }
    guard !writes.isBehind, questions.count + tokens.waiting < policy.maxCalls else {
      return refuse(id, .tooManyWaiting(retryAfter: policy.busyRetry))
    }
    switch call {
    case .login(let word, let code, let assistant):
      login(id, word: word, code: code, assistant, from: address, wall: wall)
    case .question(let question): take(id, question, bearer: bearer, wall: wall)
    case .logout: logout(id, bearer)
    }
  }

  private mutating func login(
    _ id: RequestID, word: String, code: String, _ assistant: AssistantName?, from address: String,
    wall: Timestamp
  ) {
    switch pairing.guess(word: word, code: code, from: address, at: now) {
    case .lockedOut(let wait): refuse(id, .lockedOut(retryAfter: wait))
    case .wrong:
      metrics.wrongPairs += 1
      refuse(id, .wrongPair)
    case .right(let phone):
      pairing.remove(phone)
      alarms.clear(.pair(phone))
      wait(id, .login(phone, assistant, wall: wall))
      emit(.mint(.access(id)))
      renewPair(of: phone)
    }
  }

  private mutating func logout(_ id: RequestID, _ bearer: TokenHash?) {
    guard let bearer, tokens[bearer] != nil else {
      return refuse(id, tokens.refusal(of: bearer, at: now))
    }
    wait(id, .logout)
    forget(bearer, then: .logout(id))
  }

  /// Lets a login or a logout wait for secrets and for the store, as long as a call may take.
  private mutating func wait(_ call: RequestID, _ login: RelayLogin) {
    tokens.wait(call, login)
    alarms.set(.login(call), at: now.advanced(by: policy.callLimit))
  }

  /// Forgets a login or a logout that waits; returns false if it does not wait any more.
  @discardableResult
  private mutating func endWaiting(_ call: RequestID) -> Bool {
    alarms.clear(.login(call))
    return tokens.endWaiting(call)
  }

  /// The store took too long: a token that it keeps after all is ended then.
  private mutating func loginExpired(_ call: RequestID) {
    guard endWaiting(call) else { return }
    refuse(call, storeFailed)
  }

  /// The token of a login was drawn: it counts once it is kept.
  mutating func grant(_ call: RequestID, _ secret: RelaySecret) {
    guard case .login(let phone, let assistant, let wall) = tokens.login(call) else { return }
    let access = StoredAccess(
      token: secret.hash, phone: phone, expiresAt: wall.advanced(by: policy.tokenLife),
      assistant: assistant, since: time(ofLogin: wall, at: phone))
    store([.access(access)], then: .access(call, access, secret))
  }

  /// Returns when a login is said to have been: later than those before it at the same phone, also
  /// where the wall clock went back, since a restart orders tokens by this time.
  private func time(ofLogin wall: Timestamp, at phone: PhoneID) -> Timestamp {
    let stored = tokens.accesses(to: phone).compactMap(\.kept.since)
    guard let last = (stored + writes.logins(at: phone)).max(), wall <= last else { return wall }
    return last.advanced(by: .nanoseconds(1))
  }

  private mutating func granted(
    _ call: RequestID, _ access: StoredAccess, _ secret: RelaySecret, failure: StoreFailure?
  ) {
    guard endWaiting(call) else {
      return store([.endAccess(access.token)])  // Its assistant has gone.
    }
    guard failure == nil else { return refuse(call, storeFailed) }
    guard let phone = phones[access.phone], !phone.isOver else {
      store([.endAccess(access.token)])
      let refusal = phones[access.phone].map { absence(of: $0) }
      return refuse(call, refusal ?? .phoneAway(since: .zero, .pairAgain))
    }
    admit(access, until: now.advanced(by: policy.tokenLife))
    let grant = RelayGrant(
      accessToken: secret.text, expiresIn: policy.tokenLife, user: phone.id.description)
    answer(call, .loggedIn(grant))
  }

  /// Lets a token ask a phone; one more than its bound ends the oldest, and says so to both ends.
  private mutating func admit(_ access: StoredAccess, until: Instant) {
    tokens.admit(access, until: until)
    alarms.set(.access(access.token), at: until.advanced(by: policy.tokenMemory))
    let all = tokens.tokens(of: access.phone)
    if all.count > policy.tokensPerPhone {
      signOut(all[0], .byAnother(limit: policy.tokensPerPhone))
    }
    armGrace(access.phone)
  }

  /// Ends an access before its time; its assistant is told why when it asks, the user at once.
  mutating func signOut(_ token: TokenHash, _ reason: RelayRefusal.SignOut) {
    guard let access = tokens[token] else { return }
    tokens.signOut(token, reason, at: now)
    forget(token, refusing: .signedOut(reason))
    guard case .byAnother(let limit) = reason, now < access.expiresAt else { return }
    let name = access.kept.assistant.map { "\($0)" } ?? "The assistant that was paired first"
    phones.change(access.phone) {
      $0.notice =
        "\(name) was signed out: another assistant was paired, and a phone has at most \(limit)."
    }
    guard let phone = phones[access.phone], case .here(let connection) = phone.presence else {
      return
    }
    tellPair(of: phone, on: connection, token: nil)
  }

  /// Forgets a token; what it still asks ends with this refusal.
  private mutating func forget(
    _ token: TokenHash, refusing refusal: RelayRefusal = .cancelled,
    then next: RelayWrites.Next = .nothing
  ) {
    guard let access = tokens.remove(token) else { return }
    alarms.clear(.access(token))
    for id in questions.line(of: access.phone) where questions[id]?.caller == token {
      settle(id, .refused(refusal))
    }
    store([.endAccess(token)], then: next)
    forgetIfUnasked(access.phone)
    armGrace(access.phone)
  }

  /// Tells the store when assistants asked last.
  private mutating func storeNotes() {
    alarms.clear(.notes)
    store(tokens.takeNotes())
  }

  var storeFailed: RelayRefusal { .storeFailed(retryAfter: policy.busyRetry) }

  mutating func refuse(_ call: RequestID, _ refusal: RelayRefusal) {
    answer(call, .refused(refusal))
  }

  mutating func answer(_ call: RequestID, _ outcome: RelayOutcome) {
    metrics.asked[outcome.word, default: 0] += 1
    emit(.answer(call, outcome))
  }

  /// The assistant has gone: nothing is said to it any more.
  private mutating func abandon(_ call: RequestID) {
    endWaiting(call)
    guard let id = questions.abandon(call) else { return }
    settle(id, .refused(.cancelled))
  }
}

// What always holds between the parts of the relay.
extension RelayServer {
  /// Notes each invariant that does not hold now.
  public func check(_ check: inout InvariantCheck) {
    check.require(
      questions.count + tokens.waiting <= policy.maxCalls && sockets.count <= policy.maxSockets,
      "relay server: calls and sockets are bounded")
    check.require(
      !writes.hasPending || alarms.keys.contains(.store),
      "relay server: what the store failed has an alarm")
    check.require(
      !tokens.hasNotes || alarms.keys.contains(.notes),
      "relay server: what the store is to be told later has an alarm")
    check.require(
      !frame.isFinished || (sockets.isEmpty && writes.isIdle && questions.isEmpty),
      "relay server: a drain ends when nothing is left to wait for")
    frame.check(&check)
    alarms.check(&check)
    sockets.check(&check)
    phones.check(&check)
    pairing.check(&check)
    tokens.check(&check)
    questions.check(&check)
    guard check.isThorough else { return }
    checkQuestions(&check)
    checkPhones(&check)
    checkAlarms(&check)
  }

  private func checkQuestions(_ check: inout InvariantCheck) {
    check.require(
      questions.allSatisfy { tokens[$1.caller]?.phone == $1.phone },
      "relay server: a question is of an access to its phone")
    check.require(
      questions.allSatisfy { _, question in
        guard case .asked(let connection) = question.stage else { return true }
        return phones[question.phone]?.connection == connection
      }, "relay server: a question is asked on the connection of its phone")
  }

  private func checkPhones(_ check: inout InvariantCheck) {
    check.require(
      tokens.allSatisfy { phones[$1.phone] != nil }
        && phones.allSatisfy { tokens.tokens(of: $0.id).count <= policy.tokensPerPhone },
      "relay server: the tokens of a phone are bounded")
    check.require(
      phones.allSatisfy { phone in
        !phone.isOver
          || (questions.line(of: phone.id).isEmpty && !tokens.tokens(of: phone.id).isEmpty)
      }, "relay server: a phone that is over is kept for its tokens alone")
    check.require(
      phones.allSatisfy { phone in
        guard phone.isAway, phone.wakePush.address != nil, !writes.storesPush(of: phone.id) else {
          return true
        }
        let waiting = questions.questions(to: phone.id)
        return !waiting.contains { $0.isNew(since: phone.wakePush.sentAt) }
          || alarms.keys.contains(.wakePush(phone.id))
      }, "relay server: a phone is woken for what waits, or has an alarm for it")
    check.require(
      pairing.allSatisfy { phone, until in
        phones[phone]?.isOver == false && alarms.rings(.pair(phone), by: until)
      }, "relay server: a pair is shown by a phone, and expires")
  }

  private func checkAlarms(_ check: inout InvariantCheck) {
    check.require(
      questions.allSatisfy { alarms.rings(.question($0), by: $1.wake) },
      "relay server: each question has an alarm")
    check.require(
      tokens.waitingCalls.allSatisfy { alarms.keys.contains(.login($0)) },
      "relay server: each login and logout that waits has an alarm")
    check.require(
      phones.allSatisfy { !$0.isAway || alarms.keys.contains(.grace($0.id)) },
      "relay server: a phone that is away has a grace")
    check.require(
      tokens.allSatisfy { token, _ in alarms.keys.contains(.access(token)) },
      "relay server: each access ends")
  }
}
