import LinkCore
import LinkStorage
import LinkWire

// Making the timeline whole again.
extension StreamModel {
  /// Fetches what may be missing, for a reason; joins a run that is under way where that is enough.
  mutating func catchUp(_ purpose: Recovery.Purpose, _ step: inout Step) {
    guard link.isWanted, !link.status.isTerminal else { return }
    if recovery.run != nil {
      switch purpose {
      case .live:
        // What came between the run's question and this moment may be missing from its answer.
        recovery.again = true
      case .prepare, .poll, .refresh: recovery.join(purpose)
      }
      return
    }
    recovery.endWait(forBacklog: false)
    if case .live = purpose, history.isReaderBehind {
      recovery.again = true
      return
    }
    recovery.again = false
    let (kind, query) = recovery.plan(
      settings, at: wall(at: step.now), own: outbox.oldestUnsure, gap: gaps.last)
    let run = Recovery.Run(
      fetch: requests.next(), query: query, kind: kind, purposes: [purpose],
      until: step.now.advanced(by: settings.fetchTimeout), bottom: oldestKnown,
      unsure: outbox.queue.unsure, own: outbox.oldestUnsure, credentials: requests.credentials)
    recovery.fetch(run)
    step.effects.append(.fetch(run.fetch, query))
  }

  /// Forgets what is under way; its answer, if one comes, is late.
  mutating func stopFetching(_ step: inout Step) {
    stopCatchUp()
    stopHistory(&step)
  }

  /// The same where the reader may still ask for what is older.
  mutating func stopCatchUp() {
    recovery.stop()
  }

  mutating func fetched(_ page: Page, _ step: inout Step) {
    guard var run = recovery.run else { return }
    if page.rejected > 0 {
      step.show(.notice(.rejected(count: page.rejected, first: page.fault)))
    }
    if run.pages == 1 { run.firstHead = page.head }
    if page.head != nil { recovery.hasPositions = true }
    guard !takesNoMore else {
      // What is not taken now is fetched when the store works and the app reads again.
      recovery.endRun()
      recovery.again = true
      release(run.purposes, &step)
      postponeLooked(until: step.now.advanced(by: .seconds(5)), &step)
      return
    }
    if leavesLog(page, in: run, &step) { return }
    run.newest = (page.messages.map(\.createdAt) + [run.newest].compactMap(\.self)).max()
    run.oldest = page.end(in: run.kind) ?? run.oldest
    let repeats = run.repetition.note(page)
    noteBottom(page, in: &run)
    let next = nextQuery(after: page, in: run, repeats: repeats)
    if next == nil, page.hasNext, run.oldest == nil, !moves(page, in: run) {
      stall(run, &step)
      return
    }
    moveHole(with: page, in: &run, isLast: next == nil, &step)
    if next == nil { noteGap(page, in: run, &step) }
    add(page.messages, via: run.via, &step)
    if let next {
      moveCursor(along: page, in: run)
      goOn(run, with: next, &step)
    } else {
      finish(run, page, &step)
    }
  }

  /// Takes the server's log for a new one if a page shows that it is; returns whether its newest
  /// page is asked for.
  private mutating func leavesLog(
    _ page: Page, in run: Recovery.Run, _ step: inout Step
  ) -> Bool {
    guard !page.recovered || run.kind == .recent && run.pages == 1 else {
      noteOtherLog(page.messages, &step)
      return recovery.run?.fetch != run.fetch
    }
    // This is the newest page.
    let shorter = recovery.isBeyond(page.head) ? page.head : nil
    if let position = shorter ?? otherPosition(in: page.messages) {
      beginNewLog(at: position, &step)
    }
    return false
  }

