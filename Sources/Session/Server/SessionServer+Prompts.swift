import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData

// Prompts, from their arrival to the acknowledgement of their answers, and conversations.

// MARK: - Arrival

extension SessionServer {
  /// Handles a prompt from a client. It may be new or sent again.
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
    guard spendPrompt(of: peer.client) else {
      return fail(
        id, "rate_limited", "You send prompts too fast; send it again later.",
        conversation: prompt.conversation, key: prompt.idempotencyKey)
    }
    if let refusal = refusal(of: prompt, by: peer.client) {
      return fail(
        id, refusal.code, refusal.text, conversation: prompt.conversation,
        key: prompt.idempotencyKey)
    }
    let starts =
      prompts.running < policy.maxRunning && conversations.queue.isEmpty
      && mayStart(prompt.conversation)
    let turn = SessionTurn(
      id: prompts.nextID(), client: peer.client, prompt: prompt, caller: id, at: wall,
      stage: .accepting(starts: starts))
    enter(turn)
    metrics.prompts += 1
    var changes = [SessionChange.prompt(turn.stored)]
    if let client = client(numbering: turn) { changes.append(.client(client)) }
    store(changes, then: [.accepted(turn.id)])
  }

  /// Returns the stored form of a prompt's sender, updated with the number of the prompt.
  private func client(numbering turn: SessionTurn) -> StoredSessionClient? {
    guard var client = clients[turn.sender ?? turn.client]?.stored else { return nil }
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

  /// Returns whether the prompt's key was already used, by this client or for the same prompt.
  private func known(_ prompt: SessionPrompt, of client: String) -> Known {
    let turns = prompts.all(withKey: prompt.idempotencyKey)
    if let own = turns.first(where: { $0.client == client }) {
      return own.isSame(as: prompt) ? .same(own.id) : .conflict
    }
    return turns.first { $0.isSame(as: prompt) }.map { .same($0.id) } ?? .new
  }

  /// Acknowledges a known prompt while it is open, and sends its answer once it has ended.
  private mutating func repeated(
    _ id: SessionPromptID, on connection: ConnectionID, by client: String
  ) {
    metrics.repeated += 1
    prompts.change(id) { $0.caller = connection }
    if prompts[id]?.client != client { give(id, to: client) }
    guard let turn = prompts[id] else { return }
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

  /// Reassigns a prompt that has not ended to its most recent sender.
  private mutating func give(_ id: SessionPromptID, to client: String) {
    guard let turn = prompts[id], turn.answer == nil else { return }
    switch turn.stage {
    case .finishing, .ended: return
    case .accepting, .waiting, .starting, .running, .cancelling: break
    }
    clients[turn.client]?.open -= 1
    clients[client]?.open += 1
    prompts.change(id) { $0.client = client }
    guard case .accepting = turn.stage else {
      if let stored = prompts[id]?.stored { delay(.prompt(stored)) }
      return
    }
    // The first write may still fail. Until it ends, no other change may store the prompt.
    prompts.change(id) { $0.sender = turn.sender ?? turn.client }
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
    guard conversations.line(of: prompt.conversation).count < policy.promptsPerConversation else {
      return ("busy", "Too many prompts of this conversation wait; send it again later.")
    }
    guard prompts.openCount < policy.maxPrompts,
      prompts.openBytes + size <= policy.maxPromptsBytes, writes.count < policy.maxWrites
    else { return ("busy", "Too many prompts wait; send it again later.") }
    return nil
  }

  /// Adds a prompt to the queue of its conversation.
  mutating func enter(_ turn: SessionTurn) {
    prompts.add(turn)
    conversations.enter(turn.id, in: turn.prompt.conversation, at: wall)
    clients[turn.client]?.open += 1
  }

  /// Handles the result of storing a new prompt.
  mutating func accepted(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = prompts[id], case .accepting(let starts) = turn.stage else { return }
    let conversation = turn.prompt.conversation
    guard failure == nil else {
      leave(turn)
      prompts.remove(id)
      if let caller = turn.caller {
        fail(
          caller, "store_failed", "The server cannot store the prompt now; send it again later.",
          conversation: conversation, key: turn.prompt.idempotencyKey)
      }
      advanceQueue()
      advance(conversation)
      return conversations.removeIfEmpty(conversation)
    }
    if let client = client(numbering: turn) { clients[client.id]?.stored = client }
    prompts.move(id, to: starts ? .starting : .waiting)
    if turn.sender != nil, let stored = prompts[id]?.stored { delay(.prompt(stored)) }
    acknowledge(turn)
    if starts { return run(id) }
    guard turn.killers.isEmpty else { return finish(id, .failure(error: Self.cancelled)) }
    advance(conversation)
  }

  private mutating func acknowledge(_ turn: SessionTurn) {
    guard let caller = turn.caller, isOpen(caller) else { return }
    send(caller, .ack(message: "Prompt received", idempotencyKey: turn.prompt.idempotencyKey))
  }

  /// Returns whether a new prompt of a conversation can start immediately.
  private func mayStart(_ conversation: String) -> Bool {
    conversations.line(of: conversation).allSatisfy { id in
      if case .finishing = prompts[id]?.stage { true } else { false }
    }
  }

  /// Returns the first prompt of a conversation that may start now.
  func startable(_ conversation: String) -> SessionPromptID? {
    guard mode == .serving else { return nil }
    for id in conversations.line(of: conversation) {
      switch prompts[id]?.stage {
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
    guard prompts.running < policy.maxRunning else { return conversations.enqueue(conversation) }
    prompts.move(id, to: .starting)
    store([.started(id)], then: [.started(id)])
  }

  /// Assigns free handlers to the conversations that wait for one.
  mutating func advanceQueue() {
    while prompts.running < policy.maxRunning, let conversation = conversations.dequeue() {
      advance(conversation)
    }
  }

  /// Handles the result of storing the start mark of a prompt.
  mutating func started(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = prompts[id], turn.stage == .starting else { return }
    guard failure == nil else { return storeLater(id) }
    run(id)
  }

  private mutating func run(_ id: SessionPromptID) {
    guard let turn = prompts[id] else { return }
    guard mode == .serving else { return putOff(id) }
    prompts.move(id, to: .running)
    metrics.started += 1
    arm(.turn(id), after: policy.turnLimit)
    effects.append(.run(id, turn.prompt))
    if !turn.killers.isEmpty { cancel(id, Self.cancelled) }
  }

  /// Leaves a prompt that is marked as started to the next run, because the server is stopping.
  ///
  /// If the mark cannot be removed, the next run answers the prompt as interrupted.
  private mutating func putOff(_ id: SessionPromptID) {
    guard prompts[id]?.killers.isEmpty == true else {
      return finish(id, .failure(error: Self.cancelled))
    }
    prompts.move(id, to: .waiting)
    if let stored = prompts[id]?.stored { store([.prompt(stored)], then: [.putOff(id)]) }
  }

  /// Removes a prompt from the queue of its conversation.
  private mutating func leave(_ turn: SessionTurn) {
    conversations.leave(turn.id, in: turn.prompt.conversation)
    clients[turn.client]?.open -= 1
  }
}

// MARK: - Handlers and answers

extension SessionServer {
  /// Handles a part of the response that a handler produced.
  mutating func produced(_ id: SessionPromptID, _ text: String) {
    guard let turn = prompts[id], turn.stage == .running else { return }
    guard turn.output.utf8.count + text.utf8.count <= policy.maxResponseBytes else {
      return cancel(id, "the response is longer than \(policy.maxResponseBytes) bytes")
    }
    prompts.change(id) { $0.output += text }
    for connection in recipients(of: turn) { sendPart(of: id, to: connection) }
  }

  /// Sends the unsent output of a running prompt, if the client accepts parts.
  mutating func sendPart(of id: SessionPromptID, to connection: ConnectionID) {
    guard sockets[connection]?.peer?.features.contains(.parts) == true,
      prompts[id]?.prompt.idempotencyKey != nil,
      sockets[connection]?.parts[id]?.isQueued != true
    else { return }
    sockets.change(connection) { $0.parts[id, default: .init()].isQueued = true }
    put(.part(id), on: connection)
    pump(connection)
  }

  /// Handles the time-out of a handler or of its cancellation.
  mutating func turnExpired(_ id: SessionPromptID) {
    guard let turn = prompts[id] else { return }
    switch turn.stage {
    case .running: cancel(id, "no answer within \(turnLimitText)")
    case .cancelling(let error): finish(id, .failure(error: error))
    case .accepting, .waiting, .starting, .finishing, .ended: break
    }
  }

  /// The time limit in whole seconds, as the original server reports it, or with its fraction.
  private var turnLimitText: String {
    let (seconds, rest) = policy.turnLimit.components
    return rest == 0 ? "\(seconds)s" : policy.turnLimit.text
  }

  /// Cancels the handler of a running prompt. The prompt then fails with `error`.
  mutating func cancel(_ id: SessionPromptID, _ error: String) {
    prompts.move(id, to: .cancelling(error: error))
    arm(.turn(id), after: policy.cancelWait)
    effects.append(.cancel(id))
  }

  /// Cancels the prompt of a conversation that is running or would run next.
  mutating func kill(_ conversation: String, for connection: ConnectionID) {
    let first = conversations.line(of: conversation).first { prompts[$0]?.mayBeCancelled == true }
    guard let id = first, let turn = prompts[id] else {
      return send(connection, .sessionKilled(conversation: conversation))
    }
    if !turn.killers.contains(connection) {
      prompts.change(id) { $0.killers.append(connection) }
    }
    switch turn.stage {
    case .running: cancel(id, Self.cancelled)
    case .waiting: finish(id, .failure(error: Self.cancelled))
    case .accepting, .starting, .cancelling, .finishing, .ended: break
    }
  }

  static let cancelled = "cancelled"
  static let interrupted = "interrupted"

  /// Handles the result of a handler that has ended.
  mutating func handlerEnded(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard let turn = prompts[id] else { return }
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

  /// Stores an answer and, if the conversation has a next prompt, the start mark of that prompt.
  mutating func finish(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard let turn = prompts[id] else { return }
    let conversation = turn.prompt.conversation
    disarm(.turn(id))
    let number = (clients[turn.client]?.stored.lastNumber ?? 0) + 1
    clients[turn.client]?.stored.lastNumber = number
    let answer = StoredSessionAnswer(
      message: freshID(), number: number, result: result, at: wall)
    prompts.move(id, to: .finishing(answer))
    prompts.change(id) { $0.output = "" }
    reserveEntries(of: id)
    var changes = changes(finishing: id)
    var waits = [SessionWrites.Wait.answered(id)]
    if conversations.queue.isEmpty, prompts.running < policy.maxRunning,
      let next = startable(conversation)
    {
      prompts.move(next, to: .starting)
      changes.append(.started(next))
      waits.append(.started(next))
    }
    store(changes, then: waits)
    // Conversations that already wait for a handler take precedence over this conversation.
    advanceQueue()
    advance(conversation)
  }

  /// Handles the result of storing an answer.
  mutating func answered(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = prompts[id], case .finishing(let answer) = turn.stage else { return }
    guard failure == nil else { return storeLater(id) }
    leave(turn)
    prompts.end(id, answer)
    if prompts.ended.count == 1 { armMemory() }
    count(answer.result)
    retainForClient(id)
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

  /// Returns the sockets that receive an answer: the most recent sender's and the client's newest.
  func recipients(of turn: SessionTurn) -> [ConnectionID] {
    let newest = clients[turn.client]?.sockets.last { isOpen($0) }
    let caller = turn.caller.flatMap { isOpen($0) ? $0 : nil }
    return caller == newest ? [caller].compactMap(\.self) : [caller, newest].compactMap(\.self)
  }

  /// Sends an answer and the end of its turn.
  private mutating func deliver(_ id: SessionPromptID) {
    guard let turn = prompts[id], let answer = turn.answer else { return }
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
      send(connection, .sessionKilled(conversation: conversation))
    }
  }
}

// MARK: - Deliveries

extension SessionServer {
  /// Stores an answer until its client acknowledges it.
  ///
  /// Beyond the bounds, the oldest answers are removed and reported to the client as lost.
  mutating func retainForClient(_ id: SessionPromptID) {
    guard let turn = prompts[id], let answer = turn.answer, !answer.isTaken else { return }
    clients[turn.client]?.retain(id, size: answer.size)
    while let excess = clients[turn.client]?.excess(
      beyond: policy.answersPerClient, bytes: policy.answersBytesPerClient)
    { lose(excess) }
  }

  /// Removes an answer that was not acknowledged.
  private mutating func lose(_ id: SessionPromptID) {
    guard let turn = prompts[id], let answer = turn.answer, !answer.isTaken else { return }
    metrics.lost += 1
    markTaken(id, isLost: true)
    guard var client = clients[turn.client]?.stored else { return }
    client.lost = client.lost.map { max($0, answer.number) } ?? answer.number
    clients[turn.client]?.stored = client
    delay(.client(client))
  }

  /// Handles an acknowledgement. One of an unknown or foreign message is ignored.
  mutating func take(_ message: String, of client: String) {
    guard let turn = prompts.turn(answeredBy: message), turn.client == client,
      turn.answer?.isTaken == false
    else { return }
    metrics.acknowledged += 1
    markTaken(turn.id, isLost: false)
  }

  private mutating func markTaken(_ id: SessionPromptID, isLost: Bool) {
    guard let turn = prompts[id], let answer = turn.answer else { return }
    prompts.take(id, isLost: isLost)
    clients[turn.client]?.remove(id, size: answer.size)
    delay(.taken(id))
  }

  /// Removes the oldest ended prompts beyond the bounds.
  mutating func forgetExcess() {
    while let excess = prompts.excess(beyond: policy.maxEnded, bytes: policy.maxEndedBytes) {
      forget(excess)
    }
  }

  /// Removes a prompt that has ended, with its key and its answer.
  private mutating func forget(_ id: SessionPromptID) {
    lose(id)
    prompts.remove(id)
    delay(.endPrompt(id))
  }

  /// Removes a client that is away.
  mutating func forget(client id: String) {
    for turn in clients[id]?.outbox ?? [] { markTaken(turn, isLost: false) }
    clients[id] = nil
    delay(.endClient(id))
  }

  /// Removes prompts and clients that are older than `policy.memory`.
  mutating func forgetOld() {
    let oldest = wall.advanced(by: .zero - policy.memory)
    while let first = prompts.ended.first, let answer = prompts[first]?.answer,
      answer.at <= oldest
    {
      forget(first)
    }
    for client in clients.values.sorted(by: { $0.stored.id < $1.stored.id })
    where client.isIdle && client.stored.seenAt <= oldest {
      forget(client: client.stored.id)
    }
    armMemory()
  }

  /// Schedules the next removal of old data, at most an hour from now.
  mutating func armMemory() {
    guard !clients.isEmpty || !prompts.ended.isEmpty else { return }
    arm(.memory, after: min(policy.memory, .seconds(3_600)))
  }

  /// Resumes after the last message that the client stored. Returns false if later messages are
  /// lost.
  mutating func resume(_ connect: SessionConnect) -> Bool {
    guard let isAhead = clients[connect.session]?.resume(after: connect.received) else {
      return true
    }
    if isAhead, let stored = clients[connect.session]?.stored { delay(.client(stored)) }
    let hasLost = clients[connect.session]?.reportsLoss(after: connect.received) == true
    for id in clients[connect.session]?.outbox ?? [] {
      // Numbers start at 1.
      if let answer = prompts[id]?.answer, answer.number <= connect.received ?? 0 {
        take(answer.message, of: connect.session)
      }
    }
    return !isAhead && !hasLost
  }

  /// Sends unacknowledged answers and the output of running prompts.
  mutating func catchUp(_ id: ConnectionID, _ peer: SessionSocket.Peer) {
    let outbox = clients[peer.client]?.outbox ?? []
    sockets.change(id) { socket in
      for turn in outbox { socket.queue.append(.replay(turn)) }
    }
    metrics.replayed += UInt64(outbox.count)
    if (clients[peer.client]?.open ?? 0) > 0, peer.features.contains(.parts) {
      for turn in prompts.underWay(of: peer.client) { sendPart(of: turn, to: id) }
    }
    pump(id)
  }
}

// MARK: - The bulk queue of each socket

// Answers, parts of answers and windows are sent as fast as the socket accepts them.
extension SessionServer {
  /// Queues an item for a socket. If the queue is full, the socket is closed.
  mutating func put(_ item: SessionQueue.Item, on id: ConnectionID) {
    guard isOpen(id) else { return }
    guard (sockets[id]?.queue.count ?? 0) < policy.maxQueued else { return overflowed(id) }
    sockets.change(id) { $0.queue.append(item) }
  }

  /// Sends further items on a socket that has sent everything so far.
  mutating func drained(_ id: ConnectionID) {
    sockets.change(id) { $0.queue.drained() }
    pump(id)
  }

  /// Sends waiting items, up to the limit of bytes in flight.
  mutating func pump(_ id: ConnectionID) {
    let limit = policy.queueBytes
    while let (item, peer) = sockets.nextItem(of: id) {
      guard let (message, size) = message(of: item, to: peer, on: id) else { continue }
      effects.append(.send(id, message.unnamed))
      if sockets.change(id, { $0.queue.sent(size, limit: limit) }) == true {
        effects.append(.noticeDrain(id))
      }
    }
  }

  /// Returns the next message of an item and its approximate size, and puts the rest back.
  private mutating func message(
    of item: SessionQueue.Item, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    switch item {
    case .replay(let turn):
      guard prompts[turn]?.answer?.isTaken == false else { return nil }
      return answer(to: turn, as: item, peer, on: id)
    case .response(let turn): return answer(to: turn, as: item, peer, on: id)
    case .turnComplete(let conversation, let isAborted):
      return (.turnComplete(conversation: conversation, isAborted: isAborted), 150)
    case .part(let turn):
      sockets.change(id) { $0.parts[turn]?.isQueued = false }
      guard let turn = prompts[turn], turn.stage == .running else { return nil }
      return part(of: turn.id, SessionText.withoutLineEnd(turn.output), item, peer, on: id)
    case .window(let subscription): return window(subscription, to: peer, on: id)
    case .batch(let all): return batch(all, to: peer, on: id)
    case .news(let conversation): return news(conversation, to: peer, on: id)
    }
  }

  /// Returns an answer as a response or a replay.
  ///
  /// A text that is too long for the client is shortened in the middle. If the client accepts
  /// parts, the complete text is sent in parts first.
  private mutating func answer(
    to id: SessionPromptID, as item: SessionQueue.Item, _ peer: SessionSocket.Peer,
    on connection: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let turn = prompts[id], let answer = turn.answer else { return nil }
    let text = SessionText.cut(answer.text, toFit: peer.maxBytes)
    let isWhole = text.utf8.count == answer.text.utf8.count
    var parts: Int?
    if !isWhole, peer.features.contains(.parts), case .success = answer.result,
      turn.prompt.idempotencyKey != nil
    {
      if let part = part(of: id, answer.text, item, peer, on: connection) { return part }
      parts = sockets[connection]?.parts[id]?.count
    }
    sockets.change(connection) { $0.parts[id] = nil }
    let size = text.utf8.count + SessionText.envelope
    switch (item, answer.result) {
    case (.replay, .success) where parts == nil:
      let entry = SessionEntry(
        id: answer.message, role: .assistant, text: text, conversation: turn.prompt.conversation,
        timestamp: answer.at)
      return (.replay(id: answer.message, entry, number: answer.number), size)
    case (_, .success):
      return (turn.response(answer, .success(text: text), to: peer, parts: parts), size)
    case (_, .failure): return (turn.response(answer, .failure(error: text), to: peer), size)
    }
  }

  /// Returns the next unsent part of a text, or `nil` if the complete text was sent on the socket.
  private mutating func part(
    of id: SessionPromptID, _ text: String, _ item: SessionQueue.Item,
    _ peer: SessionSocket.Peer, on connection: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let turn = prompts[id], let key = turn.prompt.idempotencyKey else { return nil }
    var sent = sockets[connection]?.parts[id] ?? SessionSocket.Parts()
    let limit = min(max(64, (peer.maxBytes - SessionText.envelope) / 6), 32 << 10)
    let slice = SessionText.slice(text, from: sent.bytes, atMost: limit)
    guard !slice.isEmpty else { return nil }
    let index = sent.count
    sent.count += 1
    sent.bytes += slice.utf8.count
    let isLast = sent.bytes >= text.utf8.count
    switch item {
    case .part: sent.isQueued = !isLast
    case .replay, .response, .turnComplete, .window, .batch, .news: break
    }
    sockets.change(connection) { socket in
      socket.parts[id] = sent
      if item != .part(id) || !isLast { socket.queue.putBack(item) }
    }
    let message = SessionServerMessage.responsePart(
      conversation: turn.prompt.conversation, idempotencyKey: key, index: index,
      text: String(slice))
    return (message, slice.utf8.count + 200)
  }
}

// MARK: - Conversations

extension SessionServer {
  mutating func subscribe(_ id: ConnectionID, _ subscription: SessionSubscription) {
    guard mayFollow(id, subscription) else { return }
    put(.window(subscription), on: id)
    pump(id)
  }

  mutating func subscribe(_ id: ConnectionID, _ all: [SessionSubscription]) {
    let mine = all.filter { mayFollow(id, $0) }
    guard !mine.isEmpty else { return }
    put(.batch(mine), on: id)
    pump(id)
  }

  /// Returns whether a client may subscribe. If not, the subscription is refused.
  private mutating func mayFollow(_ id: ConnectionID, _ subscription: SessionSubscription) -> Bool {
    guard let socket = sockets[id] else { return false }
    let conversation = subscription.conversation
    if let refusal = socket.refusal(of: subscription, limit: policy.maxSubscriptions) {
      fail(id, refusal.code, refusal.text, conversation: conversation)
      return false
    }
    // No message of the conversation is sent on the socket before its window.
    sockets.change(id) { $0.subscriptions[conversation] = .init(next: 0, isLive: false) }
    conversations.addReader(id, of: conversation)
    return true
  }

  mutating func unsubscribe(_ id: ConnectionID, _ conversation: String) {
    sockets.change(id) { $0.subscriptions[conversation] = nil }
    conversations.removeReader(id, of: conversation)
  }

  // MARK: Windows

  mutating func window(
    _ subscription: SessionSubscription, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let (history, size) = history(subscription, to: peer, on: id, budget: peer.maxBytes)
    else { return nil }
    return (.history(history), size)
  }

  /// Returns as many windows as fit into one message, and puts the others back into the queue.
  mutating func batch(
    _ all: [SessionSubscription], to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    var histories: [SessionHistory] = []
    var total = 0
    var rest = all[...]
    while let next = rest.first, total == 0 || total + 2 * SessionText.envelope < peer.maxBytes {
      rest.removeFirst()
      guard
        let (history, size) = history(next, to: peer, on: id, budget: peer.maxBytes - total)
      else { continue }
      histories.append(history)
      total += size
    }
    if !rest.isEmpty {
      let left = Array(rest)
      sockets.change(id) { $0.queue.putBack(.batch(left)) }
    }
    return histories.isEmpty ? nil : (.historyBatch(histories), total)
  }

  /// Returns the window at a client's cursor. Once a window reaches the end, the client receives
  /// new messages as they arrive.
  private mutating func history(
    _ subscription: SessionSubscription, to peer: SessionSocket.Peer, on id: ConnectionID,
    budget: Int
  ) -> (SessionHistory, Int)? {
    let conversation = subscription.conversation
    guard sockets[id]?.subscriptions[conversation] != nil else { return nil }
    let state = conversations[conversation] ?? ConversationState()
    let speaksOffsets = peer.version >= .newest
    var start: UInt64
    var isReplaced = false
    switch subscription.cursor {
    case .sequence(let last): start = last + 1
    case .offset(let offset, let seen):
      isReplaced = seen.map { !$0.isEmpty && $0 != state.signature } ?? false
      start = isReplaced ? 1 : offset + 1
    }
    var gap: SessionHistory.Gap?
    if start < state.first, !isReplaced {
      gap = SessionHistory.Gap(requested: start - 1, oldest: state.first, reason: .pruned)
    } else if start > state.end {
      gap = SessionHistory.Gap(requested: start - 1, oldest: state.first, reason: .clientAhead)
    }
    start = max(start, state.first)
    let isEmpty = gap != nil && !speaksOffsets
    let (entries, size) =
      isEmpty
      ? ([], SessionText.envelope)
      : state.slice(from: start, budget: budget, atMost: policy.windowEntries)
    let pruned = isEmpty && gap?.reason == .pruned
    let next =
      isEmpty ? (pruned ? state.first : state.end) : min(start, state.end) + UInt64(entries.count)
    let isComplete = next >= state.end && !pruned
    sockets.change(id) { $0.subscriptions[conversation] = .init(next: next, isLive: isComplete) }
    return (
      state.window(
        conversation, entries, next: next, byOffset: speaksOffsets, isReplaced: isReplaced,
        isComplete: isComplete, gap: gap), size
    )
  }

  /// Returns the next message of a conversation for a client that follows it.
  mutating func news(
    _ conversation: String, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let subscription = sockets[id]?.subscriptions[conversation], subscription.isLive,
      let state = conversations[conversation]
    else { return nil }
    let (entries, size) = state.slice(
      from: subscription.next, budget: peer.maxBytes, atMost: 1)
    guard let position = entries.last?.position else { return nil }
    let isMore = position + 1 < state.end
    sockets.change(id) { socket in
      socket.subscriptions[conversation]?.next = position + 1
      if isMore { socket.queue.putBack(.news(conversation)) }
    }
    let window = state.window(
      conversation, entries, next: position + 1, byOffset: peer.version >= .newest,
      isComplete: true)
    return (.history(window), size)
  }

  // MARK: Messages

  /// Assigns sequence numbers to the messages of a prompt that has its answer.
  mutating func reserveEntries(of id: SessionPromptID) {
    guard let turn = prompts[id], case .finishing(let answer) = turn.stage else { return }
    let conversation = turn.prompt.conversation
    let key = turn.prompt.idempotencyKey.flatMap { UUID128($0) }?.description
    var entries = [
      SessionEntry(
        id: key ?? freshID(), role: .user, text: turn.prompt.text, conversation: conversation,
        timestamp: turn.at)
    ]
    if case .success(let text) = answer.result {
      entries.append(
        SessionEntry(
          id: answer.message, role: .assistant, text: text, conversation: conversation,
          timestamp: answer.at))
    }
    conversations.reserve(&entries, in: conversation)
    prompts.change(id) { $0.entries = entries }
  }

  /// Returns the changes that make the answer to a prompt durable.
  func changes(finishing id: SessionPromptID) -> [SessionChange] {
    guard let turn = prompts[id], case .finishing(let answer) = turn.stage else { return [] }
    var changes = [SessionChange.answered(id, answer)]
    if let client = clients[turn.client]?.stored { changes.append(.client(client)) }
    let conversation = turn.prompt.conversation
    if let state = conversations[conversation], !state.isStored {
      changes.append(.conversation(conversation, signature: state.signature))
    }
    return changes + turn.entries.map { .entry($0) }
  }

  /// Adds the messages of a prompt to its conversation, and queues them for all live subscribers.
  mutating func appendEntries(of id: SessionPromptID) {
    guard let turn = prompts[id] else { return }
    let conversation = turn.prompt.conversation
    let readers = conversations.append(turn.entries, to: conversation, at: wall)
    prompts.change(id) { $0.entries = [] }
    for reader in readers where sockets.follows(reader, conversation) {
      put(.news(conversation), on: reader)
      pump(reader)
    }
    shorten(conversation)
  }

  /// Removes the oldest messages and conversations beyond the bounds.
  mutating func shorten(_ conversation: String) {
    for change in conversations.shorten(conversation, to: policy) { delay(change) }
  }
}
