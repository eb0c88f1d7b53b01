import HoldfastCore
public import HoldfastLinkChecks
import HoldfastServerParts
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastWorldKernel

/// A checker that compares the server's messages, changes and counts with its inputs and its
/// durable state.
///
/// The ledger does not rely on the server's own state, and it contains the numbers of the server's
/// policy itself. A run of the server's process begins with the durable state.
struct SessionLedger: Sendable {
  /// A connection as seen by its client.
  struct Socket: Sendable {
    enum Stage: Sendable {
      case accepted, greeted, connected
    }

    var stage = Stage.accepted
    let challenge: String
    let address: String
    /// The index among all connections that have reached `connected`.
    var order = 0
    let openedAt: Instant
    var lastReceived: Instant
    /// The times of the last ping frame and the last heartbeat. Before the first ones, these are
    /// the times at which the connection opened and connected.
    var pingAt: Instant
    var beatAt: Instant
    var closedAt: Instant?
    /// The `connect` message, once its proof has been verified.
    var connect: SessionConnect?
    var version = SessionVersion.oldest
    /// The numbers of immediate answers that are due, to pings and to size messages.
    var pongs = 0
    var sizes = 0
    /// By conversation, the cursors from which windows were requested and the next position of each
    /// window.
    var requested: [String: [(cursor: SessionCursor, position: UInt64)]] = [:]
    var subscriptions: Set<String> = []
    /// The maximum size of a message, the number of bytes sent since the socket last drained, and
    /// whether a notice of a drain is due.
    var limit = 100 << 10
    var inFlight = 0
    var awaitsDrain = false
    var next: [String: UInt64] = [:]
    /// The parts of each answer that were sent, by the key of the prompt.
    var parts: [String: [String]] = [:]
    /// By conversation, the answered turns whose end must follow: whether the turn was aborted, and
    /// whether the answer is new.
    var turns: [String: (isAborted: Bool, isFresh: Bool)] = [:]
    var isClosing: Bool { closedAt != nil }
  }

  let policy: SessionServerPolicy
  var now = Instant.zero
  /// The wall-clock time that the server last received, and the instant at which it received it.
  private var clock = (wall: Timestamp(nanoseconds: 0), at: Instant.zero)
  var sockets: [ConnectionID: Socket] = [:]
  var arrivals: [ConnectionID: SessionServer.Arrival] = [:]
  var drainAt: Instant?
  var drainWindow = Duration.zero
  var isDraining: Bool { drainAt != nil }
  /// The obligations of this step: refusals by code, closes, messages to clients with and without a
  /// proof, drain warnings, the response to an upgrade, and the change that stores a new prompt.
  var refusals: [ConnectionID: [String]] = [:]
  var closings: [ConnectionID: UInt16] = [:]
  var unproven: Set<ConnectionID> = []
  var entrances: Set<ConnectionID> = []
  var warnings: Set<ConnectionID> = []
  var opening: (id: ConnectionID, status: Int?)?
  var expected: (prompt: SessionPrompt, client: String, id: ConnectionID)?
  /// The prompts that the server stores.
  var table: [SessionPromptID: ReceivedPrompt] = [:]
  var lastPrompt: UInt64 = 0
  /// For each client, the number of its last durable prompt, and the time at which its rate limit
  /// is fully available again.
  var lastPrompts: [String: UInt64] = [:]
  var fullAt: [String: Instant] = [:]
  var lastOrder = 0
  /// The expected metrics.
  var counts: [String: UInt64] = [:]
  /// The changes that the store has not confirmed.
  var writes: [StoreToken: [SessionChange]] = [:]
  /// The prompts that were passed to the store, and the connection that last sent each key.
  var prompts: Set<SessionPromptID> = []
  var senders: [String: ConnectionID] = [:]
  /// The keys whose acknowledgement is due in this step.
  var due: Set<String> = []
  /// The prompts whose program was started in an earlier run, the prompts that are running with
  /// their conversations, and the results of programs.
  var broken: Set<SessionPromptID> = []
  var running: [SessionPromptID: String] = [:]
  var ends: [SessionPromptID: SessionResponse.Result] = [:]
  /// For each program, the times at which it was started and canceled, and the number of bytes that
  /// it wrote.
  var startedAt: [SessionPromptID: Instant] = [:]
  var endedAt: [SessionPromptID: Instant] = [:]
  var written: [SessionPromptID: Int] = [:]
  /// The client to which each message belongs.
  var owners: [String: String] = [:]
  var answers: [SessionPromptID: StoredSessionAnswer] = [:]
  /// The prompts whose answer the store has confirmed in this run.
  var confirmed: Set<SessionPromptID> = []
  /// The answers that the store confirmed in this step.
  var fresh: Set<String> = []
  /// The conversations in which a cancellation was requested.
  var kills: Set<String> = []
  /// For each connection and conversation, the number of cancellations that the client requested
  /// and the number that the server reported.
  var cancellations: [ConnectionID: [String: (requested: Int, reported: Int)]] = [:]
  /// The messages that clients acknowledged, and for each client the number up to which it has
  /// received all messages.
  var acknowledged: Set<String> = []
  var received: [String: UInt64] = [:]
  /// The answers whose end has been counted, even if the store failed to write the answer.
  var counted: Set<SessionPromptID> = []
  /// For each client, the number of the last message to it.
  var numbers: [String: UInt64] = [:]
  /// For each conversation, the last position assigned, the durable positions, and the position up
  /// to which the store has confirmed all messages.
  var positions: [String: UInt64] = [:]
  var stored: [String: Set<UInt64>] = [:]
  var known: [String: UInt64] = [:]
  /// Whether the current step handles a result of the store.
  var isStored = false
  private(set) var found: [(kind: Finding.Kind, detail: String)] = []