  private mutating func goOn(
    _ before: Recovery.Run, with next: PageQuery, _ step: inout Step
  ) {
    var run = before
    if case .since = run.kind, case .page(_, let limit) = next {
      // Past what it just brought; memory knows no more than that of what is kept.
      let reach = settings.memory + run.pages * settings.catchUpPage
      run.kind = .newest(pages: max(1, reach / limit))
      run.pages = 0
      run.meetsKept = false
      run.repetition = Repetition()
    }
    run.pages += 1
    run.query = next
    run.fetch = requests.next()
    run.credentials = requests.credentials
    run.repetition.ask(knowing: newestKnown)
    run.until = step.now.advanced(by: settings.fetchTimeout)
    recovery.fetch(run)
    drive(.requested(nil), &step)
    step.effects.append(.fetch(run.fetch, next))
  }

  /// The next page of a run; `nil` when it is over.
  private func nextQuery(
    after page: Page, in run: Recovery.Run, repeats: Bool
  ) -> PageQuery? {
    if case .since = run.kind, page.head == nil, !leavesHole(page, run) {
      return .page(
        number: 1, limit: run.pages > 1 ? settings.catchUpPage : settings.historyPage)
    }
    guard !repeats, page.hasNext, run.pages < settings.catchUpPages else { return nil }
    switch run.kind {
    case .initial where page.isUnreadable:
      return .page(number: run.pages + 1, limit: settings.historyPage)
    case .initial:
      // A plain server's pages go on as far back as a message of the outbox may be.
      guard page.head == nil, let own = run.own, let oldest = run.oldest,
        oldest.createdAt >= own.advanced(by: .zero - settings.overlap)
      else { return nil }
      return .page(number: run.pages + 1, limit: settings.historyPage)
    case .recent where page.isUnreadable:
      return .page(number: run.pages + 1, limit: settings.catchUpPage)
    case .recent:
      guard reach(of: page) == .touching else { return nil }
      return .page(number: run.pages + 1, limit: settings.catchUpPage)
    case .newest(let pages):
      guard !meetsKept(page, run), run.pages < pages, case .page(let number, let limit) = run.query
      else { return nil }
      return .page(number: number + 1, limit: limit)
    case .position:
      guard moves(page, in: run), case .after(let asked, let limit) = run.query else { return nil }
      return .after(recovery.reached(from: page.end(after: asked)), limit: limit)
    case .since(let since):
      // A server that ignores `since` shows older messages, too.
      guard !reaches(since, page) else { return nil }
      return .since(since, page: run.pages + 1, limit: settings.catchUpPage)
    }
  }

  /// Whether a page of those after a position leads on from it.
  private func moves(_ page: Page, in run: Recovery.Run) -> Bool {
    guard page.recovered, case .after(let asked, _) = run.query else { return false }
    return page.end(after: asked) != asked
  }

  private func reaches(_ since: Timestamp, _ page: Page) -> Bool {
    page.messages.contains { $0.createdAt < since }
  }

  /// Within a run by position each page covers what is before it, so the cursor moves with it.
  private mutating func moveCursor(along page: Page, in run: Recovery.Run) {
    guard case .after(let asked, _) = run.query else { return }
    recovery.move(to: recovery.reached(from: page.end(after: asked)))
    commits.waiting.change.cursor = recovery.cursor
  }

  /// A run that ends before it reaches what is whole leaves a hole that the reader sees.
  private mutating func noteGap(_ page: Page, in run: Recovery.Run, _ step: inout Step) {
    // What a run by position brought before lies where nothing is missing.
    let oldest = run.kind == .position ? page.end(in: run.kind) : run.oldest
    guard let oldest, leavesHole(page, run) else { return }
    if run.kind == .initial,
      !(timeline.messages + commits.messages).contains(where: { $0.key < oldest })
    {
      return
    }
    openGap(below: oldest, &step)
  }

  private func leavesHole(_ page: Page, _ run: Recovery.Run) -> Bool {
    switch run.kind {
    case .initial: page.hasNext
    case .recent: reach(of: page) != .whole
    case .newest: page.hasNext && !run.meetsKept && !meetsKept(page)
    case .position: !page.recovered && !holdsWhole(page)
    case .since(let since): page.hasNext && !reaches(since, page)
    }
  }

