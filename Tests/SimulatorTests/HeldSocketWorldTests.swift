import HoldfastCore
import HoldfastHeldChecks
import HoldfastHeldSocket
import HoldfastLinkChecks
import HoldfastWorlds
import Testing

/// Tests of the simulated world of held sockets.
@Suite(.timeLimit(.minutes(60))) struct HeldSocketWorldTests {
  @Test(arguments: HeldFeature.presets)
  func `a held socket keeps its promises in many runs`(preset: DayPreset) {
    for seed in UInt64(1)...20 {
      let outcome = HeldFeature.play(.drawn(preset, seed: seed))
      #expect(outcome.findings == [], "seed \(seed)")
    }
  }

  /// Messages sent during a black hole arrive after those that were already in transit.
  @Test func `a black hole does not reorder a connection's messages`() {
    var plan = HeldFeature.Plan(seed: 1206, events: [], length: .milliseconds(3500))
    plan.networkConditions.delay = .milliseconds(25)
    plan.networkConditions.jitter = .milliseconds(281)
    plan.networkConditions.loss = 0.1
    plan.events = [
      TimedEvent(at: .seconds(1), PlannedEvent(.feed, 6)),
      TimedEvent(at: .seconds(2), PlannedEvent(.blackHole, for: .milliseconds(500))),
    ]
    #expect(HeldFeature.play(plan).findings == [])
  }

  @Test func `a server that dies and returns at once is available in calm`() {
    var plan = HeldFeature.Plan.drawn(.lift, seed: 1)
    plan.events = [TimedEvent(at: .seconds(10), PlannedEvent(.kill, at: .backend))]
    #expect(HeldFeature.play(plan).findings == [])
  }

  @Test(arguments: [SocketSettings.Outbox.off, .memory, .durable])
  func `honors a Retry-After that lasts beyond calm`(
    outbox: SocketSettings.Outbox
  ) {
    var plan = HeldFeature.Plan(seed: 1, events: [], length: .seconds(100))
    plan.numbers.outbox = outbox
    plan.events = [
      TimedEvent(at: .seconds(10), PlannedEvent(.busy, by: .seconds(600), for: .seconds(60))),
      TimedEvent(at: .seconds(11), PlannedEvent(.reset)),
      TimedEvent(at: .seconds(50), PlannedEvent(.say)),
    ]
    #expect(HeldFeature.play(plan).findings == [])
  }

  @Test func `the same seed produces the same run of a held socket`() {
    let plan = HeldFeature.Plan.drawn(.swarm, seed: 5)
    #expect(HeldFeature.play(plan).digest == HeldFeature.play(plan).digest)
    #expect(
      HeldFeature.play(plan).digest != HeldFeature.play(.drawn(.swarm, seed: 6)).digest)
  }
}

/// Tests that apply the checkers of a held socket to a journal.
struct HeldRecordTests {
  @Test(arguments: SocketSettings.Outbox.allCases)
  func `a correct run satisfies the checkers`(outbox: SocketSettings.Outbox) {
    #expect(Self.findings(outbox) == [])
  }

  @Test(arguments: SocketSettings.Outbox.allCases)
  func `a message that is sent twice is detected`(outbox: SocketSettings.Outbox) {
    let found = Self.findings(outbox) { effect in
      if case .send = effect { [effect, effect] } else { [effect] }
    }
    #expect(Set(found.map(\.kind)) == [.duplicated])
  }

  @Test(arguments: [0, 2])
  func `a standing message that is not sent once on each connection is detected`(times: Int) {
    let found = Self.findings { effect in
      if case .standing = effect { Array(repeating: effect, count: times) } else { [effect] }
    }
    #expect(Set(found.map(\.kind)) == [times == 0 ? .lost : .duplicated])
  }

  @Test func `a proof that is reported twice is detected`() {
    let found = Self.findings(.memory) { effect in
      if case .update(.proven) = effect { [effect, effect] } else { [effect] }
    }
    #expect(Set(found.map(\.kind)) == [.duplicated])
  }

  @Test func `finds a received message that is not delivered`() {
    let found = Self.findings { effect in
      if case .update(.message) = effect { [] } else { [effect] }
    }
    #expect(Set(found.map(\.kind)) == [.lost])
  }

  @Test func `a connection without a greeting is detected`() {
    let found = Self.findings { effect in if case .greet = effect { [] } else { [effect] } }
    #expect(Set(found.map(\.kind)) == [.unannounced])
  }

  @Test func `more attempts than the policy allows are detected`() {
    let found = Self.findings { effect in
      if case .open = effect { Array(repeating: effect, count: 101) } else { [effect] }
    }
    #expect(found.map(\.kind).contains(.storm))
  }

