import LinkCore
import LinkWire
import MessageStream

// What a page of a catch-up says of what is whole.
extension StreamPhoneTwin {
  /// How far a newest page reaches into what is whole.
  enum Reach {
    case none, edge, whole
  }

  /// The place where a page ends: in the order of a server without positions, the last message.
  static func end(of page: Page, _ aim: StreamPhoneMend.Aim) -> TimelineKey? {
    aim != .position && page.head == nil ? page.messages.last?.key : page.messages.map(\.key).min()
  }

  /// The position up to which a page says all; what could not be read has an offset, too.
  static func end(of page: Page, after position: Position) -> Position {
    if let last = page.messages.last?.position { return last }
    let more = UInt64(max(page.rejected, 0))
    if position.offset > .max - more { return position }
    return Position(epoch: position.epoch, offset: position.offset + more)
  }

  func leadsOn(_ page: Page, _ run: StreamPhoneMend.Run) -> Bool {
    guard run.aim == .position, page.recovered, case .after(let asked, _) = run.query else {
      return false
    }
    return Self.end(of: page, after: asked) != asked
  }

  // What a page reaches.

  func reach(_ page: Page) -> Reach {
    guard page.hasNext else { return .whole }
    if !holdsWhole(page) {
      if page.messages.contains(where: { tookPlace($0) }) { return .none }
      if endsEarly(page) { return .none }
    }
    guard let oldest = page.messages.map(\.createdAt).min() else { return .none }
    if let place = mend.cursor.position {
      if let first = page.messages.compactMap({ $0.position?.offset }).min() {
        let follows = first <= place.offset || first - 1 == place.offset
        return follows && page.head?.epoch == place.epoch ? .whole : .none
      }
      return reach(by: oldest)
    }
    let reach = reach(by: oldest)
    if !touches(page) { return .none }
    return hidesLate(page) && reach == .whole ? .edge : reach
  }

  /// Whether the log of a page ends before the cursor.
  func endsEarly(_ page: Page) -> Bool {
    guard let place = mend.cursor.position, let head = page.head else { return false }
    return head.epoch == place.epoch && head.offset < place.offset
  }

  private func reach(by oldest: Timestamp) -> Reach {
    guard let time = mend.cursor.time, time >= oldest else { return .none }
    return time.advanced(by: .zero - settings.overlap) >= oldest ? .whole : .edge
  }

  /// Whether it stands where another message is kept.
  func tookPlace(_ message: Message) -> Bool {
    message.position != nil
      && (kept + pen.messages).contains {
        $0.position == message.position && $0.id != message.id
      }
  }

  private func holdsWhole(_ page: Page) -> Bool {
    page.messages.contains { known($0.id).map { mend.covers($0) } ?? false }
  }

  func meets(_ page: Page) -> Bool { touches(page) && !hidesLate(page) }

  /// Whether it holds something before which nothing is missing.
  private func touches(_ page: Page) -> Bool {
    page.messages.contains { isWhole($0) }
  }

  private func isWhole(_ message: Message) -> Bool {
    guard let time = mend.cursor.time, time >= message.createdAt else { return false }
    return !mend.loose.contains(message.id) && isSeen(message.id)
  }

  private func hidesLate(_ page: Page) -> Bool {
    guard let time = mend.cursor.time?.advanced(by: .zero - settings.overlap) else { return false }
    return page.messages.contains { $0.createdAt < time && !isSeen($0.id) }
  }

  func goesBack(_ page: Page, _ run: StreamPhoneMend.Run) -> Bool {
    guard case .newest = run.aim, let time = mend.cursor.time else { return false }
    return page.messages.contains { $0.createdAt <= time && !isSeen($0.id) }
  }

  // Below all that is kept.

  /// Whether a walk came by what is kept, and by all that a time brought of what lies below.
  func isDown(_ page: Page, _ run: StreamPhoneMend.Run) -> Bool {
    if run.goal != nil { return false }
    return run.hasTouched || meets(page)
  }

