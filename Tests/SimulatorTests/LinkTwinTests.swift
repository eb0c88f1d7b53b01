import LinkCore
import Testing

@testable import LinkSimulator

/// The second account of a link and of its parts.
@Suite struct LinkTwinTests {
  @Test(arguments: [
    (LinkFailure.closed(code: 1012, reason: ""), FailureClass.closedRestart, true),
    (.closed(code: 1011, reason: ""), .closedOther, false),
    (.http(status: 503, retryAfter: nil, detail: ""), .unavailable, true),
    (.http(status: 404, retryAfter: nil, detail: ""), .notFound, false),
    (.timeout(.pong), .silent, true), (.timeout(.connect), .timeout, true),
  ])
  func `the account tells failures apart`(
    failure: LinkFailure, row: FailureClass, isOutage: Bool
  ) {
    #expect(LinkFaults.row(failure) == row)
    #expect(LinkFaults.isOutage(failure) == isOutage)
  }

  @Test func `a server that names a time for a retry still offers the link`() {
    let busy = LinkFailure.http(status: 503, retryAfter: .seconds(1), detail: "")
    let absent = LinkFailure.http(status: 503, retryAfter: nil, detail: "")
    #expect(LinkFaults.verdict(busy, .messageStream) == .retrySpread)
    #expect(LinkFaults.verdict(absent, .messageStream) == .standbySlow)
  }

  @Test func `the account of a schedule grows up to its cap and ends`() {
    let schedule = Schedule.exponential(
      first: .seconds(1), factor: 2, cap: .seconds(5), jitter: 0.5, floor: .seconds(1),
      attempts: 4)
    let all = (0..<5).map { LinkPace.limits(schedule, after: $0) }
    let least: [Duration?] = [
      .seconds(1), .seconds(1), .seconds(2), .milliseconds(2_500), nil,
    ]
    let most: [Duration?] = [
      .milliseconds(1_500), .seconds(3), .seconds(6), .milliseconds(7_500), nil,
    ]
    #expect(all.map { $0?.0 } == least)
    #expect(all.map { $0?.1 } == most)
  }

  @Test func `the account of a link prepares, opens and is connected`() {
    var twin = LinkTwin(.messageStream, seed: 1)
    let attempt = AttemptID(1)
    #expect(twin.step(.credentials(.available(expiresIn: nil)), at: .zero) == [])
    let wanted = twin.step(.want(.live), at: .zero)
    #expect(
      wanted == [.prepare(attempt), .status(LinkStatus(phase: .connecting, attempt: 1))])
    #expect(twin.step(.prepared(attempt), at: .second(1)) == [.open(attempt)])
    #expect(twin.deadline == .second(6))
    let opened = twin.step(.opened(attempt), at: .second(2))
    #expect(opened == [.status(LinkStatus(phase: .connected, mode: .live, quality: .good))])
    #expect(twin.deadline == .second(12))
  }

  @Test func `walks return the first difference that they find`() {
    var parts = LinkPartsWalk(Chance(seed: 1))
    #expect(parts.walk(2) == nil)
    parts.compare("a wait", 1, 2)
    parts.compare("a plan", 3, 4)
    #expect(parts.walk(2) == "a wait is 1, and must be 2")
    var walk = LinkWalk(Chance(seed: 1))
    #expect(walk.walk(2, 90) == nil)
    walk.begin(.messageStream, seed: 1)
    walk.twin.lastAttempt += 1
    walk.give(.flushed)
    #expect(walk.stray == "the link names attempts otherwise after flushed")
  }
}
