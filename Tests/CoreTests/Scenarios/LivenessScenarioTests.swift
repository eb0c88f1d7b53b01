import LinkCore
import Testing

struct LivenessScenarioTests {
  @Test func `90 s without a byte is a dead link, one nanosecond less is not`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.heard(bench.attempt))
    let attempt = bench.attempt
    bench.pass(.seconds(90) - .nanoseconds(1))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.nanoseconds(1))
    #expect(bench.log.contains(.close(attempt, .silent)))
    #expect(bench.opens.count == 1, "reconnected at once")
  }

  @Test func `any byte counts as life`() {
    var bench = LinkBench.connected(.messageStream)
    for _ in 0..<100 {
      bench.pass(.seconds(89))
      bench.give(.heard(bench.attempt))
    }
    #expect(bench.link.status.phase == .connected)
    #expect(bench.opens == [])
  }

  @Test func `our own ping goes out after 25 s, and 10 s without an answer end the link`() {
    var bench = LinkBench.connected(.healthRelayService)
    bench.pass(.seconds(20))
    bench.peer = .isSilent
    bench.log = []
    bench.pass(.seconds(25))
    #expect(bench.log.contains { if case .ping = $0 { true } else { false } })
    bench.pass(.milliseconds(9_999))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.milliseconds(1))
    #expect(bench.link.status.phase == .reconnecting)
  }

  @Test func `slow is not dead: a pong may take three measured round trips`() throws {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    bench.pass(.seconds(8))
    for _ in 0..<8 {
      bench.pass(.seconds(22))
      guard case .ping(let attempt, let id) = bench.log.last(where: isPing) else { continue }
      bench.pass(.seconds(8))
      bench.give(.pong(attempt, id))
    }
    #expect(bench.link.status.quality == .poor)
    bench.pass(.seconds(22))
    bench.pass(.seconds(20))
    #expect(bench.link.status.phase == .connected, "10 s would have ended it; 3 × 8 s does not")
  }

  @Test func `a pong that once took minutes hides a dead link for three floors at most`() throws {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    bench.pass(.seconds(30))
    guard case .ping(let attempt, let id) = try #require(bench.log.last(where: isPing)) else {
      return
    }
    for _ in 0..<20 {
      bench.pass(.seconds(9))
      bench.give(.heard(attempt))
    }
    bench.give(.pong(attempt, id))
    bench.pass(.milliseconds(29_999))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.milliseconds(1))
    #expect(bench.link.status.phase == .reconnecting)
  }

  @Test func `waking from sleep asks for a sign of life at once`() {
    var bench = LinkBench.connected(.messageStream)
    bench.peer = .isSilent
    let effects = bench.give(.trigger(.woke))
    #expect(effects == [.ping(bench.attempt, 1)])
    bench.pass(.seconds(10))
    #expect(bench.opens.count == 1, "no answer: half-open, so reconnect")
  }

  private func isPing(_ effect: Link.Effect) -> Bool {
    if case .ping = effect { true } else { false }
  }
}