  init(_ policy: SessionServerPolicy) { self.policy = policy }

  mutating func wrong(_ kind: Finding.Kind, _ detail: String) { found.append((kind, detail)) }

  mutating func takeFindings() -> [(kind: Finding.Kind, detail: String)] {
    defer { found = [] }
    return found
  }

  /// The server's wall clock.
  var wall: Timestamp { clock.wall.advanced(by: clock.at.duration(to: now)) }

  mutating func count(_ name: String) { counts[name, default: 0] += 1 }

  /// Handles a new run of the process, which begins with the content of its disk.
  mutating func boot(_ durable: StoredSessions, at now: Instant) {
    let clock = clock
    self = SessionLedger(policy)
    (self.now, self.clock) = (now, clock)
    for (id, prompt) in durable.prompts {
      prompts.insert(id)
      table[id] = ReceivedPrompt(client: prompt.client, prompt: prompt.prompt, isKnown: true)
      lastPrompt = max(lastPrompt, id.number)
      switch prompt.stage {
      case .accepted: continue
      case .started: broken.insert(id)
      case .ended(let answer):
        answers[id] = answer
        confirmed.insert(id)
        owners[answer.message] = prompt.client
        numbers[prompt.client] = max(numbers[prompt.client] ?? 0, answer.number)
      }
    }
    for (id, client) in durable.clients {
      numbers[id] = max(numbers[id] ?? 0, client.lastNumber)
      lastPrompts[id] = client.lastPrompt
    }
    for (id, conversation) in durable.conversations {
      positions[id] = conversation.entries.compactMap(\.position).max()
      known[id] = positions[id]
    }
  }

  // MARK: Inputs of the server

  mutating func received(_ input: SessionServer.Input, at now: Instant) {
    pass(to: now)
    if let wall = input.wall { clock = (wall, now) }
    if case .stored = input { isStored = true }
    switch input {
    case .restored(let durable, _): boot(durable, at: now)
    case .opened(let id, let arrival, _): opened(id, arrival)
    case .received(let id): sockets[id]?.lastReceived = now
    case .said(let id, let message, let proof, _): said(id, message, proof)
    case .gone(let id, _):
      sockets[id] = nil
      cancellations[id] = nil
    case .ended(let id, let result, _):
      ends[id] = result
      running[id] = nil
    case .stored(let token, let failure, _): written(token, failure)
    case .drain(let window): drain(within: window)
    case .unreadable(let id, _, let field): unreadable(id, field)
    case .drained(let id):
      sockets[id]?.awaitsDrain = false
      sockets[id]?.inFlight = 0
    case .overflowed(let id): if sockets[id]?.isClosing == false { closings[id] = 1013 }
    case .produced(let id, let text): written[id, default: 0] += text.utf8.count
    // No operator erases a user in this world.
    case .erased: break
    }
  }

