import HoldfastCore
import HoldfastSessionData

// Prompts, from the user to the server's response.
extension SessionModel {
  /// Adds a prompt to the outbox. A key that is in use names an earlier prompt and is ignored.
  mutating func prompt(
    _ text: String, in conversation: String, key: UUID128, _ step: inout Step
  ) {
    guard outbox[key] == nil else { return }
    let draft = outbox.draft(text, in: conversation, key: key, createdAt: wall(at: step.now))
    if let reason = refusal(of: draft) {
      // The prompt is not stored, since the app still has the text. The app receives the reason.
      return step.show(.prompt(SessionPromptState(draft, .failed, reason), news: nil))
    }
    commits.waiting.put(draft)
    commits.waiting.prompts.append(draft.id)
    if conversations[conversation] == nil { keep(KnownConversation(id: conversation)) }
  }

  /// Adds a draft to the outbox. Returns the reason if the draft is refused.
  private mutating func refusal(of draft: StoredPrompt) -> String? {
    guard client != nil, !isStopping else { return "the session is closed" }
    guard !draft.text.isEmpty else { return "the prompt is empty" }
    guard draft.text.utf8.count <= SessionSettings.longestPrompt else {
      return "a prompt has at most \(SessionSettings.longestPrompt) bytes"
    }
    guard Self.fits(draft) else {
      return "a prompt has at most \(SessionSettings.longestMessage) bytes as JSON"
    }
    return outbox.add(draft) ? nil : "too many prompts wait for an answer"
  }

  private static func fits(_ prompt: StoredPrompt) -> Bool {
    // Only a very long text requires its message to be measured.
    guard prompt.text.utf8.count * 6 > SessionSettings.longestMessage / 2 else { return true }
    return message(of: prompt, isNew: false).bytes.count <= SessionSettings.longestMessage
  }

  private static func message(of prompt: StoredPrompt, isNew: Bool) -> SessionClientMessage {
    .prompt(
      SessionPrompt(
        text: prompt.text, conversation: prompt.conversation, isNew: isNew,
        idempotencyKey: prompt.id.description, number: prompt.number))
  }

  /// Resends a failed prompt under a new key, since the old prompt has ended.
  mutating func retry(_ key: UUID128, as new: UUID128, _ step: inout Step) {
    // While the session stops, the prompt keeps its state, since a new prompt would be refused.
    guard let old = outbox[key], old.waiting == nil, !isStopping, !outbox.isEnding(key),
      outbox[new] == nil
    else { return }
    discard(key)
    prompt(old.text, in: old.conversation, key: new, &step)
  }

  mutating func discard(_ key: UUID128) {
    guard let prompt = outbox[key], prompt.waiting == nil, !outbox.isEnding(key) else { return }
    remove(key)
    commits.waiting.forget(key)
  }

  private mutating func remove(_ key: UUID128) {
    outbox.remove(key)
    connection?.forgetSent(key)
    connection?.endUpload(of: key)
  }

  // MARK: Sending

  mutating func sendPrompts(_ step: inout Step) {
    while outbox.queue.hasUntried, let connection, connection.mayUpload,
      !connection.isDraining, !isStopping, outbox.marked == nil
    {
      let timeout =
        connection.isIdempotent ? SessionSettings.ackTimeout : settings.answerTimeout
      guard let prompt = outbox.next(on: connection, at: step.now, timeout: timeout) else {
        return
      }
      if connection.isIdempotent {
        send(prompt, connection.attempt, &step)
      } else {
        offer(prompt, connection.attempt, &step)
      }
    }
  }

  private mutating func send(
    _ prompt: StoredPrompt, _ attempt: AttemptID, _ step: inout Step
  ) {
    let message = Self.message(of: prompt, isNew: conversations.isOpened(by: prompt))
    if connection?.isIdempotent == true { waitForUpload(of: prompt, step) }
    connection?.send(prompt.id, bytes: prompt.text.utf8.count, at: step.now)
    step.effects.append(.send(attempt, message))
    if !prompt.isAccepted { show(prompt, .sent, &step) }
  }

