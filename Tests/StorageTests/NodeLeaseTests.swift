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
