import LinkCore
import LinkStorage
import LinkWire

// Answers from their end until they are acknowledged or forgotten.
extension SessionServer {
  /// Keeps an answer until its client acknowledges it; beyond the bounds, the oldest are removed,
  /// which the client is told.
  mutating func keepForClient(_ id: SessionPromptID) {
    guard let turn = turns[id], let answer = turn.answer, !answer.isTaken else { return }
    clients[turn.client]?.outbox.append(id)
    clients[turn.client]?.outboxBytes += answer.size
    while let client = clients[turn.client], let first = client.outbox.first,
      client.outbox.count > policy.answersPerClient
        || client.outboxBytes > policy.answersBytesPerClient
    { lose(first) }
  }

  /// Removes an answer that was not acknowledged.
  private mutating func lose(_ id: SessionPromptID) {
    guard let turn = turns[id], let answer = turn.answer, !answer.isTaken else { return }
    metrics.lost += 1
    markTaken(id)
    turns[id]?.isLost = true
    guard var client = clients[turn.client]?.kept else { return }
    client.lost = client.lost.map { max($0, answer.number) } ?? answer.number
    clients[turn.client]?.kept = client
    delay(.client(client))
  }

  /// A client stored a message; one that is not known, or that belongs to another client, is
  /// ignored.
  mutating func take(_ message: String, of client: String) {
    guard let id = turnsByMessage[message], let turn = turns[id], turn.client == client,
      turn.answer?.isTaken == false
    else { return }
    metrics.acknowledged += 1
    markTaken(id)
  }

  private mutating func markTaken(_ id: SessionPromptID) {
    guard let turn = turns[id], var answer = turn.answer else { return }
    answer.isTaken = true
    turns[id]?.stage = .ended(answer)
    clients[turn.client]?.outbox.removeAll { $0 == id }
    clients[turn.client]?.outboxBytes -= answer.size
    delay(.taken(id))
  }

  /// Forgets the prompts beyond the bounds: those that a client acknowledged, which it does not
  /// send again, before the others, and of each the ones that ended first.
  mutating func forgetExcess() {
    while ended.count > policy.maxEnded || endedBytes > policy.maxEndedBytes,
      let next = ended.first(where: { turns[$0]?.isAcknowledged == true }) ?? ended.first
    { forget(next) }
  }

  /// Forgets a prompt that has ended, with its key and its answer.
  private mutating func forget(_ id: SessionPromptID) {
    lose(id)
    ended.removeAll { $0 == id }
    endedBytes -= turns[id]?.size ?? 0
    erase(id)
    delay(.endPrompt(id))
  }

  /// Removes a prompt from the tables.
  mutating func erase(_ id: SessionPromptID) {
    guard let turn = turns.removeValue(forKey: id) else { return }
    if let answer = turn.answer { turnsByMessage[answer.message] = nil }
    guard let key = turn.prompt.idempotencyKey else { return }
    turnsByKey[key]?.removeAll { $0 == id }
    if turnsByKey[key]?.isEmpty == true { turnsByKey[key] = nil }
  }

  /// Forgets a client that is away.
  mutating func forget(client id: String) {
    for turn in clients[id]?.outbox ?? [] { markTaken(turn) }
    clients[id] = nil
    delay(.endClient(id))
  }

  /// Forgets prompts and clients whose time is over.
  mutating func forgetOld() {
    let oldest = wall.advanced(by: .zero - policy.memory)
    while let first = ended.first, let answer = turns[first]?.answer, answer.at <= oldest {
      forget(first)
    }
    for client in clients.values.sorted(by: { $0.kept.id < $1.kept.id })
    where client.sockets.isEmpty && client.open == 0 && client.kept.seenAt <= oldest {
      forget(client: client.kept.id)
    }
    armMemory()
  }

  /// Looks for what is to be forgotten once an hour, or more often if it is remembered for less.
  mutating func armMemory() {
    guard !clients.isEmpty || !ended.isEmpty else { return }
    alarms.set(.memory, at: now.advanced(by: min(policy.memory, .seconds(3_600))))
  }
}