  private mutating func said(
    _ id: ConnectionID, _ message: SessionClientMessage, _ proof: SessionServer.Proof
  ) {
    guard let socket = sockets[id], !socket.isClosing else { return }
    count("messages_total")
    if message == .ping {
      sockets[id]?.pongs += 1
      return
    }
    guard socket.stage == .connected else { return enter(id, message, proof) }
    let client = socket.connect?.session ?? ""
    switch message {
    case .messageAck(let message):
      if owners[message] == client { acknowledged.insert(message) }
    case .prompt(let prompt): received(prompt, client, on: id)
    case .subscribe(let one): ask(id, [one])
    case .subscribeBatch(let all): ask(id, all)
    case .setMaxMessageSize(let kilobytes):
      sockets[id]?.sizes += 1
      sockets[id]?.limit = min(kilobytes * 1_024, policy.maxMessageBytes)
    case .killSession(let conversation):
      kills.insert(conversation)
      cancellations[id, default: [:]][conversation, default: (0, 0)].requested += 1
    case .connect: refuse(id, "already_connected")
    case .unsubscribe(let conversation): unsubscribe(id, conversation)
    case .disconnect: closings[id] = 1000
    case .unknown: refuse(id, "unknown_type")
    case .ping: return
    }
  }

  private mutating func drain(within window: Duration) {
    guard drainAt == nil else { return }
    (drainAt, drainWindow) = (now, window)
    for (id, socket) in sockets where socket.stage == .connected && !socket.isClosing {
      warnings.insert(id)
    }
  }

  // MARK: Obligations

  /// Advances the time, and reports the obligations that were due before it.
  mutating func pass(to now: Instant) {
    guard now > self.now else { return }
    self.now = now
    for id in sockets.keys { checkTimes(id) }
    for (id, at) in startedAt where at.advanced(by: policy.turnLimit) < now && endedAt[id] == nil {
      wrong(.untimely, "a program runs for longer than it may")
    }
    for (id, at) in endedAt where at.advanced(by: policy.cancelWait) < now {
      if answers[id] == nil { wrong(.untimely, "a program that does not end was waited for") }
    }
    if let drainAt, drainAt.advanced(by: .seconds(1)) < now,
      sockets.values.contains(where: { !$0.isClosing })
    {
      wrong(.untimely, "a connection was kept for more than 1 s of a drain")
    }
  }

  private mutating func checkTimes(_ id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    if let closedAt = socket.closedAt {
      if closedAt.advanced(by: .seconds(5)) < now {
        wrong(.untimely, "a close frame was unanswered for more than 5 s")
      }
      return
    }
    if socket.pingAt.advanced(by: .seconds(30)) < now {
      wrong(.untimely, "no ping for more than 30 s")
    }
    if socket.lastReceived.advanced(by: .seconds(90)) < now {
      wrong(.untimely, "a silent connection was kept for more than 90 s")
    }
    switch socket.stage {
    case .connected:
      if socket.beatAt.advanced(by: .seconds(45)) < now {
        wrong(.untimely, "no heartbeat for more than 45 s")
      }
    case .accepted, .greeted:
      if socket.openedAt.advanced(by: .seconds(30)) < now {
        wrong(.untimely, "a connection without connect was kept for more than 30 s")
      }
    }
  }

  /// Checks that the effects of a step include all that were due.
  mutating func finishStep() {
    for (id, socket) in sockets where !socket.isClosing && socket.pongs > 0 {
      sockets[id]?.pongs = 0
      wrong(.untrue, "a ping was not answered")
    }
    for key in due { wrong(.untrue, "the prompt \(key) was stored and not acknowledged") }
    finishRefusals()
    due = []
    fresh = []
    isStored = false
  }
}

extension SessionServer.Input {
  /// The wall-clock time of the input.
  fileprivate var wall: Timestamp? {
    switch self {
    case .restored(_, let wall), .opened(_, _, let wall), .said(_, _, _, let wall),
      .gone(_, let wall), .ended(_, _, let wall), .stored(_, _, let wall):
      wall
    case .received, .unreadable, .drained, .overflowed, .produced, .erased, .drain: nil
    }
  }
}

extension Finding.Kind {
  /// An event occurred too early, too late or not at all.
  public static let untimely = Finding.Kind(rawValue: "untimely")
  /// A metric does not match the facts.
  public static let miscounted = Finding.Kind(rawValue: "miscounted")
}

