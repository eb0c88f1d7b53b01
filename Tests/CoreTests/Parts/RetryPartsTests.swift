import HoldfastCore
import Testing

private func at(_ milliseconds: Int) -> Instant { .zero.advanced(by: .milliseconds(milliseconds)) }

/// Tests of the parts of a link, without a link.
@Suite struct RetryPartsTests {
  private static func policy(breaker: Breaker? = nil) -> RetryPolicy {
    RetryPolicy(
      first: .list([.seconds(1)]), reconnect: .list([.zero, .seconds(1)]),
      windows: [AttemptWindow(attempts: 2, per: .seconds(10))], breaker: breaker,
      stability: Stability(after: .seconds(5), provenByData: true), serverJitter: .seconds(2),
      maxRetryAfter: .seconds(60))
  }

  @Test func `a window admits its number of attempts, and the next one when it ends`() {
    var windows = Windows([AttemptWindow(attempts: 2, per: .seconds(10))])
    #expect(windows.pass(at: at(0)) == true)
    #expect(windows.pass(at: at(1_000)) == true)
    #expect(windows.earliest(at: at(1_000)) == at(10_000))
    #expect(windows.pass(at: at(9_999)) == false)
    #expect(windows.pass(at: at(10_000)) == true)
    #expect(windows.pass(at: at(10_999)) == false)
    #expect(windows.pass(at: at(11_000)) == true)
  }

  @Test func `without windows every attempt is admitted`() {
    var windows = Windows([])
    for _ in 0..<100 { #expect(windows.pass(at: at(0)) == true) }
  }

  @Test(arguments: [(-1, 0), (0, 0), (59_999, 59_999), (60_000, 60_000), (60_001, 60_000)])
  func `retry-after is honored up to its bound`(retryAfter: Int, honored: Int) {
    let policy = Self.policy()
    #expect(policy.honored(.milliseconds(retryAfter)) == .milliseconds(honored))
    #expect(policy.honored(nil) == nil)
    var retry = Retry(policy)
    retry.noteFailure(at: at(0), retryAfter: .milliseconds(retryAfter))
    #expect(retry.earliest(at: at(0)) == at(honored))
    retry.noteStable()
    #expect(retry.earliest(at: at(0)) == at(0))
  }

  @Test func `a retry plan ends with its schedule and respects the windows`() {
    var generator = RandomSource(seed: 1)
    var retry = Retry(Self.policy())
    let schedule = retry.policy.reconnect
    #expect(retry.plan(schedule, before: nil, at: at(0), generator: &generator) == at(0))
    #expect(retry.plan(schedule, before: 1, at: at(0), generator: &generator) == at(1_000))
    #expect(retry.plan(schedule, before: 2, at: at(0), generator: &generator) == nil)
    retry.noteAttempt(at: at(0))
    retry.noteAttempt(at: at(0))
    #expect(retry.plan(schedule, before: 1, at: at(0), generator: &generator) == at(10_000))
  }

  @Test func `a breaker pauses only once its number of failures is reached`() {
    let breaker = Breaker(failures: 2, within: .seconds(5), pause: .seconds(30))
    var retry = Retry(Self.policy(breaker: breaker))
    retry.noteFailure(at: at(0), retryAfter: nil)
    #expect(retry.earliest(at: at(0)) == at(0))
    retry.noteFailure(at: at(5_000), retryAfter: nil)
    #expect(retry.earliest(at: at(5_000)) == at(35_000))
    retry.noteFailure(at: at(10_001), retryAfter: nil)
    #expect(retry.earliest(at: at(10_001)) == at(10_001))
  }

  @Test func `a schedule waits at least as long as the server asked`() {
    var generator = RandomSource(seed: 1)
    let schedule = Schedule.list([.seconds(1), .seconds(3)])
    #expect(schedule.wait(before: 0, atLeast: nil, generator: &generator) == .seconds(1))
    #expect(schedule.wait(before: 0, atLeast: .seconds(2), generator: &generator) == .seconds(2))
    #expect(schedule.wait(before: 1, atLeast: .seconds(2), generator: &generator) == .seconds(3))
    #expect(schedule.wait(before: 2, atLeast: .seconds(2), generator: &generator) == nil)
    #expect(schedule.shortestWait(before: 1, atLeast: .seconds(4)) == .seconds(4))
    #expect(schedule.shortestWait(before: 2, atLeast: nil) == nil)
    #expect(generator == RandomSource(seed: 1))
  }

  @Test func `a gate is open if the work is wanted, the network reachable and the user signed in`()
  {
    var gate = Gate(LinkPolicy.healthSync.gate)
    #expect(!gate.isOpen)
    gate.intent = .live
    gate.credentials.renewed(expiresIn: nil, at: at(0))
    #expect(gate.isOpen)
    gate.reachability = .unreachable
    #expect(gate.blockedReason == .unreachable)
    #expect(!gate.isOpen)
    gate.reachability = .reachable(path: PathID("a"))
    #expect(gate.isOpen)
    gate.credentials.forget()
    #expect(gate.isOpen == !gate.policy.needsCredentials)
  }

  @Test func `credentials are unproven from a REST refusal until the server accepts some`() {
    func state(_ record: Credentials) -> [Bool] {
      [record.isUnproven, record.isRefused, record.isRenewedInVain]
    }
    var record = Credentials(LinkPolicy.session.gate)
    record.renewed(expiresIn: nil, at: at(0))
    #expect(state(record) == [false, false, false])
    record.noteRefusedByREST()
    #expect(state(record) == [true, true, false])
    record.refreshFailed(at: at(0))
    #expect(state(record) == [true, true, false])
    record.renewed(expiresIn: nil, at: at(0))
    #expect(state(record) == [true, false, true])
    record.noteAccepted()
    #expect(state(record) == [false, false, false])
  }
}
