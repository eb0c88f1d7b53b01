import LinkCore
import LinkWire
import Testing

@testable import Session

/// Tests of a captive portal between a session and its server.
@Suite struct PortalTests {
  /// Returns whether an effect is a check for a captive portal.
  private static func isProbe(_ effect: SessionModel.Effect) -> Bool {
    if case .probe = effect { true } else { false }
  }

  /// Returns a session whose first attempt was ended by a captive portal, and which received the
  /// result of the check.
  private static func held(by failure: LinkFailure = .timeout(.connect)) -> SessionBench {
    var bench = SessionBench.opening()
    bench.give(.link(.lost(bench.attempt, failure), at: bench.wall))
    bench.give(.probed(isPortal: true))
    return bench
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
    var bench = SessionBench.opening()
    let effects = bench.give(.link(.lost(bench.attempt, failure), at: bench.wall))
    #expect(effects.filter(Self.isProbe) == (isChecked ? [.probe(within: .seconds(5))] : []))
  }

  @Test func `checks for a captive portal after an attempt that takes too long`() {
    var bench = SessionBench.opening()
    #expect(!bench.pass(.milliseconds(9_999)).contains(where: Self.isProbe))
    #expect(bench.pass(.milliseconds(1)).contains(.probe(within: .seconds(5))))
  }

  @Test func `does not check after the loss of a connection`() {
    var bench = SessionBench.connected()
    let effects = bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    #expect(!effects.contains(where: Self.isProbe))
  }

  @Test
  func `a captive portal holds the link, and one attempt after 30 s shows whether it is gone`() {
    var bench = Self.held()
    #expect(bench.model.link.status.reason == .blocked(.captivePortal))
    bench.pass(.milliseconds(29_999))
    #expect(bench.opens == 1)
    bench.pass(.milliseconds(1))
    #expect(bench.opens == 2)
    let effects = bench.give(.link(.lost(bench.attempt, .timeout(.connect)), at: bench.wall))
    #expect(effects.contains(.probe(within: .seconds(5))))
    bench.give(.probed(isPortal: true))
    #expect(bench.model.link.status.reason == .blocked(.captivePortal))
  }

  @Test func `makes no further check within 30 s`() {
    var bench = SessionBench.opening()
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    bench.give(.probed(isPortal: false))
    let effects = bench.fail(for: .milliseconds(29_999))
    #expect(!effects.contains(where: Self.isProbe))
    let later = bench.fail(for: .seconds(60))
    #expect(later.contains(where: Self.isProbe))
  }

  @Test func `a check that finds no captive portal changes nothing`() {
    var bench = SessionBench.opening()
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    let before = bench.model.link.status
    #expect(bench.give(.probed(isPortal: false)) == [])
    #expect(bench.model.link.status == before)
  }

  @Test(arguments: [
    SessionModel.Input.start, .link(.device(.again), at: Timestamp(nanoseconds: 0)),
    .link(.device(.reachability(.reachable(path: PathID("b")))), at: Timestamp(nanoseconds: 0)),
  ])
  func `the user and the device end the wait`(input: SessionModel.Input) {
    var bench = Self.held()
    bench.give(input)
    bench.pass(.seconds(2))
    #expect(bench.opens == 2)
  }

  @Test func `coming to the foreground ends the wait`() {
    var bench = Self.held()
    bench.give(.link(.device(.lifecycle(.background)), at: bench.wall))
    #expect(bench.opens == 1)
    bench.give(.link(.device(.lifecycle(.foreground)), at: bench.wall))
    bench.pass(.seconds(2))
    #expect(bench.opens == 2)
  }

  @Test func `a TLS failure caused by a captive portal is not final`() {
    var bench = SessionBench.opening()
    bench.give(.link(.lost(bench.attempt, .tls(.wrongHost, detail: "")), at: bench.wall))
    #expect(bench.model.link.status.phase == .failed)
    bench.give(.probed(isPortal: true))
    #expect(bench.model.link.status.reason == .blocked(.captivePortal))
    bench.pass(.seconds(30))
    #expect(bench.opens == 2)
  }

  @Test func `ignores the result of a check once connected`() {
    var bench = SessionBench.opening()
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    bench.pass(.seconds(2))
    bench.connect()
    bench.give(.probed(isPortal: true))
    #expect(bench.model.isConnected)
  }

  @Test func `the result of a check after a stop sets no deadline`() {
    var bench = SessionBench.opening()
    bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    bench.give(.stop)
    bench.give(.probed(isPortal: true))
    #expect(bench.model.isStopped)
    #expect(bench.model.deadline == nil)
  }

  @Test func `the check can be turned off`() throws {
    let policy = try LinkPolicy.session.setting([("gate.portalProbe", "off")])
    var bench = SessionBench.opening(policy)
    let effects = bench.give(.link(.lost(bench.attempt, .reset), at: bench.wall))
    #expect(!effects.contains(where: Self.isProbe))
  }
}

extension SessionBench {
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
