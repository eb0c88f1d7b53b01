public import LinkCore
public import LinkStorage
public import LinkWire

/// A two-way session with a server: prompts go out, messages come in, each exactly once.
///
///     open ──hello──▶ greeted ──connected──▶ connected ──lost──▶ (the link decides when) open
///
///     a prompt:  unstored ─stored─▶ queued ─given─▶ sent ─ack─▶ accepted ─response─▶ answered
///                                     ▲              │             │                 interrupted
///                                     └─ lost, busy ─┘             └─▶ failed, unsure
///
///     a message:  received ─▶ stored, cursor in the same change ─▶ acknowledged, shown once
///
/// A link decides when to connect; this decides what is sent. Acks and pings go first, then
/// prompts, one at a time until its ack, then subscriptions. One prompt of a conversation is under
/// way at a time, until its end is stored. After a loss a prompt without an answer is sent again
/// under the same key if the server knows keys. With a server without keys `PromptEvidence` decides
/// to which prompt a message belongs: the server is first asked for the history, and a prompt that
/// it may have is only waited for. What a user is shown is numbered by the store and shown until it
/// is confirmed.
public struct SessionModel: Journaled {
  public static var journalName: String { "session" }
  /// The numbers and rules of the session.
  public let settings: SessionSettings
  /// When, whether and how to connect.
  public internal(set) var link: HeldLink
  /// The client's own id; nil until the store was read.
  public private(set) var client: UUID128?
  var outbox: SessionOutbox
  var conversations = SessionConversations()
  /// The present connection, or the try of one.
  var connection: ServerConnection?
  var messages = ReceivedMessages()
  /// What servers without keys have shown of prompts.
  var evidence = SessionEvidence()
  var commits = CommitQueue<SessionCommitID, SessionBatch>()
  var payload = PayloadSize()
  private var shown = ShownState()
  private var metrics = SessionMetrics()
  private var device: SessionDevice
  /// When to stop although something is under way; nil while not stopping.
  private var stopsAt: Instant?
  private var clock = WallClock()

  /// Creates a session that is not started.
  ///
  /// - Parameter seed: the start of its random numbers; the same seed and inputs make the same
  ///   effects.
  public init(_ settings: SessionSettings, seed: UInt64) {
    self.settings = settings
    var chance = Chance(seed: seed)
    link = HeldLink(policy: settings.policy, seed: chance.next())
    outbox = SessionOutbox(chance)
    device = SessionDevice(settings.policy.gate)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    if let due = link.deadline, due <= now {
      if let attempt = link.currentAttempt, connection?.isDeaf(at: now) == true {
        drive(.heard(attempt), &step)
      }
      follow(link.tick(at: now), &step)
    }
    if let due = device.portal.deadline, due <= now { leavePortal(&step) }
    expire(&step)
    if let due = stopsAt, due <= now { end(&step) }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    var due = [
      link.deadline, stopsAt, commits.retryAt, outbox.staleDeadline, device.portal.deadline,
    ]
    if let connection, isConnected { due += [connection.deadline, outbox.deadline] }
    return due.compactMap(\.self).min()
  }

  /// Prompts without an answer, and those that failed.
  public var queue: SendQueue<StoredPrompt> { outbox.queue }

  /// The conversation of prompts that name none.
  public var conversation: String { conversations.selected }

  /// Whether prompts can be sent now.
  public var isConnected: Bool { link.status.phase == .connected }

  /// Whether the session was told to stop and waits for what is under way.
  var isStopping: Bool { stopsAt != nil }

  /// Whether nothing is under way and nothing will be until the next start.
  public var isStopped: Bool {
    !link.isWanted && !isStopping && (commits.isDone || commits.failures > 0)
  }

  /// Whether all news that were handed to the user were confirmed.
  public var isShown: Bool { shown.isConfirmed }

  /// How many prompts have no end yet.
  public var unanswered: Int { outbox.unanswered }

  /// Whether all prompts have ended, and everything is stored.
  public var isSettled: Bool { unanswered == 0 && commits.isDone }

  /// Whether everything that the server had of the followed conversations is here, and all of it is
  /// stored and acknowledged.
  public var isCaughtUp: Bool {
    guard isConnected, let connection, commits.isDone else { return false }
    return connection.subscriptions.isComplete(for: followed)
  }

  /// Whether nothing is left that background time is for.
  private var isFlushed: Bool {
    commits.isDone && messages.pendingAcks.isEmpty && connection?.upload == nil
      && outbox.isAllAccepted
  }

