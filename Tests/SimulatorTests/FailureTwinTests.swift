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

  @Test func `a failure that means something else is found`() throws {
    let failure = LinkFailure.http(status: 503, retryAfter: .seconds(1), detail: "a")
    let (row, wish) = (FailureClass.unavailable, Duration.seconds(1))
    try FailureWalk.expect(each: [
      (nil, { $0.compareClass(row, wish: wish, isNews: true, of: failure) }),
      (
        "the class of \(failure)",
        { $0.compareClass(.dns, wish: wish, isNews: true, of: failure) }
      ),
      (
        "the wish of \(failure)", { $0.compareClass(row, wish: nil, isNews: true, of: failure) }
      ),
      (
        "whether \(failure) means that there is no server",
        { $0.compareClass(row, wish: wish, isNews: false, of: failure) }
      ),
      (nil, { $0.compareText(failure.mapText { $0 + "b" }, of: failure) }),
      ("\(failure), changed,", { $0.compareText(failure, of: failure) }),
      ("\(failure), changed,", { $0.compareText(.refused, of: failure) }),
    ])
  }

  @Test func `a policy that does something else about a failure is found`() throws {
    let policy = LinkPolicy.messageStream
    let must = policy.verdict(on: .refused)
    for verdict in Verdict.allCases {
      let what = verdict == must ? nil : "what message-stream does about \(LinkFailure.refused)"
      try FailureWalk.expect(each: [
        (what, { $0.compareVerdict(verdict, of: policy, on: .refused) })
      ])
    }
    let past = Duration.seconds(-1)
    try FailureWalk.expect(each: [
      (nil, { $0.compareWish(.zero, of: policy, past) }),
      ("what message-stream obeys of \(past)", { $0.compareWish(past, of: policy, past) }),
    ])
  }

  @Test func `a watch for login pages that holds a link otherwise is found`() throws {
    var gate = LinkPolicy.messageStream.gate
    gate.portal = PortalPolicy(probe: .seconds(5), wait: .seconds(30))
    var (watch, account) = (PortalWatch(gate), FailurePortal(gate.portal))
    for failure in [LinkFailure.reset, .reset] {
      #expect(watch.tryEnded(by: failure, at: .zero) == account.tryEnded(failure, .zero))
    }
    #expect(account.checked(true, .zero) == true)
    try FailureWalk.expect(account, [("the watch's deadline", { $0 = FailurePortal(nil) })]) {
      walk, must in
      var found = watch
      #expect(found.checked(isPortal: true, at: .zero) == true)
      walk.compareWatch(found, must)
    }
  }
}