  /// Extends the time-out of a prompt on a slow connection, where a second copy would only delay
  /// the first one.
  private mutating func waitForUpload(of prompt: StoredPrompt, _ step: Step) {
    let time = Duration.seconds(prompt.text.utf8.count / SessionSettings.slowestRate)
    let until = min(SessionSettings.ackTimeout + time, SessionSettings.turnLimit)
    outbox.extend(prompt.id, until: step.now.advanced(by: until))
  }

  // MARK: Answers of the server

  /// Handles an ack. It is identified by its key or, without a key, by the only message that
  /// expects one.
  mutating func acknowledged(_ key: String?, _ step: inout Step) {
    guard let key else { return acknowledged(&step) }
    guard let id = UUID128(key) else { return }
    connection?.forget(.prompt(id))
    accept(id, &step)
  }

  /// Records that the server has a prompt. If the server has no keys, this is stored at once.
  private mutating func accept(_ key: UUID128, _ step: inout Step) {
    connection?.endUpload(of: key)
    outbox.unwatch(key)
    guard var prompt = outbox[key]?.waiting else { return }
    let isIdempotent = connection?.isIdempotent == true
    let wait = isIdempotent ? SessionSettings.turnLimit : settings.answerTimeout
    outbox.extend(key, until: step.now.advanced(by: wait))
    if let opened = conversations.opened(by: prompt) { keep(opened) }
    guard !prompt.isAccepted else { return }
    prompt.isAccepted = true
    outbox.replace(prompt)
    // A server without keys would run a resent prompt twice.
    if isIdempotent { commits.waiting.putLater(prompt) } else { commits.waiting.put(prompt) }
    evidence.accept(key, in: prompt.conversation)
    show(prompt, .accepted, &step)
  }

  mutating func answered(_ response: SessionResponse, _ step: inout Step) {
    guard connection?.isIdempotent == true || response.idempotencyKey != nil else {
      return answeredWithoutKey(response, &step)
    }
    let prompt = response.idempotencyKey.flatMap { UUID128($0) }.flatMap { outbox[$0]?.waiting }
    if let prompt { accept(prompt.id, &step) }
    keep(id: response.id, number: response.number)
    let whole = connection?.pieces.take(response.parts, of: response.idempotencyKey)
    switch response.result {
    case .success(let shown):
      let conversation = prompt?.conversation ?? response.conversation ?? conversation
      let answer = (response.id ?? prompt.map(Self.answerID)).map {
        entry(whole ?? shown, as: $0, in: conversation, step)
      }
      if let answer { add(answer) }
      if let prompt { end(prompt, .answered, nil, answer: answer) }
    case .failure(let error):
      // A server with keys uses exactly this text. For other failures, it reports the output of its
      // program.
      if let prompt { end(prompt, error == "interrupted" ? .interrupted : .failed, error) }
    }
  }

  /// Returns the message of a response.
  private func entry(
    _ text: String, as id: String, in conversation: String, _ step: Step
  ) -> SessionEntry {
    SessionEntry(
      id: id, role: .assistant, text: text, conversation: conversation,
      timestamp: wall(at: step.now))
  }

  /// Returns the ID of the answer to a prompt from a server that does not name its messages.
  private static func answerID(of prompt: StoredPrompt) -> String { "response-\(prompt.id)" }

  private mutating func add(_ answer: SessionEntry) {
    commits.waiting.change.news.append(.message(answer, via: .live))
  }

