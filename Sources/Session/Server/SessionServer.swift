public import HoldfastCore
public import HoldfastIdentity
public import HoldfastServerParts
public import HoldfastSessionData

/// The rules of the session server: handshakes, prompts, answers, conversations and the drain.
///
/// A client may have several sockets. Each socket passes through these stages:
///
///     upgrade ──► greeted (hello) ──► connected ──► closing ──► gone
///
/// A prompt passes through the stages of `SessionTurn`. It is stored before `ack` is sent, and its
/// start is stored before its handler starts. Its answer is stored before `response` is sent. At
/// most one prompt of a conversation is under way. An answer is stored until its client
/// acknowledges it.
///
/// Clients with the server's key share all conversations. A user whose token the upgrade had sees
/// only those of their own.
public struct SessionServer: ServerRules {
  let policy: SessionServerPolicy

  /// The time of the input that is being handled.
  private var now: Instant
  private var clock: WallClock
  /// The effects of the current input. The list is empty between inputs.
  var effects: [Effect] = []
  private(set) var mode = ServerMode.serving
  private var alarms = AlarmQueue<SessionAlarm>()
  private var generator: RandomSource
  private var rate: TokenBuckets

  var sockets = SessionSockets()
  var clients: [String: SessionClient] = [:]
  var conversations = Conversations()
  var prompts = SessionPrompts()
  var writes = SessionWrites()
  var metrics = SessionMetrics()

  /// Creates a server that starts at `now`.
  ///
  /// - Parameter seed: The seed of the ids of the server's messages, new in each run.
  public init(
    policy: SessionServerPolicy = SessionServerPolicy(), seed: UInt64, at now: Instant
  ) {
    let policy = policy.workable
    self.policy = policy
    self.now = now
    clock = WallClock(Timestamp(nanoseconds: 0), at: now)
    generator = RandomSource(seed: seed)
    rate = TokenBuckets(
      interval: policy.promptInterval, burst: policy.promptBurst, bound: policy.maxClients)
  }

  /// Handles one input and returns the resulting effects, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .restored(let stored, let wall):
      read(wall)
      restore(stored)
    case .opened(let id, let arrival, let wall):
      read(wall)
      open(id, arrival)
    case .received(let id): sockets.change(id) { $0.life.received(at: now) }
    case .said(let id, let message, let proof, let wall):
      read(wall)
      received(id, message, proof)
    case .unreadable(let id, let detail, let field): unreadable(id, detail, field)
    case .drained(let id): drained(id)
    case .overflowed(let id): overflowed(id)
    case .gone(let id, let wall):
      read(wall)
      forget(id)
    case .produced(let id, let text): produced(id, text)
    case .ended(let id, let result, let wall):
      read(wall)
      handlerEnded(id, result)
    case .stored(let token, let failure, let wall):
      read(wall)
      stored(token, failure)
    case .erased(let user): erase(user)
    case .drain(let window): drain(within: window)
    }
    advanceDrain()
    return takeEffects()
  }

  /// Handles the pings, heartbeats, time-outs and drain steps that are due.
  public mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    while let alarm = alarms.take(dueAt: now) {
      switch alarm {
      case .socket(let id): wake(id)
      case .beat(let id): beat(id)
      case .expiry(let id): close(id, .expired)
      case .turn(let id): turnExpired(id)
      case .store: storePending()
      case .acks: store([])
      case .memory: forgetOld()
      }
    }
    advanceDrain()
    return takeEffects()
  }

  /// The next instant at which `tick` must be called. It may be too early, but is never too late.
  public var deadline: Instant? {
    [alarms.first, mode.deadline].compactMap(\.self).min()
  }

  /// Returns the unanswered challenge of a connection, which is needed to verify its `connect`.
  public func challenge(of id: ConnectionID) -> String? {
    guard case .greeted(let challenge) = sockets[id]?.stage else { return nil }
    return challenge
  }

  private mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  private mutating func read(_ wall: Timestamp) { clock.set(wall, at: now) }

  /// The current wall-clock time.
  var wall: Timestamp { clock.time(at: now) }

  /// Returns a fresh id for a message.
  mutating func freshID() -> String { UUID128.random(using: &generator).description }

  /// Sets an alarm, and replaces its earlier time if it is already set.
  mutating func arm(_ alarm: SessionAlarm, after wait: Duration) {
    alarms.set(alarm, at: now.advanced(by: wait))
  }

  /// Clears an alarm.
  mutating func disarm(_ alarm: SessionAlarm) { alarms.clear(alarm) }

  /// Counts a prompt from a client. Returns false if the client exceeds its rate.
  mutating func spendPrompt(of client: String) -> Bool { rate.spend(client, at: now) == nil }
}

