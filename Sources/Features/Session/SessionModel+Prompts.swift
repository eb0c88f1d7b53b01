import LinkCore
import LinkStorage
import LinkWire

// Prompts: from the user's word to the server's answer.
extension SessionModel {
  mutating func prompt(_ text: String, in conversation: String, _ step: inout Step) {
    lastPrompt += 1
    let prompt = StoredPrompt(
      id: .random(using: &chance), conversation: conversation, text: text, number: lastPrompt,
      createdAt: wall(at: step.now))
    if let reason = refusal(of: prompt) {
      // Not kept: the words stay with whoever wrote them, and the reason stands beside them.
      lastPrompt -= 1
      return step.show(.prompt(SessionPromptState(prompt, .failed, reason), news: nil))
    }
    writer.put(prompt)
    writer.waiting.prompts.append(prompt.id)
    if conversations[conversation] == nil { keep(KnownConversation(id: conversation)) }
  }

  /// Adds a prompt to the queue; returns why not.
  private mutating func refusal(of prompt: StoredPrompt) -> String? {
    guard client != nil, stopsAt == nil else { return "the session is closed" }
    guard !prompt.text.isEmpty else { return "the prompt is empty" }
    guard prompt.text.utf8.count <= SessionSettings.longestPrompt else {
      return "a prompt has at most \(SessionSettings.longestPrompt) bytes"
    }
    guard Self.fits(prompt) else {
      return "a prompt has at most \(SessionSettings.longestMessage) bytes as JSON"
    }
    return queue.add(prompt) ? nil : "too many prompts wait for an answer"
  }

  private static func fits(_ prompt: StoredPrompt) -> Bool {
    // Few are so long that they must be measured.
    guard prompt.text.utf8.count * 6 > SessionSettings.longestMessage / 2 else { return true }
    return message(of: prompt, isNew: false).bytes.count <= SessionSettings.longestMessage
  }

  private static func message(of prompt: StoredPrompt, isNew: Bool) -> SessionClientMessage {
    .prompt(
      SessionPrompt(
        text: prompt.text, conversation: prompt.conversation, isNew: isNew,
        idempotencyKey: prompt.id.description, number: prompt.number))
  }

  /// Begins to watch whether a prompt becomes stale.
  mutating func watch(_ prompt: StoredPrompt, at now: Instant) {
    guard case .queued = prompt.state, !prompt.isAccepted else { return }
    staleTimes.append(
      StaleTime(key: prompt.id, at: now.advanced(by: SessionSettings.staleAfter)))
  }

  /// Sends a failed prompt again: as a new one, since the old one had its end.
  mutating func retry(_ key: UUID128, _ step: inout Step) {
    // While the session ends it stays as it is: a new one is taken no more.
    guard let old = queue[key], case .failed = old.state, stopsAt == nil, !ending.contains(key)
    else { return }
    discard(key, &step)
    prompt(old.text, in: old.conversation, &step)
  }

  mutating func discard(_ key: UUID128, _ step: inout Step) {
    guard let prompt = queue[key], case .failed = prompt.state, !ending.contains(key) else {
      return
    }
    forgetPrompt(key)
    writer.forget(key)
  }

  mutating func forgetPrompt(_ key: UUID128) {
    queue.remove(key)
    talk?.sent.remove(key)
    endUpload(of: key)
  }

  /// The server has a prompt, or it has ended: it can become stale no more.
  mutating func unwatch(_ key: UUID128) { staleTimes.removeAll { $0.key == key } }

  mutating func endUpload(of key: UUID128) {
    if talk?.upload?.key == key { talk?.upload = nil }
    if talk?.large?.key == key { talk?.large = nil }
  }

  /// Shows a prompt's state if it is another one than before.
  mutating func show(
    _ prompt: StoredPrompt, _ state: SessionPromptState.State, because reason: String? = nil,
    _ step: inout Step
  ) {
    guard states.updateValue(state, forKey: prompt.id) != state || reason != nil else { return }
    step.show(.prompt(SessionPromptState(prompt, state, reason), news: nil))
  }

  // MARK: Handing over

  mutating func sendPrompts(_ step: inout Step) {
    while let talk, talk.upload == nil, !talk.isDraining, stopsAt == nil, leaving == nil {
      let held = held(by: talk)
      let next = queue.take(at: step.now, timeout: timeout(of: talk)) { !held.contains($0.id) }
      guard let prompt = next else { return }
      if talk.isIdempotent {
        handOver(prompt, talk.attempt, &step)
      } else {
        offer(prompt, talk.attempt, &step)
      }
    }
  }

