import LinkCore
import LinkStorage
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
    if case .gap = outcome, talk?.isIdempotent == false {
      skip(window.conversation, isReset: isReset(outcome), step)
    }
    let moves = known != before
    if moves { keep(known) }
    // A window that moves nothing would be asked for for ever.
    let isAskedAgain = isMore(window, outcome) && (moves || outcome == .hole)
    let isNew = moves && (outcome == .whole || outcome == .gap(.hole))
    if isNew || !isAskedAgain || talk?.isIdempotent == true {
      store(window, behind: before, step)
    }
    if isAskedAgain {
      talk?.again.insert(window.conversation)
    } else {
      talk?.current.insert(window.conversation)
      if outcome == .whole { talk?.holes.remove(window.conversation) }
    }
    conclude(window.conversation, &step)
    if talk?.isIdempotent == false, !window.entries.isEmpty { touch(window.conversation, step) }
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

  /// Stores entries, but for those of a plain server that repeat what was shown.
  private mutating func store(
    _ window: SessionHistory, behind known: KnownConversation, _ step: Step
  ) {
    let via = via(window)
    for entry in window.entries {
      let isNew = !isBehind(entry, known, window)
      guard talk?.isIdempotent == true || isNews(entry, isNew: isNew, step) else { continue }
      writer.waiting.change.news.append(.message(entry, via: via))
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

  /// A window of one message is the live one.
  private func via(_ window: SessionHistory) -> SessionVia {
    talk?.current.contains(window.conversation) == true && window.isComplete ? .live : .history
  }
}
