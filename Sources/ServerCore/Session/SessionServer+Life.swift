import LinkCore
import LinkStorage
import LinkWire

extension SessionServer {
  // MARK: The beginning

  /// Takes what was kept, before anything else happens.
  ///
  /// A prompt whose handler was started and has no answer was interrupted: it is answered so, and
  /// not run again. One that was only accepted runs now.
  mutating func restore(_ kept: StoredSessions) {
    for client in kept.clients.values { clients[client.id] = SessionClient(kept: client) }
    for (id, conversation) in kept.conversations { restore(id, conversation) }
    let prompts = kept.prompts.sorted { $0.key < $1.key }.map(\.value)
    lastTurn = prompts.last?.id.number ?? 0
    var interrupted: [SessionPromptID] = []
    for prompt in prompts where !prompt.isOver { restore(prompt, &interrupted) }
    let over = prompts.filter(\.isOver).sorted { ($0.endedAt, $0.id) < ($1.endedAt, $1.id) }
    for prompt in over { restore(ended: prompt) }
    for id in interrupted { finish(id, .failure(error: Self.interrupted)) }
    for prompt in prompts where !prompt.isOver { advance(prompt.prompt.conversation) }
    forgetExcess()
    forgetOld()
    for id in talks.keys.sorted() { shorten(id) }
  }

  /// Keeps the newest messages without a hole.
  private mutating func restore(_ id: String, _ conversation: StoredConversation) {
    var talk = SessionTalk()
    (talk.signature, talk.isKept) = (conversation.signature, true)
    // One that the store failed to keep at first stands behind later ones.
    for entry in conversation.entries.sorted(by: { ($0.place ?? 0) < ($1.place ?? 0) }) {
      if entry.place != talk.end { talk.entries = [] }
      talk.entries.append(entry)
    }
    talk.next = talk.end
    talk.usedAt = talk.entries.last?.timestamp ?? wall
    historyBytes += talk.entries.reduce(0) { $0 + $1.size }
    if !talk.entries.isEmpty { talks[id] = talk }
  }

  private mutating func restore(
    _ kept: StoredSessionPrompt, _ interrupted: inout [SessionPromptID]
  ) {
    welcome(kept.client)
    var turn = SessionTurn(
      id: kept.id, client: kept.client, prompt: kept.prompt, at: kept.at, stage: .waiting)
    if kept.stage == .started {
      turn.stage = .running
      running += 1
      interrupted.append(kept.id)
    }
    reenter(turn)
  }

  private mutating func restore(ended kept: StoredSessionPrompt) {
    guard case .ended(let answer) = kept.stage else { return }
    welcome(kept.client)
    let turn = SessionTurn(
      id: kept.id, client: kept.client, prompt: kept.prompt, at: kept.at, stage: .ended(answer))
    turns[kept.id] = turn
    if let key = kept.prompt.idempotencyKey { turnsByKey[key, default: []].append(kept.id) }
    turnsByMessage[answer.message] = kept.id
    ended.append(kept.id)
    endedBytes += turn.size
    let last = clients[kept.client]?.kept.lastNumber ?? 0
    clients[kept.client]?.kept.lastNumber = max(last, answer.number)
    keepForClient(kept.id)
  }

  /// A client of which only its prompts are known.
  private mutating func welcome(_ client: String) {
    guard clients[client] == nil else { return }
    clients[client] = SessionClient(kept: StoredSessionClient(id: client, seenAt: wall))
  }

  // MARK: The end

  /// The input that begins a drain.
  public static func drain(within window: Duration) -> Input { .drain(within: window) }

  /// Whether the drain has ended.
  public var isFinished: Bool { mode == .finished }

  /// Refuses new prompts from now on and warns the clients; handlers may end during the grace.
  mutating func drain(within window: Duration) {
    let isIdle = running == 0 && waits.isEmpty && owed.isEmpty
    let begins = mode.drain(
      within: window, at: now, grace: isIdle ? .zero : policy.drainGrace,
      limit: policy.drainLimit)
    guard begins else { return }
    for id in sockets.keys.sorted() where isOpen(id) && sockets[id]?.peer != nil {
      tell(
        id,
        .draining(
          message: "The server is about to stop.", retryAfter: policy.drainRetry, window: window))
    }
  }

  mutating func advanceDrain() {
    if let window = mode.leave(at: now) { leave(within: window) }
    if mode.givesUp(at: now) { giveUp() }
    switch mode {
    case .serving, .draining, .finished: return
    case .leaving: break
    }
    guard sockets.isEmpty, waits.isEmpty, owed.isEmpty, delayed.isEmpty, mode.finish() else {
      return
    }
    alarms = AlarmQueue()
    effects.append(.finished)
  }

  /// Ends all handlers, whose prompts were interrupted, and begins to close all sockets.
  private mutating func leave(within window: Duration) {
    for id in turns.keys.sorted() {
      guard let stage = turns[id]?.stage else { continue }
      switch stage {
      case .running, .cancelling:
        effects.append(.cancel(id))
        finish(id, .failure(error: Self.interrupted))
      case .accepting, .waiting, .starting, .finishing, .ended: break
      }
    }
    storeOwed()
    for id in sockets.keys.sorted() { close(id, .draining(within: window)) }
  }

  /// Drops what is left when the time of the drain is up.
  private mutating func giveUp() {
    for id in sockets.keys.sorted() {
      forget(id)
      effects.append(.drop(id))
    }
    (waits, owed, delayed) = ([:], [], [])
  }
}

extension StoredSessionPrompt {
  fileprivate var isOver: Bool { endedAt != Timestamp(nanoseconds: .max) }

  /// When it ended; the end of time if it has not.
  fileprivate var endedAt: Timestamp {
    switch stage {
    case .ended(let answer): answer.at
    case .accepted, .started: Timestamp(nanoseconds: .max)
    }
  }

}
