import LinkCore
import LinkStorage
import LinkWire

// Prompts, from their arrival to the acknowledgement of their answers, and conversations.

// MARK: - Arrival

extension SessionServer {
  /// Takes a prompt of a client, which is sent for the first time or again.
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
      id: prompts.nextID(), client: peer.client, prompt: prompt, asker: id, at: wall,
      stage: .accepting(starts: starts))
    enter(turn)
    metrics.prompts += 1
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
    let turns = prompts.all(withKey: prompt.idempotencyKey)
    if let own = turns.first(where: { $0.client == client }) {
      return own.isSame(as: prompt) ? .same(own.id) : .conflict
    }
    return turns.first { $0.isSame(as: prompt) }.map { .same($0.id) } ?? .new
  }

  /// Acknowledges a known prompt while it waits or runs, and answers it after that.
  private mutating func repeated(
    _ id: SessionPromptID, on connection: ConnectionID, by client: String
  ) {
    metrics.repeated += 1
    prompts.change(id) { $0.asker = connection }
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

  /// Gives a prompt that has not ended to the client that sent it last.
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
      if let kept = prompts[id]?.kept { delay(.prompt(kept)) }
      return
    }
    // The store may still fail to take it, and must not get it by another way.
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

  /// Puts a prompt into the line of its conversation.
  mutating func enter(_ turn: SessionTurn) {
    prompts.add(turn)
    conversations.enter(turn.id, in: turn.prompt.conversation, at: wall)
    clients[turn.client]?.open += 1
  }

  /// Handles the answer of the store to a new prompt.
  mutating func accepted(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = prompts[id], case .accepting(let starts) = turn.stage else { return }
    let conversation = turn.prompt.conversation
    guard failure == nil else {
      leave(turn)
      prompts.remove(id)
      if let asker = turn.asker {
        fail(
          asker, "store_failed", "The server cannot store the prompt now; send it again later.",
          conversation: conversation, key: turn.prompt.idempotencyKey)
      }
      advanceQueue()
      advance(conversation)
      return conversations.removeIfEmpty(conversation)
    }
    if let client = client(numbering: turn) { clients[client.id]?.kept = client }
    prompts.move(id, to: starts ? .starting : .waiting)
    if turn.sender != nil, let kept = prompts[id]?.kept { delay(.prompt(kept)) }
    acknowledge(turn)
    if starts { return run(id) }
    guard turn.killers.isEmpty else { return finish(id, .failure(error: Self.cancelled)) }
    advance(conversation)
  }

  private mutating func acknowledge(_ turn: SessionTurn) {
    guard let asker = turn.asker, isOpen(asker) else { return }
    send(asker, .ack(message: "Prompt received", idempotencyKey: turn.prompt.idempotencyKey))
  }

  /// Whether no prompt of a conversation is under way or comes first.
  private func mayStart(_ conversation: String) -> Bool {
    conversations.line(of: conversation).allSatisfy { id in
      if case .finishing = prompts[id]?.stage { true } else { false }
    }
  }

  /// The first prompt of a conversation that may start now.
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

  /// Gives free handlers to the conversations that wait for one.
  private mutating func advanceQueue() {
    while prompts.running < policy.maxRunning, let conversation = conversations.dequeue() {
      advance(conversation)
    }
  }

  /// Handles the answer of the store to the mark of a start.
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

  /// Leaves a prompt that was marked as started to the next run: no handler starts while the server
  /// leaves. If the store takes the mark back at no try, it is answered as interrupted then.
  private mutating func putOff(_ id: SessionPromptID) {
    guard prompts[id]?.killers.isEmpty == true else {
      return finish(id, .failure(error: Self.cancelled))
    }
    prompts.move(id, to: .waiting)
    if let kept = prompts[id]?.kept { store([.prompt(kept)], then: [.putOff(id)]) }
  }

  /// Takes a prompt out of the line of its conversation.
  private mutating func leave(_ turn: SessionTurn) {
    conversations.leave(turn.id, in: turn.prompt.conversation)
    clients[turn.client]?.open -= 1
  }
}

// MARK: - Handlers and answers

