public import HoldfastCore
public import HoldfastHealth
public import HoldfastRelayData
public import HoldfastServerParts

/// The rules of the relay between assistants and phones: pairing, tokens, questions, leases, drain.
///
/// A phone passes through these stages. A plain phone sends no device identifier and skips `away`:
///
///     upgrade ──► greeting ──► here ──► away ──► over ──► forgotten
///                    ▲          └────────┴► greeting (resumed)
///
/// A question passes through these stages and has exactly one outcome:
///
///     ask ──► waiting ──► asked ──► ended       (the phone's socket ended: waiting again)
///                └──────► leased ─► ended       (the lease expired: waiting again)
public struct RelayServer: ServerRules {
  let policy: RelayServerPolicy
  var frame: ServerFrame<Effect>
  var sockets: RelaySockets
  var phones: RelayPhones
  var pairing: RelayPairing
  /// The limits of wrong secrets of health sync.
  var wrongSecrets: LockOut
  var tokens: RelayTokens
  var questions: RelayQuestions
  var writes: RelayWrites
  var alarms = AlarmQueue<RelayAlarm>()
  var metrics = RelayMetrics()

  /// Creates a relay that starts at `now`.
  ///
  /// - Parameter life: The prefix of all ids of questions and leases. It has at most 32 letters and
  ///   digits, and no other run of this backend uses it.
  public init(policy: RelayServerPolicy = RelayServerPolicy(), life: String, at now: Instant) {
    let policy = policy.workable
    self.policy = policy
    frame = ServerFrame(at: now)
    sockets = RelaySockets(policy.timing)
    phones = RelayPhones(policy)
    pairing = RelayPairing(policy, at: now)
    wrongSecrets = LockOut(policy.wrongLimits, at: now)
    tokens = RelayTokens(policy)
    questions = RelayQuestions(policy, life: life)
    writes = RelayWrites(bound: policy.maxWrites)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    frame.begin(at: now)
    switch input {
    case .restored(let stored, let wall): restore(stored, wall: wall)
    case .phoneOpened(let id, let arrival, let wall): open(id, arrival, wall: wall)
    case .received(let id): sockets.received(id, at: now)
    case .phoneSaid(let id, let message): said(id, message)
    case .phoneUnreadable(let id, let error): unreadable(id, error)
    case .overflowed(let id): overflowed(id)
    case .phoneGone(let id, let code, let wall): gone(id, code: code, wall: wall)
    case .call(let id, let call, let bearer, let address, let wall):
      take(id, call, bearer: bearer, from: address, wall: wall)
    case .abandoned(let id): abandon(id)
    case .pull(let id, let pull, let bearer, let wall): take(id, pull, bearer: bearer, wall: wall)
    case .tokenDrawn(let tokenDrawn): take(tokenDrawn)
    case .stored(let token, let failure): stored(token, failure: failure)
    case .pushed(let id, let address, let outcome): pushed(id, to: address, outcome)
    case .synced(let id, let answer): synced(id, answer)
    case .erased(let user): erase(user)
    case .drain(let window): drain(within: window)
    }
    advanceDrain()
    return frame.takeEffects()
  }

  /// Handles the pings, pairing codes, deadlines, leases, grace periods and drain steps that are
  /// due.
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

  /// The next instant at which `tick` must be called. It may be too early, but is never too late.
  public var deadline: Instant? {
    frame.isFinished ? nil : [alarms.first, frame.mode.deadline].compactMap(\.self).min()
  }

  var now: Instant { frame.now }

  mutating func emit(_ effect: Effect) {
    frame.emit(effect)
  }

  /// Writes changes to the store. `next` follows once they are durable.
  package mutating func store(_ changes: [RelayChange], then next: RelayWrites.Next = .nothing) {
    guard !changes.isEmpty else { return }
    emit(.store(writes.begin(changes, then: next), changes))
  }

  /// Handles the result of a write.
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
    case .renewal(let before): renewed(before: before, failure: failure)
    case .logout(let call):
      guard endWaiting(call) else { return }
      guard failure == nil else { return refuse(call, storeFailed) }
      answer(call, .loggedOut)
    case .synced(let request, let user):
      respond(
        request,
        failure == nil
          ? .synced(user: user) : .refused(.storeFailed(retryAfter: policy.busyRetry)))
    case .push(let request, let id):
      respond(
        request,
        failure == nil ? .registered : .refused(.storeFailed(retryAfter: policy.busyRetry)))
      // This run can use the address even if it could not be stored for the next one.
      sendWakePush(to: id)
    }
  }
}

