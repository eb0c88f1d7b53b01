import Testing

@testable import HoldfastCore

/// Tests of tries that a user requests. They start immediately, restart the schedule, and respect
/// the rate limits.
@Suite struct DemandScenarioTests {
  /// Returns a lost link whose tries have all failed and whose next try is number `attempt`.
  private static func failing(_ policy: LinkPolicy, until attempt: Int) -> LinkHarness {
    var harness = LinkHarness.connected(policy)
    harness.give(.lost(harness.attempt, .reset))
    while harness.link.status.attempt < attempt || harness.link.currentAttempt != nil {
      if harness.link.currentAttempt == nil { harness.next() } else { harness.fail() }
    }
    return harness
  }

  /// Compares the waits, in seconds, after the try that the user requested.
  ///
  /// They are 1, 2, 4 and 8 s, as in the requirements. If the policy specifies it, they have a
  /// jitter of a quarter and a minimum.
  @Test(arguments: [
    (LinkPolicy.messageStream, 4, [1.0...1, 2...2, 4...4, 8...8]),
    (.session, 9, [1...1.25, 1.5...2.5, 3...5, 6...10]),
    (.socket, 9, [0.75...1.25, 1.5...2.5, 3...5, 6...10]),
  ])
  func `a user's request starts an attempt at once, and the waits after it start over`(
    policy: LinkPolicy, attempt: Int, waits: [ClosedRange<Double>]
  ) {
    var harness = Self.failing(policy, until: attempt)
    #expect(harness.link.status.attempt == attempt)
    harness.pass(.milliseconds(100))
    harness.opens = []
    let asked = harness.seconds
    harness.give(.trigger(.userRefresh))
    #expect(harness.opens == [asked])
    #expect(harness.link.status.phase == .reconnecting && harness.link.status.attempt == 1)
    for wait in waits {
      let failed = harness.seconds
      harness.fail()
      harness.next()
      let time = harness.seconds - failed
      #expect(wait.contains((time * 1e6).rounded() / 1e6), "\(time) s after the previous failure")
    }
  }

  @Test func `a user's request during an attempt takes effect when the attempt fails`() {
    var harness = Self.failing(.session, until: 9)
    harness.next()
    let attempt = harness.attempt
    harness.pass(.seconds(3))
    let effects = harness.give(.trigger(.userRefresh))
    #expect(effects == [.status(harness.link.status)])
    #expect(harness.attempt == attempt, "the try continues")
    let failed = harness.seconds
    harness.fail()
    harness.next()
    #expect((1...1.25).contains(harness.seconds - failed))
  }

  /// Repeats the requests of a user whose session ended after 126 s.
  @Test(arguments: [LinkPolicy.messageStream, .session, .socket])
  func `requests every 7 s lead to attempts as long as they last, at most 10 per minute`(
    policy: LinkPolicy
  ) {
    var harness = LinkHarness.connected(policy)
    harness.peer = .isSilent
    harness.give(.lost(harness.attempt, .reset))
    for _ in 0..<600 {
      if harness.link.currentAttempt != nil { harness.fail() }
      if Int(harness.seconds) % 7 == 0 { harness.give(.trigger(.userRefresh)) }
      #expect(harness.link.status.phase != .failed)
      harness.pass(.seconds(1))
    }
    for start in harness.opens {
      // The eleventh try may begin exactly when the minute ends.
      #expect(harness.opens.filter { $0 >= start && $0 < start + 59.999_999 }.count <= 10)
    }
    #expect(harness.opens.contains { $0 > 540 }, "still tried in the tenth minute")
  }

  @Test func `a request that the windows delay reports the limit and the retry time`() throws {
    var harness = LinkHarness.wanted(.socket)
    while harness.opens.count < 10 {
      harness.fail()
      harness.pass(.milliseconds(500))
      harness.give(.trigger(.userRefresh))
    }
    let tenth = harness.seconds
    harness.fail()
    harness.give(.trigger(.userRefresh))
    // The first of the ten tries was made at 0 s, and 60 s allow at most ten tries.
    #expect(harness.link.status.reason == .limited)
    #expect(harness.link.status.retryAt == .second(60))
    #expect(tenth < 10)
    harness.next()
    #expect(harness.opens.last == 60)
  }

  @Test func `a user's request during the server's retry-after still reports the failure`() {
    var harness = LinkHarness.connected(.socket)
    let failure = LinkFailure.http(status: 429, retryAfter: .seconds(40), detail: "")
    harness.give(.lost(harness.attempt, failure))
    harness.give(.trigger(.userRefresh))
    #expect(harness.link.status.reason == .failure(failure))
  }

  @Test func `a user's request does not permit a second refresh in the same series`() {
    var harness = LinkHarness.connected(.session)
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    harness.give(.lost(harness.attempt, refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.trigger(.userRefresh))
    harness.give(.lost(harness.attempt, refused))
    #expect(harness.link.status.reason == .signIn)
  }

  @Test func `a sent message starts the next attempt but no new series`() {
    var harness = Self.failing(.messageStream, until: 4)
    harness.give(.trigger(.messageSent))
    #expect(harness.link.status.attempt == 4)
  }

  @Test func `the back-off of a session restarts on success, in the foreground and on demand`() {
    let starts: [(String, (inout LinkHarness) -> Void)] = [
      (
        "success",
        { harness in
          harness.next()
          harness.connect()
          harness.pass(.seconds(30))
          harness.give(.lost(harness.attempt, .reset))
        }
      ),
      (
        "foreground",
        { harness in
          harness.give(.lifecycle(.background))
          harness.give(.lifecycle(.foreground))
          harness.fail()
        }
      ),
      (
        "demand",
        { harness in
          harness.give(.trigger(.userRefresh))
          harness.fail()
        }
      ),
    ]
    for (name, start) in starts {
      var harness = Self.failing(.session, until: 9)
      start(&harness)
      let failed = harness.seconds
      harness.next()
      #expect((1...1.25).contains(harness.seconds - failed), "\(name)")
    }
  }
}

extension LinkHarness {
  /// Lets the current try fail.
  fileprivate mutating func fail() {
    give(.prepared(attempt))
    give(.lost(attempt, .timeout(.connect)))
  }
}