extension SessionServer {
  /// Takes a part of the response that a handler wrote.
  mutating func produced(_ id: SessionPromptID, _ text: String) {
    guard let turn = prompts[id], turn.stage == .running else { return }
    guard turn.output.utf8.count + text.utf8.count <= policy.maxResponseBytes else {
      return cancel(id, "the response is longer than \(policy.maxResponseBytes) bytes")
    }
    prompts.change(id) { $0.output += text }
    for connection in recipients(of: turn) { sendPart(of: id, to: connection) }
  }

  /// Sends the rest of what a running prompt has produced, if the client takes parts.
  mutating func sendPart(of id: SessionPromptID, to connection: ConnectionID) {
    guard sockets[connection]?.peer?.features.contains(.parts) == true,
      prompts[id]?.prompt.idempotencyKey != nil,
      sockets[connection]?.parts[id]?.isQueued != true
    else { return }
    sockets.change(connection) { $0.parts[id, default: .init()].isQueued = true }
    put(.part(id), on: connection)
    pump(connection)
  }

  /// Handles the end of the time of a handler, or of its end.
  mutating func turnExpired(_ id: SessionPromptID) {
    guard let turn = prompts[id] else { return }
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

  /// Ends the handler of a prompt that is running; the prompt fails with `error`.
  mutating func cancel(_ id: SessionPromptID, _ error: String) {
    prompts.move(id, to: .cancelling(error: error))
    arm(.turn(id), after: policy.cancelWait)
    effects.append(.cancel(id))
  }

  /// Ends the prompt of a conversation that runs or is the next to run.
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

  /// Takes the result of a handler that has ended.
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

  /// Asks the store to remember the answer to a prompt, and lets the next one of its conversation
  /// start in the same change.
  mutating func finish(_ id: SessionPromptID, _ result: SessionResponse.Result) {
    guard let turn = prompts[id] else { return }
    let conversation = turn.prompt.conversation
    disarm(.turn(id))
    let number = (clients[turn.client]?.kept.lastNumber ?? 0) + 1
    clients[turn.client]?.kept.lastNumber = number
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
    // Others that wait for a handler come before its next prompt.
    advanceQueue()
    advance(conversation)
  }

  /// Handles the answer of the store to the answer of a prompt.
  mutating func answered(_ id: SessionPromptID, _ failure: StoreFailure?) {
    guard let turn = prompts[id], case .finishing(let answer) = turn.stage else { return }
    guard failure == nil else { return storeLater(id) }
    leave(turn)
    prompts.end(id, answer)
    if prompts.ended.count == 1 { armMemory() }
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
  /// Keeps an answer until its client acknowledges it; beyond the bounds, the oldest are removed,
  /// which is reported to the client.
  mutating func keepForClient(_ id: SessionPromptID) {
    guard let turn = prompts[id], let answer = turn.answer, !answer.isTaken else { return }
    clients[turn.client]?.keep(id, size: answer.size)
    while let excess = clients[turn.client]?.excess(
      beyond: policy.answersPerClient, bytes: policy.answersBytesPerClient)
    { lose(excess) }
  }

  /// Removes an answer that was not acknowledged.
  private mutating func lose(_ id: SessionPromptID) {
    guard let turn = prompts[id], let answer = turn.answer, !answer.isTaken else { return }
    metrics.lost += 1
    markTaken(id, isLost: true)
    guard var client = clients[turn.client]?.kept else { return }
    client.lost = client.lost.map { max($0, answer.number) } ?? answer.number
    clients[turn.client]?.kept = client
    delay(.client(client))
  }

  /// Takes an acknowledgement; one of a message that is not known, or that belongs to another
  /// client, is ignored.
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

  /// Forgets the prompts beyond the bounds.
  mutating func forgetExcess() {
    while let excess = prompts.excess(beyond: policy.maxEnded, bytes: policy.maxEndedBytes) {
      forget(excess)
    }
  }

  /// Forgets a prompt that has ended, with its key and its answer.
  private mutating func forget(_ id: SessionPromptID) {
    lose(id)
    prompts.remove(id)
    delay(.endPrompt(id))
  }

  /// Forgets a client that is away.
  mutating func forget(client id: String) {
    for turn in clients[id]?.outbox ?? [] { markTaken(turn, isLost: false) }
    clients[id] = nil
    delay(.endClient(id))
  }

  /// Forgets prompts and clients whose time is over.
  mutating func forgetOld() {
    let oldest = wall.advanced(by: .zero - policy.memory)
    while let first = prompts.ended.first, let answer = prompts[first]?.answer,
      answer.at <= oldest
    {
      forget(first)
    }
    for client in clients.values.sorted(by: { $0.kept.id < $1.kept.id })
    where client.isIdle && client.kept.seenAt <= oldest {
      forget(client: client.kept.id)
    }
    armMemory()
  }

  /// Looks for what is to be forgotten once an hour, or more often if it is remembered for less.
  mutating func armMemory() {
    guard !clients.isEmpty || !prompts.ended.isEmpty else { return }
    arm(.memory, after: min(policy.memory, .seconds(3_600)))
  }

  /// Resumes after the last message that the client stored; returns false if later messages are no
  /// longer kept.
  mutating func resume(_ connect: SessionConnect) -> Bool {
    guard let isAhead = clients[connect.session]?.resume(after: connect.received) else {
      return true
    }
    if isAhead, let kept = clients[connect.session]?.kept { delay(.client(kept)) }
    let hasLost = clients[connect.session]?.reportsLoss(after: connect.received) == true
    for id in clients[connect.session]?.outbox ?? [] {
      // Numbers begin at 1.
      if let answer = prompts[id]?.answer, answer.number <= connect.received ?? 0 {
        take(answer.message, of: connect.session)
      }
    }
    return !isAhead && !hasLost
  }

  /// Sends what was not acknowledged, and what is being produced.
  mutating func catchUp(_ id: ConnectionID, _ peer: SessionSocket.Peer) {
    let outbox = clients[peer.client]?.outbox ?? []
    sockets.change(id) { socket in
      for turn in outbox { socket.lane.append(.replay(turn)) }
    }
    metrics.replayed += UInt64(outbox.count)
    if (clients[peer.client]?.open ?? 0) > 0, peer.features.contains(.parts) {
      for turn in prompts.underWay(of: peer.client) { sendPart(of: turn, to: id) }
    }
    pump(id)
  }
}

// MARK: - The bulk lane of each socket

// Answers, parts of answers and windows, as fast as the socket takes them.
extension SessionServer {
  /// Queues a parcel for a socket, which is closed if too much waits for it.
  mutating func put(_ parcel: SessionLane.Parcel, on id: ConnectionID) {
    guard isOpen(id) else { return }
    guard (sockets[id]?.lane.count ?? 0) < policy.maxParcels else { return overflowed(id) }
    sockets.change(id) { $0.lane.append(parcel) }
  }

  /// Sends more to a socket that has taken everything.
  mutating func drained(_ id: ConnectionID) {
    sockets.change(id) { $0.lane.drained() }
    pump(id)
  }

  /// Sends the parcels that wait, up to the bytes that may be on their way.
  mutating func pump(_ id: ConnectionID) {
    let limit = policy.laneBytes
    while let (parcel, peer) = sockets.nextParcel(of: id) {
      guard let (message, size) = message(of: parcel, to: peer, on: id) else { continue }
      effects.append(.send(id, message))
      if sockets.change(id, { $0.lane.sent(size, limit: limit) }) == true {
        effects.append(.noticeDrain(id))
      }
    }
  }

  /// The next message of a parcel, and about how many bytes it has; what is left of the parcel goes
  /// back in front.
  private mutating func message(
    of parcel: SessionLane.Parcel, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    switch parcel {
    case .replay(let turn):
      guard prompts[turn]?.answer?.isTaken == false else { return nil }
      return answer(to: turn, as: parcel, peer, on: id)
    case .response(let turn): return answer(to: turn, as: parcel, peer, on: id)
    case .turnComplete(let conversation, let isAborted):
      return (.turnComplete(conversation: conversation, isAborted: isAborted), 150)
    case .part(let turn):
      sockets.change(id) { $0.parts[turn]?.isQueued = false }
      guard let turn = prompts[turn], turn.stage == .running else { return nil }
      return part(of: turn.id, SessionText.withoutLineEnd(turn.output), parcel, peer, on: id)
    case .window(let subscription): return window(subscription, to: peer, on: id)
    case .batch(let all): return batch(all, to: peer, on: id)
    case .news(let conversation): return news(conversation, to: peer, on: id)
    }
  }

  /// An answer as a response or a replay; one that is too long for the client comes in parts before
  /// that, if it takes them, and is cut in the middle.
  private mutating func answer(
    to id: SessionPromptID, as parcel: SessionLane.Parcel, _ peer: SessionSocket.Peer,
    on connection: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let turn = prompts[id], let answer = turn.answer else { return nil }
    let text = SessionText.cut(answer.text, toFit: peer.maxBytes)
    let isWhole = text.utf8.count == answer.text.utf8.count
    var parts: Int?
    if !isWhole, peer.features.contains(.parts), case .success = answer.result,
      turn.prompt.idempotencyKey != nil
    {
      if let part = part(of: id, answer.text, parcel, peer, on: connection) { return part }
      parts = sockets[connection]?.parts[id]?.count
    }
    sockets.change(connection) { $0.parts[id] = nil }
    let size = text.utf8.count + SessionText.envelope
    switch (parcel, answer.result) {
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

  /// The next part of a text that a socket was not sent; `nil` if it was sent all of it.
  private mutating func part(
    of id: SessionPromptID, _ text: String, _ parcel: SessionLane.Parcel,
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
    switch parcel {
    case .part: sent.isQueued = !isLast
    case .replay, .response, .turnComplete, .window, .batch, .news: break
    }
    sockets.change(connection) { socket in
      socket.parts[id] = sent
      if parcel != .part(id) || !isLast { socket.lane.putBack(parcel) }
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

  /// Returns whether a client may subscribe as it says; it is refused if it may not.
  private mutating func mayFollow(_ id: ConnectionID, _ subscription: SessionSubscription) -> Bool {
    guard let socket = sockets[id] else { return false }
    let conversation = subscription.conversation
    if let refusal = socket.refusal(of: subscription, limit: policy.maxSubscriptions) {
      fail(id, refusal.code, refusal.text, conversation: conversation)
      return false
    }
    // Until its window is sent, it is sent nothing else.
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

  /// Returns as many windows as fit into one message; the other ones wait in front.
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
      sockets.change(id) { $0.lane.putBack(.batch(left)) }
    }
    return histories.isEmpty ? nil : (.historyBatch(histories), total)
  }

  /// A window from a client's cursor on; from its end on the client gets new messages as they come,
  /// if it reaches the end of the conversation.
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

  /// The next message of a conversation for a client that follows it.
  mutating func news(
    _ conversation: String, to peer: SessionSocket.Peer, on id: ConnectionID
  ) -> (SessionServerMessage, Int)? {
    guard let subscription = sockets[id]?.subscriptions[conversation], subscription.isLive,
      let state = conversations[conversation]
    else { return nil }
    let (entries, size) = state.slice(
      from: subscription.next, budget: peer.maxBytes, atMost: 1)
    guard let place = entries.last?.place else { return nil }
    let isMore = place + 1 < state.end
    sockets.change(id) { socket in
      socket.subscriptions[conversation]?.next = place + 1
      if isMore { socket.lane.putBack(.news(conversation)) }
    }
    let window = state.window(
      conversation, entries, next: place + 1, byOffset: peer.version >= .newest,
      isComplete: true)
    return (.history(window), size)
  }

  // MARK: Messages

  /// Gives the messages of a prompt that ends their places.
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

  /// The changes that make the answer to a prompt durable.
  func changes(finishing id: SessionPromptID) -> [SessionChange] {
    guard let turn = prompts[id], case .finishing(let answer) = turn.stage else { return [] }
    var changes = [SessionChange.answered(id, answer)]
    if let client = clients[turn.client]?.kept { changes.append(.client(client)) }
    let conversation = turn.prompt.conversation
    if let state = conversations[conversation], !state.isKept {
      changes.append(.conversation(conversation, signature: state.signature))
    }
    return changes + turn.entries.map { .entry($0) }
  }

  /// Takes the messages of a prompt into its conversation, and has them sent to all who follow it.
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
