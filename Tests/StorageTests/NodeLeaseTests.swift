import HoldfastCore
import HoldfastServerData
import Testing

@Suite struct NodeLeaseTests {
  private func at(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  @Test func `a lease is trusted for 8 s from before its renewal was sent`() {
    var lease = NodeLease()
    #expect(!lease.isValid(at: at(0)))
    #expect(lease.reason(at: at(0))?.contains("no lease") == true)
    lease.handle(.renewed(sent: at(1)), at: at(6))
    #expect(lease.isValid(at: at(8.9)))
    #expect(!lease.isValid(at: at(9)))
    #expect(lease.renewal(at: at(2)) == at(3))
    #expect(lease.renewal(at: at(5)) == at(5))
  }

  @Test func `a failed renewal leaves the lease until its end, and gives the reason afterwards`() {
    var lease = NodeLease()
    lease.handle(.renewed(sent: at(0)), at: at(0))
    lease.handle(.failed("no answer"), at: at(5))
    #expect(lease.reason(at: at(7)) == nil)
    #expect(lease.reason(at: at(8))?.contains("(no answer)") == true)
    lease.handle(.renewed(sent: at(9)), at: at(9))
    #expect(lease.reason(at: at(10)) == nil)
  }

  @Test func `an answer that comes late does not shorten a lease`() {
    var lease = NodeLease()
    lease.handle(.renewed(sent: at(4)), at: at(4))
    lease.handle(.renewed(sent: at(1)), at: at(5))
    #expect(lease.isValid(at: at(11)))
    #expect(lease.renewal(at: at(5)) == at(6))
  }

  @Test func `a lease that is refused ends at once, and is asked for again after 2 s`() {
    var lease = NodeLease()
    lease.handle(.renewed(sent: at(0)), at: at(0))
    lease.handle(.taken("Another node has it."), at: at(1))
    #expect(lease.reason(at: at(1))?.contains("(Another node has it.)") == true)
    #expect(!lease.hasEnded)
    #expect(lease.renewal(at: at(1)) == at(3))
    lease.handle(.renewed(sent: at(3)), at: at(3))
    #expect(lease.reason(at: at(3)) == nil)
    lease.handle(.left, at: at(4))
    lease.handle(.renewed(sent: at(4)), at: at(4))
    #expect(lease.hasEnded && !lease.isValid(at: at(4)))
    #expect(lease.renewal(at: at(4)) == nil)
  }
}

@Suite struct LaneRulesTests {
  private func at(_ seconds: Double) -> Instant {
    Instant(nanoseconds: Int64(seconds * 1_000_000_000))
  }

  /// A lane whose job began after attempt 6 and is given up after 30 s.
  private var began: LaneRules {
    var rules = LaneRules()
    rules.begin(after: 6, until: at(30))
    return rules
  }

  @Test func `a job without a lease goes on only while its outcome is unknown`() {
    var rules = began
    #expect(rules.goesOn(hasLease: true))
    #expect(!rules.goesOn(hasLease: false))
    rules.breakOff(isEndOfLease: true)
    #expect(!rules.goesOn(hasLease: false))
    #expect(rules.lookedUp == nil)
    rules.breakOff(isEndOfLease: false)
    #expect(rules.goesOn(hasLease: false))
    rules.begin(after: 8, until: at(60))
    #expect(!rules.goesOn(hasLease: false))
  }

  @Test func `an unknown outcome is that of an attempt of the job, after the begin of an epoch`() {
    var rules = began
    rules.breakOff(isEndOfLease: false)
    #expect(rules.lookedUp == 7)
    rules.beginEpoch(6)
    #expect(rules.lookedUp == 7)
    rules.beginEpoch(9)
    #expect(rules.lookedUp == 10)
  }

  @Test func `the waits grow from 50 to 400 ms, and end with the time of the job`() {
    var rules = began
    let waits = (1...6).map { _ in rules.pause(at: at(1)) }
    #expect(waits == [50, 100, 200, 400, 400, 400].map { .milliseconds($0) })
    let last = [29.9, 30, 31].map { rules.pause(at: at($0)) }
    #expect(last == [.milliseconds(100), nil, nil])
    rules.begin(after: 8, until: at(60))
    let first = rules.pause(at: at(31))
    #expect(first == .milliseconds(50))
  }

  @Test func `an epoch begins when a server lacks a commit, if the lane has one`() {
    var rules = began
    #expect(!rules.mustCompare)
    rules.commit(7)
    #expect(rules.mustCompare)
    let lost = [7, 8, 6].map { rules.compare(with: $0, hasEpoch: true) }
    #expect(lost == [false, false, true])
    #expect(rules.committed == 7)
    let begins = rules.compare(with: 6, hasEpoch: false)
    #expect(!begins)
    #expect(!rules.mustCompare)
  }

  @Test func `a role is taken at once, or more than 10 s after a change of the server`() {
    #expect(NodeLease.allowsRole(afterChange: nil, at: at(0)))
    #expect(!NodeLease.allowsRole(afterChange: at(1), at: at(10.9)))
    #expect(!NodeLease.allowsRole(afterChange: at(1), at: at(11)))
    #expect(NodeLease.allowsRole(afterChange: at(1), at: at(11.1)))
  }
}