  /// Whether a page holds a message before which nothing is missing.
  private func holdsWhole(_ page: Page) -> Bool {
    page.messages.contains { timeline[$0.id].map { recovery.covers($0) } ?? false }
  }

  private func reach(of page: Page) -> Recovery.Reach {
    let reach = recovery.reach(of: page, overlap: settings.overlap)
    guard page.hasNext, recovery.cursor.position == nil else {
      return holdsWhole(page) ? .whole : reach
    }
    guard leadsToKept(page) else { return .short }
    return hidesLate(page) ? .touching : reach
  }

  /// There is more and no way to it: nothing is whole, and the server is asked again.
  private mutating func stall(_ run: Recovery.Run, _ step: inout Step) {
    recovery.endRun()
    drive(.requested(nil), &step)
    release(run.purposes, &step)
    let at = askAgainLater(&step)
    postponeLooked(until: at, &step)
  }

  /// Plans the next try of a catch-up that did not bring what is there; says when.
  private mutating func askAgainLater(wish: Duration = .zero, _ step: inout Step) -> Instant {
    let wait = TimelineCommits.delay(after: recovery.noteFailure())
    let spread = wait - chance.duration(below: wait / 4)
    let at = step.now.advanced(by: max(spread, wish))
    // While the socket stands, what it may have missed is asked for until it is there.
    if link.status.phase == .connected { recovery.wait(until: at) }
    return at
  }

  /// A run is whole: the cursor moves, and everybody who waited for it goes on.
  private mutating func finish(_ run: Recovery.Run, _ page: Page, _ step: inout Step) {
    // As many pages as one run may fetch, and not the end yet: the next run goes on from there.
    let isCut = run.kind == .position && page.recovered && page.hasNext
    recovery.endRun(isComplete: !isCut)
    recovery.connecting.unprepared = nil
    let isWhole = settle(run, page, &step)
    recovery.again = recovery.again || isCut
    recovery.cursor.wholeAt = wall(at: step.now)
    commits.waiting.change.cursor = recovery.cursor
    drive(.requested(nil), &step)
    outbox.nowSure(run.unsure)
    release(run.purposes, &step)
    if run.kind == .initial { noteBeginning(hasMore: page.hasNext || run.pages > 1, &step) }
    if isWhole { recovery.noteSuccess() }
    if !recovery.again { recovery.unplaced = [] }
    if recovery.again {
      catchUpWhileConnected(&step)
    } else if !isWhole {
      // The answer did not hold what the socket spoke of: a server that lags behind itself.
      _ = askAgainLater(&step)
    }
  }

  /// Continues what waited for a run.
  private mutating func release(_ purposes: [Recovery.Purpose], _ step: inout Step) {
    for purpose in purposes {
      switch purpose {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .poll(let id): drive(.polled(id, nil), &step)
      case .live, .refresh: continue
      }
    }
  }

  /// The timeline is whole while the socket stands and nothing is missing: an absence begins now.
  mutating func noteWhole(at now: Instant) {
    guard link.status.phase == .connected, recovery.isSettled, recovery.ahead.isEmpty,
      recovery.backlog == nil
    else { return }
    recovery.cursor.wholeAt = wall(at: now)
    commits.waiting.change.cursor = recovery.cursor
  }

  /// Moves the cursor to what a whole run covers; false when live messages lie beyond a hole.
  private mutating func settle(
    _ run: Recovery.Run, _ page: Page, _ step: inout Step
  ) -> Bool {
    if let newest = run.newest {
      recovery.cursor.time = max(recovery.cursor.time ?? newest, newest)
    }
    if let covered = covered(by: run, page) {
      let isNew = covered.epoch != recovery.cursor.position?.epoch
      if isNew, recovery.cursor.position != nil { step.show(.notice(.newEpoch(covered))) }
      if isNew { recovery.ahead = [] }
      if isNew || covered.offset > recovery.cursor.position?.offset ?? 0 {
        recovery.cursor.position = covered
      }
    }
    return recovery.advance()
  }