  /// Stores the end of a prompt. Afterwards, the end is shown and the conversation's next prompt is
  /// sent.
  ///
  /// - Parameters:
  ///   - message: The ID of the message that ends the prompt without a key. The store detects
  ///     whether this message has already ended another prompt.
  ///   - answer: The answer, which is shown with the end.
  private mutating func end(
    _ prompt: StoredPrompt, _ outcome: SessionEnding.Outcome, _ reason: String?,
    by message: String? = nil, answer: SessionEntry? = nil
  ) {
    // The server repeats an end that could not be stored.
    guard outbox.end(prompt.id) else { return }
    answers[prompt.id] = answer
    commits.waiting.change.news.append(
      .ended(
        SessionEnding(
          key: prompt.id, conversation: prompt.conversation, text: prompt.text, outcome: outcome,
          reason: reason, message: message)))
    connection?.forget(.prompt(prompt.id))
    connection?.endUpload(of: prompt.id)
    outbox.unwatch(prompt.id)
  }

  /// Applies the ends of prompts that were passed to the store. Those in `news` were stored.
  mutating func applyEnds(_ requested: [SessionNews], _ news: [NumberedSessionNews]) {
    for case .ended(let ending) in news.map(\.news) {
      evidence.finish(ending)
      guard ending.outcome.isRetained else {
        remove(ending.key)
        continue
      }
      outbox.fail(ending.key, ending.reason ?? ending.outcome.rawValue)
      connection?.forgetSent(ending.key)
      if let oldest = outbox.excessFailure {
        remove(oldest.id)
        commits.waiting.forget(oldest.id)
      }
    }
    for case .ended(let ending) in requested { outbox.ended(ending.key) }
  }

  /// Handles a refused prompt, which is either retried later or marked as failed.
  mutating func refused(_ prompt: StoredPrompt, _ error: SessionError, _ step: inout Step) {
    guard prompt.waiting != nil, !outbox.isEnding(prompt.id) else { return }
    connection?.forget(.prompt(prompt.id))
    connection?.forgetSent(prompt.id)
    connection?.endUpload(of: prompt.id)
    if error.isTransient, let later = outbox.retryLater(prompt, at: step.now) {
      commits.waiting.put(later)
      return show(later, .queued, because: error.message, &step)
    }
    if !prompt.isAccepted { commits.waiting.change.rolledBack.append(prompt.id) }
    end(prompt, .failed, error.message)
  }

  /// Handles a prompt that had no response in time.
  mutating func expire(_ key: UUID128, _ step: inout Step) {
    guard let prompt = outbox[key], let connection else { return }
    if outbox.isEnding(key) || outbox.marked == key {
      // The store has not responded yet.
      outbox.extend(key, until: step.now.advanced(by: SessionSettings.ackTimeout))
    } else if connection.isIdempotent {
      // With its key, the prompt can be resent to query its state.
      self.connection?.forgetSent(key)
      outbox.release(key)
    } else {
      giveUp(prompt, &step)
    }
  }
}

// MARK: - Servers without keys

// Messages of a server without keys serve as evidence, which `PromptEvidence` attributes to
// prompts.
extension SessionModel {
  /// Changes the evidence of a conversation, after making its first open prompt the current one.
  private mutating func withEvidence<Value>(
    _ conversation: String, _ step: Step, _ body: (inout PromptEvidence) -> Value
  ) -> Value {
    let (outbox, sent) = (outbox, connection?.sent)
    let (known, timeout) = (conversations[conversation], settings.answerTimeout)
    return evidence.change(conversation) {
      PromptEvidence(known, timeout: timeout, at: step.now)
    } _: { one in
      if let key = one.key, outbox[key]?.waiting == nil { one.finish(by: nil) }
      if one.key == nil, let open = Self.open(in: conversation, of: outbox) {
        one.begin(open, isHere: sent?.contains(open.id) == true, at: step.now)
      }
      return body(&one)
    }
  }

  /// Returns the prompt of a conversation that the server may have.
  private static func open(
    in conversation: String, of outbox: SessionOutbox
  ) -> StoredPrompt? {
    outbox.items.first {
      $0.conversation == conversation && $0.waiting != nil && ($0.floor != nil || $0.isAccepted)
    }
  }

  // MARK: Sending