  private func timeout(of talk: Talk) -> Duration {
    talk.isIdempotent ? SessionSettings.ackTimeout : settings.answerTimeout
  }

  /// Gives a prompt that is under way on a slow line the time that it takes there: a second copy
  /// would only hold up the first.
  private mutating func waitForUpload(of prompt: StoredPrompt, _ step: Step) {
    let time = Duration.seconds(prompt.text.utf8.count / SessionSettings.slowestRate)
    let until = min(SessionSettings.ackTimeout + time, SessionSettings.turnLimit)
    queue.extend(prompt.id, until: step.now.advanced(by: until))
  }

  /// The prompts that may not be sent on this connection yet: those whose end is not stored, and
  /// what a plain server may have, which is asked for the history first. While an ack of it may be
  /// of something else, nothing more is said that earns one.
  private func held(by talk: Talk) -> Set<UUID128> {
    guard !talk.isIdempotent else { return ending }
    let unsure = queue.items.filter { prompt in
      guard !prompt.isAccepted else { return false }
      return !talk.mayAsk
        || queue.unsure.contains(prompt.id) && !talk.isCurrent(prompt.conversation)
    }
    return ending.union(unsure.map(\.id))
  }

  mutating func handOver(
    _ prompt: StoredPrompt, _ attempt: AttemptID, _ step: inout Step
  ) {
    let opener = conversations[prompt.conversation]?.openedBy
    let message = Self.message(of: prompt, isNew: opener == nil || opener == prompt.id)
    let time = Duration.seconds(prompt.text.utf8.count / SessionSettings.uploadRate)
    let grace = min(time + SessionSettings.uploadTime, SessionSettings.longestUpload)
    let deaf = talk?.wasDeaf == true ? .zero : min(time, SessionSettings.longestUpload)
    talk?.upload = Talk.Upload(
      key: prompt.id, until: step.now.advanced(by: grace), deafUntil: step.now.advanced(by: deaf))
    if deaf > .zero { talk?.wasDeaf = true }
    if time > .zero, talk?.large?.key != prompt.id {
      let until = step.now.advanced(by: SessionSettings.turnLimit)
      talk?.large = Talk.Large(key: prompt.id, until: until)
    }
    if talk?.isIdempotent == true { waitForUpload(of: prompt, step) }
    talk?.sent.insert(prompt.id)
    talk?.expectAck(of: .prompt(prompt.id), at: step.now)
    step.effects.append(.send(attempt, message))
    if !prompt.isAccepted { show(prompt, .sent, &step) }
  }

  // MARK: The server's word

  /// Takes an ack: by its key, or that of the only message that awaits one.
  mutating func acknowledged(_ key: String?, _ step: inout Step) {
    guard let key else { return acknowledged(&step) }
    guard let id = UUID128(key) else { return }
    talk?.forget(.prompt(id))
    accept(id, &step)
  }

  /// Notes that the server has a prompt: durably before anything else if it knows no keys.
  mutating func accept(_ id: UUID128, _ step: inout Step) {
    endUpload(of: id)
    unwatch(id)
    guard var prompt = queue[id], case .queued = prompt.state else { return }
    let wait = talk?.isIdempotent == true ? SessionSettings.turnLimit : settings.answerTimeout
    queue.extend(id, until: step.now.advanced(by: wait))
    open(prompt)
    guard !prompt.isAccepted else { return }
    prompt.isAccepted = true
    queue.replace(prompt)
    // A plain server would run it twice.
    if talk?.isIdempotent == true { writer.putLater(prompt) } else { writer.put(prompt) }
    evidence[prompt.conversation]?.accept(id)
    show(prompt, .accepted, &step)
  }

  /// The server knows the conversation of this prompt from now on.
  private mutating func open(_ prompt: StoredPrompt) {
    guard var known = conversations[prompt.conversation], known.openedBy == nil else { return }
    known.openedBy = prompt.id
    keep(known)
  }

