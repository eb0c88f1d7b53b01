import HoldfastCore
import HoldfastLinkChecks
import HoldfastMessageChecks
import HoldfastMessageStream
import HoldfastWorlds
import Testing

/// Tests of group C: clients that retry too often, in lockstep, or never.
struct StormScenarios {
  @Test(arguments: ServerKind.allCases)
  func `a server that accepts and drops connections gets few attempts`(
    _ server: ServerKind
  ) {
    let resets = (0..<60).map { (100 + 3 * $0, Action(.reset)) }
    let recording = whole(
      .short(server: server, [(99, Action(.restStatus, 500, for: .seconds(190)))] + resets))
    let tries = recording.opens.filter { $0 > .second(100) && $0 < .second(290) }
    #expect(tries.count <= 12)
  }

  @Test func `a return of the network is detected within seconds`() {
    let recording = whole(.short([(60, Action(.unreachable, for: .seconds(400)))]))
    #expect(recording.opens.filter { $0 > .second(61) && $0 < .second(460) } == [])
    #expect(recording.opens(after: 460).map { $0 < .second(463) } == true)
  }

  @Test func `clients return with jitter after a deploy that closes all of them`() {
    let waits = (UInt64(1)...40).compactMap { seed -> Double? in
      let recording = whole(.short(seed: seed, [(100, Action(.close, 1012))]))
      return recording.opens(after: 100).map { Double($0.nanoseconds) / 1e9 - 100 }
    }
    #expect(waits.count == 40)
    // The waits are uniform over 5 s, so about a quarter of them fall into each quarter of that
    // range.
    for quarter in 0..<4 {
      let edges = Double(quarter) * 1.25..<Double(quarter + 1) * 1.25 + 0.1
      #expect((3...19).contains(waits.count { edges.contains($0) }))
    }
  }

  @Test func `many simultaneous reasons to connect cause one attempt`() {
    let recording = whole(
      .short([
        (100, Action(.unreachable, for: .seconds(60))),
        (110, Action(.background, for: .seconds(50))),
        (120, Action(.leaveScreen, for: .seconds(40))), (160, Action(.handover)),
        (160, Action(.pullToRefresh)),
        (161, Action(.send)),
      ]))
    #expect(recording.mostAtOnce == 1)
    #expect(recording.opens.filter { $0 >= .second(160) && $0 < .second(170) }.count <= 2)
  }

  @Test func `a repeatedly refused token is refreshed a limited number of times`() {
    let revoked = (0..<10).map {
      (100 + 20 * $0, Action(.revokeTokens, 0, TokenRefresh.fails.rawValue))
    }
    let recording = whole(.short(revoked + [(101, Action(.reset))]))
    #expect(recording.refreshes <= 22)
  }

  @Test(arguments: [500, 502, 503, 504, 429, 404, 400, 401, 403, 408, 410, 426])
  func `a server that refuses each upgrade gets few attempts`(_ status: Int) {
    let recording = whole(
      .short([(99, Action(.upgradeStatus, status, for: .seconds(300))), (100, Action(.reset))]))
    let tries = recording.opens.filter { $0 >= .second(100) && $0 < .second(399) }
    // The client makes a series of five attempts, and then a probe every half minute while polls
    // show that the server is back.
    #expect((1...15).contains(tries.count))
  }

  @Test(arguments: [500, 502, 503, 504, 429, 404, 400, 401, 403, 408, 410, 413])
  func `messages survive a server that refuses each request`(_ status: Int) {
    let recording = whole(
      .short([
        (99, Action(.restStatus, status, for: .seconds(200))), (100, Action(.reset)),
        (110, Action(.send)),
      ]))
    #expect(recording.texts.filter { $0 == "own 1" } == ["own 1"])
  }

  @Test(arguments: DialObstacle.allCases)
  func `an obstacle to new connections ends the attempts only if it is final`(
    _ blockedReason: DialObstacle
  ) {
    let recording = whole(
      .short([
        (99, Action(.dialsFail, 0, blockedReason.rawValue, for: .seconds(250))),
        (100, Action(.reset)),
      ]))
    let tries = recording.opens.filter { $0 >= .second(100) && $0 < .second(349) }
    #expect(blockedReason == .certificate ? tries.count == 1 : tries.count > 1)
  }
}
