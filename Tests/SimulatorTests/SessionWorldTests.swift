import HoldfastCore
import HoldfastLinkChecks
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastWorlds
import Testing

/// Tests of the simulated world of sessions.
@Suite(.timeLimit(.minutes(60))) struct SessionWorldTests {
  @Test(arguments: SessionsFeature.presets)
  func `sessions keep their promises in many runs`(preset: DayPreset) {
    let outcome = SessionsFeature.play(.drawn(preset, seed: 1))
    #expect(outcome.findings == [])
  }

  @Test func `the same seed produces the same run of a session`() {
    let plan = SessionsFeature.Plan.drawn(.swarm, seed: 5)
    #expect(SessionsFeature.play(plan).digest == SessionsFeature.play(plan).digest)
    #expect(
      SessionsFeature.play(plan).digest != SessionsFeature.play(.drawn(.swarm, seed: 6)).digest)
  }

  @Test(arguments: [416, 2386] as [UInt64])
  func `messages whose first store fails are counted once`(seed: UInt64) {
    #expect(SessionsFeature.play(.drawn(.swarm, seed: seed)).findings == [])
  }

  @Test(arguments: [954, 1_542, 2_188] as [UInt64])
  func `phones wait for running prompts before they leave`(seed: UInt64) {
    #expect(SessionsFeature.play(.drawn(.swarm, seed: seed)).findings == [])
  }

  @Test func `a server killed while its program runs starts it for no prompt twice`() {
    var plan = SessionsFeature.Plan(seed: 3, events: [], length: .seconds(120))
    plan.numbers.work = .seconds(20)
    for second in stride(from: Int64(10), to: 60, by: 5) {
      plan.events.append(TimedEvent(at: .seconds(second), PlannedEvent(.says, Int(second / 5 % 2))))
    }
    for second in [Int64(21), 33, 46] {
      plan.events.append(
        TimedEvent(at: .seconds(second), PlannedEvent(.kill, for: .seconds(2), at: .backend)))
    }
    #expect(SessionsFeature.play(plan).findings == [])
  }

  @Test(arguments: [(0, 0), (0, 1), (1, 0), (1, 1)])
  func `both versions work, with and without additions`(old: Int, plain: Int) {
    var plan = SessionsFeature.Plan.drawn(.lift, seed: 11)
    (plan.numbers.old, plan.numbers.plain) = (old, plain)
    #expect(SessionsFeature.play(plan).findings == [])
  }
}

/// Tests that apply the checkers of a session to a journal.
struct SessionRecordTests {
  @Test func `a correct run satisfies the checkers`() {
    #expect(Self.findings() == [])
  }

  @Test func `a message that is shown twice is detected`() {
    let found = Self.findings { effect in
      if case .update(.message) = effect { [effect, effect] } else { [effect] }
    }
    #expect(Set(found.map(\.kind)) == [.duplicated])
  }

  @Test func `a message that is acknowledged before it is stored is detected`() {
    let found = Self.findings { effect in
      guard case .commit(_, let change) = effect, !change.news.isEmpty else { return [effect] }
      return [effect]
        + ["message-2.0", "message-20.0"].map { .send(AttemptID(1), .messageAck($0)) }
    }
    #expect(found.map(\.kind).contains(.unstored))
  }

  @Test func `a ping before the connected message is detected`() {
    let found = Self.findings { effect in
      if case .connect(let attempt, _, _) = effect {
        [.send(attempt, .ping), effect]
      } else {
        [effect]
      }
    }
    #expect(Set(found.map(\.kind)) == [.unannounced])
  }

  @Test func `finds a connected status before the server's confirmation`() {
    let found = Self.findings { effect in
      guard case .connect = effect else { return [effect] }
      return [effect, .update(.status(LinkStatus(phase: .connected)))]
    }
    #expect(Set(found.map(\.kind)) == [.falselyConnected])
  }

  @Test func `more attempts than the policy allows are detected`() {
    let found = Self.findings { effect in
      if case .open = effect { Array(repeating: effect, count: 101) } else { [effect] }
    }
    #expect(found.map(\.kind).contains(.storm))
  }

