import LinkCore
import LinkWire

// Prompts: from the user's word to the server's answer.
extension SessionModel {
  mutating func prompt(_ text: String, in conversation: String, _ step: inout Step) {
    lastPrompt += 1
    let prompt = KeptPrompt(
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
  private mutating func refusal(of prompt: KeptPrompt) -> String? {
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

  private static func fits(_ prompt: KeptPrompt) -> Bool {
    // Few are so long that they must be measured.
    guard prompt.text.utf8.count * 6 > SessionSettings.longestMessage / 2 else { return true }
    return message(of: prompt, isNew: false).bytes.count <= SessionSettings.longestMessage
  }

  private static func message(of prompt: KeptPrompt, isNew: Bool) -> SessionClientMessage {
    .prompt(
      SessionPrompt(
        text: prompt.text, conversation: prompt.conversation, isNew: isNew,
        idempotencyKey: prompt.id.description, number: prompt.number))
  }

  /// Begins to watch whether a prompt becomes stale.
  mutating func watch(_ prompt: KeptPrompt, at now: Instant) {
    guard case .queued = prompt.state, !prompt.isAccepted else { return }
    staleTimes.append(
      StaleTime(key: prompt.id, at: now.advanced(by: SessionSettings.staleAfter)))
  }

  /// Sends a failed prompt again; under a new key if the server answered the old one.
  mutating func retry(_ key: UUID128, _ step: inout Step) {
    guard let old = queue[key], case .failed = old.state else { return }
    if old.isRefused {
      // It stays as it is: a new one is taken no more.
      guard stopsAt == nil else { return }
      discard(key, &step)
      prompt(old.text, in: old.conversation, &step)
    } else if let again = queue.retry(key) {
      writer.put(again)
      show(again, .queued, &step)
      watch(again, at: step.now)
    }
  }

  mutating func discard(_ key: UUID128, _ step: inout Step) {
    guard let prompt = queue[key], case .failed = prompt.state else { return }
    forgetPrompt(key)
    writer.forget(key)
  }

  mutating func forgetPrompt(_ key: UUID128) {
    queue.remove(key)
    talk?.sent.remove(key)
    endUpload(of: key)
  }

  /// The server has a prompt, or it has ended: it can become stale no more.
  private mutating func unwatch(_ key: UUID128) { staleTimes.removeAll { $0.key == key } }

  private mutating func endUpload(of key: UUID128) {
    if talk?.upload?.key == key { talk?.upload = nil }
    if talk?.large?.key == key { talk?.large = nil }
  }

  /// Shows a prompt's state if it is another one than before.
  mutating func show(
    _ prompt: KeptPrompt, _ state: SessionPromptState.State, because reason: String? = nil,
    _ step: inout Step
  ) {
    guard states.updateValue(state, forKey: prompt.id) != state || reason != nil else { return }
    step.show(.prompt(SessionPromptState(prompt, state, reason), news: nil))
  }

  // MARK: Handing over

  mutating func sendPrompts(_ step: inout Step) {
    while let talk, talk.upload == nil, !talk.isDraining, stopsAt == nil {
      let held = held(by: talk)
      let next = queue.take(at: step.now, timeout: timeout(of: talk)) { !held.contains($0.id) }
      guard let prompt = next else { return }
      // A plain server would run it twice: its answer is waited for.
      if prompt.isAccepted, !talk.isIdempotent { continue }
      handOver(prompt, talk.attempt, &step)
    }
  }

  private func timeout(of talk: Talk) -> Duration {
    talk.isIdempotent ? SessionSettings.ackTimeout : SessionSettings.turnLimit
  }

  /// Gives a prompt that is under way on a slow line the time that it takes there: a second copy
  /// would only hold up the first.
  private mutating func waitForUpload(of prompt: KeptPrompt, _ step: Step) {
    let time = Duration.seconds(prompt.text.utf8.count / SessionSettings.slowestRate)
    let until = min(SessionSettings.ackTimeout + time, SessionSettings.turnLimit)
    queue.extend(prompt.id, until: step.now.advanced(by: until))
  }

  /// The prompts that may not be sent on this connection yet: a plain server, which may have them,
  /// is asked for the history first.
  private func held(by talk: Talk) -> Set<UUID128> {
    guard !talk.isIdempotent else { return [] }
    let unsure = queue.items.filter { prompt in
      queue.unsure.contains(prompt.id) && !prompt.isAccepted
        && !talk.current.contains(prompt.conversation)
    }
    return Set(unsure.map(\.id))
  }

  private mutating func handOver(
    _ prompt: KeptPrompt, _ attempt: AttemptID, _ step: inout Step
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
    talk?.awaited.append(.prompt(prompt.id))
    if talk?.isIdempotent == false {
      talk?.written[prompt.conversation] = nil
      mine.add(prompt.text, of: prompt.id, in: prompt.conversation)
    }
    step.effects.append(.send(attempt, message))
    if !prompt.isAccepted { show(prompt, .sent, &step) }
  }

  // MARK: The server's word

  /// Takes an ack: by its key, or in the order of what awaits one.
  mutating func acknowledged(_ key: String?, _ step: inout Step) {
    guard var current = talk else { return }
    let id: UUID128?
    if let key {
      id = UUID128(key)
      current.awaited.removeAll { $0 == id.map(Talk.Awaited.prompt) }
    } else {
      guard !current.awaited.isEmpty else { return }
      switch current.awaited.removeFirst() {
      case .size: id = nil
      case .prompt(let prompt): id = prompt
      }
    }
    talk = current
    if let id { accept(id, &step) }
  }

  /// Notes that the server has a prompt: durably before anything else if it knows no keys.
  mutating func accept(_ id: UUID128, _ step: inout Step) {
    endUpload(of: id)
    unwatch(id)
    guard var prompt = queue[id], case .queued = prompt.state else { return }
    queue.extend(id, until: step.now.advanced(by: SessionSettings.turnLimit))
    guard !prompt.isAccepted else { return }
    prompt.isAccepted = true
    queue.replace(prompt)
    // A plain server would run it twice.
    if talk?.isIdempotent == true { writer.putLater(prompt) } else { writer.put(prompt) }
    open(prompt)
    show(prompt, .accepted, &step)
  }

  /// The server knows the conversation of this prompt from now on.
  private mutating func open(_ prompt: KeptPrompt) {
    guard var known = conversations[prompt.conversation], known.openedBy == nil else { return }
    known.openedBy = prompt.id
    keep(known)
  }

  mutating func answered(_ response: SessionResponse, _ step: inout Step) {
    let prompt = prompt(of: response)
    if let prompt { accept(prompt.id, &step) }
    keep(id: response.id, number: response.number)
    let whole = talk?.pieces.take(response.parts, of: response.idempotencyKey)
    switch response.result {
    case .success(let shown):
      let text = whole ?? shown
      let conversation = prompt?.conversation ?? response.conversation ?? conversation
      if let id = response.id ?? prompt.map({ "response-\($0.id)" }) {
        add(
          SessionEntry(
            id: id, role: .assistant, text: text, conversation: conversation,
            timestamp: wall(at: step.now)),
          unnamed: response.id == nil ? prompt?.id : nil)
      }
      if let prompt { end(prompt, .answered, nil) }
    case .failure(let error):
      guard let prompt else { return }
      // The original says so in a sentence; ours quotes its program in other failures.
      let isInterrupted =
        talk?.isIdempotent == true ? error == "interrupted" : error.contains("interrupted")
      end(prompt, isInterrupted ? .interrupted : .failed, error)
    }
  }

  /// Adds the message of a response, unless a plain server showed it as history already.
  ///
  /// - Parameter key: the prompt, if the response has no id of its own.
  private mutating func add(_ entry: SessionEntry, unnamed key: UUID128?) {
    if let key {
      if talk?.written[entry.conversation] == entry.text { return }
      spoken.add(entry.text, of: key, in: entry.conversation)
    }
    writer.waiting.change.news.append(.message(entry, via: .live))
  }

  /// The prompt that a response ends: by its key, or the one of its conversation that is under way.
  private func prompt(of response: SessionResponse) -> KeptPrompt? {
    if let key = response.idempotencyKey {
      // Also one that was given up without an answer.
      return UUID128(key).flatMap { queue[$0] }.flatMap { $0.isRefused ? nil : $0 }
    }
    guard let conversation = response.conversation else {
      // The original's failures name no conversation: it can only be the one that is under way.
      let all = queue.items.filter { queue.sending($0.id) != nil }
      return all.count == 1 ? all.first : nil
    }
    return queue.items.first { $0.conversation == conversation && queue.sending($0.id) != nil }
  }

  /// Ends a prompt durably; it is shown once that is stored.
  mutating func end(
    _ prompt: KeptPrompt, _ outcome: SessionEnding.Outcome, _ reason: String?
  ) {
    writer.waiting.change.news.append(
      .ended(
        SessionEnding(
          key: prompt.id, conversation: prompt.conversation, text: prompt.text, outcome: outcome,
          reason: reason)))
    guard outcome == .failed, var failed = queue.fail(prompt.id, reason ?? "failed") else {
      forgetPrompt(prompt.id)
      return writer.forget(prompt.id)
    }
    failed.isRefused = true
    queue.replace(failed)
    writer.put(failed)
    talk?.sent.remove(prompt.id)
    endUpload(of: prompt.id)
    unwatch(prompt.id)
    forgetOldFailures()
  }

  private mutating func forgetOldFailures() {
    let failed = queue.items.filter { if case .failed = $0.state { true } else { false } }
    guard failed.count > SessionSettings.failedLimit, let oldest = failed.first else { return }
    forgetPrompt(oldest.id)
    writer.forget(oldest.id)
  }

  /// Takes a refusal of a prompt: later once more, or its end.
  mutating func refused(_ prompt: KeptPrompt, _ error: SessionError, _ step: inout Step) {
    guard prompt.waiting != nil else { return }
    talk?.awaited.removeAll { $0 == .prompt(prompt.id) }
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
    if talk.isIdempotent {
      // Under its key it is a question: the server says where it stands.
      self.talk?.sent.remove(key)
      queue.release(key)
    } else {
      end(prompt, .failed, "no answer within 300s")
      if var failed = queue[key] {
        // The server may not have it: the same words under the same key.
        failed.isRefused = prompt.isAccepted
        queue.replace(failed)
        writer.put(failed)
      }
    }
  }
}

extension KeptPrompt {
  /// The prompt if it still waits for an answer.
  var waiting: KeptPrompt? { if case .queued = state { self } else { nil } }
}

extension SessionError {
  /// Whether the same prompt may succeed later.
  fileprivate var isTransient: Bool {
    code == "busy" || code == "rate_limited" || code == "store_failed" || code == "draining"
  }
}
