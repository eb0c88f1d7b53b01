import LinkCore
import LinkStorage
import LinkWire

// Scrolling back: gaps on the screen first, then what is kept, then what the server has.
extension StreamModel {
  mutating func loadOlder(_ step: inout Step) {
    guard phase == .open, !history.isWanted else { return }
    guard let oldest = history.oldest, history.hasMore || !gaps.isEmpty else {
      step.show(.history(hasMore: history.hasMore))
      return
    }
    history.isWanted = true
    history.isBeginning = nil
    if let gap = gaps.last(where: { $0.before >= oldest.key }) {
      let position = timeline[gap.before.id]?.position
      fetchOlder(than: History.Mark(key: gap.before, position: position), &step)
    } else {
      read(before: oldest.key, &step)
    }
  }

  /// Whether more than what is shown is known to exist, here or on the server.
  ///
  /// A server without positions says so only when it is first asked; a full first screen counts.
  public var hasOlder: Bool {
    guard history.hasMore, let oldest = history.oldest else { return false }
    guard let position = oldest.position else { return history.shown >= settings.historyPage }
    return position.offset > 1
  }

  private mutating func read(before key: TimelineKey, _ step: inout Step) {
    guard !history.isReading else { return }
    history.isReading = true
    step.effects.append(.readOlder(key, limit: settings.historyPage))
  }

  /// Kept messages came; those beyond a gap wait until it is filled.
  mutating func older(_ read: [Message], _ step: inout Step) {
    history.isReading = false
    guard history.isWanted, let oldest = history.oldest else { return }
    var messages = read.filter { $0.key < oldest.key }
    if let gap = gaps.last(where: { $0.before < oldest.key }) {
      messages.removeAll { $0.key < gap.before }
    }
    guard !messages.isEmpty else {
      if let isBeginning = history.isBeginning {
        history.hasMore = !isBeginning
        endHistory(&step)
      } else {
        fetchOlder(than: oldest, &step)
      }
      return
    }
    history.isWanted = false
    show(messages, via: .history, &step)
    step.show(.history(hasMore: true))
  }

  private mutating func fetchOlder(than mark: History.Mark, _ step: inout Step) {
    guard history.hasMore || !gaps.isEmpty else {
      endHistory(&step)
      return
    }
    let position = mark.position.map { lowest(from: $0, above: mark.key) }
    guard !isFirst(position, mark.key) else {
      history.hasMore = false
      endHistory(&step)
      return
    }
    var fetch = History.Fetch(below: mark.key)
    let query: PageQuery
    if let position {
      query = .before(position, limit: settings.historyPage)
      fetch.tie = .shown
    } else {
      let newer = timeline.messages.count { $0.key >= mark.key }
      let isGap = gaps.contains { $0.before == mark.key }
      fetch.counted = isGap ? newer : history.shown
      // A page too early costs a request; one too late costs those that lead down to it.
      let number = (fetch.counted - history.excess) / settings.historyPage
      query = .page(number: max(1, number), limit: settings.historyPage)
    }
    ask(query, fetch, &step)
  }

  /// Whether the server's log begins with a message, so that there is nothing to ask for.
  private func isFirst(_ position: Position?, _ key: TimelineKey) -> Bool {
    guard let position, position.offset <= 1 else { return false }
    return position.epoch == recovery.cursor.position?.epoch
      && !gaps.contains { $0.before == key }
  }

  /// Returns the lowest position of those in memory that follow each other down from a message.
  ///
  /// A server's clock that goes back stamps what comes later as older: then what lies before the
  /// oldest message in the log is shown already, further down. In a gap that is not known.
  private func lowest(from position: Position, above key: TimelineKey) -> Position {
    guard !gaps.contains(where: { $0.before == key }) else { return position }
    return Position(
      epoch: position.epoch, offset: timeline.messages.lowestOffset(from: position))
  }

  private mutating func ask(
    _ query: PageQuery, _ before: History.Fetch, _ step: inout Step
  ) {
    guard history.fetch == nil else { return }
    var fetch = before
    fetch.id = newFetch()
    fetch.query = query
    fetch.pages += 1
    fetch.credentials = credentialsCount
    fetch.repetition.ask(knowing: newestKnown)
    fetch.until = step.now.advanced(by: settings.fetchTimeout)
    history.fetch = fetch
    step.effects.append(.fetch(fetch.id, query))
  }

  mutating func historyFetched(_ page: Page, _ step: inout Step) {
    guard var fetch = history.fetch, let oldest = history.oldest else { return }
    history.fetch = nil
    drive(.requested(nil), &step)
    guard !writer.isFull else {
      endHistory(&step)
      return
    }
    if !page.recovered, case .before(_, let limit) = fetch.query {
      // The position is one of another log; pages lead down from what is newest in this one.
      ask(.page(number: 1, limit: limit), fetch, &step)
      return
    }
    take(page, &fetch)
    let repeats = fetch.repetition.note(page)
    if !repeats || page.messages.isEmpty, fetch.isAstray(after: page),
      case .page(_, let limit) = fetch.query
    {
      // Nothing of it is kept: after a kill it would look like what follows the screen.
      fetch.repetition = Repetition()
      ask(.page(number: 1, limit: limit), fetch, &step)
      return
    }
    noteOtherLog(page, &step)
    add(page.messages, via: .history, &step)
    let goesOn = page.hasNext && !repeats
    if goesOn, !isFar(fetch, with: page), let next = fetch.next(settings) {
      ask(next, fetch, &step)
      return
    }
    closeGap(fetch, isLast: !page.hasNext && fetch.tie != .loose, &step)
    let isEdge = fetch.below == oldest.key
    let isOlder = fetch.reached.map { $0 < fetch.below } ?? false
    // An empty page that has a next one does not tell where the history begins.
    let isEnd = !page.hasNext || repeats && !page.messages.isEmpty
    history.isBeginning = !isOlder && isEnd
    history.readsWhenStored = isEdge
    writer.feedHistory()
  }