/// The alarms of the relay.
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
  /// An input of the relay.
  ///
  /// `wall` is the wall-clock time at which the input arrived. It is used to check expiry, and it
  /// becomes the timestamp of stored data.
  public enum Input: Sendable, Hashable, Codable {
    /// The content of the store when the process started. It is sent once, before any other input.
    case restored(StoredRelay, wall: Timestamp)

    /// A well-formed upgrade request from a phone arrived.
    case phoneOpened(ConnectionID, Arrival, wall: Timestamp)
    /// At least one byte arrived from a phone's socket.
    case received(ConnectionID)
    /// A phone sent a message.
    case phoneSaid(ConnectionID, PhoneMessage)
    /// A phone sent data that is not a valid message.
    case phoneUnreadable(ConnectionID, RelayWireError)
    /// The send queue of a phone's socket exceeded its bound.
    case overflowed(ConnectionID)
    /// A phone's connection ended with a close code (RFC 6455 section 7.1.5), or was lost (1006).
    ///
    /// This input is sent once for each connection, no matter which side closed it.
    case phoneGone(ConnectionID, code: UInt16, wall: Timestamp)

    /// A call from an assistant arrived.
    ///
    /// `from` is the assistant's address; an IPv6 address is reduced to its /64 prefix. The id is
    /// that of the request that contains the call. It is unique within this run.
    case call(RequestID, RelayCall, bearer: TokenHash?, from: String, wall: Timestamp)
    /// The assistant disconnected before it received the outcome.
    case abandoned(RequestID)
    /// A phone in the background requests questions, or sends an answer, a push address or an
    /// order.
    case pull(RequestID, RelayPull, bearer: TokenHash?, wall: Timestamp)

    /// The result of a token request arrived, after `drawToken`.
    case tokenDrawn(DrawnToken)
    /// The store made changes durable, or failed to do so.
    case stored(StoreToken, failure: StoreFailure?)
    /// The result of a push to an address arrived.
    case pushed(PhoneID, to: PushAddress, PushOutcome)
    /// The result of reading synced samples for a question arrived. It is `nil` if there are none.
    case synced(RelayRequestID, HealthObject?)
    /// All data of a user of health sync must be erased, with the pairings of the user's phones.
    case erased(user: String)
    /// The relay must drain. Phones are asked to spread their reconnects over `within`.
    case drain(within: Duration)
  }

  /// A phone that requests an upgrade.
  public struct Arrival: Sendable, Hashable, Codable {
    /// The header field `Holdfast-Device`. A phone that does not send it is a plain phone and
    /// cannot resume.
    public var device: UUID128?
    /// The hash of the header field `Holdfast-Resume`.
    public var resume: TokenHash?
    /// The client's address. An IPv6 address is reduced to its /64 prefix.
    public var address: String

    /// Creates an arrival from its parts.
    public init(device: UUID128? = nil, resume: TokenHash? = nil, address: String) {
      self.device = device
      self.resume = resume
      self.address = address
    }
  }

  /// The result of a token request, created by a secure random number generator.
  public enum DrawnToken: Sendable, Hashable, Codable {
    /// The id, the resume token and the first pairing code of a new phone.
    case phone(ConnectionID, PhoneID, RelaySecret, RelayPair)
    /// A pairing code for a phone whose previous code was used or has expired.
    case pair(PhoneID, RelayPair)
    /// A bearer token for an assistant that paired, or the secret of a grant.
    case access(RequestID, RelaySecret)
  }
}

extension RelayServer {
  /// An effect of the relay. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Complete a phone's upgrade.
    case accept(ConnectionID)
    /// Answer a phone's upgrade with a plain HTTP response.
    case refuse(ConnectionID, HTTPRefusal)
    /// Send a message to a phone.
    case send(ConnectionID, BackendMessage)
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame after all queued data.
    case close(ConnectionID, Closure)
    /// Drop the connection without a close frame. `phoneGone` follows, as after every connection.
    case drop(ConnectionID)

