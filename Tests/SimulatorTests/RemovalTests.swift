import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageStream
import HoldfastTestKit
import HoldfastWorlds
import Testing

/// Tests of a server that removes its oldest messages, with a phone that is away at times.
///
/// The checkers find each message that is neither shown nor in a gap, and each that is shown twice.
@Suite struct RemovalTests {
  @Test func `a phone that was away while messages were removed shows one gap`() {
    let recording = Recording(
      .short([
        (50, Action(.others, 5)), (100, Action(.unreachable, for: .seconds(100))),
        (110, Action(.others, 30)), (150, Action(.remove, 10)), (300, Action(.others, 3)),
      ]))
    #expect(recording.outcome.findings.isEmpty)
    let gaps = recording.effects.filter {
      if case .update(.gap) = $0.effect { true } else { false }
    }
    #expect(gaps.count == 1)
    let counts = recording.outcome.counts
    #expect(counts[.shown] < counts[.accepted], "what was removed cannot be shown")
  }

  @Test func `a phone that has all messages sees no gap when they are removed`() {
    let recording = Recording(
      .short([
        (50, Action(.others, 20)), (80, Action(.loadOlder)), (100, Action(.remove, 1)),
        (150, Action(.unreachable, for: .seconds(20))), (200, Action(.others, 3)),
      ]))
    #expect(recording.outcome.findings.isEmpty)
    #expect(recording.outcome.counts[.shown] == recording.outcome.counts[.accepted])
    let gaps = recording.effects.filter {
      if case .update(.gap) = $0.effect { true } else { false }
    }
    #expect(gaps.isEmpty)
  }

  /// Posts, absences, kills, crashes and removals, drawn from a seed.
  @Test(arguments: PlayedSeeds.of(1...30))
  func `nothing is missed without a gap, whenever messages are removed`(seed: UInt64) {
    var draw = RandomSource(seed: seed)
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &draw) }
    var events: [(Int, Action)] = []
    for _ in 0..<40 {
      let at = number(20...1_500)
      let span = Duration.seconds(Int64(number(5...120)))
      switch number(0...11) {
      case 0...3: events.append((at, Action(.others, number(1...30))))
      case 4: events.append((at, Action(.send)))
      case 5, 6: events.append((at, Action(.remove, number(0...40))))
      case 7: events.append((at, Action(.unreachable, for: span)))
      case 8: events.append((at, Action(.kill, for: span)))
      case 9: events.append((at, Action(.suspend, for: span)))
      case 10: events.append((at, Action(.crash, for: .seconds(Int64(number(1...20))))))
      case _: events.append((at, Action(.loadOlder)))
      }
    }
    events.sort { $0.0 < $1.0 }
    let recording = Recording(.short(seed: seed, events) { $0.length = .seconds(1_800) })
    #expect(recording.outcome.findings.isEmpty, "\(recording.outcome.findings)")
  }
}
