import HoldfastCore
import Testing

@Suite struct ProvenQueueTests {
  private var queue = ProvenQueue()

  @Test
  mutating func `a pong proves the messages that were handed over before its ping, and no others`()
  {
    let entries = (1...66).map { queue.add(.text("\($0)"), isStored: true) }
    #expect(queue.take() == entries.prefix(64).map(\.message))
    let ping = queue.ask(until: .zero) ?? 0
    #expect(queue.proven(by: ping) == Array(1...64))
    #expect(queue.entries == Array(entries.suffix(2)))
    #expect(queue.take() == entries.suffix(2).map(\.message))
  }

  @Test mutating func `only a message that could not be stored is dropped, which frees its bytes`()
  {
    let entry = queue.add(.text("kept"), isStored: true)
    let dropped = queue.add(.text("dropped"), isStored: false)
    queue.drop(dropped.id)
    queue.drop(entry.id)
    #expect(queue.entries == [entry])
    #expect(queue.bytes == 4)
  }
}