// Checks of the server's effects.
extension SessionLedger {
  /// Checks an effect.
  ///
  /// - Parameter durable: The server's durable state.
  mutating func requested(_ effect: SessionServer.Effect, _ durable: StoredSessions) {
    switch effect {
    case .accept(let id): accept(id)
    case .refuse(let id, let answer): refuse(id, answer)
    case .send(let id, let message): sent(message, to: id, durable)
    case .ping(let id):
      if let last = sockets[id]?.pingAt, last.advanced(by: .seconds(30)) != now {
        wrong(.untimely, "a ping went out \(last.duration(to: now).text) after the last one")
      }
      sockets[id]?.pingAt = now
    case .close(let id, let closure): close(id, closure)
    case .drop(let id): drop(id)
    case .run(let id, let prompt): run(id, prompt, durable)
    case .cancel(let id): cancel(id)
    case .store(let token, let changes):
      writes[token] = changes
      for change in changes { check(change, durable) }
      checkEntries(changes, durable)
    case .noticeDrain(let id): sockets[id]?.awaitsDrain = true
    case .finished: return
    }
  }

  private mutating func cancel(_ id: SessionPromptID) {
    let isRequested = running[id].map(kills.contains) ?? false
    let isLate = startedAt[id]?.advanced(by: policy.turnLimit) == now
    let isLong = written[id] ?? 0 > policy.maxResponseBytes
    if !isRequested, !isDraining, !isLate, !isLong {
      wrong(.untrue, "a program was ended that was not cancelled")
    }
    endedAt[id] = now
  }

  private mutating func close(_ id: ConnectionID, _ closure: Closure) {
    guard let socket = sockets[id], !socket.isClosing else {
      return wrong(.untrue, "a connection was closed twice")
    }
    if closure == .slowReader { count("slow_readers_total") }
    let isLate = socket.openedAt.advanced(by: .seconds(30)) == now
    if closure.code == 4408, socket.stage == .connected || !isLate {
      wrong(.untimely, "a connection was closed for want of a connect")
    }
    let isFree = closure.code == 4408 || closure == .draining(within: drainWindow) && isDraining
    if !isFree, closings[id] != closure.code {
      wrong(.untrue, "a connection was closed with \(closure.code) for no reason")
    }
    sockets[id]?.closedAt = now
  }

  private mutating func drop(_ id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    if let closedAt = socket.closedAt {
      if closedAt.advanced(by: .seconds(5)) > now, !isDraining {
        wrong(.untimely, "a connection was dropped before its close frame could be answered")
      }
    } else {
      count("silent_total")
      if socket.lastReceived.advanced(by: .seconds(90)) > now {
        wrong(.untimely, "a connection was dropped that was heard within 90 s")
      }
    }
  }

  private mutating func run(
    _ id: SessionPromptID, _ prompt: SessionPrompt, _ durable: StoredSessions
  ) {
    count("started_total")
    if durable.prompts[id]?.stage != .started || durable.prompts[id]?.prompt != prompt {
      wrong(.untrue, "a program was started that is not marked so")
    }
    if running.values.contains(prompt.conversation) {
      wrong(.untrue, "two programs run for one conversation")
    }
    (running[id], startedAt[id]) = (prompt.conversation, now)
    if running.count > policy.maxRunning { wrong(.untrue, "too many programs run") }
  }

  // MARK: Messages of the server

  private mutating func sent(
    _ message: SessionServerMessage, to id: ConnectionID, _ durable: StoredSessions
  ) {
    guard let socket = sockets[id], !socket.isClosing else {
      return wrong(.untrue, "a message was sent after the end of a connection")
    }
    switch message {
    case .hello(let hello): greeted(hello, id, socket)
    case .connected(let connected): self.connected(connected, id, socket)
    case .pong:
      sockets[id]?.pongs -= 1
      if socket.pongs < 1 { wrong(.untrue, "a pong that was not asked for") }
    case .ack(_, let key): acknowledged(key, id, durable)
    case .response(let response): self.response(response, id, durable)
    case .responsePart(_, let key, let index, let text): part(text, index, of: key, id)
    case .replay(let message, let entry, let number):
      replayed(message, entry, number, socket, durable)
    case .turnComplete(let conversation, let isAborted):
      turnEnded(conversation, isAborted, id)
    case .history(let window): self.window(window, id, durable)
    case .historyBatch(let all): for window in all { self.window(window, id, durable) }
    case .heartbeat(let time):
      if time != wall || socket.beatAt.advanced(by: .seconds(45)) != now {
        wrong(.untimely, "a heartbeat says or keeps another time")
      }
      sockets[id]?.beatAt = now
    case .draining(_, let retryAfter, let window): warned(id, retryAfter, window)
    case .sessionKilled(let conversation):
      cancelled(conversation, id)
    case .error(let error): refused(error, id)
    case .authError:
      count("unauthorized_total")
      if unproven.remove(id) == nil { wrong(.untrue, "a client was refused that has the key") }
    case .unknown: return
    }
  }

