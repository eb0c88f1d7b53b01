import LinkCore
import LinkWire
import MessageStream

// The end of a run: nothing goes wrong any more, and everything must become whole.
extension StreamWorld {
  mutating func prepareCalm() {
    phone.refresh = .works
    setServerClock()
  }

  /// The user looks at the shop, signed in.
  mutating func becomeCalm() {
    signIn()
    give(.open(at: phoneWall), to: phoneID)
  }

  /// A clock that is back is set right: what a plain server stamps far back may stay unfound.
  private mutating func setServerClock() {
    guard let newest = backend.log.messages.map(\.createdAt).max(), serverWall < newest else {
      return
    }
    kernel.hosts[server.place].wallOffset += serverWall.duration(to: newest)
  }

  mutating func heal() {
    becomeWhole()
    scroll()
    finish()
  }

  mutating func happenLast() {
    screen.awaited = "the last word"
    post(text: "the last word")
  }

  /// What a user does who sees that something failed. What was on its way when calm began, such as
  /// somebody else's certificate, may still have ended the link.
  mutating func tryAgain() {
    retryFailed()
    if standing.status.phase == .failed {
      give(.open(at: phoneWall), to: phoneID)
    }
  }

  /// It is shown, or kept: one that is stamped before all that is shown comes by scrolling up.
  private var hasLast: Bool {
    guard let awaited = screen.awaited else { return true }
    return screen.hasMore
      && disk.ordered.contains { disk.messages[$0.id]?.text == awaited }
  }

  /// An abandoned request may still be on its way to the server, and what it brings is to be seen
  /// too. An abandoned post may be under way although the client still waits for the answer.
  var isComplete: Bool {
    standing.status.phase == .connected
      && standing.own.isWhole
      && disk.outbox.isEmpty
      && standing.own.backlog.unsent == 0
      && !isAheadOfLog
      && !kernel.exchanges.contains { $0.isAbandoned || $0.question.isPost }
      && hasLast
  }

  private var standing: Standing<StreamFeature> { kernel.bench.views[0].standing }

  var complaint: String {
    "\(standing.status), whole: \(standing.own.isWhole), "
      + "to be sent: \(disk.outbox.count), "
      + "\(standing.own.backlog)"
  }

  /// Scrolls up until there is nothing older.
  private mutating func scroll() {
    for _ in 0..<2000 where !kernel.isAborted {
      if !screen.hasMore, disk.gaps.isEmpty {
        if let text = screen.awaited { blame("not shown where history begins: \(text)") }
        return
      }
      let before = screen.histories
      give(.loadOlder, to: phoneID)
      if !run(until: now.advanced(by: .seconds(60)), { $0.screen.histories > before }) {
        blame("older messages were asked for, and there was no answer")
        return
      }
    }
    if !kernel.isAborted { blame("scrolling up never ends") }
  }

  mutating func leave() {
    phone.told.isOpen = false
    give(.close, to: phoneID)
  }

  mutating func blame(_ detail: String) {
    kernel.find(.unhealed, detail)
  }
}