  /// Sends the next prompt, unless the server may already have it.
  ///
  /// The lowest position that its message can have in the history is stored first, since only a
  /// prompt that was sent can be in the history.
  private mutating func offer(
    _ prompt: StoredPrompt, _ attempt: AttemptID, _ step: inout Step
  ) {
    if prompt.isAccepted || prompt.floor != nil && mayBeThere(prompt, step) {
      return wait(for: prompt, step)
    }
    guard prompt.floor == nil else { return sendPlain(prompt, attempt, &step) }
    var marked = prompt
    marked.floor = conversations.nextPosition(
      of: prompt.conversation, connection?.version ?? .oldest)
    outbox.mark(marked)
    commits.waiting.put(marked)
  }

  /// Sends the marked prompt if its mark was stored and the prompt may still be sent.
  mutating func sendMarked(_ stored: [StoredPrompt], _ step: inout Step) {
    guard let key = outbox.takeMarked(of: stored), let connection,
      let prompt = outbox[key]?.waiting, outbox.isSending(key)
    else { return }
    guard !connection.isDraining, !isStopping else { return outbox.release(key) }
    sendPlain(prompt, connection.attempt, &step)
  }

  private mutating func sendPlain(
    _ prompt: StoredPrompt, _ attempt: AttemptID, _ step: inout Step
  ) {
    send(prompt, attempt, &step)
    withEvidence(prompt.conversation, step) { $0.begin(prompt, isHere: true, at: step.now) }
  }

  private mutating func mayBeThere(_ prompt: StoredPrompt, _ step: Step) -> Bool {
    withEvidence(prompt.conversation, step) { $0.key == prompt.id && $0.mayBeThere }
  }

  private mutating func wait(for prompt: StoredPrompt, _ step: Step) {
    let timeLimit = withEvidence(prompt.conversation, step) { $0.timeLimit }
    outbox.extend(prompt.id, until: step.now.advanced(by: timeLimit))
  }

  // MARK: Answers of the server

  /// Handles an ack without a key.
  private mutating func acknowledged(_ step: inout Step) {
    guard let ack = connection?.takeAck() else { return }
    for key in ack.prompts {
      if ack.isSure { accept(key, &step) } else { assumeAccepted(key) }
    }
  }

  /// Marks a prompt as accepted because the server may have acknowledged it. It is then not resent.
  private mutating func assumeAccepted(_ key: UUID128) {
    guard var prompt = outbox[key]?.waiting, !prompt.isAccepted else { return }
    prompt.isAccepted = true
    outbox.replace(prompt)
    commits.waiting.put(prompt)
    evidence.accept(key, in: prompt.conversation)
  }

  private mutating func answeredWithoutKey(
    _ response: SessionResponse, _ step: inout Step
  ) {
    let end = TurnEnd(id: response.id, number: response.number, result: response.result)
    guard let conversation = response.conversation ?? onlyConversation else {
      // Failures from the original server name no conversation, so any current prompt may have
      // failed.
      if let id = end.id, let text = end.text {
        add(entry(text, as: id, in: conversation, step))
      }
      keep(id: response.id, number: response.number)
      for prompt in outbox.items where outbox.isSending(prompt.id) { doubt(prompt, step) }
      return
    }
    if let id = end.id, let text = end.text, isUnshown(end, text, in: conversation, step) {
      add(entry(text, as: id, in: conversation, step))
    }
    take(end, in: conversation, &step)
  }

  /// Returns whether an answer has not been shown yet, and records it as shown.
  private mutating func isUnshown(
    _ end: TurnEnd, _ text: String, in conversation: String, _ step: Step
  ) -> Bool {
    withEvidence(conversation, step) { evidence in
      guard !evidence.hasEnded(by: end.id), !evidence.hasShown(text, as: end.id) else {
        return false
      }
      evidence.note(text, as: end.id)
      return true
    }
  }

  /// The conversation of the only prompt that is being sent; `nil` if there is not exactly one.
  private var onlyConversation: String? {
    let all = outbox.items.filter { outbox.isSending($0.id) }
    return all.count == 1 ? all[0].conversation : nil
  }

