import LinkCore
import LinkStorage
import LinkWire

// Prompts from their arrival to the start of their handlers.
extension SessionServer {
  /// A client sent a prompt, for the first time or again.
  mutating func prompt(
    _ id: ConnectionID, _ prompt: SessionPrompt, of peer: SessionSocket.Peer
  ) {
    switch known(prompt, of: peer.client) {
    case .new: break
    case .same(let turn): return repeated(turn, on: id, by: peer.client)
    case .conflict:
      return fail(
        id, "idempotency_conflict", "Another prompt was sent with this idempotency_key.",
        conversation: prompt.conversation, key: prompt.idempotencyKey)
    }
    guard rate.spend(peer.client, at: now) == nil else {
      return fail(
        id, "rate_limited", "You send prompts too fast; send it again later.",
        conversation: prompt.conversation, key: prompt.idempotencyKey)
    }
    if let refusal = refusal(of: prompt, by: peer.client) {
      return fail(
        id, refusal.code, refusal.text, conversation: prompt.conversation,
        key: prompt.idempotencyKey)
    }
    lastTurn += 1
    let starts = running < policy.maxRunning && queue.isEmpty && mayStart(prompt.conversation)
    let turn = SessionTurn(
      id: SessionPromptID(lastTurn), client: peer.client, prompt: prompt, asker: id, at: wall,
      stage: .accepting(starts: starts))
    enter(turn)
    if starts { running += 1 }
    var changes = [SessionChange.prompt(turn.kept)]
    if let client = client(numbering: turn) { changes.append(.client(client)) }
    store(changes, then: [.accepted(turn.id)])
  }

  /// The client that sent a prompt, which has its number once the prompt is durable.
  private func client(numbering turn: SessionTurn) -> StoredSessionClient? {
    guard var client = clients[turn.sender ?? turn.client]?.kept else { return nil }
    if let number = turn.prompt.number {
      client.lastPrompt = max(client.lastPrompt ?? 0, number)
    }
    return client
  }

  private enum Known {
    case new
    case same(SessionPromptID)
    case conflict
  }

  /// Whether a prompt with its key was sent before: by this client, or the very same by another.
  private func known(_ prompt: SessionPrompt, of client: String) -> Known {
    let all = prompt.idempotencyKey.flatMap { turnsByKey[$0] } ?? []
    let turns = all.compactMap { self.turns[$0] }
    if let own = turns.first(where: { $0.client == client }) {
      return own.isSame(as: prompt) ? .same(own.id) : .conflict
    }
    return turns.first { $0.isSame(as: prompt) }.map { .same($0.id) } ?? .new
  }

  /// A prompt that is known is acknowledged while it waits or runs, and answered after that.
  private mutating func repeated(
    _ id: SessionPromptID, on connection: ConnectionID, by client: String
  ) {
    metrics.repeated += 1
    turns[id]?.asker = connection
    if turns[id]?.client != client { give(id, to: client) }
    guard let turn = turns[id] else { return }
    switch turn.stage {
    case .accepting: break
    case .waiting, .starting, .running, .cancelling, .finishing: acknowledge(turn)
    case .ended:
      put(.response(id), on: connection)
      put(
        .turnComplete(conversation: turn.prompt.conversation, isAborted: false), on: connection)
      pump(connection)
    }
  }

  /// A prompt that has not ended belongs to the client that sent it last.
  private mutating func give(_ id: SessionPromptID, to client: String) {
    guard let turn = turns[id], turn.answer == nil else { return }
    switch turn.stage {
    case .finishing, .ended: return
    case .accepting, .waiting, .starting, .running, .cancelling: break
    }
    clients[turn.client]?.open -= 1
    clients[client]?.open += 1
    turns[id]?.client = client
    guard case .accepting = turn.stage else {
      if let kept = turns[id]?.kept { delay(.prompt(kept)) }
      return
    }
    // The store may still fail to take it, and must not get it by another way.
    turns[id]?.sender = turn.sender ?? turn.client
  }

  private func refusal(
    of prompt: SessionPrompt, by client: String
  ) -> (code: String, text: String)? {
    guard mode == .serving else {
      return ("draining", "The server is about to stop; send the prompt to the next connection.")
    }
    let size = prompt.text.utf8.count + (prompt.systemPrompt?.utf8.count ?? 0)
    guard size <= policy.maxPromptBytes else {
      return ("too_long", "A prompt has at most \(policy.maxPromptBytes) bytes; shorten it.")
    }
    guard (prompt.systemPrompt?.utf8.count ?? 0) <= policy.maxSystemPromptBytes else {
      return (
        "too_long", "A system_prompt has at most \(policy.maxSystemPromptBytes) bytes; shorten it."
      )
    }
    let line = talks[prompt.conversation]?.line.count ?? 0
    guard line < policy.promptsPerConversation else {
      return ("busy", "Too many prompts of this conversation wait; send it again later.")
    }
    guard openCount < policy.maxPrompts, openBytes + size <= policy.maxPromptsBytes,
      waits.count < policy.maxWrites
    else { return ("busy", "Too many prompts wait; send it again later.") }
    return nil
  }