// MARK: - Inputs and effects

extension SessionServer {
  /// An input of the session server.
  ///
  /// `wall` is the wall-clock time at which the input arrived. It becomes the timestamp of stored
  /// data.
  public enum Input: Sendable, Hashable, Codable {
    /// The content of the store when the process started. It is sent once, before any other input.
    case restored(StoredSessions, wall: Timestamp)

    /// A well-formed upgrade request arrived.
    case opened(ConnectionID, Arrival, wall: Timestamp)
    /// At least one byte arrived from a socket.
    case received(ConnectionID)
    /// A client sent a message. `proof` is the result of checking the credentials in a `connect`.
    case said(ConnectionID, SessionClientMessage, proof: Proof, wall: Timestamp)
    /// A client sent an invalid message. If only one field is invalid, `field` is its name.
    case unreadable(ConnectionID, detail: String, field: String?)
    /// After `noticeDrain`, the socket has sent all queued data.
    case drained(ConnectionID)
    /// The send queue of a socket exceeded its bound.
    case overflowed(ConnectionID)
    /// A connection ended. This input is sent once, no matter which side closed it.
    case gone(ConnectionID, wall: Timestamp)

    /// The handler of a prompt produced a part of its response.
    case produced(SessionPromptID, String)
    /// The handler of a prompt has ended. This input is sent once for each `run`.
    case ended(SessionPromptID, SessionResponse.Result, wall: Timestamp)

    /// The store made changes durable, or failed to do so.
    case stored(StoreToken, failure: StoreFailure?, wall: Timestamp)
    /// All clients, prompts and conversations of a user must be erased.
    case erased(user: String)
    /// The server must drain. Clients are asked to spread their reconnects over `within`.
    case drain(within: Duration)
  }

  /// A client that requests an upgrade.
  public struct Arrival: Sendable, Hashable, Codable {
    /// The client's address. An IPv6 address is reduced to its /64 prefix.
    public var address: String
    /// A challenge of 32 unpredictable lower-case hexadecimal digits.
    public var challenge: String
    /// The token of an identity provider in the request; `nil` for a client with the server's key.
    public var credential: Credential?

    /// Creates an arrival from its parts.
    public init(address: String, challenge: String, credential: Credential? = nil) {
      (self.address, self.challenge) = (address, challenge)
      self.credential = credential
    }
  }

  /// The result of checking the credentials of a `connect`.
  public enum Proof: Sendable, Hashable, Codable {
    /// The credentials are missing or wrong.
    case none
    /// The client sent the server's key.
    case key
    /// The client signed the challenge of its connection with the server's key.
    case challenge
  }
}

extension SessionServer {
  /// An effect of the session server. Effects are carried out in order.
  public enum Effect: Sendable, Hashable, Codable {
    /// Complete an upgrade.
    case accept(ConnectionID)
    /// Answer an upgrade with a plain HTTP response.
    case refuse(ConnectionID, HTTPRefusal)
    /// Send a message to a client.
    case send(ConnectionID, SessionServerMessage)
    /// Report `drained` once the socket has sent everything.
    case noticeDrain(ConnectionID)
    /// Send a ping frame (RFC 6455 section 5.5.2).
    case ping(ConnectionID)
    /// Send a close frame after all queued data.
    case close(ConnectionID, Closure)
    /// Drop the connection without a close frame. `gone` follows, as after every connection.
    case drop(ConnectionID)

    /// Start the handler of a prompt. This happens at most once for each prompt.
    case run(SessionPromptID, SessionPrompt)
    /// Cancel the handler of a prompt. `ended` follows, as after every handler.
    case cancel(SessionPromptID)

