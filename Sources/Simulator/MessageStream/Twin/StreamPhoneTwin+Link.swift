import LinkCore
import LinkWire
import MessageStream

// The inputs of the twin, and what its link means for it.
extension StreamPhoneTwin {
  mutating func take(_ input: StreamModel.Input) {
    switch input {
    case .open(let wall): open(wall)
    case .close: close()
    case .realtime(let isOn): turn(live: isOn)
    case .refresh: refresh()
    case .reader(let isBehind): turn(readerBehind: isBehind)
    case .loadOlder: loadOlder()
    case .send(let text, let parent, let wall): send(text, parent, wall)
    case .retry(let id): if let entry = queue.retry(id) { note(entry) }
    case .discard(let id): discard(id)
    case .reachability(let way): turn(way)
    case .lifecycle(let lifecycle, let wall): turn(lifecycle, wall)
    case .woke(let wall): wake(wall)
    case .credentials(let event): hear(event)
    case .user(let user): author = user
    case .opened(let attempt, let head, let start): opened(attempt, head, start)
    case .frame(let attempt, let frame): received(frame, attempt)
    case .ping(let attempt): drive(.heard(attempt))
    case .pong(let attempt, let id): drive(.pong(attempt, id))
    case .oversized(let attempt, let bytes): oversized(attempt, bytes)
    case .lost(let attempt, let failure): lost(attempt, failure)
    case .fetched(let id, let page):
      if past.search?.id == id { searched(page) } else { fetched(id, page) }
    case .fetchFailed(let id, let failure):
      if past.search?.id == id { searchFailed(failure) } else { fetchFailed(id, failure) }
    case .posted(let id, let message): posted(id, message)
    case .postFailed(let id, let number, let failure):
      if let turn = queue.sending(id), turn.number == number { sendFailed(id, failure) }
    case .loaded(let snapshot): loaded(snapshot)
    case .loadFailed(let failure): loadFailed(failure)
    case .committed(let id, let commit): committed(id, commit)
    case .commitFailed(let id, let failure):
      if pen.refuse(id, at: now) { notice(.store(failure)) }
    case .older(let messages): older(messages)
    case .olderFailed(let failure): olderFailed(failure)
    }
  }

  private mutating func turn(live isOn: Bool) {
    wish = isOn ? .live : .standbyOnly
    if link.isWanted { drive(.want(wish)) }
  }

  private mutating func turn(readerBehind isBehind: Bool) {
    isReaderBehind = isBehind
    if !isBehind, mend.again, mend.run == nil { catchUpAgain() }
  }

  private mutating func discard(_ id: UUID128) {
    guard queue[id] != nil else { return }
    drop(id)
    show(.outboxDone(id, message: nil))
  }

  private mutating func turn(_ way: Reachability) {
    if case .reachable = way { queue.hurry() }
    noteWhole()
    drive(.reachability(way))
  }

  private mutating func wake(_ wall: Timestamp) {
    set(wall)
    drive(.trigger(.woke))
  }

  private mutating func oversized(_ attempt: AttemptID, _ bytes: UInt64) {
    guard attempt == link.currentAttempt else { return }
    drive(.heard(attempt))
    notice(.oversized(bytes: bytes))
    catchUp(.live)
  }

  private mutating func lost(_ attempt: AttemptID, _ failure: LinkFailure) {
    let isPresent = attempt == link.currentAttempt
    if isPresent { noteWhole() }
    let isUnprepared = isPresent && attempt == mend.unprepared
    drive(.lost(attempt, failure))
    if isUnprepared { fetchInstead(failure) }
  }

  // The user and the device.

  private mutating func open(_ wall: Timestamp) {
    set(wall)
    switch mode {
    case .loading: return
    case .open: drive(.want(wish))
    case .closed, .broken: load()
    }
  }

  private mutating func close() {
    noteWhole()
    stopFetching()
    queue.abandon()
    if mode != .open { mode = .closed }
    drive(.want(.none))
  }

  private mutating func refresh() {
    if case .broken = mode {
      set(wall)
      load()
    } else if mode == .open, link.isWanted {
      queue.hurry()
      catchUp(.refresh)
      drive(.trigger(.userRefresh))
    }
  }

