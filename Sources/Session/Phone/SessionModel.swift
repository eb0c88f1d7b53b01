public import HoldfastCore
public import HoldfastSessionData

/// A two-way session with a server. It delivers each prompt and each message exactly once.
///
///     open ──hello──▶ greeted ──connected──▶ connected ──lost──▶ (the link decides when) open
///
///     a prompt:  unstored ─stored─▶ queued ─given─▶ sent ─ack─▶ accepted ─response─▶ answered
///                                     ▲              │             │                 interrupted
///                                     └─ lost, busy ─┘             └─▶ failed, unsure
///
///     a message:  received ─▶ stored, cursor in the same change ─▶ acknowledged, shown once
///
/// A link decides when to connect. This machine decides what is sent: acks and pings first, then
/// prompts, one at a time until its ack, then subscriptions. Each conversation has at most one
/// prompt in progress, until its end is stored. After a loss, an unanswered prompt is resent under
/// its key if the server supports keys. On a server without keys, `PromptEvidence` attributes
/// messages to prompts: the client first requests the history, and does not resend a prompt that
/// the server may have. The store numbers all news for the user, and each item is shown again until
/// it is confirmed.
public struct SessionModel: Journaled, TimedMachine {
  public static var journalName: String { "session" }
  /// The settings of the session.
  public let settings: SessionSettings
  /// The link, which decides whether, when and how to connect.
  public internal(set) var link: HeldLink
  /// The client's own ID; `nil` until the store was read.
  public private(set) var client: UUID128?
  var outbox: SessionOutbox
  var conversations = SessionConversations()
  /// The current connection, or the attempt of one.
  var connection: ServerConnection?
  var messages = ReceivedMessages()
  /// The evidence about prompts on servers without keys.
  var evidence = SessionEvidence()
  var commits = CommitQueue<SessionCommitID, SessionBatch>()
  var payload = PayloadSize()
  /// The answers to prompts whose ends are being stored.
  var answers: [UUID128: SessionEntry] = [:]
  var shown = ShownState()
  private var metrics = SessionMetrics()
  private var device: SessionDevice
  /// The instant at which to stop regardless of work in progress; `nil` while not stopping.
  private var stopsAt: Instant?
  /// Whether a stopping session waits for the user to confirm all news.
  private var awaitsMarks = true
  private var clock = WallClock()

  /// Creates a session that is not started.
  ///
  /// - Parameter seed: The seed of the random source. It and the inputs determine all effects.
  public init(_ settings: SessionSettings, seed: UInt64) {
    self.settings = settings
    var generator = RandomSource(seed: seed)
    link = HeldLink(policy: settings.policy, seed: generator.next())
    outbox = SessionOutbox(generator)
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
    expireTimers(at: now, &step)
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? { firstDue }

  package enum Timer: CaseIterable, Sendable {
    case link, portal, staleness, requests, prompts, stop, commit
  }

  package func due(_ timer: Timer) -> Instant? {
    switch timer {
    case .link: link.deadline
    case .portal: device.portal.deadline
    case .staleness: outbox.staleDeadline
    case .requests: isConnected ? connection?.deadline : nil
    case .prompts: isConnected && connection != nil ? outbox.deadline : nil
    case .stop: stopsAt
    case .commit: commits.retryAt
    }
  }

  package mutating func expire(_ timer: Timer, _ step: inout Step) {
    switch timer {
    case .link:
      if let attempt = link.currentAttempt, connection?.isDeaf(at: step.now) == true {
        drive(.heard(attempt), &step)
      }
      follow(link.tick(at: step.now), &step)
    case .portal: leavePortal(&step)
    case .staleness:
      for key in outbox.takeStale(at: step.now) { step.show(.notice(.stale(key))) }
    case .requests: expireRequests(&step)
    case .prompts:
      outbox.wake(at: step.now)
      while let key = outbox.expired(at: step.now) { expire(key, &step) }
    case .stop: end(&step)
    case .commit: break  // every step commits what is due
    }
  }

  /// The prompts that have no response and the prompts that failed.
  public var queue: SendQueue<StoredPrompt> { outbox.queue }

  /// The conversation of prompts that specify none.
  public var conversation: String { conversations.selected }

  /// Whether prompts can be sent now.
  public var isConnected: Bool { link.status.phase == .connected }

  /// Whether the session is stopping and waits for work in progress.
  var isStopping: Bool { stopsAt != nil }

  /// Whether nothing is in progress, and nothing will begin before the next start.
  public var isStopped: Bool {
    !link.isWanted && !isStopping && (commits.isDone || commits.failures > 0)
  }

  /// Whether the user has confirmed all news.
  public var isShown: Bool { shown.isConfirmed }

  /// The number of prompts that have not ended.
  public var unanswered: Int { outbox.unanswered }

  /// Whether all prompts have ended and all changes are stored.
  public var isIdle: Bool { unanswered == 0 && commits.isDone }

  /// Whether all messages of the followed conversations are received, stored and acknowledged.
  public var isCaughtUp: Bool {
    guard isConnected, let connection, commits.isDone else { return false }
    return connection.subscriptions.isComplete(for: followed { _ in true })
  }

  /// Whether no work is left that justifies background time.
  private var isFlushed: Bool {
    commits.isDone && messages.pendingAcks.isEmpty && connection?.uploads.isEmpty != false
      && outbox.isAllAccepted
  }

  /// Completes a step: sends waiting messages, most urgent first, and stores the changes.
  private mutating func finish(_ step: inout Step) {
    // The check for a captive portal that held back a failure has ended.
    if shown.status != link.status { show(link.status, &step) }
    if isConnected {
      sendAcks(&step)
      // Acks from a server without keys cannot be attributed, so prompts are sent first.
      if connection?.isIdempotent == true { sendSize(&step) }
      sendPrompts(&step)
      if connection?.isIdempotent == false { sendSize(&step) }
      subscribe(&step)
    }
    if device.isInBackground, isFlushed { drive(.flushed, &step) }
    if isStopping, commits.isDone, isShown || !awaitsMarks { end(&step) }
    if let commit = commits.next(at: step.now) {
      step.effects.append(.commit(commit.id, commit.batch.change))
    }
  }

  /// The time of one call, and the effects produced so far.
  package struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: SessionUpdate) { effects.append(.update(update)) }
  }

  /// Passes an input to the link and applies the link's effects.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// Returns the estimated wall-clock time.
  func wall(at now: Instant) -> Timestamp { clock.time(at: now) }

  private mutating func note(_ wall: Timestamp, _ step: Step) { clock.set(wall, at: step.now) }
}

