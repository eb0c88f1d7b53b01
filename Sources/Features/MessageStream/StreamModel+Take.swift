import LinkCore
import LinkWire

// The one door: every input and where it goes.
extension StreamModel {
  mutating func take(_ input: Input, _ step: inout Step) {
    switch input {
    case .open, .close, .realtime, .refresh, .loadOlder, .send, .retry, .discard:
      takeUser(input, &step)
    case .reachability, .lifecycle, .woke, .credentials:
      takeDevice(input, &step)
    case .opened, .frame, .ping, .pong, .oversized, .lost:
      takeSocket(input, &step)
    case .fetched, .fetchFailed, .posted, .postFailed:
      takeREST(input, &step)
    case .loaded, .loadFailed, .committed, .commitFailed, .older, .olderFailed:
      takeStore(input, &step)
    }
  }

  private mutating func takeUser(_ input: Input, _ step: inout Step) {
    switch input {
    case .open(let wall): open(at: wall, &step)
    case .close: close(&step)
    case .realtime(let isOn):
      wish = isOn ? .live : .standbyOnly
      if link.isWanted { drive(.want(wish), &step) }
    case .refresh: refresh(&step)
    case .loadOlder: loadOlder(&step)
    case .send(let text, let parent, let wall): send(text, parent, at: wall, &step)
    case .retry(let id): retry(id, &step)
    case .discard(let id): discard(id, &step)
    case _: return  // not the user's
    }
  }

  private mutating func takeDevice(_ input: Input, _ step: inout Step) {
    switch input {
    case .reachability(let reachability):
      if case .reachable = reachability { outbox.hurry() }
      noteWhole(at: step.now)
      drive(.reachability(reachability), &step)
    case .lifecycle(let lifecycle, let wall):
      note(wall: wall, at: step.now)
      turn(lifecycle, &step)
    case .woke(let wall):
      note(wall: wall, at: step.now)
      drive(.trigger(.woke), &step)
    case .credentials(let event): credentials(event, &step)
    case _: return  // not the device's
    }
  }

  private mutating func takeSocket(_ input: Input, _ step: inout Step) {
    switch input {
    case .opened(let attempt, let head): opened(attempt, head, &step)
    case .frame(let attempt, let frame): received(frame, attempt, &step)
    case .ping(let attempt): drive(.heard(attempt), &step)
    case .pong(let attempt, let id): drive(.pong(attempt, id), &step)
    case .oversized(let attempt, let bytes): oversized(bytes, attempt, &step)
    case .lost(let attempt, let failure):
      if attempt == link.currentAttempt { noteWhole(at: step.now) }
      drive(.lost(attempt, failure), &step)
    case _: return  // not the socket's
    }
  }

  private mutating func takeREST(_ input: Input, _ step: inout Step) {
    switch input {
    case .fetched(let id, let page):
      if history.fetch?.id == id { historyFetched(page, &step) } else { fetched(id, page, &step) }
    case .fetchFailed(let id, let failure):
      if history.fetch?.id == id {
        historyFailed(failure, &step)
      } else {
        fetchFailed(id, failure, &step)
      }
    case .posted(let id, let message): posted(id, message, &step)
    case .postFailed(let id, let failure): postFailed(id, failure, &step)
    case _: return  // not REST's
    }
  }

  private mutating func takeStore(_ input: Input, _ step: inout Step) {
    switch input {
    case .loaded(let snapshot): loaded(snapshot, &step)
    case .loadFailed(let failure): loadFailed(failure, &step)
    case .committed(let id, let commit): committed(id, commit, &step)
    case .commitFailed(let id, let failure): commitFailed(id, failure, &step)
    case .older(let messages): older(messages, &step)
    case .olderFailed(let failure):
      history.isReading = false
      history.isWanted = false
      step.show(.notice(.store(failure)))
      step.show(.history(hasMore: history.hasMore))
    case _: return  // not the store's
    }
  }
}
