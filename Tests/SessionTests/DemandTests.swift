import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of the requirements of seed 003 for attempts and pings.
@Suite struct DemandTests {
  @Test func `the first pong has a time-out of 5 s, and each further ping has 5 s more`() {
    var harness = SessionHarness.connected()
    harness.answersPings = false
    let count = { (harness: SessionHarness) in harness.sent.count { $0 == .ping } }
    harness.pass(.seconds(30))
    #expect(count(harness) == 1)
    harness.pass(.milliseconds(4_999))
    #expect(count(harness) == 1)
    harness.pass(.milliseconds(1))
    #expect(count(harness) == 2, "5 s")
    harness.pass(.milliseconds(9_999))
    #expect(count(harness) == 2)
    harness.pass(.milliseconds(1))
    #expect(count(harness) == 3, "10 s")
    harness.pass(.milliseconds(14_999))
    #expect(harness.model.isConnected)
    harness.pass(.milliseconds(1))
    #expect(!harness.model.isConnected, "15 s")
  }

  @Test func `sends no ping without a connection, and keeps no ping timer of an older one`() {
    var harness = SessionHarness.connected()
    harness.pass(.seconds(29))
    // The ping of this connection would be due after one second, but the next attempt waits for
    // hello.
    harness.lose()
    #expect(!harness.sent.contains(.ping))
    harness.connect()
    harness.pass(.milliseconds(29_999))
    #expect(!harness.sent.contains(.ping))
    harness.pass(.milliseconds(1))
    #expect(harness.sent.count { $0 == .ping } == 1)
    harness.pass(.seconds(30))
    #expect(harness.sent.count { $0 == .ping } == 2, "only one timer runs")
  }

  @Test(arguments: [
    SessionModel.Input.start, .link(.device(.again), at: Timestamp(nanoseconds: 0)),
  ])
  func `a request of the user is tried at once and resets the back-off`(
    request: SessionModel.Input
  ) throws {
    var harness = SessionHarness.opening()
    var failed = 0
    while failed < 9 {
      if harness.attempt.number > 0 {
        harness.give(.link(.lost(harness.attempt, .refused), at: harness.wall))
        failed += 1
      } else {
        harness.pass(.milliseconds(100))
      }
    }
    let before = harness.opens
    harness.give(request)
    #expect(harness.opens == before + 1)
    harness.give(.link(.lost(harness.attempt, .refused), at: harness.wall))
    let status = harness.model.link.status
    #expect(status.attempt == 1 && status.maxAttempts == 20)
    let wait = harness.now.duration(to: try #require(status.retryAt))
    #expect((1...1.25).contains(wait / .seconds(1)), "the ninth wait has 30 s")
  }

  @Test func `uses a restored network at once, and makes no attempt without one`() {
    var harness = SessionHarness.connected()
    func change(_ reachability: Reachability) {
      harness.give(.link(.device(.reachability(reachability)), at: harness.wall))
    }
    change(.reachable(path: PathID("wlan0")))
    let before = harness.opens
    change(.unreachable)
    harness.pass(.seconds(3_600))
    #expect(harness.opens == before, "no attempt and no timer")
    #expect(harness.model.link.deadline == nil)
    change(.reachable(path: PathID("wlan0")))
    #expect(harness.opens == before + 1, "no wait")
    change(.reachable(path: PathID("wlan0")))
    #expect(harness.opens == before + 1, "the same answer again")
  }
}
