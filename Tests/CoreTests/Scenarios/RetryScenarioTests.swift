import Testing

@testable import LinkCore

struct RetryScenarioTests {
  @Test func `a link makes at most ten attempts in any minute, whatever triggers them`() {
    var bench = LinkBench.wanted(.messageStream)
    for _ in 0..<200 {
      bench.give(.prepared(bench.attempt))
      bench.give(.lost(bench.attempt, .timeout(.connect)))
      bench.give(.trigger(.userRefresh))
      bench.pass(.seconds(1))
    }
    for start in bench.opens {
      let inMinute = bench.opens.filter { $0 >= start && $0 < start + 60 }.count
      #expect(inMinute <= 10)
    }
    #expect(bench.opens.filter { $0 < 60 }.count == 10, "the whole budget is used")
  }

  @Test func `a link makes at most ten polls in any minute, whatever triggers them`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .refused))
    for _ in 0..<600 {
      bench.give(.polled(bench.link.standby.pollID, .refused))
      bench.give(.trigger(.messageSent))
      bench.give(.lost(bench.attempt, .refused))
      bench.pass(.milliseconds(300))
    }
    for start in bench.polls {
      let inMinute = bench.polls.filter { $0 >= start && $0 < start + 60 }.count
      #expect(inMinute <= 10)
    }
    #expect(bench.polls.filter { $0 < 60 }.count == 10, "the whole budget is used")
  }

  @Test func `the first poll after a refusal is jittered over 5 s, one by the user is immediate`() {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var bench = LinkBench.connected(.messageStream, seed: seed)
      let lost = bench.seconds
      bench.give(.lost(bench.attempt, .refused))
      #expect(bench.link.status.mode == .polling)
      bench.pass(.seconds(5))
      waits.append((bench.polls.first ?? 99) - lost)
    }
    #expect(waits.allSatisfy { (1..<5).contains($0) }, "a restart gets one second")
    #expect(waits.filter { $0 < 3 }.count > 60 && waits.filter { $0 >= 3 }.count > 60)
    var bench = LinkBench.connected(.messageStream)
    bench.give(.setIntent(.standbyOnly))
    #expect(bench.polls == [bench.seconds])
  }

  @Test func `a link waits 5 s for an upgrade and not longer`() {
    for (wait, phase) in [
      (Duration.seconds(5) - .nanoseconds(1), LinkStatus.Phase.connected),
      (.seconds(5), .reconnecting), (.seconds(5) + .nanoseconds(1), .reconnecting),
    ] {
      var bench = LinkBench.wanted(.messageStream)
      bench.give(.prepared(bench.attempt))
      let attempt = bench.attempt
      bench.pass(wait)
      bench.give(.opened(attempt))
      #expect(bench.link.status.phase == phase, "after \(wait)")
      #expect(bench.log.contains(.close(attempt, .timeout)) == (phase != .connected))
    }
  }

  @Test func `connections that close at once do not restart the schedule`() {
    var bench = LinkBench.wanted(.messageStream)
    for _ in 0..<6 {
      bench.connect()
      bench.give(.lost(bench.attempt, .reset))
      if bench.link.status.phase == .reconnecting { bench.next() }
    }
    #expect(bench.opens == [0, 1, 3, 7, 15, 31])
    #expect(bench.link.status.phase == .standby)
  }

  @Test func `losing a link that was open for the stability time starts a new series`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .timeout(.connect)))
    bench.pass(.seconds(1))
    bench.connect()
    bench.pass(.seconds(10))
    bench.opens = []
    let lost = bench.seconds
    bench.give(.lost(bench.attempt, .reset))
    #expect(bench.opens == [lost])
  }

  /// Dials for 4 s in the second try of a series, and loses the link `stood` after it opened.
  @Test(arguments: [
    (Duration.milliseconds(9_999), 2.0), (.seconds(10), 0), (.milliseconds(10_001), 0),
  ])
  func `the stability time runs from the open, not from the dial`(stood: Duration, wait: Double) {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .timeout(.connect)))
    bench.pass(.seconds(1))
    bench.pass(.seconds(4))
    bench.connect()
    bench.pass(stood)
    bench.opens = []
    let lost = bench.seconds
    bench.give(.lost(bench.attempt, .reset))
    bench.pass(.seconds(5))
    let waits = bench.opens.map { (($0 - lost) * 1000).rounded() / 1000 }
    #expect(waits == [wait])
  }

  @Test(arguments: [UInt16(1001), 1012, 1013])
  func `a close code that suggests a restart jitters the first retry over 5 s`(code: UInt16) {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var bench = LinkBench.connected(.messageStream, seed: seed)
      let lost = bench.seconds
      bench.give(.lost(bench.attempt, .closed(code: code, reason: "restart")))
      bench.next()
      waits.append((bench.opens.first ?? -1) - lost)
    }
    #expect(waits.allSatisfy { (0..<5).contains($0) })
    #expect(waits.filter { $0 < 2.5 }.count > 60 && waits.filter { $0 >= 2.5 }.count > 60)
  }

  @Test func `the first retry after a drain notice is jittered over the announced window`() {
    var latest = 0.0
    for seed in 0..<200 as Range<UInt64> {
      var bench = LinkBench.connected(.messageStream, seed: seed)
      bench.give(.draining(bench.attempt, within: .seconds(60)))
      let lost = bench.seconds
      bench.give(.lost(bench.attempt, .closed(code: 1001, reason: "")))
      while bench.opens.isEmpty { bench.next() }
      latest = max(latest, (bench.opens.first ?? 0) - lost)
    }
    #expect((30..<60).contains(latest))
  }

  @Test func `Retry-After is honored even when the user refreshes`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.lost(bench.attempt, .http(status: 429, retryAfter: .seconds(40), detail: "")))
    let lost = bench.seconds
    for _ in 0..<39 {
      bench.give(.trigger(.userRefresh))
      bench.pass(.seconds(1))
    }
    #expect(bench.opens == [])
    while bench.opens.isEmpty, bench.link.deadline != nil { bench.next() }
    #expect((40...45).contains((bench.opens.first ?? 0) - lost))
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
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, failure))
    #expect(bench.link.status.phase == phase)
  }

  @Test(arguments: [404, 503])
  func `while polls work, no refresh, message or foreground retries before the slow probe`(
    status: Int
  ) {
    let missing = LinkFailure.http(status: status, retryAfter: nil, detail: "")
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, missing))
    bench.pass(.seconds(5))
    #expect(bench.opens.count == 2, "the first poll succeeded, so the stream is tried again")
    bench.give(.lost(bench.attempt, missing))
    let refused = bench.seconds
    bench.opens = []
    bench.give(.trigger(.userRefresh))
    bench.give(.trigger(.messageSent))
    bench.give(.lifecycle(.background))
    bench.give(.lifecycle(.foreground))
    bench.give(.polled(bench.link.standby.pollID, nil))
    bench.pass(.seconds(800))
    #expect(bench.opens == [])
    #expect(bench.polls.count > 20, "polling continues")
    bench.pass(.seconds(200))
    #expect((810...990).contains((bench.opens.first ?? 0) - refused), "15 minutes ± 10 %")
  }

  @Test func `after a 503 and failing polls, the first successful poll leads to an attempt`() {
    let missing = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, missing))
    bench.peer = .isSilent
    for _ in 0..<8 {
      bench.next()
      bench.give(.polled(bench.link.standby.pollID, missing))
    }
    #expect(bench.opens == [0])
    while bench.polls.count == 8 { bench.next() }
    bench.give(.polled(bench.link.standby.pollID, nil))
    #expect(bench.opens == [0, bench.seconds])
  }

  private static let missing = LinkFailure.http(status: 503, retryAfter: nil, detail: "")

  /// Returns a harness that polls because the server twice did not offer the link.
  private static func withoutTheLink() -> LinkBench {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, missing))
    bench.pass(.seconds(5))
    bench.give(.lost(bench.attempt, missing))
    bench.peer = .isSilent
    bench.opens = []
    return bench
  }

  @Test func `after a failed poll, the next successful one retries a link that was not offered`() {
    var bench = Self.withoutTheLink()
    let asked = bench.polls.count
    while bench.polls.count == asked { bench.next() }
    bench.give(.polled(bench.link.standby.pollID, Self.missing))
    while bench.polls.count == asked + 1 { bench.next() }
    bench.give(.polled(bench.link.standby.pollID, nil))
    #expect(bench.opens == [bench.seconds])
  }

  @Test func `a user's refresh retries a missing link only after a poll has failed`() {
    var bench = Self.withoutTheLink()
    let asked = bench.polls.count
    while bench.polls.count == asked { bench.next() }
    bench.give(.trigger(.userRefresh))
    #expect(bench.opens == [])
    bench.give(.polled(bench.link.standby.pollID, Self.missing))
    bench.give(.trigger(.userRefresh))
    #expect(bench.opens == [bench.seconds])
  }

  @Test func `a 503 with Retry-After is retried after that time, jittered over 5 s`() {
    var waits: [Double] = []
    for seed in 0..<200 as Range<UInt64> {
      var bench = LinkBench.connected(.messageStream, seed: seed)
      let refused = bench.seconds
      bench.give(.lost(bench.attempt, .http(status: 503, retryAfter: .seconds(2), detail: "")))
      #expect(bench.link.status.phase == .reconnecting)
      bench.next()
      waits.append((bench.opens.first ?? 99) - refused)
    }
    #expect(waits.allSatisfy { (2..<7).contains($0) })
    #expect(waits.filter { $0 < 4.5 }.count > 60 && waits.filter { $0 >= 4.5 }.count > 60)
  }

  @Test(arguments: [(Duration.seconds(20), LinkStatus.Mode.none), (.seconds(40), .polling)])
  func `the link polls during a wait that is longer than the poll interval`(
    retryAfter: Duration, mode: LinkStatus.Mode
  ) {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.lost(bench.attempt, .http(status: 503, retryAfter: retryAfter, detail: "")))
    #expect(bench.link.status.phase == .reconnecting)
    #expect(bench.link.status.mode == mode)
    bench.pass(retryAfter)
    #expect(bench.polls.isEmpty == (mode == .none))
    #expect(bench.opens == [])
  }

  @Test func `while polls work, a server that drops each link is probed less and less often`() {
    var bench = LinkBench.wanted(.messageStream)
    for _ in 0..<40 {
      if bench.link.currentAttempt == nil { bench.pass(.seconds(10)) }
      guard let attempt = bench.link.currentAttempt else { continue }
      bench.connect()
      bench.give(.lost(attempt, .reset))
    }
    while bench.seconds < 1800 {
      bench.pass(.seconds(1))
      guard let attempt = bench.link.currentAttempt else { continue }
      bench.connect()
      bench.give(.lost(attempt, .reset))
    }
    let waits = zip(bench.opens, bench.opens.dropFirst()).map { $1 - $0 }.dropFirst(6)
    for (wait, least) in zip(waits, [30.0, 60, 120, 270, 270]) { #expect(wait >= least) }
    #expect(waits.allSatisfy { $0 <= 332 })
    let pauses = zip(bench.polls, bench.polls.dropFirst()).map { $1 - $0 }.dropFirst()
    #expect(pauses.allSatisfy { $0 >= 26 }, "a link that ends at once causes no extra poll")
  }

  @Test func `the first successful poll after an outage opens the socket at once`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .refused))
    bench.opens = []
    bench.peer = .isSilent
    bench.give(.polled(1, .refused))
    bench.pass(.seconds(33))
    bench.give(.polled(2, nil))
    #expect(bench.opens.count == 1)
    bench.give(.opened(bench.attempt))
    #expect(bench.link.status == LinkStatus(phase: .connected, mode: .live, quality: .good))
  }

  @Test func `a server that recovers right after a probe is probed one interval after that probe`()
  {
    for seed in 0..<100 as Range<UInt64> {
      var bench = LinkBench.wanted(.messageStream, seed: seed)
      bench.give(.prepared(bench.attempt))
      bench.give(.lost(bench.attempt, .refused))
      bench.peer = .isSilent
      bench.pass(.seconds(8))
      bench.give(.polled(bench.link.standby.pollID, .timeout(.response)))
      bench.give(.trigger(.messageSent))
      bench.give(.lost(bench.attempt, .refused))
      let probed = bench.seconds
      bench.opens = []
      bench.pass(.seconds(5))
      bench.give(.credentials(.available(expiresIn: nil)))
      bench.give(.polled(bench.link.standby.pollID, nil))
      #expect(bench.opens == [])
      bench.pass(.seconds(29))
      #expect(bench.opens.allSatisfy { (27...33).contains($0 - probed) })
      #expect(bench.opens.count == 1)
    }
  }

  @Test func `an intermittent server is probed no more often than it is polled`() {
    for seed in 0..<100 as Range<UInt64> {
      var bench = LinkBench.wanted(.messageStream, seed: seed)
      bench.give(.prepared(bench.attempt))
      bench.give(.lost(bench.attempt, .refused))
      bench.peer = .isSilent
      while bench.seconds < 1800 {
        let asked = bench.polls.count
        bench.next()
        if bench.polls.count > asked {
          let answer = asked.isMultiple(of: 2) ? nil : LinkFailure.timeout(.response)
          bench.give(.polled(bench.link.standby.pollID, answer))
        }
        if let attempt = bench.link.currentAttempt { bench.give(.lost(attempt, .refused)) }
      }
      let waits = zip(bench.opens, bench.opens.dropFirst()).map { $1 - $0 }.dropFirst()
      #expect(waits.count > 20 && waits.allSatisfy { $0 >= 27 }, "\(waits)")
    }
  }

  @Test func `a failed probe returns to polling, and the next follows one or two intervals later`()
  {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .refused))
    bench.pass(.seconds(5))
    #expect(bench.opens.count == 2)
    bench.give(.lost(bench.attempt, .timeout(.upgrade)))
    bench.opens = []
    let start = bench.seconds
    for _ in 0..<40 where bench.opens.isEmpty {
      bench.next()
      if let poll = bench.log.last(where: { if case .poll = $0 { true } else { false } }),
        case .poll(let id) = poll
      {
        bench.give(.polled(id, nil))
      }
    }
    let first = (bench.opens.first ?? 0) - start
    // The server is back, so the wait after the first failed probe is one or two intervals.
    #expect((30...60).contains(first))
  }

  @Test func `the breaker pauses tries after many failures`() throws {
    let policy = try LinkPolicy.session.setting([
      ("retry.breaker", "3/10m:5m"), ("retry.first", "1s,1s,1s,1s,1s,1s"),
    ])
    var bench = LinkBench.wanted(policy)
    bench.failAll(.timeout(.connect), until: .seconds(4000))
    #expect(bench.opens.prefix(3) == [0, 1, 2])
    #expect(bench.opens.dropFirst(3).first == 302)  // failure 3 at 2 s, then 300 s
  }
}