    /// Make all of these changes durable, or none of them. Effects are stored in order.
    case store(StoreToken, [SessionChange])
    /// Report the end of the drain: no work is open, or the time limit has passed.
    case finished
  }
}

// MARK: - Handshake

extension SessionServer {
  /// Connects a client with a user's token, or one that sent the key or signed the challenge of its
  /// connection.
  private mutating func connect(_ id: ConnectionID, _ connect: SessionConnect, _ proof: Proof) {
    guard sockets[id]?.user != nil || isProven(connect, proof) else { return refuseHandshake(id) }
    guard let version = SessionVersion.negotiated(connect.version) else {
      metrics.outdated += 1
      send(id, .error(.outdated(connect.version)))
      return close(id, .upgradeRequired)
    }
    guard admit(connect.session) else {
      fail(id, "busy", "The server remembers as many clients as it can; try again later.")
      return close(id, .tryAgainLater)
    }
    let features = connect.features.intersection(SessionFeature.allCases)
    let peer = SessionSocket.Peer(
      client: connect.session, version: version, features: features,
      maxBytes: min(policy.usualMessageBytes, policy.maxMessageBytes))
    sockets.change(id) { $0.stage = .connected(peer) }
    metrics.connected += 1
    clients[connect.session]?.sockets.append(id)
    arm(.beat(id), after: policy.heartbeat)
    let isRecovered = resume(connect)
    send(
      id,
      .connected(
        SessionConnected(
          message: "Session registered", session: connect.session, version: version,
          features: features, received: clients[connect.session]?.stored.lastPrompt,
          isRecovered: isRecovered)))
    if !isRecovered { reportLoss(id) }
    catchUp(id, peer)
    closeOldest(of: connect.session)
  }

  private func isProven(_ connect: SessionConnect, _ proof: Proof) -> Bool {
    switch proof {
    case .none: return false
    case .key: return true
    case .challenge:
      guard let timestamp = connect.timestamp else { return false }
      let skew = wall.duration(to: timestamp)
      return skew <= policy.clockTolerance && skew >= .zero - policy.clockTolerance
    }
  }

  /// Reports that the key is wrong or missing, and closes the socket.
  private mutating func refuseHandshake(_ id: ConnectionID) {
    metrics.unauthorized += 1
    send(id, .authError(message: "Authentication failed"))
    close(id, .unauthorized)
  }

  /// Adds a client. At the bound, it replaces the client that has been away the longest.
  private mutating func admit(_ id: String) -> Bool {
    guard clients[id] == nil else {
      let seenAt = wall
      clients[id]?.stored.seenAt = seenAt
      return true
    }
    if let user = SessionNames.split(id).user {
      let start = SessionNames.inner("", of: user).utf8
      let own = clients.values.filter { $0.stored.id.utf8.starts(with: start) }
      guard own.count < policy.clientsPerUser || forgetIdle(of: own) else { return false }
    }
    guard clients.count < policy.maxClients || forgetIdle(of: Array(clients.values)) else {
      return false
    }
    clients[id] = SessionClient(stored: StoredSessionClient(id: id, seenAt: wall))
    return true
  }

  /// Forgets the client that has been away the longest. Returns false if none is away.
  private mutating func forgetIdle(of clients: [SessionClient]) -> Bool {
    let idle = clients.filter(\.isIdle).min {
      ($0.stored.seenAt, $0.stored.id) < ($1.stored.seenAt, $1.stored.id)
    }
    guard let idle else { return false }
    forget(client: idle.stored.id)
    return true
  }

  private mutating func reportLoss(_ id: ConnectionID) {
    metrics.unrecovered += 1
    fail(
      id, "not_recovered",
      "Messages that you did not acknowledge are no longer kept; read the histories instead.")
  }

  /// Records that a client continues after a reported loss, so that the loss is not reported again.
  private mutating func noteReturn(of client: String) {
    guard clients[client]?.forgetReportedLoss() == true else { return }
    if let stored = clients[client]?.stored { delay(.client(stored)) }
  }

