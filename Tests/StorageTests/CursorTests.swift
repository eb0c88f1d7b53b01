import HoldfastCore
import HoldfastMessageData
import Testing

/// Tests for `ShopCursor`, which marks the end of a timeline's known range.
@Suite struct CursorTests {
  @Test(arguments: [
    (ShopCursor(), false), (ShopCursor(position: ShopPosition(epoch: "e", offset: 0)), true),
    (ShopCursor(time: Sample.time), true), (ShopCursor(wholeAt: Sample.time), true),
  ])
  func `a cursor with any value is known`(cursor: ShopCursor, isKnown: Bool) {
    #expect(cursor.isKnown == isKnown)
  }
}
