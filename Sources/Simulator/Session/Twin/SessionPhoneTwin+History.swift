import LinkCore
import LinkWire
import Session

// Conversations of a phone's twin.
extension SessionPhoneTwin {
  /// The conversations that are asked for, in order: those that the server knows or may know.
  var followed: [String] {
    var all = [home]
    for prompt in outbox.all where !prompt.isFailed && !all.contains(prompt.conversation) {
      all.append(prompt.conversation)
    }
    let isPlain = line?.knowsKeys == false
    return all.filter { one in
      if one == named || places[one]?.openedBy != nil { return true }
      return isPlain
        && outbox.all.contains { $0.conversation == one && outbox.unsure.contains($0.id) }
    }
  }

  mutating func subscribe() {
    guard let line, !line.isDraining, line.asking.isEmpty else { return }
    if line.knowsKeys, line.upload != nil { return }
    var wanted = followed.filter { !line.asked.contains($0) || line.again.contains($0) }
    guard !wanted.isEmpty else { return }
    let isBatch = wanted.count > 1 && line.features.contains(.batch)
    wanted = Array(wanted.prefix(isBatch ? 100 : 1))
    self.line?.asked.formUnion(wanted)
    self.line?.again.subtract(wanted)
    for one in wanted { self.line?.asking[one] = now.advanced(by: .seconds(10)) }
    let isOld = line.version < SessionVersion(0, 5, 0)
    let all = wanted.map { one in
      let place = places[one]
      return SessionSubscription(
        conversation: one,
        cursor: isOld
          ? .sequence(place?.sequence ?? 0)
          : .offset(place?.offset ?? 0, signature: place?.signature))
    }
    out.append(.send(line.attempt, isBatch ? .subscribeBatch(all) : .subscribe(all[0])))
  }

  var isCaughtUp: Bool {
    guard isConnected, let line else { return false }
    return owed.isEmpty && paper.isDone && line.asking.isEmpty && line.again.isEmpty
      && line.asked.isSuperset(of: followed)
  }

  // Windows.

  /// What a window is to what is stored.
  private enum Fit: Equatable {
    case joins
    /// Something before it is missing, and is asked for.
    case leavesHole
    case begins(SessionGap)
  }

  mutating func apply(_ window: SessionHistory) {
    guard line != nil, let place = places[window.conversation] else { return }
    let isPlain = line?.knowsKeys == false
    if isAhead(window, place) { return ahead(window, place) }
    line?.asking[window.conversation] = nil
    var next = place
    let fit: Fit =
      switch window.place {
      case .sequence(let first, let last, _):
        fit(window, first ?? window.entries.first?.place, last ?? window.entries.last?.place, &next)
      case .offset(let offset, let signature, let isReplaced):
        fit(window, offset, signature, isReplaced, &next)
      }
    if case .begins(let gap) = fit {
      show(.gap(conversation: window.conversation, gap))
    }
    if case .begins = fit {
      let asked = window.entries.last { $0.role == .user }
      next.isOthersTurn = line?.knowsKeys == false && asked.map(isElsewhere) ?? false
    }
    let moves = next != place
    if moves { keep(next) }
    var isMore = !window.isComplete || window.gap != nil
    switch fit {
    case .leavesHole, .begins(.replaced), .begins(.clientAhead): isMore = true
    case .joins, .begins(.pruned), .begins(.hole), .begins(.notRecovered): break
    }
    if !moves, fit != .leavesHole { isMore = false }
    let isNew = moves && [.joins, .begins(.hole)].contains(fit)
    // What a plain server is asked for again is taken when it comes in its order.
    if !isPlain || isNew || !isMore { store(window, isNew: isNew, place) }
    if isMore {
      line?.again.insert(window.conversation)
      return
    }
    line?.whole.insert(window.conversation)
    if fit == .joins { line?.holes.remove(window.conversation) }
  }

  private mutating func ahead(_ window: SessionHistory, _ place: KnownConversation) {
    if line?.knowsKeys == true { return store(window, isNew: false, place) }
    line?.again.insert(window.conversation)
  }

  /// Whether a live message came before the answer to a subscription, which brings what lies
  /// between.
  private func isAhead(_ window: SessionHistory, _ place: KnownConversation) -> Bool {
    guard let line, window.entries.count == 1, let first = window.entries[0].place else {
      return false
    }
    let isAsked = line.asking[window.conversation] != nil
    guard isAsked || line.again.contains(window.conversation) else { return false }
    if !line.knowsKeys, line.holes.contains(window.conversation) { return false }
    if case .sequence = window.place { return first > place.sequence + 1 }
    return first > place.offset
  }

  private mutating func fit(
    _ window: SessionHistory, _ first: UInt64?, _ last: UInt64?, _ next: inout KnownConversation
  ) -> Fit {
    if let gap = window.gap {
      next.sequence = max(gap.oldest, 1) - 1
      return .begins(gap.reason == .pruned ? .pruned : .clientAhead)
    }
    guard let first, let last else { return .joins }
    if first <= next.sequence + 1 {
      next.sequence = max(last, next.sequence)
      return .joins
    }
    guard isLeftAgain(window.conversation) else { return .leavesHole }
    next.sequence = last
    return .begins(.hole)
  }

