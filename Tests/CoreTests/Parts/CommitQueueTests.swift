import HoldfastCore
import Testing

/// Tests that one batch is committed at a time, that refused batches are retried, and that changes
/// stay in order.
struct CommitQueueTests {
  private struct ID: NumberedID {
    let number: UInt64
    init(_ number: UInt64) { self.number = number }
  }

  private struct Batch: CommitBatch {
    var numbers: [Int] = []
    var later: [Int] = []
    var isEmpty: Bool { numbers.isEmpty }
    mutating func seal() { numbers += later }
  }

  private typealias Queue = CommitQueue<ID, Batch>

  /// Returns the identifier and the numbers of the next batch.
  private static func next(_ queue: inout Queue, at now: Instant = .zero) -> (id: ID, [Int])? {
    queue.next(at: now).map { ($0.id, $0.batch.numbers) }
  }

  @Test func `one batch is handed over at a time, and the next one has all later changes`() throws {
    var queue = Queue()
    let none = Self.next(&queue)
    #expect(none == nil && queue.isDone)
    queue.waiting.numbers.append(1)
    let first = try #require(Self.next(&queue))
    #expect(first.1 == [1])
    queue.waiting.numbers += [2]
    queue.waiting.numbers += [3]
    let early = Self.next(&queue)
    #expect(early == nil && !queue.isDone)
    let (done, again) = (queue.committed(first.id), queue.committed(first.id))
    #expect(done?.numbers == [1] && again == nil)
    let second = try #require(Self.next(&queue))
    #expect(second.1 == [2, 3])
    _ = queue.committed(second.id)
    #expect(queue.isDone)
  }

  @Test func `a refused batch is handed over again after 1, 2, 4 … 30 s, before later changes`()
    throws
  {
    var queue = Queue()
    queue.waiting.numbers = [1]
    var now = Instant.zero
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
      let commit = try #require(Self.next(&queue, at: now))
      #expect(commit.1 == [1])
      let (isNoted, isNotedAgain) = (
        queue.refused(commit.id, at: now), queue.refused(commit.id, at: now)
      )
      #expect(isNoted && !isNotedAgain)
      queue.waiting.numbers.append(2)
      let retry = now.advanced(by: .seconds(seconds))
      #expect(queue.retryAt == retry)
      let early = Self.next(&queue, at: retry.advanced(by: .nanoseconds(-1)))
      #expect(early == nil)
      now = retry
    }
  }

  @Test func `an answer to an earlier commit changes nothing`() throws {
    var queue = Queue()
    queue.waiting.numbers = [1]
    let first = try #require(Self.next(&queue))
    _ = queue.refused(first.id, at: .zero)
    let second = try #require(Self.next(&queue, at: .second(1)))
    let (late, isNoted) = (queue.committed(first.id), queue.refused(first.id, at: .second(1)))
    #expect(late == nil && !isNoted)
    let done = queue.committed(second.id)
    #expect(done != nil && queue.failures == 0)
  }

  @Test func `changes that are stored only along with others do not start a commit`() throws {
    var queue = Queue()
    queue.waiting.later = [9]
    let none = Self.next(&queue)
    #expect(none == nil && queue.isDone)
    queue.waiting.numbers = [1]
    let commit = try #require(Self.next(&queue))
    #expect(commit.1 == [1, 9] && queue.waiting == Batch())
  }
}
