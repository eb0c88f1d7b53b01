import HoldfastCore
import Testing

/// Tests of the texts that an app can show, and of what a status says about the end of a link.
@Suite struct FailureTextTests {
  @Test(arguments: [
    (LinkFailure.dns(detail: "no such name"), "the host name could not be resolved: no such name"),
    (.refused, "the connection was refused"),
    (.timeout(.pong), "a ping was not answered in time"),
    (.tls(.wrongHost, detail: ""), "the certificate is for another host"),
    (
      .closed(code: 1012, reason: "deploy"),
      "the server closed the connection with code 1012 (service restart): deploy"
    ),
    (.closed(code: 4000, reason: ""), "the server closed the connection with code 4000"),
    (.closed(code: 1005, reason: ""), "the server closed the connection without a code"),
    (.http(status: 599, retryAfter: nil, detail: ""), "the server answered 599"),
    (
      .http(status: 404, retryAfter: nil, detail: "no such route"),
      "the server answered 404 (not found): no such route"
    ),
    (
      .http(status: 503, retryAfter: .seconds(90), detail: "Service Unavailable"),
      "the server answered 503 (service unavailable); it asks to be tried again after 90s"
    ),
    (.local(detail: "out of memory"), "out of memory"),
    (.http(status: 401, retryAfter: nil, detail: "the user must sign in"), "the user must sign in"),
  ])
  func `a failure is described with everything that the server sent`(
    failure: LinkFailure, text: String
  ) {
    #expect(failure.description == text)
    #expect("\(LinkStatus.Reason.failure(failure))" == text)
  }

  @Test(arguments: [
    (LinkStatus(phase: .connecting, attempt: 1), "connecting"),
    (LinkStatus(phase: .connected, mode: .live, quality: .good), "connected"),
    (
      LinkStatus(phase: .reconnecting, attempt: 3, maxAttempts: 10, reason: .failure(.reset)),
      "reconnecting, attempt 3 of 10: the connection was reset"
    ),
    (LinkStatus(phase: .reconnecting, attempt: 3), "reconnecting, attempt 3"),
    (
      LinkStatus(phase: .standby, mode: .polling, reason: .exhausted(.refused)),
      "standby, polling: no attempt succeeded: the connection was refused"
    ),
    (
      LinkStatus(phase: .held, reason: .blocked(.background)),
      "waiting: the app is in the background"
    ),
    (LinkStatus(phase: .failed, reason: .signIn), "failed: the user must sign in"),
  ])
  func `a status is described with its attempt and its reason`(status: LinkStatus, text: String) {
    #expect("\(status)" == text)
  }

  @Test func `a debugger is also shown the times and the quality of a status`() {
    var status = LinkStatus(phase: .connected, quality: .poor)
    status.retryAt = Instant(nanoseconds: 5)
    #expect(String(reflecting: status) == "connected, retry at 5 ns, quality poor")
  }

  private static let ends: [(LinkStatus.Reason?, LinkFailure, Bool)] = [
    (.failure(.reset), .reset, true), (.exhausted(.refused), .refused, true),
    (.signIn, .http(status: 401, retryAfter: nil, detail: "the user must sign in"), true),
    (.ended(.idle), .local(detail: "the connection was not used"), false),
    (.blocked(.unreachable), .local(detail: "this device is offline"), false),
    (nil, .local(detail: "the connection has ended"), false),
  ]

  @Test(arguments: ends)
  func `a link that has failed always has a failure`(
    reason: LinkStatus.Reason?, failure: LinkFailure, isKnownBefore: Bool
  ) {
    let (failed, held) = (
      LinkStatus(phase: .failed, reason: reason), LinkStatus(phase: .held, reason: reason)
    )
    #expect(failed.isFinal && failed.failure == failure)
    #expect(!held.isFinal && held.failure == (isKnownBefore ? failure : nil))
  }

  @Test func `the time until the next attempt is never negative`() {
    let status = LinkStatus(phase: .reconnecting, retryAt: Instant(nanoseconds: 3_000_000_000))
    #expect(status.retryIn(at: .zero) == .seconds(3))
    #expect(status.retryIn(at: Instant(nanoseconds: 4_000_000_000)) == .zero)
    #expect(LinkStatus(phase: .connected).retryIn(at: .zero) == nil)
  }
}
