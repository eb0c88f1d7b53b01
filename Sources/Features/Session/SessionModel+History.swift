import LinkCore
import LinkWire

// Conversations: what is asked for, and what their windows bring.
extension SessionModel {
  /// Asks for the conversations that are followed, behind what is stored.
  mutating func subscribe(_ step: inout Step) {
    guard var current = talk, current.upload == nil || !current.isIdempotent, !current.isDraining,
      current.subscribing.isEmpty
    else { return }
    let wanted = followed.filter { !current.subscribed.contains($0) || current.again.contains($0) }
    guard let first = wanted.first else { return }
    let isBatch = current.features.contains(.batch) && wanted.count > 1
    let asked = isBatch ? Array(wanted.prefix(SessionSettings.subscriptionsTogether)) : [first]
    for conversation in asked {
      current.subscribed.insert(conversation)
      current.again.remove(conversation)
      current.subscribing[conversation] = step.now.advanced(by: SessionSettings.subscribeTimeout)
    }
    talk = current
    let subscriptions = asked.map {
      SessionSubscription(conversation: $0, cursor: cursor(of: $0, current))
    }
    let message: SessionClientMessage =
      isBatch ? .subscribeBatch(subscriptions) : .subscribe(subscriptions[0])
    step.effects.append(.send(current.attempt, message))
  }

  /// The conversations of prompts and of the user that the server knows, or may know: a plain
  /// server is asked whether it has a prompt.
  private var followed: [String] {
    var all = [conversation]
    for prompt in queue.items where prompt.waiting != nil && !all.contains(prompt.conversation) {
      all.append(prompt.conversation)
    }
    let asked = talk?.isIdempotent == false ? queue.unsure : []
    return all.filter { one in
      conversations[one]?.openedBy != nil || one == named
        || queue.items.contains { $0.conversation == one && asked.contains($0.id) }
    }
  }

  /// Whether everything that the server had of the followed conversations is here, and all that
  /// came is stored and acknowledged.
  public var isCaughtUp: Bool {
    guard isConnected, let talk, writer.isDone else { return false }
    return talk.subscribing.isEmpty && talk.again.isEmpty
      && followed.allSatisfy(talk.subscribed.contains)
  }

  private func cursor(of conversation: String, _ talk: Talk) -> SessionCursor {
    let known = conversations[conversation] ?? KnownConversation(id: conversation)
    return talk.version < SessionVersion.newest
      ? .sequence(known.sequence) : .offset(known.offset, signature: known.signature)
  }

  /// Stores a window of a conversation and moves the cursor behind it, in one change.
  mutating func apply(_ window: SessionHistory, _ step: inout Step) {
    guard var known = conversations[window.conversation], talk != nil else { return }
    let before = known
    if isAhead(window, of: known) { return takeAhead(window) }
    talk?.subscribing[window.conversation] = nil
    var outcome = Reach.whole
    switch window.place {
    case .sequence(let first, let last, _):
      outcome = reach(window, first, last, &known)
    case .offset(let next, let signature, let isReplaced):
      outcome = reach(window, next, signature, isReplaced, &known)
    }
    if case .gap(let gap) = outcome {
      step.show(.gap(conversation: window.conversation, gap))
    }
    if case .gap = outcome { known.isOthersTurn = endsInOthersTurn(window) }
    let moves = known != before
    if moves { keep(known) }
    // A window that moves nothing would be asked for for ever.
    let isAskedAgain = isMore(window, outcome) && (moves || outcome == .hole)
    let isNew = moves && (outcome == .whole || outcome == .gap(.hole))
    if isNew || !isAskedAgain || talk?.isIdempotent == true {
      store(window, isNew: isNew, behind: before, &step)
    }
    if isAskedAgain {
      talk?.again.insert(window.conversation)
    } else {
      talk?.current.insert(window.conversation)
      if outcome == .whole { talk?.holes.remove(window.conversation) }
    }
  }

