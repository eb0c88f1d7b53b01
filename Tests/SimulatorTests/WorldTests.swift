import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageData
import HoldfastMessageStream
import HoldfastTestKit
import HoldfastWorlds
import Testing

@Suite struct WorldTests {
  @Test(arguments: ServerKind.allCases)
  func `a quiet day ends complete`(_ server: ServerKind) {
    let plan = Plan.short(server: server, [(10, Action(.others, 5)), (20, Action(.send))])
    let outcome = play(plan, as: StreamModel.self)
    #expect(outcome.findings.isEmpty)
    #expect(outcome.counts[.accepted] == 60 + 5 + 1 + 1)
    #expect(outcome.counts[.shown] == outcome.counts[.accepted])
    #expect(outcome.counts.attempts == 1)
  }

  @Test(arguments: DayPreset.allCases, ServerKind.allCases)
  func `the same plan produces the same run`(_ preset: DayPreset, _ server: ServerKind) {
    for seed in UInt64(1)...3 {
      let plan = Plan.drawn(preset, seed: seed, server: server)
      #expect(plan == Plan.drawn(preset, seed: seed, server: server))
      #expect(play(plan, as: StreamModel.self) == play(plan, as: StreamModel.self))
    }
  }

  @Test(arguments: DayPreset.allCases)
  func `a plain server that ignores the since parameter causes no findings`(_ preset: DayPreset) {
    for seed in UInt64(1)...3 {
      var plan = Plan.drawn(preset, seed: seed, server: .plain)
      plan.numbers.ignoresSince = 1
      let outcome = play(plan, as: StreamModel.self)
      #expect(outcome.findings == [], "\(preset) \(seed)")
    }
  }

  @Test func `different seeds produce different runs`() {
    var digests: Set<UInt64> = []
    let seeds = PlayedSeeds.of(1...50)
    for seed in seeds {
      for server in ServerKind.allCases {
        digests.insert(
          play(.drawn(.swarm, seed: seed, server: server), as: StreamModel.self).digest)
      }
    }
    #expect(digests.count == 2 * seeds.count)
  }

  /// Changing one number or one millisecond of a planned event changes the digest.
  @Test func `slightly different runs have different digests`() {
    let base = Plan.short([(100, Action(.unreachable, for: .seconds(5))), (120, Action(.send))])
    var changes: [Plan] = [base]
    var other = base
    other.events[0].event = Action(.unreachable, for: .milliseconds(5001))
    changes.append(other)
    other = base
    other.events[1].at = .milliseconds(120_001)
    changes.append(other)
    other = base
    other.networkConditions.delay = .milliseconds(26)
    changes.append(other)
    other = base
    other.events.removeLast()
    changes.append(other)
    #expect(Set(changes.map { play($0, as: StreamModel.self).digest }).count == changes.count)
  }

  @Test(arguments: UInt64(1)...30)
  func `a socket delivers exactly the messages after its position`(_ seed: UInt64) {
    var plan = Plan.drawn(.swarm, seed: seed, server: .positions)
    // Servers that deliberately send false data prove nothing, so such events are removed.
    // Between the positions of messages lie those of edits and deletions.
    let lies: [StreamEventKind] = [
      .chat, .change, .edit, .delete, .falseHead, .shortBacklog,
    ]
    plan.events.removeAll { planned in lies.contains { planned.event.eventKind == .own($0) } }
    let recording = Recording(plan)
    var next: (attempt: AttemptID, offset: UInt64)?
    for (_, observation) in recording.observations {
      if case .launched = observation { next = nil }
      guard case .received(_, let input, isLate: false, _) = observation else { continue }
      switch input {
      case .opened(let attempt, let head?, let after, _):
        next = (attempt, (after ?? head).offset + 1)
      case .frame(let attempt, .message(let message)):
        #expect(next?.attempt == attempt && next?.offset == message.position?.offset)
        next?.offset += 1
      case .link(.oversized, at: _): next?.offset += 1
      case _: continue
      }
    }
  }

  @Test func `each planned event ends before the calm phase`() {
    for preset in DayPreset.allCases {
      let plan = Plan.drawn(preset, seed: 5, server: .plain)
      let recording = Recording(plan)
      #expect(
        recording.times { if case .began = $0 { true } else { false } }.count
          == plan.events.count)
      let calm = recording.times { $0 == .calm }
      let ends = recording.times { if case .ended = $0 { true } else { false } }
      #expect(calm.count == 1 && ends.allSatisfy { $0 <= calm[0] })
    }
  }

  @Test func `removing an event does not change the others`() {
    var plan = Plan.short([(100, Action(.halfOpen)), (300, Action(.others, 3))])
    let whole = Recording(plan)
    plan.events.removeFirst()
    let less = Recording(plan)
    #expect(whole.texts == less.texts)
  }
}

extension Recording {
  /// The texts of the messages that the server accepted after the run began, in order.
  var texts: [String] {
    observations.compactMap {
      if case .fact(.accepted(let message, isNew: true)) = $0.what { message.text } else { nil }
    }
  }
}
