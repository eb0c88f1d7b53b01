import LinkCore

extension StreamFeature {
  public static func draw(_ preset: DayPreset, _ sketch: inout Sketch<StreamFeature>) {
    switch preset {
    case .lift: sketch.lift()
    case .train: sketch.train()
    case .cafe: sketch.cafe()
    case .aeroplane: sketch.aeroplane()
    case .captivePortal: sketch.captivePortal()
    case .deploy: sketch.deploy()
    case .swarm: sketch.swarm()
    }
  }
}

extension Act<StreamVerb> {
  /// All tokens are void; the next refresh does this.
  static func revokeTokens(_ refresh: TokenRefresh) -> Act {
    Act(.revokeTokens, 0, refresh.rawValue)
  }
}

extension Sketch<StreamFeature> {
  /// What people do on any day: others talk, the user answers, scrolls and pulls.
  mutating func life(others: ClosedRange<Int>, sends: ClosedRange<Int>) {
    scatter(draw.count(others)) {
      Act(.others, $0.happens(0.1) ? $0.count(10...40) : $0.count(1...5))
    }
    scatter(draw.count(sends)) { _ in Act(.send) }
    scatter(draw.count(0...3)) {
      $0.one(Act(.loadOlder), Act(.loadOlder), Act(.pullToRefresh), Act(.retryFailed))
    }
  }

  fileprivate mutating func lift() {
    life(others: 8...16, sends: 3...6)
    scatter(draw.count(8...20)) { Act(.unreachable, for: $0.seconds(3, 45)) }
    scatter(draw.count(2...6)) {
      $0.one(Act(.halfOpen), Act(.reset), Act(.handover), Act(.blackHole, for: $0.seconds(2, 60)))
    }
    scatter(draw.count(0...2)) { Act(.suspend, for: $0.seconds(10, 200)) }
  }

  fileprivate mutating func train() {
    weather.delay = draw.seconds(0.04, 0.15)
    weather.jitter = draw.seconds(0.05, 0.4)
    weather.loss = draw.one(0, 0.01, 0.03)
    weather.slow = draw.one(0, 0.02, 0.05)
    numbers.ping = draw.one(.seconds(54), .seconds(54), .seconds(75))
    life(others: 8...16, sends: 3...8)
    scatter(draw.count(5...10)) { _ in Act(.handover) }
    scatter(draw.count(3...8)) { Act(.unreachable, for: $0.seconds(5, 240)) }
    scatter(draw.count(2...6)) { Act(.blackHole, for: $0.seconds(3, 180)) }
    scatter(draw.count(1...3)) {
      Act(.narrow, $0.count(300...8000), for: $0.seconds(20, 300))
    }
    scatter(draw.count(1...4)) { $0.one(Act(.mappingExpired), Act(.halfOpen)) }
    scatter(draw.count(0...2)) {
      $0.one(Act(.suspend, for: $0.seconds(10, 600)), Act(.kill, for: $0.seconds(0, 60)))
    }
  }

  fileprivate mutating func cafe() {
    add(
      .portal(draw.seconds(20, 400), draw.happens(0.5)),
      at: draw.seconds(5, 60))
    weather.delay = draw.seconds(0.05, 0.3)
    weather.jitter = draw.seconds(0.1, 1.5)
    weather.loss = draw.one(0.02, 0.05, 0.1)
    weather.slow = draw.one(0.02, 0.1)
    weather.twice = draw.one(0, 0.05)
    weather.bandwidth = draw.one(0, 20_000, 5_000)
    life(others: 10...20, sends: 4...8)
    scatter(draw.count(3...8)) {
      $0.one(
        Act(.suspend, for: $0.seconds(10, 900)), Act(.background, for: $0.seconds(2, 300)),
        Act(.leaveScreen, for: $0.seconds(2, 200)))
    }
    scatter(draw.count(1...4)) { $0.one(Act(.reset), Act(.halfOpen), Act(.mappingExpired)) }
    scatter(draw.count(0...2)) { Act(.kill, for: $0.seconds(0, 100)) }
    scatter(draw.count(0...2)) {
      $0.one(Act(.slowReader, for: $0.seconds(5, 200)), .dialsFail(.dns, $0.seconds(2, 60)))
    }
  }

  fileprivate mutating func aeroplane() {
    length = draw.seconds(7200, 21_600)
    numbers.tokenLife = draw.one(.seconds(1800), .seconds(3600))
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    add(Act(.unreachable, for: flight), at: start)
    let rest = start + .seconds(120)
    if draw.happens(0.7) { add(Act(.sleep, for: flight / 2), at: rest) }
    if draw.happens(0.3) { add(Act(.kill, for: flight / 4), at: start + flight / 2) }
    life(others: 20...35, sends: 4...8)
    scatter(draw.count(0...3)) { Act(.others, $0.count(60...150)) }
    scatter(draw.count(1...3)) { Act(.suspend, for: $0.seconds(60, 1800)) }
    if draw.happens(0.3) { add(Act(.deploy, for: draw.seconds(5, 60)), at: rest) }
  }

  fileprivate mutating func captivePortal() {
    numbers.tokenLife = draw.one(.seconds(300), .seconds(900), .seconds(1800))
    life(others: 10...18, sends: 3...7)
    scatter(draw.count(4...9)) {
      .portal($0.seconds(10, 500), $0.happens(0.5))
    }
    scatter(draw.count(1...4)) { $0.one(Act(.handover), Act(.unreachable, for: $0.seconds(3, 60))) }
    scatter(draw.count(0...3)) { Act(.suspend, for: $0.seconds(10, 300)) }
    scatter(draw.count(0...2)) { .revokeTokens($0.one(.works, .works, .fails, .hangs)) }
    scatter(draw.count(0...2)) {
      .dialsFail($0.one(.dns, .proxy, .certificate), $0.seconds(5, 120))
    }
  }

  fileprivate mutating func deploy() {
    numbers.tokenLife = draw.one(.seconds(600), .seconds(1800))
    life(others: 12...20, sends: 4...8)
    scatter(draw.count(3...7)) {
      $0.one(Act(.deploy, for: $0.seconds(1, 60)), Act(.crash, for: $0.seconds(1, 120)))
    }
    scatter(draw.count(2...5)) {
      $0.one(
        Act(.close, $0.one(1001, 1011, 1012, 1013)), Act(.dieAfterNextPost, for: $0.seconds(1, 40)),
        Act(.slowStore, by: $0.seconds(0.2, 12), for: $0.seconds(10, 120)))
    }
    scatter(draw.count(1...4)) {
      $0.one(
        Act(.restStatus, $0.one(500, 502, 503, 429), for: $0.seconds(5, 200)),
        Act(.upgradeStatus, $0.one(503, 502, 404, 500, 429), for: $0.seconds(5, 300)))
    }
    scatter(draw.count(0...2)) { Act(.trim, $0.count(0...50)) }
    if draw.happens(0.4) { scatter(1) { Act(.beginAnew, $0.count(0...80)) } }
    if draw.happens(0.3) { scatter(1) { .revokeTokens($0.one(.works, .fails)) } }
    scatter(draw.count(0...2)) { Act(.suspend, for: $0.seconds(10, 300)) }
  }
}
