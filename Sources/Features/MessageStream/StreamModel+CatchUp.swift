import LinkCore
import LinkWire

// Making the timeline whole again.
extension StreamModel {
  /// Fetches what may be missing, for a reason; joins a run that is under way where that is enough.
  mutating func catchUp(_ purpose: Recovery.Purpose, _ step: inout Step) {
    guard phase == .open else { return }
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
    recovery.again = false
    let (kind, query) = recovery.plan(settings, at: wall(at: step.now))
    let run = Recovery.Run(
      fetch: newFetch(), query: query, kind: kind, purposes: [purpose],
      until: step.now.advanced(by: settings.fetchTimeout))
    recovery.run = run
    step.effects.append(.fetch(run.fetch, query))
  }

  /// Forgets what is under way; its answer, if one comes, is late.
  mutating func stopFetching() {
    recovery.run = nil
    recovery.isCurrent = false
    recovery.again = false
    recovery.retryAt = nil
    history.fetch = nil
    history.isWanted = false
  }

  mutating func fetched(_ id: FetchID, _ page: Page, _ step: inout Step) {
    guard var run = recovery.run, run.fetch == id else { return }  // late
    if page.rejected > 0 { step.show(.notice(.rejected(count: page.rejected))) }
    if run.pages == 1 { run.firstHead = page.head }
    if page.head != nil { recovery.hasPositions = true }
    recovery.failures = 0
    let ids = Set(page.messages.map(\.id))
    run.newest = (page.messages.map(\.createdAt) + [run.newest].compactMap(\.self)).max()
    let next = nextQuery(after: page, ids: ids, in: run)
    noteGap(page, in: run, isLast: next == nil, &step)
    add(page.messages, via: run.via)
    run.lastPage = ids
    if let next, run.pages < settings.catchUpPages {
      if case .position = run.kind { moveCursor(along: page) }
      run.pages += 1
      run.query = next
      run.fetch = newFetch()
      run.until = step.now.advanced(by: settings.fetchTimeout)
      recovery.run = run
      step.effects.append(.fetch(run.fetch, next))
    } else {
      finish(run, page, &step)
    }
  }

  /// The next page of a run; `nil` when it is over.
  private func nextQuery(after page: Page, ids: Set<MessageID>, in run: Recovery.Run) -> PageQuery?
  {
    switch run.kind {
    case .initial, .recent: return nil
    case .position:
      guard page.hasNext, page.recovered, let last = page.messages.last?.position else {
        return nil
      }
      return .after(last, limit: settings.catchUpPage)
    case .since(let since):
      // A server that ignores `since` shows older messages; one that ignores `page` repeats itself.
      let reachedOlder = page.messages.contains { $0.createdAt < since }
      guard page.hasNext, !reachedOlder, !ids.isSubset(of: run.lastPage) else { return nil }
      return .since(since, page: run.pages + 1, limit: settings.catchUpPage)
    }
  }

  /// Within a run by position each page covers what is before it, so the cursor moves with it.
  private mutating func moveCursor(along page: Page) {
    guard let position = page.messages.last?.position else { return }
    recovery.cursor.position = position
    writer.set(cursor: recovery.cursor)
  }

  /// A newest page that does not reach what is kept leaves a hole that the reader sees.
  private mutating func noteGap(
    _ page: Page, in run: Recovery.Run, isLast: Bool, _ step: inout Step
  ) {
    let isNewestPage: Bool
    switch run.kind {
    case .initial: return
    case .recent: isNewestPage = page.hasNext
    case .position:
      isNewestPage = !page.recovered
      if !page.recovered, let head = page.head { step.show(.notice(.newEpoch(head))) }
    case .since: isNewestPage = isLast && run.pages >= settings.catchUpPages && page.hasNext
    }
    guard isNewestPage, let oldest = page.messages.map(\.key).min() else { return }
    let reachesKept = page.messages.contains { timeline.contains($0.id) }
    guard !reachesKept, let newest = timeline.newest, newest < oldest else { return }
    let gap = Gap(after: newest, before: oldest)
    gaps.append(gap)
    writer.set(gaps: gaps)
    step.show(.gap(gap))
  }

