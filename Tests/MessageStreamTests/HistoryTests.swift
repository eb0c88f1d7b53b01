import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the pages that deliver messages older than the screen, and of their end.
struct HistoryTests {
  /// Returns a harness that shows messages 151 to 200 without positions, has the given counts, and
  /// requests older messages.
  private static func asking(
    shown: Int = 50, excess: Int = 0, change: (inout StreamSettings) -> Void = { _ in }
  ) -> Hand {
    var hand = Hand(change: change)
    hand.connect(Hand.plainPage((151...200).reversed()), head: nil)
    for _ in 1...2 { hand.answer(Hand.nothing) }
    hand.model.history.shown = shown
    hand.model.history.excess = excess
    hand.give(.loadOlder)
    hand.give(.older([]))
    return hand
  }

  private static func number(_ hand: Hand) -> Int? {
    guard case .page(let number, _) = hand.fetches.last?.query else { return nil }
    return number
  }

  @Test func `corrects a count that was too high`() {
    #expect(Self.number(Self.asking(shown: 150)) == 3)
    #expect(Self.number(Self.asking(shown: 150, excess: 50)) == 2)
  }

  private static let pages: [(Int, [UInt64], Int)] = [
    (250, [152, 151, 150], 48), (200, (151...200).reversed(), 0),
  ]

  @Test(arguments: pages)
  func `a page with the oldest shown message gives the error of the count`(
    shown: Int, numbers: [UInt64], excess: Int
  ) {
    var hand = Self.asking(shown: shown)
    hand.answer(Hand.plainPage(numbers))
    #expect(hand.model.history.excess == excess)
  }

  @Test func `a walk ends at its page limit, which is not the beginning`() {
    var hand = Self.asking { $0.catchUpPages = 1 }
    let asked = hand.fetches.count
    hand.answer(Hand.plainPage([202, 201]))
    #expect(hand.fetches.count == asked)
    hand.give(.older([]))
    #expect(hand.histories == [.history(hasMore: true)])
  }

  @Test func `skips pages that lack messages known to be newer`() {
    var hand = Self.asking()
    for _ in 1...3 { hand.answer(Hand.plainPage([190, 189])) }
    #expect(Self.number(hand) == 4)
  }

  @Test func `repeated pages end the walk, also on the last page`() {
    var hand = Self.asking(shown: 250)
    for hasNext in [true, true, false] {
      hand.answer(Hand.plainPage([200, 199], hasNext: hasNext))
    }
    #expect(Self.number(hand) == 7)
  }

  @Test func `the walk starts again from the newest page`() {
    var hand = Self.asking(shown: 250)
    for hasNext in [false, true, true] {
      hand.answer(Hand.plainPage([200, 199], hasNext: hasNext))
    }
    #expect(Self.number(hand) == 3)
  }

  @Test func `the last page ends the walk, and nothing is older`() {
    var hand = Self.asking()
    let asked = hand.fetches.count
    hand.answer(Hand.plainPage([200, 199], hasNext: false))
    #expect(hand.fetches.count == asked)
    hand.give(.older([]))
    #expect(hand.histories == [.history(hasMore: false)])
  }

  @Test func `a page behind a deleted message is accepted`() {
    var hand = Self.asking()
    hand.answer(Hand.plainPage([200, 199]))
    hand.answer(Hand.plainPage([150, 149]))
    #expect(Self.number(hand) == 2)
  }

  @Test(arguments: [(UInt64(1), false), (2, true)])
  func `nothing is older than the first offset`(first: UInt64, hasOlder: Bool) {
    var hand = Hand()
    hand.answer(Hand.page(first...50, head: 50, hasNext: true))
    #expect(hand.model.hasOlder == hasOlder)
  }

  /// Returns a harness that shows messages with positions from 101 and requests older ones.
  private static func placed() -> Hand {
    var hand = Hand()
    hand.connect(Hand.page(101...150, head: 150, hasNext: true), head: Hand.at(150))
    hand.give(.loadOlder)
    return hand
  }

  @Test func `does not show messages again that are on the screen`() {
    var hand = Self.placed()
    hand.give(.older([Hand.message(100), Hand.message(101)]))
    #expect(hand.texts == (101...150).map { "m\($0)" } + ["m100"])
  }

  @Test func `drops a page that arrives while the store is full, and reports it`() {
    var hand = Self.placed()
    hand.give(.older([]))
    hand.keepsPromptly = false
    hand.hear(Hand.message(151))
    hand.model.commits.waiting.add((UInt64(1001)...3000).map { Hand.message($0) }, via: .catchUp)
    hand.answer(Hand.page(51...100, head: 151, hasNext: true))
    #expect(hand.histories == [.history(hasMore: true)])
    #expect(hand.model.unstoredCount == 2001)
  }

  @Test func `refreshes credentials again when the page after an accepted one is refused`()
    throws
  {
    var hand = Self.placed()
    hand.give(.older([]))
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), Hand.refused))
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.give(.loadOlder)
    hand.give(.older([]))
    hand.answer(Hand.page(51...100, head: 150, hasNext: true))
    hand.give(.older((UInt64(51)...100).map { Hand.message($0) }))
    hand.give(.loadOlder)
    hand.give(.older([]))
    hand.effects = []
    hand.give(.fetchFailed(FetchID(hand.model.requests.last), Hand.refused))
    #expect(hand.effects.contains(.refreshCredentials))
    #expect(!hand.updates.contains(.notice(.signIn)))
  }

  @Test func `skips a page that cannot be read`() {
    var hand = Self.asking(shown: 150)
    hand.answer(Page(messages: [], hasNext: true, rejected: 50))
    #expect(Self.number(hand) == 4)
  }

  @Test func `a screen that received something older is not at the beginning`() {
    var hand = Self.placed()
    hand.give(.older([]))
    hand.answer(Hand.page(51...100, head: 150))
    hand.give(.older([]))
    #expect(hand.histories == [.history(hasMore: true)])
  }

  @Test func `an empty page with a successor is not the beginning`() {
    var hand = Self.placed()
    hand.give(.older([]))
    hand.answer(Hand.page([], head: 150, hasNext: true))
    hand.give(.older([]))
    #expect(hand.histories == [.history(hasMore: true)])
  }

  @Test func `messages may precede the first offset of a log other than the current one`() {
    let cursor = Cursor(position: Position(epoch: "f", offset: 5), wholeAt: Hand.wall)
    let messages = (UInt64(1)...3).map { Hand.message($0) }
    var hand = Hand.launched(with: TimelineSnapshot(messages: messages, cursor: cursor))
    hand.give(.loadOlder)
    hand.give(.older([]))
    #expect(hand.fetches.map(\.query) == [.before(Hand.at(1), limit: 50)])
  }

  @Test func `a timeline has the keys of its first and its last message`() {
    var timeline = ShopTimeline(limit: 10)
    for number in UInt64(1)...3 { timeline.insert(Hand.message(number)) }
    #expect(timeline.oldest == Hand.message(1).key)
    #expect(timeline.newest == Hand.message(3).key)
  }

  @Test func `an edit that changes a stamp moves the message to its place`() {
    var timeline = ShopTimeline(limit: 10)
    for number in UInt64(1)...3 { timeline.insert(Hand.message(number)) }
    var edited = Hand.message(1)
    edited.createdAt = Hand.message(5).createdAt
    timeline.replace(edited)
    #expect(timeline.messages.map(\.text) == ["m2", "m3", "m1"])
    var check = InvariantCheck(.thorough)
    timeline.check(&check)
    #expect(check.broken == [])
  }
}
