public import LinkCore
import LinkStorage
import LinkWire

// What always holds between the parts of a stream.
extension StreamModel {
  public func check(_ check: inout InvariantCheck) {
    check.require(
      phase == .open || !link.isWanted, "stream: the link is wanted only while the store is open")
    check.require(
      malformed.count < max(settings.malformedLimit, 1),
      "stream: too many malformed messages end the connection")
    checkFetches(&check)
    checkReader(&check)
    checkCursor(&check)
    if check.isThorough { checkMessages(&check) }
    link.check(&check)
    recovery.check(&check)
    history.check(&check)
    writer.check(&check)
    timeline.check(&check)
    outbox.check(&check)
  }

  /// What is fetched, and why it may be.
  private func checkFetches(_ check: inout InvariantCheck) {
    check.require(
      recovery.ahead.isEmpty || link.status.phase == .connected,
      "stream: offsets lie ahead only while a socket stands")
    check.require(
      recovery.deadline == nil || (link.isWanted && !link.status.isTerminal),
      "stream: a catch-up waits only while the link is wanted")
    if let run = recovery.run {
      check.require(run.fetch.number <= lastFetch, "stream: a page of a catch-up was numbered")
      check.require(
        run.pages <= max(settings.catchUpPages, 1),
        "stream: a catch-up fetches no more pages than it may")
      check.require(
        run.credentials <= credentialsCount, "stream: a page is fetched with known credentials")
    }
    if let fetch = history.fetch {
      check.require(
        fetch.id.number <= lastFetch && fetch.id != recovery.run?.fetch,
        "stream: a request for a page is in one place")
      check.require(
        fetch.credentials <= credentialsCount,
        "stream: a page of the history is fetched with known credentials")
    }
  }

  /// What the reader and the outbox wait for.
  private func checkReader(_ check: inout InvariantCheck) {
    check.require(
      Set(gaps.map(\.before)).count == gaps.count, "stream: no two gaps end at the same message")
    check.require(
      !history.isWanted || history.isReading || history.fetch != nil || writer.feedsHistory,
      "stream: a reader waits only for something under way")
    if let echo = outbox.echo {
      check.require(
        outbox.queue.sending(echo.entry) != nil,
        "stream: a message is kept back only for a try under way")
    }
  }

  /// The cursor moves with what goes to the store, and never before it.
  private func checkCursor(_ check: inout InvariantCheck) {
    guard let told = writer.waiting.change.cursor ?? writer.inFlight?.batch.change.cursor else {
      return
    }
    check.require(
      !told.isBeyond(recovery.cursor), "stream: the store is told no cursor beyond the known one")
  }

  private func checkMessages(_ check: inout InvariantCheck) {
    check.require(
      writer.messages.allSatisfy { message in
        timeline[message.id].map { message.isEdit(of: $0) } ?? true
      }, "stream: what is shown is stored")
    guard let batch = writer.inFlight?.batch, let told = batch.change.cursor?.position else {
      return
    }
    let waiting = writer.waiting
    // A cursor that goes back follows.
    if let next = waiting.change.cursor?.position, next.offset < told.offset { return }
    check.require(
      zip(waiting.change.messages, waiting.ways).allSatisfy { message, via in
        guard via == .live, !timeline.contains(message.id), !batch.ids.contains(message.id),
          let place = message.position, place.epoch == told.epoch
        else { return true }
        return place.offset > told.offset
      }, "stream: a cursor goes to the store with the messages that it covers")
  }
}

extension Writer {
  /// Whether a change that the reader of history waits for is on its way to the store.
  var feedsHistory: Bool { waiting.feedsHistory || inFlight?.batch.feedsHistory ?? false }
}

extension Cursor {
  /// Whether it covers more than another one.
  fileprivate func isBeyond(_ other: Cursor) -> Bool {
    if let time, time > other.time ?? Timestamp(nanoseconds: .min) { return true }
    guard let position else { return false }
    guard let limit = other.position else { return true }
    return position.epoch == limit.epoch && position.offset > limit.offset
  }
}