  /// A run is whole: the cursor moves, and everybody who waited for it goes on.
  private mutating func finish(_ run: Recovery.Run, _ page: Page, _ step: inout Step) {
    recovery.run = nil
    recovery.isCurrent = true
    let isWhole = settle(run, page)
    recovery.cursor.wholeAt = wall(at: step.now)
    writer.set(cursor: recovery.cursor)
    drive(.requested(nil), &step)
    for purpose in run.purposes {
      switch purpose {
      case .prepare(let attempt): drive(.prepared(attempt), &step)
      case .poll(let id): drive(.polled(id, nil), &step)
      case .live, .refresh: continue
      }
    }
    checkUnsureSends(&step)
    if run.kind == .initial { history.hasMore = page.hasNext }
    if recovery.again {
      catchUpWhileConnected(&step)
    } else if !isWhole {
      // The answer did not hold what the socket spoke of: a server that lags behind itself.
      recovery.retryAt = step.now.advanced(by: .seconds(1))
    }
  }

  /// Moves the cursor to what a whole run covers; false when live messages lie beyond a hole.
  private mutating func settle(_ run: Recovery.Run, _ page: Page) -> Bool {
    if let newest = run.newest {
      recovery.cursor.time = max(recovery.cursor.time ?? newest, newest)
    }
    let covered: Position?
    switch run.kind {
    case .initial, .recent, .since: covered = run.firstHead
    case .position:
      let last = page.messages.last?.position
      covered =
        page.recovered ? [last, recovery.cursor.position].compactMap(\.self).first : page.head
    }
    if let covered, covered != recovery.cursor.position {
      if covered.epoch != recovery.cursor.position?.epoch {
        recovery.ahead = []
        recovery.cursor.position = covered
      } else if covered.offset > recovery.cursor.position?.offset ?? 0 {
        recovery.cursor.position = covered
      }
    }
    return recovery.advance()
  }

  private mutating func catchUpWhileConnected(_ step: inout Step) {
    recovery.again = false
    guard link.status.phase == .connected else { return }
    catchUp(.live, &step)
  }

  mutating func fetchFailed(_ id: FetchID, _ failure: LinkFailure, _ step: inout Step) {
    guard let run = recovery.run, run.fetch == id else { return }  // late
    recovery.run = nil
    recovery.isCurrent = false
    step.show(.notice(.fetchFailed(failure)))
    for purpose in run.purposes {
      switch purpose {
      case .prepare(let attempt): prepareFailed(attempt, failure, &step)
      case .poll(let id): drive(.polled(id, failure), &step)
      case .live, .refresh: drive(.requested(failure), &step)
      }
    }
    outbox.postponeUnsure(until: step.now.advanced(by: .seconds(5)))
    guard link.status.phase == .connected, recovery.run == nil else { return }
    // While the socket stands, what it may have missed is asked for until it is there.
    let wait = Duration.seconds(min(30, 1 << min(recovery.failures, 5)))
    recovery.failures += 1
    recovery.retryAt = step.now.advanced(by: max(wait, failure.serverWish ?? .zero))
  }

  /// What the server says to a request beside the socket is true for the socket too, where it is
  /// about the way or the person; where it is about the page, the socket is tried all the same.
  private mutating func prepareFailed(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    switch failure.failureClass {
    case .serverError, .unavailable, .notFound, .badRequest, .tooManyRequests, .otherStatus,
      .protocolError:
      drive(.prepared(attempt), &step)
    case .unreachable, .dns, .refused, .timeout, .silent, .tls, .reset, .ended, .proxy,
      .captivePortal, .local, .unauthorized, .forbidden, .closedNormally, .closedRestart,
      .closedPolicy, .closedUnauthorized, .closedForbidden, .closedOther:
      drive(.reject(attempt, failure), &step)
    }
  }

  mutating func expireRecovery(_ step: inout Step) {
    if let run = recovery.run {
      fetchFailed(run.fetch, .timeout(.response), &step)
    } else {
      recovery.retryAt = nil
      catchUpWhileConnected(&step)
    }
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
