import Testing

@testable import HoldfastCore

/// Tests of the contents of an alarm queue and of its invariants.
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

  @Test func `setting an alarm again for the same time adds no entry`() {
    var queue = Self.queue(1, 2)
    for _ in 0..<5 { queue.set(2, at: .second(2)) }
    #expect(queue.heap.map(\.key) == [1, 2])
  }

  @Test func `the invariant check detects an alarm without an entry, with or without others`() {
    #expect(Self.broken(Self.queue(1, 2)) == [])
    var beside = Self.queue(1, 2)
    beside.heap.removeLast()
    #expect(Self.broken(beside) == ["alarm queue: each alarm has an entry"])
    var alone = Self.queue(1)
    alone.armed = [:]
    #expect(Self.broken(alone).contains("alarm queue: each alarm has an entry"))
  }

  @Test(arguments: 0..<20)
  func `a queue returns the due alarms, earliest first`(seed: UInt64) {
    var generator = RandomSource(seed: seed)
    var queue = AlarmQueue<Int>()
    var expected: [Int: Int64] = [:]
    var now: Int64 = 0
    for step in 0..<300 {
      let (key, at) = (step % 50, now + .random(in: 0...50, using: &generator))
      queue.set(key, at: Instant(nanoseconds: at))
      expected[key] = at
      if Bool.random(using: &generator) {
        queue.clear(key / 2)
        expected[key / 2] = nil
      }
      #expect(queue.first?.nanoseconds == expected.values.min() && queue.count == expected.count)
      now += .random(in: 0...10, using: &generator)
      var due: [Int] = []
      while let key = queue.take(dueAt: Instant(nanoseconds: now)) { due.append(key) }
      let order = expected.filter { $0.value <= now }.sorted {
        ($0.value, $0.key) < ($1.value, $1.key)
      }
      #expect(due == order.map(\.key) && Self.broken(queue) == [])
      for key in due { expected[key] = nil }
    }
  }
}
