import LinkCore
import LinkWire
import MessageStream

// The end of a run: nothing goes wrong any more, and everything must become whole.
extension World {
  mutating func play() {
    makeHistory()
    for index in plan.actions.indices {
      queue.add(.begins(index), at: Instant.zero.advanced(by: plan.actions[index].at))
    }
    launch()
    run(until: Instant.zero.advanced(by: plan.length))
    calm()
    heal()
    scroll()
    leave()
    counts.runs = 1
    counts.simulated = Instant.zero.duration(to: now)
    happenedLast()
  }

  private mutating func happenedLast() {
    facts.now = now
    bench.conclude(facts)
  }

  /// All trouble ends; the user looks at the shop, signed in.
  mutating func calm() {
    phone.doom = nil
    for index in active { end(index) }
    weather.loss = 0
    weather.slow = 0
    weather.twice = 0
    weather.delay = .milliseconds(25)
    weather.jitter = .milliseconds(25)
    weather.bandwidth = 0
    network.holeUntil = min(network.holeUntil, now)
    network.poolIsDead = false
    phone.refresh = .works
    setServerClock()
    recompute()
    if phone.process == .dead { launch() }
    happen(.calm)
    tellAll()
    signIn()
    give(.open(at: phoneWall))
  }

  /// A clock that is back is set right: what a plain server stamps far back may stay unfound.
  private mutating func setServerClock() {
    guard let newest = backend.log.messages.map(\.createdAt).max(), serverWall < newest else {
      return
    }
    backend.wallOffset += serverWall.duration(to: newest)
  }

  /// Waits until everything is whole, as the user who retries what failed sees it.
  private mutating func heal() {
    let limit = now.advanced(by: settings.calmLimit)
    var isWhole = false
    while !isWhole, now < limit, !isAborted {
      isWhole = run(until: min(limit, now.advanced(by: .seconds(30)))) { $0.isHealed }
      if !isWhole { tryAgain() }
    }
    guard isWhole else { return }  // a judge says so
    screen.awaited = "the last word"
    post(text: "the last word")
    let isThere = run(until: now.advanced(by: .seconds(120))) { $0.isHealed && $0.hasLast }
    if !isThere { blame("the last message was not shown: \(complaint)") }
  }

  /// What a user does who sees that something failed. What was on its way when calm began, such as
  /// somebody else's certificate, may still have ended the link.
  private mutating func tryAgain() {
    retryFailed()
    if facts.status.phase == .failed { give(.open(at: phoneWall)) }
  }

  /// It is shown, or kept: one that is stamped before all that is shown comes by scrolling up.
  private var hasLast: Bool {
    guard let awaited = screen.awaited else { return true }
    return screen.hasMore
      && facts.disk.ordered.contains { facts.disk.messages[$0.id]?.text == awaited }
  }

  /// What was given up may still be on its way to the server: what it brings is to be seen, too.
  private var isHealed: Bool {
    facts.status.phase == .connected && facts.isWhole && facts.disk.outbox.isEmpty
      && facts.backlog.unsent == 0 && !network.exchanges.contains(where: \.isAbandoned)
  }

  private var complaint: String {
    "\(facts.status), whole: \(facts.isWhole), to be sent: \(facts.disk.outbox.count), "
      + "\(facts.backlog)"
  }

  /// Scrolls up until there is nothing older.
  private mutating func scroll() {
    for _ in 0..<2000 where !isAborted {
      if !screen.hasMore, facts.disk.gaps.isEmpty {
        if let text = screen.awaited { blame("not shown where history begins: \(text)") }
        return
      }
      let before = screen.histories
      give(.loadOlder)
      if !run(until: now.advanced(by: .seconds(60)), { $0.screen.histories > before }) {
        blame("older messages were asked for, and there was no answer")
        return
      }
    }
    if !isAborted { blame("scrolling up never ends") }
  }

  /// The user leaves; nothing may be left to wait for.
  private mutating func leave() {
    phone.told.isOpen = false
    give(.close)
    run(until: now.advanced(by: .seconds(60)))
  }

  mutating func blame(_ detail: String) {
    findings.append(Finding(.unhealed, at: now, detail))
  }
}
