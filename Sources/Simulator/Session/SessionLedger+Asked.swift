import LinkCore
import LinkServerCore
import LinkWire

// What the server asks for, before the books.
extension SessionLedger {
  /// - Parameter kept: What is durable now.
  mutating func asked(_ effect: SessionServer.Effect, _ kept: SessionKept) {
    switch effect {
    case .accept(let id): accept(id)
    case .refuse(let id, let answer): refuse(id, answer)
    case .send(let id, let message): sent(message, to: id, kept)
    case .ping(let id):
      if let last = sockets[id]?.pingAt, last.advanced(by: .seconds(30)) != now {
        wrong(.untimely, "a ping went out \(last.duration(to: now).text) after the last one")
      }
      sockets[id]?.pingAt = now
    case .close(let id, let closure): close(id, closure)
    case .drop(let id): drop(id)
    case .run(let id, let prompt): run(id, prompt, kept)
    case .cancel(let id): cancel(id)
    case .store(let token, let changes):
      writes[token] = changes
      for change in changes { check(change, kept) }
      checkEntries(changes, kept)
    case .noticeDrain(let id): sockets[id]?.awaitsDrain = true
    case .finished: return
    }
  }

  private mutating func cancel(_ id: SessionPromptID) {
    let isAsked = running[id].map(kills.contains) ?? false
    let isLate = startedAt[id]?.advanced(by: policy.turnLimit) == now
    let isLong = written[id] ?? 0 > policy.maxResponseBytes
    if !isAsked, !isDraining, !isLate, !isLong {
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
      if socket.heardAt.advanced(by: .seconds(90)) > now {
        wrong(.untimely, "a connection was dropped that was heard within 90 s")
      }
    }
  }

  private mutating func run(
    _ id: SessionPromptID, _ prompt: SessionPrompt, _ kept: SessionKept
  ) {
    count("started_total")
    if kept.prompts[id]?.stage != .started || kept.prompts[id]?.prompt != prompt {
      wrong(.untrue, "a program was started that is not marked so")
    }
    if running.values.contains(prompt.conversation) {
      wrong(.untrue, "two programs run for one conversation")
    }
    (running[id], startedAt[id]) = (prompt.conversation, now)
    if running.count > policy.maxRunning { wrong(.untrue, "too many programs run") }
  }

  // MARK: What it says

  private mutating func sent(
    _ message: SessionServerMessage, to id: ConnectionID, _ kept: SessionKept
  ) {
    guard let socket = sockets[id], !socket.isClosing else {
      return wrong(.untrue, "something was said behind the end of a connection")
    }
    switch message {
    case .hello(let hello): greeted(hello, id, socket)
    case .connected(let connected): self.connected(connected, id, socket)
    case .pong:
      sockets[id]?.pongs -= 1
      if socket.pongs < 1 { wrong(.untrue, "a pong that was not asked for") }
    case .ack(_, let key): acknowledged(key, id, kept)
    case .response(let response): self.response(response, id, kept)
    case .responsePart(_, let key, let index, let text): part(text, index, of: key, id)
    case .replay(let message, let entry, let number):
      replayed(message, entry, number, socket, kept)
    case .turnComplete(let conversation, let isAborted):
      turnEnded(conversation, isAborted, id)
    case .history(let window): self.window(window, id, kept)
    case .historyBatch(let all): for window in all { self.window(window, id, kept) }
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
      wrong(.untrue, "the greeting is another one")
    }
    sockets[id]?.stage = .greeted
  }

  private mutating func warned(
    _ id: ConnectionID, _ retryAfter: Duration, _ window: Duration?
  ) {
    let isDue = warnings.remove(id) != nil
    if !isDue || retryAfter != policy.drainRetry || window != drainWindow {
      wrong(.untrue, "a drain was told otherwise than it began")
    }
  }

  private mutating func turnEnded(
    _ conversation: String, _ isAborted: Bool, _ id: ConnectionID
  ) {
    let turn = sockets[id]?.turns.removeValue(forKey: conversation)
    if turn == nil || isAborted && turn?.isAborted == false
      || !isAborted && turn?.isAborted == true && turn?.isFresh == true
    {
      wrong(.untrue, "a turn ended otherwise than its answer says")
    }
  }

