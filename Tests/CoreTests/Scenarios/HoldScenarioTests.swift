import LinkCore
import Testing

/// The loss of the network in each state of a link.
@Suite struct HoldScenarioTests {
  private static let wifi = Reachability.reachable(path: PathID("wlan0"))
  private static let cell = Reachability.reachable(path: PathID("cell0"))

  enum Stage: CaseIterable {
    case preparing, opening, waiting, refreshing, settling, resting, held, ready

    var bench: LinkBench {
      var bench: LinkBench
      switch self {
      case .preparing:
        bench = .wanted(.messageStream)
      case .opening:
        bench = .wanted(.messageStream)
        bench.give(.prepared(bench.attempt))
      case .waiting:
        bench = .wanted(.messageStream)
        bench.give(.prepared(bench.attempt))
        bench.give(.lost(bench.attempt, .timeout(.connect)))
      case .refreshing:
        bench = .wanted(.messageStream)
        bench.give(.prepared(bench.attempt))
        bench.give(.lost(bench.attempt, .http(status: 401, retryAfter: nil, detail: "")))
      case .settling:
        bench = .connected(.messageStream)
        bench.give(.reachability(cell))
      case .resting:
        bench = .wanted(.messageStream)
        bench.give(.prepared(bench.attempt))
        bench.give(.lost(bench.attempt, .http(status: 418, retryAfter: nil, detail: "")))
      case .held:
        bench = .connected(.messageStream)
        bench.give(.reachability(.captivePortal))
      case .ready:
        bench = .connected(.messageStream)
      }
      bench.opens = []
      bench.log = []
      return bench
    }

    /// Whether the link was never connected, so that the longer waits of a first connection apply.
    var isFirst: Bool {
      switch self {
      case .preparing, .opening, .waiting, .refreshing: true
      case .settling, .resting, .held, .ready: false
      }
    }
  }

  @Test(arguments: Stage.allCases)
  func `losing the network pauses every state, closes the attempt and restarts the schedule`(
    stage: Stage
  ) {
    var bench = stage.bench
    let attempt = bench.link.currentAttempt
    let effects = bench.give(.reachability(.unreachable))
    #expect(bench.link.status.phase == .held)
    #expect(bench.link.status.reason == .blocked(.unreachable))
    #expect(
      effects.filter { if case .close = $0 { true } else { false } }
        == [attempt.map { .close($0, .networkChanged) }].compactMap { $0 })
    bench.pass(.seconds(600))
    #expect(bench.opens == [])
    let back = bench.seconds
    bench.give(.reachability(Self.wifi))
    bench.pass(.seconds(2))
    bench.failAll(.timeout(.connect), until: .seconds(60))
    let waits: [Double] = stage.isFirst ? [2, 3, 5, 9, 17, 33] : [2, 3, 5, 9, 17]
    #expect(bench.opens.map { $0 - back } == waits)
  }

  @Test func `losing the network only pings a link whose policy says so`() {
    var bench = LinkBench.connected(.socket)
    let attempt = bench.attempt
    let effects = bench.give(.reachability(.unreachable))
    #expect(effects.count == 1)
    guard case .ping(attempt, _)? = effects.first else {
      Issue.record("no ping: \(effects)")
      return
    }
    #expect(bench.give(.reachability(.captivePortal)) == [], "a test is already in progress")
    bench.pass(.seconds(9))
    #expect(bench.link.status.phase == .connected)
    bench.pass(.seconds(1))
    #expect(bench.link.status.phase == .held)
  }

  @Test(arguments: [Reachability.unreachable, .captivePortal])
  func `a repeated report about the network does not lead to another ping`(
    reachability: Reachability
  ) {
    var bench = LinkBench.connected(.socket)
    let effects = bench.give(.reachability(reachability))
    guard case .ping(let attempt, let id)? = effects.first else {
      Issue.record("no ping: \(effects)")
      return
    }
    bench.give(.pong(attempt, id))
    #expect(bench.give(.reachability(reachability)) == [])
  }

  @Test func `losing the network does not affect a link whose policy ignores it`() throws {
    let policy = try LinkPolicy.bottleLink.setting([("gate.networkChange", "ignore")])
    var bench = LinkBench.connected(policy)
    #expect(bench.give(.reachability(.unreachable)) == [])
    #expect(bench.link.status.phase == .connected)
  }

  @Test(arguments: [(open: "5s", whole: "15s", seconds: 10), ("30s", "1m", 30)])
  func `an opened queued connect has as long to become ready as any opened attempt`(
    open: String, whole: String, seconds: Int
  ) throws {
    let policy = try LinkPolicy.bottleLink.setting([
      ("establish.openTimeout", open), ("establish.timeout", whole),
    ])
    var bench = LinkBench.wanted(policy)
    bench.failAll(.timeout(.connect), until: .seconds(20_000))
    #expect(bench.link.status.phase == .standby)
    let queued = try #require(
      bench.log.lazy.compactMap { if case .arm(let attempt, _) = $0 { attempt } else { nil } }.last)
    #expect(bench.give(.opened(queued)).contains(.disarm(queued)) == false)
    #expect(bench.link.currentAttempt == queued)
    #expect(bench.link.deadline == bench.now.advanced(by: .seconds(seconds)))
    bench.pass(.seconds(seconds) - .nanoseconds(1))
    #expect(bench.link.currentAttempt == queued)
    bench.pass(.nanoseconds(1))
    #expect(bench.link.currentAttempt == nil)
  }

  @Test func `a queued connect that opens during an attempt replaces it`() throws {
    var bench = LinkBench.connected(.bottleLink)
    bench.give(.lifecycle(.background))
    bench.pass(.seconds(5))
    let queued = try #require(
      bench.log.lazy.compactMap { if case .arm(let attempt, _) = $0 { attempt } else { nil } }.last)
    bench.give(.lifecycle(.foreground))
    bench.pass(.milliseconds(500))
    let burst = try #require(bench.link.currentAttempt)
    #expect(burst != queued)
    #expect(bench.give(.opened(queued)).contains(.close(burst, .superseded)))
    #expect(bench.link.currentAttempt == queued)
    bench.give(.established(queued))
    #expect(bench.link.status.phase == .connected)
  }
}
