import Testing

@testable import LinkCore

/// Tries that a user requests: immediate, followed by the first waits, and within the windows.
@Suite struct DemandScenarioTests {
  /// Returns a lost link whose tries all failed and whose next try is number `attempt`.
  private static func failing(_ policy: LinkPolicy, until attempt: Int) -> LinkBench {
    var bench = LinkBench.connected(policy)
    bench.give(.lost(bench.attempt, .reset))
    while bench.link.status.attempt < attempt || bench.link.currentAttempt != nil {
      if bench.link.currentAttempt == nil { bench.next() } else { bench.fail() }
    }
    return bench
  }

  /// Compares the waits, in seconds, after the try that the user requested.
  ///
  /// They are 1, 2, 4, and 8 s as in the requirements. Where the policy says so, they have a jitter
  /// of a quarter and a floor.
  @Test(arguments: [
    (LinkPolicy.messageStream, 4, [1.0...1, 2...2, 4...4, 8...8]),
    (.session, 9, [1...1.25, 1.5...2.5, 3...5, 6...10]),
    (.socket, 9, [0.75...1.25, 1.5...2.5, 3...5, 6...10]),
  ])
  func `a user's request starts an attempt at once, and the waits after it start over`(
    policy: LinkPolicy, attempt: Int, waits: [ClosedRange<Double>]
  ) {
    var bench = Self.failing(policy, until: attempt)
    #expect(bench.link.status.attempt == attempt)
    bench.pass(.milliseconds(100))
    bench.opens = []
    let asked = bench.seconds
    bench.give(.trigger(.userRefresh))
    #expect(bench.opens == [asked])
    #expect(bench.link.status.phase == .reconnecting && bench.link.status.attempt == 1)
    for wait in waits {
      let failed = bench.seconds
      bench.fail()
      bench.next()
      let time = bench.seconds - failed
      #expect(wait.contains((time * 1e6).rounded() / 1e6), "\(time) s after the previous failure")
    }
  }

  @Test func `a user's request during an attempt takes effect when the attempt fails`() {
    var bench = Self.failing(.session, until: 9)
    bench.next()
    let attempt = bench.attempt
    bench.pass(.seconds(3))
    let effects = bench.give(.trigger(.userRefresh))
    #expect(effects == [.status(bench.link.status)])
    #expect(bench.attempt == attempt, "the try continues")
    let failed = bench.seconds
    bench.fail()
    bench.next()
    #expect((1...1.25).contains(bench.seconds - failed))
  }

  /// Repeats the requests of a user whose session had ended after 126 s.
  @Test(arguments: [LinkPolicy.messageStream, .session, .socket])
  func `requests every 7 s lead to attempts as long as they last, at most 10 per minute`(
    policy: LinkPolicy
  ) {
    var bench = LinkBench.connected(policy)
    bench.peer = .isSilent
    bench.give(.lost(bench.attempt, .reset))
    for _ in 0..<600 {
      if bench.link.currentAttempt != nil { bench.fail() }
      if Int(bench.seconds) % 7 == 0 { bench.give(.trigger(.userRefresh)) }
      #expect(bench.link.status.phase != .failed)
      bench.pass(.seconds(1))
    }
    for start in bench.opens {
      // The eleventh try may begin exactly when the minute ends.
      #expect(bench.opens.filter { $0 >= start && $0 < start + 59.999_999 }.count <= 10)
    }
    #expect(bench.opens.contains { $0 > 540 }, "still tried in the tenth minute")
  }

  @Test func `a request that the windows delay reports the limit and the retry time`() throws {
    var bench = LinkBench.wanted(.socket)
    while bench.opens.count < 10 {
      bench.fail()
      bench.pass(.milliseconds(500))
      bench.give(.trigger(.userRefresh))
    }
    let tenth = bench.seconds
    bench.fail()
    bench.give(.trigger(.userRefresh))
    // The first of the ten tries was made at 0 s, and 60 s allow no more than ten.
    #expect(bench.link.status.reason == .limited)
    #expect(bench.link.status.retryAt == .second(60))
    #expect(tenth < 10)
    bench.next()
    #expect(bench.opens.last == 60)
  }

  @Test func `a user's request during the server's retry-after still reports the failure`() {
    var bench = LinkBench.connected(.socket)
    let failure = LinkFailure.http(status: 429, retryAfter: .seconds(40), detail: "")
    bench.give(.lost(bench.attempt, failure))
    bench.give(.trigger(.userRefresh))
    #expect(bench.link.status.reason == .failure(failure))
  }

  @Test func `a user's request does not permit a second refresh in the same series`() {
    var bench = LinkBench.connected(.session)
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    bench.give(.lost(bench.attempt, refused))
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.trigger(.userRefresh))
    bench.give(.lost(bench.attempt, refused))
    #expect(bench.link.status.reason == .signIn)
  }

  @Test func `a sent message starts the next attempt but no new series`() {
    var bench = Self.failing(.messageStream, until: 4)
    bench.give(.trigger(.messageSent))
    #expect(bench.link.status.attempt == 4)
  }

  @Test func `the back-off of a session restarts on success, in the foreground and on demand`() {
    let starts: [(String, (inout LinkBench) -> Void)] = [
      (
        "success",
        { bench in
          bench.next()
          bench.connect()
          bench.pass(.seconds(30))
          bench.give(.lost(bench.attempt, .reset))
        }
      ),
      (
        "foreground",
        { bench in
          bench.give(.lifecycle(.background))
          bench.give(.lifecycle(.foreground))
          bench.fail()
        }
      ),
      (
        "demand",
        { bench in
          bench.give(.trigger(.userRefresh))
          bench.fail()
        }
      ),
    ]
    for (name, start) in starts {
      var bench = Self.failing(.session, until: 9)
      start(&bench)
      let failed = bench.seconds
      bench.next()
      #expect((1...1.25).contains(bench.seconds - failed), "\(name)")
    }
  }
}

extension LinkBench {
  /// Lets the current try fail.
  fileprivate mutating func fail() {
    give(.prepared(attempt))
    give(.lost(attempt, .timeout(.connect)))
  }
}
