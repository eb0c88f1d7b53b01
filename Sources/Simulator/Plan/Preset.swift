import LinkCore

/// A kind of day that a phone has; each draws plans of its own.
public enum Preset: String, Sendable, Hashable, Codable, CaseIterable {
  /// No way out for short times, again and again; some rides make connections half-open instead.
  case lift
  /// Handovers, dead zones with and without a word, a narrow way, mappings that expire.
  case train
  /// A login page, then a slow network that loses much, on a phone that is put away and taken out.
  case cafe
  /// Hours without a way out, with the phone asleep for much of it; messages pile up on both sides.
  case aeroplane
  /// Login pages that come and go, known to the device or not, and tokens that end meanwhile.
  case captivePortal
  /// The server restarts, drains, refuses, forgets, and loses its epoch.
  case deploy
  /// Everything, with chances, weather and page sizes of its own for each seed.
  case swarm
}

extension Plan {
  /// The plan of a seed: at least an hour of trouble.
  public static func drawn(_ preset: Preset, seed: UInt64, server: ServerKind) -> Plan {
    var draft = Sketch(seed: seed ^ preset.salt, server: server)
    switch preset {
    case .lift: draft.lift()
    case .train: draft.train()
    case .cafe: draft.cafe()
    case .aeroplane: draft.aeroplane()
    case .captivePortal: draft.captivePortal()
    case .deploy: draft.deploy()
    case .swarm: draft.swarm()
    }
    return draft.finished(seed: seed)
  }
}

extension Preset {
  /// Makes the same seed another day in each preset.
  fileprivate var salt: UInt64 {
    switch self {
    case .lift: 0x1F << 40
    case .train: 0x2E << 40
    case .cafe: 0x3D << 40
    case .aeroplane: 0x4C << 40
    case .captivePortal: 0x5B << 40
    case .deploy: 0x6A << 40
    case .swarm: 0x79 << 40
    }
  }
}

extension Sketch {
  fileprivate mutating func lift() {
    life(others: 8...16, sends: 3...6)
    scatter(draw.count(8...20)) { .unreachable(for: $0.seconds(3, 45)) }
    scatter(draw.count(2...6)) {
      $0.one(.halfOpen, .reset, .handover, .blackHole(for: $0.seconds(2, 60)))
    }
    scatter(draw.count(0...2)) { .suspend(for: $0.seconds(10, 200)) }
  }

  fileprivate mutating func train() {
    weather.delay = draw.seconds(0.04, 0.15)
    weather.jitter = draw.seconds(0.05, 0.4)
    weather.loss = draw.one(0, 0.01, 0.03)
    weather.slow = draw.one(0, 0.02, 0.05)
    weather.ping = draw.one(.seconds(54), .seconds(54), .seconds(75))
    life(others: 8...16, sends: 3...8)
    scatter(draw.count(5...10)) { _ in .handover }
    scatter(draw.count(3...8)) { .unreachable(for: $0.seconds(5, 240)) }
    scatter(draw.count(2...6)) { .blackHole(for: $0.seconds(3, 180)) }
    scatter(draw.count(1...3)) {
      .narrow(bytesPerSecond: Int64($0.count(300...8000)), for: $0.seconds(20, 300))
    }
    scatter(draw.count(1...4)) { $0.one(.mappingExpired, .halfOpen) }
    scatter(draw.count(0...2)) {
      $0.one(.suspend(for: $0.seconds(10, 600)), .kill(relaunchAfter: $0.seconds(0, 60)))
    }
  }

  fileprivate mutating func cafe() {
    add(
      .captivePortal(for: draw.seconds(20, 400), isKnown: draw.happens(0.5)),
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
        .suspend(for: $0.seconds(10, 900)), .background(for: $0.seconds(2, 300)),
        .leaveScreen(for: $0.seconds(2, 200)))
    }
    scatter(draw.count(1...4)) { $0.one(.reset, .halfOpen, .mappingExpired) }
    scatter(draw.count(0...2)) { .kill(relaunchAfter: $0.seconds(0, 100)) }
    scatter(draw.count(0...2)) {
      $0.one(.slowReader(for: $0.seconds(5, 200)), .dialsFail(.dns, for: $0.seconds(2, 60)))
    }
  }

  fileprivate mutating func aeroplane() {
    length = draw.seconds(7200, 21_600)
    weather.tokenLife = draw.one(.seconds(1800), .seconds(3600))
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    add(.unreachable(for: flight), at: start)
    let rest = start + .seconds(120)
    if draw.happens(0.7) { add(.sleep(for: flight / 2), at: rest) }
    if draw.happens(0.3) { add(.kill(relaunchAfter: flight / 4), at: start + flight / 2) }
    life(others: 20...35, sends: 4...8)
    scatter(draw.count(0...3)) { .others(messages: $0.count(60...150)) }
    scatter(draw.count(1...3)) { .suspend(for: $0.seconds(60, 1800)) }
    if draw.happens(0.3) { add(.deploy(for: draw.seconds(5, 60)), at: rest) }
  }

  fileprivate mutating func captivePortal() {
    weather.tokenLife = draw.one(.seconds(300), .seconds(900), .seconds(1800))
    life(others: 10...18, sends: 3...7)
    scatter(draw.count(4...9)) {
      .captivePortal(for: $0.seconds(10, 500), isKnown: $0.happens(0.5))
    }
    scatter(draw.count(1...4)) { $0.one(.handover, .unreachable(for: $0.seconds(3, 60))) }
    scatter(draw.count(0...3)) { .suspend(for: $0.seconds(10, 300)) }
    scatter(draw.count(0...2)) { .revokeTokens(refresh: $0.one(.works, .works, .fails, .hangs)) }
    scatter(draw.count(0...2)) {
      .dialsFail($0.one(.dns, .proxy, .certificate), for: $0.seconds(5, 120))
    }
  }

  fileprivate mutating func deploy() {
    weather.tokenLife = draw.one(.seconds(600), .seconds(1800))
    life(others: 12...20, sends: 4...8)
    scatter(draw.count(3...7)) {
      $0.one(.deploy(for: $0.seconds(1, 60)), .crash(for: $0.seconds(1, 120)))
    }
    scatter(draw.count(2...5)) {
      $0.one(
        .close(code: $0.one(1001, 1011, 1012, 1013)), .dieAfterNextPost(for: $0.seconds(1, 40)),
        .slowStore(delay: $0.seconds(0.2, 12), for: $0.seconds(10, 120)))
    }
    scatter(draw.count(1...4)) {
      $0.one(
        .restStatus($0.one(500, 502, 503, 429), for: $0.seconds(5, 200)),
        .upgradeStatus($0.one(503, 502, 404, 500, 429), for: $0.seconds(5, 300)))
    }
    scatter(draw.count(0...2)) { .trim(keeping: $0.count(0...50)) }
    if draw.happens(0.4) { scatter(1) { .beginAnew(keeping: $0.count(0...80)) } }
    if draw.happens(0.3) { scatter(1) { .revokeTokens(refresh: $0.one(.works, .fails)) } }
    scatter(draw.count(0...2)) { .suspend(for: $0.seconds(10, 300)) }
  }
}
