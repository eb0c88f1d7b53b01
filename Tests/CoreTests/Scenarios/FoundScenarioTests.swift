import LinkCore
import Testing

/// A transport that a link adopts instead of opening one.
@Suite struct FoundScenarioTests {
  @Test func `a restored transport becomes the link without an attempt`() {
    var bench = LinkBench.wanted(.messageStream)
    let tried = bench.attempt
    let found = bench.link.nextAttempt
    bench.log = []
    bench.give(.found(found, established: true))
    #expect(bench.link.currentAttempt == found)
    #expect(bench.link.status.phase == .connected)
    #expect(bench.log.first == .close(tried, .superseded))
    #expect(bench.opens == [])
  }

  @Test func `an adopted transport has an attempt's time-out to reach its milestone`() {
    var bench = LinkBench.wanted(.socket)
    let found = bench.link.nextAttempt
    bench.give(.found(found, established: false))
    #expect(bench.link.status.phase == .reconnecting)
    let time = bench.link.policy.establish.timeout
    bench.pass(time - .nanoseconds(1))
    #expect(bench.link.currentAttempt == found)
    bench.pass(.nanoseconds(1))
    #expect(bench.link.currentAttempt != found)
    #expect(bench.log.contains(.close(found, .timeout)))
  }

  @Test func `an adopted transport is connected once it reaches its milestone`() {
    var bench = LinkBench.wanted(.socket)
    let found = bench.link.nextAttempt
    bench.give(.found(found, established: false))
    bench.give(.established(found))
    #expect(bench.link.status.phase == .connected)
  }

  @Test(arguments: HoldScenarioTests.Stage.allCases)
  func `each state adopts a transport, except that a held or ready link closes it`(
    stage: HoldScenarioTests.Stage
  ) {
    var bench = stage.bench
    let before = bench.link.currentAttempt
    let found = bench.link.nextAttempt
    bench.give(.found(found, established: true))
    switch stage {
    case .preparing, .opening, .waiting, .refreshing, .settling, .resting:
      #expect(bench.link.currentAttempt == found)
      let closed = before.map { [HeldLink.Effect.close($0, .superseded)] } ?? []
      #expect(bench.log.filter { if case .close = $0 { true } else { false } } == closed)
    case .held, .ready:
      #expect(bench.link.currentAttempt == before)
      #expect(bench.log == [.close(found, .superseded)])
    }
  }

  @Test func `a transport found while the link is not wanted is closed`() {
    var bench = LinkBench(.messageStream)
    bench.give(.found(AttemptID(1), established: true))
    #expect(bench.log == [.close(AttemptID(1), .leaving)])
  }

  @Test func `adopting a transport under the id of an attempt that has begun changes nothing`() {
    var bench = LinkBench.connected(.messageStream)
    let link = bench.link
    bench.give(.found(bench.attempt, established: false))
    #expect(bench.log == [])
    #expect(bench.link == link)
  }

  @Test(arguments: [true, false])
  func `adopting a transport cancels the queued connect`(isEstablished: Bool) {
    var bench = LinkBench.wanted(.bottleLink)
    bench.failAll(.timeout(.connect))
    bench.log = []
    bench.give(.found(bench.link.nextAttempt, established: isEstablished))
    #expect(bench.log.contains { if case .disarm = $0 { true } else { false } })
  }

  @Test func `the cost of a path does not affect a link`() {
    var bench = LinkBench.connected(.messageStream)
    let dear = Reachability.reachable(path: PathID("wlan0"), traits: [.expensive, .constrained])
    bench.give(.reachability(dear))
    #expect(bench.log == [])
    #expect(bench.link.currentAttempt != nil)
  }
}
