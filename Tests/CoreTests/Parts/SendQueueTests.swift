import HoldfastCore
import Testing

private struct Item: QueuedItem {
  var id: UUID128
  var orderingKey: String
  var state = SendState.queued(tries: 0)

  init(_ number: UInt64, _ orderingKey: String = "a") {
    id = UUID128(high: 0, low: number)
    self.orderingKey = orderingKey
  }
}

@Suite struct SendQueueTests {
  private static let start = Instant.zero
  private var queue = SendQueue<Item>(limit: 3)
  private var generator = RandomSource(seed: 1)
  private let schedule = Schedule.list([.seconds(1), .seconds(2)])

  private mutating func addStored(_ items: Item...) {
    for item in items {
      #expect(queue.add(item) == true)
      #expect(queue.stored(item.id) == item)
    }
  }

  private mutating func take(at second: Int = 0, credentials: UInt64 = 0) -> UInt64? {
    queue.take(
      at: Self.start.advanced(by: .seconds(second)), timeout: .seconds(10), credentials: credentials
    )?.id.low
  }

  private mutating func retry(
    _ number: UInt64, isUnsure: Bool = false, retryAfter: Duration? = nil, at second: Int = 0
  ) -> Item? {
    queue.retryLater(
      UUID128(high: 0, low: number), isUnsure: isUnsure, retryAfter: retryAfter,
      at: Self.start.advanced(by: .seconds(second)), schedule: schedule, generator: &generator)
  }

  @Test mutating func `an item is sent only after it is stored`() {
    #expect(queue.add(Item(1)) == true)
    #expect(queue.unstoredCount == 1)
    #expect(take() == nil)
    #expect(queue.stored(Item(1).id) == Item(1))
    #expect(queue.stored(Item(1).id) == nil)
    #expect(take() == 1)
    queue.remove(Item(1).id)
    #expect(queue.items == [])
    #expect(queue.sending(Item(1).id) == nil)
    #expect(queue.deadline == nil)
  }

  @Test mutating func `an attempt that could not begin is counted once`() {
    addStored(Item(1))
    var wanted = Item(1)
    wanted.state = .queued(tries: 1)
    #expect(queue.postpone(Item(1).id) == wanted)
    #expect(queue.postpone(Item(1).id) == nil)
    #expect(queue.postpone(Item(2).id) == nil)
    #expect(queue.fail(Item(1).id, "no") != nil)
    #expect(queue.postpone(Item(1).id) == nil)
  }

  @Test mutating func `three items fit a queue of three, a fourth is refused`() {
    addStored(Item(1), Item(2))
    #expect(queue.add(Item(3)) == true)
    #expect(queue.add(Item(4)) == false)
    #expect(queue.items == [Item(1), Item(2), Item(3)])
    #expect(queue.isStored(Item(4).id))
    queue.restore([Item(5)])
    #expect(queue.items == [Item(5), Item(1), Item(2), Item(3)])
  }

  @Test mutating func `items of one lane are sent one at a time, lanes do not wait for each other`()
  {
    addStored(Item(1), Item(2), Item(3, "b"))
    #expect([take(), take(), take()] == [1, 3, nil])
    queue.remove(Item(1).id)
    #expect([take(), take()] == [2, nil])
  }

  @Test mutating func `items that follow a blocked one wait with it, other lanes do not`() {
    addStored(Item(1), Item(2), Item(3, "b"))
    let mayGo: (Item) -> Bool = { $0.id != Item(1).id }
    let other = queue.take(at: Self.start, timeout: .seconds(10), where: mayGo)
    #expect(other == Item(3, "b"))
    let behind = queue.take(at: Self.start, timeout: .seconds(10), where: mayGo)
    #expect(behind == nil)
    #expect([take(), take()] == [1, nil])
  }

  @Test mutating func `retries follow the schedule, then the item fails until the user retries it`()
  {
    addStored(Item(1))
    #expect(take() == 1)
    #expect(retry(1)?.state == .queued(tries: 1))
    #expect(queue.deadline == .zero.advanced(by: .seconds(1)))
    #expect([take(), take(at: 1)] == [nil, 1])
    #expect(retry(1, at: 1)?.state == .queued(tries: 2))
    #expect([take(at: 2), take(at: 3)] == [nil, 1])
    #expect(retry(1, at: 3)?.state == .failed(reason: "no answer from the server"))
    #expect(take(at: 100) == nil)
    #expect(queue.deadline == nil)
    #expect(queue.retry(Item(1).id) == Item(1))
    #expect(take(at: 100) == 1)
  }

