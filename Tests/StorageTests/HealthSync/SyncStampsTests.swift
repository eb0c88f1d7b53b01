import HoldfastCore
import HoldfastSyncData
import Testing

/// Tests of the effective times of batches from a phone whose clock is ahead.
@Suite struct SyncStampsTests {
  /// Six batches of a phone that read six pages at 10 s. They may arrive in any order, but their
  /// time stamps determine the order.
  @Test(arguments: [[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [3, 6, 1, 5, 2, 4]] as [[Int64]])
  func `stamps ahead of the clock count in their order, and never exceed the clock`(order: [Int64])
  {
    var stamps = SyncStamps()
    let arrived = Timestamp(nanoseconds: 10_900_000_000)
    var counts: [Int64: Timestamp] = [:]
    for number in order {
      let made = Timestamp(nanoseconds: (10 + number) * 1_000_000_000)
      counts[number] = stamps.note(made, of: "p", arrived: arrived)
    }
    let inOrder = (1...6).compactMap { counts[$0] }
    #expect(zip(inOrder, inOrder.dropFirst()).allSatisfy { $0 < $1 })
    #expect(inOrder.allSatisfy { $0 < arrived })
    for (number, time) in counts {
      let made = Timestamp(nanoseconds: (10 + number) * 1_000_000_000)
      let later = arrived.advanced(by: .seconds(3_600))
      #expect(stamps.note(made, of: "p", arrived: later) == time, "a copy")
    }
    // This phone's page was bounded long ago. Its batches now arrive in a different order.
    let second: Int64 = 1_000_000_000
    func note(_ made: Int64, at arrived: Int64) -> Timestamp {
      stamps.note(
        Timestamp(nanoseconds: made * second), of: "p",
        arrived: Timestamp(nanoseconds: arrived * second))
    }
    let honest = note(900, at: 905)
    let ahead = note(1_043, at: 1_042)
    let late = note(1_042, at: 1_042)
    #expect(honest < late && late < ahead)
    let next = Timestamp(nanoseconds: 1_100_000_000_000)
    #expect(stamps.note(next, of: "p", arrived: next) == next)
  }
}
