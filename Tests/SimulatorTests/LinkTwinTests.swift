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

  @Test func `a link that names attempts otherwise is found`() throws {
    var walk = LinkWalk(Chance(seed: 1))
    #expect(walk.walk(2, 90) == nil)
    let stray = try LinkWalk.finding { walk in
      walk.begin(.messageStream, seed: 1)
      walk.twin.lastAttempt += 1
      walk.give(.flushed)
    }
    #expect(stray == "the link names attempts otherwise after flushed")
  }

  @Test func `credentials of which something else is known are found`() throws {
    let policy = LinkPolicy.messageStream.gate
    var (plain, keys) = (Credentials(policy), LinkKeys(policy))
    plain.renewed(expiresIn: nil, at: .zero)
    keys.came(for: nil, at: .zero)
    #expect(plain.refresh(at: .zero) == keys.ask(at: .zero))
    plain.noteRefusedByREST()
    keys.refused = keys.generation
    let found = plain
    let changes: [(String, (inout LinkKeys) -> Void)] = [
      ("when credentials are due", { $0.dueAt = .zero }),
      ("whether credentials are there", { $0.areThere = false }),
      ("whether a refresh runs", { ($0.dueAt, $0.runsUntil) = ($0.runsUntil, nil) }),
      ("how often credentials came", { $0.generation += 1 }),
      ("whether credentials are unproven", { $0.refused = nil }),
      ("whether they were renewed in vain", { $0.refused = 0 }),
      ("whether they are refused", { $0.refused = 9 }),
    ]
    try LinkPartsWalk.expect(keys, changes) { walk, keys in walk.compareKeys(found, keys) }
  }

  @Test func `a gate or a pace that is another one is found`() throws {
    let policy = LinkPolicy.messageStream
    var (gate, twin) = (Gate(policy.gate), LinkTwin(policy, seed: 0))
    (gate.wish, twin.wish) = (.live, .live)
    gate.credentials.renewed(expiresIn: nil, at: .zero)
    twin.keys.came(for: nil, at: .zero)
    let open = gate
    let changes: [(String, (inout LinkTwin) -> Void)] = [
      ("what is in the way", { $0.network = .unreachable }),
      ("whether a gate is open", { $0.wish = .none }),
      ("whether a gate is open", { $0.keys.vanish() }),
    ]
    try LinkPartsWalk.expect(twin, changes) { walk, twin in walk.compareGate(open, twin) }
    let retry = Retry(policy.retry)
    let paces: [(String, (inout LinkPace) -> Void)] = [
      ("the earliest try", { $0.failed(.seconds(5), at: .zero) })
    ]
    try LinkPartsWalk.expect(LinkPace(policy.retry), paces) { walk, pace in
      walk.compareRetry(retry, pace)
    }
  }
}
