import LinkCore

// The swarm: a plan that has no character but its seed's.
extension Sketch {
  mutating func swarm() {
    // A few are away for so long that only the newest page is fetched.
    let isLong = draw.happens(0.08)
    length = isLong ? draw.seconds(9000, 14_400) : draw.seconds(3600, 4500)
    drawWeather()
    life(others: 8...18, sends: 2...8)
    if isLong { add(longAbsence(), at: draw.seconds(60, 1800)) }
    // How much each kind of trouble counts in this run; some do not come at all.
    let weights = Trouble.allCases.map { _ in draw.happens(0.45) ? 0 : draw.count(1...10) }
    let sum = weights.reduce(0, +)
    guard sum > 0 else { return }
    for _ in 0..<draw.count(12...30) {
      let time = draw.seconds(5, Double(length.components.seconds))
      var left = draw.count(1...sum)
      for (kind, weight) in zip(Trouble.allCases, weights) {
        left -= weight
        guard left <= 0 else { continue }
        add(action(kind), at: time)
        break
      }
    }
    // Where clocks and epochs change, once: what a plan does twice hides what once did.
    if draw.happens(0.15) { once() }
  }

  private mutating func drawWeather() {
    weather.delay = draw.seconds(0.005, 0.2)
    weather.jitter = draw.seconds(0.001, 0.5)
    weather.bandwidth = draw.one(0, 0, 0, 50_000, 10_000)
    weather.loss = draw.one(0, 0, 0, 0.01, 0.05, 0.1)
    weather.twice = draw.one(0, 0, 0.05, 0.2)
    weather.slow = draw.one(0, 0, 0.02, 0.1, 0.5)
    weather.patience = draw.one(.seconds(9), .seconds(9), .seconds(60))
    weather.ping = draw.one(.seconds(54), .seconds(54), .seconds(30), .seconds(80))
    weather.tokenLife = draw.one(.seconds(3600), .seconds(1800), .seconds(600), .seconds(120))
    weather.lateStamps = draw.one(0, 0.05, 0.2)
    weather.equalStamps = draw.one(0, 0.1, 0.5)
    // Where pages come by arrival and stamps are late, no gap says where it ends (decision 0011).
    let pages: PageOrder = draw.one(.stamp, .arrival)
    if weather.lateStamps == 0 { weather.pages = pages }
    weather.history = draw.one(60, 60, 0, 3, 130, 260)
    weather.historyPage = draw.one(50, 50, 10, 3, 20)
    weather.catchUpPage = draw.one(100, 100, 20, 5, 50)
    weather.memory = draw.one(1000, 1000, 200, 60)
    weather.wallDrift = draw.one(0, 0, 1e-5, -1e-5, 1e-4)
  }

  /// Kinds of trouble that are drawn together.
  private enum Trouble: CaseIterable {
    case burst, background, suspend, sleep, leave, kill, cut, hole, unreachable, handover, portal
    case narrow, down, trim, status, deadlyPost, slowLog, tokens, member, frames, close, store
    case wall, scroll, reader, dials, flap
  }

  private mutating func longAbsence() -> Action {
    let span = draw.seconds(4000, 7000)
    return draw.one(
      .suspend(for: span), .sleep(for: span), .kill(relaunchAfter: span), .unreachable(for: span))
  }

  private mutating func action(_ kind: Trouble) -> Action {
    switch kind {
    case .burst: .others(messages: draw.count(20...120))
    case .background: .background(for: draw.seconds(1, 400))
    case .suspend: .suspend(for: draw.seconds(6, 900))
    case .sleep: .sleep(for: draw.seconds(5, 900))
    case .leave:
      draw.one(.leaveScreen(for: draw.seconds(0.1, 200)), .realtimeOff(for: draw.seconds(0.1, 200)))
    case .kill: .kill(relaunchAfter: draw.one(.zero, draw.seconds(0, 200)))
    case .cut: draw.one(.reset, .halfOpen, .mappingExpired)
    case .hole: .blackHole(for: draw.seconds(1, 150))
    case .unreachable: .unreachable(for: draw.seconds(0.2, 300))
    case .handover: .handover
    case .portal: .captivePortal(for: draw.seconds(5, 300), isKnown: draw.happens(0.5))
    case .narrow:
      .narrow(bytesPerSecond: Int64(draw.count(200...20_000)), for: draw.seconds(5, 300))
    case .flap: .flap(for: draw.seconds(30, 300))
    case .down, .trim, .status, .deadlyPost, .slowLog, .tokens, .member, .frames, .close:
      serverAction(kind)
    case .store:
      draw.one(
        .storeFull(for: draw.seconds(1, 200)), .storeLocked(for: draw.seconds(1, 200)),
        .storeSlow(for: draw.seconds(1, 200)))
    case .wall: .wallClock(by: draw.seconds(-300, 300))
    case .scroll: draw.one(.loadOlder, .pullToRefresh, .retryFailed)
    case .reader: .slowReader(for: draw.seconds(1, 300))
    case .dials:
      .dialsFail(draw.one(.dns, .proxy, .local, .certificate), for: draw.seconds(1, 200))
    }
  }

  private mutating func serverAction(_ kind: Trouble) -> Action {
    switch kind {
    case .down: draw.one(.crash(for: draw.seconds(0.5, 120)), .deploy(for: draw.seconds(0.5, 90)))
    case .trim: .trim(keeping: draw.count(0...100))
    case .status:
      draw.one(
        .restStatus(
          draw.one(500, 502, 503, 504, 429, 404, 400, 401, 403, 408, 410, 413),
          for: draw.seconds(2, 120)),
        .upgradeStatus(
          draw.one(500, 502, 503, 504, 404, 429, 400, 401, 403, 408, 410, 426),
          for: draw.seconds(2, 120)))
    case .deadlyPost: .dieAfterNextPost(for: draw.seconds(0.5, 60))
    case .slowLog: .slowStore(delay: draw.seconds(0.1, 12), for: draw.seconds(10, 120))
    case .tokens:
      .revokeTokens(refresh: draw.one(.works, .works, .fails, .isRefused, .hangs))
    case .member: .removeMember(for: draw.seconds(1, 200))
    case .frames: draw.one(.oversizedFrame, .malformedFrames(count: draw.count(1...6)))
    case .close:
      .close(code: draw.one(1000, 1001, 1002, 1008, 1009, 1011, 1012, 1013, 4401, 4403, 4999))
    case .burst, .background, .suspend, .sleep, .leave, .kill, .cut, .hole, .unreachable,
      .handover, .portal, .narrow, .store, .wall, .scroll, .reader, .dials, .flap:
      .reset  // not the server's
    }
  }

  private mutating func once() {
    let time = draw.seconds(5, Double(length.components.seconds))
    switch draw.count(0...3) {
    case 0: add(.beginAnew(keeping: draw.count(0...150)), at: time)
    case 1: add(.wallClock(by: draw.seconds(-7200, 7200)), at: time)
    case _:
      let back: Double = draw.happens(0.5) ? -3600 : -60
      add(.serverClock(by: draw.seconds(back, 3600)), at: time)
    }
  }
}