  /// Sends what may be sent after a step, the most urgent first, and stores what changed.
  private mutating func finish(_ step: inout Step) {
    if isConnected {
      sendAcks(&step)
      // An ack of a server without keys does not say what it is for: prompts go first.
      if connection?.isIdempotent == true { sendSize(&step) }
      sendPrompts(&step)
      if connection?.isIdempotent == false { sendSize(&step) }
      subscribe(&step)
    }
    if device.isInBackground, isFlushed { drive(.flushed, &step) }
    if isStopping, commits.isDone, isShown { end(&step) }
    if let commit = commits.next(at: step.now) {
      step.effects.append(.commit(commit.id, commit.batch.change))
    }
  }

  /// One call: its time, and the effects so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: SessionUpdate) { effects.append(.update(update)) }
  }

  /// Gives the link an input and carries out its effects.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// The wall clock now, as far as it is known.
  func wall(at now: Instant) -> Timestamp { clock.time(at: now) }

  private mutating func note(_ wall: Timestamp, _ step: Step) { clock.set(wall, at: step.now) }
}

// MARK: - Inputs and effects

extension SessionModel {
  /// Everything that can happen to a session. Times are the device's wall clock.
  public enum Input: Sendable, Equatable, Codable {
    // The user.
    /// What earlier runs left; the first input. The conversation is the one that prompts belong to;
    /// `nil` for the one that was used last, or a new one.
    case restored(ClientSessionSnapshot, conversation: String?, at: Timestamp)
    /// Connect; also after an error, and without waiting for the next try.
    case start
    /// Close when what is under way is stored and acknowledged, and what was handed to the user is
    /// confirmed, or after 2 s.
    case stop
    case prompt(String, conversation: String?, at: Timestamp)
    /// Send a failed prompt again.
    case retry(UUID128)
    /// Forget a failed prompt.
    case discard(UUID128)
    /// Cancel what runs in a conversation.
    case cancel(conversation: String)
    /// Follow this conversation from now on; prompts without one belong to it.
    case follow(conversation: String)
    /// News up to this number were shown, and are not shown again by any run.
    case shown(through: UInt64)

    case link(LinkEvent, at: Timestamp)
    case credentials(HeldLink.CredentialsEvent)
    /// A check for a login page was made.
    case probed(isPortal: Bool)

    // The socket of an attempt.
    case opened(AttemptID)
    case frame(AttemptID, SessionServerMessage, bytes: Int, at: Timestamp)
    case malformed(AttemptID, detail: String)
    /// The socket is not read while the app leaves too much unread; or is read again.
    case reading(AttemptID, isPaused: Bool)
    /// The socket did not take a message.
    case unsent(AttemptID)

    // The store.
    case committed(SessionCommitID, [NumberedSessionNews])
    case commitFailed(SessionCommitID, StoreFailure)
  }

  /// Everything a session can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    case open(AttemptID)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, code: UInt16)
    /// Send `connect`: with the signature of its `signedText` if there is a challenge, else with
    /// the key. The message here holds neither.
    case connect(AttemptID, SessionConnect, challenge: String?)
    case send(AttemptID, SessionClientMessage)
    /// Read the key again.
    case refreshCredentials
    /// Ask for a page of the server, and report whether a login page came; within this time.
    case probe(within: Duration)
    case commit(SessionCommitID, ClientSessionChange)
    case update(SessionUpdate)
  }

  private mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .restored(let snapshot, let conversation, let wall):
      note(wall, step)
      restore(snapshot, conversation, &step)
    case .start: begin(&step)
    case .stop: stopsAt = stopsAt ?? step.now.advanced(by: SessionSettings.flushTimeout)
    case .prompt(let text, let conversation, let wall):
      note(wall, step)
      prompt(text, in: conversation ?? self.conversation, &step)
    case .retry(let key): retry(key, &step)
    case .discard(let key): discard(key)
    case .cancel(let conversation):
      if isConnected, let connection {
        step.effects.append(.send(connection.attempt, .killSession(conversation: conversation)))
      }
    case .follow(let conversation):
      conversations.name(conversation)
      select(conversation)
    case .shown(let through):
      if shown.confirm(through) { commits.waiting.change.shown = through }
    case .link(let event, let wall):
      note(wall, step)
      hear(event, &step)
    case .credentials(let event): drive(.credentials(event), &step)
    case .probed(let isPortal): probed(isPortal, &step)
    case .committed(let id, let news): committed(id, news, &step)
    case .commitFailed(let id, let failure):
      if commits.refused(id, at: step.now) { step.show(.notice(.store(failure))) }
    case .opened, .frame, .malformed, .reading, .unsent: takeSocket(input, &step)
    }
  }

  /// Takes an event of the socket of an attempt; that of an older one changes nothing.
  private mutating func takeSocket(_ input: Input, _ step: inout Step) {
    switch input {
    case .opened(let attempt): drive(.opened(attempt), &step)
    case .frame(let attempt, let message, let bytes, let wall):
      note(wall, step)
      guard connection?.attempt == attempt else { return }
      payload.noteArrival(bytes: bytes)
      connection?.heard()
      drive(.heard(attempt), &step)
      hear(message, attempt, &step)
    case .malformed(let attempt, let detail): malformed(attempt, detail, &step)
    case .reading(let attempt, let isPaused):
      guard connection?.attempt == attempt else { return }
      connection?.pause(isPaused)
      // Silence counts from here on again.
      drive(.heard(attempt), &step)
    case .unsent(let attempt):
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    case .restored, .start, .stop, .prompt, .retry, .discard, .cancel, .follow, .shown, .link,
      .credentials, .probed, .committed, .commitFailed:
      return  // not of a socket
    }
  }
}

