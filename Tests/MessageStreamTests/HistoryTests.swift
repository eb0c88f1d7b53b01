import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the pages with messages older than the screen, and of the end of these pages.
struct HistoryTests {
  /// Returns a harness that shows messages 151 to 200 without positions, has the given counts, and
  /// requests older messages.
  private static func asking(
    shown: Int = 50, excess: Int = 0, change: (inout StreamSettings) -> Void = { _ in }
  ) -> Harness {
    var harness = Harness(change: change)
    harness.connect(Harness.plainPage((151...200).reversed()), head: nil)
    for _ in 1...2 { harness.answer(Harness.nothing) }
    harness.model.history.shown = shown
    harness.model.history.excess = excess
    harness.give(.loadOlder)
    harness.give(.older([]))
    return harness
  }

  private static func number(_ harness: Harness) -> Int? {
    guard case .page(let number, _) = harness.fetches.last?.query else { return nil }
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
    var harness = Self.asking(shown: shown)
    harness.answer(Harness.plainPage(numbers))
    #expect(harness.model.history.excess == excess)
  }

  @Test func `a walk ends at its page limit, which is not the beginning`() {
    var harness = Self.asking { $0.catchUpPages = 1 }
    let asked = harness.fetches.count
    harness.answer(Harness.plainPage([202, 201]))
    #expect(harness.fetches.count == asked)
    harness.give(.older([]))
    #expect(harness.histories == [.history(hasMore: true)])
  }

  @Test func `skips pages that lack messages known to be newer`() {
    var harness = Self.asking()
    for _ in 1...3 { harness.answer(Harness.plainPage([190, 189])) }
    #expect(Self.number(harness) == 4)
  }

  @Test func `repeated pages end the walk, also on the last page`() {
    var harness = Self.asking(shown: 250)
    for hasNext in [true, true, false] {
      harness.answer(Harness.plainPage([200, 199], hasNext: hasNext))
    }
    #expect(Self.number(harness) == 7)
  }

  @Test func `the walk starts again from the newest page`() {
    var harness = Self.asking(shown: 250)
    for hasNext in [false, true, true] {
      harness.answer(Harness.plainPage([200, 199], hasNext: hasNext))
    }
    #expect(Self.number(harness) == 3)
  }

  @Test func `the last page ends the walk, and nothing is older`() {
    var harness = Self.asking()
    let asked = harness.fetches.count
    harness.answer(Harness.plainPage([200, 199], hasNext: false))
    #expect(harness.fetches.count == asked)
    harness.give(.older([]))
    #expect(harness.histories == [.history(hasMore: false)])
  }

  @Test func `a page behind a deleted message is accepted`() {
    var harness = Self.asking()
    harness.answer(Harness.plainPage([200, 199]))
    harness.answer(Harness.plainPage([150, 149]))
    #expect(Self.number(harness) == 2)
  }

  @Test(arguments: [(UInt64(1), false), (2, true)])
  func `nothing is older than the first offset`(first: UInt64, hasOlder: Bool) {
    var harness = Harness()
    harness.answer(Harness.page(first...50, head: 50, hasNext: true))
    #expect(harness.model.hasOlder == hasOlder)
  }

  /// Returns a harness that shows messages with positions from 101 on and requests older messages.
  private static func readingOlder() -> Harness {
    var harness = Harness()
    harness.connect(Harness.page(101...150, head: 150, hasNext: true), head: Harness.at(150))
    harness.give(.loadOlder)
    return harness
  }

  @Test func `does not show messages again that are on the screen`() {
    var harness = Self.readingOlder()
    harness.give(.older([Harness.message(100), Harness.message(101)]))
    #expect(harness.texts == (101...150).map { "m\($0)" } + ["m100"])
  }

  @Test func `drops a page that arrives while the store is full, and reports it`() {
    var harness = Self.readingOlder()
    harness.give(.older([]))
    harness.storesPromptly = false
    harness.receive(Harness.message(151))
    harness.model.commits.waiting.add(
      (UInt64(1001)...3000).map { Harness.message($0) }, via: .catchUp)
    harness.answer(Harness.page(51...100, head: 151, hasNext: true))
    #expect(harness.histories == [.history(hasMore: true)])
    #expect(harness.model.unstoredCount == 2001)
  }

  @Test func `refreshes credentials again when the page after an accepted one is refused`()
    throws
  {
    var harness = Self.readingOlder()
    harness.give(.older([]))
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), Harness.refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.loadOlder)
    harness.give(.older([]))
    harness.answer(Harness.page(51...100, head: 150, hasNext: true))
    harness.give(.older((UInt64(51)...100).map { Harness.message($0) }))
    harness.give(.loadOlder)
    harness.give(.older([]))
    harness.effects = []
    harness.give(.fetchFailed(FetchID(harness.model.requests.last), Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
    #expect(!harness.updates.contains(.notice(.signIn)))
  }

  @Test func `skips a page that cannot be read`() {
    var harness = Self.asking(shown: 150)
    harness.answer(Page(messages: [], hasNext: true, rejected: 50))
    #expect(Self.number(harness) == 4)
  }

  @Test func `a screen that received something older is not at the beginning`() {
    var harness = Self.readingOlder()
    harness.give(.older([]))
    harness.answer(Harness.page(51...100, head: 150))
    harness.give(.older([]))
    #expect(harness.histories == [.history(hasMore: true)])
  }

  @Test func `an empty page with a successor is not the beginning`() {
    var harness = Self.readingOlder()
    harness.give(.older([]))
    harness.answer(Harness.page([], head: 150, hasNext: true))
    harness.give(.older([]))
    #expect(harness.histories == [.history(hasMore: true)])
  }

  @Test func `messages may precede the first offset of a log other than the current one`() {
    let cursor = ShopCursor(position: ShopPosition(epoch: "f", offset: 5), wholeAt: Harness.wall)
    let messages = (UInt64(1)...3).map { Harness.message($0) }
    var harness = Harness.launched(with: TimelineSnapshot(messages: messages, cursor: cursor))
    harness.give(.loadOlder)
    harness.give(.older([]))
    #expect(harness.fetches.map(\.query) == [.before(Harness.at(1), limit: 50)])
  }

  @Test func `a timeline has the keys of its first and its last message`() {
    var timeline = ShopTimeline(limit: 10)
    for number in UInt64(1)...3 { timeline.insert(Harness.message(number)) }
    #expect(timeline.oldest == Harness.message(1).key)
    #expect(timeline.newest == Harness.message(3).key)
  }

  @Test func `an edit that changes a stamp moves the message to its place`() {
    var timeline = ShopTimeline(limit: 10)
    for number in UInt64(1)...3 { timeline.insert(Harness.message(number)) }
    var edited = Harness.message(1)
    edited.createdAt = Harness.message(5).createdAt
    timeline.replace(edited)
    #expect(timeline.messages.map(\.text) == ["m2", "m3", "m1"])
    var check = InvariantCheck(.thorough)
    timeline.check(&check)
    #expect(check.broken == [])
  }
}
