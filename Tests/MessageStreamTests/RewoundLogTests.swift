import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// Offsets that go back, or stand at the end of all numbers.
struct RewoundLogTests {
  @Test(arguments: [UInt64.max - 1, .max])
  func `the last offset of all is followed by nothing`(offset: UInt64) {
    var hand = Hand()
    hand.connect(Hand.page([offset], head: offset), head: Hand.at(offset))
    hand.hear(Hand.message(.max))
    hand.hear(Hand.message(.max))
    #expect(hand.model.recovery.cursor.position == Hand.at(.max))
    #expect(hand.model.recovery.ahead == [])
  }
}
