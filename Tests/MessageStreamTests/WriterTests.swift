import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// What waits for the store, and what an outbox keeps of its entries.
struct WriterTests {
  @Test func `a writer is full with 2,000 messages that wait`() {
    var writer = Writer()
    writer.add((UInt64(1)...1999).map { Hand.message($0) }, via: .live)
    #expect(!writer.isFull)
    writer.add([Hand.message(2000)], via: .live)
    #expect(writer.isFull)
  }

  /// Each takes 9,741 + 3 + 256 bytes.
  @Test func `a writer is full with 1 MB that waits, and empty once it is handed over`() {
    var writer = Writer()
    let text = String(repeating: "x", count: 9_741)
    writer.add((UInt64(1)...99).map { Hand.message($0, text: text) }, via: .live)
    #expect(!writer.isFull)
    writer.add([Hand.message(100, text: text)], via: .live)
    #expect(writer.isFull)
    var check = InvariantCheck(.thorough)
    writer.check(&check)
    #expect(check.broken == [])
    _ = writer.next(at: .zero)
    #expect(!writer.isFull)
  }

  @Test func `a writer with something that waits is not done`() {
    var writer = Writer()
    #expect(writer.isDone)
    writer.set(cursor: Cursor(time: Hand.wall))
    #expect(!writer.isDone)
  }

  @Test func `an answer to a change that was tried again since is late`() throws {
    var writer = Writer()
    writer.set(cursor: Cursor(time: Hand.wall))
    let first = writer.next(at: .zero)
    let refused = try #require(first).0
    _ = writer.refused(refused, at: .zero)
    let second = writer.next(at: Instant.zero.advanced(by: .seconds(1)))
    let again = try #require(second).0
    let late = writer.committed(refused)
    #expect(late == nil)
    let answer = writer.committed(again)
    #expect(answer?.change.cursor == Cursor(time: Hand.wall))
  }

  @Test func `what is known of the server at the first try bounds a message, whatever comes`() {
    let entry = Hand.entry("ok")
    var outbox = Outbox(limit: 10)
    outbox.restore([entry], after: Cursor(time: Hand.wall))
    let later = Cursor(time: Hand.wall.advanced(by: .seconds(1000)))
    let taken = outbox.take(at: .zero, timeout: .seconds(1), credentials: 0, after: later)
    #expect(taken == entry)
    #expect(outbox.floors == [entry.id: Hand.wall])
  }

  @Test func `in a shop that was whole and empty any stamp can be that of a first try`() {
    let entry = Hand.entry("ok")
    var outbox = Outbox(limit: 10)
    outbox.restore([entry], after: Cursor(wholeAt: Hand.wall))
    #expect(outbox.floors == [entry.id: Timestamp(nanoseconds: 0)])
  }

  @Test func `what is not on its way to the store has no later text there`() {
    var message = Hand.message(1)
    message.updatedAt = message.createdAt.advanced(by: .seconds(1))
    #expect(!Writer().isEdited(by: message))
  }

  @Test func `a message is kept back as long as the try that it may answer`() {
    let entry = Hand.entry("ok")
    let cursor = Cursor(time: Hand.wall)
    var outbox = Outbox(limit: 10)
    outbox.restore([entry], after: cursor)
    let taken = outbox.take(at: .zero, timeout: .seconds(1), credentials: 0, after: cursor)
    let isKept = outbox.keepBack(Hand.message(9), for: entry.id)
    let early = outbox.takeEcho()
    outbox.queue.release(entry.id)
    let late = outbox.takeEcho()
    #expect(taken == entry && isKept)
    #expect(early == nil)
    #expect(late == Hand.message(9))
  }
}
