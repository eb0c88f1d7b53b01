import Testing

@testable import HoldfastCore

private struct Item: QueuedItem {
  var id: UUID128
  var orderingKey = "a"
  var state = SendState.queued(tries: 0)

  init(_ number: UInt64) { id = UUID128(high: 0, low: number) }
}

/// Tests that each invariant check of the queues can fail.
@Suite struct QueueInvariantTests {
  private static func broken(_ value: some SelfChecking) -> [String] {
    var check = InvariantCheck(.thorough)
    value.check(&check)
    return check.broken
  }

  /// A queue of three messages. Two messages and then a ping were handed over. The third message is
  /// not stored.
  private static var proven: ProvenQueue {
    var queue = ProvenQueue()
    _ = queue.add(1, .text("one"), isStored: true)
    _ = queue.add(2, .text("two"), isStored: true)
    _ = queue.add(3, .text("three"), isStored: false)
    _ = queue.take()
    _ = queue.ask(until: .zero)
    return queue
  }

  private static let provenPlants: [(String, @Sendable (inout ProvenQueue) -> Void)] = [
    ("proven queue: what was handed over is its beginning, up to the window", { $0.handed = 4 }),
    ("proven queue: nothing is sent before it is stored", { $0.handed = 3 }),
    ("proven queue: a ping follows the messages handed over", { $0.proof?.count = 0 }),
    ("proven queue: the bytes are those of its messages", { $0.bytes += 1 }),
    (
      "proven queue: its messages are in the order of their numbers, up to the last one",
      { $0.entries.swapAt(0, 1) }
    ),
    (
      "proven queue: its messages are in the order of their numbers, up to the last one",
      { $0.entries.append(OutboxMessage(id: 4, message: .text(""))) }
    ),
  ]

  @Test func `the invariant check detects a broken proven queue`() {
    #expect(Self.broken(Self.proven) == [])
    for (name, plant) in Self.provenPlants {
      var queue = Self.proven
      plant(&queue)
      #expect(Self.broken(queue).contains(name))
    }
  }

  /// A queue of two stored items, the first of which is being tried.
  private static var sending: SendQueue<Item> {
    var queue = SendQueue<Item>(limit: 5)
    for number in UInt64(1)...2 {
      _ = queue.add(Item(number))
      _ = queue.stored(Item(number).id)
    }
    _ = queue.take(at: .zero, timeout: .seconds(1))
    return queue
  }

  private static let stranger = UUID128(high: 9, low: 9)
  private static let another = SendQueue<Item>.Try(
    id: Item(2).id, number: TryID(9), orderingKey: "a", until: .zero, credentials: 0)

  private static let sendPlants: [(String, @Sendable (inout SendQueue<Item>) -> Void)] = [
    (
      "send queue: state of an item ends with the item",
      {
        $0.list = []
        $0.doubtful = [stranger]
      }
    ),
    ("send queue: an item is in it once", { $0.list.append($0.list[0]) }),
    ("send queue: it knows nothing of items that are gone", { $0.unstored = [stranger] }),
    ("send queue: an ordering key has one try at a time", { $0.tries.append(another) }),
    ("send queue: only a stored item that waits is tried", { $0.unstored = [Item(1).id] }),
  ]

  @Test func `the invariant check detects a broken send queue`() {
    #expect(Self.broken(Self.sending) == [])
    for (name, plant) in Self.sendPlants {
      var queue = Self.sending
      plant(&queue)
      #expect(Self.broken(queue).contains(name))
    }
  }

  @Test func `an empty set of attempt windows records nothing`() {
    var windows = Windows([])
    windows.note(at: .zero)
    #expect(Self.broken(windows) == [])
    windows.times = [.zero]
    #expect(
      Self.broken(windows) == [
        "windows: no more is remembered than the largest window counts"
      ])
  }
}