  /// The position up to which a run that is over fetched everything, or left a gap that says so.
  private func covered(by run: Recovery.Run, _ page: Page) -> Position? {
    switch run.kind {
    case .initial, .recent, .since, .newest: return run.firstHead
    case .position:
      // Without a next page all up to the head is there, whatever could not be read of it.
      guard case .after(let asked, _) = run.query else { return page.head }
      let end = page.end(after: asked)
      return page.recovered && page.hasNext ? end : page.head ?? page.messages.last?.position
    }
  }

  mutating func catchUpWhileConnected(_ step: inout Step) {
    recovery.again = false
    let isConnected = link.status.phase == .connected
    // The next poll, or the next socket, tells what was missed.
    if isConnected { catchUp(.live, &step) } else { recovery.noteIncomplete() }
  }

  mutating func fetchFailed(_ id: FetchID, _ failure: LinkFailure, _ step: inout Step) {
    guard let run = recovery.run, run.fetch == id else { return }  // late
    recovery.endRun()
    if isStale(failure, asked: run.credentials) {
      for purpose in run.purposes { catchUp(purpose, &step) }
      return
    }
    step.show(.notice(.fetchFailed(failure)))
    for purpose in run.purposes {
      switch purpose {
      case .prepare(let attempt): prepareFailed(attempt, failure, &step)
      case .poll(let id): drive(.polled(id, failure), &step)
      case .live, .refresh: drive(.requested(failure), &step)
      }
    }
    let wait = TimelineCommits.delay(after: recovery.failures + 1)
    let at = askAgainLater(
      wish: max(wait, settings.policy.retry.obeyed(failure.serverWish) ?? .zero), &step)
    postponeLooked(until: max(at, step.now.advanced(by: .seconds(5))), &step)
  }

  mutating func expireRecovery(_ step: inout Step) {
    if let run = recovery.run {
      fetchFailed(run.fetch, .timeout(.response), &step)
    } else {
      recovery.endWait()
      catchUpWhileConnected(&step)
    }
  }
}

extension Page {
  /// The place where a page ends; what a server without positions has below it lies behind that,
  /// in its own order, whatever the stamps are.
  fileprivate func end(in kind: Recovery.Kind) -> TimelineKey? {
    kind == .position || head != nil ? messages.lazy.map(\.key).min() : messages.last?.key
  }
}

extension Recovery.Run {
  /// What it brings came to be shown so.
  var via: Via {
    if kind == .initial { return .history }
    let isPoll = purposes.contains { if case .poll = $0 { true } else { false } }
    return isPoll ? .poll : .catchUp
  }
}

// What a connect brings, and what comes before it where it does not.
extension StreamModel {
  /// What comes before a connect: a page, unless the socket itself brings what was missed.
  ///
  /// In front again, the page is wanted first in any case (seed 001: the screen fills, then it
  /// connects); after a long absence the newest page says more than what follows the cursor.
  mutating func prepare(_ attempt: AttemptID, _ step: inout Step) {
    guard !recovery.connecting.fetchesFirst, recovery.cursor.position != nil, !takesNoMore,
      !recovery.isLong(settings, at: wall(at: step.now))
    else {
      recovery.connecting.unprepared = nil
      return catchUp(.prepare(attempt), &step)
    }
    recovery.connecting.unprepared = attempt
    drive(.prepared(attempt), &step)
  }

  /// A try of a launch failed: what it would have brought is fetched, where that may work although
  /// the socket does not; otherwise the next try may bring it.
  mutating func fetchInstead(after failure: LinkFailure, _ step: inout Step) {
    switch failure.failureClass {
    case .timeout, .silent, .proxy, .reset, .ended, .protocolError, .badRequest, .notFound,
      .tooManyRequests, .serverError, .unavailable, .otherStatus, .closedNormally, .closedRestart,
      .closedPolicy, .closedReplaced, .closedOther:
      recovery.connecting.unprepared = nil
      catchUp(.refresh, &step)
    case .unreachable, .dns, .refused, .tls, .captivePortal, .local, .unauthorized, .forbidden,
      .closedUnauthorized, .closedForbidden:
      return
    }
  }

