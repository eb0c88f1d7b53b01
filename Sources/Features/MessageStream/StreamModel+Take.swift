import LinkCore
import LinkWire

// The one door: every input and where it goes.
extension StreamModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .open(let wall): open(at: wall, &step)
    case .close: close(&step)
    case .realtime(let isOn): switchRealtime(isOn, &step)
    case .refresh: refresh(&step)
    case .reader(let isBehind): turn(readerBehind: isBehind, &step)
    case .loadOlder: loadOlder(&step)
    case .send(let text, let parent, let wall): send(text, parent, at: wall, &step)
    case .retry(let id): retry(id, &step)
    case .discard(let id): discard(id, &step)
    case .link(let event, let wall): hear(event, at: wall, &step)
    case .credentials(let event): credentials(event, &step)
    case .user(let user): author = user
    case .opened(let attempt, let head, let after): opened(attempt, head, after: after, &step)
    case .frame(let attempt, let frame): received(frame, attempt, &step)
    case .fetched(let id, let page): answered(id, page, &step)
    case .fetchFailed(let id, let failure): unanswered(id, failure, &step)
    case .posted(let id, let message): posted(id, message, &step)
    case .postFailed(let id, let number, let failure): postFailed(id, number, failure, &step)
    case .loaded(let snapshot): loaded(snapshot, &step)
    case .loadFailed(let failure): loadFailed(failure, &step)
    case .committed(let id, let commit): committed(id, commit, &step)
    case .commitFailed(let id, let failure): commitFailed(id, failure, &step)
    case .older(let messages): older(messages, &step)
    case .olderFailed(let failure): olderFailed(failure, &step)
    }
  }

  private mutating func switchRealtime(_ isOn: Bool, _ step: inout Step) {
    wish = isOn ? .live : .standbyOnly
    if link.isWanted { drive(.want(wish), &step) }
  }

  private mutating func turn(readerBehind isBehind: Bool, _ step: inout Step) {
    isReaderBehind = isBehind
    if !isBehind, recovery.again, recovery.run == nil { catchUpWhileConnected(&step) }
  }

  /// Takes an event of the device or of the socket. The wall clock may have been set while the
  /// device slept or the app was in background.
  private mutating func hear(_ event: LinkEvent, at wall: Timestamp, _ step: inout Step) {
    switch event {
    case .device(.reachability(let reachability)):
      if case .reachable = reachability { outbox.queue.hurry() }
      noteWhole(at: step.now)
      drive(HeldLink.Input(event), &step)
    case .device(.lifecycle(let lifecycle)):
      note(wall: wall, at: step.now)
      turn(lifecycle, &step)
    case .device(.woke):
      note(wall: wall, at: step.now)
      drive(HeldLink.Input(event), &step)
    case .device(.again): refresh(&step)
    case .ping, .pong: drive(HeldLink.Input(event), &step)
    case .oversized(let attempt, let bytes): oversized(bytes, attempt, &step)
    case .lost(let attempt, let failure): lost(attempt, failure, &step)
    }
  }

  private mutating func lost(
    _ attempt: AttemptID, _ failure: LinkFailure, _ step: inout Step
  ) {
    if attempt == link.currentAttempt { noteWhole(at: step.now) }
    let isUnprepared = attempt == link.currentAttempt && attempt == recovery.unprepared
    drive(.lost(attempt, failure), &step)
    if isUnprepared { fetchInstead(after: failure, &step) }
  }

  private mutating func answered(_ id: FetchID, _ page: Page, _ step: inout Step) {
    if history.fetch?.id == id {
      historyFetched(page, &step)
    } else if recovery.run?.fetch == id {
      fetched(page, &step)
    } else {
      // Late: nothing waits for it, but it shows that the server accepts the credentials.
      drive(.requested(nil), &step)
    }
  }

  private mutating func unanswered(_ id: FetchID, _ failure: LinkFailure, _ step: inout Step) {
    if history.fetch?.id == id {
      historyFailed(failure, &step)
    } else {
      fetchFailed(id, failure, &step)
    }
  }

  private mutating func olderFailed(_ failure: StoreFailure, _ step: inout Step) {
    history.isReading = false
    history.isWanted = false
    step.show(.notice(.store(failure)))
    step.show(.history(hasMore: history.hasMore))
  }
}