  /// Where pages are sorted by arrival, those since a time may go on below all that is kept, and
  /// leave out there what is stamped late. Then a walk leads by the last that they bring.
  func lookDown(_ page: Page, _ run: inout StreamPhoneMend.Run) {
    if case .since = run.aim, let base = run.base {
      if page.head != nil || !past.hasMore || kept.count >= settings.memory { return }
      if run.cellar == nil, gaps.contains(where: { $0.before == base }) { return }
      var passed = run.hasTouched || !touches(page)
      for message in page.messages {
        if isWhole(message) { (passed, run.hasTouched) = (true, true) }
        let isNear = base.createdAt.duration(to: message.createdAt) <= settings.overlap
        if passed, isNear, !isSeen(message.id) { run.goal = message.id }
      }
    }
    guard case .newest = run.aim, run.goal != nil else { return }
    for message in page.messages {
      if message.id == run.goal {
        run.goal = nil
        return
      }
      if isWhole(message) { run.hasTouched = true }
    }
    if !page.hasNext { run.goal = nil }
  }

  /// The hole is seen until the walk has come by.
  mutating func turnCellar(_ run: inout StreamPhoneMend.Run) {
    if run.goal == nil, let cellar = run.cellar {
      close(cellar)
      run.cellar = nil
    }
    if run.goal != nil, run.cellar == nil {
      run.cellar = openGap(below: run.base, endsNowhere: true)
    }
  }

  // Holes.

  func leavesHole(_ page: Page, _ run: StreamPhoneMend.Run) -> Bool {
    switch run.aim {
    case .first: return page.hasNext
    case .recent: return reach(page) != .whole
    case .newest: return page.hasNext && !run.hasTouched && !meets(page)
    case .since(let since):
      return page.hasNext && page.messages.allSatisfy { $0.createdAt >= since }
    case .position:
      return !page.recovered && !holdsWhole(page)
    }
  }

  /// The last page of a run was not enough.
  mutating func noteHole(_ page: Page, _ run: StreamPhoneMend.Run) {
    guard leavesHole(page, run) else { return }
    let edge = run.aim == .position ? Self.end(of: page, .position) : run.oldest
    guard let edge else { return }
    if run.aim == .first, allKeys.allSatisfy({ $0 >= edge }) { return }
    openGap(below: edge)
  }

  // The end of a run.

  mutating func finish(_ run: StreamPhoneMend.Run, _ page: Page) {
    mend.run = nil
    mend.unprepared = nil
    let isWhole = settle(run, page)
    let isCut = page.hasNext && page.recovered && run.aim == .position
    mend.isCurrent = !isCut
    if isCut { mend.again = true }
    mend.cursor.wholeAt = wall
    noteCursor()
    drive(.requested(nil))
    sought += queue.makeSure(run.unsure)
    release(run.causes)
    if run.aim == .first { noteBeginning(page.hasNext || run.pages > 1) }
    if isWhole { mend.failures = 0 }
    if mend.again { return catchUpAgain() }
    mend.loose = []
    if !isWhole { askLater() }
  }

  /// Moves the cursor to what a run covered; whether nothing lies beyond it.
  private mutating func settle(_ run: StreamPhoneMend.Run, _ page: Page) -> Bool {
    if let newest = run.newest { mend.cursor.time = max(mend.cursor.time ?? newest, newest) }
    if let place = covered(run, page) { move(to: place, page, run.aim) }
    return mend.advance()
  }

  private mutating func move(
    to place: Position, _ page: Page, _ aim: StreamPhoneMend.Aim
  ) {
    let old = mend.cursor.position
    if let old, old.epoch != place.epoch { notice(.newEpoch(place)) }
    let isNew = old?.epoch != place.epoch
    let isTold = !page.recovered || aim == .recent
    let isBack = isTold && place.offset < (old?.offset ?? 0)
    if isNew || isBack { mend.ahead = [] }
    if isNew || isBack || place.offset > (old?.offset ?? 0) { mend.cursor.position = place }
  }

  private func covered(_ run: StreamPhoneMend.Run, _ page: Page) -> Position? {
    guard run.aim == .position else { return run.head }
    guard case .after(let asked, _) = run.query else { return page.head }
    if page.hasNext, page.recovered { return Self.end(of: page, after: asked) }
    return page.head ?? page.messages.last?.position
  }
}