  /// Handles a message that the server replays because it was not acknowledged.
  mutating func replayed(
    _ id: String, _ entry: SessionEntry, _ number: UInt64?, _ step: inout Step
  ) {
    guard connection?.isIdempotent == false, entry.role == .assistant else {
      keep(id: id, number: number)
      return commits.waiting.change.news.append(.message(entry, via: .replay))
    }
    let end = TurnEnd(
      id: id, number: number, result: .success(text: entry.text), isReplay: true)
    if isUnshown(end, entry.text, in: entry.conversation, step) {
      commits.waiting.change.news.append(.message(entry, via: .replay))
    }
    take(end, in: entry.conversation, &step)
  }

  private mutating func take(_ end: TurnEnd, in conversation: String, _ step: inout Step) {
    let isCurrent = isCurrent(conversation)
    let ends = withEvidence(conversation, step) { $0.take(end, isCurrent: isCurrent) }
    attribute(ends, in: conversation, step)
    touch(conversation, step)
  }

  private func isCurrent(_ conversation: String) -> Bool {
    connection?.subscriptions.isCurrent(conversation) == true
  }

  /// Handles the end of a turn for which the server names no message.
  mutating func completed(_ conversation: String, _ step: inout Step) {
    guard connection?.isIdempotent == false else { return }
    let isCurrent = isCurrent(conversation)
    guard let end = withEvidence(conversation, step, { $0.complete(isCurrent: isCurrent) }) else {
      return
    }
    attribute([end], in: conversation, step)
  }

  /// Applies the ends of turns whose prompts are known. Only these ends are acknowledged, so the
  /// server repeats an end until it is stored.
  private mutating func attribute(
    _ ends: [AttributedEnd], in conversation: String, _ step: Step
  ) {
    for one in ends {
      keep(id: one.end.id, number: one.end.number)
      guard let prompt = one.key.flatMap({ outbox[$0]?.waiting }) else {
        if let id = one.end.id { commits.waiting.change.ends.append(id) }
        continue
      }
      let answer = one.end.text.map {
        entry($0, as: one.end.id ?? Self.answerID(of: prompt), in: conversation, step)
      }
      if one.end.id == nil, let answer, isUnshown(one.end, answer.text, in: conversation, step) {
        add(answer)
      }
      let (outcome, reason) = one.end.outcome
      endPlain(
        prompt, one.isUnsure ? .unsure : outcome, one.isUnsure ? Self.unsureReason : reason,
        by: one.end.id, answer: one.isUnsure ? nil : answer, step)
    }
  }

  private mutating func endPlain(
    _ prompt: StoredPrompt, _ outcome: SessionEnding.Outcome, _ reason: String?, by id: String?,
    answer: SessionEntry? = nil, _ step: Step
  ) {
    let (last, open) = withEvidence(prompt.conversation, step) {
      ($0.lastEnd(by: id), $0.openTurns)
    }
    end(prompt, outcome, reason, by: id, answer: answer)
    guard var known = conversations[prompt.conversation] else { return }
    known.openedBy = known.openedBy ?? prompt.id
    (known.lastEnd, known.openTurns) = (last, open)
    if known != conversations[prompt.conversation] { keep(known) }
  }

  /// Ends a prompt with an unknown outcome. The user is informed, and the prompt is not resent.
  private mutating func giveUp(_ prompt: StoredPrompt, _ step: inout Step) {
    let waiting = withEvidence(prompt.conversation, step) { $0.giveUp(at: step.now) }
    for end in waiting {
      keep(id: end.id, number: end.number)
      if let id = end.id { commits.waiting.change.ends.append(id) }
    }
    endPlain(prompt, .unsure, Self.unsureReason, by: nil, step)
    outbox.extend(prompt.id, until: step.now.advanced(by: SessionSettings.ackTimeout))
  }

