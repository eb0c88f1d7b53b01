import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of a catch-up without positions, which leads down from the newest page.
struct PlainWalkTests {
  private static func plain(_ number: UInt64) -> Message { Hand.message(number, isPlain: true) }

  /// Returns a harness that received these messages and fetches those it may have missed.
  private static func fetching(after numbers: [UInt64]) -> Hand {
    var hand = Hand.plain()
    for number in numbers { hand.hear(plain(number)) }
    hand.oversize()
    return hand
  }

  @Test func `skips pages that lack messages known to be newer`() {
    var hand = Self.fetching(after: [3000])
    hand.answer(Hand.nothing)
    for _ in 1...3 { hand.answer(Hand.plainPage([2002, 2001])) }
    #expect(hand.fetches.last?.query == .page(number: 4, limit: 50))
  }

  @Test func `messages from pages since a time are no repetition in the newest pages`() {
    var hand = Self.fetching(after: [1000])
    for hasNext in [false, true, true] {
      hand.answer(Hand.plainPage([2002, 2001], hasNext: hasNext))
    }
    #expect(hand.fetches.last?.query == .page(number: 3, limit: 50))
  }

  @Test func `a message received during the fetch neither ends the walk nor leaves a gap`() {
    var hand = Self.fetching(after: [1000, 3000])
    hand.hear(Self.plain(2500))
    hand.answer(Hand.nothing)
    hand.answer(Hand.plainPage([3001, 2500]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
    #expect(hand.model.gaps == [])
  }

  @Test func `a message stored beyond a hole of an earlier run does not end the walk`() {
    let time = Self.plain(1000).createdAt
    var hand = Hand.launched(
      with: TimelineSnapshot(
        messages: [1000, 2000].map { Self.plain($0) },
        cursor: Cursor(time: time, wholeAt: Hand.wall)))
    hand.answer(Hand.nothing)
    hand.answer(Hand.plainPage([2001, 2000, 1999]))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
  }

  @Test func `a message received during a run that another follows stays unplaced until that ends`()
  {
    var hand = Self.fetching(after: [])
    hand.oversize()
    hand.hear(Self.plain(5))
    for _ in 1...2 { hand.answer(Hand.nothing) }
    #expect(hand.model.recovery.unplaced == [Hand.message(5).id])
    for _ in 1...2 { hand.answer(Hand.nothing) }
    #expect(hand.model.recovery.unplaced == [])
  }

  @Test func `older pages do not move the time of the newest back`() {
    var hand = Self.fetching(after: [3000])
    for _ in 1...2 { hand.answer(Hand.plainPage([2900], hasNext: false)) }
    #expect(hand.model.recovery.cursor.time == Self.plain(3000).createdAt)
  }

  @Test func `an older message of the socket does not move the time of the newest back`() {
    var hand = Hand.plain()
    for number in [UInt64(3000), 2000] { hand.hear(Self.plain(number)) }
    #expect(hand.model.recovery.cursor.time == Self.plain(3000).createdAt)
  }

  @Test func `a message received before the socket opened stays unplaced and moves no time`() {
    var hand = Hand(cursor: Cursor(time: Hand.wall, wholeAt: Hand.wall))
    for _ in 1...2 { hand.answer(Hand.nothing) }
    hand.hear(Self.plain(5))
    #expect(hand.model.recovery.cursor.time == Hand.wall)
    #expect(hand.model.recovery.unplaced == [Hand.message(5).id])
  }

  @Test func `fetches as many newest pages as memory may hold, but at least one`() {
    var hand = Hand(cursor: Cursor(time: Hand.wall, wholeAt: Hand.wall)) { settings in
      settings.memory = 10
      settings.catchUpPage = 20
    }
    hand.answer(Hand.nothing)
    hand.answer(Hand.plainPage([2002, 2001]))
    #expect(hand.fetches.count == 2)
    #expect(hand.fetches.last?.query == .page(number: 1, limit: 50))
  }

  @Test func `a search for a message is not repeated at once without a result`() {
    var hand = Hand(
      cursor: Cursor(time: Hand.wall, wholeAt: Hand.wall), user: "me",
      outbox: [Hand.entry("mine")])
    hand.answer(Hand.plainPage([]))
    #expect(hand.fetches.count == 1)
  }

  @Test func `a server with positions is not searched for a message that may have arrived`() {
    var hand = Hand(outbox: [Hand.entry("mine")])
    hand.answer(Hand.page(51...100, head: 100, hasNext: true))
    #expect(hand.fetches.count == 1)
  }

  @Test func `does not show messages beyond the first screen that the search fetched`() {
    var hand = Hand(outbox: [Hand.entry("mine")])
    hand.answer(Hand.plainPage((51...100).reversed()))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
    hand.answer(Hand.plainPage((1...50).reversed(), hasNext: false))
    #expect(hand.texts == (51...100).map { "m\($0)" })
  }

  @Test(arguments: [true, false])
  func `no gap opens below the beginning or at the oldest message itself`(hasNext: Bool) {
    var hand = Hand()
    let screen = Hand.plainPage([102, 101, 100], hasNext: hasNext)
    hand.connect(screen, head: nil)
    for _ in 1...2 { hand.answer(Hand.plainPage([102, 101, 100], hasNext: false)) }
    hand.hear(Self.plain(hasNext ? 100 : 99))
    #expect(hand.model.gaps == [])
  }
}
