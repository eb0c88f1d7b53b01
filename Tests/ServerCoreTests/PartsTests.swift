import LinkCore
import Testing

@testable import LinkServerCore

struct PartsTests {
  @Test(arguments: [UInt64](1...20))
  func `an alarm queue rings as a sorted list would`(seed: UInt64) {
    var chance = Chance(seed: seed)
    var queue = AlarmQueue<Int>()
    var model: [Int: Int64] = [:]
    for _ in 0..<500 {
      let key = Int.random(in: 0..<12, using: &chance)
      let at = Int64.random(in: 0..<40, using: &chance)
      switch Int.random(in: 0..<4, using: &chance) {
      case 0, 1:
        queue.set(key, at: Instant(nanoseconds: at))
        model[key] = at
      case 2:
        queue.clear(key)
        model[key] = nil
      case _:
        let due = model.filter { $0.value <= at }
        let first = due.min { ($0.value, $0.key) < ($1.value, $1.key) }?.key
        #expect(queue.take(dueAt: Instant(nanoseconds: at)) == first)
        if let first { model[first] = nil }
      }
      #expect(queue.first?.nanoseconds == model.values.min())
    }
  }

  @Test func `a full bucket gives its burst and then one post an interval`() {
    var rate = PostRate(interval: .milliseconds(50), burst: 3, bound: 10)
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

  @Test func `watches as many users as its bound, and forgets those who are quiet`() {
    var rate = PostRate(interval: .seconds(1), burst: 2, bound: 2)
    #expect(rate.spend("ann", at: .second(0)) == nil)
    #expect(rate.spend("bob", at: .second(0)) == nil)
    #expect(rate.spend("eve", at: .second(0.9)) == .seconds(2))
    #expect(rate.spend("ann", at: .second(0.9)) == nil)
    #expect(rate.spend("eve", at: .second(1)) == nil)
  }

  @Test(arguments: [(2, true), (3, false)])
  func `as many users are counted as may be`(users: Int, isSound: Bool) {
    var rate = PostRate(interval: .seconds(1), burst: 2, bound: 2)
    for user in 1...users { rate.fullAt["\(user)"] = .second(1) }
    var check = InvariantCheck(.thorough)
    rate.check(&check)
    #expect(check.broken.isEmpty == isSound)
  }
}
