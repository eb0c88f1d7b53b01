import LinkCore
import LinkWire
import Testing

@testable import Session

/// Tests of the requirements of seed 003 for attempts and pings.
@Suite struct DemandTests {
  @Test func `the first pong has a time-out of 5 s, and each further ping has 5 s more`() {
    var bench = SessionBench.connected()
    bench.answersPings = false
    let count = { (bench: SessionBench) in bench.sent.count { $0 == .ping } }
    bench.pass(.seconds(30))
    #expect(count(bench) == 1)
    bench.pass(.milliseconds(4_999))
    #expect(count(bench) == 1)
    bench.pass(.milliseconds(1))
    #expect(count(bench) == 2, "5 s")
    bench.pass(.milliseconds(9_999))
    #expect(count(bench) == 2)
    bench.pass(.milliseconds(1))
    #expect(count(bench) == 3, "10 s")
    bench.pass(.milliseconds(14_999))
    #expect(bench.model.isConnected)
    bench.pass(.milliseconds(1))
    #expect(!bench.model.isConnected, "15 s")
  }

  @Test func `sends no ping without a connection, and keeps no ping timer of an older one`() {
    var bench = SessionBench.connected()
    bench.pass(.seconds(29))
    // The ping of this connection would be due after one second; the next attempt awaits hello.
    bench.lose()
    #expect(!bench.sent.contains(.ping))
    bench.connect()
    bench.pass(.milliseconds(29_999))
    #expect(!bench.sent.contains(.ping))
    bench.pass(.milliseconds(1))
    #expect(bench.sent.count { $0 == .ping } == 1)
    bench.pass(.seconds(30))
    #expect(bench.sent.count { $0 == .ping } == 2, "one timer")
  }

  @Test(arguments: [
    SessionModel.Input.start, .link(.device(.again), at: Timestamp(nanoseconds: 0)),
  ])
  func `a request of the user is tried at once and resets the back-off`(
    request: SessionModel.Input
  ) throws {
    var bench = SessionBench.opening()
    var failed = 0
    while failed < 9 {
      if bench.attempt.number > 0 {
        bench.give(.link(.lost(bench.attempt, .refused), at: bench.wall))
        failed += 1
      } else {
        bench.pass(.milliseconds(100))
      }
    }
    let before = bench.opens
    bench.give(request)
    #expect(bench.opens == before + 1)
    bench.give(.link(.lost(bench.attempt, .refused), at: bench.wall))
    let status = bench.model.link.status
    #expect(status.attempt == 1 && status.of == 20)
    let wait = bench.now.duration(to: try #require(status.retryAt))
    #expect((1...1.25).contains(wait / .seconds(1)), "the ninth wait has 30 s")
  }

  @Test func `uses a restored network at once, and makes no attempt without one`() {
    var bench = SessionBench.connected()
    func change(_ reachability: Reachability) {
      bench.give(.link(.device(.reachability(reachability)), at: bench.wall))
    }
    change(.reachable(path: PathID("wlan0")))
    let before = bench.opens
    change(.unreachable)
    bench.pass(.seconds(3_600))
    #expect(bench.opens == before, "no attempt and no timer")
    #expect(bench.model.link.deadline == nil)
    change(.reachable(path: PathID("wlan0")))
    #expect(bench.opens == before + 1, "no wait")
    change(.reachable(path: PathID("wlan0")))
    #expect(bench.opens == before + 1, "the same answer again")
  }
}
