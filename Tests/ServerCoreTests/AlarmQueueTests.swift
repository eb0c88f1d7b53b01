import LinkCore
import Testing

@testable import LinkServerCore

/// What an alarm queue holds, and how it is checked.
struct AlarmQueueTests {
  private static func queue(_ keys: Int...) -> AlarmQueue<Int> {
    var queue = AlarmQueue<Int>()
    for key in keys { queue.set(key, at: .second(Double(key))) }
    return queue
  }

  private static func broken(_ queue: AlarmQueue<Int>) -> [String] {
    var check = InvariantCheck(.thorough)
    queue.check(&check)
    return check.broken
  }

  @Test func `an alarm that is set again for the same time takes no more room`() {
    var queue = Self.queue(1, 2)
    for _ in 0..<5 { queue.set(2, at: .second(2)) }
    #expect(queue.heap.map(\.key) == [1, 2])
  }

  @Test func `an alarm without an entry is found, beside another or alone`() {
    #expect(Self.broken(Self.queue(1, 2)) == [])
    var beside = Self.queue(1, 2)
    beside.heap.removeLast()
    #expect(Self.broken(beside) == ["alarm queue: each alarm has an entry"])
    var alone = Self.queue(1)
    alone.armed = [:]
    #expect(Self.broken(alone).contains("alarm queue: each alarm has an entry"))
  }
}
