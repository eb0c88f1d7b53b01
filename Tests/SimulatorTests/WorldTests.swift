import LinkCore
import LinkSimulator
import LinkWire
import MessageStream
import Testing

@Suite struct WorldTests {
  @Test(arguments: ServerKind.allCases)
  func `a quiet day becomes whole`(_ server: ServerKind) {
    let plan = Plan.short(server: server, [(10, .others(messages: 5)), (20, .send)])
    let outcome = play(plan, as: StreamModel.self)
    #expect(outcome.findings.isEmpty)
    #expect(outcome.counts.accepted == 60 + 5 + 1 + 1)
    #expect(outcome.counts.shown == outcome.counts.accepted)
    #expect(outcome.counts.attempts == 1)
  }

  @Test(arguments: Preset.allCases, ServerKind.allCases)
  func `the same plan makes the same run`(_ preset: Preset, _ server: ServerKind) {
    for seed in UInt64(1)...3 {
      let plan = Plan.drawn(preset, seed: seed, server: server)
      #expect(plan == Plan.drawn(preset, seed: seed, server: server))
      #expect(play(plan, as: StreamModel.self) == play(plan, as: StreamModel.self))
    }
  }

  @Test func `another seed makes another run`() {
    let one = play(.drawn(.swarm, seed: 1, server: .positions), as: StreamModel.self)
    let two = play(.drawn(.swarm, seed: 2, server: .positions), as: StreamModel.self)
    #expect(one.digest != two.digest)
  }

  @Test func `a client that does nothing fails`() {
    let outcome = play(.short([(10, .others(messages: 5))]), as: Sloth.self)
    #expect(outcome.findings.contains { $0.kind == .unhealed })
  }

  @Test func `a client whose deadline never moves ends its run`() {
    let outcome = play(.short([]), as: Restless.self)
    #expect(outcome.findings.contains { $0.kind == .stuck })
  }

  @Test(arguments: UInt64(1)...30)
  func `a socket delivers exactly what lies behind the place it was told`(_ seed: UInt64) {
    let recording = Recording(.drawn(.swarm, seed: seed, server: .positions))
    var next: (attempt: AttemptID, offset: UInt64)?
    for (_, happening) in recording.happenings {
      if case .launched = happening { next = nil }
      guard case .told(let input, isLate: false, _) = happening else { continue }
      switch input {
      case .opened(let attempt, let head?, let after):
        next = (attempt, (after ?? head).offset + 1)
      case .frame(let attempt, .message(let message)):
        #expect(next?.attempt == attempt && next?.offset == message.position?.offset)
        next?.offset += 1
      case .oversized: next?.offset += 1
      case _: continue
      }
    }
  }

  @Test func `each trouble ends by itself`() {
    for preset in Preset.allCases {
      let plan = Plan.drawn(preset, seed: 5, server: .plain)
      let recording = Recording(plan)
      #expect(
        recording.times { if case .began = $0 { true } else { false } }.count
          == plan.actions.count)
      let calm = recording.times { $0 == .calm }
      let ends = recording.times { if case .ended = $0 { true } else { false } }
      #expect(calm.count == 1 && ends.allSatisfy { $0 <= calm[0] })
    }
  }

  @Test func `an action that is taken out leaves the others as they were`() {
    var plan = Plan.short([(100, .halfOpen), (300, .others(messages: 3))])
    let whole = Recording(plan)
    plan.actions.removeFirst()
    let less = Recording(plan)
    #expect(whole.texts == less.texts)
  }
}

extension Recording {
  /// What the server accepted after the run began, in order.
  var texts: [String] {
    happenings.compactMap {
      if case .accepted(let message, isNew: true) = $0.what { message.text } else { nil }
    }
  }
}

/// Takes everything and asks for nothing.
private struct Sloth: StreamClient {
  let status = LinkStatus(phase: .disconnected)
  let currentAttempt: AttemptID? = nil
  let isWhole = false
  let backlog = Backlog(shown: 0, unsent: 0, unstored: 0, ahead: 0)
  let deadline: Instant? = nil

  init(settings: StreamSettings, seed: UInt64) {}
  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] { [] }
  mutating func tick(at now: Instant) -> [StreamModel.Effect] { [] }
}

/// Wants to be woken at once, whatever it does.
private struct Restless: StreamClient {
  let status = LinkStatus(phase: .disconnected)
  let currentAttempt: AttemptID? = nil
  let isWhole = false
  let backlog = Backlog(shown: 0, unsent: 0, unstored: 0, ahead: 0)
  let deadline: Instant? = .zero

  init(settings: StreamSettings, seed: UInt64) {}
  mutating func handle(_ input: StreamModel.Input, at now: Instant) -> [StreamModel.Effect] { [] }
  mutating func tick(at now: Instant) -> [StreamModel.Effect] { [] }
}