extension SessionModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event, at: wall) }
  public var event: LinkEvent? { if case .link(let event, _) = self { event } else { nil } }
}

// MARK: - Start, stop and the store

extension SessionModel {
  private mutating func begin(_ step: inout Step) {
    guard client != nil else { return }
    stopsAt = nil
    leavePortal(&step)
    drive(.want(.live), &step)
    drive(.trigger(.userRefresh), &step)
  }

  private mutating func end(_ step: inout Step) {
    stopsAt = nil
    drive(.want(.none), &step)
    if unanswered > 0 { step.show(.notice(.unanswered(count: unanswered))) }
  }

  private mutating func restore(
    _ snapshot: ClientSessionSnapshot, _ wanted: String?, _ step: inout Step
  ) {
    guard client == nil else { return }
    client = snapshot.client
    messages.restore(snapshot.received)
    conversations.restore(snapshot.conversations)
    let open = outbox.restore(snapshot.prompts, lastNumber: snapshot.lastPrompt, at: step.now)
    if !open.isEmpty { step.show(.pending(open)) }
    select(wanted ?? snapshot.conversations.last?.id ?? outbox.freshID().description)
    for news in snapshot.unshown { show(news, &step) }
  }

  /// Makes a conversation the one of prompts that name none, durably.
  private mutating func select(_ conversation: String) {
    keep(conversations.select(conversation))
  }

  /// Stores how far a conversation is known.
  mutating func keep(_ known: KnownConversation) {
    conversations.replace(known)
    commits.waiting.put(known)
  }

  /// Notes that a message of the server is on its way to the store; once stored it is acknowledged.
  mutating func keep(id: String?, number: UInt64?) {
    if let id { commits.waiting.acks.append(id) }
    guard let received = number.flatMap({ messages.note($0) }) else { return }
    commits.waiting.change.received = received
  }

  private mutating func committed(
    _ id: SessionCommitID, _ news: [NumberedSessionNews], _ step: inout Step
  ) {
    let hadFailed = commits.failures > 0
    guard let batch = commits.committed(id) else { return }
    if hadFailed { step.show(.notice(.storeRecovered)) }
    messages.committed(received: batch.change.received, acks: batch.acks)
    for key in batch.prompts {
      if let prompt = outbox.stored(key, at: step.now) { show(prompt, .queued, &step) }
    }
    if isConnected { sendAcks(&step) }  // before the prompt that waited for the same change
    sendMarked(batch.change.prompts, &step)
    settle(batch.change.news, news)
    for one in news { show(one, &step) }
  }

  private mutating func show(_ one: NumberedSessionNews, _ step: inout Step) {
    shown.hand(one)
    switch one.news {
    case .message(let entry, let via): step.show(.message(entry, via: via, news: one.number))
    case .ended(let ending): step.show(.prompt(SessionPromptState(ending), news: one.number))
    }
  }

