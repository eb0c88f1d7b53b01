import HoldfastCore
import HoldfastMessageData

// Catch-up, which completes the timeline.
extension StreamModel {
  /// Fetches the messages that may be missing, or joins the run in progress if that is sufficient.
  mutating func catchUp(_ purpose: Recovery.Purpose, _ step: inout Step) {
    guard link.isWanted, !link.status.isFinal else { return }
    if recovery.run != nil {
      switch purpose {
      case .live:
        // The response may lack messages that arrived after the run's request.
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
      unsure: outbox.unsure, own: outbox.oldestUnsure, credentials: requests.credentials)
    recovery.fetch(run)
    step.effects.append(.fetch(run.fetch, query))
  }

  /// Cancels all fetches. Responses that arrive later are ignored.
  mutating func stopFetching(_ step: inout Step) {
    stopCatchUp()
    stopHistory(&step)
  }

  /// Cancels the catch-up, but not the reader's fetch of older messages.
  mutating func stopCatchUp() {
    recovery.stop()
  }

  mutating func fetched(_ answer: Page, _ step: inout Step) {
    guard var run = recovery.run else { return }
    let page = answer.part(of: run)
    if page.rejected > 0 {
      step.show(.notice(.rejected(count: page.rejected, first: page.fault)))
    }
    if run.pages == 1 { run.firstHead = page.head }
    if page.head != nil { recovery.hasPositions = true }
    guard !takesNoMore else {
      // Dropped messages are fetched once the store works and the app reads again.
      recovery.endRun()
      recovery.again = true
      release(run.purposes, &step)
      postponeLooked(until: step.now.advanced(by: .seconds(5)), &step)
      return
    }
    if leavesLog(page, in: run, &step) { return }
    noteNewLog(page, in: &run)
    if goOnAfterRemoved(page, in: run, &step) { return }
    passRemoved(page, in: &run, &step)
    run.newest = (page.messages.map(\.createdAt) + [run.newest].compactMap(\.self)).max()
    run.oldest = page.end(in: run.kind) ?? run.oldest
    // A page of events may have deletions only.
    let repeats = page.through == nil && run.repetition.note(page)
    noteBottom(page, in: &run)
    let next = nextQuery(after: page, in: run, repeats: repeats)
    if next == nil, page.hasNext, run.oldest == nil, !moves(page, in: run) {
      stall(run, &step)
      return
    }
    keep(page, of: &run, isLast: next == nil, &step)
    if let next {
      moveCursor(along: page, in: run)
      goOn(run, with: next, &step)
    } else {
      finish(run, page, &step)
    }
  }

  /// Adds a page to the timeline, with the gaps and the deletions that it shows.
  private mutating func keep(
    _ page: Page, of run: inout Recovery.Run, isLast: Bool, _ step: inout Step
  ) {
    moveHole(with: page, in: &run, isLast: isLast, &step)
    if run.newLog != nil {
      coverNewLog(page, in: &run, isLast: isLast, &step)
    } else if isLast || page.changesThrough != nil {
      noteGap(page, in: run, &step)
    }
    takeOrder(page, run.query, run.fetch, &step)
    if run.newLog != nil || run.kind == .initial && run.pages == 1 {
      deleteAbsent(from: page, isNewest: run.pages == 1, &step)
    }
    take(page, of: run, &step)
  }

  /// Resets the cursor if a page shows that the server's log was replaced.
  ///
  /// - Returns: Whether the newest page was requested instead.
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

  mutating func goOn(
    _ before: Recovery.Run, with next: PageQuery, _ step: inout Step
  ) {
    var run = before
    if case .since = run.kind, case .page(_, let limit) = next {
      // The walk must reach beyond the messages that `since` returned. Memory never holds more
      // stored messages than `reach`.
      let reach = settings.memory + run.pages * settings.catchUpPage
      run.kind = .newest(pages: max(1, reach / limit))
      run.pages = 0
      run.reachesStored = false
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

  /// Returns the query for the next page of a run; `nil` if the run is over.
  private func nextQuery(
    after page: Page, in run: Recovery.Run, repeats: Bool
  ) -> PageQuery? {
    if case .since = run.kind, page.head == nil, !leavesHole(page, run) {
      return .page(
        number: 1, limit: run.pages > 1 ? settings.catchUpPage : settings.historyPage)
    }
    if let query = nextChanges(after: page, in: run) { return query }
    if run.newLog != nil { return nextOfNewLog(after: page, in: run, repeats: repeats) }
    guard !repeats, page.hasNext, run.pages < settings.catchUpPages else { return nil }
    switch run.kind {
    case .initial where page.isUnreadable:
      return .page(number: run.pages + 1, limit: settings.historyPage)
    case .initial:
      // The pages of a basic server continue as far back as a message from the outbox may be.
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
      guard !reachesStored(page, run), run.pages < pages,
        case .page(let number, let limit) = run.query
      else { return nil }
      return .page(number: number + 1, limit: limit)
    case .position:
      guard moves(page, in: run) else { return nil }
      return run.query.following(page) { recovery.reached(from: $0) }
    case .since(let since):
      // A server that ignores `since` also returns older messages.
      guard !reaches(since, page) else { return nil }
      return .since(since, page: run.pages + 1, limit: settings.catchUpPage)
    }
  }

  /// Returns the query for the changes of old messages that the newest page left out; `nil` if it
  /// left out none.
  private func nextChanges(after page: Page, in run: Recovery.Run) -> PageQuery? {
    guard run.kind == .recent, case .newest(let known, let limit) = run.query,
      let through = page.changesThrough, let head = run.firstHead, through.epoch == known.epoch,
      known.offset < through.offset, through.offset < head.offset, run.pages < settings.catchUpPages
    else { return nil }
    return .newest(knowing: through, limit: limit)
  }

  /// Returns whether a page of the messages after a position advances beyond that position.
  private func moves(_ page: Page, in run: Recovery.Run) -> Bool {
    guard page.recovered, let asked = run.query.start else { return false }
    return page.end(after: asked) != asked
  }

  private func reaches(_ since: Timestamp, _ page: Page) -> Bool {
    page.messages.contains { $0.createdAt < since }
  }

  /// Moves the cursor with each page of a run by position, since such a page covers all messages
  /// before its end.
  private mutating func moveCursor(along page: Page, in run: Recovery.Run) {
    guard let asked = run.query.start, run.newLog == nil else { return }
    let end = page.end(after: asked)
    if page.through != nil {
      recovery.moveAlongEvents(to: end)
    } else {
      recovery.move(to: recovery.reached(from: end))
    }
    // A process that ends now must meet the removed part again, since its gap is not stored yet.
    if recovery.removed == nil { commits.waiting.change.cursor = recovery.cursor }
  }

  /// Opens a gap for the reader if a run ends before it reaches the complete part.
  private mutating func noteGap(_ page: Page, in run: Recovery.Run, _ step: inout Step) {
    // No message is missing between the earlier pages of a run by position.
    let oldest = run.kind == .position ? page.end(in: run.kind) : run.oldest
    guard let oldest else { return awaitMessageAfterRemoved(page) }
    guard leavesHole(page, run) else { return }
    if run.kind == .initial,
      !(timeline.messages + commits.messages).contains(where: { $0.key < oldest })
    {
      return
    }
    openGap(below: oldest, &step)
  }

  private func leavesHole(_ page: Page, _ run: Recovery.Run) -> Bool {
    switch run.kind {
    case .initial: page.hasNext || page.hasRemovedBeginning
    case .recent where run.pages > 1 && page.changesThrough != nil: false
    case .recent: reach(of: page) != .whole
    case .newest: page.hasNext && !run.reachesStored && !reachesStored(page)
    case .position: !page.recovered && !holdsWhole(page)
    case .since(let since): page.hasNext && !reaches(since, page)
    }
  }

  /// Returns whether a page contains a message of the complete part.
  private func holdsWhole(_ page: Page) -> Bool {
    page.messages.contains { timeline.version(of: $0).map { recovery.completes($0) } ?? false }
  }

  private func reach(of page: Page) -> Recovery.Reach {
    let reach = recovery.reach(of: page, overlap: settings.overlap)
    guard page.hasNext, recovery.cursor.position == nil else {
      return holdsWhole(page) ? .whole : reach
    }
    guard leadsToStored(page) else { return .short }
    return hidesLate(page) ? .touching : reach
  }

  /// Ends a run that has more messages to fetch but cannot continue, and schedules a retry.
  private mutating func stall(_ run: Recovery.Run, _ step: inout Step) {
    recovery.endRun()
    drive(.requested(nil), &step)
    release(run.purposes, &step)
    let at = askAgainLater(&step)
    postponeLooked(until: at, &step)
  }

  /// Schedules a retry of a catch-up that did not complete the timeline. Returns the time of the
  /// retry.
  private mutating func askAgainLater(retryAfter: Duration = .zero, _ step: inout Step) -> Instant {
    let wait = TimelineCommits.delay(after: recovery.noteFailure())
    let jittered = wait - generator.duration(below: wait / 4)
    let at = step.now.advanced(by: max(jittered, retryAfter))
    // While the socket is open, messages that it may have missed are requested until they arrive.
    if link.status.phase == .connected { recovery.wait(until: at) }
    return at
  }

  /// Completes a run: moves the cursor, and continues all operations that waited for the run.
  private mutating func finish(_ run: Recovery.Run, _ page: Page, _ step: inout Step) {
    // The run reached its page limit before the end. The next run continues from there.
    let isCut = run.kind == .position && page.recovered && page.hasNext
    if isCut, page.through != nil, let asked = run.query.start {
      recovery.moveAlongEvents(to: page.end(after: asked))
    }
    recovery.endRun(isComplete: !isCut)
    recovery.connecting.unprepared = nil
    let isWhole = advanceCursor(run, page, &step)
    recovery.again = recovery.again || isCut
    recovery.cursor.wholeAt = wall(at: step.now)
    commits.waiting.change.cursor = recovery.cursor
    drive(.requested(nil), &step)
    outbox.noteAbsent(run.unsure)
    release(run.purposes, &step)
    if run.kind == .initial { noteBeginning(hasMore: page.hasNext || run.pages > 1, &step) }
    if isWhole { recovery.noteSuccess() }
    if !recovery.again { recovery.unplaced = [] }
    if recovery.again {
      catchUpWhileConnected(&step)
    } else if !isWhole {
      // The response lacked messages that the socket had announced, because the server lags behind.
      _ = askAgainLater(&step)
    }
  }

  /// Continues the operations that waited for a run.
  private mutating func release(_ purposes: [Recovery.Purpose], _ step: inout Step) {
    for purpose in purposes {
      switch purpose {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .poll(let id): drive(.polled(id, nil), &step)
      case .live, .refresh: continue
      }
    }
  }

  /// If the timeline is complete, updates the time at which it was last complete. The length of an
  /// absence is measured from this time.
  mutating func noteWhole(at now: Instant) {
    guard link.status.phase == .connected, recovery.isIdle, recovery.ahead.isEmpty,
      recovery.backlog == nil
    else { return }
    recovery.cursor.wholeAt = wall(at: now)
    commits.waiting.change.cursor = recovery.cursor
  }

  /// Moves the cursor to the end of the messages that a finished run covers. Returns false if live
  /// messages lie beyond a hole.
  private mutating func advanceCursor(
    _ run: Recovery.Run, _ page: Page, _ step: inout Step
  ) -> Bool {
    if let newest = run.newest {
      recovery.cursor.time = max(recovery.cursor.time ?? newest, newest)
    }
    if let covered = covered(by: run, page) {
      let isNew = covered.epoch != recovery.cursor.position?.epoch
      if isNew, recovery.cursor.position != nil { step.show(.notice(.newEpoch(covered))) }
      if isNew || covered.offset > recovery.cursor.position?.offset ?? 0 {
        recovery.move(to: covered)
      }
    }
    // Messages that a cut run of events left for later may lie before the offsets ahead.
    return recovery.cursor.base == nil ? recovery.advance() : recovery.ahead.isEmpty
  }

  /// Returns the position up to which a finished run fetched all messages or left a gap.
  private func covered(by run: Recovery.Run, _ page: Page) -> ShopPosition? {
    switch run.kind {
    case .initial, .recent, .since, .newest: return run.firstHead
    case .position:
      // If there is no next page, all messages up to the head were received, even if some of them
      // are unreadable.
      guard let asked = run.query.start else { return page.head }
      let end = page.end(after: asked)
      return page.recovered && page.hasNext ? end : page.head ?? page.messages.last?.position
    }
  }

  mutating func catchUpWhileConnected(_ step: inout Step) {
    recovery.again = false
    let isConnected = link.status.phase == .connected
    // The next poll or the next socket shows which messages were missed.
    if isConnected { catchUp(.live, &step) } else { recovery.noteIncomplete() }
  }

  mutating func fetchFailed(_ id: FetchID, _ failure: LinkFailure, _ step: inout Step) {
    guard let run = recovery.run, run.fetch == id else { return }  // a late event
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
      retryAfter: max(wait, settings.policy.retry.honored(failure.retryAfter) ?? .zero), &step)
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

extension PageQuery {
  /// The position after which all events are requested; `nil` for other queries.
  var start: ShopPosition? {
    switch self {
    case .after(let position, _), .changes(let position, _): position
    case .page, .since, .before, .newest, .beforeID, .afterID: nil
    }
  }

  /// Returns the same query for all events after another position.
  func beginning(after position: ShopPosition) -> PageQuery {
    switch self {
    case .changes(_, let limit): .changes(after: position, limit: limit)
    case .after(_, let limit): .after(position, limit: limit)
    case .page, .since, .before, .newest, .beforeID, .afterID: self
    }
  }

  /// Returns the query for the page that follows a page of all events after a position.
  ///
  /// - Parameter reached: Returns the position up to which the socket delivered the messages after
  ///   a position. Events of the socket say nothing about messages that were not fetched.
  fileprivate func following(
    _ page: Page, reached: (ShopPosition) -> ShopPosition
  ) -> PageQuery? {
    guard let start else { return nil }
    let last = page.end(after: start)
    let end = page.through == nil ? reached(last) : last
    return switch self {
    case .changes(_, let limit): .changes(after: end, limit: limit)
    case .after(_, let limit): .after(end, limit: limit)
    case .page, .since, .before, .newest, .beforeID, .afterID: nil
    }
  }
}

extension Page {
  /// Returns the part of an answer that belongs to a run.
  ///
  /// A further request for changes of old messages returns the newest page again. Messages that are
  /// newer than the first page are left to the next catch-up.
  fileprivate func part(of run: Recovery.Run) -> Page {
    guard run.kind == .recent, run.pages > 1, changesThrough != nil else { return self }
    var part = self
    (part.messages, part.rejected, part.fault) = ([], 0, nil)
    return part
  }

  /// Returns the key at which a page ends.
  ///
  /// A server without positions continues below this message in its own order, regardless of the
  /// timestamps.
  fileprivate func end(in kind: Recovery.Kind) -> TimelineKey? {
    kind == .position || head != nil ? messages.lazy.map(\.key).min() : messages.last?.key
  }
}

extension Recovery.Run {
  /// The way in which the messages of this run arrive.
  var via: StreamUpdate.Via {
    if kind == .initial { return .history }
    let isPoll = purposes.contains { if case .poll = $0 { true } else { false } }
    return isPoll ? .poll : .catchUp
  }
}

// The catch-up before a connect or over the socket itself.
extension StreamModel {
  /// Fetches a page before a connect, unless the socket itself delivers the missed messages.
  ///
  /// After a return to the foreground, the page always comes first: the screen fills, then the app
  /// connects. After a long absence the newest page is more useful than the messages after the
  /// cursor.
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

  /// Fetches missed messages after an unprepared attempt failed, if a request may work without a
  /// socket.
  ///
  /// Otherwise the next attempt may deliver them.
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

  /// Handles a failure to fetch the page before a connect.
  ///
  /// If the failure concerns the network or the user, it also rejects the attempt. If the failure
  /// concerns only the page, the attempt continues.
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

// Detection of a log that was restored to an earlier state, and its consequences.
extension StreamModel {
  /// Resets the cursor if one of these messages shows that the server's log was replaced.
  ///
  /// In that case, the newest page is fetched instead of the current page.
  mutating func noteOtherLog(_ messages: [ShopMessage], _ step: inout Step) {
    guard let position = otherPosition(in: messages) else { return }
    beginNewLog(at: position, &step)
    guard let run = recovery.run else {
      doubtCursor(&step)
      return
    }
    recovery.endRun()
    for purpose in run.purposes { catchUp(purpose, &step) }
  }

  /// Returns the position of one of these messages if a different message is known at that
  /// position.
  ///
  /// Only messages before the cursor and above the newest gap are considered. Messages below a gap
  /// may belong to a replaced log.
  func otherPosition(in messages: [ShopMessage]) -> ShopPosition? {
    // A closure uses the model in place. A method as an argument would copy it.
    let unknown = messages.filter { isOfThePast($0) }
    guard !unknown.isEmpty else { return nil }
    let edge = gaps.last?.before
    let known = (timeline.messages + commits.messages).filter { $0.key >= edge ?? $0.key }
    let positions = Set(known.compactMap(\.position))
    return unknown.lazy.compactMap(\.position).first { positions.contains($0) }
  }

  /// Resets the cursor because the server's log was restored to an earlier state and then
  /// continued.
  ///
  /// The positions of stored messages are meaningless in the new log, so times show which part was
  /// complete.
  mutating func beginNewLog(at position: ShopPosition, _ step: inout Step) {
    step.show(.notice(.newEpoch(position)))
    let newest = timeline.messages.lazy.filter(recovery.completes).map(\.createdAt).max()
    timeline.forgetPositions(where: recovery.covers)
    recovery.beginNewLog(under: position.epoch, wholeUntil: newest)
    commits.waiting.change.cursor = recovery.cursor
    commits.waiting.isOfNewLog = true
    deletions = RecentDeletions()
  }

  /// Requests messages from the server, to find out whether the message is already stored or the
  /// log was restored.
  mutating func doubtCursor(_ step: inout Step) {
    if recovery.run != nil {
      recovery.again = true
    } else if recovery.isIdle, link.status.phase == .connected {
      catchUp(.live, &step)
    }
  }
}

// The evidence that pages of a server without positions reach stored messages.
extension StreamModel {
  func reachesStored(_ page: Page) -> Bool { leadsToStored(page) && !hidesLate(page) }

  /// Returns whether the pages of a walk reach stored messages, and all messages of `since` that
  /// may lie below them.
  func reachesStored(_ page: Page, _ run: Recovery.Run) -> Bool {
    run.goal == nil && (run.reachesStored || reachesStored(page))
  }

  /// Returns whether a page without positions contains a message of the complete part.
  ///
  /// Timestamps alone do not show this, since the server's clock may have gone back.
  func leadsToStored(_ page: Page) -> Bool { page.messages.contains { isCovered($0) } }

  private func isCovered(_ message: ShopMessage) -> Bool {
    guard let time = recovery.cursor.time else { return false }
    return isSeen(message.id) && message.createdAt <= time
      && !recovery.unplaced.contains(message.id)
  }

  /// Returns whether a page has an unseen message whose timestamp precedes the cursor by more than
  /// the overlap.
  func hidesLate(_ page: Page) -> Bool {
    guard let time = recovery.cursor.time else { return false }
    let earliest = time.advanced(by: .zero - settings.overlap)
    return page.messages.contains { $0.createdAt < earliest && !isSeen($0.id) }
  }

  /// Returns whether a page of a walk has messages that were stamped by a clock that went back.
  ///
  /// Once these messages are stored, the next walk ends at them.
  private func goesBack(_ page: Page, in run: Recovery.Run) -> Bool {
    guard case .newest = run.kind, let time = recovery.cursor.time else { return false }
    return page.messages.contains { $0.createdAt <= time && !isSeen($0.id) }
  }

  func isSeen(_ id: MessageID) -> Bool { timeline.contains(id) || commits.holds(id) }

  /// Records how far back a page reaches.
  ///
  /// `since` may return messages older than all stored ones, but omit late messages between those
  /// and the stored ones. A returned message below the stored ones follows a stored message in the
  /// server's order, or is on a page without stored messages. Its timestamp is at most `overlap`
  /// after the oldest stored message.
  func noteBottom(_ page: Page, in run: inout Recovery.Run) {
    let messages = page.messages
    switch run.kind {
    case .since:
      // If memory is full, the store may contain messages that are not in memory.
      guard page.head == nil, history.hasMore, let bottom = run.bottom,
        !timeline.isFull,
        run.bottomGap != nil || holes[before: bottom] == nil
      else { return }
      let latest = bottom.createdAt.advanced(by: settings.overlap)
      let first = messages.firstIndex { isCovered($0) }
      let start = run.reachesStored ? 0 : first ?? 0
      run.reachesStored = run.reachesStored || first != nil
      let below = messages[start...].last { $0.createdAt <= latest && !isSeen($0.id) }
      run.goal = below?.id ?? run.goal
    case .newest:
      guard let goal = run.goal else { return }
      let index = messages.firstIndex { $0.id == goal }
      let above = messages[..<(index ?? messages.count)]
      run.reachesStored = run.reachesStored || above.contains { isCovered($0) }
      if index != nil || !page.hasNext { run.goal = nil }
    case .initial, .recent, .position: return
    }
  }

  /// Keeps a gap below the messages of an unfinished run.
  mutating func moveHole(
    with page: Page, in run: inout Recovery.Run, isLast: Bool, _ step: inout Step
  ) {
    let hidesHole = !isLast && !run.reachesStored && (run.hole != nil || goesBack(page, in: run))
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

// Gaps: the holes that a reader sees in a timeline.
extension StreamModel {
  /// Opens a gap and returns it. Returns `nil` if there is already a gap at this message.
  ///
  /// - Parameter isBottomless: Whether no stored message below the gap marks its end.
  @discardableResult
  mutating func openGap(
    below edge: TimelineKey?, isBottomless: Bool = false, _ step: inout Step
  ) -> ShopGap? {
    guard let edge, holes[before: edge] == nil else { return nil }
    let older = isBottomless ? [] : (timeline.messages + commits.messages).filter { $0.key < edge }
    let whole = older.filter { recovery.completes($0) }
    let gap = ShopGap(after: whole.map(\.key).max(), before: edge)
    show(gap, &step)
    return gap
  }

  /// Adds a gap. There must be none at its upper end.
  mutating func show(_ gap: ShopGap, _ step: inout Step) {
    holes.open(gap)
    commits.waiting.change.gaps = holes.all
    step.show(.gap(gap))
  }

  mutating func close(_ gap: ShopGap, _ step: inout Step) {
    guard holes.close(gap) else { return }
    commits.waiting.change.gaps = holes.all
    step.show(.gapClosed(gap))
  }
}