// MARK: - Inputs and effects

extension SessionModel {
  /// An input of a session. Times are those of the device's wall clock.
  public enum Input: Sendable, Equatable, Codable {
    // Inputs from the user.
    /// The stored data of earlier runs. This is the first input. Prompts belong to `conversation`
    /// or, if it is `nil`, to the most recently used conversation or a new one.
    case restored(ClientSessionSnapshot, conversation: String?, at: Timestamp)
    /// Connect without waiting for the next retry. This is also valid after an error.
    case start
    /// Close once pending changes are stored and acknowledged and the user has confirmed all news,
    /// or after 2 s.
    case stop
    /// Close as after `stop`, without waiting for the user to confirm news, since nobody reads them.
    case stopUnread
    /// Send a prompt under a new key. A key that is in use is ignored.
    case prompt(String, conversation: String?, key: UUID128, at: Timestamp)
    /// Resend a failed prompt under a new key.
    case retry(UUID128, as: UUID128)
    /// Discard a failed prompt.
    case discard(UUID128)
    /// Cancel the current turn of a conversation.
    case cancel(conversation: String)
    /// Follow this conversation. Prompts that specify no conversation belong to it.
    case follow(conversation: String)
    /// News items up to this number were shown and must not be shown again.
    case shown(through: UInt64)
    /// The news items with these numbers were shown, which the store records for each of them.
    /// Earlier ones may still have to be shown.
    case answersShown([UInt64])

    case link(LinkEvent, at: Timestamp)
    case credentials(HeldLink.CredentialsEvent)
    /// A check for a captive portal has ended.
    case probed(isPortal: Bool)

    // Inputs from an attempt's socket.
    case opened(AttemptID)
    case frame(AttemptID, SessionServerMessage, bytes: Int, at: Timestamp)
    case malformed(AttemptID, detail: String)
    /// Reading was paused because the app left too many messages unread, or was resumed.
    case reading(AttemptID, isPaused: Bool)
    /// The socket could not send a message.
    case unsent(AttemptID)

    // Inputs from the store.
    case committed(SessionCommitID, [NumberedSessionNews])
    case commitFailed(SessionCommitID, StoreFailure)
  }

