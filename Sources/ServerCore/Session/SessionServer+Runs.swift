import LinkCore
import LinkStorage
import LinkWire

// Prompts from the start of their handlers to their answers.
extension SessionServer {
  /// A handler wrote a part of its response.
  mutating func produced(_ id: SessionPromptID, _ text: String) {
    guard let turn = turns[id], turn.stage == .running else { return }
    guard turn.output.utf8.count + text.utf8.count <= policy.maxResponseBytes else {
      return cancel(id, "the response is longer than \(policy.maxResponseBytes) bytes")
    }
    turns[id]?.output += text
    for connection in recipients(of: turn) { sendPart(of: id, to: connection) }
  }

  /// Sends what a socket was not sent of a running prompt, if its client takes parts.
  mutating func sendPart(of id: SessionPromptID, to connection: ConnectionID) {
    guard sockets[connection]?.peer?.features.contains(.parts) == true,
      turns[id]?.prompt.idempotencyKey != nil,
      sockets[connection]?.parts[id]?.isQueued != true
    else { return }
    sockets[connection]?.parts[id, default: .init()].isQueued = true
    put(.part(id), on: connection)
    pump(connection)
  }

  /// The time of a handler is up, or that of its end.
  mutating func turnExpired(_ id: SessionPromptID) {
    guard let turn = turns[id] else { return }
    switch turn.stage {
    case .running: cancel(id, "no answer within \(turnLimitText)")
    case .cancelling(let error): finish(id, .failure(error: error))
    case .accepting, .waiting, .starting, .finishing, .ended: break
    }
  }

  /// The limit in seconds, as clients know it of the original, unless it is a part of one.
  private var turnLimitText: String {
    let (seconds, rest) = policy.turnLimit.components
    return rest == 0 ? "\(seconds)s" : policy.turnLimit.text
  }

  /// Tells the handler of a prompt that is running to stop; the prompt fails with `error`.
  mutating func cancel(_ id: SessionPromptID, _ error: String) {
    turns[id]?.stage = .cancelling(error: error)
    alarms.set(.turn(id), at: now.advanced(by: policy.cancelWait))
    effects.append(.cancel(id))
  }

  /// A client wants what runs in a conversation, or is the next to run, to end.
  mutating func kill(_ conversation: String, for connection: ConnectionID) {
    let line = talks[conversation]?.line ?? []
    let first = line.first { turns[$0]?.mayBeCancelled == true }
    guard let id = first, let turn = turns[id] else {
      return tell(connection, .sessionKilled(conversation: conversation))
    }
    if !turn.killers.contains(connection) { turns[id]?.killers.append(connection) }
    switch turn.stage {
    case .running: cancel(id, Self.cancelled)
    case .waiting: finish(id, .failure(error: Self.cancelled))
    case .accepting, .starting, .cancelling, .finishing, .ended: break
    }
  }

  static let cancelled = "cancelled"
  static let interrupted = "interrupted"

  /// A handler has ended.
  mutating func handlerEnded(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard let turn = turns[id] else { return }
    switch turn.stage {
    case .running:
      guard case .success(let text) = result, text.utf8.count > policy.maxResponseBytes else {
        return finish(id, result)
      }
      let error = "the response is longer than \(policy.maxResponseBytes) bytes"
      finish(id, .failure(error: error))
    case .cancelling(let error): finish(id, .failure(error: error))
    case .accepting, .waiting, .starting, .finishing, .ended: break
    }
  }

  /// Asks the store to remember the answer to a prompt, and lets the next one of its conversation
  /// start in the same change.
  mutating func finish(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard let turn = turns[id] else { return }
    let conversation = turn.prompt.conversation
    alarms.clear(.turn(id))
    if turn.isUnderWay { running -= 1 }
    let number = (clients[turn.client]?.kept.lastNumber ?? 0) + 1
    clients[turn.client]?.kept.lastNumber = number
    let answer = StoredSessionAnswer(
      message: freshID(), number: number, result: result, at: wall)
    turns[id]?.stage = .finishing(answer)
    turns[id]?.output = ""
    reserveEntries(of: id)
    var changes = changes(finishing: id)
    var waits = [Wait.answered(id)]
    if queue.isEmpty, running < policy.maxRunning, let next = startable(conversation) {
      start(next)
      changes.append(.started(next))
      waits.append(.started(next))
    }
    store(changes, then: waits)
    // Others that wait for a handler come before its next prompt.
    advanceQueue()
    advance(conversation)
  }

  /// The answer to a prompt is durable, or the store failed to keep it.
  mutating func answered(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = turns[id], case .finishing(let answer) = turn.stage else { return }
    guard failure == nil else { return owe(id) }
    leave(id)
    turns[id]?.stage = .ended(answer)
    turnsByMessage[answer.message] = id
    ended.append(id)
    endedBytes += turns[id]?.size ?? 0
    if ended.count == 1 { armMemory() }
    count(answer.result)
    keepForClient(id)
    deliver(id)
    appendEntries(of: id)
    forgetExcess()
    advance(turn.prompt.conversation)
  }

  private mutating func count(_ result: SessionResponse.Result) {
    switch result {
    case .success: metrics.answered["success", default: 0] += 1
    case .failure(Self.cancelled): metrics.answered[Self.cancelled, default: 0] += 1
    case .failure(Self.interrupted): metrics.answered[Self.interrupted, default: 0] += 1
    case .failure: metrics.answered["failure", default: 0] += 1
    }
  }

  /// The sockets that get the answer to a prompt: the one that sent it last, and the newest one of
  /// its client.
  func recipients(of turn: SessionTurn) -> [ConnectionID] {
    let newest = clients[turn.client]?.sockets.last { isOpen($0) }
    let asker = turn.asker.flatMap { isOpen($0) ? $0 : nil }
    return asker == newest ? [asker].compactMap(\.self) : [asker, newest].compactMap(\.self)
  }

  /// Sends an answer, and the end of its turn.
  private mutating func deliver(_ id: SessionPromptID) {
    guard let turn = turns[id], let answer = turn.answer else { return }
    let conversation = turn.prompt.conversation
    let isAborted =
      answer.result == .failure(error: Self.cancelled)
      || answer.result == .failure(error: Self.interrupted)
    for connection in recipients(of: turn) {
      put(.response(id), on: connection)
      put(.turnComplete(conversation: conversation, isAborted: isAborted), on: connection)
      pump(connection)
    }
    for connection in turn.killers where isOpen(connection) {
      tell(connection, .sessionKilled(conversation: conversation))
    }
  }
}
