import HoldfastCore
import Testing

@testable import HoldfastSession

/// Tests of a captive portal between a session and its server.
@Suite struct PortalTests {
  /// Returns whether an effect is a check for a captive portal.
  private static func isProbe(_ effect: SessionModel.Effect) -> Bool {
    if case .probe = effect { true } else { false }
  }

  private static let wrongHost = LinkFailure.tls(.wrongHost, detail: "")

  /// Returns a session whose first attempt was ended by a captive portal, which a check has
  /// detected.
  private static func held(by failure: LinkFailure = .timeout(.connect)) -> SessionHarness {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, failure), at: harness.wall))
    harness.give(.probed(isPortal: true))
    return harness
  }

  @Test(arguments: [
    (LinkFailure.timeout(.connect), true), (.reset, true), (.ended, true), (.captivePortal, true),
    (.tls(.wrongHost, detail: ""), true), (.protocolError(detail: ""), true),
    (.refused, false), (.dns(detail: ""), false), (.unreachable(detail: ""), false),
    (.http(status: 503, retryAfter: nil, detail: ""), false),
    (.closed(code: 4401, reason: ""), false),
    (.proxy(detail: ""), false), (.local(detail: ""), false),
  ])
  func `checks for a captive portal after an attempt that one may have ended`(
    failure: LinkFailure, isChecked: Bool
  ) {
    var harness = SessionHarness.opening()
    let effects = harness.give(.link(.lost(harness.attempt, failure), at: harness.wall))
    #expect(effects.filter(Self.isProbe) == (isChecked ? [.probe(within: .seconds(5))] : []))
  }

  @Test func `checks for a captive portal after an attempt that takes too long`() {
    var harness = SessionHarness.opening()
    #expect(!harness.pass(.milliseconds(9_999)).contains(where: Self.isProbe))
    #expect(harness.pass(.milliseconds(1)).contains(.probe(within: .seconds(5))))
  }

  @Test func `does not check after the loss of a connection`() {
    var harness = SessionHarness.connected()
    let effects = harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    #expect(!effects.contains(where: Self.isProbe))
  }

  @Test
  func `a captive portal holds the link, and one attempt after 30 s shows whether it is gone`() {
    var harness = Self.held()
    #expect(harness.model.link.status.reason == .blocked(.captivePortal))
    harness.pass(.milliseconds(29_999))
    #expect(harness.opens == 1)
    harness.pass(.milliseconds(1))
    #expect(harness.opens == 2)
    let effects = harness.give(.link(.lost(harness.attempt, .timeout(.connect)), at: harness.wall))
    #expect(effects.contains(.probe(within: .seconds(5))))
    harness.give(.probed(isPortal: true))
    #expect(harness.model.link.status.reason == .blocked(.captivePortal))
  }

  @Test func `makes no further check within 30 s`() {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    harness.give(.probed(isPortal: false))
    let effects = harness.fail(for: .milliseconds(29_999))
    #expect(!effects.contains(where: Self.isProbe))
    let later = harness.fail(for: .seconds(60))
    #expect(later.contains(where: Self.isProbe))
  }

  @Test func `a check that finds no captive portal changes nothing`() {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    let before = harness.model.link.status
    #expect(harness.give(.probed(isPortal: false)) == [])
    #expect(harness.model.link.status == before)
  }

  @Test(arguments: [
    SessionModel.Input.start, .link(.device(.again), at: Timestamp(nanoseconds: 0)),
    .link(.device(.reachability(.reachable(path: PathID("b")))), at: Timestamp(nanoseconds: 0)),
  ])
  func `the user and the device end the wait`(input: SessionModel.Input) {
    var harness = Self.held()
    harness.give(input)
    harness.pass(.seconds(2))
    #expect(harness.opens == 2)
  }

  @Test func `coming to the foreground ends the wait`() {
    var harness = Self.held()
    harness.give(.link(.device(.lifecycle(.background)), at: harness.wall))
    #expect(harness.opens == 1)
    harness.give(.link(.device(.lifecycle(.foreground)), at: harness.wall))
    harness.pass(.seconds(2))
    #expect(harness.opens == 2)
  }

  @Test func `a TLS failure caused by a captive portal is not final`() {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, Self.wrongHost), at: harness.wall))
    harness.give(.probed(isPortal: true))
    #expect(harness.model.link.status.reason == .blocked(.captivePortal))
    harness.pass(.seconds(30))
    #expect(harness.opens == 2)
    #expect(harness.failures == [], "no loop of the app has ended")
  }

  @Test(arguments: [
    SessionModel.Input.probed(isPortal: false),
    .link(.device(.reachability(.reachable(path: PathID("b")))), at: Timestamp(nanoseconds: 0)),
  ])
  func `a TLS failure is shown once no captive portal can be found`(input: SessionModel.Input) {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, Self.wrongHost), at: harness.wall))
    #expect(harness.failures == [])
    harness.give(input)
    #expect(harness.failures == [.failure(Self.wrongHost)])
    harness.give(.probed(isPortal: true))
    #expect(harness.model.link.status.isFinal)
    #expect(harness.failures.count == 1)
  }

  @Test func `ignores the result of a check once connected`() {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    harness.pass(.seconds(2))
    harness.connect()
    harness.give(.probed(isPortal: true))
    #expect(harness.model.isConnected)
  }

  @Test func `the result of a check after a stop sets no deadline`() {
    var harness = SessionHarness.opening()
    harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    harness.give(.stop)
    harness.give(.probed(isPortal: true))
    #expect(harness.model.isStopped)
    #expect(harness.model.deadline == nil)
  }

  @Test func `the check can be turned off`() throws {
    let policy = try LinkPolicy.session.setting([("gate.portalProbe", "off")])
    var harness = SessionHarness.opening(policy)
    let effects = harness.give(.link(.lost(harness.attempt, .reset), at: harness.wall))
    #expect(!effects.contains(where: Self.isProbe))
  }
}

extension SessionHarness {
  /// The reasons of the final statuses that were shown.
  fileprivate var failures: [LinkStatus.Reason?] {
    updates.compactMap { update in
      if case .status(let status) = update, status.isFinal { status.reason } else { nil }
    }
  }

  /// Lets time pass, second by second, and fails each attempt.
  fileprivate mutating func fail(for duration: Duration) -> [SessionModel.Effect] {
    let (end, before) = (now.advanced(by: duration), log.count)
    while now < end {
      pass(min(.seconds(1), now.duration(to: end)))
      if model.link.currentAttempt != nil, now < end {
        give(.link(.lost(attempt, .reset), at: wall))
      }
    }
    return Array(log[before...])
  }
}