  private mutating func turn(_ lifecycle: Lifecycle, _ wall: Timestamp) {
    set(wall)
    switch lifecycle {
    case .foreground:
      queue.hurry()
      if case .broken = mode { load() }
    case .background:
      noteWhole()
      mend.fetchesFirst = true
    }
    drive(.lifecycle(lifecycle))
  }

  private mutating func hear(_ event: HeldLink.CredentialsEvent) {
    switch event {
    case .available:
      tokens += 1
      queue.credentialsRenewed()
      if mend.run == nil, mend.retryAt != nil { mend.retryAt = now }
    case .cleared: author = settings.user
    case .rejected, .refreshFailed: break
    }
    drive(.credentials(event))
    guard link.status.reason == .signIn else { return }
    queue.abandon()
    for entry in queue.items {
      if case .queued = entry.state { fail(entry.id, "sign in to send") }
    }
  }

  func isStale(_ failure: LinkFailure, _ asked: UInt64) -> Bool {
    asked < tokens && failure.failureClass == .unauthorized
  }

  // The link.

  mutating func drive(_ input: HeldLink.Input) { follow(link.handle(input, at: now)) }

  mutating func follow(_ effects: [HeldLink.Effect]) {
    for effect in effects {
      switch effect {
      case .prepare(let attempt): prepare(attempt)
      case .open(let attempt):
        out.append(.open(attempt, after: takesNothing ? nil : mend.cursor.position))
        mend.fetchesFirst = false
        mend.opening = mend.cursor.position
        if mend.unprepared != nil { mend.unprepared = attempt }
      case .close(let attempt, let reason): closed(attempt, reason)
      case .ping(let attempt, let id): out.append(.ping(attempt, id))
      case .refreshCredentials: out.append(.refreshCredentials)
      case .poll(let id):
        if settings.sendsOnly, oldestUnsure == nil {
          drive(.polled(id, nil))
        } else {
          catchUp(.poll(id))
        }
      case .status(let status): stands(status)
      case .arm, .disarm: break
      }
    }
  }

  private mutating func closed(_ attempt: AttemptID, _ reason: HeldLink.CloseReason) {
    if reason == .silent || reason == .networkChanged {
      mend.run = nil
      mend.again = false
      mend.isCurrent = false
      stopSearch()
      queue.abandon()
    }
    out.append(.close(attempt, code: reason.closeCode))
    if attempt == mend.unprepared, reason == .timeout { fetchInstead(.timeout(.connect)) }
  }

  private mutating func stands(_ status: LinkStatus) {
    show(.status(StreamPhoneTwin.words(status)))
    if status.phase != .connected { mend.ahead = [] }
    if status.phase == .disconnected || status.reason == .obstacle(.background) { stopFetching() }
    guard status.phase == .failed else { return }
    stopCatchUp()
    if status.reason == .signIn { notice(.signIn) }
    guard case .failure(let failure) = status.reason else { return }
    if [.forbidden, .closedForbidden].contains(failure.failureClass) { notice(.forbidden) }
    if failure.failureClass == .tls { notice(.security(failure)) }
  }

  /// The seed's words for a status.
  private static func words(_ status: LinkStatus) -> StreamStatus {
    var words = StreamStatus(LinkStatus(phase: .disconnected))
    switch status.phase {
    case .connecting: words.state = .connecting
    case .connected: words.state = .connected
    case .reconnecting: words.state = .reconnecting
    case .standby: words.state = .failed
    case .disconnected, .held, .failed: words.state = .disconnected
    }
    (words.attempt, words.of, words.retryAt) = (status.attempt, status.of, status.retryAt)
    (words.mode, words.reason) = (status.mode, status.reason)
    return words
  }

  private mutating func opened(_ attempt: AttemptID, _ head: Position?, _ start: Position?) {
    drive(.opened(attempt))
    guard isConnected, attempt == link.currentAttempt else { return }
    queue.hurry()
    mend.unprepared = nil
    mend.arrears = nil
    if let head {
      mend.hasPositions = true
      if mend.isWhole(at: head) {
        mend.isCurrent = true
        return
      }
      if let start, mend.isSettled, mend.goesOn(from: start, to: head) {
        mend.ahead = []
        mend.isCurrent = mend.cursor.position == head
        let until = now.advanced(by: settings.fetchTimeout)
        mend.arrears = mend.isCurrent ? nil : (head, until)
        return
      }
    }
    catchUp(.live)
  }
}
