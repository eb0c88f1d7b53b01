import LinkCore
import Testing

@testable import LinkSimulator

/// The second account of what failures mean.
@Suite struct FailureTwinTests {
  @Test func `the account tells failures apart`() {
    #expect(FailureAccount.row(.closed(code: 1_012, reason: "")) == .closedRestart)
    #expect(FailureAccount.row(.closed(code: 1_005, reason: "")) == .closedOther)
    #expect(FailureAccount.row(.http(status: 503, retryAfter: nil, detail: "")) == .unavailable)
    #expect(FailureAccount.row(.http(status: 599, retryAfter: nil, detail: "")) == .serverError)
    #expect(FailureAccount.row(.timeout(.pong)) == .silent)
    #expect(FailureAccount.meansUnreachable(.dns(detail: "")) == true)
    #expect(FailureAccount.meansUnreachable(.closed(code: 4_401, reason: "")) == false)
  }

  @Test func `the account of a watch holds a link after a login page`() {
    var portal = FailurePortal(PortalPolicy(probe: .seconds(5), wait: .seconds(30)))
    #expect(portal.tryEnded(.refused, .zero) == nil)
    #expect(portal.tryEnded(.reset, .zero) == .seconds(5))
    #expect(portal.checked(true, .zero) == true)
    #expect(portal.heldUntil == Instant(nanoseconds: 30_000_000_000))
    #expect(portal.release() == .reachable(path: PathID("")))
    #expect(portal.tryEnded(.reset, Instant(nanoseconds: 29_999_999_999)) == nil)
  }

  @Test func `the walk of failures returns the first difference that it finds`() {
    var walk = FailureWalk(Chance(seed: 1))
    #expect(walk.walk(2) == nil)
    walk.compare("a failure", 1, 2)
    walk.compare("a failure", 3, 4)
    #expect(walk.walk(2) == "a failure is 1, and must be 2")
  }
}
