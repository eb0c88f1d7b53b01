import LinkCore
import Testing

struct GateScenarioTests {
  let wifi = Reachability.reachable(path: PathID("wlan0 10.1.0.2"))
  let cell = Reachability.reachable(path: PathID("cell0 10.2.0.2"))

  @Test func `an unreachable network pauses the link and uses up no attempt`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.reachability(.unreachable))
    #expect(bench.link.status.phase == .held)
    bench.pass(.seconds(3600))
    #expect(bench.opens == [])
    let back = bench.seconds
    bench.give(.reachability(wifi))
    bench.pass(.seconds(30))
    bench.failAll(.timeout(.connect), until: .seconds(30))
    #expect(bench.opens.first == back + 2, "2 s to settle, then at once")
  }

  @Test func `a network change closes the link, which reconnects after 2 s`() {
    var bench = LinkBench.connected(.messageStream)
    let attempt = bench.attempt
    let changed = bench.seconds
    let effects = bench.give(.reachability(cell))
    #expect(effects.first == .close(attempt, .networkChanged))
    bench.pass(.milliseconds(1_999))
    #expect(bench.opens == [])
    bench.pass(.milliseconds(1))
    #expect(bench.opens == [changed + 2])
  }

  @Test func `the wait for a changing network starts over with each change`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.reachability(cell))
    bench.pass(.seconds(1))
    bench.give(.reachability(wifi))
    bench.pass(.milliseconds(1_999))
    #expect(bench.opens == [])
    bench.pass(.milliseconds(1))
    #expect(bench.opens.count == 1)
  }

  @Test func `under a probe policy, a network change pings a connected link and no attempt`() throws
  {
    let policy = try LinkPolicy.messageStream.setting([("gate.networkChange", "probe")])
    var bench = LinkBench.wanted(policy)
    bench.give(.prepared(bench.attempt))
    let attempt = bench.attempt
    #expect(bench.give(.reachability(cell)) == [])
    bench.give(.opened(attempt))
    #expect(bench.give(.reachability(wifi)) == [.ping(attempt, 1)])
    #expect(bench.link.status.phase == .connected)
  }

  @Test func `the first report about the network does not count as a change`() {
    var bench = LinkBench(.messageStream)
    bench.give(.credentials(.available(expiresIn: nil)))
    bench.give(.setIntent(.live))
    bench.give(.prepared(bench.attempt))
    bench.give(.opened(bench.attempt))
    let effects = bench.give(.reachability(wifi))
    #expect(effects == [])
    #expect(bench.link.status.phase == .connected)
  }

  @Test func `a stream closes at once in background and prepares before it reconnects`() {
    var bench = LinkBench.connected(.messageStream)
    let attempt = bench.attempt
    #expect(bench.give(.lifecycle(.background)).first == .close(attempt, .background))
    #expect(bench.link.status.phase == .held)
    bench.pass(.seconds(3600))
    #expect(bench.opens == [])
    let effects = bench.give(.lifecycle(.foreground))
    #expect(effects.first == .prepare(bench.attempt))
    bench.give(.prepared(bench.attempt))
    #expect(bench.opens.count == 1)
  }

  @Test func `a relay without a service ends in background until the user reconnects`() {
    var bench = LinkBench.connected(.healthRelayForeground)
    bench.give(.lifecycle(.background))
    bench.give(.lifecycle(.foreground))
    bench.pass(.seconds(3600))
    #expect(bench.opens == [])
    #expect(bench.link.status.phase == .disconnected)
    bench.give(.setIntent(.live))
    #expect(bench.opens.count == 1)
  }

  @Test func `a relay with a service stays up in background`() {
    var bench = LinkBench.connected(.healthRelayService)
    #expect(bench.give(.lifecycle(.background)) == [])
    #expect(bench.link.status.phase == .connected)
  }

  @Test func `a relay with a service stops after 15 minutes without a message`() {
    var bench = LinkBench.connected(.healthRelayService)
    bench.give(.validData(bench.attempt))
    bench.pass(.seconds(900) - .milliseconds(1))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.milliseconds(1))
    #expect(bench.link.status == LinkStatus(phase: .disconnected, reason: .ended(.idle)))
    #expect(bench.link.deadline == nil)
  }

  @Test func `a session gets 25 s in background to flush, or less when it is done`() {
    var bench = LinkBench.connected(.session)
    bench.give(.lifecycle(.background))
    bench.pass(.milliseconds(24_999))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.milliseconds(1))
    #expect(bench.link.status.phase == .held)
    var quick = LinkBench.connected(.session)
    quick.give(.lifecycle(.background))
    quick.give(.flushed)
    #expect(quick.link.status.phase == .held)
  }

  @Test func `the time in background counts from its first report, however often repeated`() {
    var bench = LinkBench.connected(.session)
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(10))
    bench.give(.lifecycle(.background))
    bench.pass(.milliseconds(14_999))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.milliseconds(1))
    #expect(bench.link.status.phase == .held)
  }

  @Test func `a bottle link closes after 5 s in background and queues a connect with the system`() {
    var bench = LinkBench.connected(.bottleLink)
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(5))
    #expect(bench.link.status.phase == .standby)
    #expect(bench.log.contains { if case .arm = $0 { true } else { false } })
    bench.opens = []
    let front = bench.seconds
    bench.give(.lifecycle(.foreground))
    bench.pass(.seconds(1))
    #expect(bench.opens == [front + 0.5], "the burst comes after half a second")
    #expect(!bench.log.contains { if case .disarm = $0 { true } else { false } }, "still queued")
  }

  @Test func `a held link reports a changed blocked reason`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.reachability(.unreachable))
    #expect(bench.link.status.reason == .blocked(.unreachable))
    bench.give(.reachability(.captivePortal))
    #expect(bench.link.status.reason == .blocked(.captivePortal))
  }

  @Test func `a held link cancels its queued connect and queues it again at once afterwards`()
    throws
  {
    var bench = LinkBench.connected(.bottleLink)
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(5))
    let queued = try #require(
      bench.log.lazy.compactMap { if case .arm(let attempt, _) = $0 { attempt } else { nil } }.last)
    #expect(bench.give(.reachability(.unreachable)).contains(.disarm(queued)))
    #expect(bench.give(.opened(queued)) == [], "the event is late")
    bench.log = []
    bench.give(.reachability(wifi))
    #expect(bench.log.count { if case .arm = $0 { true } else { false } } == 1)
    bench.pass(.seconds(60))
    #expect(bench.log.count { if case .arm = $0 { true } else { false } } == 1)
  }

  @Test func `with realtime switched off, the link polls and makes no attempts`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.setIntent(.standbyOnly))
    bench.pass(.seconds(3600))
    #expect(bench.opens == [])
    #expect(bench.link.status.mode == .polling)
    bench.give(.setIntent(.live))
    bench.give(.prepared(bench.attempt))
    #expect(bench.opens.count == 1)
  }

  @Test func `a link that polls in background is not probed before the foreground`() throws {
    let policy = try LinkPolicy.messageStream.setting([("gate.background", "0s standby")])
    var bench = LinkBench.connected(policy)
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(3600))
    #expect(bench.opens == [])
    #expect(bench.polls.count > 100)
    bench.give(.lifecycle(.foreground))
    bench.give(.prepared(bench.attempt))
    #expect(bench.opens.count == 1)
  }

  @Test func `a network change does not retry a link that the server does not offer`() {
    let missing = LinkFailure.http(status: 404, retryAfter: nil, detail: "")
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, missing))
    bench.pass(.seconds(5))
    bench.give(.lost(bench.attempt, missing))
    #expect(bench.give(.reachability(cell)) == [])
    #expect(
      bench.link.status
        == LinkStatus(phase: .standby, mode: .polling, reason: .failure(missing)))
  }

  @Test func `entering the foreground polls at once, in addition to the attempt`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .http(status: 418, retryAfter: nil, detail: "")))
    bench.pass(.seconds(5))
    #expect(bench.polls.count == 1)
    bench.give(.lifecycle(.background))
    bench.polls = []
    bench.give(.lifecycle(.foreground))
    #expect(bench.link.currentAttempt != nil)
    #expect(bench.polls == [bench.seconds])
  }

  @Test func `a link that ends while leaving for the background has no further work`() throws {
    let policy = try LinkPolicy.session.setting([("liveness.idle", "60s idle")])
    var bench = LinkBench.connected(policy)
    bench.pass(.seconds(10))
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(20))
    let ended = LinkStatus(phase: .disconnected, reason: .ended(.idle))
    #expect(bench.link.status == ended)
    #expect(bench.link.deadline == nil)
    #expect(bench.give(.flushed) == [])
    #expect(bench.link.status == ended)
  }

  @Test func `a link that is no longer wanted has no deadline`() {
    var bench = LinkBench.connected(.messageStream)
    bench.give(.setIntent(.none))
    #expect(bench.link.deadline == nil)
    #expect(bench.link.status == LinkStatus(phase: .disconnected))
  }
}
