import LinkCore
import Testing

/// What the answers to polls lead to.
@Suite struct StandbyScenarioTests {
  @Test func `a poll that works is no reason to probe a server that was never away`() {
    let teapot = LinkFailure.http(status: 418, retryAfter: nil, detail: "")
    var bench = LinkBench.connected(.messageStream)
    bench.peer = .isSilent
    bench.give(.lost(bench.attempt, .http(status: 429, retryAfter: .seconds(40), detail: "")))
    while bench.opens.isEmpty, bench.seconds < 100 {
      bench.pass(.seconds(1))
      bench.give(.polled(UInt64(bench.polls.count), teapot))
    }
    #expect(bench.polls.count > 1, "polls fill the wait")
    bench.give(.lost(bench.attempt, teapot))
    #expect(bench.link.status.phase == .standby)
    (bench.opens, bench.polls, bench.peer) = ([], [], .answers)
    bench.pass(.seconds(35))
    #expect(!bench.polls.isEmpty)
    #expect(bench.opens == [])
  }
}
