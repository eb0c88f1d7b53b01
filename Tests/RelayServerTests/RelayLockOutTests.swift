import HoldfastCore
import Testing

@testable import HoldfastRelayServer
@testable import HoldfastServerParts

/// Tests for which addresses are tracked, and for how many wrong pairs lock out an address.
struct RelayLockOutTests {
  private static func lockOut(_ change: (inout RelayServerPolicy) -> Void) -> LockOut {
    var policy = RelayServerPolicy()
    change(&policy)
    return LockOut(policy.wrongLimits, at: .zero)
  }

  @Test func `wrong pairs of all addresses are a flood only above the allowed rate`() {
    var lockOut = Self.lockOut {
      ($0.wrongBurst, $0.wrongPairs, $0.floodWrongPairs) = (2, 5, 1)
    }
    for home in ["a", "b", "c"] { lockOut.wrong(home, at: .zero) }
    let waits = ["a", "b", "c"].map { lockOut.wait($0, at: .zero) }
    #expect(waits == [nil, nil, .seconds(900)])
  }

  @Test(arguments: ["an-office-name-1", "20010DB800010001", "20010db8000100:1"])
  func `an address that is not a 64-bit IPv6 prefix belongs to no network`(address: String) {
    #expect(address.utf8.count == 16)
    var lockOut = Self.lockOut { $0.wrongPairs = 5 }
    lockOut.wrong(address, at: .zero)
    #expect(lockOut.marks.keys.sorted() == [address])
  }

  @Test(arguments: [(1, 900), (5, 600)])
  func `an address is tracked until its lock-out or its window ends`(wrongPairs: Int, seconds: Int)
  {
    for early in [Duration.nanoseconds(1), .zero] {
      var lockOut = Self.lockOut { ($0.maxWatchedAddresses, $0.wrongPairs) = (1, wrongPairs) }
      lockOut.wrong("a", at: .zero)
      let end = Instant.zero.advanced(by: Duration.seconds(seconds) - early)
      lockOut.wrong("b", at: end)
      #expect(lockOut.marks.keys.sorted() == (early == .zero ? ["b"] : ["a"]))
    }
  }

  @Test func `an address that is not tracked waits as long as the refusal stated`() {
    var lockOut = Self.lockOut {
      ($0.maxWatchedAddresses, $0.wrongInterval) = (1, .seconds(10))
    }
    lockOut.wrong("a", at: .zero)
    lockOut.wrong("b", at: .second(595))
    #expect(lockOut.wait("b", at: .second(600)) == .seconds(5))
    #expect(lockOut.wait("b", at: .second(605)) == nil)
  }

  @Test func `a slot is searched for again exactly at the end of the wait`() {
    var lockOut = Self.lockOut {
      ($0.maxWatchedAddresses, $0.wrongInterval) = (1, .seconds(10))
    }
    lockOut.wrong("a", at: .zero)
    lockOut.wrong("b", at: .second(590))
    lockOut.wrong("c", at: .second(600))
    #expect(lockOut.marks.keys.sorted() == ["c"])
  }

  @Test func `a tracked network keeps counting although there is no slot for another mark`() {
    var lockOut = Self.lockOut {
      ($0.maxWatchedAddresses, $0.wrongPairs, $0.wrongPairsOfNetwork) = (2, 5, 2)
    }
    let address = "20010db800010001"
    for _ in 1...2 { lockOut.wrong(address, at: .zero) }
    #expect(lockOut.marks.count == 2)
    #expect(lockOut.wait(address, at: .zero) == .seconds(900))
  }

  @Test func `a network replaces a mark that has expired`() {
    var lockOut = Self.lockOut {
      ($0.maxWatchedAddresses, $0.wrongPairs, $0.wrongPairsOfNetwork) = (2, 5, 2)
    }
    lockOut.wrong("a", at: .zero)
    let address = "20010db800010001"
    for _ in 1...2 { lockOut.wrong(address, at: .second(600)) }
    #expect(lockOut.wait(address, at: .second(600)) == .seconds(900))
  }

  @Test func `an address that was locked out adds no network without a free slot`() {
    var lockOut = Self.lockOut { ($0.maxWatchedAddresses, $0.wrongPairs) = (3, 1) }
    lockOut.wrong("20010db800010002", at: .zero)
    for home in ["a", "b"] { lockOut.wrong(home, at: .second(601)) }
    #expect(lockOut.marks.count == 3)
    lockOut.wrong("20010db800010002", at: .second(901))
    #expect(lockOut.marks.keys.sorted() == ["20010db800010002", "a", "b"])
  }
}