  @Test(arguments: [0.0, 2])
  func `a session that is closed in the background causes no finding`(connecting: Double) {
    var tape = Tape(change: { [$0] })
    tape.begin()
    if connecting > 0 { tape.talk(from: connecting) }
    tape.give(.link(.device(.lifecycle(.background)), at: Tape.wall), at: 8)
    while let due = tape.model.deadline, due <= .second(600) { tape.tick(at: due) }
    tape.give(.link(.device(.lifecycle(.foreground)), at: Tape.wall), at: 600)
    while let due = tape.model.deadline, due <= .second(610) { tape.tick(at: due) }
    tape.recorded.conclude()
    #expect(tape.recorded.findings == [])
  }

  /// Returns the findings in the journal of a short run whose effects were altered by `change`.
  ///
  /// The texts are empty, as in every journal.
  private static func findings(
    change: @escaping (SessionModel.Effect) -> [SessionModel.Effect] = { [$0] }
  ) -> [Finding] {
    var tape = Tape(change: change)
    tape.begin()
    tape.talk(from: 2)
    if let attempt = tape.model.currentAttempt {
      tape.give(.link(.lost(attempt, .reset), at: Tape.wall), at: 8)
    }
    while tape.model.currentAttempt == nil, let due = tape.model.deadline { tape.tick(at: due) }
    tape.talk(from: 20)
    tape.recorded.conclude()
    return tape.recorded.findings
  }
}

/// A short run of a session. The checkers examine its journal.
private struct Tape {
  static let client = UUID128(high: 1, low: 2)
  static let conversation = "00000000-0000-4000-8000-000000000001"
  static let wall = Timestamp(nanoseconds: 1_000_000_000_000)

  var model = SessionModel(SessionSettings(policy: .session), seed: 1)
  var recorded: Recorded<SessionsFeature>
  var disk = StoredClientSession()
  var key: String?
  let change: (SessionModel.Effect) -> [SessionModel.Effect]

  init(change: @escaping (SessionModel.Effect) -> [SessionModel.Effect]) {
    self.change = change
    recorded = Recorded(model)
  }

  mutating func begin() {
    give(
      .restored(disk.open(as: Self.client), conversation: Self.conversation, at: Self.wall), at: 0)
    give(.credentials(.available(expiresIn: nil)), at: 0)
    give(.start, at: 1)
  }

  mutating func give(_ input: SessionModel.Input, at second: Double) {
    let effects = model.handle(input, at: .second(second))
    recorded.see(input, at: .second(second), effects: effects.flatMap(change), then: model)
    for effect in effects {
      switch effect {
      case .commit(let id, let change): give(.committed(id, disk.commit(change)), at: second)
      case .send(_, .prompt(let prompt)): key = prompt.idempotencyKey
      case .update(.message(_, _, let news)): give(.shown(through: news), at: second)
      case .open, .close, .connect, .send, .refreshCredentials, .probe, .update: continue
      }
    }
  }

  mutating func tick(at due: Instant) {
    let effects = model.tick(at: due)
    recorded.see(nil, at: due, effects: effects.flatMap(change), then: model)
  }

  /// Runs a connection on which one prompt is answered.
  mutating func talk(from second: Double) {
    guard let attempt = model.currentAttempt else { return }
    give(.opened(attempt), at: second)
    let features: Set<SessionFeature> = [.idempotency]
    say(.hello(SessionHello(message: "", features: features)), at: second + 1)
    let connected = SessionConnected(
      message: "", session: "", version: .newest, features: features)
    say(.connected(connected), at: second + 2)
    let new = UUID128(high: 0, low: UInt64(second * 1_000) + 1)
    give(.prompt("", conversation: nil, key: new, at: Self.wall), at: second + 3)
    say(.ack(message: "", idempotencyKey: key), at: second + 4)
    let response = SessionResponse(
      id: "message-\(second)", conversation: Self.conversation, idempotencyKey: key,
      result: .success(text: ""))
    say(.response(response), at: second + 5)
  }

  private mutating func say(_ message: SessionServerMessage, at second: Double) {
    guard let attempt = model.currentAttempt else { return }
    give(.frame(attempt, message, bytes: 100, at: Self.wall), at: second)
  }
}
