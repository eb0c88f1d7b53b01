import HoldfastCore
import Testing

struct GateScenarioTests {
  let wifi = Reachability.reachable(path: PathID("wlan0 10.1.0.2"))
  let cell = Reachability.reachable(path: PathID("cell0 10.2.0.2"))

  @Test func `an unreachable network pauses the link and uses up no attempt`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.reachability(.unreachable))
    #expect(harness.link.status.phase == .held)
    harness.pass(.seconds(3600))
    #expect(harness.opens == [])
    let back = harness.seconds
    harness.give(.reachability(wifi))
    harness.pass(.seconds(30))
    harness.failAll(.timeout(.connect), until: .seconds(30))
    #expect(harness.opens.first == back + 2, "2 s to settle, then at once")
  }

  @Test func `a network change closes the link, which reconnects after 2 s`() {
    var harness = LinkHarness.connected(.messageStream)
    let attempt = harness.attempt
    let changed = harness.seconds
    let effects = harness.give(.reachability(cell))
    #expect(effects.first == .close(attempt, .networkChanged))
    harness.pass(.milliseconds(1_999))
    #expect(harness.opens == [])
    harness.pass(.milliseconds(1))
    #expect(harness.opens == [changed + 2])
  }

  @Test func `the wait for a changing network starts over with each change`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.reachability(cell))
    harness.pass(.seconds(1))
    harness.give(.reachability(wifi))
    harness.pass(.milliseconds(1_999))
    #expect(harness.opens == [])
    harness.pass(.milliseconds(1))
    #expect(harness.opens.count == 1)
  }

  @Test func `under a probe policy, a network change pings a connected link and no attempt`() throws
  {
    let policy = try LinkPolicy.messageStream.setting([("gate.networkChange", "probe")])
    var harness = LinkHarness.wanted(policy)
    harness.give(.prepared(harness.attempt))
    let attempt = harness.attempt
    #expect(harness.give(.reachability(cell)) == [])
    harness.give(.opened(attempt))
    #expect(harness.give(.reachability(wifi)) == [.ping(attempt, 1)])
    #expect(harness.link.status.phase == .connected)
  }

  @Test func `the first report about the network does not count as a change`() {
    var harness = LinkHarness(.messageStream)
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.setIntent(.live))
    harness.give(.prepared(harness.attempt))
    harness.give(.opened(harness.attempt))
    let effects = harness.give(.reachability(wifi))
    #expect(effects == [])
    #expect(harness.link.status.phase == .connected)
  }

  @Test func `a stream closes at once in background and prepares before it reconnects`() {
    var harness = LinkHarness.connected(.messageStream)
    let attempt = harness.attempt
    #expect(harness.give(.lifecycle(.background)).first == .close(attempt, .background))
    #expect(harness.link.status.phase == .held)
    harness.pass(.seconds(3600))
    #expect(harness.opens == [])
    let effects = harness.give(.lifecycle(.foreground))
    #expect(effects.first == .prepare(harness.attempt))
    harness.give(.prepared(harness.attempt))
    #expect(harness.opens.count == 1)
  }

  @Test func `a relay without a service ends in background until the user reconnects`() {
    var harness = LinkHarness.connected(.healthRelayForeground)
    harness.give(.lifecycle(.background))
    harness.give(.lifecycle(.foreground))
    harness.pass(.seconds(3600))
    #expect(harness.opens == [])
    #expect(harness.link.status.phase == .disconnected)
    harness.give(.setIntent(.live))
    #expect(harness.opens.count == 1)
  }

  @Test func `a relay with a service stays up in background`() {
    var harness = LinkHarness.connected(.healthRelayService)
    #expect(harness.give(.lifecycle(.background)) == [])
    #expect(harness.link.status.phase == .connected)
  }

  @Test func `a relay with a service stops after 15 minutes without a message`() {
    var harness = LinkHarness.connected(.healthRelayService)
    harness.give(.validData(harness.attempt))
    harness.pass(.seconds(900) - .milliseconds(1))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.milliseconds(1))
    #expect(harness.link.status == LinkStatus(phase: .disconnected, reason: .ended(.idle)))
    #expect(harness.link.deadline == nil)
  }

  @Test func `a session gets 25 s in background to flush, or less when it is done`() {
    var harness = LinkHarness.connected(.session)
    harness.give(.lifecycle(.background))
    harness.pass(.milliseconds(24_999))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.milliseconds(1))
    #expect(harness.link.status.phase == .held)
    var quick = LinkHarness.connected(.session)
    quick.give(.lifecycle(.background))
    quick.give(.flushed)
    #expect(quick.link.status.phase == .held)
  }

  @Test func `the time in background counts from its first report, however often repeated`() {
    var harness = LinkHarness.connected(.session)
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(10))
    harness.give(.lifecycle(.background))
    harness.pass(.milliseconds(14_999))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.milliseconds(1))
    #expect(harness.link.status.phase == .held)
  }

  @Test func `a bottle link closes after 5 s in background and queues a connect with the system`() {
    var harness = LinkHarness.connected(.bottleLink)
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(5))
    #expect(harness.link.status.phase == .standby)
    #expect(harness.log.contains { if case .arm = $0 { true } else { false } })
    harness.opens = []
    let front = harness.seconds
    harness.give(.lifecycle(.foreground))
    harness.pass(.seconds(1))
    #expect(harness.opens == [front + 0.5], "the burst comes after half a second")
    #expect(!harness.log.contains { if case .disarm = $0 { true } else { false } }, "still queued")
  }

  @Test func `a held link reports a changed blocked reason`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.reachability(.unreachable))
    #expect(harness.link.status.reason == .blocked(.unreachable))
    harness.give(.reachability(.captivePortal))
    #expect(harness.link.status.reason == .blocked(.captivePortal))
  }

  @Test func `a held link cancels its queued connect and queues it again at once afterwards`()
    throws
  {
    var harness = LinkHarness.connected(.bottleLink)
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(5))
    let queued = try #require(
      harness.log.lazy.compactMap { if case .arm(let attempt, _) = $0 { attempt } else { nil } }
        .last)
    #expect(harness.give(.reachability(.unreachable)).contains(.disarm(queued)))
    #expect(harness.give(.opened(queued)) == [], "the event is late")
    harness.log = []
    harness.give(.reachability(wifi))
    #expect(harness.log.count { if case .arm = $0 { true } else { false } } == 1)
    harness.pass(.seconds(60))
    #expect(harness.log.count { if case .arm = $0 { true } else { false } } == 1)
  }

  @Test func `with realtime switched off, the link polls and makes no attempts`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.setIntent(.standbyOnly))
    harness.pass(.seconds(3600))
    #expect(harness.opens == [])
    #expect(harness.link.status.mode == .polling)
    harness.give(.setIntent(.live))
    harness.give(.prepared(harness.attempt))
    #expect(harness.opens.count == 1)
  }

  @Test func `a link that polls in background is not probed before the foreground`() throws {
    let policy = try LinkPolicy.messageStream.setting([("gate.background", "0s standby")])
    var harness = LinkHarness.connected(policy)
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(3600))
    #expect(harness.opens == [])
    #expect(harness.polls.count > 100)
    harness.give(.lifecycle(.foreground))
    harness.give(.prepared(harness.attempt))
    #expect(harness.opens.count == 1)
  }

  @Test func `a network change does not retry a link that the server does not offer`() {
    let missing = LinkFailure.http(status: 404, retryAfter: nil, detail: "")
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, missing))
    harness.pass(.seconds(5))
    harness.give(.lost(harness.attempt, missing))
    #expect(harness.give(.reachability(cell)) == [])
    #expect(
      harness.link.status
        == LinkStatus(phase: .standby, mode: .polling, reason: .failure(missing)))
  }

  @Test func `entering the foreground polls at once, in addition to the attempt`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .http(status: 418, retryAfter: nil, detail: "")))
    harness.pass(.seconds(5))
    #expect(harness.polls.count == 1)
    harness.give(.lifecycle(.background))
    harness.polls = []
    harness.give(.lifecycle(.foreground))
    #expect(harness.link.currentAttempt != nil)
    #expect(harness.polls == [harness.seconds])
  }

  @Test func `a link that ends while leaving for the background has no further work`() throws {
    let policy = try LinkPolicy.session.setting([("liveness.idle", "60s idle")])
    var harness = LinkHarness.connected(policy)
    harness.pass(.seconds(10))
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(20))
    let ended = LinkStatus(phase: .disconnected, reason: .ended(.idle))
    #expect(harness.link.status == ended)
    #expect(harness.link.deadline == nil)
    #expect(harness.give(.flushed) == [])
    #expect(harness.link.status == ended)
  }

  @Test func `a link that is no longer wanted has no deadline`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.give(.setIntent(.none))
    #expect(harness.link.deadline == nil)
    #expect(harness.link.status == LinkStatus(phase: .disconnected))
  }
}
