import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of group A of the problems that users of other clients reported: connections that only
/// appear to be open.
struct ZombieScenarios {
  @Test func `a dead link is detected while the user continues to write`() {
    let sends = (0..<8).map { (110 + 10 * $0, Action(.send)) }
    let recording = whole(.short([(100, Action(.halfOpen))] + sends))
    let closed = recording.effects.first { $0.effect == .close(AttemptID(1), .silent) }
    // The last byte arrived at 54 s or with the upgrade, and the silence limit is 90 s.
    #expect(closed.map { $0.at <= .second(145) } == true)
    #expect(recording.texts.suffix(9).dropLast() == (1...8).map { "own \($0)" }[...])
  }

  @Test func `a server that vanishes silently is detected, and so is its return`() {
    let recording = whole(.short([(100, Action(.blackHole, for: .seconds(200)))]))
    let tries = recording.opens.filter { $0 > .second(100) && $0 < .second(300) }
    #expect(!tries.isEmpty)
    #expect(tries.allSatisfy { $0 > .second(140) })
  }

  @Test func `a network change is detected within seconds, not by silence`() {
    for seed in UInt64(1)...10 {
      let recording = whole(.short(seed: seed, [(100, Action(.handover))]))
      #expect(recording.opens(after: 100).map { $0 < .second(108) } == true)
    }
  }

  @Test func `a user who leaves and returns at once has one working connection`() {
    let leaves = (0..<6).map { (100 + 2 * $0, Action(.leaveScreen, for: .milliseconds(300))) }
    let recording = whole(.short(leaves + [(120, Action(.others, 3))]))
    #expect(recording.mostAtOnce == 1)
    #expect(recording.shown("other 3").map { $0 < .second(122) } == true)
  }

  @Test func `a phone that slept does not treat its old socket as alive`() {
    for seed in UInt64(1)...10 {
      let recording = whole(
        .short(seed: seed, [(100, Action(.sleep, for: .seconds(200))), (200, Action(.others, 2))]))
      #expect(recording.shown("other 2").map { $0 < .second(310) } == true)
    }
  }
}
