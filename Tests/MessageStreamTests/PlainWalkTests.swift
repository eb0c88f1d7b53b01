import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of a catch-up without positions. It starts at the newest page and continues to older
/// pages.
struct PlainWalkTests {
  private static func plain(_ number: UInt64) -> ShopMessage {
    Harness.message(number, isPlain: true)
  }

  /// Returns a harness that received these messages and then fetches messages that it may have
  /// missed.
  private static func fetching(after numbers: [UInt64]) -> Harness {
    var harness = Harness.plain()
    for number in numbers { harness.receive(plain(number)) }
    harness.oversize()
    return harness
  }

  @Test func `skips pages that lack messages known to be newer`() {
    var harness = Self.fetching(after: [3000])
    harness.answer(Harness.nothing)
    for _ in 1...3 { harness.answer(Harness.plainPage([2002, 2001])) }
    #expect(harness.fetches.last?.query == .page(number: 4, limit: 50))
  }

  @Test func `messages from pages since a time are no repetition in the newest pages`() {
    var harness = Self.fetching(after: [1000])
    for hasNext in [false, true, true] {
      harness.answer(Harness.plainPage([2002, 2001], hasNext: hasNext))
    }
    #expect(harness.fetches.last?.query == .page(number: 3, limit: 50))
  }

  @Test func `a message received during the fetch neither ends the walk nor leaves a gap`() {
    var harness = Self.fetching(after: [1000, 3000])
    harness.receive(Self.plain(2500))
    harness.answer(Harness.nothing)
    harness.answer(Harness.plainPage([3001, 2500]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
    #expect(harness.model.gaps == [])
  }

  @Test func `a message stored beyond a hole of an earlier run does not end the walk`() {
    let time = Self.plain(1000).createdAt
    var harness = Harness.launched(
      with: TimelineSnapshot(
        messages: [1000, 2000].map { Self.plain($0) },
        cursor: ShopCursor(time: time, wholeAt: Harness.wall)))
    harness.answer(Harness.nothing)
    harness.answer(Harness.plainPage([2001, 2000, 1999]))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
  }

  @Test func `a message received during a run that another follows stays unplaced until that ends`()
  {
    var harness = Self.fetching(after: [])
    harness.oversize()
    harness.receive(Self.plain(5))
    for _ in 1...2 { harness.answer(Harness.nothing) }
    #expect(harness.model.recovery.unplaced == [Harness.message(5).id])
    for _ in 1...2 { harness.answer(Harness.nothing) }
    #expect(harness.model.recovery.unplaced == [])
  }

  @Test func `older pages do not move the time of the newest back`() {
    var harness = Self.fetching(after: [3000])
    for _ in 1...2 { harness.answer(Harness.plainPage([2900], hasNext: false)) }
    #expect(harness.model.recovery.cursor.time == Self.plain(3000).createdAt)
  }

  @Test func `an older message of the socket does not move the time of the newest back`() {
    var harness = Harness.plain()
    for number in [UInt64(3000), 2000] { harness.receive(Self.plain(number)) }
    #expect(harness.model.recovery.cursor.time == Self.plain(3000).createdAt)
  }

  @Test func `a message received before the socket opened stays unplaced and moves no time`() {
    var harness = Harness(cursor: ShopCursor(time: Harness.wall, wholeAt: Harness.wall))
    for _ in 1...2 { harness.answer(Harness.nothing) }
    harness.receive(Self.plain(5))
    #expect(harness.model.recovery.cursor.time == Harness.wall)
    #expect(harness.model.recovery.unplaced == [Harness.message(5).id])
  }

  @Test func `fetches as many newest pages as memory may hold, but at least one`() {
    var harness = Harness(cursor: ShopCursor(time: Harness.wall, wholeAt: Harness.wall)) {
      settings in
      settings.memory = 10
      settings.catchUpPage = 20
    }
    harness.answer(Harness.nothing)
    harness.answer(Harness.plainPage([2002, 2001]))
    #expect(harness.fetches.count == 2)
    #expect(harness.fetches.last?.query == .page(number: 1, limit: 50))
  }

  @Test func `a search for a message is not repeated at once without a result`() {
    var harness = Harness(
      cursor: ShopCursor(time: Harness.wall, wholeAt: Harness.wall), user: "me",
      outbox: [Harness.entry("mine")])
    harness.answer(Harness.plainPage([]))
    #expect(harness.fetches.count == 1)
  }

  @Test func `a server with positions is not searched for a message that may have arrived`() {
    var harness = Harness(outbox: [Harness.entry("mine")])
    harness.answer(Harness.page(51...100, head: 100, hasNext: true))
    #expect(harness.fetches.count == 1)
  }

  @Test func `does not show messages beyond the first screen that the search fetched`() {
    var harness = Harness(outbox: [Harness.entry("mine")])
    harness.answer(Harness.plainPage((51...100).reversed()))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
    harness.answer(Harness.plainPage((1...50).reversed(), hasNext: false))
    #expect(harness.texts == (51...100).map { "m\($0)" })
  }

  @Test(arguments: [true, false])
  func `no gap opens below the beginning or at the oldest message itself`(hasNext: Bool) {
    var harness = Harness()
    let screen = Harness.plainPage([102, 101, 100], hasNext: hasNext)
    harness.connect(screen, head: nil)
    for _ in 1...2 { harness.answer(Harness.plainPage([102, 101, 100], hasNext: false)) }
    harness.receive(Self.plain(hasNext ? 100 : 99))
    #expect(harness.model.gaps == [])
  }
}
