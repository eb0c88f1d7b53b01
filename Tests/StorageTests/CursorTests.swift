import HoldfastCore
import HoldfastStorage
import HoldfastWire
import Testing

/// Tests for `Cursor`, which marks the end of a timeline's known range.
@Suite struct CursorTests {
  @Test(arguments: [
    (Cursor(), false), (Cursor(position: Position(epoch: "e", offset: 0)), true),
    (Cursor(time: Sample.time), true), (Cursor(wholeAt: Sample.time), true),
  ])
  func `a cursor with any value is known`(cursor: Cursor, isKnown: Bool) {
    #expect(cursor.isKnown == isKnown)
  }
}
