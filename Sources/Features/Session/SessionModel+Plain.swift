import LinkCore
import LinkStorage
import LinkWire

// Prompts of a server that knows no keys: what it says is evidence, and whose it is, `PromptEvidence`
// decides.
extension SessionModel {
  /// Changes the evidence of a conversation, in which its first prompt without an end is under way.
  private mutating func weigh<Value>(
    _ conversation: String, _ step: Step, _ body: (inout PromptEvidence) -> Value
  ) -> Value {
    // It is taken out, so that it is changed in place.
    var one =
      evidence.removeValue(forKey: conversation)
      ?? PromptEvidence(
        conversations[conversation], timeout: settings.answerTimeout, at: step.now)
    if let key = one.key, queue[key]?.waiting == nil { one.finish(by: nil) }
    if one.key == nil, let open = open(in: conversation) {
      one.begin(open, isHere: talk?.sent.contains(open.id) == true, at: step.now)
    }
    let value = body(&one)
    if evidence.count >= SessionSettings.weighedLimit,
      let idle = evidence.filter({ $0.value.key == nil }).keys.min()
    {
      evidence[idle] = nil
    }
    evidence[conversation] = one
    return value
  }

  /// The prompt of a conversation that a plain server may have.
  private func open(in conversation: String) -> StoredPrompt? {
    queue.items.first {
      $0.conversation == conversation && $0.waiting != nil && ($0.floor != nil || $0.isAccepted)
    }
  }

  // MARK: Handing over

  /// A prompt whose turn it is: it goes, unless the server may have it.
  ///
  /// The store first learns behind which place of the history its message is: only a prompt that
  /// was handed over can be there.
  mutating func offer(_ prompt: StoredPrompt, _ attempt: AttemptID, _ step: inout Step) {
    if prompt.isAccepted || prompt.floor != nil && mayBeThere(prompt, step) {
      return wait(for: prompt, step)
    }
    guard prompt.floor == nil else { return handOverPlain(prompt, attempt, &step) }
    var marked = prompt
    marked.floor = nextPlace(of: prompt.conversation)
    queue.replace(marked)
    writer.put(marked)
    leaving = prompt.id
  }

  private func nextPlace(of conversation: String) -> UInt64 {
    guard let known = conversations[conversation], let talk else { return 0 }
    return talk.version < SessionVersion.newest ? known.sequence + 1 : known.offset
  }

  /// The store has prompts: the one that waited for that goes, if it still may.
  mutating func sendMarked(_ stored: [StoredPrompt], _ step: inout Step) {
    guard let key = leaving, stored.contains(where: { $0.id == key && $0.floor != nil }) else {
      return
    }
    leaving = nil
    guard let talk, let prompt = queue[key]?.waiting, queue.sending(key) != nil else { return }
    guard !talk.isDraining, stopsAt == nil else { return queue.release(key) }
    handOverPlain(prompt, talk.attempt, &step)
  }

  private mutating func handOverPlain(
    _ prompt: StoredPrompt, _ attempt: AttemptID, _ step: inout Step
  ) {
    handOver(prompt, attempt, &step)
    weigh(prompt.conversation, step) { $0.begin(prompt, isHere: true, at: step.now) }
  }

  private mutating func mayBeThere(_ prompt: StoredPrompt, _ step: Step) -> Bool {
    weigh(prompt.conversation, step) { $0.key == prompt.id && $0.mayBeThere }
  }

  private mutating func wait(for prompt: StoredPrompt, _ step: Step) {
    let patience = weigh(prompt.conversation, step) { $0.patience }
    queue.extend(prompt.id, until: step.now.advanced(by: patience))
  }

  // MARK: What the server says

  /// Takes an ack that does not say what it is for.
  mutating func acknowledged(_ step: inout Step) {
    guard var current = talk, !current.awaited.isEmpty else { return }
    // Those of prompts have their keys.
    if current.isIdempotent, current.awaited.contains(.size) {
      talk?.forget(.size)
      return
    }
    current.looseAcks += 1
    let isSure = current.looseAcks >= current.awaited.count
    let awaited = current.awaited
    if isSure { for one in awaited { current.forget(one) } }
    talk = current
    for case .prompt(let id) in awaited {
      if isSure { accept(id, &step) } else { suspect(id) }
    }
  }