  /// Stores a live message that came before the answer to a subscription, which brings what lies
  /// between. A plain server is asked for it again: there the order tells what became of prompts.
  private mutating func takeAhead(_ window: SessionHistory) {
    guard talk?.isIdempotent == true else {
      talk?.again.insert(window.conversation)
      return
    }
    let via = via(window)
    writer.waiting.change.news += window.entries.map { .message($0, via: via) }
  }

  /// Whether a window of one message lies beyond what a subscription under way will bring.
  private func isAhead(_ window: SessionHistory, of known: KnownConversation) -> Bool {
    guard let talk, window.entries.count == 1, let first = window.entries.first?.place,
      talk.subscribing[window.conversation] != nil || talk.again.contains(window.conversation),
      talk.isIdempotent || !talk.holes.contains(window.conversation)
    else { return false }
    switch window.place {
    case .sequence: return first > known.sequence + 1
    case .offset: return first > known.offset
    }
  }

  /// What a window does to the cursor.
  enum Reach: Hashable {
    /// It follows what is stored.
    case whole
    /// Something before it is missing: it is asked for again from what is stored.
    case hole
    /// What is missing cannot be had; the cursor begins where there is something.
    case gap(SessionGap)
  }

  private mutating func reach(
    _ window: SessionHistory, _ first: UInt64?, _ last: UInt64?, _ known: inout KnownConversation
  ) -> Reach {
    if let gap = window.gap {
      known.sequence = max(gap.oldest, 1) - 1
      return .gap(gap.reason == .pruned ? .pruned : .clientAhead)
    }
    guard let first = first ?? window.entries.first?.place,
      let last = last ?? window.entries.last?.place
    else { return .whole }
    guard first > known.sequence + 1 else {
      known.sequence = max(known.sequence, last)
      return .whole
    }
    return skip(window) { known.sequence = last }
  }

  private mutating func reach(
    _ window: SessionHistory, _ next: UInt64, _ signature: String, _ isReplaced: Bool,
    _ known: inout KnownConversation
  ) -> Reach {
    if isReplaced || next < known.offset {
      let isEmpty = known.offset == 0
      (known.offset, known.signature) = (0, nil)
      return isEmpty ? .whole : .gap(isReplaced ? .replaced : .clientAhead)
    }
    if let first = window.entries.first?.place, first > known.offset {
      return skip(window) { (known.offset, known.signature) = (next, signature) }
    }
    (known.offset, known.signature) = (next, signature)
    return .whole
  }

  /// Asks for a hole once; a server that leaves it out again has nothing there.
  private mutating func skip(_ window: SessionHistory, _ move: () -> Void) -> Reach {
    guard talk?.holes.insert(window.conversation).inserted == false else { return .hole }
    move()
    return .gap(.hole)
  }

  /// Whether something is left to ask for behind a window.
  private func isMore(_ window: SessionHistory, _ outcome: Reach) -> Bool {
    !window.isComplete || outcome == .hole || window.gap != nil || isReset(outcome)
  }

  private func isReset(_ outcome: Reach) -> Bool {
    outcome == .gap(.replaced) || outcome == .gap(.clientAhead)
  }

  /// Stores entries. Those of a plain server can be a prompt of this client, or its answer.
  ///
  /// - Parameter isNew: Whether the cursor moves from before the window to behind it.
  private mutating func store(
    _ window: SessionHistory, isNew: Bool, behind known: KnownConversation, _ step: inout Step
  ) {
    let isPlain = talk?.isIdempotent == false
    for entry in window.entries {
      if isPlain, isNew {
        storePlain(entry, via(window), &step)
      } else if !isPlain || !isRepetition(entry, isStored: isBehind(entry, known, window)) {
        writer.waiting.change.news.append(.message(entry, via: via(window)))
      }
    }
  }

  /// Whether an entry is where the cursor has been.
  private func isBehind(
    _ entry: SessionEntry, _ known: KnownConversation, _ window: SessionHistory
  ) -> Bool {
    guard let place = entry.place else { return false }
    return switch window.place {
    case .sequence: place <= known.sequence
    case .offset: place < known.offset
    }
  }