  /// What the server says to a request beside the socket is true for the socket too, where it is
  /// about the way or the person; where it is about the page, the socket is tried all the same.
  mutating func prepareFailed(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    switch failure.failureClass {
    case .serverError, .unavailable, .notFound, .badRequest, .tooManyRequests, .otherStatus,
      .protocolError:
      drive(.prepared(attempt), &step)
    case .unreachable, .dns, .refused, .timeout, .silent, .tls, .reset, .ended, .proxy,
      .captivePortal, .local, .unauthorized, .forbidden, .closedNormally, .closedRestart,
      .closedPolicy, .closedUnauthorized, .closedForbidden, .closedReplaced,
      .closedOther:
      drive(.reject(attempt, failure), &step)
    }
  }
}

// A log that was put back: proof, and what follows.
extension StreamModel {
  /// Takes the server's log for a new one if one of these messages shows that it is.
  ///
  /// The newest page is fetched, instead of what is being fetched.
  mutating func noteOtherLog(_ messages: [Message], _ step: inout Step) {
    guard let position = otherPosition(in: messages) else { return }
    beginNewLog(at: position, &step)
    guard let run = recovery.run else {
      doubtCursor(&step)
      return
    }
    recovery.endRun()
    for purpose in run.purposes { catchUp(purpose, &step) }
  }

  /// Returns the position of a message that stands where another message is known to stand.
  ///
  /// Only the past counts, and of it only what lies above the newest gap: below a gap messages may
  /// be of a log that was replaced.
  func otherPosition(in messages: [Message]) -> Position? {
    let unknown = messages.filter(isOfThePast)
    guard !unknown.isEmpty else { return nil }
    let edge = gaps.last?.before
    let known = (timeline.messages + commits.messages).filter { $0.key >= edge ?? $0.key }
    let positions = Set(known.compactMap(\.position))
    return unknown.lazy.compactMap(\.position).first { positions.contains($0) }
  }

  /// Forgets how far the server's log is known: it was put back to an earlier state, and has other
  /// messages since.
  ///
  /// Positions of what is kept mean nothing in the new log, so time tells what was whole before.
  mutating func beginNewLog(at position: Position, _ step: inout Step) {
    step.show(.notice(.newEpoch(position)))
    let newest = timeline.forgetPositions(where: recovery.covers)
    recovery.beginNewLog(under: position.epoch, wholeUntil: newest)
    commits.waiting.change.cursor = recovery.cursor
    commits.waiting.isOfNewLog = true
  }

  /// Asks the server: either the store has the message, or the log was put back.
  mutating func doubtCursor(_ step: inout Step) {
    if recovery.run != nil {
      recovery.again = true
    } else if recovery.isSettled, link.status.phase == .connected {
      catchUp(.live, &step)
    }
  }
}

// What the pages of a server without positions prove of what is kept.
extension StreamModel {
  func meetsKept(_ page: Page) -> Bool { leadsToKept(page) && !hidesLate(page) }

  /// Whether the pages of a walk down lead to what is kept, and to all that `since` brought of what
  /// may lie below it.
  func meetsKept(_ page: Page, _ run: Recovery.Run) -> Bool {
    run.goal == nil && (run.meetsKept || meetsKept(page))
  }

  /// Whether a page without positions holds something kept, before which nothing is missing. Stamps
  /// alone do not tell: a server's clock may have gone back.
  func leadsToKept(_ page: Page) -> Bool { page.messages.contains(where: isKept) }

  private func isKept(_ message: Message) -> Bool {
    guard let time = recovery.cursor.time else { return false }
    return isSeen(message.id) && message.createdAt <= time
      && !recovery.unplaced.contains(message.id)
  }

