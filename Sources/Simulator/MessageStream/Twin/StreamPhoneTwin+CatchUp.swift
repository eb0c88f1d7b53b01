import LinkCore
import LinkWire
import MessageStream

// How the twin makes its stream whole again.
extension StreamPhoneTwin {
  // What comes before a connect.

  private var isLong: Bool {
    guard let time = mend.cursor.wholeAt else { return false }
    return time.duration(to: wall) > settings.longAbsence
  }

  mutating func prepare(_ attempt: AttemptID) {
    if mend.fetchesFirst || mend.cursor.position == nil || takesNothing || isLong {
      mend.unprepared = nil
      catchUp(.prepare(attempt))
    } else {
      mend.unprepared = attempt
      drive(.prepared(attempt))
    }
  }

  /// A try of a launch failed that would have brought what is missing.
  mutating func fetchInstead(_ failure: LinkFailure) {
    let inVain: [FailureClass] = [
      .unreachable, .dns, .refused, .tls, .captivePortal, .local, .unauthorized, .forbidden,
      .closedUnauthorized, .closedForbidden,
    ]
    if inVain.contains(failure.failureClass) { return }
    mend.unprepared = nil
    catchUp(.refresh)
  }

  // Runs.

  mutating func catchUp(_ cause: StreamPhoneMend.Cause) {
    guard mode == .open, link.isWanted, !isOver else { return }
    if mend.run != nil {
      if cause == .live { mend.again = true } else { mend.run?.causes.append(cause) }
      return
    }
    mend.retryAt = nil
    mend.again = cause == .live && isReaderBehind
    if mend.again { return }
    mend.arrears = nil
    let (aim, query) = plan()
    var run = StreamPhoneMend.Run(
      id: nextFetch(), query: query, aim: aim, causes: [cause],
      until: now.advanced(by: settings.fetchTimeout), base: allKeys.min(), unsure: queue.unsure,
      own: oldestUnsure, tokens: tokens)
    run.sameness.ask(allKeys.max())
    mend.run = run
    out.append(.fetch(run.id, query))
  }

  private func plan() -> (StreamPhoneMend.Aim, PageQuery) {
    let size = settings.catchUpPage
    if let place = mend.cursor.position {
      return isLong
        ? (.recent, .page(number: 1, limit: size)) : (.position, .after(place, limit: size))
    }
    guard let time = mend.cursor.time else {
      return (.first, .page(number: 1, limit: settings.historyPage))
    }
    if isLong, oldestUnsure == nil { return (.recent, .page(number: 1, limit: size)) }
    var since = time.advanced(by: .zero - settings.overlap)
    if let gap = gaps.last {
      since = max(since, gap.before.createdAt.advanced(by: .nanoseconds(-1)))
    }
    return (.since(since), .since(since, page: 1, limit: size))
  }

  mutating func catchUpAgain() {
    mend.again = false
    if isConnected { catchUp(.live) } else { mend.isCurrent = false }
  }

  mutating func stopCatchUp() {
    mend.run = nil
    mend.isCurrent = false
    mend.again = false
    mend.retryAt = nil
    mend.arrears = nil
  }

  mutating func stopFetching() {
    stopCatchUp()
    stopSearch()
  }

  mutating func release(_ causes: [StreamPhoneMend.Cause]) {
    for cause in causes {
      if case .prepare(let attempt) = cause { drive(.prepared(attempt)) }
      if case .poll(let id) = cause { drive(.polled(id, nil)) }
    }
  }

  // Pages.

  mutating func fetched(_ id: FetchID, _ page: Page) {
    guard var run = mend.run, run.id == id else { return drive(.requested(nil)) }
    if page.rejected > 0 { notice(.rejected(count: page.rejected, first: page.fault)) }
    if run.pages == 1 { run.head = page.head }
    if page.head != nil { mend.hasPositions = true }
    if takesNothing {
      mend.run = nil
      mend.again = true
      release(run.causes)
      return postpone(until: now.advanced(by: .seconds(5)))
    }
    // Another message is kept where a run begins: the log was put back, and that further back.
    if case .after(let asked, _) = run.query, asked.offset > 0, run.pages == 1, page.recovered,
      let first = page.messages.first, tookPlace(first)
    {
      return goBack(before: first)
    }
    run.newest = ([run.newest].compactMap(\.self) + page.messages.map(\.createdAt)).max()
    run.oldest = Self.end(of: page, run.aim) ?? run.oldest
    let isOver = run.sameness.isOver(page)
    lookDown(page, &run)
    let next = next(page, run, isOver)
    if next == nil, page.hasNext, page.messages.isEmpty, run.oldest == nil, !leadsOn(page, run) {
      mend.run = nil
      mend.isCurrent = false
      drive(.requested(nil))
      release(run.causes)
      return postpone(until: askLater())
    }
    let hides = next != nil && !run.hasTouched && (run.hole != nil || goesBack(page, run))
    if let hole = run.hole { close(hole) }
    run.hole = hides ? openGap(below: run.oldest) : nil
    turnCellar(&run)
    if next == nil { noteHole(page, run) }
    add(page.messages, run.via)
    if let next { goOn(run, page, next) } else { finish(run, page) }
  }