  /// Whether an entry of a plain server repeats words that are known here; among those that were
  /// stored only the same message does.
  private mutating func isRepetition(_ entry: SessionEntry, isStored: Bool) -> Bool {
    switch entry.role {
    case .user: isStored ? mine.hasTaken(entry) : mine.take(entry) != nil
    case .assistant: isStored ? spoken.hasTaken(entry) : spoken.take(entry) != nil
    case .system: false
    }
  }

  /// A window of one message is the live one.
  private func via(_ window: SessionHistory) -> SessionVia {
    talk?.current.contains(window.conversation) == true && window.isComplete ? .live : .history
  }

  private mutating func storePlain(
    _ entry: SessionEntry, _ via: SessionVia, _ step: inout Step
  ) {
    let open = open(in: entry.conversation)
    switch entry.role {
    case .user:
      noteTurn(ofOthers: isOthers(entry), in: entry.conversation)
      // The user's own words, under an id of the server.
      let own = mine.take(entry)
      guard let open, own.map({ $0 == open.id }) ?? (open.text == entry.text) else {
        if own != nil { return }
        break
      }
      let isSent = talk?.sent.contains(open.id) == true
      if own != nil, isSent { talk?.repeated[open.id] = false }
      if queue.mayHaveArrived(open.id), !open.isAccepted { return accept(open.id, &step) }
      if own != nil || (open.isAccepted && !isSent) { return }
    case .assistant:
      if spoken.take(entry) != nil { return }
      if conversations[entry.conversation]?.isOthersTurn == true { break }
      talk?.written[entry.conversation] = entry.text
      if let open, talk?.repeated[open.id] == false { talk?.repeated[open.id] = true }
      if let open, open.isAccepted, talk?.sent.contains(open.id) == false {
        return writer.waiting.change.news.append(answer(entry, via, open))
      }
    case .system: break
    }
    writer.waiting.change.news.append(.message(entry, via: via))
  }

  /// The prompt of a conversation that waits for its answer.
  private func open(in conversation: String) -> KeptPrompt? {
    queue.items.first { $0.conversation == conversation && $0.waiting != nil }
  }

  /// Whether a prompt in the history of a plain server is another client's.
  private func isOthers(_ entry: SessionEntry) -> Bool {
    !mine.contains(entry) && open(in: entry.conversation)?.text != entry.text
  }

  private func endsInOthersTurn(_ window: SessionHistory) -> Bool {
    guard talk?.isIdempotent == false else { return false }
    return window.entries.last { $0.role == .user }.map(isOthers) ?? false
  }

  private mutating func noteTurn(ofOthers isOthersTurn: Bool, in conversation: String) {
    guard var known = conversations[conversation] else { return }
    known.isOthersTurn = isOthersTurn
    keep(known)
  }

  private func answer(
    _ entry: SessionEntry, _ via: SessionVia, _ prompt: KeptPrompt
  ) -> SessionNews {
    .answer(
      entry, via: via,
      SessionEnding(
        key: prompt.id, conversation: prompt.conversation, text: prompt.text, outcome: .answered))
  }

  /// Stores a message that was not acknowledged before. On a plain server it is the answer of the
  /// prompt that waits, if it is new.
  mutating func replayed(
    _ id: String, _ entry: SessionEntry, _ number: UInt64?, _ step: inout Step
  ) {
    keep(id: id, number: number)
    let open = open(in: entry.conversation)
    guard talk?.isIdempotent == false, entry.role == .assistant, let open,
      open.isAccepted || queue.mayHaveArrived(open.id), talk?.sent.contains(open.id) == false
    else {
      return writer.waiting.change.news.append(.message(entry, via: .replay))
    }
    // Until the answer is stored, nothing else keeps the prompt from being sent again.
    accept(open.id, &step)
    writer.waiting.change.news.append(answer(entry, .replay, open))
  }
}