    /// Send an assistant the outcome of its call. This happens once for each call, and never after
    /// the call was abandoned.
    case answer(RequestID, RelayOutcome)
    /// Respond to a pull. This happens once for each pull.
    case respond(RequestID, RelayReply)

    /// Create secrets. `tokenDrawn` follows, immediately or later.
    case drawToken(TokenRequest)
    /// Make all of these changes durable, or none of them. Effects are stored in order.
    case store(StoreToken, [RelayChange])
    /// Wake a phone with a push. The push is useless from `expiresAt` on.
    case push(PhoneID, PushAddress, expiresAt: Timestamp)
    /// Answer a question from the synced samples of a user. `synced` follows.
    case readSynced(RelayRequestID, HealthQuestion, SyncedUser)
    /// Report the end of the drain: no work is open, or the time limit has passed.
    case finished
  }

  /// A request for secrets from a secure random number generator.
  public enum TokenRequest: Sendable, Hashable, Codable {
    /// A request for an id, a resume token and a pairing code.
    case phone(ConnectionID)
    /// A request for a pairing code.
    case pair(PhoneID)
    /// A request for a bearer token.
    case access(RequestID)
    /// A request for the secret of a grant. Its hash must differ from that of any bearer token, so
    /// that the secret is no bearer token.
    case grant(RequestID)
  }
}

extension Closure {
  /// The close frame for a connection whose device connected again. Only the newest stays open.
  public static let replaced = Closure(4409, "replaced by another connection of this device")
}

// The stored state, and the drain.
extension RelayServer {
  /// Restores the stored state before any other input, and removes expired data.
  private mutating func restore(_ stored: StoredRelay, wall: Timestamp) {
    var changes: [RelayChange] = []
    for phone in stored.phones.prefix(policy.maxPhones) {
      changes += restore(phone, wall: wall)
    }
    // Accesses are sorted by age, so that at the bound the oldest one still ends first.
    let accesses = stored.accesses.sorted {
      ($0.since ?? $0.expiresAt, $0.token) < ($1.since ?? $1.expiresAt, $1.token)
    }
    for access in accesses {
      let expiresAt = now.advanced(by: wall.duration(to: access.expiresAt))
      guard now < expiresAt.advanced(by: policy.tokenMemory), tokens[access.token] == nil else {
        changes.append(.endAccess(access.token))
        continue
      }
      if phones[access.phone] == nil {
        guard access.generation == nil else {
          changes.append(.endAccess(access.token))
          continue
        }
        phones.add(RelayPhone(knownByTokens: access.phone, at: now))
      }
      // A phone that was away does not know of an access since then.
      let left = phones[access.phone]?.leftAt
      admit(access, until: expiresAt, isNew: left.map { (access.since ?? $0) > $0 } ?? false)
    }
    for question in stored.questions where !restore(question, wall: wall) {
      changes.append(.endQuestion(question.id))
    }
    for phone in stored.phones { armGrace(phone.id) }
    store(changes)
  }

  /// Restores a phone. If it was connected when the process ended, it counts as away from now on.
  private mutating func restore(_ stored: StoredPhone, wall: Timestamp) -> [RelayChange] {
    guard phones[stored.id] == nil else { return [] }
    let left = stored.leftAt.map { min(.zero, wall.duration(to: $0)) } ?? .zero
    let phone = RelayPhone(stored, since: now.advanced(by: left), wall: wall)
    phones.restore(phone)
    return stored.leftAt == nil ? phone.changes : []
  }

  /// Restores a question. It waits until its assistant repeats it. Returns false if no assistant
  /// can.
  private mutating func restore(_ stored: StoredQuestion, wall: Timestamp) -> Bool {
    let deadline = now.advanced(by: wall.duration(to: stored.deadline))
    guard let phone = phones[stored.phone], !phone.isOver, tokens[stored.caller] != nil,
      now < deadline, let id = questions.restore(stored, until: deadline, at: now)
    else { return false }
    arm(id)
    return true
  }

  /// Returns the input that starts a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { frame.isFinished }

  /// Refuses new work from now on. Open questions may still be answered during the grace period.
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

