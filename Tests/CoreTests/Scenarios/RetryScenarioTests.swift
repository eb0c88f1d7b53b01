import Testing

@testable import HoldfastCore

struct RetryScenarioTests {
  @Test func `a link makes at most ten attempts in any minute, whatever triggers them`() {
    var harness = LinkHarness.wanted(.messageStream)
    for _ in 0..<200 {
      harness.give(.prepared(harness.attempt))
      harness.give(.lost(harness.attempt, .timeout(.connect)))
      harness.give(.trigger(.userRefresh))
      harness.pass(.seconds(1))
    }
    for start in harness.opens {
      let inMinute = harness.opens.filter { $0 >= start && $0 < start + 60 }.count
      #expect(inMinute <= 10)
    }
    #expect(harness.opens.filter { $0 < 60 }.count == 10, "the whole budget is used")
  }

  @Test func `a link makes at most ten polls in any minute, whatever triggers them`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .refused))
    for _ in 0..<600 {
      harness.give(.polled(harness.link.standby.pollID, .refused))
      harness.give(.trigger(.messageSent))
      harness.give(.lost(harness.attempt, .refused))
      harness.pass(.milliseconds(300))
    }
    for start in harness.polls {
      let inMinute = harness.polls.filter { $0 >= start && $0 < start + 60 }.count
      #expect(inMinute <= 10)
    }
    #expect(harness.polls.filter { $0 < 60 }.count == 10, "the whole budget is used")
  }

  @Test func `the first poll after a refusal is jittered over 5 s, one by the user is immediate`() {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var harness = LinkHarness.connected(.messageStream, seed: seed)
      let lost = harness.seconds
      harness.give(.lost(harness.attempt, .refused))
      #expect(harness.link.status.mode == .polling)
      harness.pass(.seconds(5))
      waits.append((harness.polls.first ?? 99) - lost)
    }
    #expect(waits.allSatisfy { (1..<5).contains($0) }, "a restart gets one second")
    #expect(waits.filter { $0 < 3 }.count > 60 && waits.filter { $0 >= 3 }.count > 60)
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.setIntent(.standbyOnly))
    #expect(harness.polls == [harness.seconds])
  }

  @Test func `a link waits 5 s for an upgrade and not longer`() {
    for (wait, phase) in [
      (Duration.seconds(5) - .nanoseconds(1), LinkStatus.Phase.connected),
      (.seconds(5), .reconnecting), (.seconds(5) + .nanoseconds(1), .reconnecting),
    ] {
      var harness = LinkHarness.wanted(.messageStream)
      harness.give(.prepared(harness.attempt))
      let attempt = harness.attempt
      harness.pass(wait)
      harness.give(.opened(attempt))
      #expect(harness.link.status.phase == phase, "after \(wait)")
      #expect(harness.log.contains(.close(attempt, .timeout)) == (phase != .connected))
    }
  }

  @Test func `connections that close at once do not restart the schedule`() {
    var harness = LinkHarness.wanted(.messageStream)
    for _ in 0..<6 {
      harness.connect()
      harness.give(.lost(harness.attempt, .reset))
      if harness.link.status.phase == .reconnecting { harness.next() }
    }
    #expect(harness.opens == [0, 1, 3, 7, 15, 31])
    #expect(harness.link.status.phase == .standby)
  }

  @Test func `losing a link that was open for the stability time starts a new series`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .timeout(.connect)))
    harness.pass(.seconds(1))
    harness.connect()
    harness.pass(.seconds(10))
    harness.opens = []
    let lost = harness.seconds
    harness.give(.lost(harness.attempt, .reset))
    #expect(harness.opens == [lost])
  }

  /// Lets the second try of a series dial for 4 s, and loses the link `stood` after it opened.
  @Test(arguments: [
    (Duration.milliseconds(9_999), 2.0), (.seconds(10), 0), (.milliseconds(10_001), 0),
  ])
  func `the stability time runs from the open, not from the dial`(stood: Duration, wait: Double) {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .timeout(.connect)))
    harness.pass(.seconds(1))
    harness.pass(.seconds(4))
    harness.connect()
    harness.pass(stood)
    harness.opens = []
    let lost = harness.seconds
    harness.give(.lost(harness.attempt, .reset))
    harness.pass(.seconds(5))
    let waits = harness.opens.map { (($0 - lost) * 1000).rounded() / 1000 }
    #expect(waits == [wait])
  }

  @Test(arguments: [UInt16(1001), 1012, 1013])
  func `a close code that suggests a restart jitters the first retry over 5 s`(code: UInt16) {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var harness = LinkHarness.connected(.messageStream, seed: seed)
      let lost = harness.seconds
      harness.give(.lost(harness.attempt, .closed(code: code, reason: "restart")))
      harness.next()
      waits.append((harness.opens.first ?? -1) - lost)
    }
    #expect(waits.allSatisfy { (0..<5).contains($0) })
    #expect(waits.filter { $0 < 2.5 }.count > 60 && waits.filter { $0 >= 2.5 }.count > 60)
  }

  @Test func `the first retry after a drain notice is jittered over the announced window`() {
    var latest = 0.0
    for seed in 0..<200 as Range<UInt64> {
      var harness = LinkHarness.connected(.messageStream, seed: seed)
      harness.give(.draining(harness.attempt, within: .seconds(60)))
      let lost = harness.seconds
      harness.give(.lost(harness.attempt, .closed(code: 1001, reason: "")))
      while harness.opens.isEmpty { harness.next() }
      latest = max(latest, (harness.opens.first ?? 0) - lost)
    }
    #expect((30..<60).contains(latest))
  }

  @Test func `Retry-After is honored even when the user refreshes`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .http(status: 429, retryAfter: .seconds(40), detail: "")))
    let lost = harness.seconds
    for _ in 0..<39 {
      harness.give(.trigger(.userRefresh))
      harness.pass(.seconds(1))
    }
    #expect(harness.opens == [])
    while harness.opens.isEmpty, harness.link.deadline != nil { harness.next() }
    #expect((40...45).contains((harness.opens.first ?? 0) - lost))
  }

  @Test(arguments: [
    (LinkFailure.refused, LinkStatus.Phase.standby),
    (.dns(detail: ""), .reconnecting),
    (.timeout(.connect), .reconnecting),
    (.unreachable(detail: ""), .reconnecting),
    (.tls(.expired, detail: ""), .failed),
    (.tls(.wrongHost, detail: ""), .failed),
    (.http(status: 400, retryAfter: nil, detail: ""), .failed),
    (.http(status: 403, retryAfter: nil, detail: ""), .failed),
    (.http(status: 404, retryAfter: nil, detail: ""), .standby),
    (.http(status: 503, retryAfter: nil, detail: ""), .standby),
    (.http(status: 500, retryAfter: nil, detail: ""), .reconnecting),
    (.closed(code: 4403, reason: ""), .failed),
    (.protocolError(detail: ""), .standby),
    (.captivePortal, .standby),
  ])
  func `each failure in the error tables of the requirements leads to its phase`(
    failure: LinkFailure, phase: LinkStatus.Phase
  ) {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, failure))
    #expect(harness.link.status.phase == phase)
  }

  @Test(arguments: [404, 503])
  func `while polls work, no refresh, message or foreground retries before the slow probe`(
    status: Int
  ) {
    let missing = LinkFailure.http(status: status, retryAfter: nil, detail: "")
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, missing))
    harness.pass(.seconds(5))
    #expect(harness.opens.count == 2, "the first poll succeeded, so the stream is tried again")
    harness.give(.lost(harness.attempt, missing))
    let refused = harness.seconds
    harness.opens = []
    harness.give(.trigger(.userRefresh))
    harness.give(.trigger(.messageSent))
    harness.give(.lifecycle(.background))
    harness.give(.lifecycle(.foreground))
    harness.give(.polled(harness.link.standby.pollID, nil))
    harness.pass(.seconds(800))
    #expect(harness.opens == [])
    #expect(harness.polls.count > 20, "polling continues")
    harness.pass(.seconds(200))
    #expect((810...990).contains((harness.opens.first ?? 0) - refused), "15 minutes ± 10 %")
  }

  @Test func `after a 503 and failing polls, the first successful poll leads to an attempt`() {
    let missing = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, missing))
    harness.peer = .isSilent
    for _ in 0..<8 {
      harness.next()
      harness.give(.polled(harness.link.standby.pollID, missing))
    }
    #expect(harness.opens == [0])
    while harness.polls.count == 8 { harness.next() }
    harness.give(.polled(harness.link.standby.pollID, nil))
    #expect(harness.opens == [0, harness.seconds])
  }

  private static let missing = LinkFailure.http(status: 503, retryAfter: nil, detail: "")

  /// Returns a harness that polls because the server has twice not offered the link.
  private static func withoutTheLink() -> LinkHarness {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, missing))
    harness.pass(.seconds(5))
    harness.give(.lost(harness.attempt, missing))
    harness.peer = .isSilent
    harness.opens = []
    return harness
  }

  @Test func `after a failed poll, the next successful one retries a link that was not offered`() {
    var harness = Self.withoutTheLink()
    let asked = harness.polls.count
    while harness.polls.count == asked { harness.next() }
    harness.give(.polled(harness.link.standby.pollID, Self.missing))
    while harness.polls.count == asked + 1 { harness.next() }
    harness.give(.polled(harness.link.standby.pollID, nil))
    #expect(harness.opens == [harness.seconds])
  }

  @Test func `a user's refresh retries a missing link only after a poll has failed`() {
    var harness = Self.withoutTheLink()
    let asked = harness.polls.count
    while harness.polls.count == asked { harness.next() }
    harness.give(.trigger(.userRefresh))
    #expect(harness.opens == [])
    harness.give(.polled(harness.link.standby.pollID, Self.missing))
    harness.give(.trigger(.userRefresh))
    #expect(harness.opens == [harness.seconds])
  }

  @Test func `a 503 with Retry-After is retried after that time, jittered over 5 s`() {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var harness = LinkHarness.connected(.messageStream, seed: seed)
      let refused = harness.seconds
      harness.give(.lost(harness.attempt, .http(status: 503, retryAfter: .seconds(2), detail: "")))
      #expect(harness.link.status.phase == .reconnecting)
      harness.next()
      waits.append((harness.opens.first ?? 99) - refused)
    }
    #expect(waits.allSatisfy { (2..<7).contains($0) })
    #expect(waits.filter { $0 < 4.5 }.count > 60 && waits.filter { $0 >= 4.5 }.count > 60)
  }

  @Test(arguments: [(Duration.seconds(20), LinkStatus.Mode.none), (.seconds(40), .polling)])
  func `the link polls during a wait that is longer than the poll interval`(
    retryAfter: Duration, mode: LinkStatus.Mode
  ) {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.lost(harness.attempt, .http(status: 503, retryAfter: retryAfter, detail: "")))
    #expect(harness.link.status.phase == .reconnecting)
    #expect(harness.link.status.mode == mode)
    harness.pass(retryAfter)
    #expect(harness.polls.isEmpty == (mode == .none))
    #expect(harness.opens == [])
  }

  @Test func `while polls work, a server that drops each link is probed less and less often`() {
    var harness = LinkHarness.wanted(.messageStream)
    for _ in 0..<40 {
      if harness.link.currentAttempt == nil { harness.pass(.seconds(10)) }
      guard let attempt = harness.link.currentAttempt else { continue }
      harness.connect()
      harness.give(.lost(attempt, .reset))
    }
    while harness.seconds < 1800 {
      harness.pass(.seconds(1))
      guard let attempt = harness.link.currentAttempt else { continue }
      harness.connect()
      harness.give(.lost(attempt, .reset))
    }
    let waits = zip(harness.opens, harness.opens.dropFirst()).map { $1 - $0 }.dropFirst(6)
    for (wait, least) in zip(waits, [30.0, 60, 120, 270, 270]) { #expect(wait >= least) }
    #expect(waits.allSatisfy { $0 <= 332 })
    let pauses = zip(harness.polls, harness.polls.dropFirst()).map { $1 - $0 }.dropFirst()
    #expect(pauses.allSatisfy { $0 >= 26 }, "a link that ends at once causes no extra poll")
  }

  @Test func `the first successful poll after an outage opens the socket at once`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .refused))
    harness.opens = []
    harness.peer = .isSilent
    harness.give(.polled(1, .refused))
    harness.pass(.seconds(33))
    harness.give(.polled(2, nil))
    #expect(harness.opens.count == 1)
    harness.give(.opened(harness.attempt))
    #expect(harness.link.status == LinkStatus(phase: .connected, mode: .live, quality: .good))
  }

  @Test func `a server that recovers right after a probe is probed one interval after that probe`()
  {
    for seed in 0..<100 as Range<UInt64> {
      var harness = LinkHarness.wanted(.messageStream, seed: seed)
      harness.give(.prepared(harness.attempt))
      harness.give(.lost(harness.attempt, .refused))
      harness.peer = .isSilent
      harness.pass(.seconds(8))
      harness.give(.polled(harness.link.standby.pollID, .timeout(.response)))
      harness.give(.trigger(.messageSent))
      harness.give(.lost(harness.attempt, .refused))
      let probed = harness.seconds
      harness.opens = []
      harness.pass(.seconds(5))
      harness.give(.credentials(.available(expiresIn: nil)))
      harness.give(.polled(harness.link.standby.pollID, nil))
      #expect(harness.opens == [])
      harness.pass(.seconds(29))
      #expect(harness.opens.allSatisfy { (27...33).contains($0 - probed) })
      #expect(harness.opens.count == 1)
    }
  }

  @Test func `an intermittent server is probed no more often than it is polled`() {
    for seed in 0..<100 as Range<UInt64> {
      var harness = LinkHarness.wanted(.messageStream, seed: seed)
      harness.give(.prepared(harness.attempt))
      harness.give(.lost(harness.attempt, .refused))
      harness.peer = .isSilent
      while harness.seconds < 1800 {
        let asked = harness.polls.count
        harness.next()
        if harness.polls.count > asked {
          let answer = asked.isMultiple(of: 2) ? nil : LinkFailure.timeout(.response)
          harness.give(.polled(harness.link.standby.pollID, answer))
        }
        if let attempt = harness.link.currentAttempt { harness.give(.lost(attempt, .refused)) }
      }
      let waits = zip(harness.opens, harness.opens.dropFirst()).map { $1 - $0 }.dropFirst()
      #expect(waits.count > 20 && waits.allSatisfy { $0 >= 27 }, "\(waits)")
    }
  }

  @Test func `a failed probe returns to polling, and the next follows one or two intervals later`()
  {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .refused))
    harness.pass(.seconds(5))
    #expect(harness.opens.count == 2)
    harness.give(.lost(harness.attempt, .timeout(.upgrade)))
    harness.opens = []
    let start = harness.seconds
    for _ in 0..<40 where harness.opens.isEmpty {
      harness.next()
      if let poll = harness.log.last(where: { if case .poll = $0 { true } else { false } }),
        case .poll(let id) = poll
      {
        harness.give(.polled(id, nil))
      }
    }
    let first = (harness.opens.first ?? 0) - start
    // The server responds again, so the wait after the first failed probe is one or two intervals.
    #expect((30...60).contains(first))
  }

  @Test func `the breaker pauses tries after many failures`() throws {
    let policy = try LinkPolicy.session.setting([
      ("retry.breaker", "3/10m:5m"), ("retry.first", "1s,1s,1s,1s,1s,1s"),
    ])
    var harness = LinkHarness.wanted(policy)
    harness.failAll(.timeout(.connect), until: .seconds(4000))
    #expect(harness.opens.prefix(3) == [0, 1, 2])
    #expect(harness.opens.dropFirst(3).first == 302)  // failure 3 at 2 s, then 300 s
  }
}
