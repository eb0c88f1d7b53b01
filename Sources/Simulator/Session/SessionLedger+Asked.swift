import LinkCore
import LinkServerCore
import LinkWire

// What the server asks for, before the books.
extension SessionLedger {
  /// - Parameter kept: What is durable now.
  mutating func asked(_ effect: SessionServer.Effect, _ kept: SessionKept) {
    switch effect {
    case .accept(let id):
      count("opened_total")
      if isDraining { wrong(.untrue, "a connection was taken while the server drains") }
      sockets[id] = Socket(
        challenge: challenges[id] ?? "", openedAt: now, heardAt: now, pingAt: now, beatAt: now)
    case .refuse:
      count("refused_total")
      if !isDraining { wrong(.untrue, "a connection was refused although there is room") }
    case .send(let id, let message): sent(message, to: id, kept)
    case .ping(let id):
      if let last = sockets[id]?.pingAt, last.advanced(by: .seconds(30)) != now {
        wrong(.untimely, "a ping went out \(last.duration(to: now).text) after the last one")
      }
      sockets[id]?.pingAt = now
    case .close(let id, let closure): close(id, closure)
    case .drop(let id): drop(id)
    case .run(let id, let prompt): run(id, prompt, kept)
    case .cancel(let id):
      let isAsked = running[id].map(kills.contains) ?? false
      if !isAsked, !isDraining { wrong(.untrue, "a program was ended that was not cancelled") }
    case .store(let token, let changes):
      writes[token] = changes
      for change in changes { check(change, kept) }
      checkEntries(changes, kept)
    case .noticeDrain, .finished: return
    }
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
    running[id] = prompt.conversation
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
    case .hello(let hello):
      let features = Set(SessionFeature.allCases)
      if hello.challenge != socket.challenge || hello.features != features {
        wrong(.untrue, "the greeting is another one")
      }
      sockets[id]?.stage = .greeted
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
    case .draining: if !isDraining { wrong(.untrue, "a drain was told, and none began") }
    case .sessionKilled(let conversation):
      cancelled(conversation, id)
    case .error(let error): count("errors_total{code=\"\(error.code ?? "")\"}")
    case .authError: count("unauthorized_total")
    case .unknown: return
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
    guard killers[id]?.contains(conversation) == true else {
      return wrong(.untrue, "a cancellation was told that was not asked for")
    }
    killers[id]?.removeAll { $0 == conversation }
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
    sockets[id]?.stage = .connected
    sockets[id]?.beatAt = now
    sockets[id]?.version = connected.version
    let number = connect.received ?? 0
    received[connect.session] = max(received[connect.session] ?? 0, number)
    numbers[connect.session] = max(numbers[connect.session] ?? 0, number)
  }

  private mutating func acknowledged(
    _ key: String?, _ id: ConnectionID, _ kept: SessionKept
  ) {
    guard let key else {
      sockets[id]?.sizes -= 1
      if (sockets[id]?.sizes ?? 0) < 0 { wrong(.untrue, "an ack that nothing asked for") }
      return
    }
    due.remove(key)
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