  /// The server may have said that it has a prompt: it is not sent again.
  private mutating func suspect(_ id: UUID128) {
    guard var prompt = queue[id]?.waiting, !prompt.isAccepted else { return }
    prompt.isAccepted = true
    queue.replace(prompt)
    writer.put(prompt)
    evidence[prompt.conversation]?.accept(id)
  }

  mutating func answeredWithoutKey(_ response: SessionResponse, _ step: inout Step) {
    let end = TurnEnd(id: response.id, number: response.number, result: response.result)
    guard let conversation = response.conversation ?? onlyConversation else {
      // The original's failures name none: it may be that of any prompt under way.
      if let id = end.id, let text = end.text { add(text, as: id, in: conversation, &step) }
      keep(id: response.id, number: response.number)
      for prompt in queue.items where queue.sending(prompt.id) != nil { doubt(prompt, step) }
      return
    }
    if let id = end.id, let text = end.text, isUnshown(end, text, in: conversation, step) {
      add(text, as: id, in: conversation, &step)
    }
    take(end, in: conversation, &step)
  }

  /// Whether an answer was not shown yet, and notes that it is now.
  private mutating func isUnshown(
    _ end: TurnEnd, _ text: String, in conversation: String, _ step: Step
  ) -> Bool {
    weigh(conversation, step) { evidence in
      guard !evidence.hasEnded(by: end.id), !evidence.hasShown(text, as: end.id) else {
        return false
      }
      evidence.note(text, as: end.id)
      return true
    }
  }

  /// The conversation of the only prompt under way.
  private var onlyConversation: String? {
    let all = queue.items.filter { queue.sending($0.id) != nil }
    return all.count == 1 ? all[0].conversation : nil
  }

  /// Takes a message that was not acknowledged before.
  mutating func replayed(
    _ id: String, _ entry: SessionEntry, _ number: UInt64?, _ step: inout Step
  ) {
    guard talk?.isIdempotent == false, entry.role == .assistant else {
      keep(id: id, number: number)
      return writer.waiting.change.news.append(.message(entry, via: .replay))
    }
    let end = TurnEnd(
      id: id, number: number, result: .success(text: entry.text), isReplay: true)
    if isUnshown(end, entry.text, in: entry.conversation, step) {
      writer.waiting.change.news.append(.message(entry, via: .replay))
    }
    take(end, in: entry.conversation, &step)
  }

  private mutating func take(_ end: TurnEnd, in conversation: String, _ step: inout Step) {
    let isCurrent = talk?.isCurrent(conversation) == true
    let ends = weigh(conversation, step) { $0.take(end, isCurrent: isCurrent) }
    attribute(ends, in: conversation, &step)
    touch(conversation, step)
  }

  /// A turn is over: which, the server does not say.
  mutating func completed(_ conversation: String, _ step: inout Step) {
    guard talk?.isIdempotent == false else { return }
    let isCurrent = talk?.isCurrent(conversation) == true
    guard let end = weigh(conversation, step, { $0.complete(isCurrent: isCurrent) }) else { return }
    attribute([end], in: conversation, &step)
  }

  /// Carries out what is known of ends of turns. Only then are they acknowledged: until that is
  /// stored, the server repeats them.
  private mutating func attribute(
    _ ends: [AttributedEnd], in conversation: String, _ step: inout Step
  ) {
    for one in ends {
      keep(id: one.end.id, number: one.end.number)
      guard let prompt = one.key.flatMap({ queue[$0]?.waiting }) else {
        if let id = one.end.id { writer.waiting.change.ends.append(id) }
        continue
      }
      if one.end.id == nil, let text = one.end.text,
        isUnshown(one.end, text, in: conversation, step)
      {
        add(text, as: "response-\(prompt.id)", in: conversation, &step)
      }
      let (outcome, reason) = one.end.outcome
      endPlain(
        prompt, one.isUnsure ? .unsure : outcome, one.isUnsure ? Self.unsureReason : reason,
        by: one.end.id, step)
    }
  }

  private mutating func endPlain(
    _ prompt: StoredPrompt, _ outcome: SessionEnding.Outcome, _ reason: String?, by id: String?,
    _ step: Step
  ) {
    let (last, open) = weigh(prompt.conversation, step) { ($0.lastEnd(by: id), $0.openTurns) }
    end(prompt, outcome, reason, by: id)
    guard var known = conversations[prompt.conversation] else { return }
    known.openedBy = known.openedBy ?? prompt.id
    (known.lastEnd, known.openTurns) = (last, open)
    if known != conversations[prompt.conversation] { keep(known) }
  }