  /// Shows a prompt's state if it is another one than before.
  mutating func show(
    _ prompt: StoredPrompt, _ state: SessionPromptState.State, because reason: String? = nil,
    _ step: inout Step
  ) {
    guard shown.note(state, of: prompt.id) || reason != nil else { return }
    step.show(.prompt(SessionPromptState(prompt, state, reason), news: nil))
  }

  private mutating func expire(_ step: inout Step) {
    for key in outbox.takeStale(at: step.now) { step.show(.notice(.stale(key))) }
    guard isConnected, connection != nil else { return }
    for conversation in connection?.expire(at: step.now) ?? [] {
      // Silence does not say that a server without keys has no prompt.
      if connection?.isIdempotent == false { skip(conversation, isReset: false, step) }
      conclude(conversation, &step)
    }
    outbox.wake(at: step.now)
    while let key = outbox.expired(at: step.now) { expire(key, &step) }
  }
}

// MARK: - The link and the device

extension SessionModel {
  /// Takes an event of the link. Control frames say nothing about the server's program, and count
  /// only while our own pings wait behind a large prompt.
  private mutating func hear(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    case .ping(let attempt), .pong(let attempt, _):
      guard let large = connection?.large, step.now < large.until else { return }
      drive(.heard(attempt), &step)
    case .device(.again):
      // Asks for another attempt; a session that was told to stop stays stopped.
      if !isStopping, link.isWanted { begin(&step) }
    case .device(let change):
      device.note(change)
      if change == .lifecycle(.foreground) { leavePortal(&step) }
      drive(HeldLink.Input(event), &step)
    case .oversized(let attempt, let bytes):
      guard connection?.attempt == attempt else { return }
      payload.noteLoss()
      step.show(.notice(.oversized(bytes: bytes)))
      drive(HeldLink.Input(event), &step)
    case .lost(let attempt, let failure):
      guard connection?.attempt == attempt else { return }
      lose(attempt, failure, &step)
    }
  }

  /// Ends the connection that is gone, or that ends because of what the server said.
  private mutating func lose(
    _ attempt: AttemptID, _ failure: LinkFailure, isOpen: Bool = false, _ step: inout Step
  ) {
    hangUp(.failure(failure), &step)
    drive(isOpen ? .reject(attempt, failure) : .lost(attempt, failure), &step)
  }

  /// Carries out the effects of the link.
  private mutating func follow(_ effects: [HeldLink.Effect], _ step: inout Step) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .open(let attempt):
        connection = ServerConnection(attempt, at: wall(at: step.now), step.now)
        metrics.noteTry(at: wall(at: step.now))
        commits.waiting.change.days += metrics.takePast()
        step.effects.append(.open(attempt))
      case .close(let attempt, let reason): close(attempt, reason, &step)
      // A connection that is about to close needs no sign of life.
      case .ping where isStopping: continue
      case .ping(let attempt, let id):
        connection?.sendPing(id, at: step.now)
        step.effects.append(.send(attempt, .ping))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .status(let status): show(status, &step)
      // There is no other way to the data of a session, and no queued connect.
      case .poll, .arm, .disarm: continue
      }
    }
  }

  private mutating func close(
    _ attempt: AttemptID, _ reason: HeldLink.CloseReason, _ step: inout Step
  ) {
    if connection?.isConnected == true, reason == .background || reason == .leaving {
      step.effects.append(.send(attempt, .disconnect(reason: reason.rawValue)))
    }
    hangUp(.closed(reason), &step)
    step.effects.append(.close(attempt, code: reason.closeCode))
  }

  /// Notes the end of a connection; prompts that were under way on it become unsure.
  private mutating func hangUp(_ reason: SessionRecord.Reason, _ step: inout Step) {
    guard let ended = connection else { return }
    connection = nil
    outbox.abandon()
    evidence.lose()
    if !ended.isConnected, let time = device.portal.tryEnded(by: reason.failure, at: step.now) {
      step.effects.append(.probe(within: time))
    }
    if ended.awaitsMuch, reason.isLoss { payload.noteLoss() }
    if ended.isConnected { metrics.noteLoss(at: step.now) }
    step.show(
      .record(
        ended.record(endedAt: wall(at: step.now), step.now, network: device.network, reason)))
    if ended.isConnected { commits.waiting.change.days += metrics.take() }
  }

  private mutating func show(_ status: LinkStatus, _ step: inout Step) {
    let change = shown.take(status)
    if change.isShown { step.show(.status(status)) }
    if change.hasEnded { commits.waiting.change.days += metrics.take() }
    if let quality = change.quality {
      step.show(.quality(quality, roundTrip: connection?.roundTrip))
    }
  }

  private mutating func pong(_ attempt: AttemptID, _ step: inout Step) {
    guard let pong = connection?.takePong(at: step.now) else { return }
    metrics.noteRoundTrip(pong.roundTrip, at: wall(at: step.now))
    let quality = shown.quality
    drive(.pong(attempt, pong.id), &step)
    if pong.isFirst, quality == shown.quality {
      step.show(.quality(quality, roundTrip: pong.roundTrip))
    }
  }

  /// Takes the outcome of a check: a login page holds the link, also one that failed because of it.
  private mutating func probed(_ isPortal: Bool, _ step: inout Step) {
    guard device.portal.checked(isPortal: isPortal, at: step.now) else { return }
    guard link.isWanted, !isConnected else {
      _ = device.portal.release()
      return
    }
    drive(.reachability(.captivePortal), &step)
    if case .failure(.tls) = link.status.reason { drive(.want(.live), &step) }
  }

  /// Assumes no login page any more: one try shows whether it is gone.
  private mutating func leavePortal(_ step: inout Step) {
    if let way = device.portal.release() { drive(.reachability(way), &step) }
  }
}

