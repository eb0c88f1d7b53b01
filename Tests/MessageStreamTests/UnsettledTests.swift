import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the bounds of what is remembered while a request is open.
struct UnsettledTests {
  /// Returns an edit of a message, as the event at an offset.
  private static func edit(_ number: UInt64, at offset: UInt64, _ text: String = "e") -> ShopMessage
  {
    var edit = Harness.message(number, text: text)
    (edit.isEdited, edit.changed) = (true, Harness.at(offset))
    edit.updatedAt = edit.createdAt.advanced(by: .seconds(Int64(offset)))
    return edit
  }

  private static func deletion(_ number: UInt64, at offset: UInt64) -> ShopDeletion {
    ShopDeletion(
      id: Harness.message(number).id, shop: Harness.message(1).shop,
      position: Harness.at(number), changed: Harness.at(offset))
  }

  @Test func `2,000 edits and deletions are remembered, or 1 MB of edits`() {
    var unsettled = Unsettled()
    for number in 1...UInt64(1_000) { unsettled.note(Self.edit(number, at: 5_000 + number)) }
    for number in 1_001...UInt64(1_999) {
      unsettled.note(DeletedMessage(Self.deletion(number, at: 5_000 + number)))
    }
    #expect(!unsettled.isFull)
    unsettled.note(DeletedMessage(Self.deletion(2_000, at: 7_000)))
    #expect(unsettled.isFull)
    unsettled = Unsettled()
    // Each takes 9,741 + 3 + 256 bytes.
    let text = String(repeating: "x", count: 9_741)
    for number in 1...UInt64(99) { unsettled.note(Self.edit(number, at: 100 + number, text)) }
    #expect(!unsettled.isFull)
    unsettled.note(Self.edit(100, at: 200, text))
    #expect(unsettled.isFull)
    unsettled.note(DeletedMessage(Self.deletion(100, at: 201)))
    #expect(!unsettled.isFull)
    var check = InvariantCheck(.thorough)
    unsettled.check(&check)
    #expect(check.broken == [])
  }

  /// Returns a harness with the messages 6 to 9 whose reader waits for older ones of the server.
  private static func reading() -> Harness {
    var harness = Harness.connected(at: 5) { $0.wantsEvents = true }
    for number in UInt64(6)...9 { harness.receive(Harness.message(number)) }
    harness.give(.loadOlder)
    harness.give(.older([]))
    return harness
  }

  @Test(arguments: [1_999, 2_000, 2_001])
  func `an event beyond the limit is fetched`(count: UInt64) throws {
    var harness = Self.reading()
    let page = try #require(harness.fetches.last)
    #expect(page.query == .before(Harness.at(6), limit: 50))
    let attempt = try #require(harness.model.link.currentAttempt)
    for offset in 1...count {
      let deletion = Self.deletion(10_000 + offset, at: 9 + offset)
      harness.model.unsettled.note(DeletedMessage(deletion))
      if offset < count { continue }
      harness.model.recovery.cursor.position = Harness.at(8 + count)
      harness.give(.frame(attempt, .edited(Self.edit(9, at: 9 + count))))
    }
    let isTaken = count < 2_000
    #expect((harness.commits.last?.edits == [Self.edit(9, at: 9 + count)]) == isTaken)
    harness.give(.fetched(page.id, Harness.page([], head: 9)))
    harness.give(.older([]))
    #expect(harness.model.unsettled.isEmpty)
    #expect(
      harness.fetches.last?.query
        == (isTaken ? page.query : .changes(after: Harness.at(8 + count), limit: 100)))
  }

  /// Returns a page of edits of messages before the cursor.
  private static func page(_ offsets: ClosedRange<UInt64>) -> Page {
    Page(
      messages: offsets.map { Self.edit(1, at: $0) }.map { edit in
        var edit = edit
        edit.id = UUID128(high: 8, low: edit.changed?.offset ?? 0)
        return edit
      }, hasNext: true, head: Harness.at(9_000), through: Harness.at(offsets.upperBound))
  }

  @Test func `the edits of pages are remembered only while an older answer may come`() {
    var harness = Harness.connected(at: 9) { $0.wantsEvents = true }
    harness.oversize()
    harness.answer(Self.page(10...109))
    #expect(harness.model.unsettled.isEmpty && harness.model.recovery.run != nil)
    harness.send("mine")
    harness.answer(Self.page(110...209))
    #expect(harness.model.unsettled.count == 100)
    harness = Self.reading()
    harness.oversize()
    harness.answer(Self.page(10...109))
    #expect(harness.model.unsettled.count == 100)
  }

  @Test(arguments: [1_999, 2_000, 2_001])
  func `the reader's request ends when the edits of pages exceed the limit`(count: UInt64) {
    var harness = Self.reading()
    harness.oversize()
    harness.answer(Self.page(10...9 + count))
    #expect(harness.model.history.fetch != nil)
    harness.answer(Self.page(3_000...3_000))
    let goesOn = count < 2_000
    #expect((harness.model.history.fetch != nil) == goesOn)
    #expect(harness.histories.isEmpty == goesOn)
  }
}