  /// Handles a refusal that names no prompt. Returns false if it does not refuse a prompt.
  mutating func refusedWithoutKey(_ error: SessionError, _ step: inout Step) -> Bool {
    guard let connection,
      error.conversation.map({ !connection.subscriptions.isPending($0) }) ?? true
    else { return false }
    let candidates = outbox.items.filter { prompt in
      connection.sent.contains(prompt.id) && prompt.waiting != nil
        && error.conversation.map { $0 == prompt.conversation } ?? !prompt.isAccepted
    }
    guard candidates.count == 1, let prompt = candidates.first else {
      for prompt in candidates { doubt(prompt, step) }
      return false
    }
    // A refusal without a conversation may concern a message of another kind.
    let isProof = error.conversation != nil || connection.awaitsOnly(prompt.id)
    let isNew = withEvidence(prompt.conversation, step) { $0.refuse(error.message) }
    guard isProof, isNew || error.isTransient else {
      doubt(prompt, step)
      return false
    }
    refused(prompt, error, &step)
    return true
  }

  static let unsureReason =
    "the server may have it and does not say what became of it; read the conversation, and send it "
    + "again if it was not answered"

  /// Records inconclusive evidence that a prompt ended.
  private mutating func doubt(_ prompt: StoredPrompt, _ step: Step) {
    withEvidence(prompt.conversation, step) { if $0.key == prompt.id { $0.doubt() } }
    touch(prompt.conversation, step)
  }

  /// Adapts the time-out of a conversation's prompt to the evidence.
  mutating func touch(_ conversation: String, _ step: Step) {
    let (key, timeLimit) = withEvidence(conversation, step) { ($0.key, $0.timeLimit) }
    if let key { outbox.extend(key, until: step.now.advanced(by: timeLimit)) }
  }

  // MARK: The history

  /// Records a message of the history. Returns whether it is new to the user.
  mutating func isNews(_ entry: SessionEntry, isNew: Bool, _ step: Step) -> Bool {
    withEvidence(entry.conversation, step) {
      isNew ? !$0.take(entry, at: step.now) : !$0.isRepetition(entry)
    }
  }

  /// Records that messages of a conversation are missing.
  mutating func skip(_ conversation: String, isReset: Bool, _ step: Step) {
    withEvidence(conversation, step) { $0.skip(isReset: isReset) }
  }

  /// Applies the conclusions from the history received so far.
  mutating func conclude(_ conversation: String, _ step: inout Step) {
    guard let connection, !connection.isIdempotent else { return }
    let isCurrent = isCurrent(conversation)
    let ends = withEvidence(conversation, step) { $0.attributeWaiting(isCurrent: isCurrent) }
    attribute(ends, in: conversation, step)
    guard let shown = evidence[conversation]?.summary else { return }
    let isEnding = shown.key.map(outbox.isEnding) ?? false
    if var known = conversations[conversation] {
      known.openTurns = shown.openTurns
      if !isEnding { known.lastEnd = shown.lastEnd }
      if known != conversations[conversation] { keep(known) }
    }
    guard !isEnding, let prompt = shown.key.flatMap({ outbox[$0]?.waiting }) else { return }
    if shown.isSeen { markSeen(prompt, before: shown.floor, &step) }
    // The history does not contain the prompt.
    let isAbsent = isCurrent && !shown.mayBeThere && outbox[prompt.id]?.isAccepted == false
    if isAbsent, !connection.sent.contains(prompt.id), outbox.marked != prompt.id {
      outbox.release(prompt.id)
    }
  }

  /// Records that the history contains a prompt.
  private mutating func markSeen(
    _ prompt: StoredPrompt, before position: UInt64?, _ step: inout Step
  ) {
    if !prompt.isSeen || prompt.floor != position {
      var seen = prompt
      (seen.isSeen, seen.floor) = (true, position ?? prompt.floor)
      outbox.replace(seen)
      commits.waiting.put(seen)
    }
    accept(prompt.id, &step)
  }
}

extension SessionError {
  /// Whether the same prompt may succeed later.
  fileprivate var isTransient: Bool {
    code == "busy" || code == "rate_limited" || code == "store_failed" || code == "draining"
  }
}
