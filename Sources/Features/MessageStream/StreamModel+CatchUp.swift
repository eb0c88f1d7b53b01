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
      case .prepare, .poll, .refresh: recovery.run?.purposes.append(purpose)
      }
      return
    }
    recovery.retryAt = nil
    if case .live = purpose, isReaderBehind {
      recovery.again = true
      return
    }
    recovery.again = false
    recovery.arrears = nil
    let (kind, query) = recovery.plan(
      settings, at: wall(at: step.now), own: outbox.oldestUnsure, gap: gaps.last)
    let run = Recovery.Run(
      fetch: newFetch(), query: query, kind: kind, purposes: [purpose],
      until: step.now.advanced(by: settings.fetchTimeout), bottom: oldestKnown,
      unsure: outbox.queue.unsure, own: outbox.oldestUnsure, credentials: credentialsCount)
    recovery.run = run
    step.effects.append(.fetch(run.fetch, query))
  }

  /// Forgets what is under way; its answer, if one comes, is late.
  mutating func stopFetching(_ step: inout Step) {
    stopCatchUp()
    stopHistory(&step)
  }

  /// The same where the reader may still ask for what is older.
  mutating func stopCatchUp() {
    recovery.run = nil
    recovery.isCurrent = false
    recovery.again = false
    recovery.retryAt = nil
    recovery.arrears = nil
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
      recovery.run = nil
      recovery.again = true
      release(run.purposes, &step)
      postponeLooked(until: step.now.advanced(by: .seconds(5)), &step)
      return
    }
    if stepsBack(before: page, in: run, &step) { return }
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

  /// Goes back by a page more in a log that was put back, if a run begins with another message than
  /// the one that is kept at its position. Memory tells, and ends this.
  private mutating func stepsBack(
    before page: Page, in run: Recovery.Run, _ step: inout Step
  ) -> Bool {
    guard run.pages == 1, page.recovered, case .after(let asked, _) = run.query, asked.offset > 0,
      let first = page.messages.first, let place = first.position, isDisplaced(by: first)
    else { return false }
    goBack(before: place, &step)
    return true
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
    run.fetch = newFetch()
    run.credentials = credentialsCount
    run.repetition.ask(knowing: newestKnown)
    run.until = step.now.advanced(by: settings.fetchTimeout)
    recovery.run = run
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
    writer.set(cursor: recovery.cursor)
  }

  /// A run that ends before it reaches what is whole leaves a hole that the reader sees.
  private mutating func noteGap(_ page: Page, in run: Recovery.Run, _ step: inout Step) {
    // What a run by position brought before lies where nothing is missing.
    let oldest = run.kind == .position ? page.end(in: run.kind) : run.oldest
    guard let oldest, leavesHole(page, run) else { return }
    if run.kind == .initial,
      !(timeline.messages + writer.messages).contains(where: { $0.key < oldest })
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
    // In a log that was put back other messages may stand below the cursor.
    let isPutBack = recovery.isBeyond(page.head) || page.messages.contains { isDisplaced(by: $0) }
    if page.hasNext, isPutBack, !holdsWhole(page) { return .short }
    guard page.hasNext, recovery.cursor.position == nil else { return reach }
    guard leadsToKept(page) else { return .short }
    return hidesLate(page) ? .touching : reach
  }

  /// There is more and no way to it: nothing is whole, and the server is asked again.
  private mutating func stall(_ run: Recovery.Run, _ step: inout Step) {
    recovery.run = nil
    recovery.isCurrent = false
    drive(.requested(nil), &step)
    release(run.purposes, &step)
    let at = askAgainLater(&step)
    postponeLooked(until: at, &step)
  }

  /// Plans the next try of a catch-up that did not bring what is there; says when.
  private mutating func askAgainLater(wish: Duration = .zero, _ step: inout Step) -> Instant {
    recovery.failures += 1
    let wait = Writer.wait(after: recovery.failures)
    let spread = wait - chance.duration(below: wait / 4)
    let at = step.now.advanced(by: max(spread, wish))
    // While the socket stands, what it may have missed is asked for until it is there.
    if link.status.phase == .connected { recovery.retryAt = at }
    return at
  }

  /// A run is whole: the cursor moves, and everybody who waited for it goes on.
  private mutating func finish(_ run: Recovery.Run, _ page: Page, _ step: inout Step) {
    recovery.run = nil
    recovery.unprepared = nil
    let isWhole = settle(run, page, &step)
    // As many pages as one run may fetch, and not the end yet: the next run goes on from there.
    let isCut = run.kind == .position && page.recovered && page.hasNext
    recovery.isCurrent = !isCut
    recovery.again = recovery.again || isCut
    recovery.cursor.wholeAt = wall(at: step.now)
    writer.set(cursor: recovery.cursor)
    drive(.requested(nil), &step)
    outbox.nowSure(run.unsure)
    release(run.purposes, &step)
    if run.kind == .initial { noteBeginning(hasMore: page.hasNext || run.pages > 1, &step) }
    if isWhole { recovery.failures = 0 }
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
      recovery.arrears == nil
    else { return }
    recovery.cursor.wholeAt = wall(at: now)
    writer.set(cursor: recovery.cursor)
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
      // A log that was put back to an earlier state goes on from there under the same epoch.
      let isBack =
        (!page.recovered || run.kind == .recent)
        && covered.offset < recovery.cursor.position?.offset ?? 0
      if isNew || isBack { recovery.ahead = [] }
      if isNew || isBack || covered.offset > recovery.cursor.position?.offset ?? 0 {
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
    if isConnected { catchUp(.live, &step) } else { recovery.isCurrent = false }
  }

  mutating func fetchFailed(_ id: FetchID, _ failure: LinkFailure, _ step: inout Step) {
    guard let run = recovery.run, run.fetch == id else { return }  // late
    recovery.run = nil
    recovery.isCurrent = false
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
    let wait = Writer.wait(after: recovery.failures + 1)
    let at = askAgainLater(
      wish: max(wait, settings.policy.retry.obeyed(failure.serverWish) ?? .zero), &step)
    postponeLooked(until: max(at, step.now.advanced(by: .seconds(5))), &step)
  }

  mutating func expireRecovery(_ step: inout Step) {
    if let run = recovery.run {
      fetchFailed(run.fetch, .timeout(.response), &step)
    } else {
      recovery.retryAt = nil
      recovery.arrears = nil
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