// MARK: - Messages of the server

extension SessionModel {
  private mutating func hear(
    _ message: SessionServerMessage, _ attempt: AttemptID, _ step: inout Step
  ) {
    switch message {
    case .hello(let hello): greet(hello, attempt, &step)
    case .connected(let connected): self.connected(connected, attempt, &step)
    case .authError(let text):
      lose(attempt, .closed(code: 4401, reason: text), isOpen: true, &step)
    case .error(let error): refused(error, attempt, &step)
    case .unknown: return  // session_list, recent_sessions, available_commands, and later ones
    case .pong, .ack, .response, .responsePart, .replay, .turnComplete, .history, .historyBatch,
      .heartbeat, .draining, .sessionKilled:
      if connection?.isConnected == true { hearConnected(message, attempt, &step) }
    }
  }

  private mutating func hearConnected(
    _ message: SessionServerMessage, _ attempt: AttemptID, _ step: inout Step
  ) {
    switch message {
    case .pong: pong(attempt, &step)
    case .ack(_, let key): acknowledged(key, &step)
    case .response(let response):
      drive(.validData(attempt), &step)
      answered(response, &step)
    case .responsePart(let conversation, let key, let index, let text):
      connection?.pieces.add(text, at: index, of: key)
      step.show(.part(conversation: conversation, key: key, index: index, text: text))
    case .replay(let id, let entry, let number):
      drive(.validData(attempt), &step)
      replayed(id, entry, number, &step)
    case .history(let window):
      drive(.validData(attempt), &step)
      apply(window, &step)
    case .historyBatch(let windows):
      drive(.validData(attempt), &step)
      for window in windows { apply(window, &step) }
    case .heartbeat(let time): compare(time, &step)
    case .draining(_, let retryAfter, let window):
      connection?.drain()
      drive(.draining(attempt, within: retryAfter + (window ?? .zero)), &step)
      step.show(.notice(.draining(retryAfter: retryAfter)))
    case .turnComplete(let conversation, _): completed(conversation, &step)
    case .sessionKilled: return  // the response says it
    case .hello, .connected, .authError, .error, .unknown: return  // taken before
    }
  }

  private mutating func greet(
    _ hello: SessionHello, _ attempt: AttemptID, _ step: inout Step
  ) {
    guard let client, connection?.isOpening == true else { return }
    connection?.greet()
    var connect = SessionConnect(
      session: client.description, features: Set(SessionFeature.allCases),
      received: messages.stored)
    if hello.challenge != nil {
      // The server's own time, so that a wrong clock keeps no client out.
      connect.timestamp = hello.timestamp ?? wall(at: step.now)
    }
    if !hello.features.contains(.boundProof) { connect.features.remove(.boundProof) }
    step.effects.append(.connect(attempt, connect, challenge: hello.challenge))
  }

  private mutating func connected(
    _ connected: SessionConnected, _ attempt: AttemptID, _ step: inout Step
  ) {
    guard connection?.isGreeted == true else { return }
    guard connected.version >= .oldest else {
      let reason = "the server speaks version \(connected.version)"
      return lose(attempt, .closed(code: 4403, reason: reason), isOpen: true, &step)
    }
    drive(.established(attempt), &step)
    guard isConnected else { return }
    connection?.connect(connected.version, connected.features, at: step.now)
    metrics.noteConnected(at: wall(at: step.now), step.now)
    if connected.isRecovered == false { notRecovered(&step) }
  }

