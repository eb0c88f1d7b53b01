import LinkCore
import Testing

/// The consequences of the answers to polls.
@Suite struct StandbyScenarioTests {
  private static let teapot = LinkFailure.http(status: 418, retryAfter: nil, detail: "")
  private static let cell = Reachability.reachable(path: PathID("cell0"))

  /// Returns a harness in standby whose first try ended with `failure`.
  private static func failed(_ failure: LinkFailure, peer: LinkBench.Peer = .answers) -> LinkBench {
    var bench = LinkBench.wanted(.messageStream)
    bench.peer = peer
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, failure))
    #expect(bench.link.status.phase == .standby)
    bench.opens = []
    return bench
  }

  /// Returns a harness at its first slow probe. The server works and does not offer the link.
  private static func unoffered() -> LinkBench {
    let missing = LinkFailure.http(status: 404, retryAfter: nil, detail: "")
    var bench = failed(missing)
    bench.pass(.seconds(5))
    bench.give(.lost(bench.attempt, missing))
    bench.opens = []
    passToProbe(&bench)
    #expect((810...1_000).contains(bench.seconds), "900 s ± 10 %")
    return bench
  }

  private static func passToProbe(_ bench: inout LinkBench) {
    let end = bench.seconds + 1_000
    while bench.link.currentAttempt == nil, bench.seconds < end { bench.pass(.seconds(1)) }
  }

  @Test func `a successful poll does not probe a server that was never unreachable`() {
    var bench = LinkBench.connected(.messageStream)
    bench.peer = .isSilent
    bench.give(.lost(bench.attempt, .http(status: 429, retryAfter: .seconds(40), detail: "")))
    while bench.opens.isEmpty, bench.seconds < 100 {
      bench.pass(.seconds(1))
      bench.give(.polled(UInt64(bench.polls.count), Self.teapot))
    }
    #expect(bench.polls.count > 1, "polls fill the wait")
    bench.give(.lost(bench.attempt, Self.teapot))
    #expect(bench.link.status.phase == .standby)
    (bench.opens, bench.polls, bench.peer) = ([], [], .answers)
    bench.pass(.seconds(35))
    #expect(!bench.polls.isEmpty)
    #expect(bench.opens == [])
  }

  @Test func `a server that refused every attempt of a series does not count as unreachable`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.failAll(.http(status: 429, retryAfter: nil, detail: ""))
    #expect(bench.link.status.phase == .standby)
    (bench.opens, bench.polls) = ([], [])
    bench.pass(.seconds(35))
    #expect(!bench.polls.isEmpty)
    #expect(bench.opens == [])
  }

  @Test func `a successful poll does not reopen an idle link`() throws {
    let policy = try LinkPolicy.messageStream.setting([("liveness.idle", "60s standby")])
    var bench = LinkBench.connected(policy)
    bench.pass(.seconds(60))
    #expect(bench.link.status.phase == .standby)
    #expect(!bench.polls.isEmpty)
    #expect(bench.opens == [])
  }

  @Test func `a server that becomes unreachable during a poll is probed if that poll succeeds`() {
    var bench = LinkBench.wanted(.messageStream)
    bench.peer = .isSilent
    bench.give(.setIntent(.standbyOnly))
    bench.give(.setIntent(.live))
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, .refused))
    #expect(bench.link.status.phase == .standby)
    bench.opens = []
    bench.give(.polled(1, nil))
    #expect(bench.opens.count == 1)
  }

  @Test func `a server that did not answer a poll is probed after the next successful one`() {
    var bench = Self.failed(Self.teapot, peer: .isSilent)
    while bench.polls.count < 2, bench.seconds < 100 { bench.next() }
    #expect(bench.opens == [])
    bench.give(.polled(2, nil))
    #expect(bench.opens.count == 1)
  }

  @Test func `the wait doubles with each failed probe while polls work`() {
    var bench = Self.failed(.refused)
    // The first probe follows the first poll. The last wait is the policy's, 300 s ± 10 %.
    for bounds in [1..<5.1, 30..<60, 60..<120, 120..<240, 270..<330.1] as [Range<Double>] {
      let failed = bench.seconds
      Self.passToProbe(&bench)
      #expect(bounds.contains((bench.opens.last ?? 0) - failed))
      bench.give(.lost(bench.attempt, .refused))
    }
  }

  @Test func `a probe whose credentials cannot be refreshed goes back to standby`() {
    var bench = Self.failed(.refused, peer: .isSilent)
    bench.give(.trigger(.userRefresh))
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    let effects = bench.give(.lost(bench.attempt, refused))
    #expect(effects.contains(.refreshCredentials))
    bench.opens = []
    bench.give(.credentials(.refreshFailed))
    #expect(bench.link.status.phase == .standby)
    bench.pass(.seconds(120))
    #expect(bench.opens == [])
  }

  @Test func `requesting the link again does not retry it while the server does not offer it`() {
    var bench = Self.unoffered()
    bench.give(.setIntent(.standbyOnly))
    bench.give(.setIntent(.live))
    #expect(bench.link.status.phase == .standby)
    bench.opens = []
    bench.pass(.seconds(800))
    #expect(bench.opens == [])
    bench.pass(.seconds(191))
    #expect(!bench.opens.isEmpty)
  }

  @Test func `a link that the server accepted is retried on another network`() {
    var bench = Self.unoffered()
    bench.give(.opened(bench.attempt))
    #expect(bench.link.status.phase == .connected)
    bench.opens = []
    bench.give(.reachability(Self.cell))
    bench.pass(.seconds(2))
    #expect(bench.opens.count == 1)
  }

  @Test func `a network change has no effect if only polls are wanted`() {
    var bench = LinkBench.connected(.messageStream)
    bench.peer = .isSilent
    bench.give(.setIntent(.standbyOnly))
    #expect(bench.give(.reachability(Self.cell)) == [])
  }

  @Test func `polls and triggers do not change the status if only polls are wanted`() throws {
    let policy = try LinkPolicy.messageStream.setting([
      ("gate.background", "0s standby"), ("gate.foreground", "wait"),
    ])
    var bench = LinkBench.connected(policy)
    bench.peer = .isSilent
    bench.give(.setIntent(.standbyOnly))
    bench.give(.lifecycle(.background))
    bench.give(.lifecycle(.foreground))
    let status = bench.link.status
    bench.give(.trigger(.userRefresh))
    #expect(bench.link.status == status)
    bench.give(.polled(1, .refused))
    bench.next()
    #expect(bench.polls.count == 2)
    bench.give(.polled(2, nil))
    #expect(bench.link.status == status)
    #expect(bench.opens == [])
  }

  /// Returns a harness whose server works and has refused the link twice.
  private static func refused(_ failure: LinkFailure) -> LinkBench {
    var bench = LinkBench.wanted(.messageStream)
    bench.give(.prepared(bench.attempt))
    bench.give(.lost(bench.attempt, failure))
    bench.pass(.seconds(5))
    bench.give(.lost(bench.attempt, failure))
    #expect(bench.link.status.phase == .standby)
    return bench
  }

  /// The events that can occur while the server does not offer the link.
  private static var ways: [(String, (inout LinkBench) -> Void)] {
    [
      (
        "background and foreground",
        { bench in
          bench.give(.lifecycle(.background))
          bench.give(.lifecycle(.foreground))
        }
      ),
      (
        "network lost and regained",
        { bench in
          bench.give(.reachability(.unreachable))
          bench.give(.reachability(.reachable(path: PathID("wlan0"))))
          bench.pass(.seconds(2))
        }
      ),
      ("a pull", { $0.give(.trigger(.userRefresh)) }),
      (
        "the user's switch off and on",
        { bench in
          bench.give(.setIntent(.standbyOnly))
          #expect(bench.link.status.reason == .ended(.leaving), "the user ended the link")
          bench.give(.setIntent(.live))
        }
      ),
      (
        "the slow probe under way",
        { bench in
          bench.opens = []
          while bench.opens.isEmpty { bench.pass(.seconds(1)) }
        }
      ),
    ]
  }

  @Test(arguments: [404, 503])
  func `the status states why the link is missing until it is connected`(status: Int) {
    let failure = LinkFailure.http(status: status, retryAfter: nil, detail: "")
    let told = LinkStatus(phase: .standby, mode: .polling, reason: .failure(failure))
    for (name, way) in Self.ways {
      var bench = Self.refused(failure)
      way(&bench)
      #expect(bench.link.status == told, "\(name)")
    }
    var bench = Self.refused(failure)
    bench.opens = []
    while bench.opens.isEmpty { bench.pass(.seconds(1)) }
    bench.give(.opened(bench.attempt))
    #expect(bench.link.status == LinkStatus(phase: .connected, mode: .live, quality: .good))
  }
}