  /// An effect of a session. Effects are carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    case open(AttemptID)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, HeldLink.CloseReason)
    /// Send `connect`. If there is a challenge, add the signature of the message's `signedText`;
    /// otherwise add the key. The message here contains neither.
    case connect(AttemptID, SessionConnect, challenge: String?)
    case send(AttemptID, SessionClientMessage)
    /// Read the key again.
    case refreshCredentials
    /// Request a page of the server in this time, and report whether a captive portal answered.
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
    case .stop, .stopUnread:
      stopsAt = stopsAt ?? step.now.advanced(by: SessionSettings.flushTimeout)
      awaitsMarks = input == .stop
    case .prompt(let text, let conversation, let key, let wall):
      note(wall, step)
      prompt(text, in: conversation ?? self.conversation, key: key, &step)
    case .retry(let key, let new): retry(key, as: new, &step)
    case .discard(let key): discard(key)
    case .cancel(let conversation):
      if isConnected, let connection {
        step.effects.append(.send(connection.attempt, .killSession(conversation: conversation)))
      }
    case .follow(let conversation):
      conversations.name(conversation)
      select(conversation)
    case .shown(let through):
      if shown.confirm(through) { commits.waiting.change.shown = shown.confirmed }
    case .answersShown(let numbers):
      let (before, marked) = (shown.confirmed, shown.confirm(only: numbers))
      if shown.confirmed > before { commits.waiting.change.shown = shown.confirmed }
      commits.waiting.change.marked += marked.filter { [shown] in $0 > shown.confirmed }
    case .link(let event, let wall):
      note(wall, step)
      handle(event, &step)
    case .credentials(let event): drive(.credentials(event), &step)
    case .probed(let isPortal): probed(isPortal, &step)
    case .committed(let id, let news): committed(id, news, &step)
    case .commitFailed(let id, let failure):
      if commits.refused(id, at: step.now) { step.show(.notice(.store(failure))) }
    case .opened, .frame, .malformed, .reading, .unsent: takeSocket(input, &step)
    }
  }

  /// Handles an event of an attempt's socket. Events of earlier attempts are ignored.
  private mutating func takeSocket(_ input: Input, _ step: inout Step) {
    switch input {
    case .opened(let attempt): drive(.opened(attempt), &step)
    case .frame(let attempt, let message, let bytes, let wall):
      note(wall, step)
      guard connection?.attempt == attempt else { return }
      payload.noteArrival(bytes: bytes)
      connection?.noteSignOfLife()
      drive(.heard(attempt), &step)
      handle(message, attempt, &step)
    case .malformed(let attempt, let detail): malformed(attempt, detail, &step)
    case .reading(let attempt, let isPaused):
      guard connection?.attempt == attempt else { return }
      connection?.pause(isPaused)
      // The time without received bytes starts over here.
      drive(.heard(attempt), &step)
    case .unsent(let attempt):
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    case .restored, .start, .stop, .stopUnread, .prompt, .retry, .discard, .cancel, .follow,
      .shown, .answersShown, .link, .credentials, .probed, .committed, .commitFailed:
      return  // not socket events
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
    drive(.setIntent(.live), &step)
    drive(.trigger(.userRefresh), &step)
  }

  private mutating func end(_ step: inout Step) {
    stopsAt = nil
    drive(.setIntent(.none), &step)
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

  /// Selects the conversation of prompts that specify none, and stores the selection.
  private mutating func select(_ conversation: String) {
    keep(conversations.select(conversation))
  }

  /// Stores the state of a conversation.
  mutating func keep(_ known: KnownConversation) {
    conversations.replace(known)
    commits.waiting.put(known)
  }

  /// Records that a message of the server is being stored. It is acknowledged afterwards.
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
    applyEnds(batch.change.news, news)
    for one in news { show(one, &step) }
    for case .ended(let ending) in batch.change.news { answers[ending.key] = nil }
  }

  private mutating func show(_ one: NumberedSessionNews, _ step: inout Step) {
    shown.deliver(one)
    switch one.news {
    case .message(let entry, let via): step.show(.message(entry, via: via, news: one.number))
    case .ended(let ending):
      let prompt = SessionPromptState(ending, answer: answers[ending.key])
      step.show(.prompt(prompt, news: one.number))
    }
  }

  /// Shows the state of a prompt if the state has changed.
  mutating func show(
    _ prompt: StoredPrompt, _ state: SessionPromptState.State, because reason: String? = nil,
    _ step: inout Step
  ) {
    guard shown.note(state, of: prompt.id) || reason != nil else { return }
    step.show(.prompt(SessionPromptState(prompt, state, reason), news: nil))
  }

  private mutating func expireRequests(_ step: inout Step) {
    for conversation in connection?.expire(at: step.now) ?? [] {
      // If a server without keys does not respond, this does not prove that it has no prompt.
      if connection?.isIdempotent == false { skip(conversation, isReset: false, step) }
      conclude(conversation, &step)
    }
  }
}

