import HoldfastCore
import HoldfastRelayFixtures
import Testing

@testable import HoldfastRelayServer

/// Tests for `SignedOut`, which remembers a limited number of tokens that ended early.
@Suite struct RelaySignedOutTests {
  private func token(_ number: Int) -> TokenHash { RelayStage.hash("\(number)") }

  /// Returns a full list, in which one entry expires each second.
  private func full() -> SignedOut {
    var signedOut = SignedOut()
    for number in 1...4_096 {
      signedOut.add(token(number), .byUser, until: .second(Double(number)), at: .zero)
    }
    return signedOut
  }

  @Test func `4,096 tokens are remembered, and a new one replaces the one that expires first`() {
    var signedOut = full()
    #expect(signedOut.reason(token(1), at: .zero) == .byUser)
    var check = InvariantCheck(.thorough)
    signedOut.check(&check)
    #expect(check.broken == [])
    signedOut.add(token(5_000), .byUser, until: .second(5_000), at: .zero)
    let left = Set((2...4_096).map(token)).union([token(5_000)])
    #expect(Set(signedOut.reasons.keys) == left)
  }

  @Test func `a new token replaces an expired one before any other`() {
    var signedOut = full()
    #expect(signedOut.reason(token(1), at: .second(1)) == nil)
    signedOut.add(token(5_000), .byAnother(limit: 8), until: .second(5_000), at: .second(1))
    #expect(signedOut.reason(token(2), at: .second(1)) == .byUser)
    #expect(signedOut.reason(token(5_000), at: .second(1)) == .byAnother(limit: 8))
  }
}