  private mutating func fit(
    _ window: SessionHistory, _ offset: UInt64, _ signature: String, _ isReplaced: Bool,
    _ next: inout KnownConversation
  ) -> Fit {
    if isReplaced || offset < next.offset {
      let hadAny = next.offset > 0
      (next.offset, next.signature) = (0, nil)
      guard hadAny else { return .joins }
      return .begins(isReplaced ? .replaced : .clientAhead)
    }
    let hasHole = window.entries.first?.place.map { $0 > next.offset } ?? false
    if hasHole, !isLeftAgain(window.conversation) { return .leavesHole }
    (next.offset, next.signature) = (offset, signature)
    return hasHole ? .begins(.hole) : .joins
  }

  /// Whether the server left out a hole that it was asked for.
  private mutating func isLeftAgain(_ conversation: String) -> Bool {
    let isAgain = line?.holes.contains(conversation) == true
    line?.holes.insert(conversation)
    return isAgain
  }

  // Entries.

  private mutating func store(
    _ window: SessionHistory, isNew: Bool, _ before: KnownConversation
  ) {
    let isLive = window.isComplete && line?.whole.contains(window.conversation) == true
    let via = isLive ? SessionVia.live : .history
    let isPlain = line?.knowsKeys == false
    for entry in window.entries {
      if isPlain, isNew, isKnown(entry, via) { continue }
      if isPlain, !isNew, isSaidAgain(entry, window, before) { continue }
      paper.waiting.change.news.append(.message(entry, via: via))
    }
  }

  /// Whether an entry says words again that this phone said or was told. What lies behind the
  /// cursor is known by its name alone.
  private mutating func isSaidAgain(
    _ entry: SessionEntry, _ window: SessionHistory, _ before: KnownConversation
  ) -> Bool {
    guard entry.role != .system else { return false }
    let all = entry.role == .user ? ownWords : programWords
    var reached = before.offset
    if case .sequence = window.place { reached = before.sequence + 1 }
    if let place = entry.place, place < reached {
      return all.contains { ($0.conversation, $0.name) == (entry.conversation, entry.id) }
    }
    let key =
      entry.role == .user
      ? Self.take(entry, from: &ownWords) : Self.take(entry, from: &programWords)
    return key != nil
  }

  /// Takes an entry of a plain server that says something about a prompt; false for another one.
  private mutating func isKnown(_ entry: SessionEntry, _ via: SessionVia) -> Bool {
    let open = outbox.open(in: entry.conversation)
    let isSent = open.map { line?.sent.contains($0.id) == true } ?? false
    switch entry.role {
    case .system: return false
    case .user:
      let isElsewhere = isElsewhere(entry)
      if var place = places[entry.conversation], place.isOthersTurn != isElsewhere {
        place.isOthersTurn = isElsewhere
        keep(place)
      }
      let own = Self.take(entry, from: &ownWords)
      let isOwn = own != nil
      guard let open, isOwn ? own == open.id : open.text == entry.text else { return isOwn }
      if isOwn, isSent { line?.repeated[open.id] = false }
      if !open.isAccepted, outbox.mayBeThere(open.id) {
        accept(open.id)
        return true
      }
      return isOwn || open.isAccepted && !isSent
    case .assistant:
      if Self.take(entry, from: &programWords) != nil { return true }
      if places[entry.conversation]?.isOthersTurn == true { return false }
      line?.written[entry.conversation] = entry.text
      guard let open else { return false }
      if line?.repeated[open.id] == false { line?.repeated[open.id] = true }
      guard open.isAccepted, !isSent else { return false }
      answer(open, entry, via)
      return true
    }
  }

  /// Whether a prompt in a history was said on another phone.
  private func isElsewhere(_ entry: SessionEntry) -> Bool {
    var words = ownWords
    let open = outbox.open(in: entry.conversation)
    return Self.take(entry, from: &words) == nil && open?.text != entry.text
  }

  private mutating func answer(_ prompt: KeptPrompt, _ entry: SessionEntry, _ via: SessionVia) {
    let end = SessionEnding(
      key: prompt.id, conversation: prompt.conversation, text: prompt.text, outcome: .answered)
    paper.waiting.change.news.append(.answer(entry, via: via, end))
  }

  mutating func repeated(_ id: String, _ entry: SessionEntry, _ number: UInt64?) {
    note(id, number)
    if line?.knowsKeys == false, entry.role == .assistant,
      let open = outbox.open(in: entry.conversation), line?.sent.contains(open.id) == false,
      open.isAccepted || outbox.mayBeThere(open.id)
    {
      accept(open.id)
      return answer(open, entry, .replay)
    }
    paper.waiting.change.news.append(.message(entry, via: .replay))
  }
}