  /// What became of a prompt is not known: the user is told, and it is not sent again.
  mutating func giveUp(_ prompt: StoredPrompt, _ step: inout Step) {
    let waiting = weigh(prompt.conversation, step) { $0.giveUp(at: step.now) }
    for end in waiting {
      keep(id: end.id, number: end.number)
      if let id = end.id { writer.waiting.change.ends.append(id) }
    }
    endPlain(prompt, .unsure, Self.unsureReason, by: nil, step)
    queue.extend(prompt.id, until: step.now.advanced(by: SessionSettings.ackTimeout))
  }

  /// Takes a refusal that names no prompt; false if it refuses none.
  mutating func refusedWithoutKey(_ error: SessionError, _ step: inout Step) -> Bool {
    guard let talk, error.conversation.map({ talk.subscribing[$0] == nil }) ?? true else {
      return false
    }
    let under = queue.items.filter { prompt in
      talk.sent.contains(prompt.id) && prompt.waiting != nil
        && error.conversation.map { $0 == prompt.conversation } ?? !prompt.isAccepted
    }
    guard under.count == 1, let prompt = under.first else {
      for prompt in under { doubt(prompt, step) }
      return false
    }
    // Without a conversation it may be about a message of another kind.
    let isProof =
      error.conversation != nil
      || talk.awaited == [.prompt(prompt.id)] && talk.subscribing.isEmpty
        && !talk.hasAcknowledged
    let isNew = weigh(prompt.conversation, step) { $0.refuse(error.message) }
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

  /// Something may be the end of a prompt.
  mutating func doubt(_ prompt: StoredPrompt, _ step: Step) {
    weigh(prompt.conversation, step) { if $0.key == prompt.id { $0.doubt() } }
    touch(prompt.conversation, step)
  }

  /// A prompt is waited for from now on as long as what came tells.
  mutating func touch(_ conversation: String, _ step: Step) {
    let (key, patience) = weigh(conversation, step) { ($0.key, $0.patience) }
    if let key { queue.extend(key, until: step.now.advanced(by: patience)) }
  }

  // MARK: The history

  /// Takes a message of the history at a place that is new; returns whether it is news.
  mutating func isNews(_ entry: SessionEntry, isNew: Bool, _ step: Step) -> Bool {
    weigh(entry.conversation, step) {
      isNew ? !$0.take(entry, at: step.now) : !$0.isRepetition(entry)
    }
  }

  /// Messages of a conversation are missing.
  mutating func skip(_ conversation: String, isReset: Bool, _ step: Step) {
    weigh(conversation, step) { $0.skip(isReset: isReset) }
  }

  /// Follows from what the history has shown, or from that there is no more of it.
  mutating func conclude(_ conversation: String, _ step: inout Step) {
    guard let talk, !talk.isIdempotent else { return }
    let isCurrent = talk.isCurrent(conversation)
    let ends = weigh(conversation, step) { $0.settle(isCurrent: isCurrent) }
    attribute(ends, in: conversation, &step)
    guard let shown = evidence[conversation]?.summary else { return }
    let isEnding = shown.key.map(ending.contains) ?? false
    if var known = conversations[conversation] {
      known.openTurns = shown.openTurns
      if !isEnding { known.lastEnd = shown.lastEnd }
      if known != conversations[conversation] { keep(known) }
    }
    guard !isEnding, let prompt = shown.key.flatMap({ queue[$0]?.waiting }) else { return }
    if shown.isSeen { see(prompt, before: shown.floor, &step) }
    // What it waited for is not there.
    let isAbsent = isCurrent && !shown.mayBeThere && queue[prompt.id]?.isAccepted == false
    if isAbsent, !talk.sent.contains(prompt.id), leaving != prompt.id { queue.release(prompt.id) }
  }

  /// The history shows a prompt.
  private mutating func see(_ prompt: StoredPrompt, before place: UInt64?, _ step: inout Step) {
    if !prompt.isSeen || prompt.floor != place {
      var seen = prompt
      (seen.isSeen, seen.floor) = (true, place ?? prompt.floor)
      queue.replace(seen)
      writer.put(seen)
    }
    accept(prompt.id, &step)
  }
}
