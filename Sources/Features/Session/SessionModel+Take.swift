import LinkCore
import LinkStorage
import LinkWire

// What inputs mean for a session.
extension SessionModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .restored(let snapshot, let conversation, let wall):
      note(wall, step)
      restore(snapshot, conversation, &step)
    case .start: begin(&step)
    case .stop: stopsAt = stopsAt ?? step.now.advanced(by: SessionSettings.flushTimeout)
    case .prompt(let text, let conversation, let wall):
      note(wall, step)
      prompt(text, in: conversation ?? self.conversation, &step)
    case .retry(let key): retry(key, &step)
    case .discard(let key): discard(key, &step)
    case .cancel(let conversation):
      if isConnected, let talk {
        step.effects.append(.send(talk.attempt, .killSession(conversation: conversation)))
      }
    case .follow(let conversation):
      named = conversation
      change(to: conversation)
    case .shown(let through): confirm(through)
    case .link(let event, let wall):
      note(wall, step)
      hear(event, &step)
    case .credentials(let event): drive(.credentials(event), &step)
    case .probed(let isPortal): probed(isPortal, &step)
    case .committed(let id, let news): committed(id, news, &step)
    case .commitFailed(let id, let failure):
      if writer.refused(id, at: step.now) { step.show(.notice(.store(failure))) }
    case .opened, .frame, .malformed, .reading, .unsent: takeSocket(input, &step)
    }
  }

  /// Takes what the socket of an attempt said; that of an older one changes nothing.
  private mutating func takeSocket(_ input: Input, _ step: inout Step) {
    switch input {
    case .opened(let attempt): drive(.opened(attempt), &step)
    case .frame(let attempt, let message, let bytes, let wall):
      note(wall, step)
      guard talk?.attempt == attempt else { return }
      payload.noteArrival(bytes: bytes)
      talk?.wasDeaf = false
      drive(.heard(attempt), &step)
      hear(message, attempt, &step)
    case .malformed(let attempt, let detail): malformed(attempt, detail, &step)
    case .reading(let attempt, let isPaused):
      guard talk?.attempt == attempt else { return }
      talk?.isPaused = isPaused
      talk?.wasDeaf = false
      // Silence counts from here on again.
      drive(.heard(attempt), &step)
    case .unsent(let attempt):
      drive(.reject(attempt, .local(detail: "the socket takes no more")), &step)
    case .restored, .start, .stop, .prompt, .retry, .discard, .cancel, .follow, .shown, .link,
      .credentials, .probed, .committed, .commitFailed:
      return  // not of a socket
    }
  }

  mutating func begin(_ step: inout Step) {
    guard client != nil else { return }
    stopsAt = nil
    leavePortal(&step)
    drive(.want(.live), &step)
    drive(.trigger(.userRefresh), &step)
  }

  mutating func end(_ step: inout Step) {
    stopsAt = nil
    drive(.want(.none), &step)
    if unanswered > 0 { step.show(.notice(.unanswered(count: unanswered))) }
  }

  private mutating func restore(
    _ snapshot: ClientSessionSnapshot, _ wanted: String?, _ step: inout Step
  ) {
    guard client == nil else { return }
    client = snapshot.client
    (lastPrompt, received) = (snapshot.lastPrompt, snapshot.received)
    stored = received
    for known in snapshot.conversations { conversations[known.id] = known }
    queue.restore(snapshot.prompts)
    for prompt in snapshot.prompts {
      watch(prompt, at: step.now)
    }
    let open = snapshot.prompts.filter { if case .queued = $0.state { true } else { false } }
    if !open.isEmpty { step.show(.pending(open)) }
    change(
      to: wanted ?? snapshot.conversations.last?.id ?? UUID128.random(using: &chance).description)
    for news in snapshot.unshown { show(news, &step) }
  }

  /// Makes a conversation the one of prompts that name none, durably.
  private mutating func change(to conversation: String) {
    self.conversation = conversation
    keep(conversations[conversation] ?? KnownConversation(id: conversation))
  }

  /// Keeps how far a conversation is known.
  mutating func keep(_ known: KnownConversation) {
    conversations[known.id] = known
    writer.put(known)
  }

  private mutating func confirm(_ through: UInt64) {
    guard through > confirmed else { return }
    confirmed = through
    writer.waiting.change.shown = through
  }

  // MARK: The store

  private mutating func committed(
    _ id: SessionCommitID, _ news: [NumberedSessionNews], _ step: inout Step
  ) {
    let hadFailed = writer.failures > 0
    guard let batch = writer.committed(id) else { return }
    if hadFailed { step.show(.notice(.storeRecovered)) }
    stored = batch.change.received ?? stored
    for key in batch.prompts {
      guard let prompt = queue.stored(key) else { continue }
      show(prompt, .queued, &step)
      watch(prompt, at: step.now)
    }
    sendMarked(batch.change.prompts, &step)
    settle(batch.change.news, news)
    owed += batch.acks
    if owed.count > SessionSettings.owedLimit {
      owed.removeFirst(owed.count - SessionSettings.owedLimit)
    }
    for one in news { show(one, &step) }
  }

  private mutating func show(_ one: NumberedSessionNews, _ step: inout Step) {
    handed = max(handed, one.number)
    switch one.news {
    case .message(let entry, let via): step.show(.message(entry, via: via, news: one.number))
    case .ended(let ending):
      states[ending.key] = nil
      step.show(.prompt(SessionPromptState(ending), news: one.number))
    }
  }

  // MARK: Time

  mutating func expire(_ step: inout Step) {
    while let first = staleTimes.first, first.at <= step.now {
      staleTimes.removeFirst()
      guard let prompt = queue[first.key], case .queued = prompt.state else { continue }
      step.show(.notice(.stale(first.key)))
    }
    guard isConnected, var current = talk else { return }
    if let upload = current.upload, upload.until <= step.now { current.upload = nil }
    if let until = current.askedUntil, until <= step.now { current.askedUntil = nil }
    let late = Array(current.subscribing.filter { $0.value <= step.now }.keys)
    for conversation in late {
      current.subscribing[conversation] = nil
      // Nothing holds up prompts for longer: the server does not answer this.
      current.current.insert(conversation)
      // What came ahead may have been the answer of a plain server: the next one like it is taken.
      if !current.isIdempotent, current.again.contains(conversation) {
        current.holes.insert(conversation)
      }
    }
    talk = current
    for conversation in late.sorted() {
      // Silence does not say that a prompt of a plain server is absent.
      if !current.isIdempotent { skip(conversation, isReset: false, step) }
      conclude(conversation, &step)
    }
    queue.wake(at: step.now)
    while let key = queue.expired(at: step.now) { expire(key, &step) }
  }
}