  private mutating func closeOldest(of client: String) {
    let open = (clients[client]?.sockets ?? []).filter(sockets.isOpen)
    guard open.count > policy.socketsPerClient, let oldest = open.first else { return }
    close(oldest, .superseded)
  }
}

// MARK: - Sockets

extension SessionServer {
  private mutating func open(_ id: ConnectionID, _ arrival: Arrival) {
    var claims: Claims?
    switch arrival.credential?.checked(at: wall, leeway: .zero) {
    case nil: break
    case .success(let valid): claims = valid
    case .failure(let fault):
      metrics.unauthorized += 1
      return refuse(id, HTTPRefusal(fault))
    }
    if let refused = noRoom(for: arrival) { return refuse(id, refused) }
    metrics.opened += 1
    sockets.add(
      id,
      SessionSocket(
        address: arrival.address, user: claims?.user, life: SocketLife(at: now, policy.timing),
        stage: .greeted(challenge: arrival.challenge)))
    armSocket(id)
    if let claims { arm(.expiry(id), after: wall.duration(to: claims.expiresAt)) }
    arm(.beat(id), after: policy.connectWait)
    effects.append(.accept(id))
    send(
      id,
      .hello(
        SessionHello(
          message: "Holdfast session server",
          instructions: "Send connect with session_id, and with api_key or challenge_response.",
          challenge: arrival.challenge, timestamp: wall,
          features: Set(SessionFeature.allCases))))
  }

  private mutating func refuse(_ id: ConnectionID, _ refusal: HTTPRefusal) {
    metrics.refused += 1
    effects.append(.refuse(id, refusal))
  }

  private mutating func received(
    _ id: ConnectionID, _ message: SessionClientMessage, _ proof: Proof
  ) {
    guard let socket = sockets[id], socket.life.isOpen else { return }
    metrics.messages += 1
    let message = message.named(for: socket.user)
    if message == .ping { return send(id, .pong) }
    guard let peer = socket.peer else {
      guard case .connect(let connect) = message else { return refuseHandshake(id) }
      return self.connect(id, connect, proof)
    }
    noteReturn(of: peer.client)
    switch message {
    case .ping: break
    case .connect: fail(id, "already_connected", "This connection is connected.")
    case .messageAck(let message): take(message, of: peer.client)
    case .prompt(let prompt): self.prompt(id, prompt, of: peer)
    case .subscribe(let subscription): subscribe(id, subscription)
    case .subscribeBatch(let all): subscribe(id, all)
    case .unsubscribe(let conversation): unsubscribe(id, conversation)
    case .setMaxMessageSize(let kilobytes): setMaxMessageSize(id, peer, kilobytes)
    case .killSession(let conversation): kill(conversation, for: id)
    case .disconnect: close(id, .disconnected)
    case .unknown(let type): fail(id, "unknown_type", "Unknown message type: \(type)")
    }
  }

  private mutating func unreadable(_ id: ConnectionID, _ detail: String, _ field: String?) {
    guard let socket = sockets[id], socket.life.isOpen else { return }
    metrics.unreadable += 1
    guard socket.peer != nil else { return refuseHandshake(id) }
    let cursors = ["last_seq", "from_offset", "file_signature_seen", "sessions"]
    let isCursor = field.map { cursors.contains($0) } ?? false
    fail(id, isCursor ? "invalid_subscribe" : "invalid_message", detail)
  }

  private mutating func setMaxMessageSize(
    _ id: ConnectionID, _ peer: SessionSocket.Peer, _ kilobytes: Int
  ) {
    var peer = peer
    peer.maxBytes = min(kilobytes * 1_024, policy.maxMessageBytes)
    sockets.change(id) { $0.stage = .connected(peer) }
    send(id, .ack(message: "Max message size set to \(kilobytes) KB", idempotencyKey: nil))
  }

  func isOpen(_ id: ConnectionID) -> Bool { sockets.isOpen(id) }

  /// Sends a message immediately, ahead of queued responses and windows.
  mutating func send(_ id: ConnectionID, _ message: SessionServerMessage) {
    effects.append(.send(id, message.unnamed))
  }