  private mutating func goOn(
    _ before: StreamPhoneMend.Run, _ page: Page, _ query: PageQuery
  ) {
    if leadsOn(page, before), case .after(let asked, _) = before.query {
      let place = mend.end(of: Self.end(of: page, after: asked))
      let isOther = place.epoch != mend.cursor.position?.epoch
      mend.ahead.removeAll { isOther || $0 <= place.offset }
      mend.cursor.position = place
      noteCursor()
    }
    var run = before
    run.pages += 1
    if case .since = run.aim, case .page(_, let limit) = query {
      let reach = settings.memory + before.pages * settings.catchUpPage
      run.aim = .newest(pages: max(1, reach / limit))
      run.pages = 1
      run.hasTouched = false
      run.sameness = StreamPhoneSameness()
    }
    run.query = query
    run.id = nextFetch()
    run.tokens = tokens
    run.sameness.ask(allKeys.max())
    run.until = now.advanced(by: settings.fetchTimeout)
    mend.run = run
    drive(.requested(nil))
    out.append(.fetch(run.id, query))
  }

  /// What is asked for after a page; nothing when the run is over.
  private func next(_ page: Page, _ run: StreamPhoneMend.Run, _ isOver: Bool) -> PageQuery? {
    let size = settings.catchUpPage
    if case .since = run.aim, page.head == nil, !leavesHole(page, run) {
      return .page(number: 1, limit: run.pages == 1 ? settings.historyPage : size)
    }
    guard page.hasNext, !isOver, run.pages < settings.catchUpPages else { return nil }
    let isBlank = page.messages.isEmpty && page.rejected > 0
    switch run.aim {
    case .first:
      let isOwn = run.own.map { own in
        page.head == nil
          && run.oldest.map { $0.createdAt >= own.advanced(by: .zero - settings.overlap) } ?? false
      }
      guard isBlank || isOwn ?? false else { return nil }
      return .page(number: run.pages + 1, limit: settings.historyPage)
    case .recent:
      guard isBlank || reach(page) == .edge else { return nil }
      return .page(number: run.pages + 1, limit: size)
    case .newest(let most):
      guard run.pages < most, !isDown(page, run), case .page(let number, let limit) = run.query
      else { return nil }
      return .page(number: number + 1, limit: limit)
    case .position:
      guard leadsOn(page, run), case .after(let asked, let limit) = run.query else { return nil }
      return .after(mend.end(of: Self.end(of: page, after: asked)), limit: limit)
    case .since(let since):
      guard !page.messages.contains(where: { $0.createdAt < since }) else { return nil }
      return .since(since, page: run.pages + 1, limit: size)
    }
  }

  mutating func fetchFailed(_ id: FetchID, _ failure: LinkFailure) {
    guard let run = mend.run, run.id == id else { return }
    mend.run = nil
    mend.isCurrent = false
    if isStale(failure, run.tokens) { return run.causes.forEach { catchUp($0) } }
    notice(.fetchFailed(failure))
    for cause in run.causes {
      switch cause {
      case .prepare(let attempt):
        // What is about the page alone is no reason not to try the socket.
        let isOfPage = [
          FailureClass.serverError, .unavailable, .notFound, .badRequest, .tooManyRequests,
          .otherStatus, .protocolError,
        ].contains(failure.failureClass)
        drive(isOfPage ? .prepared(attempt) : .reject(attempt, failure))
      case .poll(let number): drive(.polled(number, failure))
      case .live, .refresh: drive(.requested(failure))
      }
    }
    let wish = settings.policy.retry.obeyed(failure.serverWish) ?? .zero
    let at = askLater(wish: max(wish, StreamPhonePen.pause(mend.failures + 1)))
    postpone(until: max(at, now.advanced(by: .seconds(5))))
  }

  /// Plans the next catch-up after one that did not bring everything.
  @discardableResult
  mutating func askLater(wish: Duration = .zero) -> Instant {
    mend.failures += 1
    let wait = StreamPhonePen.pause(mend.failures)
    let at = now.advanced(by: max(wish, wait - chance.duration(below: wait / 4)))
    if mend.run == nil, isConnected { mend.retryAt = at }
    return at
  }
}