  private mutating func notRecovered(_ step: inout Step) {
    if messages.skip() { step.show(.gap(conversation: nil, .notRecovered)) }
  }

  /// Takes a refusal: of the session, of a prompt, or of something that can be left out.
  private mutating func refused(
    _ error: SessionError, _ attempt: AttemptID, _ step: inout Step
  ) {
    if error.code == SessionError.unsupportedVersion {
      lose(attempt, .closed(code: 4403, reason: error.message), isOpen: true, &step)
    } else if error.code == "not_recovered" {
      notRecovered(&step)
    } else if let key = error.idempotencyKey {
      if let prompt = UUID128(key).flatMap({ outbox[$0] }) { refused(prompt, error, &step) }
    } else if error.message.hasPrefix("Unknown message type") {
      // The original says so to acknowledgements, and a server without keys to what it does not
      // know.
      if error.message.contains("set_max_message_size") { connection?.forget(.size) }
    } else if !refusedWithoutKey(error, &step) {
      // A conversation that the user named may be a new one.
      if let conversation = error.conversation, leave(conversation, &step),
        conversations.isNamedOnly(conversation)
      {
        return
      }
      step.show(.notice(.refused(error)))
    }
  }

  /// Notes that the server has nothing of a conversation, or does not say; returns false if it was
  /// not asked for.
  private mutating func leave(_ conversation: String, _ step: inout Step) -> Bool {
    guard connection?.subscriptions.refused(conversation) == true else { return false }
    conclude(conversation, &step)
    return true
  }

  private mutating func malformed(
    _ attempt: AttemptID, _ detail: String, _ step: inout Step
  ) {
    guard connection?.attempt == attempt else { return }
    let isLast = connection?.countMalformed() == true
    drive(.heard(attempt), &step)
    step.show(.notice(.malformed(detail)))
    guard isLast else { return }
    lose(
      attempt, .protocolError(detail: "too many messages could not be read"), isOpen: true, &step)
  }

  /// Compares the clocks; their difference is shown, and used for nothing.
  private mutating func compare(_ time: Timestamp?, _ step: inout Step) {
    guard let time else { return }
    let skew = wall(at: step.now).duration(to: time)
    if connection?.reportsSkew(skew) == true { step.show(.notice(.clockSkew(skew))) }
  }

  private mutating func sendAcks(_ step: inout Step) {
    guard let attempt = connection?.attempt else { return }
    let acks = messages.takeAcks()
    if !acks.isEmpty { connection?.acknowledge() }
    step.effects += acks.map { .send(attempt, .messageAck($0)) }
  }

  private mutating func sendSize(_ step: inout Step) {
    guard let current = connection,
      current.isIdempotent || current.awaited.isEmpty && outbox.marked == nil,
      current.reportedSize ?? PayloadSize.untold != payload.kilobytes
    else { return }
    if current.reportedSize != nil {
      step.show(.notice(.payload(kilobytes: payload.kilobytes)))
    }
    connection?.report(size: payload.kilobytes, at: step.now)
    step.effects.append(.send(current.attempt, .setMaxMessageSize(kilobytes: payload.kilobytes)))
  }
}

// MARK: - Conversations

extension SessionModel {
  private var followed: [String] {
    conversations.followed(with: outbox.queue, asking: connection?.isIdempotent == false)
  }

  /// Asks for the conversations that are followed, behind what is stored.
  private mutating func subscribe(_ step: inout Step) {
    guard let current = connection, current.upload == nil || !current.isIdempotent,
      !current.isDraining, !current.subscriptions.isWaiting
    else { return }
    let wanted = followed.filter(current.subscriptions.needs)
    guard let first = wanted.first else { return }
    let isBatch = current.has(.batch) && wanted.count > 1
    let asked = isBatch ? Array(wanted.prefix(SessionSettings.subscriptionsTogether)) : [first]
    let until = step.now.advanced(by: SessionSettings.subscribeTimeout)
    let subscriptions = asked.map { conversation in
      connection?.subscriptions.subscribe(conversation, until: until)
      return SessionSubscription(
        conversation: conversation,
        cursor: conversations.cursor(of: conversation, current.version))
    }
    let message: SessionClientMessage =
      isBatch ? .subscribeBatch(subscriptions) : .subscribe(subscriptions[0])
    step.effects.append(.send(current.attempt, message))
  }