  mutating func answered(_ response: SessionResponse, _ step: inout Step) {
    guard talk?.isIdempotent == true || response.idempotencyKey != nil else {
      return answeredWithoutKey(response, &step)
    }
    let prompt = response.idempotencyKey.flatMap { UUID128($0) }.flatMap { queue[$0]?.waiting }
    if let prompt { accept(prompt.id, &step) }
    keep(id: response.id, number: response.number)
    let whole = talk?.pieces.take(response.parts, of: response.idempotencyKey)
    switch response.result {
    case .success(let shown):
      let conversation = prompt?.conversation ?? response.conversation ?? conversation
      if let id = response.id ?? prompt.map({ "response-\($0.id)" }) {
        add(whole ?? shown, as: id, in: conversation, &step)
      }
      if let prompt { end(prompt, .answered, nil) }
    case .failure(let error):
      // A server with keys says this alone; in other failures it quotes its program.
      if let prompt { end(prompt, error == "interrupted" ? .interrupted : .failed, error) }
    }
  }

  /// Adds the message of a response.
  mutating func add(
    _ text: String, as id: String, in conversation: String, _ step: inout Step
  ) {
    let entry = SessionEntry(
      id: id, role: .assistant, text: text, conversation: conversation,
      timestamp: wall(at: step.now))
    writer.waiting.change.news.append(.message(entry, via: .live))
  }

  /// Ends a prompt durably. Once that is stored it is shown, and the next one of its conversation
  /// goes.
  ///
  /// - Parameter message: The id of the message that ends it, if no key does: the store knows
  ///   whether that ended another one.
  mutating func end(
    _ prompt: StoredPrompt, _ outcome: SessionEnding.Outcome, _ reason: String?,
    by message: String? = nil
  ) {
    // A server repeats the end that could not be stored yet.
    guard !ending.contains(prompt.id) else { return }
    writer.waiting.change.news.append(
      .ended(
        SessionEnding(
          key: prompt.id, conversation: prompt.conversation, text: prompt.text, outcome: outcome,
          reason: reason, message: message)))
    ending.insert(prompt.id)
    talk?.forget(.prompt(prompt.id))
    endUpload(of: prompt.id)
    unwatch(prompt.id)
  }

  /// The store has taken ends of prompts: those among its news hold.
  mutating func settle(_ asked: [SessionNews], _ news: [NumberedSessionNews]) {
    for case .ended(let ending) in news.map(\.news) {
      if evidence[ending.conversation]?.key == ending.key {
        evidence[ending.conversation]?.finish(by: ending.message)
      }
      guard ending.outcome.isKept else {
        forgetPrompt(ending.key)
        continue
      }
      _ = queue.fail(ending.key, ending.reason ?? ending.outcome.rawValue)
      talk?.sent.remove(ending.key)
      forgetOldFailures()
    }
    for case .ended(let ending) in asked { self.ending.remove(ending.key) }
  }

  private mutating func forgetOldFailures() {
    let failed = queue.items.filter { if case .failed = $0.state { true } else { false } }
    guard failed.count > SessionSettings.failedLimit, let oldest = failed.first else { return }
    forgetPrompt(oldest.id)
    writer.forget(oldest.id)
  }

  /// Takes a refusal of a prompt: later once more, or its end.
  mutating func refused(_ prompt: StoredPrompt, _ error: SessionError, _ step: inout Step) {
    guard prompt.waiting != nil, !ending.contains(prompt.id) else { return }
    talk?.forget(.prompt(prompt.id))
    talk?.sent.remove(prompt.id)
    endUpload(of: prompt.id)
    if error.isTransient,
      let later = queue.retryLater(
        prompt.id, isUnsure: prompt.isAccepted, wish: nil, at: step.now,
        schedule: SessionSettings.retries, chance: &chance), later.waiting != nil
    {
      writer.put(later)
      return show(later, .queued, because: error.message, &step)
    }
    if !prompt.isAccepted { writer.waiting.change.rolledBack.append(prompt.id) }
    end(prompt, .failed, error.message)
  }

  /// A prompt had no answer in time.
  mutating func expire(_ key: UUID128, _ step: inout Step) {
    guard let prompt = queue[key], let talk else { return }
    if ending.contains(key) || leaving == key {
      // The store has still to answer.
      queue.extend(key, until: step.now.advanced(by: SessionSettings.ackTimeout))
    } else if talk.isIdempotent {
      // Under its key it is a question: the server says where it stands.
      self.talk?.sent.remove(key)
      queue.release(key)
    } else {
      giveUp(prompt, &step)
    }
  }
}

extension StoredPrompt {
  /// The prompt if it still waits for an answer.
  var waiting: StoredPrompt? { if case .queued = state { self } else { nil } }
}

extension SessionError {
  /// Whether the same prompt may succeed later.
  var isTransient: Bool {
    code == "busy" || code == "rate_limited" || code == "store_failed" || code == "draining"
  }
}