  @Test mutating func `an attempt whose wait is over leaves no deadline when it ends`() {
    addStored(Item(1))
    #expect(take() == 1)
    #expect(retry(1)?.state == .queued(tries: 1))
    #expect(take(at: 1) == 1)
    queue.release(Item(1).id)
    #expect(queue.deadline == nil)
  }

  @Test mutating func `an item that the user retries is sent without waiting`() {
    addStored(Item(1))
    #expect(take() == 1)
    #expect(retry(1)?.state == .queued(tries: 1))
    #expect(queue.fail(Item(1).id, "no") != nil)
    #expect(queue.retry(Item(1).id) == Item(1))
    #expect(take() == 1)
  }

  @Test mutating func `an attempt that names no credentials counts as using the first ones`() {
    addStored(Item(1))
    let first = queue.take(at: Self.start, timeout: .seconds(10))
    #expect(first == Item(1))
    queue.waitForCredentials(Item(1).id, newerThan: 0)
    #expect(take() == nil)
    queue.credentialsRenewed()
    #expect(take() == 1)
  }

  @Test mutating func `a failed item does not block the items that follow it`() {
    addStored(Item(1), Item(2))
    #expect(queue.fail(Item(1).id, "no")?.state == .failed(reason: "no"))
    #expect(take() == 2)
  }

  @Test(arguments: [(999, 1_000), (1_000, 1_000), (1_001, 1_001)])
  mutating func `the server's retry-after lengthens the wait`(retryAfter: Int, wait: Int) {
    addStored(Item(1))
    #expect(take() == 1)
    _ = retry(1, retryAfter: .milliseconds(retryAfter))
    #expect(queue.deadline == .zero.advanced(by: .milliseconds(wait)))
    queue.retryNow()
    #expect(take() == 1)
  }

  @Test mutating func `an attempt times out at its deadline, and the next one has a new number`() {
    addStored(Item(1))
    #expect(take() == 1)
    #expect(queue.deadline == .zero.advanced(by: .seconds(10)))
    #expect(queue.expired(at: .zero.advanced(by: .milliseconds(9_999))) == nil)
    #expect(queue.expired(at: .zero.advanced(by: .seconds(10))) == Item(1).id)
    #expect(retry(1, isUnsure: true, at: 10)?.state == .queued(tries: 1))
    #expect(queue.mayHaveArrived(Item(1).id))
    #expect(queue.sending(Item(1).id) == nil)
    #expect(take(at: 11) == 1)
    #expect(queue.sending(Item(1).id)?.number == TryID(2))
  }

  @Test mutating func `the attempt after an abandoned one has a new number`() {
    addStored(Item(1), Item(2, "b"))
    #expect([take(), take()] == [1, 2])
    #expect(queue.sending(Item(1).id)?.number == TryID(1))
    #expect(queue.sending(Item(2).id)?.number == TryID(2))
    queue.abandon()
    #expect(take() == 1)
    #expect(queue.sending(Item(1).id)?.number == TryID(3))
  }

  @Test mutating func `abandoned attempts are unsure until their outcome is known`() {
    addStored(Item(1), Item(2, "b"))
    #expect([take(), take()] == [1, 2])
    queue.abandon()
    #expect(queue.unsure == [Item(1).id, Item(2).id])
    #expect(queue.clearUnsure([Item(2).id, Item(3).id]) == [Item(2).id])
    #expect(queue.unsure == [Item(1).id])
    #expect(queue.sending(Item(1).id) == nil)
    #expect(take() == 1)
  }

  @Test
  mutating func `restored items of an earlier run count as stored and unsure, and come first`() {
    addStored(Item(2))
    queue.restore([Item(1), Item(2)])
    #expect(queue.items == [Item(1), Item(2)])
    #expect(queue.unsure == [Item(1).id, Item(2).id])
    #expect(take() == 1)
  }

  @Test(arguments: [(1 as UInt64, true), (2, false)])
  mutating func `refused credentials stop all attempts unless newer ones are present`(
    present: UInt64, stops: Bool
  ) {
    addStored(Item(1), Item(2, "b"))
    #expect(take(credentials: 1) == 1)
    queue.waitForCredentials(Item(1).id, newerThan: present)
    #expect(queue.awaitsCredentials == stops)
    #expect(take() == (stops ? nil : 1))
    queue.credentialsRenewed()
    #expect(take() == (stops ? 1 : 2))
  }
}