  /// Refuses one message from a client.
  mutating func fail(
    _ id: ConnectionID, _ code: String, _ text: String, conversation: String? = nil,
    key: String? = nil
  ) {
    guard isOpen(id) else { return }
    metrics.errors[code, default: 0] += 1
    send(
      id,
      .error(
        SessionError(message: text, code: code, conversation: conversation, idempotencyKey: key)))
  }

  mutating func overflowed(_ id: ConnectionID) {
    guard isOpen(id) else { return }
    metrics.slowReaders += 1
    close(id, .slowReader)
  }

  /// Handles the alarm of a socket.
  private mutating func wake(_ id: ConnectionID) {
    let (now, timing) = (now, policy.timing)
    switch sockets.change(id, { $0.life.alarm(at: now, timing) }) {
    case nil: return
    case .unanswered: return drop(id)
    case .silent:
      metrics.silent += 1
      return drop(id)
    case .ping: effects.append(.ping(id))
    case .early: break
    }
    armSocket(id)
  }

  /// Drops a connection without a close frame. Repeats this after `closeWait` if the connection
  /// still exists.
  private mutating func drop(_ id: ConnectionID) {
    effects.append(.drop(id))
    arm(.socket(id), after: policy.closeWait)
  }

  /// Sends the heartbeat, or closes a socket whose client did not send `connect` in time.
  private mutating func beat(_ id: ConnectionID) {
    guard let socket = sockets[id], socket.life.isOpen else { return }
    guard socket.peer != nil else { return close(id, .notConnected) }
    send(id, .heartbeat(wall))
    arm(.beat(id), after: policy.heartbeat)
  }

  /// Sends a close frame. Later messages from the client are ignored.
  mutating func close(_ id: ConnectionID, _ closure: Closure) {
    let (now, timing) = (now, policy.timing)
    let begins = sockets.change(id) { socket in
      guard socket.life.close(at: now, timing) else { return false }
      socket.queue = SessionQueue()
      return true
    }
    guard begins == true else { return }
    disarm(.beat(id))
    disarm(.expiry(id))
    effects.append(.close(id, closure))
    armSocket(id)
  }

  private mutating func forget(_ id: ConnectionID) {
    guard let socket = sockets.remove(id) else { return }
    disarm(.socket(id))
    disarm(.beat(id))
    disarm(.expiry(id))
    for conversation in socket.subscriptions.keys {
      conversations.removeReader(id, of: conversation)
    }
    guard let client = socket.peer?.client else { return }
    let seenAt = wall
    clients[client]?.sockets.removeAll { $0 == id }
    clients[client]?.stored.seenAt = seenAt
  }

  private mutating func armSocket(_ id: ConnectionID) {
    guard let life = sockets[id]?.life else { return }
    alarms.set(.socket(id), at: life.wake(policy.timing))
  }
}

// MARK: - The store

extension SessionServer {
  /// Writes the delayed changes and then `changes` to the store.
  mutating func store(_ changes: [SessionChange], then waits: [SessionWrites.Wait] = []) {
    disarm(.acks)
    guard let write = writes.begin(changes, then: waits) else { return }
    effects.append(.store(write.token, write.changes))
  }

  /// Adds a change that is stored with the next write, or after `ackDelay`.
  ///
  /// If the write fails, the change is delayed again, unless it no longer applies.
  mutating func delay(_ change: SessionChange) {
    writes.delay(change)
    let due = now.advanced(by: policy.ackDelay)
    if !alarms.rings(.acks, by: due) { alarms.set(.acks, at: due) }
  }

  private mutating func stored(_ token: StoreToken, _ failure: StoreFailure?) {
    guard let written = writes.finish(token, failure) else { return }
    if failure != nil { metrics.storeFailures += 1 }
    for wait in written {
      switch wait {
      case .accepted(let id): accepted(id, failure)
      case .started(let id): started(id, failure)
      case .answered(let id): answered(id, failure)
      case .putOff(let id): if failure != nil { storeLater(id) }
      case .delayed(let change):
        guard failure != nil, let again = present(change), !writes.delayed.contains(again)
        else { continue }
        delay(again)
      }
    }
  }

