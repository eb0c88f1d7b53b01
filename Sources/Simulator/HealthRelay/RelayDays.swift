import LinkCore

/// What a plan of relays fixes for a run beside the weather.
public struct RelayNumbers: PlanNumbers {
  /// How long a call of the backend's store takes.
  public var storeDelay = Duration.milliseconds(2)
  /// How long a phone reads for an answer at the most.
  public var reading = Duration.milliseconds(100)
  /// How many bytes are added to each answer; above 2,000 it travels in parts.
  public var answerBytes = 0
  /// Whether phones can be woken by a push: 1 if they can.
  public var push = 0
  /// The phones that name no device, as bits.
  public var plain = 0
  /// The phones with a foreground service, as bits.
  public var services = 3

  public init() {}

  public static var fields: [PlanField<RelayNumbers>] {
    [
      .span("storeDelay", \.storeDelay), .span("reading", \.reading),
      .number("answerBytes", \.answerBytes, 0...1_000_000), .number("push", \.push, 0...1),
      .number("plain", \.plain, 0...3), .number("services", \.services, 0...3),
    ]
  }
}

extension RelayFeature {
  public static func draw(_ preset: DayPreset, _ sketch: inout Sketch<RelayFeature>) {
    switch preset {
    case .lift: sketch.lift()
    case .train: sketch.train()
    case .cafe: sketch.cafe()
    case .aeroplane: sketch.aeroplane()
    case .captivePortal: sketch.captivePortal()
    case .deploy: sketch.deploy()
    case .swarm: sketch.swarm()
    }
    sketch.chooseHosts()
  }
}

extension Sketch<RelayFeature> {
  /// What people do on any day, and how the phones and the backend are made.
  private mutating func life(questions: ClosedRange<Int>) {
    numbers.storeDelay = draw.one(.milliseconds(2), .milliseconds(20), .milliseconds(300))
    numbers.reading = draw.one(.milliseconds(100), .seconds(2), .seconds(12))
    numbers.answerBytes = draw.one(0, 0, 5_000, 9_000)
    numbers.push = draw.count(0...1)
    numbers.plain = draw.one(0, 0, 0, 1, 2)
    numbers.services = draw.count(0...3)
    scatter(draw.count(questions)) {
      let patience = $0.one(.seconds(60), .seconds(60), .seconds(60), $0.seconds(0.01, 30))
      return Act(.asks, by: patience)
    }
    scatter(draw.count(0...4)) { $0.one(Act(.leaves), Act(.logsOut)) }
  }

  /// Lets most acts concern one phone, and each act of an assistant one assistant.
  fileprivate mutating func chooseHosts() {
    for index in acts.indices {
      switch acts[index].act.kind ?? acts[index].act.form.host {
      case .phone:
        if draw.happens(0.75) { acts[index].act.host = draw.count(0...RelayFeature.phones - 1) }
      case .client: acts[index].act.host = draw.count(0...RelayFeature.askers - 1)
      case .backend, .peripheral, .system: continue
      }
    }
  }

  fileprivate mutating func lift() {
    life(questions: 20...40)
    scatter(draw.count(8...20)) { Act(.unreachable, for: $0.seconds(3, 45)) }
    scatter(draw.count(2...6)) { $0.one(Act(.halfOpen), Act(.reset), Act(.handover)) }
    scatter(draw.count(0...2)) { Act(.suspend, for: $0.seconds(10, 200)) }
  }

  fileprivate mutating func train() {
    weather.delay = draw.seconds(0.04, 0.15)
    weather.jitter = draw.seconds(0.05, 0.4)
    weather.loss = draw.one(0, 0.01, 0.03)
    weather.slow = draw.one(0, 0.02, 0.05)
    life(questions: 20...40)
    scatter(draw.count(5...10)) { _ in Act(.handover) }
    scatter(draw.count(3...8)) { Act(.unreachable, for: $0.seconds(5, 240)) }
    scatter(draw.count(2...6)) { Act(.blackHole, for: $0.seconds(3, 180)) }
    scatter(draw.count(1...3)) { Act(.narrow, $0.count(300...8000), for: $0.seconds(20, 300)) }
    scatter(draw.count(1...4)) { $0.one(Act(.mappingExpired), Act(.halfOpen)) }
  }

  fileprivate mutating func cafe() {
    add(.portal(draw.seconds(20, 400), draw.happens(0.5)), at: draw.seconds(5, 60))
    weather.delay = draw.seconds(0.05, 0.3)
    weather.jitter = draw.seconds(0.1, 1.5)
    weather.loss = draw.one(0.02, 0.05, 0.1)
    weather.slow = draw.one(0.02, 0.1)
    weather.twice = draw.one(0, 0.05)
    weather.bandwidth = draw.one(0, 20_000, 5_000)
    life(questions: 20...50)
    scatter(draw.count(3...8)) {
      $0.one(Act(.suspend, for: $0.seconds(10, 900)), Act(.background, for: $0.seconds(2, 300)))
    }
    scatter(draw.count(1...4)) { $0.one(Act(.reset), Act(.halfOpen), Act(.mappingExpired)) }
    scatter(draw.count(0...3)) {
      $0.one(
        Act(.kill, for: $0.seconds(0, 100)), Act(.stop, for: $0.seconds(0.1, 60)),
        .dialsFail(.dns, $0.seconds(2, 60)))
    }
  }

