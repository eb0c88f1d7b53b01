import HoldfastCore
import Testing

/// Tests of the loss of the network in each state of a link.
@Suite struct HoldScenarioTests {
  private static let wifi = Reachability.reachable(path: PathID("wlan0"))
  private static let cell = Reachability.reachable(path: PathID("cell0"))

  enum Stage: CaseIterable {
    case preparing, opening, waiting, refreshing, debouncing, resting, held, ready

    var harness: LinkHarness {
      var harness: LinkHarness
      switch self {
      case .preparing:
        harness = .wanted(.messageStream)
      case .opening:
        harness = .wanted(.messageStream)
        harness.give(.prepared(harness.attempt))
      case .waiting:
        harness = .wanted(.messageStream)
        harness.give(.prepared(harness.attempt))
        harness.give(.lost(harness.attempt, .timeout(.connect)))
      case .refreshing:
        harness = .wanted(.messageStream)
        harness.give(.prepared(harness.attempt))
        harness.give(.lost(harness.attempt, .http(status: 401, retryAfter: nil, detail: "")))
      case .debouncing:
        harness = .connected(.messageStream)
        harness.give(.reachability(cell))
      case .resting:
        harness = .wanted(.messageStream)
        harness.give(.prepared(harness.attempt))
        harness.give(.lost(harness.attempt, .http(status: 418, retryAfter: nil, detail: "")))
      case .held:
        harness = .connected(.messageStream)
        harness.give(.reachability(.captivePortal))
      case .ready:
        harness = .connected(.messageStream)
      }
      harness.opens = []
      harness.log = []
      return harness
    }

    /// Whether the link has never been connected, so that the longer waits of a first connection
    /// apply.
    var isFirst: Bool {
      switch self {
      case .preparing, .opening, .waiting, .refreshing: true
      case .debouncing, .resting, .held, .ready: false
      }
    }
  }

  @Test(arguments: Stage.allCases)
  func `losing the network pauses every state, closes the attempt and restarts the schedule`(
    stage: Stage
  ) {
    var harness = stage.harness
    let attempt = harness.link.currentAttempt
    let effects = harness.give(.reachability(.unreachable))
    #expect(harness.link.status.phase == .held)
    #expect(harness.link.status.reason == .blocked(.unreachable))
    #expect(
      effects.filter { if case .close = $0 { true } else { false } }
        == [attempt.map { .close($0, .networkChanged) }].compactMap { $0 })
    harness.pass(.seconds(600))
    #expect(harness.opens == [])
    // Refused credentials are not used again.
    if stage == .refreshing { harness.give(.credentials(.available(expiresIn: nil))) }
    let back = harness.seconds
    harness.give(.reachability(Self.wifi))
    harness.pass(.seconds(2))
    harness.failAll(.timeout(.connect), until: .seconds(60))
    let waits: [Double] = stage.isFirst ? [2, 3, 5, 9, 17, 33] : [2, 3, 5, 9, 17]
    #expect(harness.opens.map { $0 - back } == waits)
  }

  @Test func `losing the network only pings a link whose policy says so`() {
    var harness = LinkHarness.connected(.socket)
    let attempt = harness.attempt
    let effects = harness.give(.reachability(.unreachable))
    #expect(effects.count == 1)
    guard case .ping(attempt, _)? = effects.first else {
      Issue.record("no ping: \(effects)")
      return
    }
    #expect(harness.give(.reachability(.captivePortal)) == [], "a test is already in progress")
    harness.pass(.seconds(9))
    #expect(harness.link.status.phase == .connected)
    harness.pass(.seconds(1))
    #expect(harness.link.status.phase == .held)
  }

  @Test(arguments: [Reachability.unreachable, .captivePortal])
  func `a repeated report about the network does not lead to another ping`(
    reachability: Reachability
  ) {
    var harness = LinkHarness.connected(.socket)
    let effects = harness.give(.reachability(reachability))
    guard case .ping(let attempt, let id)? = effects.first else {
      Issue.record("no ping: \(effects)")
      return
    }
    harness.give(.pong(attempt, id))
    #expect(harness.give(.reachability(reachability)) == [])
  }

  @Test func `losing the network does not affect a link whose policy ignores it`() throws {
    let policy = try LinkPolicy.bottleLink.setting([("gate.networkChange", "ignore")])
    var harness = LinkHarness.connected(policy)
    #expect(harness.give(.reachability(.unreachable)) == [])
    #expect(harness.link.status.phase == .connected)
  }

  @Test(arguments: [(open: "5s", whole: "15s", seconds: 10), ("30s", "1m", 30)])
  func `an opened queued connect has as long to become ready as any opened attempt`(
    open: String, whole: String, seconds: Int
  ) throws {
    let policy = try LinkPolicy.bottleLink.setting([
      ("establish.openTimeout", open), ("establish.timeout", whole),
    ])
    var harness = LinkHarness.wanted(policy)
    harness.failAll(.timeout(.connect), until: .seconds(20_000))
    #expect(harness.link.status.phase == .standby)
    let queued = try #require(
      harness.log.lazy.compactMap { if case .arm(let attempt, _) = $0 { attempt } else { nil } }
        .last)
    #expect(harness.give(.opened(queued)).contains(.disarm(queued)) == false)
    #expect(harness.link.currentAttempt == queued)
    #expect(harness.link.deadline == harness.now.advanced(by: .seconds(seconds)))
    harness.pass(.seconds(seconds) - .nanoseconds(1))
    #expect(harness.link.currentAttempt == queued)
    harness.pass(.nanoseconds(1))
    #expect(harness.link.currentAttempt == nil)
  }

  @Test func `a queued connect that opens during an attempt replaces it`() throws {
    var harness = LinkHarness.connected(.bottleLink)
    harness.give(.lifecycle(.background))
    harness.pass(.seconds(5))
    let queued = try #require(
      harness.log.lazy.compactMap { if case .arm(let attempt, _) = $0 { attempt } else { nil } }
        .last)
    harness.give(.lifecycle(.foreground))
    harness.pass(.milliseconds(500))
    let burst = try #require(harness.link.currentAttempt)
    #expect(burst != queued)
    #expect(harness.give(.opened(queued)).contains(.close(burst, .superseded)))
    #expect(harness.link.currentAttempt == queued)
    harness.give(.established(queued))
    #expect(harness.link.status.phase == .connected)
  }
}
