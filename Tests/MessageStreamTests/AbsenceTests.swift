import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the newest page of a server without positions, fetched after a long absence.
struct AbsenceTests {
  private static let kept = Hand.message(1000, isPlain: true)

  /// Returns a harness with one stored message, opened a day after its timeline was last whole.
  private static func back() -> Hand {
    let cursor = Cursor(
      time: kept.createdAt, wholeAt: Hand.wall.advanced(by: .seconds(-86_400)))
    var hand = Hand()
    hand.model = StreamModel(settings: StreamHarness.settings, seed: 1)
    hand.effects = []
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.give(.open(at: Hand.wall))
    hand.give(.loaded(TimelineSnapshot(messages: [kept], cursor: cursor)))
    return hand
  }

  @Test func `the last page leaves no gap, even if it contains no stored message`() {
    for hasNext in [true, false] {
      var hand = Self.back()
      hand.answer(Hand.plainPage([2002, 2001], hasNext: hasNext))
      let edge = Hand.message(2001, isPlain: true).key
      let gap = Gap(after: Self.kept.key, before: edge)
      #expect(hand.model.gaps == (hasNext ? [gap] : []))
      #expect(hand.fetches.map(\.query) == [.page(number: 1, limit: 100)])
    }
  }

  @Test(arguments: [(UInt64(880), 1), (879, 2)])
  func `an entry over two minutes older than the newest stored one leads to the next page`(
    number: UInt64, pages: Int
  ) {
    var hand = Self.back()
    hand.answer(Hand.plainPage([1002, 1001, 1000, number], hasNext: true))
    let queries = (1...pages).map { PageQuery.page(number: $0, limit: 100) }
    #expect(hand.fetches.map(\.query) == queries)
    #expect(hand.model.gaps == [])
  }
}