  @Test func `finds a connected status before a required confirmation`() {
    for awaits in [true, false] {
      let found = Self.findings(awaitsConfirmation: awaits) { effect in
        guard case .greet = effect else { return [effect] }
        return [effect, .update(.status(LinkStatus(phase: .connected)))]
      }
      #expect(Set(found.map(\.kind)) == (awaits ? [.falselyConnected] : []))
    }
  }

  @Test(arguments: [
    ("25s hold", true), ("0s hold", true), ("25s hold", false),
    ("25s idle", true), ("stay", true),
  ])
  func `a socket that is closed in the background causes no finding`(
    rule: String, isConnected: Bool
  ) throws {
    let policy = try LinkPolicy.socket.setting([("gate.background", rule)])
    var model = SocketModel(SocketSettings(policy: policy), seed: 1)
    var recorded = Recorded<HeldFeature>(model)
    func give(_ input: SocketModel.Input, at second: Double) {
      let effects = model.handle(input, at: .second(second))
      recorded.see(input, at: .second(second), effects: effects, then: model)
    }
    func pass(until second: Double) {
      while let due = model.deadline, due <= .second(second) {
        let effects = model.tick(at: due)
        recorded.see(nil, at: due, effects: effects, then: model)
      }
    }
    give(.start, at: 1)
    let attempt = try #require(model.currentAttempt)
    if isConnected { give(.socket(attempt, .opened(subprotocol: nil)), at: 2) }
    give(.link(.device(.lifecycle(.background))), at: 3)
    pass(until: 600)
    give(.link(.device(.lifecycle(.foreground))), at: 600)
    pass(until: 610)
    recorded.conclude()
    #expect(recorded.findings == [])
  }

  @Test func `finds a socket that does nothing in the foreground`() {
    let model = SocketModel(SocketSettings(policy: .socket), seed: 1)
    var recorded = Recorded<HeldFeature>(model)
    for (second, input) in [
      SocketModel.Input.link(.device(.lifecycle(.background))),
      .link(.device(.lifecycle(.foreground))), .start, .restored([]),
    ].enumerated() {
      recorded.see(input, at: .second(Double(second)), effects: [], then: model)
    }
    #expect(
      recorded.findings
        == [Finding(.stuck, at: .second(2), "is wanted, and nothing is outstanding")])
  }

  /// Returns the findings in the journal of a short run whose effects were altered by `change`.
  ///
  /// The messages are empty, as in every journal.
  private static func findings(
    _ outbox: SocketSettings.Outbox = .waiting, awaitsConfirmation: Bool = true,
    change: (SocketModel.Effect) -> [SocketModel.Effect] = { [$0] }
  ) -> [Finding] {
    var settings = SocketSettings(policy: .socket)
    settings.awaitsConfirmation = awaitsConfirmation
    settings.outbox = outbox
    var model = SocketModel(settings, seed: 1)
    var recorded = Recorded<HeldFeature>(model)
    func give(_ input: SocketModel.Input, at second: Double) {
      let effects = model.handle(input, at: .second(second))
      recorded.see(input, at: .second(second), effects: effects.flatMap(change), then: model)
      for case .store(let entry) in effects { give(.stored(entry.id), at: second) }
      // Pings of the first connection are not answered, so that its message is unproven.
      for case .ping(let attempt, let id) in effects where second > 10 {
        give(.link(.pong(attempt, id)), at: second)
      }
    }
    let (message, confirming) = (SocketMessage(binary: []), SocketReading(confirms: true))
    give(.link(.device(.reachability(.reachable(path: PathID("wifi"))))), at: 0)
    give(.restored([]), at: 0)
    give(.standing("kept", message), at: 0)
    give(.start, at: 1)
    for (id, second) in [(UInt64(1), 2.0), (2, 10)] {
      guard let attempt = model.currentAttempt else { break }
      give(.socket(attempt, .opened(subprotocol: nil)), at: second)
      give(.socket(attempt, .message(message, confirming)), at: second + 1)
      give(.send(id, message), at: second + 2)
      give(.socket(attempt, .message(message, SocketReading())), at: second + 3)
      if second == 2 {
        give(.link(.lost(attempt, .reset)), at: second + 4)
        while model.currentAttempt == nil, let due = model.deadline {
          let effects = model.tick(at: due)
          recorded.see(nil, at: due, effects: effects.flatMap(change), then: model)
        }
      }
    }
    recorded.conclude()
    return recorded.findings
  }
}