// MARK: - The link and the device

extension SessionModel {
  /// Handles an event of the link. Control frames say nothing about the server's program. They
  /// count only while the client's pings wait behind a large prompt.
  private mutating func handle(_ event: LinkEvent, _ step: inout Step) {
    switch event {
    case .ping(let attempt), .pong(let attempt, _):
      guard let large = connection?.large, step.now < large.until else { return }
      drive(.heard(attempt), &step)
    case .device(.again):
      // This input requests another attempt, but a stopping session stays stopped.
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

  /// Ends a connection that was lost, or that must end because of a message from the server.
  private mutating func lose(
    _ attempt: AttemptID, _ failure: LinkFailure, isOpen: Bool = false, _ step: inout Step
  ) {
    endConnection(.failure(failure), &step)
    drive(isOpen ? .reject(attempt, failure) : .lost(attempt, failure), &step)
  }

  /// Applies the effects of the link.
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
      // A connection that is about to close needs no ping.
      case .ping where isStopping: continue
      case .ping(let attempt, let id):
        connection?.sendPing(id, at: step.now)
        step.effects.append(.send(attempt, .ping))
      case .refreshCredentials: step.effects.append(.refreshCredentials)
      case .status(let status): show(status, &step)
      // Polling cannot reach a session's data, and there is no queued connect.
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
    endConnection(.closed(reason), &step)
    step.effects.append(.close(attempt, reason))
  }

  /// Records the end of a connection, after which the outcome of its prompts is unknown.
  private mutating func endConnection(_ reason: SessionRecord.Reason, _ step: inout Step) {
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

  /// Whether the link has failed in a way for which the check under way may find another cause.
  ///
  /// The failure is not shown before the result of the check, since a captive portal only holds the
  /// link.
  var awaitsPortalCheck: Bool {
    guard device.portal.isChecking, link.status.isFinal, case .failure(.tls) = link.status.reason
    else { return false }
    return true
  }

  /// Shows a status of the link, unless a check for a captive portal has to end first.
  private mutating func show(_ status: LinkStatus, _ step: inout Step) {
    guard !awaitsPortalCheck else { return }
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

  /// Handles the result of a check. A captive portal holds the link, even after the link has
  /// failed.
  private mutating func probed(_ isPortal: Bool, _ step: inout Step) {
    guard device.portal.checked(isPortal: isPortal, at: step.now) else { return }
    guard link.isWanted, !isConnected else {
      _ = device.portal.release()
      return
    }
    drive(.reachability(.captivePortal), &step)
    if case .failure(.tls) = link.status.reason { drive(.setIntent(.live), &step) }
  }

  /// Releases a link held by a captive portal. One attempt then shows whether the portal is gone.
  private mutating func leavePortal(_ step: inout Step) {
    if let way = device.portal.release() { drive(.reachability(way), &step) }
  }
}

// MARK: - Messages of the server

extension SessionModel {
  private mutating func handle(
    _ message: SessionServerMessage, _ attempt: AttemptID, _ step: inout Step
  ) {
    switch message {
    case .hello(let hello): greet(hello, attempt, &step)
    case .connected(let connected): self.connected(connected, attempt, &step)
    case .authError(let text):
      lose(attempt, .closed(code: 4401, reason: text), isOpen: true, &step)
    case .error(let error): refused(error, attempt, &step)
    case .unknown: return  // session_list, recent_sessions, available_commands, later types
    case .pong, .ack, .response, .responsePart, .replay, .turnComplete, .history, .historyBatch,
      .heartbeat, .draining, .sessionKilled:
      if connection?.isConnected == true { receiveConnected(message, attempt, &step) }
    }
  }

  private mutating func receiveConnected(
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
    case .sessionKilled: return  // the response reports it
    case .hello, .connected, .authError, .error, .unknown: return  // handled before
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
      // With the server's own time, a client with a wrong clock stays connected.
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

  /// Handles a refusal of the session, of a prompt, or of an optional message.
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
      // The original server rejects acknowledgements with this message. A server without keys
      // rejects any unknown message with it.
      if error.message.contains("set_max_message_size") { connection?.forget(.size) }
    } else if !refusedWithoutKey(error, &step) {
      // A conversation that the user specified may not exist on the server yet.
      if let conversation = error.conversation, leave(conversation, &step),
        conversations.isNamedOnly(conversation)
      {
        return
      }
      step.show(.notice(.refused(error)))
    }
  }

  /// Records that the server refused a subscription. Returns false if none was pending.
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

  /// Compares the clocks. Their difference is reported but not used.
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