  /// Returns the current form of a failed change, or `nil` if it no longer applies.
  private func present(_ change: SessionChange) -> SessionChange? {
    switch change {
    case .taken, .endPrompt: return change
    case .client(let client): return clients[client.id].map { .client($0.stored) }
    case .endClient(let id): return clients[id] == nil ? change : nil
    case .prompt(let prompt):
      guard let turn = prompts[prompt.id] else { return nil }
      switch turn.stage {
      case .waiting, .starting, .running, .cancelling: return .prompt(turn.stored)
      case .accepting, .finishing, .ended: return nil
      }
    // The first message of a recreated conversation is below this position.
    case .prune(let id, let below):
      return conversations[id].flatMap { $0.first >= below ? change : nil }
    case .endConversation(let id): return conversations[id] == nil ? change : nil
    case .started, .answered, .conversation, .entry: return nil
    }
  }

  /// Schedules a retry of the write of a prompt's start mark, reset or answer.
  mutating func storeLater(_ id: SessionPromptID) {
    writes.retry(id)
    arm(.store, after: policy.storeRetry)
  }

  /// Retries the writes that failed.
  private mutating func storePending() {
    var changes: [SessionChange] = []
    var waits: [SessionWrites.Wait] = []
    for id in writes.takePending() {
      switch prompts[id]?.stage {
      case .finishing:
        changes += self.changes(finishing: id)
        waits.append(.answered(id))
      case .starting:
        changes.append(.started(id))
        waits.append(.started(id))
      case .waiting:
        guard let stored = prompts[id]?.stored else { continue }
        changes.append(.prompt(stored))
        waits.append(.putOff(id))
      case nil, .accepting, .running, .cancelling, .ended: continue
      }
    }
    store(changes, then: waits)
  }
}

// MARK: - The drain

extension SessionServer {
  /// Returns the input that starts a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { mode == .finished }

  /// Refuses new prompts from now on, and warns the clients. Handlers may end during the grace
  /// period.
  private mutating func drain(within window: Duration) {
    let isIdle = prompts.running == 0 && writes.isIdle
    let begins = mode.drain(
      within: window, at: now, grace: isIdle ? .zero : policy.drainGrace,
      limit: policy.drainLimit)
    guard begins else { return }
    for id in sockets.ids where isOpen(id) && sockets[id]?.peer != nil {
      send(
        id,
        .draining(
          message: "The server is about to stop.", retryAfter: policy.drainRetry, window: window))
    }
  }

  private mutating func advanceDrain() {
    if let window = mode.leave(at: now) { leave(within: window) }
    if mode.givesUp(at: now) { giveUp() }
    switch mode {
    case .serving, .draining, .finished: return
    case .leaving: break
    }
    guard sockets.isEmpty, writes.isDone, mode.finish() else { return }
    alarms = AlarmQueue()
    effects.append(.finished)
  }

  /// Ends all handlers, answers their prompts as interrupted, and starts to close all sockets.
  private mutating func leave(within window: Duration) {
    for id in prompts.ids {
      switch prompts[id]?.stage {
      case .running, .cancelling:
        effects.append(.cancel(id))
        finish(id, .failure(error: Self.interrupted))
      case nil, .accepting, .waiting, .starting, .finishing, .ended: break
      }
    }
    storePending()
    for id in sockets.ids { close(id, .draining(within: window)) }
  }

  /// Drops all remaining work when the time limit of the drain has passed.
  private mutating func giveUp() {
    for id in sockets.ids {
      forget(id)
      effects.append(.drop(id))
    }
    writes.giveUp()
  }
}

// MARK: - Invariants