  private mutating func cancelled(_ conversation: String, _ id: ConnectionID) {
    let known = killers[id]?[conversation] ?? (0, 0)
    if known.told >= known.asked {
      wrong(.untrue, "a cancellation was told that was not asked for")
    }
    killers[id]?[conversation]?.told += 1
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
      wrong(.untrue, "connected says otherwise than its client showed and sent")
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

  /// Says what is lost if anything is, and only then.
  private mutating func checkRecovery(_ connected: SessionConnected, _ connect: SessionConnect) {
    let isAhead = connect.received ?? 0 > numbers[connect.session] ?? 0
    let isSure = isAhead || policy.answersPerClient >= 1_000
    if connected.isRecovered == nil || isSure && connected.isRecovered == isAhead {
      wrong(.untrue, "connected does not say whether messages are missing")
    }
  }

  /// A message of so many bytes is on its way: within what its client takes, and behind what is
  /// small, no more of it than the socket takes.
  mutating func weigh(_ message: SessionServerMessage, _ bytes: Int, _ id: ConnectionID) {
    guard message.isBulk, let socket = sockets[id] else { return }
    sockets[id]?.inFlight += bytes
    if bytes > max(socket.limit, 2_048) {
      wrong(.untrue, "a message has \(bytes) bytes instead of \(socket.limit)")
    }
    if socket.awaitsDrain { wrong(.outranked, "a message went out before the last were taken") }
    if socket.inFlight > 2 * policy.laneBytes + socket.limit {
      wrong(.unbounded, "\(socket.inFlight) bytes are on their way at once")
    }
  }

  private mutating func acknowledged(
    _ key: String?, _ id: ConnectionID, _ kept: SessionKept
  ) {
    guard let key else {
      sockets[id]?.sizes -= 1
      if (sockets[id]?.sizes ?? 0) < 0 { wrong(.untrue, "an ack that nothing asked for") }
      return
    }
    if due.remove(key) == nil { wrong(.untrue, "an ack of \(key) that was not due") }
    if !kept.prompts.values.contains(where: { $0.prompt.idempotencyKey == key }) {
      wrong(.untrue, "the prompt \(key) was acknowledged and is not durable")
    }
  }

  private mutating func response(
    _ response: SessionResponse, _ id: ConnectionID, _ kept: SessionKept
  ) {
    let message = response.id ?? ""
    guard let (prompt, answer) = self.answer(message, kept) else {
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
      wrong(.untrue, "an answer was sent otherwise than it is stored")
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
    _ message: String, _ kept: SessionKept
  ) -> (KeptSessionPrompt, KeptSessionAnswer)? {
    for prompt in kept.prompts.values {
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
    _ kept: SessionKept
  ) {
    guard let (prompt, answer) = self.answer(message, kept),
      case .success(let text) = answer.result, let client = socket.connect?.session
    else { return wrong(.untrue, "an answer was repeated that is not durable") }
    let expected = SessionEntry(
      id: message, role: .assistant, text: text, conversation: prompt.prompt.conversation,
      timestamp: answer.at)
    if entry != expected && !isCut(entry.text, of: text) || number != answer.number
      || prompt.client != client
    {
      wrong(.untrue, "an answer was repeated otherwise than it is stored")
    }
    if acknowledged.contains(message) || (number ?? 0) <= received[client] ?? 0 {
      wrong(.untrue, "an answer was repeated that its client acknowledged")
    }
  }

  /// Whether a text is the beginning and the end of a longer one.
  func isCut(_ text: String, of whole: String) -> Bool {
    text.utf8.count < whole.utf8.count && text.contains(" bytes left out ...]")
      && text.prefix(10) == whole.prefix(10) && text.suffix(10) == whole.suffix(10)
  }
}

extension SessionServerMessage {
  /// Whether it waits for its turn behind others.
  fileprivate var isBulk: Bool {
    switch self {
    case .response, .responsePart, .replay, .turnComplete, .history, .historyBatch: true
    case .hello, .connected, .pong, .ack, .error, .authError, .heartbeat, .draining,
      .sessionKilled, .unknown:
      false
    }
  }
}
