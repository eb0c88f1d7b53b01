import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the data that an outbox stores about its entries, in addition to their attempts.
struct OutboxPartTests {
  @Test func `the newest stamp known at the first attempt bounds a message, whatever comes later`()
  {
    let entry = Harness.entry("ok")
    var outbox = Outbox(limit: 10)
    outbox.restore([entry], after: ShopCursor(time: Harness.wall))
    let later = ShopCursor(time: Harness.wall.advanced(by: .seconds(1000)))
    let taken = outbox.take(at: .zero, timeout: .seconds(1), credentials: 0, after: later)
    #expect(taken == entry)
    #expect(outbox.floors == [entry.id: Harness.wall])
  }

  @Test func `in a shop that was whole and empty, any stamp can be that of a first attempt`() {
    let entry = Harness.entry("ok")
    var outbox = Outbox(limit: 10)
    outbox.restore([entry], after: ShopCursor(wholeAt: Harness.wall))
    #expect(outbox.floors == [entry.id: Timestamp(nanoseconds: 0)])
  }

  @Test func `holds an echo back until the attempt it may answer has ended`() {
    let entry = Harness.entry("ok")
    let cursor = ShopCursor(time: Harness.wall)
    var outbox = Outbox(limit: 10)
    outbox.restore([entry], after: cursor)
    let taken = outbox.take(at: .zero, timeout: .seconds(1), credentials: 0, after: cursor)
    let isStored = outbox.keepBack(Harness.message(9), for: entry.id)
    let early = outbox.takeEcho()
    outbox.queue.release(entry.id)
    let late = outbox.takeEcho()
    #expect(taken == entry && isStored)
    #expect(early == nil)
    #expect(late == Harness.message(9))
  }
}
