import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the condition under which a stream reports a whole timeline.
struct WholeTests {
  @Test func `a stream is whole when its store has everything received`() {
    var hand = Hand.connected(at: 5)
    hand.keepsPromptly = false
    hand.hear(Hand.message(6))
    #expect(!hand.model.isWhole)
    hand.keepLast()
    #expect(hand.model.isWhole)
  }

  @Test func `a stream that only sends fetches no hole, and is not whole with one`() {
    var hand = Hand.connected(at: 5) { $0.sendsOnly = true }
    #expect(hand.model.isWhole)
    hand.hear(Hand.message(7))
    #expect(hand.fetches.isEmpty)
    #expect(!hand.model.isWhole)
    hand.hear(Hand.message(6))
    #expect(hand.model.isWhole)
  }

  @Test func `a log rolled back to its beginning is whole once the server was asked`() {
    var hand = Hand.connected(at: 0)
    for number in UInt64(1)...3 { hand.hear(Hand.message(number)) }
    #expect(hand.model.isWhole)
    hand.hear(Hand.other(1))
    #expect(hand.model.recovery.cursor.position == Hand.at(0))
    #expect(!hand.model.isWhole)
    hand.answer(Page(messages: [Hand.other(1)], hasNext: false, head: Hand.at(1)))
    #expect(hand.model.recovery.cursor.position == Hand.at(1))
    #expect(hand.model.isWhole)
  }

  @Test func `a closed stream stores the time up to which it was whole`() {
    var hand = Hand.connected(at: 5)
    hand.pass(60)
    hand.give(.close)
    let left = Hand.wall.advanced(by: .seconds(60))
    #expect(hand.commits.last?.cursor == Cursor(position: Hand.at(5), wholeAt: left))
  }

  @Test func `a stream that is about to ask again is not whole`() {
    var model = Hand.connected(at: 5).model
    #expect(model.isWhole)
    model.recovery.wait(until: .zero)
    #expect(!model.isWhole)
  }

  @Test(arguments: [true, false])
  func `the newest known message is stored, or on its way to the store`(isKept: Bool) {
    var hand = Hand.connected(at: 5)
    hand.keepsPromptly = isKept
    hand.hear(Hand.message(6))
    #expect(hand.model.newestKnown == Hand.message(6).key)
  }
}
