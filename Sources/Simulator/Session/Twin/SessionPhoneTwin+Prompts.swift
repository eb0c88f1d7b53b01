import LinkCore
import LinkWire
import Session

// Prompts of a phone's twin, from the user's word to the server's answer.
extension SessionPhoneTwin {
  mutating func prompt(_ text: String, _ conversation: String) {
    let prompt = KeptPrompt(
      id: .random(using: &chance), conversation: conversation, text: text,
      number: lastNumber + 1, createdAt: wall)
    if let reason = objection(to: prompt) {
      return show(.prompt(state(prompt, .failed, reason), news: nil))
    }
    lastNumber += 1
    paper.put(prompt)
    paper.waiting.prompts.append(prompt.id)
    if places[conversation] == nil { keep(KnownConversation(id: conversation)) }
  }

  private mutating func objection(to prompt: KeptPrompt) -> String? {
    if client == nil || stopsAt != nil { return "the session is closed" }
    if prompt.text == "" { return "the prompt is empty" }
    if prompt.text.utf8.count > 524_288 { return "a prompt has at most 524288 bytes" }
    let message = SessionPrompt(
      text: prompt.text, conversation: prompt.conversation, isNew: false,
      idempotencyKey: prompt.id.description, number: prompt.number)
    // Six times its bytes are the most that it takes; short ones are not measured.
    if prompt.text.utf8.count > 80_000, SessionClientMessage.prompt(message).bytes.count > 983_040 {
      return "a prompt has at most 983040 bytes as JSON"
    }
    return outbox.add(prompt) ? nil : "too many prompts wait for an answer"
  }

  private func state(
    _ prompt: KeptPrompt, _ state: SessionPromptState.State, _ reason: String? = nil
  ) -> SessionPromptState {
    SessionPromptState(
      key: prompt.id, conversation: prompt.conversation, text: prompt.text, state: state,
      reason: reason)
  }

  /// Tells the user how a prompt stands, unless that is known.
  mutating func tell(
    _ prompt: KeptPrompt, _ state: SessionPromptState.State, _ reason: String? = nil
  ) {
    let isKnown = outbox.told[prompt.id] == state
    outbox.told[prompt.id] = state
    if isKnown, reason == nil { return }
    show(.prompt(self.state(prompt, state, reason), news: nil))
  }

  mutating func retry(_ key: UUID128) {
    guard let old = outbox[key], old.isFailed else { return }
    if old.isRefused {
      if stopsAt != nil { return }
      discard(key)
      return prompt(old.text, old.conversation)
    }
    guard let again = outbox.revive(key) else { return }
    paper.put(again)
    tell(again, .queued)
    outbox.watch(again, at: now)
  }

  mutating func discard(_ key: UUID128) {
    guard outbox[key]?.isFailed == true else { return }
    forget(key)
    paper.forget(key)
  }

  mutating func forget(_ key: UUID128) {
    outbox.remove(key)
    line?.sent.remove(key)
    endUpload(key)
  }

  private mutating func endUpload(_ key: UUID128) {
    if line?.upload?.key == key { line?.upload = nil }
    if line?.large?.key == key { line?.large = nil }
  }

  // Time.

  mutating func passPrompts() {
    for key in outbox.takeStale(at: now) { show(.notice(.stale(key))) }
    guard isConnected, let line else { return }
    if let upload = line.upload, upload.until <= now { self.line?.upload = nil }
    for (conversation, until) in line.asking where until <= now {
      self.line?.asking[conversation] = nil
      self.line?.whole.insert(conversation)
      guard !line.knowsKeys, line.again.contains(conversation) else { continue }
      self.line?.holes.insert(conversation)
    }
    outbox.endPauses(at: now)
    while let key = outbox.late(at: now), let prompt = outbox[key] { giveUp(prompt) }
  }