  private mutating func greeted(
    _ hello: SessionHello, _ id: ConnectionID, _ socket: Socket
  ) {
    if hello.challenge != socket.challenge || hello.features != Set(SessionFeature.allCases)
      || hello.timestamp != wall || hello.version != "0.5.0" || hello.authVersion != 1
    {
      wrong(.untrue, "the greeting is wrong")
    }
    sockets[id]?.stage = .greeted
  }

  private mutating func warned(
    _ id: ConnectionID, _ retryAfter: Duration, _ window: Duration?
  ) {
    let isDue = warnings.remove(id) != nil
    if !isDue || retryAfter != policy.drainRetry || window != drainWindow {
      wrong(.untrue, "a drain was announced incorrectly")
    }
  }

  private mutating func turnEnded(
    _ conversation: String, _ isAborted: Bool, _ id: ConnectionID
  ) {
    let turn = sockets[id]?.turns.removeValue(forKey: conversation)
    if turn == nil || isAborted && turn?.isAborted == false
      || !isAborted && turn?.isAborted == true && turn?.isFresh == true
    {
      wrong(.untrue, "the end of a turn does not match its answer")
    }
  }

  private mutating func cancelled(_ conversation: String, _ id: ConnectionID) {
    let known = cancellations[id]?[conversation] ?? (0, 0)
    if known.reported >= known.requested {
      wrong(.untrue, "a cancellation was told that was not asked for")
    }
    cancellations[id]?[conversation]?.reported += 1
  }

  private mutating func connected(
    _ connected: SessionConnected, _ id: ConnectionID, _ socket: Socket
  ) {
    count("connected_total")
    guard let connect = socket.connect, socket.stage == .greeted else {
      return wrong(.untrue, "connected was said to a client that showed no key")
    }
    if connected.session != connect.session || connected.features != connect.features
      || connected.version != SessionVersion.negotiated(connect.version)
    {
      wrong(.untrue, "connected names another client, version or feature")
    }
    if entrances.remove(id) == nil || connected.received != lastPrompts[connect.session] {
      wrong(.untrue, "connected does not match its client's state")
    }
    checkRecovery(connected, connect)
    if connected.isRecovered == false { refuse(id, "not_recovered") }
    lastOrder += 1
    sockets[id]?.order = lastOrder
    sockets[id]?.stage = .connected
    sockets[id]?.limit = min(policy.usualMessageBytes, policy.maxMessageBytes)
    sockets[id]?.beatAt = now
    sockets[id]?.version = connected.version
    let number = connect.received ?? 0
    received[connect.session] = max(received[connect.session] ?? 0, number)
    numbers[connect.session] = max(numbers[connect.session] ?? 0, number)
  }

  /// Checks that the server reports a loss of messages if and only if there is one.
  private mutating func checkRecovery(_ connected: SessionConnected, _ connect: SessionConnect) {
    let isAhead = connect.received ?? 0 > numbers[connect.session] ?? 0
    let isSure = isAhead || policy.answersPerClient >= 1_000
    if connected.isRecovered == nil || isSure && connected.isRecovered == isAhead {
      wrong(.untrue, "connected does not say whether messages are missing")
    }
  }

  /// Checks that a message is within the client's size limit, and that all bytes in transit are
  /// within the limit of the socket.
  mutating func checkSize(_ message: SessionServerMessage, _ bytes: Int, _ id: ConnectionID) {
    guard message.isBulk, let socket = sockets[id] else { return }
    sockets[id]?.inFlight += bytes
    if bytes > max(socket.limit, 2_048) {
      wrong(.untrue, "a message has \(bytes) bytes instead of \(socket.limit)")
    }
    if socket.awaitsDrain { wrong(.outranked, "a message went out before the last were taken") }
    if socket.inFlight > 2 * policy.queueBytes + socket.limit {
      wrong(.unbounded, "\(socket.inFlight) bytes are on their way at once")
    }
  }