  /// Ends all calls and starts to close all sockets.
  private mutating func leave(within window: Duration) {
    storeNotes()
    let late = RelayRefusal.stopping(retryAfter: max(window, policy.busyRetry))
    for id in questions.ids { finish(id, .refused(late)) }
    for id in tokens.waitingCalls {
      endWaiting(id)
      refuse(id, late)
    }
    for id in sockets.connections { close(id, .draining(within: window)) }
  }

  /// Drops all remaining work when the time limit of the drain has passed.
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
  /// Handles a call from an assistant.
  private mutating func take(
    _ id: RequestID, _ call: RelayCall, bearer: TokenHash?, from address: String, wall: Timestamp
  ) {
    guard frame.isServing else { return refuse(id, .stopping(retryAfter: policy.busyRetry)) }
    guard !writes.isBehind, questions.count + tokens.waiting < policy.maxCalls else {
      return refuse(id, .tooManyWaiting(retryAfter: policy.busyRetry))
    }
    switch call {
    case .login(let word, let code, let assistant):
      login(id, word: word, code: code, assistant, from: address, wall: wall, isGrant: false)
    case .grant(let word, let code, let assistant):
      login(id, word: word, code: code, assistant, from: address, wall: wall, isGrant: true)
    case .renew(let generation): renew(id, from: generation, bearer, wall: wall)
    case .question(let question): take(id, question, bearer: bearer, wall: wall)
    case .logout: logout(id, bearer)
    }
  }