  /// A prompt had no answer: with keys it is asked for again, else it has failed.
  private mutating func giveUp(_ prompt: KeptPrompt) {
    if line?.knowsKeys == true {
      line?.sent.remove(prompt.id)
      if line?.upload?.key == prompt.id { line?.upload = nil }
      return outbox.release(prompt.id)
    }
    end(prompt, .failed, "no answer within 300s")
    guard outbox[prompt.id] != nil else { return }
    // The server may not have it.
    outbox.change(prompt.id) { $0.isRefused = prompt.isAccepted }
    if let failed = outbox[prompt.id] { paper.put(failed) }
  }

  // Handing over.

  mutating func sendPrompts() {
    while let line, line.upload == nil, !line.isDraining, stopsAt == nil {
      let time = Duration.seconds(line.knowsKeys ? 30 : 300)
      guard let prompt = outbox.next(at: now, for: time, butNot: held(line)) else { return }
      // A plain server has it, and would run it twice.
      if !line.knowsKeys, prompt.isAccepted { continue }
      give(prompt, line)
    }
  }

  /// What a plain server may have, as long as its history is not there.
  private func held(_ line: Line) -> Set<UUID128> {
    guard !line.knowsKeys else { return [] }
    return outbox.unsure.filter { key in
      guard let prompt = outbox[key] else { return false }
      return !prompt.isAccepted && !line.whole.contains(prompt.conversation)
    }
  }

  private mutating func give(_ prompt: KeptPrompt, _ line: Line) {
    let opener = places[prompt.conversation]?.openedBy
    let bytes = prompt.text.utf8.count
    let upload = Duration.seconds(bytes / 16_384)
    let patience = min(upload + .seconds(10), .seconds(60))
    let deaf = line.wasDeaf ? Duration.zero : min(upload, .seconds(60))
    self.line?.upload = (prompt.id, now.advanced(by: patience), now.advanced(by: deaf))
    if deaf > .zero { self.line?.wasDeaf = true }
    if bytes >= 16_384, line.large?.key != prompt.id {
      self.line?.large = (prompt.id, now.advanced(by: .seconds(300)))
    }
    self.line?.sent.insert(prompt.id)
    self.line?.awaited.append(prompt.id)
    if line.knowsKeys {
      let slow = min(Duration.seconds(30 + bytes / 1_024), .seconds(300))
      outbox.wait(for: prompt.id, until: now.advanced(by: slow))
    } else {
      self.line?.written[prompt.conversation] = nil
      Self.note(prompt.text, of: prompt.id, in: prompt.conversation, &ownWords)
    }
    let message = SessionPrompt(
      text: prompt.text, conversation: prompt.conversation,
      isNew: opener == nil || opener == prompt.id, idempotencyKey: prompt.id.description,
      number: prompt.number)
    out.append(.send(line.attempt, .prompt(message)))
    if !prompt.isAccepted { tell(prompt, .sent) }
  }

  static func note(
    _ text: String, of key: UUID128, in conversation: String, _ words: inout [Words]
  ) {
    words.removeAll { $0.key == key && $0.name == nil }
    words = (words + [Words(key: key, conversation: conversation, text: text)]).suffix(1_000)
  }

  /// Finds the prompt whose words, or whose answer, an entry says again.
  static func take(_ entry: SessionEntry, from words: inout [Words]) -> UUID128? {
    let places = words.indices.filter { words[$0].conversation == entry.conversation }
    if let place = places.first(where: { words[$0].name == entry.id }) { return words[place].key }
    for place in places where words[place].name == nil && words[place].text == entry.text {
      words[place].name = entry.id
      return words[place].key
    }
    return nil
  }

  // The server's word.

  mutating func acknowledged(_ key: String?) {
    guard let line else { return }
    if let key {
      guard let id = UUID128(key) else { return }
      self.line?.awaited.removeAll { $0 == id }
      return accept(id)
    }
    guard let first = line.awaited.first else { return }
    self.line?.awaited.removeFirst()
    if let first { accept(first) }
  }