  /// Moves the cursor back if a page shows that the log was put back below it and has grown again:
  /// what lies below may be other messages, too, which no answer behind the cursor brings.
  private mutating func noteOtherLog(_ page: Page, _ step: inout Step) {
    guard recovery.isBeyond(page.head) else { return }
    let others = page.messages.filter(takesOtherPlace).compactMap(\.position)
    guard let lowest = others.min(by: { $0.offset < $1.offset }) else { return }
    goBack(before: lowest, &step)
    if recovery.run == nil { doubtCursor(&step) }
  }

  /// Ties a page to what is shown, if it can be, and notes what it reaches from there.
  private mutating func take(_ page: Page, _ fetch: inout History.Fetch) {
    let isUnseen = page.messages.contains { !isSeen($0.id) }
    let gap = gaps.first { $0.before == fetch.below }
    if let after = gap?.after, let end = timeline[after.id]?.position,
      page.messages.contains(where: { isSeen($0.id) && $0.stands(upTo: end) })
    {
      fetch.meetsBeyond = true
    }
    if let place = fetch.take(page, bringsUnseen: isUnseen, beyond: gap?.after) {
      history.excess = max(0, fetch.counted - place)
    }
  }

  /// The first screen is fetched. Who was told that nothing is older is told when that changed.
  mutating func noteBeginning(hasMore isOlder: Bool, _ step: inout Step) {
    // What was stamped before the screen while that was not known is kept and not shown.
    let isHidden = history.oldest.flatMap { shown in timeline.oldest.map { $0 < shown.key } }
    let hasMore = isOlder || isHidden ?? false
    let isNews = hasMore && !history.hasMore
    history.hasMore = hasMore
    if isNews { step.show(.history(hasMore: true)) }
  }

  /// Forgets what the reader waits for, and says so.
  mutating func stopHistory(_ step: inout Step) {
    history.fetch = nil
    if history.isWanted { endHistory(&step) }
  }

  private mutating func endHistory(_ step: inout Step) {
    history.isWanted = false
    step.show(.history(hasMore: history.hasMore))
  }

  /// Whether the pages brought what was wanted: anything older; at the lower edge of a gap also
  /// what a server without positions may have stamped late.
  private func isFar(_ fetch: History.Fetch, with page: Page) -> Bool {
    guard let reached = fetch.reached, reached < fetch.below else { return false }
    guard let gap = gaps.first(where: { $0.before == fetch.below }), let after = gap.after,
      reached <= after
    else { return true }
    return closes(gap, fetch)
  }

  /// Whether pages reach what lies beyond a gap: by position where there are any, else by id, and
  /// by time as far back as late stamps may lie. Where a log was put back other messages may stand
  /// at the positions beyond: a page that has these holds a message, too, that was kept there.
  private func closes(_ gap: Gap, _ fetch: History.Fetch) -> Bool {
    guard let after = gap.after, let reached = fetch.reached else { return false }
    if let place = timeline[after.id]?.position, let lowest = fetch.lowest,
      place.epoch == lowest.epoch
    {
      return lowest.offset <= place.offset && fetch.meetsBeyond
    }
    return fetch.meetsBeyond
      && reached.createdAt <= after.createdAt.advanced(by: .zero - settings.overlap)
  }

  /// Pages that reach what lies beyond a gap close it; otherwise the gap shrinks.
  private mutating func closeGap(_ fetch: History.Fetch, isLast: Bool, _ step: inout Step) {
    guard let index = gaps.firstIndex(where: { $0.before == fetch.below }) else { return }
    let gap = gaps[index]
    let edge = min(gap.before, fetch.reached ?? gap.before)
    // What lies below the edge of another gap is missing there.
    let meetsOther = edge < gap.before && gaps.contains { $0.before == edge }
    if isLast || meetsOther || closes(gap, fetch) {
      gaps.remove(at: index)
      step.show(.gapClosed(gap))
    } else {
      gaps[index].before = edge
      gaps.sort { $0.before < $1.before }
    }
    writer.set(gaps: gaps)
  }

  mutating func historyFailed(_ failure: LinkFailure, _ step: inout Step) {
    let fetch = history.fetch
    history.fetch = nil
    if let fetch, isStale(failure, asked: fetch.credentials) {
      ask(fetch.query, fetch, &step)
      return
    }
    step.show(.notice(.fetchFailed(failure)))
    endHistory(&step)
    drive(.requested(failure), &step)
  }

  mutating func expireHistory(_ step: inout Step) {
    historyFailed(.timeout(.response), &step)
  }

  /// What was fetched for the reader is kept now: read it back in order with what was kept before.
  mutating func historyStored(_ step: inout Step) {
    guard history.isWanted else { return }
    if history.readsWhenStored, let oldest = history.oldest {
      read(before: oldest.key, &step)
    } else {
      endHistory(&step)
    }
  }

  /// Shows messages, oldest first, and remembers how far back the screen reaches.
  mutating func show(_ messages: [Message], via: Via, _ step: inout Step) {
    guard !messages.isEmpty else { return }
    history.noteShown(messages)
    step.show(.messages(messages, via: via))
  }
}

extension Message {
  /// Whether it stands at a position of its epoch, or before it.
  fileprivate func stands(upTo end: Position) -> Bool {
    position.map { $0.epoch == end.epoch && $0.offset <= end.offset } ?? false
  }
}