  private mutating func login(
    _ id: RequestID, word: String, code: String, _ assistant: AssistantName?, from address: String,
    wall: Timestamp, isGrant: Bool
  ) {
    switch pairing.guess(word: word, code: code, from: address, at: now) {
    case .lockedOut(let wait): refuse(id, .lockedOut(retryAfter: wait))
    case .wrong:
      metrics.wrongPairs += 1
      refuse(id, .wrongPair)
    case .right(let phone):
      pairing.remove(phone)
      alarms.clear(.pair(phone))
      wait(id, .login(phone, assistant, wall: wall, isGrant: isGrant))
      emit(.drawToken(isGrant ? .grant(id) : .access(id)))
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

  /// Makes a login or logout wait for secrets and the store, up to the time limit of a call.
  mutating func wait(_ call: RequestID, _ login: RelayLogin) {
    tokens.wait(call, login)
    alarms.set(.login(call), at: now.advanced(by: policy.callLimit))
  }

  /// Removes a waiting login or logout. Returns false if it no longer waits.
  @discardableResult
  mutating func endWaiting(_ call: RequestID) -> Bool {
    alarms.clear(.login(call))
    return tokens.endWaiting(call)
  }

  /// Refuses a login or logout whose write took too long. If its token is stored later, it is ended
  /// then.
  private mutating func loginExpired(_ call: RequestID) {
    guard endWaiting(call) else { return }
    refuse(call, storeFailed)
  }

  /// Stores the new token of a login. The token becomes valid once it is stored.
  mutating func grant(_ call: RequestID, _ secret: RelaySecret) {
    guard case .login(let phone, let assistant, let wall, let isGrant) = tokens.login(call) else {
      return
    }
    let access = StoredAccess(
      token: secret.hash, phone: phone, expiresAt: wall.advanced(by: life(isGrant: isGrant)),
      assistant: assistant, since: time(ofLogin: wall, at: phone), generation: isGrant ? 0 : nil)
    store([.access(access)], then: .access(call, access, secret))
  }

  /// Returns the lifetime of a new token. A grant is renewed when its code is redeemed.
  private func life(isGrant: Bool) -> Duration { isGrant ? policy.grantWait : policy.tokenLife }

  /// Returns the time to record for a login. It is later than the times of all earlier logins at
  /// the same phone.
  ///
  /// A restart orders tokens by these times, so they must increase even if the wall clock was set
  /// back.
  private func time(ofLogin wall: Timestamp, at phone: PhoneID) -> Timestamp {
    let stored = tokens.accesses(to: phone).compactMap(\.stored.since)
    guard let last = (stored + writes.logins(at: phone)).max(), wall <= last else { return wall }
    return last.advanced(by: .nanoseconds(1))
  }

  private mutating func granted(
    _ call: RequestID, _ access: StoredAccess, _ secret: RelaySecret, failure: StoreFailure?
  ) {
    guard endWaiting(call) else {
      return store([.endAccess(access.token)])  // The assistant has disconnected.
    }
    guard failure == nil else { return refuse(call, storeFailed) }
    guard let phone = phones[access.phone], !phone.isOver else {
      store([.endAccess(access.token)])
      let refusal = phones[access.phone].map { absence(of: $0) }
      return refuse(call, refusal ?? .phoneAway(since: .zero, .pairAgain))
    }
    let life = life(isGrant: access.generation != nil)
    admit(access, until: now.advanced(by: life), isNew: true)
    let grant = RelayGrant(
      accessToken: secret.text, expiresIn: life, user: phone.id.description)
    answer(call, .loggedIn(grant))
    if phone.device != nil, tokens.hasNew(to: phone.id) { sendPairAgain(to: phone.id) }
  }

  /// Admits a token.
  ///
  /// At a phone's limit of tokens, an expired token ends, or else the oldest grant whose code was not
  /// redeemed, or else the oldest token. The phone and the assistant receive the reason.
  private mutating func admit(_ access: StoredAccess, until: Instant, isNew: Bool) {
    tokens.admit(access, until: until, isNew: isNew, at: now)
    alarms.set(.access(access.token), at: until.advanced(by: policy.tokenMemory))
    let all = tokens.tokens(of: access.phone)
    if all.count > policy.tokensPerPhone {
      let others = all.dropLast()
      let expired = others.first { tokens[$0].map { $0.expiresAt <= now } ?? true }
      let unredeemed = others.first { tokens[$0]?.stored.generation == 0 }
      signOut(expired ?? unredeemed ?? all[0], .byAnother(limit: policy.tokensPerPhone))
    }
    armGrace(access.phone)
  }

  /// Ends an access early. The assistant receives the reason with its next call, and the user
  /// immediately.
  mutating func signOut(_ token: TokenHash, _ reason: RelayRefusal.SignOut) {
    guard let access = tokens[token] else { return }
    tokens.signOut(token, reason, at: now)
    forget(token, refusing: .signedOut(reason))
    guard case .byAnother(let limit) = reason, now < access.expiresAt else { return }
    let name = access.stored.assistant.map { "\($0)" } ?? "The assistant that was paired first"
    phones.change(access.phone) {
      $0.notice =
        "\(name) was signed out: another assistant was paired, and a phone has at most \(limit)."
    }
    sendPairAgain(to: access.phone)
  }

  /// Removes a token. Its open questions end with the given refusal.
  mutating func forget(
    _ token: TokenHash, refusing refusal: RelayRefusal = .cancelled,
    then next: RelayWrites.Next = .nothing
  ) {
    guard let access = tokens.remove(token) else { return }
    alarms.clear(.access(token))
    for id in questions.line(of: access.phone) where questions[id]?.caller == token {
      finish(id, .refused(refusal))
    }
    store([.endAccess(token)], then: next)
    forgetIfUnasked(access.phone)
    armGrace(access.phone)
  }

  /// Stores the times of the assistants' last questions.
  private mutating func storeNotes() {
    alarms.clear(.notes)
    store(tokens.takeNotes())
  }

  var storeFailed: RelayRefusal { .storeFailed(retryAfter: policy.busyRetry) }

  mutating func refuse(_ call: RequestID, _ refusal: RelayRefusal) {
    answer(call, .refused(refusal))
  }

  package mutating func answer(_ call: RequestID, _ outcome: RelayOutcome) {
    metrics.asked[outcome.name, default: 0] += 1
    emit(.answer(call, outcome))
  }

  /// Handles an assistant that disconnected. It receives no response.
  private mutating func abandon(_ call: RequestID) {
    endWaiting(call)
    guard let id = questions.abandon(call) else { return }
    finish(id, .refused(.cancelled))
  }
}

// The invariants between the parts of the relay.
extension RelayServer {
  /// Records each invariant that does not hold.
  public func check(_ check: inout InvariantCheck) {
    check.require(
      questions.count + tokens.waiting <= policy.maxCalls && sockets.count <= policy.maxSockets,
      "relay server: calls and sockets are bounded")
    check.require(
      !writes.hasPending || alarms.keys.contains(.store),
      "relay server: a failed write has an alarm")
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
    wrongSecrets.check(&check)
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
