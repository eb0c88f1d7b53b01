import HoldfastCore
import Testing

struct LivenessScenarioTests {
  @Test func `a link is dead after 90 s without a byte, and not a nanosecond earlier`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.heard(harness.attempt))
    let attempt = harness.attempt
    harness.pass(.seconds(90) - .nanoseconds(1))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.nanoseconds(1))
    #expect(harness.log.contains(.close(attempt, .silent)))
    #expect(harness.opens.count == 1, "reconnected at once")
  }

  @Test func `any byte counts as a sign of life`() {
    var harness = LinkHarness.connected(.messageStream)
    for _ in 0..<100 {
      harness.pass(.seconds(89))
      harness.give(.heard(harness.attempt))
    }
    #expect(harness.link.status.phase == .connected)
    #expect(harness.opens == [])
  }

  @Test func `a relay pings after 25 s, and 10 s without a pong end the link`() {
    var harness = LinkHarness.connected(.healthRelayService)
    harness.pass(.seconds(20))
    harness.peer = .isSilent
    harness.log = []
    harness.pass(.seconds(25))
    #expect(harness.log.contains { if case .ping = $0 { true } else { false } })
    harness.pass(.milliseconds(9_999))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.milliseconds(1))
    #expect(harness.link.status.phase == .reconnecting)
  }

  @Test func `the deadlines of a connected link have names`() {
    var harness = LinkHarness.connected(.healthRelayService)
    #expect(harness.link.deadlines.map(\.name) == [.ping, .unused])
    harness.peer = .isSilent
    harness.next()
    #expect(harness.link.deadlines.map(\.name) == [.pongIsLate, .unused])
    harness = LinkHarness.connected(.messageStream)
    #expect(harness.link.deadlines.map(\.name) == [.silence])
  }

  /// Returns a session policy under which a link ends if one pong is missing for 10 s.
  private static func asksOnce() throws -> LinkPolicy {
    try .session.setting([
      ("liveness.pongTries", "1"), ("liveness.pongTimeout", "10s"),
      ("liveness.degradedPing", "off"), ("liveness.poorPing", "off"),
    ])
  }

  @Test func `a pong may take three measured round trips before the link counts as dead`() throws {
    var harness = try LinkHarness.connected(Self.asksOnce())
    harness.peer = .isSilent
    harness.pass(.seconds(8))
    for _ in 0..<8 {
      harness.pass(.seconds(22))
      guard case .ping(let attempt, let id) = harness.log.last(where: isPing) else { continue }
      harness.pass(.seconds(8))
      harness.give(.pong(attempt, id))
    }
    #expect(harness.link.status.quality == .poor)
    harness.pass(.seconds(22))
    harness.pass(.seconds(20))
    #expect(harness.link.status.phase == .connected, "10 s would have ended it; 3 × 8 s does not")
  }

  @Test func `after a pong that took minutes, a dead link is detected within three pong time-outs`()
    throws
  {
    var harness = try LinkHarness.connected(Self.asksOnce())
    harness.peer = .isSilent
    harness.pass(.seconds(30))
    guard case .ping(let attempt, let id) = try #require(harness.log.last(where: isPing)) else {
      return
    }
    for _ in 0..<20 {
      harness.pass(.seconds(9))
      harness.give(.heard(attempt))
    }
    harness.give(.pong(attempt, id))
    harness.pass(.milliseconds(29_999))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.milliseconds(1))
    #expect(harness.link.status.phase == .reconnecting)
  }

  @Test func `waking from sleep sends a ping at once`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.peer = .isSilent
    let effects = harness.give(.trigger(.woke))
    #expect(effects == [.ping(harness.attempt, 1)])
    harness.pass(.seconds(10))
    #expect(harness.opens.count == 1, "without an answer the link is half-open and reconnects")
  }

  @Test func `three missing pongs end a session, each with a longer time-out than the last`() {
    var harness = LinkHarness.connected(.session)
    harness.peer = .isSilent
    harness.pass(.seconds(30))
    #expect(pings(harness) == 1 && harness.link.status.quality == .good)
    for (missed, time, quality) in [(1, 5, LinkQuality.degraded), (2, 10, .poor)] {
      harness.pass(.seconds(time) - .nanoseconds(1))
      #expect(pings(harness) == missed)
      harness.pass(.nanoseconds(1))
      #expect(pings(harness) == missed + 1)
      #expect(harness.link.status.quality == quality, "the quality drops before the link ends")
    }
    harness.pass(.seconds(15) - .nanoseconds(1))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.nanoseconds(1))
    #expect(harness.link.status.phase == .reconnecting)
  }

  @Test func `any byte between a session's pings resets the count of missing pongs`() {
    var harness = LinkHarness.connected(.session)
    harness.peer = .isSilent
    harness.pass(.seconds(45))
    #expect(harness.link.status.quality == .poor)
    harness.give(.heard(harness.attempt))
    #expect(harness.link.status.quality == .good)
    harness.pass(.seconds(30) - .nanoseconds(1))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.nanoseconds(1))
    #expect(harness.link.status.phase == .reconnecting)
  }

  @Test func `a late pong is a sign of life but does not measure a newer ping`() throws {
    var harness = LinkHarness.connected(.session)
    harness.peer = .isSilent
    harness.pass(.seconds(36))
    #expect(pings(harness) == 2 && harness.link.status.quality == .degraded)
    let last = try #require(harness.log.last(where: isPing))
    guard case .ping(let attempt, let id) = last else { return }
    harness.give(.pong(attempt, id - 1))
    #expect(harness.link.status.quality == .good)
    harness.pass(.seconds(3))
    harness.give(.pong(attempt, id))
    #expect(harness.link.status.quality == .poor, "the round trip took 4 s, not 1 s")
  }

  @Test func `after waking, a session has one ping and 10 s to answer`() {
    var harness = LinkHarness.connected(.session)
    harness.peer = .isSilent
    harness.pass(.seconds(30))
    let effects = harness.give(.trigger(.woke))
    #expect(effects == [], "a ping is already outstanding")
    harness.pass(.seconds(10) - .nanoseconds(1))
    #expect(harness.link.status.phase == .connected && pings(harness) == 1)
    harness.pass(.nanoseconds(1))
    #expect(harness.link.status.phase == .reconnecting)
  }

  @Test(arguments: [(0, 30), (700, 45), (3_000, 60)])
  func `a session pings every 30, 45 or 60 s, depending on its quality`(
    milliseconds: Int, period: Int
  ) {
    var harness = LinkHarness.connected(.session)
    harness.peer = .isSilent
    for _ in 0..<40 {
      harness.pass(.milliseconds(50))
      guard case .ping(let attempt, let id) = harness.log.last(where: isPing) else { continue }
      harness.log = []
      harness.pass(.milliseconds(milliseconds))
      harness.give(.pong(attempt, id))
      let asked = harness.seconds
      harness.pass(.seconds(period) - .milliseconds(milliseconds) - .nanoseconds(1))
      #expect(pings(harness) == 0, "at \(asked)")
      harness.pass(.nanoseconds(1))
      #expect(pings(harness) == 1, "at \(asked)")
    }
  }

  @Test(arguments: [("30s", 30), ("29s", 30), ("31s", 31), ("89s", 89), ("90s", 30), ("off", 30)])
  func `a slower ping interval applies only between the usual one and the silence limit`(
    slower: String, period: Int
  ) throws {
    let policy = try LinkPolicy.session.setting([
      ("liveness.poorPing", slower), ("liveness.degradedPing", "off"),
    ])
    var harness = LinkHarness.connected(policy)
    harness.peer = .isSilent
    harness.pass(.seconds(30))
    guard case .ping(let attempt, let id) = try #require(harness.log.last(where: isPing)) else {
      return
    }
    harness.log = []
    harness.pass(.seconds(4))
    harness.give(.pong(attempt, id))
    #expect(harness.link.status.quality == .poor)
    harness.pass(.seconds(period - 4) - .nanoseconds(1))
    #expect(pings(harness) == 0)
    harness.pass(.nanoseconds(1))
    #expect(pings(harness) == 1)
  }

  private func pings(_ harness: LinkHarness) -> Int { harness.log.count(where: isPing) }

  private func isPing(_ effect: HeldLink.Effect) -> Bool {
    if case .ping = effect { true } else { false }
  }
}
