import HoldfastCore
import Testing

/// Tests of a transport that a link adopts instead of opening a new one.
@Suite struct FoundScenarioTests {
  @Test func `a restored transport becomes the link without an attempt`() {
    var harness = LinkHarness.wanted(.messageStream)
    let tried = harness.attempt
    let found = harness.link.nextAttempt
    harness.log = []
    harness.give(.found(found, established: true))
    #expect(harness.link.currentAttempt == found)
    #expect(harness.link.status.phase == .connected)
    #expect(harness.log.first == .close(tried, .superseded))
    #expect(harness.opens == [])
  }

  @Test func `an adopted transport has an attempt's time-out to reach its milestone`() {
    var harness = LinkHarness.wanted(.socket)
    let found = harness.link.nextAttempt
    harness.give(.found(found, established: false))
    #expect(harness.link.status.phase == .reconnecting)
    let time = harness.link.policy.establish.timeout
    harness.pass(time - .nanoseconds(1))
    #expect(harness.link.currentAttempt == found)
    harness.pass(.nanoseconds(1))
    #expect(harness.link.currentAttempt != found)
    #expect(harness.log.contains(.close(found, .timeout)))
  }

  @Test func `an adopted transport is connected once it reaches its milestone`() {
    var harness = LinkHarness.wanted(.socket)
    let found = harness.link.nextAttempt
    harness.give(.found(found, established: false))
    harness.give(.established(found))
    #expect(harness.link.status.phase == .connected)
  }

  @Test(arguments: HoldScenarioTests.Stage.allCases)
  func `each state adopts a transport, except that a held or ready link closes it`(
    stage: HoldScenarioTests.Stage
  ) {
    var harness = stage.harness
    let before = harness.link.currentAttempt
    let found = harness.link.nextAttempt
    harness.give(.found(found, established: true))
    switch stage {
    case .preparing, .opening, .waiting, .refreshing, .debouncing, .resting:
      #expect(harness.link.currentAttempt == found)
      let closed = before.map { [HeldLink.Effect.close($0, .superseded)] } ?? []
      #expect(harness.log.filter { if case .close = $0 { true } else { false } } == closed)
    case .held, .ready:
      #expect(harness.link.currentAttempt == before)
      #expect(harness.log == [.close(found, .superseded)])
    }
  }

  @Test func `a transport found while the link is not wanted is closed`() {
    var harness = LinkHarness(.messageStream)
    harness.give(.found(AttemptID(1), established: true))
    #expect(harness.log == [.close(AttemptID(1), .leaving)])
  }

  @Test func `adopting a transport under the id of an attempt that has begun changes nothing`() {
    var harness = LinkHarness.connected(.messageStream)
    let link = harness.link
    harness.give(.found(harness.attempt, established: false))
    #expect(harness.log == [])
    #expect(harness.link == link)
  }

  @Test(arguments: [true, false])
  func `adopting a transport cancels the queued connect`(isEstablished: Bool) {
    var harness = LinkHarness.wanted(.bottleLink)
    harness.failAll(.timeout(.connect))
    harness.log = []
    harness.give(.found(harness.link.nextAttempt, established: isEstablished))
    #expect(harness.log.contains { if case .disarm = $0 { true } else { false } })
  }

  @Test func `the cost of a path does not affect a link`() {
    var harness = LinkHarness.connected(.messageStream)
    let dear = Reachability.reachable(path: PathID("wlan0"), traits: [.expensive, .constrained])
    harness.give(.reachability(dear))
    #expect(harness.log == [])
    #expect(harness.link.currentAttempt != nil)
  }
}
