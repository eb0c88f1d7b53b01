import HoldfastCore
import Testing

/// Tests of how a link reacts to the results of polls.
@Suite struct StandbyScenarioTests {
  private static let teapot = LinkFailure.http(status: 418, retryAfter: nil, detail: "")
  private static let cell = Reachability.reachable(path: PathID("cell0"))

  /// Returns a harness in standby whose first try ended with `failure`.
  private static func failed(_ failure: LinkFailure, peer: LinkHarness.Peer = .answers)
    -> LinkHarness
  {
    var harness = LinkHarness.wanted(.messageStream)
    harness.peer = peer
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, failure))
    #expect(harness.link.status.phase == .standby)
    harness.opens = []
    return harness
  }

  /// Returns a harness at its first slow probe. The server responds but does not offer the link.
  private static func unoffered() -> LinkHarness {
    let missing = LinkFailure.http(status: 404, retryAfter: nil, detail: "")
    var harness = failed(missing)
    harness.pass(.seconds(5))
    harness.give(.lost(harness.attempt, missing))
    harness.opens = []
    passToProbe(&harness)
    #expect((810...1_000).contains(harness.seconds), "900 s ± 10 %")
    return harness
  }

  private static func passToProbe(_ harness: inout LinkHarness) {
    let end = harness.seconds + 1_000
    while harness.link.currentAttempt == nil, harness.seconds < end { harness.pass(.seconds(1)) }
  }

  @Test func `a successful poll does not probe a server that was never unreachable`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.peer = .isSilent
    harness.give(.lost(harness.attempt, .http(status: 429, retryAfter: .seconds(40), detail: "")))
    while harness.opens.isEmpty, harness.seconds < 100 {
      harness.pass(.seconds(1))
      harness.give(.polled(UInt64(harness.polls.count), Self.teapot))
    }
    #expect(harness.polls.count > 1, "polls fill the wait")
    harness.give(.lost(harness.attempt, Self.teapot))
    #expect(harness.link.status.phase == .standby)
    (harness.opens, harness.polls, harness.peer) = ([], [], .answers)
    harness.pass(.seconds(35))
    #expect(!harness.polls.isEmpty)
    #expect(harness.opens == [])
  }

  @Test func `a server that refused every attempt of a series does not count as unreachable`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.failAll(.http(status: 429, retryAfter: nil, detail: ""))
    #expect(harness.link.status.phase == .standby)
    (harness.opens, harness.polls) = ([], [])
    harness.pass(.seconds(35))
    #expect(!harness.polls.isEmpty)
    #expect(harness.opens == [])
  }

  @Test func `a successful poll does not reopen an idle link`() throws {
    let policy = try LinkPolicy.messageStream.setting([("liveness.idle", "60s standby")])
    var harness = LinkHarness.connected(policy)
    harness.pass(.seconds(60))
    #expect(harness.link.status.phase == .standby)
    #expect(!harness.polls.isEmpty)
    #expect(harness.opens == [])
  }

  @Test func `a server that becomes unreachable during a poll is probed if that poll succeeds`() {
    var harness = LinkHarness.wanted(.messageStream)
    harness.peer = .isSilent
    harness.give(.setIntent(.standbyOnly))
    harness.give(.setIntent(.live))
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, .refused))
    #expect(harness.link.status.phase == .standby)
    harness.opens = []
    harness.give(.polled(1, nil))
    #expect(harness.opens.count == 1)
  }

  @Test func `a server that did not answer a poll is probed after the next successful one`() {
    var harness = Self.failed(Self.teapot, peer: .isSilent)
    while harness.polls.count < 2, harness.seconds < 100 { harness.next() }
    #expect(harness.opens == [])
    harness.give(.polled(2, nil))
    #expect(harness.opens.count == 1)
  }

  @Test func `the wait doubles with each failed probe while polls work`() {
    var harness = Self.failed(.refused)
    // The first probe follows the first poll. The last wait is the policy's: 300 s ± 10 %.
    for bounds in [1..<5.1, 30..<60, 60..<120, 120..<240, 270..<330.1] as [Range<Double>] {
      let failed = harness.seconds
      Self.passToProbe(&harness)
      #expect(bounds.contains((harness.opens.last ?? 0) - failed))
      harness.give(.lost(harness.attempt, .refused))
    }
  }

  @Test func `a probe whose credentials cannot be refreshed goes back to standby`() {
    var harness = Self.failed(.refused, peer: .isSilent)
    harness.give(.trigger(.userRefresh))
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    let effects = harness.give(.lost(harness.attempt, refused))
    #expect(effects.contains(.refreshCredentials))
    harness.opens = []
    harness.give(.credentials(.refreshFailed()))
    #expect(harness.link.status.phase == .standby)
    harness.pass(.seconds(120))
    #expect(harness.opens == [])
  }

  @Test func `requesting the link again does not retry it while the server does not offer it`() {
    var harness = Self.unoffered()
    harness.give(.setIntent(.standbyOnly))
    harness.give(.setIntent(.live))
    #expect(harness.link.status.phase == .standby)
    harness.opens = []
    harness.pass(.seconds(800))
    #expect(harness.opens == [])
    harness.pass(.seconds(191))
    #expect(!harness.opens.isEmpty)
  }

  @Test func `a link that the server accepted is retried on another network`() {
    var harness = Self.unoffered()
    harness.give(.opened(harness.attempt))
    #expect(harness.link.status.phase == .connected)
    harness.opens = []
    harness.give(.reachability(Self.cell))
    harness.pass(.seconds(2))
    #expect(harness.opens.count == 1)
  }

  @Test func `a network change has no effect if only polls are wanted`() {
    var harness = LinkHarness.connected(.messageStream)
    harness.peer = .isSilent
    harness.give(.setIntent(.standbyOnly))
    #expect(harness.give(.reachability(Self.cell)) == [])
  }

  @Test func `polls and triggers do not change the status if only polls are wanted`() throws {
    let policy = try LinkPolicy.messageStream.setting([
      ("gate.background", "0s standby"), ("gate.foreground", "wait"),
    ])
    var harness = LinkHarness.connected(policy)
    harness.peer = .isSilent
    harness.give(.setIntent(.standbyOnly))
    harness.give(.lifecycle(.background))
    harness.give(.lifecycle(.foreground))
    let status = harness.link.status
    harness.give(.trigger(.userRefresh))
    #expect(harness.link.status == status)
    harness.give(.polled(1, .refused))
    harness.next()
    #expect(harness.polls.count == 2)
    harness.give(.polled(2, nil))
    #expect(harness.link.status == status)
    #expect(harness.opens == [])
  }

  /// Returns a harness whose server responds to polls and has refused the link twice.
  private static func refused(_ failure: LinkFailure) -> LinkHarness {
    var harness = LinkHarness.wanted(.messageStream)
    harness.give(.prepared(harness.attempt))
    harness.give(.lost(harness.attempt, failure))
    harness.pass(.seconds(5))
    harness.give(.lost(harness.attempt, failure))
    #expect(harness.link.status.phase == .standby)
    return harness
  }

  /// The events that can occur while the server does not offer the link.
  private static var ways: [(String, (inout LinkHarness) -> Void)] {
    [
      (
        "background and foreground",
        { harness in
          harness.give(.lifecycle(.background))
          harness.give(.lifecycle(.foreground))
        }
      ),
      (
        "network lost and regained",
        { harness in
          harness.give(.reachability(.unreachable))
          harness.give(.reachability(.reachable(path: PathID("wlan0"))))
          harness.pass(.seconds(2))
        }
      ),
      ("a pull", { $0.give(.trigger(.userRefresh)) }),
      (
        "the user's switch off and on",
        { harness in
          harness.give(.setIntent(.standbyOnly))
          #expect(harness.link.status.reason == .ended(.leaving), "the user ended the link")
          harness.give(.setIntent(.live))
        }
      ),
      (
        "the slow probe under way",
        { harness in
          harness.opens = []
          while harness.opens.isEmpty { harness.pass(.seconds(1)) }
        }
      ),
    ]
  }

  @Test(arguments: [404, 503])
  func `the status states why the link is missing until it is connected`(status: Int) {
    let failure = LinkFailure.http(status: status, retryAfter: nil, detail: "")
    let expected = LinkStatus(phase: .standby, mode: .polling, reason: .failure(failure))
    for (name, way) in Self.ways {
      var harness = Self.refused(failure)
      way(&harness)
      #expect(harness.link.status == expected, "\(name)")
    }
    var harness = Self.refused(failure)
    harness.opens = []
    while harness.opens.isEmpty { harness.pass(.seconds(1)) }
    harness.give(.opened(harness.attempt))
    #expect(harness.link.status == LinkStatus(phase: .connected, mode: .live, quality: .good))
  }
}
