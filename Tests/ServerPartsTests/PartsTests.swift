import HoldfastCore
import Testing

@testable import HoldfastServerParts

struct PartsTests {
  @Test func `a full bucket allows its burst and then one post per interval`() {
    var rate = TokenBuckets(interval: .milliseconds(50), burst: 3, bound: 10)
    let waits: [(Double, Duration?)] = [
      (0, nil), (0, nil), (0, nil),
      (0, .milliseconds(50)), (0.049, .milliseconds(1)), (0.05, nil), (0.05, .milliseconds(50)),
      (0.1, nil), (0.15, nil), (0.25, nil), (0.25, nil), (0.25, .milliseconds(50)),
      (9, nil), (9, nil), (9, nil), (9, .milliseconds(50)),
    ]
    for (second, wait) in waits {
      #expect(rate.spend("ann", at: .second(second)) == wait, "at \(second)")
    }
  }

  @Test func `tracks as many users as its limit and drops idle users`() {
    var rate = TokenBuckets(interval: .seconds(1), burst: 2, bound: 2)
    #expect(rate.spend("ann", at: .second(0)) == nil)
    #expect(rate.spend("bob", at: .second(0)) == nil)
    #expect(rate.spend("eve", at: .second(0.9)) == .seconds(2))
    #expect(rate.spend("ann", at: .second(0.9)) == nil)
    #expect(rate.spend("eve", at: .second(1)) == nil)
  }

  @Test(arguments: [(0, true), (-1, false)])
  func `tracks no more names than its limit`(bound: Int, isSound: Bool) {
    let rate = TokenBuckets(interval: .seconds(1), burst: 2, bound: bound)
    var check = InvariantCheck(.thorough)
    rate.check(&check)
    #expect(check.broken.isEmpty == isSound)
  }
}