  private mutating func enter(_ turn: SessionTurn) {
    let conversation = turn.prompt.conversation
    let usedAt = wall
    turns[turn.id] = turn
    if let key = turn.prompt.idempotencyKey { turnsByKey[key, default: []].append(turn.id) }
    talks[conversation, default: SessionTalk()].line.append(turn.id)
    talks[conversation]?.usedAt = usedAt
    clients[turn.client]?.open += 1
    openCount += 1
    openBytes += turn.size
    metrics.prompts += 1
  }

  /// Puts a prompt of an earlier run into its line.
  mutating func reenter(_ turn: SessionTurn) {
    enter(turn)
    metrics.prompts -= 1
  }

  /// The store remembers a prompt, or failed to.
  mutating func accepted(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = turns[id], case .accepting(let starts) = turn.stage else { return }
    let conversation = turn.prompt.conversation
    guard failure == nil else {
      leave(id)
      if starts { running -= 1 }
      erase(id)
      if let asker = turn.asker {
        fail(
          asker, "store_failed", "The server cannot store the prompt now; send it again later.",
          conversation: conversation, key: turn.prompt.idempotencyKey)
      }
      advanceQueue()
      advance(conversation)
      return forgetIfEmpty(conversation)
    }
    if let client = client(numbering: turn) { clients[client.id]?.kept = client }
    turns[id]?.stage = starts ? .starting : .waiting
    if turn.sender != nil, let kept = turns[id]?.kept { delay(.prompt(kept)) }
    acknowledge(turn)
    if starts { return run(id) }
    guard turn.killers.isEmpty else { return finish(id, .failure(error: Self.cancelled)) }
    advance(conversation)
  }

  private mutating func acknowledge(_ turn: SessionTurn) {
    guard let asker = turn.asker, isOpen(asker) else { return }
    tell(asker, .ack(message: "Prompt received", idempotencyKey: turn.prompt.idempotencyKey))
  }

  /// Whether no prompt of a conversation is under way or comes first.
  private func mayStart(_ conversation: String) -> Bool {
    let line = talks[conversation]?.line ?? []
    return line.allSatisfy { id in
      if case .finishing = turns[id]?.stage { true } else { false }
    }
  }

  /// The first prompt of a conversation that may start now.
  func startable(_ conversation: String) -> SessionPromptID? {
    guard mode == .serving else { return nil }
    for id in talks[conversation]?.line ?? [] {
      switch turns[id]?.stage {
      case .finishing: continue
      case .waiting: return id
      case nil, .accepting, .starting, .running, .cancelling, .ended: return nil
      }
    }
    return nil
  }

  /// Starts the next prompt of a conversation if none is under way and a handler is free.
  mutating func advance(_ conversation: String) {
    guard let id = startable(conversation) else { return }
    guard running < policy.maxRunning else { return enqueue(conversation) }
    start(id)
    store([.started(id)], then: [.started(id)])
  }

  private mutating func enqueue(_ conversation: String) {
    guard talks[conversation]?.isQueued == false else { return }
    talks[conversation]?.isQueued = true
    queue.append(conversation)
  }

  /// Gives free handlers to the conversations that wait for one.
  mutating func advanceQueue() {
    while running < policy.maxRunning, !queue.isEmpty {
      let conversation = queue.removeFirst()
      talks[conversation]?.isQueued = false
      advance(conversation)
    }
  }

  /// Takes a handler for a prompt; the store is asked to mark it.
  mutating func start(_ id: SessionPromptID) {
    running += 1
    turns[id]?.stage = .starting
  }

  /// The store marked a prompt as started, or failed to.
  mutating func started(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = turns[id], turn.stage == .starting else { return }
    guard failure == nil else { return owe(id) }
    run(id)
  }

  private mutating func run(_ id: SessionPromptID) {
    guard let turn = turns[id] else { return }
    guard mode == .serving else { return putOff(id) }
    turns[id]?.stage = .running
    metrics.started += 1
    alarms.set(.turn(id), at: now.advanced(by: policy.turnLimit))
    effects.append(.run(id, turn.prompt))
    if !turn.killers.isEmpty { cancel(id, Self.cancelled) }
  }

  /// Leaves a prompt that was marked as started to the next run: no handler starts while the server
  /// leaves. If the store takes the mark back at no try, it is answered as interrupted then.
  private mutating func putOff(_ id: SessionPromptID) {
    guard turns[id]?.killers.isEmpty == true else {
      return finish(id, .failure(error: Self.cancelled))
    }
    running -= 1
    turns[id]?.stage = .waiting
    if let kept = turns[id]?.kept { store([.prompt(kept)], then: [.putOff(id)]) }
  }

  /// Takes a prompt out of its line.
  mutating func leave(_ id: SessionPromptID) {
    guard let turn = turns[id] else { return }
    let conversation = turn.prompt.conversation
    talks[conversation]?.line.removeAll { $0 == id }
    clients[turn.client]?.open -= 1
    openCount -= 1
    openBytes -= turn.prompt.text.utf8.count + (turn.prompt.systemPrompt?.utf8.count ?? 0)
  }
}
