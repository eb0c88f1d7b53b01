import LinkCore
import Testing

struct LivenessScenarioTests {
  @Test func `a link is dead after 90 s without a byte, and not a nanosecond earlier`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.heard(bench.attempt))
    let attempt = bench.attempt
    bench.pass(.seconds(90) - .nanoseconds(1))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.nanoseconds(1))
    #expect(bench.log.contains(.close(attempt, .silent)))
    #expect(bench.opens.count == 1, "reconnected at once")
  }

  @Test func `any byte counts as a sign of life`() {
    var bench = LinkBench.connected(.messageStream)
    for _ in 0..<100 {
      bench.pass(.seconds(89))
      bench.give(.heard(bench.attempt))
    }
    #expect(bench.link.status.phase == .connected)
    #expect(bench.opens == [])
  }

  @Test func `a relay pings after 25 s, and 10 s without a pong end the link`() {
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

  /// Returns a session policy under which one pong that is missing for 10 s ends the link.
  private static func asksOnce() throws -> LinkPolicy {
    try .session.setting([
      ("liveness.pongTries", "1"), ("liveness.pongTimeout", "10s"),
      ("liveness.degradedPing", "off"), ("liveness.poorPing", "off"),
    ])
  }

  @Test func `a pong may take three measured round trips before the link counts as dead`() throws {
    var bench = try LinkBench.connected(Self.asksOnce())
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

  @Test func `after a pong that took minutes, a dead link is detected within three pong time-outs`()
    throws
  {
    var bench = try LinkBench.connected(Self.asksOnce())
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

  @Test func `waking from sleep sends a ping at once`() {
    var bench = LinkBench.connected(.messageStream)
    bench.peer = .isSilent
    let effects = bench.give(.trigger(.woke))
    #expect(effects == [.ping(bench.attempt, 1)])
    bench.pass(.seconds(10))
    #expect(bench.opens.count == 1, "without an answer the link is half-open and reconnects")
  }

  @Test func `three missing pongs end a session, each with a longer time-out than the last`() {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    bench.pass(.seconds(30))
    #expect(pings(bench) == 1 && bench.link.status.quality == .good)
    for (missed, time, quality) in [(1, 5, LinkQuality.degraded), (2, 10, .poor)] {
      bench.pass(.seconds(time) - .nanoseconds(1))
      #expect(pings(bench) == missed)
      bench.pass(.nanoseconds(1))
      #expect(pings(bench) == missed + 1)
      #expect(bench.link.status.quality == quality, "the quality drops before the link ends")
    }
    bench.pass(.seconds(15) - .nanoseconds(1))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.nanoseconds(1))
    #expect(bench.link.status.phase == .reconnecting)
  }

  @Test func `any byte between a session's pings resets the count of missing pongs`() {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    bench.pass(.seconds(45))
    #expect(bench.link.status.quality == .poor)
    bench.give(.heard(bench.attempt))
    #expect(bench.link.status.quality == .good)
    bench.pass(.seconds(30) - .nanoseconds(1))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.nanoseconds(1))
    #expect(bench.link.status.phase == .reconnecting)
  }

  @Test func `a late pong is a sign of life but does not measure a newer ping`() throws {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    bench.pass(.seconds(36))
    #expect(pings(bench) == 2 && bench.link.status.quality == .degraded)
    let last = try #require(bench.log.last(where: isPing))
    guard case .ping(let attempt, let id) = last else { return }
    bench.give(.pong(attempt, id - 1))
    #expect(bench.link.status.quality == .good)
    bench.pass(.seconds(3))
    bench.give(.pong(attempt, id))
    #expect(bench.link.status.quality == .poor, "the round trip took 4 s, not 1 s")
  }

  @Test func `after waking, a session has one ping and 10 s to answer`() {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    bench.pass(.seconds(30))
    let effects = bench.give(.trigger(.woke))
    #expect(effects == [], "a ping is already outstanding")
    bench.pass(.seconds(10) - .nanoseconds(1))
    #expect(bench.link.status.phase == .connected && pings(bench) == 1)
    bench.pass(.nanoseconds(1))
    #expect(bench.link.status.phase == .reconnecting)
  }

  @Test(arguments: [(0, 30), (700, 45), (3_000, 60)])
  func `a session pings every 30, 45 or 60 s, depending on its quality`(
    milliseconds: Int, period: Int
  ) {
    var bench = LinkBench.connected(.session)
    bench.peer = .isSilent
    for _ in 0..<40 {
      bench.pass(.milliseconds(50))
      guard case .ping(let attempt, let id) = bench.log.last(where: isPing) else { continue }
      bench.log = []
      bench.pass(.milliseconds(milliseconds))
      bench.give(.pong(attempt, id))
      let asked = bench.seconds
      bench.pass(.seconds(period) - .milliseconds(milliseconds) - .nanoseconds(1))
      #expect(pings(bench) == 0, "at \(asked)")
      bench.pass(.nanoseconds(1))
      #expect(pings(bench) == 1, "at \(asked)")
    }
  }

  @Test(arguments: [("30s", 30), ("29s", 30), ("31s", 31), ("89s", 89), ("90s", 30), ("off", 30)])
  func `a slower ping interval applies only between the usual one and the silence limit`(
    slower: String, period: Int
  ) throws {
    let policy = try LinkPolicy.session.setting([
      ("liveness.poorPing", slower), ("liveness.degradedPing", "off"),
    ])
    var bench = LinkBench.connected(policy)
    bench.peer = .isSilent
    bench.pass(.seconds(30))
    guard case .ping(let attempt, let id) = try #require(bench.log.last(where: isPing)) else {
      return
    }
    bench.log = []
    bench.pass(.seconds(4))
    bench.give(.pong(attempt, id))
    #expect(bench.link.status.quality == .poor)
    bench.pass(.seconds(period - 4) - .nanoseconds(1))
    #expect(pings(bench) == 0)
    bench.pass(.nanoseconds(1))
    #expect(pings(bench) == 1)
  }

  private func pings(_ bench: LinkBench) -> Int { bench.log.count(where: isPing) }

  private func isPing(_ effect: HeldLink.Effect) -> Bool {
    if case .ping = effect { true } else { false }
  }
}
