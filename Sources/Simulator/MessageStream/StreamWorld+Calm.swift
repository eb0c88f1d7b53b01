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

  /// Waits until everything is whole, as the user who retries what failed sees it.
  mutating func heal() {
    becomeWhole()
    scroll()
    leave()
  }

  private mutating func becomeWhole() {
    let limit = now.advanced(by: kernel.setup.policy.calmLimit)
    var isWhole = false
    while !isWhole, now < limit, !kernel.isAborted {
      isWhole = run(until: min(limit, now.advanced(by: .seconds(30)))) { $0.isHealed }
      if !isWhole { tryAgain() }
    }
    guard isWhole else { return }  // a checker says so
    screen.awaited = "the last word"
    post(text: "the last word")
    let isThere = run(until: now.advanced(by: .seconds(120))) { $0.isHealed && $0.hasLast }
    if !isThere { blame("the last message was not shown: \(complaint)") }
  }

  /// What a user does who sees that something failed. What was on its way when calm began, such as
  /// somebody else's certificate, may still have ended the link.
  private mutating func tryAgain() {
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

  /// What was given up may still be on its way to the server: what it brings is to be seen, too.
  private var isHealed: Bool {
    standing.status.phase == .connected
      && standing.own.isWhole
      && disk.outbox.isEmpty
      && standing.own.backlog.unsent == 0
      && !kernel.exchanges.contains(where: \.isAbandoned)
  }

  private var standing: Standing<StreamFeature> { kernel.bench.views[0].standing }

  private var complaint: String {
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

  /// The user leaves; nothing may be left to wait for.
  private mutating func leave() {
    phone.told.isOpen = false
    give(.close, to: phoneID)
    run(until: now.advanced(by: .seconds(60)))
  }

  mutating func blame(_ detail: String) {
    kernel.find(.unhealed, detail)
  }
}
