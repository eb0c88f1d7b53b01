import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of group E: callbacks that come late, twice or never, and events that overtake each other.
struct RaceScenarios {
  @Test func `a user who left stays disconnected despite late callbacks`() {
    for seed in UInt64(1)...20 {
      let recording = whole(
        .short(
          seed: seed,
          [
            (98, Action(.reset)), (99, Action(.pullToRefresh)),
            (100, Action(.leaveScreen, for: .seconds(200))),
            (150, Action(.handover)),
          ]
        ) {
          $0.networkConditions.delay = .milliseconds(700)
          $0.networkConditions.slow = 0.5
          $0.networkConditions.twice = 0.5
        })
      #expect(recording.opens.filter { $0 > .second(100) && $0 < .second(300) } == [])
    }
  }

  @Test func `leaving during a connect leaves no connection behind`() {
    for tenths in 0..<20 {
      var plan = Plan.short([(100, Action(.reset))]) {
        $0.networkConditions.delay = .milliseconds(300)
      }
      plan.events.append(
        Planned(
          at: .seconds(100) + .milliseconds(100 * tenths),
          Action(.leaveScreen, for: .milliseconds(150))))
      #expect(whole(plan).mostAtOnce == 1)
    }
  }

  @Test func `several losses in a row do not stop the link`() {
    let losses = (0..<9).map { (60 + 30 * $0, Action(.reset)) }
    let recording = whole(.short(losses + [(400, Action(.others, 1))]))
    #expect(recording.shown("other 1").map { $0 < .second(402) } == true)
  }

  @Test func `a token refresh without an answer times out and is retried`() {
    let recording = whole(
      .short([
        (100, Action(.revokeTokens, 0, TokenRefresh.hangs.rawValue)), (101, Action(.reset)),
        (200, Action(.others, 1)),
      ]))
    #expect(recording.refreshes >= 2)
    #expect(recording.shown("other 1") != nil)
  }

  @Test(arguments: [3600.0, -3600.0])
  func `setting the phone's clock does not change a wait`(_ jump: Double) {
    let recording = whole(
      .short([
        (99, Action(.wallClock, by: .seconds(jump))), (100, Action(.reset)),
        (110, Action(.others, 1)),
      ]))
    #expect(recording.opens(after: 100).map { $0 < .second(102) } == true)
    #expect(recording.shown("other 1").map { $0 < .second(112) } == true)
  }

  @Test func `answers after their time-out change nothing`() {
    for seed in UInt64(1)...20 {
      let pulls = (0..<12).map { (60 + 40 * $0, Action(.pullToRefresh)) }
      let recording = whole(
        .short(seed: seed, pulls + [(100, Action(.send)), (300, Action(.send))]) {
          $0.networkConditions.slow = 0.8
          $0.networkConditions.timeLimit = .seconds(60)
        })
      #expect(recording.texts.filter { $0.hasPrefix("own") } == ["own 1", "own 2"])
    }
  }
}
