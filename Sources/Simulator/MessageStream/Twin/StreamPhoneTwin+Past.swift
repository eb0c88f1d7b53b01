import LinkCore
import LinkWire
import MessageStream

// How a reader of the twin scrolls back.
extension StreamPhoneTwin {
  mutating func loadOlder() {
    guard mode == .open, !past.isWanted else { return }
    guard let top = past.top, past.hasMore || !gaps.isEmpty else {
      return show(.history(hasMore: past.hasMore))
    }
    past.isWanted = true
    past.isBeginning = nil
    // A hole on the screen comes first.
    guard let gap = gaps.last(where: { $0.before >= top.key }) else { return read(before: top.key) }
    search(below: gap.before, known(gap.before.id)?.position)
  }

  private mutating func read(before key: TimelineKey) {
    if past.isReading { return }
    past.isReading = true
    out.append(.readOlder(key, limit: settings.historyPage))
  }

  mutating func older(_ read: [Message]) {
    past.isReading = false
    guard past.isWanted, let top = past.top else { return }
    let gap = gaps.last { $0.before < top.key }
    let messages = read.filter { message in
      message.key < top.key && (gap.map { message.key >= $0.before } ?? true)
    }
    if !messages.isEmpty {
      past.isWanted = false
      showMessages(messages, .history)
      show(.history(hasMore: true))
    } else if let isBeginning = past.isBeginning {
      past.hasMore = !isBeginning
      endSearch()
    } else {
      search(below: top.key, top.position)
    }
  }

  mutating func olderFailed(_ failure: StoreFailure) {
    past.isReading = false
    notice(.store(failure))
    endSearch()
  }

  mutating func endSearch() {
    past.isWanted = false
    show(.history(hasMore: past.hasMore))
  }

  mutating func stopSearch() {
    past.search = nil
    if past.isWanted { endSearch() }
  }

  // Questions.

  private mutating func search(below key: TimelineKey, _ place: Position?) {
    guard past.hasMore || !gaps.isEmpty else { return endSearch() }
    let isGap = gaps.contains { $0.before == key }
    var search = StreamPhonePast.Search(below: key)
    let size = settings.historyPage
    guard var lowest = place else {
      search.counted = isGap ? kept.count { $0.key >= key } : past.shown
      let number = (search.counted - past.excess) / size
      return ask(.page(number: max(number, 1), limit: size), search)
    }
    if !isGap {
      while lowest.offset > 1, hasOffset(before: lowest) { lowest.offset -= 1 }
      if lowest.offset <= 1, lowest.epoch == mend.cursor.position?.epoch {
        past.hasMore = false
        return endSearch()
      }
    }
    search.tie = .screen
    ask(.before(lowest, limit: size), search)
  }

  private func hasOffset(before place: Position) -> Bool {
    let before = Position(epoch: place.epoch, offset: place.offset - 1)
    return kept.contains { $0.position == before }
  }

  private mutating func ask(_ query: PageQuery, _ search: StreamPhonePast.Search) {
    if past.search != nil { return }
    var search = search
    search.id = nextFetch()
    search.query = query
    search.pages += 1
    search.tokens = tokens
    search.sameness.ask(allKeys.max())
    search.until = now.advanced(by: settings.fetchTimeout)
    past.search = search
    out.append(.fetch(search.id, query))
  }

  // Answers.

  mutating func searched(_ page: Page) {
    guard var search = past.search, let top = past.top else { return }
    past.search = nil
    drive(.requested(nil))
    if pen.isFull { return endSearch() }
    if case .before(_, let limit) = search.query, !page.recovered {
      return ask(.page(number: 1, limit: limit), search)
    }
    follow(page, &search)
    let isSame = search.sameness.isOver(page)
    if case .page(_, let limit) = search.query, !isSame || page.messages.isEmpty,
      isLost(search, page)
    {
      search.sameness = StreamPhoneSameness()
      return ask(.page(number: 1, limit: limit), search)
    }
    lookForOthers(page)
    add(page.messages, .history)
    let goesOn = page.hasNext && !isSame
    if goesOn, !isEnough(search), search.pages < settings.catchUpPages, let next = next(search) {
      return ask(next, search)
    }
    shrinkGap(search, isLast: !page.hasNext && search.tie != .none)
    let isOlder = search.reached.map { $0 < search.below } ?? false
    let isOdd = page.hasNext && page.messages.isEmpty
    past.isBeginning = !goesOn && !isOlder && !isOdd
    past.readsBack = search.below == top.key
    pen.serveReader()
  }

  /// A log that ends before the cursor was put back, with other messages in it now, as far down as
  /// they are seen.
  private mutating func lookForOthers(_ page: Page) {
    guard endsEarly(page) else { return }
    let others = page.messages.filter { isOld($0) && tookPlace($0) }
    let first = others.min { $0.position?.offset ?? 0 < $1.position?.offset ?? 0 }
    guard let first else { return }
    goBack(before: first)
    if mend.run == nil, mend.isSettled, isConnected { catchUp(.live) }
  }

