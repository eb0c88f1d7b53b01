import HoldfastCore
import HoldfastHerd
import Testing

@Suite struct HerdTests {
  private let messageStream = Herd.policy(.messageStream)

  private func plan(
    _ cause: Outage.Cause, for length: Duration = .zero, clients: Int = 1000, seed: UInt64 = 1,
    _ door: Door = Door()
  ) -> HerdPlan {
    HerdPlan(clients: clients, outage: Outage(cause, for: length), door: door, seed: seed)
  }

  private func share(_ result: HerdResult) -> Double {
    Double(result.peak(of: \.tries).count) / Double(result.plan.clients)
  }

  @Test func `spreads a fleet that the server closed over the policy's five seconds of jitter`() {
    let result = messageStream.play(plan(.close))
    // Jitter of 5 s puts 1/5 of the clients, 200 of 1000, into each second. The distribution is
    // binomial with a standard deviation of sqrt(1000 · 0.2 · 0.8) = 12.6. The limit of 263 is five
    // standard deviations above 200.
    #expect((200...263).contains(result.peak(of: \.tries).count))
    // The longest wait is just under 5 s. The close takes half a round trip and the attempt one and
    // a half, so at most 5 + 2 · 0.12 = 5.24 s pass.
    let all = result.time(untilBack: 1)
    #expect(all.map { $0 > .seconds(4.8) && $0 <= .seconds(5.24) } == true)
  }

  @Test(arguments: Naive.allCases)
  func `shows that naive clients return all at once`(naive: Naive) {
    let result = Herd.naive(naive).play(plan(.close))
    // All clients wait for the same time, so their returns differ only by round trips of 20 ms to
    // 120 ms.
    #expect(share(result) > 0.9)
    #expect(result.away == 0)
  }

  @Test func `detects a policy whose exponential back-off has no jitter`() throws {
    let bare = try LinkPolicy.session.setting([
      ("retry.reconnect", "1s*2 max 30s +-0.0 min 1s x20"), ("retry.serverJitter", "1ms"),
    ])
    // The outage of 30 s ends before attempt 6 (1 + 2 + 4 + 8 + 16 = 31 s). In that attempt, all
    // clients reach the server.
    let together = Herd.policy(bare).play(plan(.crash, for: .seconds(30)))
    let apart = Herd.policy(.session).play(plan(.crash, for: .seconds(30)))
    #expect(together.peak(of: \.tries, from: 30).count > 900)
    #expect(apart.peak(of: \.tries, from: 30).count < 300)
  }

  @Test(arguments: Outage.Cause.allCases)
  func `every client reconnects, and the totals agree`(cause: Outage.Cause) {
    for herd in [messageStream, .policy(.session)] + Naive.allCases.map(Herd.naive) {
      let result = herd.play(plan(cause, for: .seconds(20), clients: 200))
      let total = result.total
      #expect(result.away == 0 && result.gaveUp == 0, "\(herd.name)")
      #expect(total.backs == 200 && result.returns.count == 200, "\(herd.name)")
      #expect(total.accepted == total.backs + total.wasted, "\(herd.name)")
      #expect(total.losses == 200 && result.connected.last == 200, "\(herd.name)")
      #expect(result.returns == result.returns.sorted(), "\(herd.name)")
    }
  }

  @Test(arguments: Door.WhenFull.allCases)
  func `never accepts more clients in a second than the server's capacity`(rule: Door.WhenFull) {
    let door = Door(capacity: 50, whenFull: rule)
    for herd in [Herd.policy(.session), .naive(.fixed)] {
      let result = herd.play(plan(.crash, for: .seconds(5), clients: 500, door))
      let total = result.total
      // The queue is served every 20 ms, so a second contains 50 turns, or 51 including both ends.
      #expect(result.peak(of: \.accepted).count <= (rule == .refuse ? 50 : 51), "\(herd.name)")
      #expect(result.away == 0, "\(herd.name)")
      #expect(total.accepted == total.backs + total.wasted, "\(herd.name)")
      #expect((total.refused > 0) == (rule == .refuse), "\(herd.name)")
      // At 50 clients per second, admitting 500 clients takes ten seconds, no matter when they
      // retry.
      #expect(result.time(untilBack: 1).map { $0 > .seconds(9) } == true, "\(herd.name)")
    }
  }

  @Test func `counts the clients that gave up and wait for a person`() {
    let herd = Herd.policy(.healthRelayForeground)
    // The attempts are made 2 s and 4 s after the loss, and both are refused.
    let result = herd.play(plan(.crash, for: .seconds(30), clients: 100))
    #expect(result.gaveUp == 100)
    #expect(result.away == 0)
    #expect(result.time(untilBack: 0.5) == nil)
    #expect(result.total.tries == 200)
  }

  @Test func `makes no attempts until the outage can be detected`() {
    let result = messageStream.play(plan(.unreachable, for: .seconds(20)))
    // The last ping arrived at most 54 s before the outage, and the silence limit is 90 s. The
    // first link is therefore closed 36 s after the outage begins, at the earliest.
    #expect(result.seconds.prefix(36).allSatisfy { $0.tries == 0 })
    #expect(result.total.tries == 1000)
  }

  @Test func `gives the same result for the same seed, and another for another seed`() {
    let first = messageStream.play(plan(.close, for: .seconds(10), clients: 300))
    #expect(first == messageStream.play(plan(.close, for: .seconds(10), clients: 300)))
    let other = messageStream.play(plan(.close, for: .seconds(10), clients: 300, seed: 2))
    #expect(first.seconds != other.seconds)
  }

  @Test func `refuses to simulate a policy that relies on its operating system`() {
    #expect(Herd.policy(.bottleLink).obstacle != nil)
    #expect(Herd.policy(.healthSync).obstacle != nil)
    #expect(LinkPolicy.presets.count { Herd.policy($0).obstacle == nil } == 6)
  }

  @Test func `covers every second in the rows of its table`() {
    for length in [0, 1, 20, 600] {
      let result = Herd.naive(.doubling).play(
        plan(.crash, for: .seconds(length), clients: 20))
      let rows = result.rows()
      #expect(rows.count <= 24)
      #expect(rows.first?.seconds.lowerBound == 0)
      #expect(rows.last?.seconds.upperBound == result.seconds.count)
      #expect(
        zip(rows, rows.dropFirst()).allSatisfy { $0.seconds.upperBound == $1.seconds.lowerBound })
      #expect(rows.map(\.tries).max() == result.peak(of: \.tries).count)
      #expect(rows.last?.connected == 20)
    }
  }
}