  private mutating func acknowledged(
    _ key: String?, _ id: ConnectionID, _ durable: StoredSessions
  ) {
    guard let key else {
      sockets[id]?.sizes -= 1
      if (sockets[id]?.sizes ?? 0) < 0 { wrong(.untrue, "an ack that nothing asked for") }
      return
    }
    if due.remove(key) == nil { wrong(.untrue, "an ack of \(key) that was not due") }
    if !durable.prompts.values.contains(where: { $0.prompt.idempotencyKey == key }) {
      wrong(.untrue, "the prompt \(key) was acknowledged and is not durable")
    }
  }

  private mutating func response(
    _ response: SessionResponse, _ id: ConnectionID, _ durable: StoredSessions
  ) {
    let message = response.id ?? ""
    guard let (prompt, answer) = self.answer(message, durable) else {
      return wrong(.untrue, "an answer was sent that is not durable")
    }
    let isSame: Bool =
      switch (response.result, answer.result) {
      case (.success(let sent), .success(let text)): sent == text || isCut(sent, of: text)
      case (.failure(let sent), .failure(let error)): sent == error
      case (.success, .failure), (.failure, .success): false
      }
    let key = prompt.prompt.idempotencyKey
    if !isSame || response.number != answer.number || response.idempotencyKey != key
      || response.conversation != prompt.prompt.conversation
    {
      wrong(.untrue, "an answer differs from its stored form")
    }
    if let count = response.parts, case .success(let text) = answer.result {
      let parts = sockets[id]?.parts[key ?? ""] ?? []
      if parts.count != count || parts.joined() != text {
        wrong(.untrue, "the parts of an answer are not the whole of it")
      }
    }
    let isAborted =
      answer.result == .failure(error: "cancelled")
      || answer.result == .failure(error: "interrupted")
    sockets[id]?.turns[prompt.prompt.conversation] = (isAborted, fresh.contains(message))
    sockets[id]?.parts[key ?? ""] = nil
  }

  private func answer(
    _ message: String, _ durable: StoredSessions
  ) -> (StoredSessionPrompt, StoredSessionAnswer)? {
    for prompt in durable.prompts.values {
      if case .ended(let answer) = prompt.stage, answer.message == message {
        return (prompt, answer)
      }
    }
    return nil
  }

  private mutating func part(
    _ text: String, _ index: Int, of key: String, _ id: ConnectionID
  ) {
    if index != sockets[id]?.parts[key]?.count ?? 0 || text.isEmpty {
      wrong(.untrue, "part \(index) of an answer is not the next one")
    }
    sockets[id]?.parts[key, default: []].append(text)
  }

  private mutating func replayed(
    _ message: String, _ entry: SessionEntry, _ number: UInt64?, _ socket: Socket,
    _ durable: StoredSessions
  ) {
    guard let (prompt, answer) = self.answer(message, durable),
      case .success(let text) = answer.result, let client = socket.connect?.session
    else { return wrong(.untrue, "an answer was repeated that is not durable") }
    let expected = SessionEntry(
      id: message, role: .assistant, text: text, conversation: prompt.prompt.conversation,
      timestamp: answer.at)
    if entry != expected && !isCut(entry.text, of: text) || number != answer.number
      || prompt.client != client
    {
      wrong(.untrue, "a repeated answer differs from its stored form")
    }
    if acknowledged.contains(message) || (number ?? 0) <= received[client] ?? 0 {
      wrong(.untrue, "an answer was repeated that its client acknowledged")
    }
  }

  /// Returns whether a text consists of the beginning and the end of a longer text.
  func isCut(_ text: String, of whole: String) -> Bool {
    text.utf8.count < whole.utf8.count && text.contains(" bytes left out ...]")
      && text.prefix(10) == whole.prefix(10) && text.suffix(10) == whole.suffix(10)
  }
}

extension SessionServerMessage {
  /// Whether the message is queued after other messages.
  fileprivate var isBulk: Bool {
    switch self {
    case .response, .responsePart, .replay, .turnComplete, .history, .historyBatch: true
    case .hello, .connected, .pong, .ack, .error, .authError, .heartbeat, .draining,
      .sessionKilled, .unknown:
      false
    }
  }
}