  private func next(_ search: StreamPhonePast.Search) -> PageQuery? {
    switch search.query {
    case .page(let number, let limit): .page(number: number + 1, limit: limit)
    case .before(_, let limit): search.lowest.map { .before($0, limit: limit) }
    case .since, .after: nil
    }
  }

  /// Notes what a page says of what lies below the message where the search began.
  private mutating func follow(_ page: Page, _ search: inout StreamPhonePast.Search) {
    search.lowest = page.messages.compactMap(\.position).min { $0.offset < $1.offset }
    if isAtKept(page, search) { search.isAcross = true }
    let bringsNew = page.messages.contains { !isSeen($0.id) }
    if case .page(number: 1, _) = search.query, search.tie == .none { search.tie = .newest }
    var start: Int?
    if search.tie != .screen {
      start = page.messages.firstIndex { [id = search.below.id] in $0.id == id }
      let isBelow = page.messages.allSatisfy { [key = search.below] in $0.key < key }
      if start != nil || (search.tie == .newest && bringsNew && isBelow) { search.tie = .screen }
    }
    if search.tie != .screen { return }
    let behind = page.messages.dropFirst(start.map { $0 + 1 } ?? 0)
    search.reached = ([search.reached].compactMap(\.self) + behind.map(\.key)).min()
    if let edge = gaps.first(where: { [key = search.below] in $0.before == key })?.after {
      let isAllOlder = !behind.isEmpty && page.messages.allSatisfy { $0.key <= edge }
      if isAllOlder, !bringsNew { search.isAcross = true }
      if behind.contains(where: { $0.id == edge.id }) { search.isAcross = true }
    }
    guard let start, case .page(let number, let limit) = search.query else { return }
    past.excess = max(0, search.counted - ((number - 1) * limit + start + 1))
  }

  /// Whether a page has a message that is kept where the search ends, or before: it is of the same
  /// log.
  private func isAtKept(_ page: Page, _ search: StreamPhonePast.Search) -> Bool {
    guard let edge = gaps.first(where: { $0.before == search.below })?.after,
      let end = known(edge.id)?.position
    else { return false }
    return page.messages.contains { message in
      guard let place = message.position, isSeen(message.id) else { return false }
      return place.epoch == end.epoch && place.offset <= end.offset
    }
  }

  /// Whether a page that was found by counting lies too far down, or none is tied to the screen.
  private func isLost(_ search: StreamPhonePast.Search, _ page: Page) -> Bool {
    guard search.tie == .none, !page.messages.isEmpty || page.rejected == 0 else { return false }
    return search.pages >= 10 || !page.hasNext
      || page.messages.allSatisfy { $0.key < search.below }
  }

  private func isEnough(_ search: StreamPhonePast.Search) -> Bool {
    guard let reached = search.reached, reached < search.below else { return false }
    let gap = gaps.first { $0.before == search.below }
    guard let gap, let after = gap.after, reached <= after else { return true }
    return closes(gap, search)
  }

  private func closes(_ gap: Gap, _ search: StreamPhonePast.Search) -> Bool {
    guard let after = gap.after, let reached = search.reached else { return false }
    if let place = known(after.id)?.position, let lowest = search.lowest,
      lowest.epoch == place.epoch
    {
      // Beyond its place another log may go on: one that was put back.
      return lowest.offset <= place.offset && search.isAcross
    }
    let late = after.createdAt.advanced(by: .zero - settings.overlap)
    return search.isAcross && reached.createdAt <= late
  }

  private mutating func shrinkGap(_ search: StreamPhonePast.Search, isLast: Bool) {
    guard let index = gaps.firstIndex(where: { $0.before == search.below }) else { return }
    let gap = gaps[index]
    let isOther = gaps.contains { $0.before == search.reached && $0.before < gap.before }
    if isLast || isOther || closes(gap, search) {
      gaps.remove(at: index)
      show(.gapClosed(gap))
    } else if let reached = search.reached, reached < gap.before {
      gaps[index].before = reached
      gaps.sort { $0.before < $1.before }
    }
    pen.write(gaps)
  }

  mutating func searchFailed(_ failure: LinkFailure) {
    guard let search = past.search else { return }
    past.search = nil
    if isStale(failure, search.tokens) { return ask(search.query, search) }
    notice(.fetchFailed(failure))
    endSearch()
    drive(.requested(failure))
  }

  /// The first screen is fetched.
  mutating func noteBeginning(_ isOlder: Bool) {
    let isHidden = past.top.map { top in kept.contains { $0.key < top.key } } ?? false
    let had = past.hasMore
    past.hasMore = isOlder || isHidden
    if past.hasMore, !had { show(.history(hasMore: true)) }
  }

  /// What the reader waits for is kept.
  mutating func readBack() {
    guard past.isWanted else { return }
    if past.readsBack, let top = past.top { read(before: top.key) } else { endSearch() }
  }

  mutating func showMessages(_ messages: [Message], _ via: Via) {
    guard let first = messages.first else { return }
    past.shown += messages.count
    if past.top.map({ $0.key > first.key }) ?? true { past.top = first }
    show(.messages(messages, via: via))
  }
}