  /// Stores a window of a conversation and moves the cursor behind it, in one change.
  private mutating func apply(_ window: SessionHistory, _ step: inout Step) {
    let conversation = window.conversation
    guard var known = conversations[conversation], connection != nil else { return }
    let before = known
    if isAhead(window, of: known) { return takeAhead(window) }
    connection?.subscriptions.answered(conversation)
    let reach = known.advance(behind: window) {
      connection?.subscriptions.noteHole(conversation) ?? true
    }
    if case .gap(let gap) = reach {
      step.show(.gap(conversation: conversation, gap))
      if connection?.isIdempotent == false {
        skip(conversation, isReset: reach.isReset, step)
      }
    }
    let moves = known != before
    if moves { keep(known) }
    let isMore =
      !window.isComplete || reach == .hole || window.gap != nil || reach.isReset
    // A window that moves nothing would be asked for for ever.
    let isAskedAgain = isMore && (moves || reach == .hole)
    let isNew = moves && (reach == .whole || reach == .gap(.hole))
    if isNew || !isAskedAgain || connection?.isIdempotent == true {
      store(window, behind: before, step)
    }
    if isAskedAgain {
      connection?.subscriptions.repeatLater(conversation)
    } else {
      connection?.subscriptions.reach(conversation, isWhole: reach == .whole)
    }
    conclude(conversation, &step)
    if connection?.isIdempotent == false, !window.entries.isEmpty { touch(conversation, step) }
  }

  /// Stores a live message that came before the answer to a subscription, which brings what lies
  /// between. A server without keys is asked for it again: there the order proves what became of
  /// prompts.
  private mutating func takeAhead(_ window: SessionHistory) {
    guard connection?.isIdempotent == true else {
      connection?.subscriptions.repeatLater(window.conversation)
      return
    }
    let via = via(window)
    commits.waiting.change.news += window.entries.map { .message($0, via: via) }
  }

  /// Whether a window of one message lies beyond what a subscription under way will bring.
  private func isAhead(_ window: SessionHistory, of known: KnownConversation) -> Bool {
    guard let connection, window.entries.count == 1, let first = window.entries.first?.place,
      connection.subscriptions.isFetching(window.conversation),
      connection.isIdempotent || !connection.subscriptions.hasHole(window.conversation)
    else { return false }
    return known.leavesHole(before: first, of: window)
  }

  /// Stores messages, except those of a server without keys that repeat what was shown.
  private mutating func store(
    _ window: SessionHistory, behind known: KnownConversation, _ step: Step
  ) {
    let via = via(window)
    for entry in window.entries {
      let isNew = !known.isBehind(entry, of: window)
      guard connection?.isIdempotent == true || isNews(entry, isNew: isNew, step) else { continue }
      commits.waiting.change.news.append(.message(entry, via: via))
    }
  }

  /// How a window came: one that follows the end of a conversation is live.
  private func via(_ window: SessionHistory) -> SessionVia {
    connection?.subscriptions.hasReached(window.conversation) == true && window.isComplete
      ? .live : .history
  }
}

// MARK: - Invariants

extension SessionModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      connection == nil || connection?.attempt == link.currentAttempt,
      "session: its connection is the link's attempt")
    check.require(
      isConnected == (connection?.isConnected ?? false),
      "session: connected means that the server said so")
    check.require(
      client != nil || (!link.isWanted && outbox.items.isEmpty),
      "session: nothing is done before the store was read")
    if check.isThorough {
      check.require(
        connection?.isConnected == true || outbox.items.allSatisfy { !outbox.isSending($0.id) },
        "session: a prompt is under way only on a connection")
      check.require(
        shown.status == link.status, "session: the user is shown the present state")
      check.require(
        connection?.sent.allSatisfy { outbox[$0] != nil } ?? true,
        "session: what was sent is in the outbox until its end")
    }
    check.require(
      outbox.marked == nil || connection?.isIdempotent == false,
      "session: a prompt is marked for a server without keys")
    link.check(&check)
    outbox.check(&check)
    messages.check(&check)
    evidence.check(&check)
    commits.check(&check)
    payload.check(&check)
    connection?.check(&check)
  }
}
