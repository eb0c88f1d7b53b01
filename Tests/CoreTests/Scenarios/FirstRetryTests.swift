import Testing

@testable import HoldfastCore

/// Tests of the first retry after a loss. With default waits it starts within 3 s, except in the
/// cases of decision 0046.
@Suite struct FirstRetryTests {
  /// Returns the time from a loss to the first retry, in seconds, for 200 seeds.
  private static func times(
    _ policy: LinkPolicy, after failure: LinkFailure, drain: Duration? = nil
  ) -> [Double] {
    (0..<200 as Range<UInt64>).map { seed in
      var harness = LinkHarness.connected(policy, seed: seed)
      if let drain { harness.give(.draining(harness.attempt, within: drain)) }
      let lost = harness.seconds
      harness.give(.lost(harness.attempt, failure))
      for _ in 0..<40 where harness.opens.isEmpty {
        let polls = harness.polls.count
        harness.next()
        if harness.polls.count > polls { harness.give(.polled(harness.link.standby.pollID, nil)) }
      }
      return (harness.opens.first ?? .infinity) - lost
    }
  }

  /// Losses that may affect only one client.
  static let own: [LinkFailure] =
    [
      .reset, .ended, .timeout(.silence), .timeout(.pong), .timeout(.write), .dns(detail: ""),
      .unreachable(detail: ""), .proxy(detail: ""), .local(detail: ""),
    ] + [1000, 1005, 1006, 1011, 1014, 3000, 4000, 4409].map { .closed(code: $0, reason: "") }

  @Test(arguments: own)
  func `a stream retries at once after any loss that may affect it alone`(failure: LinkFailure) {
    #expect(Self.times(.messageStream, after: failure).allSatisfy { $0 == 0 })
  }

  /// Checks the waits of the requirements: 1 s with a jitter of a quarter, and 2 s.
  @Test(arguments: own)
  func `other links retry after the first wait of their schedule`(failure: LinkFailure) {
    #expect(Self.times(.socket, after: failure).allSatisfy { (0.75...1.25).contains($0) })
    if failure.failureClass != .closedReplaced {
      #expect(Self.times(.session, after: failure).allSatisfy { (1...1.25).contains($0) })
      #expect(Self.times(.healthRelayService, after: failure).allSatisfy { $0 == 2 })
    }
  }

  /// Checks the exceptions of a stream and their bounds. They are failures that may affect many
  /// clients.
  @Test(arguments: [
    (LinkFailure.closed(code: 1001, reason: ""), 0.0..<5.0),
    (.closed(code: 1012, reason: ""), 0..<5), (.closed(code: 1013, reason: ""), 0..<5),
    (.http(status: 429, retryAfter: nil, detail: ""), 0..<5),
    (.http(status: 500, retryAfter: nil, detail: ""), 0..<5),
    (.http(status: 503, retryAfter: .seconds(2), detail: ""), 2..<7),
    // The link polls first, and tries again after the first poll that succeeds.
    (.refused, 1..<5.001), (.http(status: 503, retryAfter: nil, detail: ""), 1..<5.001),
    // The link polls, and sends a probe after 5 minutes ± 10 %.
    (.closed(code: 1008, reason: ""), 270..<330), (.protocolError(detail: ""), 270..<330),
    (.captivePortal, 1..<5.001), (.http(status: 418, retryAfter: nil, detail: ""), 270..<330),
  ])
  func `failures that may affect many clients delay a stream's retry within bounds`(
    failure: LinkFailure, bounds: Range<Double>
  ) {
    let times = Self.times(.messageStream, after: failure)
    #expect(times.allSatisfy { bounds.contains($0) }, "\(times.min() ?? -1)...\(times.max() ?? -1)")
    let middle = (bounds.lowerBound + bounds.upperBound) / 2
    #expect(times.filter { $0 < middle }.count > 60 && times.filter { $0 >= middle }.count > 60)
  }

  @Test(arguments: [LinkFailure.reset, .closed(code: 1000, reason: "")])
  func `the retry after an announced drain is jittered over the drain's window`(
    failure: LinkFailure
  ) {
    let times = Self.times(.messageStream, after: failure, drain: .seconds(20))
    #expect(times.allSatisfy { (0..<20).contains($0) })
    #expect(times.filter { $0 >= 10 }.count > 60)
  }

  @Test func `a stream waits 2 s after a network change and retries at once with a new token`() {
    var harness = LinkHarness.connected(.messageStream)
    let changed = harness.seconds
    harness.give(.reachability(.reachable(path: PathID("wwan0"))))
    harness.pass(.seconds(3))
    #expect(harness.opens.map { $0 - changed } == [2])
    harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .closed(code: 4401, reason: "")))
    harness.pass(.milliseconds(700))
    harness.give(.credentials(.available(expiresIn: nil)))
    #expect(harness.opens == [harness.seconds])
  }

  /// Checks requirements 000, which specify a fixed interval of 2 s that is also the cap.
  @Test(arguments: [
    LinkFailure.reset, .refused, .closed(code: 1001, reason: ""), .closed(code: 1011, reason: ""),
    .closed(code: 1012, reason: ""), .closed(code: 4000, reason: ""),
    .http(status: 429, retryAfter: nil, detail: ""),
    .http(status: 500, retryAfter: nil, detail: ""),
    .http(status: 503, retryAfter: nil, detail: ""),
  ])
  func `no wait of the quick and foreground relays exceeds their cap of 2 s`(failure: LinkFailure) {
    for policy in [LinkPolicy.healthRelayQuick, .healthRelayForeground] {
      for seed in 0..<20 as Range<UInt64> {
        var harness = LinkHarness.connected(policy, seed: seed)
        let lost = harness.seconds
        harness.give(.lost(harness.attempt, failure))
        harness.failAll(failure)
        #expect(harness.opens.map { $0 - lost } == [2, 4])
        #expect(harness.link.status.reason == .exhausted(failure))
      }
    }
  }

  @Test func `a relay service waits up to 2 s longer for a server that restarts or is full`() {
    for failure in [
      LinkFailure.closed(code: 1012, reason: ""), .http(status: 503, retryAfter: nil, detail: ""),
    ] {
      let times = Self.times(.healthRelayService, after: failure)
      #expect(times.allSatisfy { (2..<4).contains($0) })
      #expect(times.filter { $0 >= 3 }.count > 60)
    }
  }

  /// Lets each connect make three tries. The requirements set no limit on connects.
  @Test(arguments: [
    LinkPolicy.healthRelayService, .healthRelayQuick, .healthRelayForeground,
  ])
  func `a user may connect ten times a minute, and further requests report the limit`(
    policy: LinkPolicy
  ) {
    var harness = LinkHarness.wanted(policy)
    for connect in 0..<10 {
      let pressed = harness.seconds
      harness.opens = []
      harness.give(.setIntent(.live))
      if connect == 0 { harness.opens = [0] }
      harness.failAll(.refused)
      #expect(harness.opens.map { $0 - pressed } == [0, 2, 4], "connect \(connect + 1)")
      harness.pass(.seconds(1))
    }
    harness.give(.setIntent(.live))
    #expect(harness.link.status.phase == .connecting)
    #expect(harness.link.status.reason == .limited)
    // The first of the 30 tries was made at 0 s.
    #expect(harness.link.status.retryAt == .second(60))
  }
}
