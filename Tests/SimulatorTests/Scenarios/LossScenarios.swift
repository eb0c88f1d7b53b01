import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of group D: messages that are lost, duplicated or reordered.
struct LossScenarios {
  @Test(arguments: ServerKind.allCases)
  func `frames that overtake catch-up responses are shown once and in order`(
    _ server: ServerKind
  ) {
    for seed in UInt64(1)...10 {
      let rounds = (0..<8).flatMap { round -> [(Int, Action)] in
        [(60 + 60 * round, Action(.reset)), (61 + 60 * round, Action(.others, 15))]
      }
      let recording = whole(
        .short(seed: seed, server: server, rounds) {
          $0.networkConditions.slow = 0.7
          $0.networkConditions.twice = 0.5
        })
      #expect(recording.outcome.counts[.shown] == recording.outcome.counts[.accepted])
    }
  }

  @Test(arguments: ServerKind.allCases)
  func `messages written while unreachable are sent once and in order`(_ server: ServerKind) {
    let sends = (0..<5).map { (110 + 10 * $0, Action(.send)) }
    let recording = whole(
      .short(
        server: server, [(100, Action(.unreachable, for: .seconds(120)))] + sends))
    #expect(recording.texts.filter { $0.hasPrefix("own") } == (1...5).map { "own \($0)" })
  }

  @Test(arguments: ServerKind.allCases)
  func `after hours away only the newest page is fetched, and a gap marks the rest`(
    _ server: ServerKind
  ) {
    var plan = Plan.short(
      server: server,
      [(60, Action(.unreachable, for: .seconds(9000))), (4000, Action(.others, 150))])
    plan.length = .seconds(9200)
    let recording = whole(plan)
    let gaps = recording.effects.filter {
      if case .update(.gap) = $0.effect { true } else { false }
    }
    #expect(gaps.count == 1)
  }

  @Test func `positions of a new log are not mistaken for those of the old one`() {
    let recording = whole(
      .short([
        (100, Action(.unreachable, for: .seconds(100))), (110, Action(.beginAnew, 20)),
        (150, Action(.others, 60)),
      ]))
    #expect(recording.shown("other 60") != nil)
    #expect(recording.shown("other 1") != nil)
  }

  @Test(arguments: ServerKind.allCases)
  func `a message is shown again after each kill before its acknowledgement`(
    _ server: ServerKind
  ) {
    for seed in UInt64(1)...20 {
      let rounds = (0..<6).flatMap { round -> [(Int, Action)] in
        [
          (60 + 80 * round, Action(.kill, for: .seconds(2))),
          (60 + 80 * round, Action(.others, 5)), (60 + 80 * round, Action(.send)),
        ]
      }
      _ = whole(.short(seed: seed, server: server, rounds))
    }
  }

  @Test func `late or equal time stamps hide no message on a plain server`() {
    for seed in UInt64(1)...10 {
      let rounds = (0..<8).flatMap { round -> [(Int, Action)] in
        [
          (60 + 60 * round, Action(.unreachable, for: .seconds(20))),
          (65 + 60 * round, Action(.others, 12)), (84 + 60 * round, Action(.others, 12)),
        ]
      }
      let recording = whole(
        .short(seed: seed, server: .plain, rounds) {
          $0.numbers.lateStamps = 0.3
          $0.numbers.equalStamps = 0.5
        })
      #expect(recording.outcome.counts[.shown] == recording.outcome.counts[.accepted])
    }
  }

  @Test(arguments: [PageOrder.arrival, .stamp])
  func `a server clock set back an hour hides no message if pages are sorted by arrival`(
    _ pages: PageOrder
  ) {
    let recording = whole(
      .short(
        server: .plain,
        [
          (100, Action(.unreachable, for: .seconds(200))),
          (120, Action(.serverClock, by: .seconds(-3600))),
          (150, Action(.others, 20)),
        ]
      ) { $0.numbers.pages = pages })
    if pages == .arrival { #expect(recording.shown("other 20") != nil) }
  }

  @Test func `unread messages are fetched when the app resumes reading`() {
    for server in ServerKind.allCases {
      let recording = whole(
        .short(
          server: server,
          [
            (100, Action(.slowReader, for: .seconds(100))), (120, Action(.others, 40)),
            (150, Action(.reset)),
          ]))
      #expect(recording.shown("other 40").map { $0 >= .second(200) && $0 < .second(215) } == true)
    }
  }
}
