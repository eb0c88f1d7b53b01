import HoldfastCore
import Testing

@Suite struct ProvenQueueTests {
  private var queue = ProvenQueue()

  @Test
  mutating func `a pong proves the messages that were handed over before its ping, and no others`()
  {
    let entries = (1...66).map { queue.add($0, .text("\($0)"), isStored: true) }
    #expect(queue.take() == Array(entries.prefix(64)))
    let ping = queue.ask(until: .zero) ?? 0
    #expect(queue.proven(by: ping) == Array(1...64))
    #expect(queue.entries == Array(entries.suffix(2)))
    #expect(queue.take() == Array(entries.suffix(2)))
  }

  @Test mutating func `only a message that could not be stored is dropped, which frees its bytes`()
  {
    let entry = queue.add(1, .text("kept"), isStored: true)
    let dropped = queue.add(2, .text("dropped"), isStored: false)
    queue.drop(dropped.id)
    queue.drop(entry.id)
    #expect(queue.entries == [entry])
    #expect(queue.bytes == 4)
  }

  @Test mutating func `numbers continue after the highest stored one, also after an overflow`() {
    queue.restore([OutboxMessage(id: 7, message: .text("old"))])
    #expect([6, 7, 8, 1_000].map(queue.isNext) == [false, false, true, true])
    _ = queue.add(9, .text("new"), isStored: true)
    #expect([9, 10].map(queue.isNext) == [false, true])
    queue.restore([OutboxMessage(id: .max, message: .text("last"))])
    #expect([.max, 0, 1].map(queue.isNext) == [false, true, true])
  }
}