  mutating func accept(_ key: UUID128) {
    endUpload(key)
    outbox.unwatch(key)
    guard let prompt = outbox[key], !prompt.isFailed else { return }
    outbox.wait(for: key, until: now.advanced(by: .seconds(300)))
    guard !prompt.isAccepted else { return }
    outbox.change(key) { $0.isAccepted = true }
    guard let prompt = outbox[key] else { return }
    if line?.knowsKeys == true { paper.putAlong(prompt) } else { paper.put(prompt) }
    if var place = places[prompt.conversation], place.openedBy == nil {
      place.openedBy = key
      keep(place)
    }
    tell(prompt, .accepted)
  }

  mutating func answered(_ response: SessionResponse) {
    let prompt = asked(by: response)
    if let prompt { accept(prompt.id) }
    note(response.id, response.number)
    let whole = wholeText(response.parts, of: response.idempotencyKey)
    switch response.result {
    case .success(let text):
      let name = response.id ?? prompt.map { "response-\($0.id.description)" }
      if let name {
        let entry = SessionEntry(
          id: name, role: .assistant, text: whole ?? text,
          conversation: prompt?.conversation ?? response.conversation ?? home, timestamp: wall)
        if response.id != nil || isNew(entry, prompt) {
          paper.waiting.change.news.append(.message(entry, via: .live))
        }
      }
      if let prompt { end(prompt, .answered, nil) }
    case .failure(let error):
      guard let prompt else { return }
      let isCut = line?.knowsKeys == true ? error == "interrupted" : error.says("interrupted")
      end(prompt, isCut ? .interrupted : .failed, error)
    }
  }

  /// Whether a plain server's answer without an id was not in its history before.
  private mutating func isNew(_ entry: SessionEntry, _ prompt: KeptPrompt?) -> Bool {
    guard let prompt else { return true }
    if line?.written[entry.conversation] == entry.text {
      line?.written[entry.conversation] = nil
      return false
    }
    Self.note(entry.text, of: prompt.id, in: entry.conversation, &programWords)
    return true
  }

  private func asked(by response: SessionResponse) -> KeptPrompt? {
    if let key = response.idempotencyKey {
      guard let id = UUID128(key), let prompt = outbox[id], !prompt.isRefused else { return nil }
      return prompt
    }
    let busy = outbox.all.filter { outbox.isUnderWay($0.id) }
    if let conversation = response.conversation {
      return busy.first { $0.conversation == conversation }
    }
    return busy.count == 1 ? busy[0] : nil
  }

  mutating func end(_ prompt: KeptPrompt, _ outcome: SessionEnding.Outcome, _ reason: String?) {
    paper.waiting.change.news.append(
      .ended(
        SessionEnding(
          key: prompt.id, conversation: prompt.conversation, text: prompt.text, outcome: outcome,
          reason: reason)))
    guard outcome == .failed, outbox[prompt.id] != nil else {
      forget(prompt.id)
      return paper.forget(prompt.id)
    }
    outbox.fail(prompt.id, reason ?? "failed")
    outbox.change(prompt.id) { $0.isRefused = true }
    if let failed = outbox[prompt.id] { paper.put(failed) }
    line?.sent.remove(prompt.id)
    endUpload(prompt.id)
    outbox.unwatch(prompt.id)
    let failed = outbox.all.filter { $0.isFailed }
    if failed.count > 100 {
      forget(failed[0].id)
      paper.forget(failed[0].id)
    }
  }

  mutating func refuse(_ prompt: KeptPrompt, _ error: SessionError) {
    guard !prompt.isFailed else { return }
    line?.awaited.removeAll { $0 == prompt.id }
    line?.sent.remove(prompt.id)
    endUpload(prompt.id)
    let passes = ["busy", "rate_limited", "store_failed", "draining"].contains(error.code ?? "")
    if passes,
      outbox.postpone(prompt.id, isThere: prompt.isAccepted, at: now, &chance),
      let later = outbox[prompt.id]
    {
      paper.put(later)
      return tell(later, .queued, error.message)
    }
    if !prompt.isAccepted { paper.waiting.change.rolledBack.append(prompt.id) }
    end(prompt, .failed, error.message)
  }
}

extension String {
  /// Whether a word stands anywhere in the text.
  fileprivate func says(_ word: String) -> Bool {
    indices.contains { self[$0...].hasPrefix(word) }
  }
}
