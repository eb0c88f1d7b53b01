import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the newest page of a server without positions, fetched after a long absence of the
/// phone.
struct AbsenceTests {
  private static let stored = Harness.message(1000, isPlain: true)

  /// Returns a harness with one stored message. It is opened one day after its timeline was last
  /// complete.
  private static func back() -> Harness {
    let cursor = ShopCursor(
      time: stored.createdAt, wholeAt: Harness.wall.advanced(by: .seconds(-86_400)))
    var harness = Harness()
    harness.model = StreamModel(settings: StreamHarness.settings, seed: 1)
    harness.effects = []
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.open(at: Harness.wall))
    harness.give(.loaded(TimelineSnapshot(messages: [stored], cursor: cursor)))
    return harness
  }

  @Test func `the last page leaves no gap, even if it contains no stored message`() {
    for hasNext in [true, false] {
      var harness = Self.back()
      harness.answer(Harness.plainPage([2002, 2001], hasNext: hasNext))
      let edge = Harness.message(2001, isPlain: true).key
      let gap = ShopGap(after: Self.stored.key, before: edge)
      #expect(harness.model.gaps == (hasNext ? [gap] : []))
      #expect(harness.fetches.map(\.query) == [.page(number: 1, limit: 100)])
    }
  }

  @Test(arguments: [(UInt64(880), 1), (879, 2)])
  func `an entry over two minutes older than the newest stored one leads to the next page`(
    number: UInt64, pages: Int
  ) {
    var harness = Self.back()
    harness.answer(Harness.plainPage([1002, 1001, 1000, number], hasNext: true))
    let queries = (1...pages).map { PageQuery.page(number: $0, limit: 100) }
    #expect(harness.fetches.map(\.query) == queries)
    #expect(harness.model.gaps == [])
  }
}