  /// Whether something unseen in it is stamped earlier than late stamps may be.
  func hidesLate(_ page: Page) -> Bool {
    guard let time = recovery.cursor.time else { return false }
    let earliest = time.advanced(by: .zero - settings.overlap)
    return page.messages.contains { $0.createdAt < earliest && !isSeen($0.id) }
  }

  /// Whether a page of a walk brings what a clock stamped that went back: once it is kept, the next
  /// walk ends there.
  private func goesBack(_ page: Page, in run: Recovery.Run) -> Bool {
    guard case .newest = run.kind, let time = recovery.cursor.time else { return false }
    return page.messages.contains { $0.createdAt <= time && !isSeen($0.id) }
  }

  func isSeen(_ id: MessageID) -> Bool { timeline.contains(id) || commits.holds(id) }

  /// Notes how far down a page leads: `since` may bring what lies below all that is kept, without
  /// what is stamped late there. In a server's own order that follows what is kept, or is a page
  /// without any of it, and is stamped no later than late stamps may be after the oldest of it.
  func noteBottom(_ page: Page, in run: inout Recovery.Run) {
    let messages = page.messages
    switch run.kind {
    case .since:
      // Where memory is full, the store may hold what memory does not know.
      guard page.head == nil, history.hasMore, let bottom = run.bottom,
        !timeline.isFull,
        run.bottomGap != nil || holes[before: bottom] == nil
      else { return }
      let latest = bottom.createdAt.advanced(by: settings.overlap)
      let first = messages.firstIndex(where: isKept)
      let start = run.meetsKept ? 0 : first ?? 0
      run.meetsKept = run.meetsKept || first != nil
      let below = messages[start...].last { $0.createdAt <= latest && !isSeen($0.id) }
      run.goal = below?.id ?? run.goal
    case .newest:
      guard let goal = run.goal else { return }
      let place = messages.firstIndex { $0.id == goal }
      let above = messages[..<(place ?? messages.count)]
      run.meetsKept = run.meetsKept || above.contains(where: isKept)
      if place != nil || !page.hasNext { run.goal = nil }
    case .initial, .recent, .position: return
    }
  }

  /// Keeps a gap before everything that a run does not know yet while it is under way.
  mutating func moveHole(
    with page: Page, in run: inout Recovery.Run, isLast: Bool, _ step: inout Step
  ) {
    let hidesHole = !isLast && !run.meetsKept && (run.hole != nil || goesBack(page, in: run))
    if let hole = run.hole { close(hole, &step) }
    run.hole = hidesHole ? openGap(below: run.oldest, &step) : nil
    if let gap = run.bottomGap, run.goal == nil {
      close(gap, &step)
      run.bottomGap = nil
    } else if run.goal != nil, run.bottomGap == nil {
      run.bottomGap = openGap(below: run.bottom, isBottomless: true, &step)
    }
  }
}

// Gaps: the holes in a timeline that a reader sees.
extension StreamModel {
  /// Returns the gap, unless there is one already.
  ///
  /// - Parameter isBottomless: Whether nothing that is kept below says where it ends.
  @discardableResult
  mutating func openGap(
    below edge: TimelineKey?, isBottomless: Bool = false, _ step: inout Step
  ) -> Gap? {
    guard let edge, holes[before: edge] == nil else { return nil }
    let kept = isBottomless ? [] : (timeline.messages + commits.messages).filter { $0.key < edge }
    let gap = Gap(after: kept.filter { recovery.covers($0) }.map(\.key).max(), before: edge)
    holes.open(gap)
    commits.waiting.change.gaps = holes.all
    step.show(.gap(gap))
    return gap
  }

  mutating func close(_ gap: Gap, _ step: inout Step) {
    guard holes.close(gap) else { return }
    commits.waiting.change.gaps = holes.all
    step.show(.gapClosed(gap))
  }
}