extension SessionServer {
  public func check(_ check: inout InvariantCheck) {
    check.require(effects.isEmpty, "session server: no effect is pending between two inputs")
    check.require(
      sockets.count <= policy.maxSockets && prompts.openCount <= policy.maxPrompts
        && prompts.ended.count <= policy.maxEnded,
      "session server: sockets and prompts are bounded")
    check.require(
      prompts.openBytes >= 0 && prompts.openBytes <= policy.maxPromptsBytes
        && prompts.endedBytes >= 0 && prompts.endedBytes <= policy.maxEndedBytes,
      "session server: the bytes of prompts are bounded")
    check.require(
      prompts.running >= 0 && prompts.running <= policy.maxRunning,
      "session server: handlers are bounded")
    check.require(
      writes.pending.isEmpty || alarms.rings(.store, by: .latest),
      "session server: a failed write has an alarm")
    check.require(
      writes.delayed.isEmpty || alarms.rings(.acks, by: .latest),
      "session server: what the store is to be told later has an alarm")
    check.require(
      mode != .finished || (sockets.isEmpty && writes.isDone),
      "session server: a drain ends when nothing is left to wait for")
    check.require(
      conversations.queue.isEmpty || prompts.running >= policy.maxRunning || mode != .serving,
      "session server: no conversation waits while a handler is free")
    alarms.check(&check)
    rate.check(&check)
    sockets.check(&check)
    prompts.check(&check)
    conversations.check(&check, policy)
    guard check.isThorough else { return }
    for (id, client) in clients { client.check(&check, id, prompts, policy) }
    check.require(
      clients.values.reduce(0) { $0 + $1.open } == prompts.openCount,
      "session server: an open prompt is of a client")
    checkPrompts(&check)
    checkSockets(&check)
  }

  private func checkPrompts(_ check: inout InvariantCheck) {
    check.require(
      prompts.ids.allSatisfy { id in
        switch prompts[id]?.stage {
        case .running, .cancelling: alarms.rings(.turn(id), by: .latest)
        case nil, .accepting, .waiting, .starting, .finishing, .ended: true
        }
      }, "session server: a handler ends in time")
    let lines = conversations.ids.map { (id: $0, line: conversations.line(of: $0)) }
    check.require(
      lines.reduce(0) { $0 + $1.line.count } == prompts.openCount
        && lines.allSatisfy { id, line in
          line.allSatisfy { prompts[$0]?.prompt.conversation == id }
        }, "session server: an open prompt is in the line of its conversation, once")
    check.require(
      lines.allSatisfy { $0.line.count { prompts[$0]?.isUnderWay ?? false } <= 1 },
      "session server: one prompt of a conversation is under way at a time")
  }

  private func checkSockets(_ check: inout InvariantCheck) {
    let all = sockets.ids.compactMap { id in sockets[id].map { (id: id, socket: $0) } }
    check.require(
      all.allSatisfy { !$0.socket.life.isOpen || alarms.rings(.beat($0.id), by: .latest) },
      "session server: each open socket has a heartbeat")
    check.require(
      clients.allSatisfy { id, client in
        client.sockets.allSatisfy { sockets[$0]?.peer?.client == id }
      }
        && all.allSatisfy { id, socket in
          socket.peer.map { clients[$0.client]?.sockets.contains(id) ?? false } ?? true
        }, "session server: a connected socket is of its client")
    check.require(
      all.allSatisfy { id, socket in
        socket.peer.map { SessionNames.split($0.client).user == socket.user } ?? true
          && socket.subscriptions.keys.allSatisfy { SessionNames.split($0).user == socket.user }
      }, "session server: a user's sockets have only what is of the user")
    check.require(
      all.allSatisfy {
        // The queue may exceed the bound by replays and by a batch of 100 subscriptions.
        $0.socket.queue.count <= policy.maxQueued + policy.answersPerClient + 100
      },
      "session server: the queue of each socket is bounded")
    check.require(
      all.allSatisfy { id, socket in
        socket.subscriptions.keys.allSatisfy {
          conversations[$0]?.readers.contains(id) ?? false
        }
      }
        && conversations.ids.allSatisfy { id in
          (conversations[id]?.readers ?? []).allSatisfy {
            sockets[$0]?.subscriptions[id] != nil
          }
        }, "session server: a subscription is of its conversation")
  }
}

extension SessionError {
  /// Returns the error for a client version that is too old.
  fileprivate static func outdated(_ version: String?) -> SessionError {
    SessionError(
      message: "This server speaks versions from \(SessionVersion.oldest) on; update the client.",
      code: unsupportedVersion, required: .oldest, received: version)
  }
}

extension Instant {
  /// The latest instant that can be represented.
  fileprivate static var latest: Instant { Instant(nanoseconds: .max) }
}