  fileprivate mutating func aeroplane() {
    length = draw.seconds(7200, 14_400)
    let start = draw.seconds(300, 1200)
    let flight = length - start - .seconds(600)
    add(Act(.unreachable, for: flight), at: start)
    if draw.happens(0.7) { add(Act(.sleep, for: flight / 2), at: start + .seconds(120)) }
    if draw.happens(0.3) { add(Act(.kill, for: flight / 4), at: start + flight / 2) }
    life(questions: 20...40)
    scatter(draw.count(1...3)) { Act(.suspend, for: $0.seconds(60, 1800)) }
    if draw.happens(0.3) { scatter(1) { Act(.deploy, for: $0.seconds(5, 60)) } }
  }

  fileprivate mutating func captivePortal() {
    life(questions: 20...40)
    scatter(draw.count(4...9)) { .portal($0.seconds(10, 500), $0.happens(0.5)) }
    scatter(draw.count(1...4)) { $0.one(Act(.handover), Act(.unreachable, for: $0.seconds(3, 60))) }
    scatter(draw.count(0...3)) { Act(.suspend, for: $0.seconds(10, 300)) }
    scatter(draw.count(0...2)) {
      .dialsFail($0.one(.dns, .proxy, .certificate), $0.seconds(5, 120))
    }
  }

  fileprivate mutating func deploy() {
    life(questions: 30...60)
    scatter(draw.count(3...7)) {
      $0.one(
        Act(.deploy, for: $0.seconds(1, 60)), Act(.crash, for: $0.seconds(1, 120)),
        Act(.kill, for: $0.seconds(1, 40), at: .backend))
    }
    scatter(draw.count(2...5)) {
      $0.one(
        Act(.close, $0.one(1001, 1011, 1012, 1013)),
        .store($0.one(.storeFull, .storeLocked, .storeSlow), $0.seconds(1, 100)),
        Act(.slowStore, by: $0.seconds(0.2, 4), for: $0.seconds(10, 120)))
    }
    scatter(draw.count(1...4)) {
      $0.one(
        Act(.restStatus, $0.one(500, 502, 503, 429), for: $0.seconds(5, 200)),
        Act(.upgradeStatus, $0.one(503, 502, 404, 500, 429), for: $0.seconds(5, 300)))
    }
  }

  fileprivate mutating func swarm() {
    length = draw.seconds(3600, 5400)
    weather.delay = draw.seconds(0.005, 0.2)
    weather.jitter = draw.seconds(0.001, 0.4)
    weather.bandwidth = draw.one(0, 0, 0, 50_000, 10_000)
    weather.loss = draw.one(0, 0, 0, 0.01, 0.05)
    weather.twice = draw.one(0, 0, 0.05, 0.2)
    weather.slow = draw.one(0, 0, 0.02, 0.1)
    life(questions: 20...60)
    swarm(Self.troubles, times: 8...30)
  }

  /// Kinds of trouble that are drawn together; their order is part of every seed.
  private static var troubles: [Trouble<RelayVerb>] {
    [
      .background, .background, .suspend, .sleep, .kill, .cut, .cut, .hole, .unreachable,
      .handover, .portal, .narrow, .down, .down, .status, .close, .store, .dials, .flap,
      Trouble { Act(.stop, for: $0.seconds(0.1, 60)) },
      Trouble { Act(.slowReading, for: $0.seconds(5, 200)) },
      Trouble { _ in Act(.unsent) },
      Trouble { .store($0.one(.storeFull, .storeLocked, .storeSlow), $0.seconds(1, 100)) },
      Trouble { Act(.kill, for: $0.seconds(0.5, 60), at: .backend) },
      Trouble { Act(.strangeMessage, 0, $0.one("oversized", "malformed", "unknown")) },
      Trouble { Act(.slowStore, by: $0.seconds(0.1, 4), for: $0.seconds(5, 100)) },
      Trouble { $0.one(Act(.logsOut), Act(.leaves)) },
      Trouble { Act(.serverClock, by: $0.seconds(-120, 120)) },
    ]
  }
}

extension Act<RelayVerb> {
  /// The store of the backend fails, or is slow.
  fileprivate static func store(_ verb: CommonVerb, _ span: Duration) -> Act {
    Act(verb, for: span, at: .backend)
  }
}
