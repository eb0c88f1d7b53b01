import LinkCore
import LinkWire

// Scrolling back: gaps on the screen first, then what is kept, then what the server has.
extension StreamModel {
  mutating func loadOlder(_ step: inout Step) {
    guard phase == .open, !history.isWanted else { return }
    guard let oldest = history.oldest, history.hasMore || !gaps.isEmpty else {
      step.show(.history(hasMore: false))
      return
    }
    history.isWanted = true
    if let gap = gaps.last(where: { $0.before >= oldest.key }) {
      let position = timeline[gap.before.id]?.position
      fetchOlder(than: History.Mark(key: gap.before, position: position), &step)
    } else {
      read(before: oldest.key, &step)
    }
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
      fetchOlder(than: oldest, &step)
      return
    }
    history.isWanted = false
    show(messages, via: .history, &step)
    step.show(.history(hasMore: true))
  }

  private mutating func fetchOlder(than mark: History.Mark, _ step: inout Step) {
    guard history.hasMore || !gaps.isEmpty else {
      history.isWanted = false
      step.show(.history(hasMore: false))
      return
    }
    let query: PageQuery
    if let position = mark.position {
      query = .before(position, limit: settings.historyPage)
    } else {
      let newer = timeline.messages.count { $0.key >= mark.key }
      let count = mark.key == history.oldest?.key ? history.shown : newer
      query = .page(number: max(1, count / settings.historyPage), limit: settings.historyPage)
    }
    ask(query, below: mark.key, pages: 1, &step)
  }

  private mutating func ask(
    _ query: PageQuery, below key: TimelineKey, pages: Int, _ step: inout Step
  ) {
    guard history.fetch == nil else { return }
    let fetch = History.Fetch(
      id: newFetch(), query: query, pages: pages,
      until: step.now.advanced(by: settings.fetchTimeout), below: key)
    history.fetch = fetch
    step.effects.append(.fetch(fetch.id, query))
  }

  mutating func historyFetched(_ page: Page, _ step: inout Step) {
    guard let fetch = history.fetch, let oldest = history.oldest else { return }
    history.fetch = nil
    drive(.requested(nil), &step)
    let older = page.messages.filter { $0.key < fetch.below }
    if older.isEmpty, page.hasNext, let next = fetch.next(after: page, settings) {
      ask(next, below: fetch.below, pages: fetch.pages + 1, &step)
      return
    }
    let isEdge = fetch.below == oldest.key
    closeGap(at: fetch.below, with: page, &step)
    if isEdge { history.hasMore = page.hasNext || !older.isEmpty }
    add(older, via: .history)
    if isEdge, !older.isEmpty {
      writer.feedHistory()
    } else {
      history.isWanted = false
      step.show(.history(hasMore: history.hasMore))
    }
  }

  /// A page that reaches what lies beyond a gap closes it; otherwise the gap shrinks.
  private mutating func closeGap(
    at key: TimelineKey, with page: Page, _ step: inout Step
  ) {
    guard let index = gaps.firstIndex(where: { $0.before == key }) else { return }
    let gap = gaps[index]
    let reached = page.messages.map(\.key).min() ?? key
    if !page.hasNext || gap.after.map({ reached <= $0 }) ?? false {
      gaps.remove(at: index)
      step.show(.gapClosed(gap))
    } else {
      gaps[index].before = min(gap.before, reached)
    }
    writer.set(gaps: gaps)
  }

  mutating func historyFailed(_ failure: LinkFailure, _ step: inout Step) {
    history.fetch = nil
    history.isWanted = false
    step.show(.notice(.fetchFailed(failure)))
    step.show(.history(hasMore: history.hasMore))
    drive(.requested(failure), &step)
  }

  mutating func expireHistory(_ step: inout Step) {
    historyFailed(.timeout(.response), &step)
  }

  /// What was fetched for the reader is kept now: read it back in order with what was kept before.
  mutating func historyStored(_ step: inout Step) {
    guard history.isWanted, let oldest = history.oldest else { return }
    read(before: oldest.key, &step)
  }

  /// Shows messages, oldest first, and remembers how far back the screen reaches.
  mutating func show(_ messages: [Message], via: Via, _ step: inout Step) {
    guard !messages.isEmpty else { return }
    history.noteShown(messages)
    step.show(.messages(messages, via: via))
  }
}

extension History.Fetch {
  func next(after page: Page, _ settings: StreamSettings) -> PageQuery? {
    guard pages < settings.catchUpPages else { return nil }
    switch query {
    case .page(let number, let limit): return .page(number: number + 1, limit: limit)
    case .before(_, let limit):
      return page.messages.compactMap(\.position).min { $0.offset < $1.offset }
        .map { .before($0, limit: limit) }
    case .since, .after: return nil
    }
  }
}
