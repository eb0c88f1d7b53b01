import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the range that the pages of a catch-up cover, and of its end.
struct CatchUpEndTests {
  @Test(arguments: [0, 1])
  func `reports each entry that cannot be read`(count: Int) {
    var hand = Hand.connected(at: 3, head: 4)
    hand.answer(Hand.page([], head: 4, rejected: count))
    let told = hand.updates.filter { if case .notice(.rejected) = $0 { true } else { false } }
    #expect(told == Array(repeating: .notice(.rejected(count: 1)), count: count))
  }

  @Test
  func `a run that reached its page limit continues in the next, even if nothing could be read`() {
    var hand = Hand.connected(at: 3, head: 205) { $0.catchUpPages = 1 }
    hand.answer(Hand.page([], head: 205, hasNext: true, rejected: 100))
    #expect(hand.fetches.last?.query == .after(Hand.at(103), limit: 100))
  }

  @Test func `the newest page of a log that forgot the cursor ends the run at the head`() {
    var hand = Hand.connected(at: 50, head: 352)
    let asked = hand.fetches.count
    hand.answer(Hand.page(251...350, head: 352, recovered: false, hasNext: true, rejected: 2))
    #expect(hand.model.recovery.cursor.position == Hand.at(352))
    #expect(hand.fetches.count == asked)
    #expect(hand.model.isWhole)
  }

  @Test func `the last page covers everything up to the head, whatever could not be read`() {
    var hand = Hand.connected(at: 5, head: 10)
    hand.answer(Hand.page(6...8, head: 10, rejected: 2))
    #expect(hand.model.recovery.cursor.position == Hand.at(10))
  }

  @Test func `without a head the last page covers everything up to its last message`() {
    var hand = Hand.connected(at: 5, head: 8)
    hand.answer(Page(messages: (UInt64(6)...8).map { Hand.message($0) }, hasNext: false))
    #expect(hand.model.recovery.cursor.position == Hand.at(8))
  }

  @Test func `keeps a message received beyond the page of a log that forgot the cursor`() {
    var hand = Hand.connected(at: 5, head: 300)
    hand.hear(Hand.message(302))
    hand.answer(Hand.page(201...301, head: 301, recovered: false))
    #expect(hand.model.recovery.cursor.position == Hand.at(302))
  }

  @Test func `keeps a message received beyond such a page that ends at the cursor`() {
    var hand = Hand.connected(at: 5)
    hand.hear(Hand.message(7))
    hand.answer(Hand.page(1...5, head: 5, recovered: false))
    #expect(hand.model.recovery.ahead == [7])
    #expect(!hand.model.isWhole)
  }

  @Test func `drops a message received beyond the cursor if the log was rolled back below it`() {
    var hand = Hand.connected(at: 150, head: 100)
    hand.hear(Hand.message(152))
    hand.answer(Hand.page(51...100, head: 100, recovered: false))
    #expect(hand.model.recovery.cursor.position == Hand.at(100))
    #expect(hand.model.recovery.ahead == [])
    #expect(hand.model.isWhole)
  }

  @Test func `different messages at known positions leave a gap after a long absence`() {
    let kept = (UInt64(141)...150).map { Hand.message($0) }
    let cursor = Cursor(
      position: Hand.at(150), wholeAt: Hand.wall.advanced(by: .seconds(-86_400)))
    var hand = Hand.launched(with: TimelineSnapshot(messages: kept, cursor: cursor))
    let others = (UInt64(61)...160).map { Hand.other($0, "theirs") }
    hand.answer(Page(messages: others, hasNext: true, head: Hand.at(160)))
    #expect(hand.model.gaps.map(\.before) == [others[0].key])
  }

  @Test(arguments: [(UInt64(879), 1), (880, 2)])
  func `fetches pages since a time until one reaches an earlier message`(number: UInt64, pages: Int)
  {
    let time = Hand.message(1000).createdAt
    var hand = Hand(cursor: Cursor(time: time, wholeAt: Hand.wall))
    hand.answer(Hand.page([1001, number], head: 1001, hasNext: true))
    let since = time.advanced(by: .seconds(-120))
    let queries = (1...pages).map { PageQuery.since(since, page: $0, limit: 100) }
    #expect(hand.fetches.map(\.query) == queries)
    #expect(hand.model.gaps == [])
  }

  @Test func `fetches each page with the credentials valid at that time`() {
    var hand = Hand.connected(at: 5, head: 300)
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.answer(Hand.page(6...105, head: 300, hasNext: true))
    hand.effects = []
    hand.give(.fetchFailed(FetchID(hand.model.requests.last), Hand.refused))
    #expect(hand.effects.contains(.refreshCredentials))
  }

  @Test func `a catch-up that replaces a scheduled one is the only one`() {
    var hand = Hand.connected(at: 5)
    hand.effects = []
    hand.give(.reader(isBehind: true))
    hand.hear(Hand.message(6))
    hand.give(.refresh)
    hand.give(.reader(isBehind: false))
    hand.answer(Hand.page([6], head: 6))
    #expect(hand.fetches.count == 1)
    #expect(hand.model.isWhole)
  }

  @Test func `a link that ends by itself ends the catch-up`() throws {
    let policy = try LinkPolicy.messageStream.setting([("liveness.idle", "5s idle")])
    var hand = Hand.connected(at: 10, head: 20) { $0.policy = policy }
    #expect(hand.model.recovery.run != nil)
    hand.pass(6)
    #expect(hand.model.link.status.reason == .ended(.idle))
    #expect(hand.model.recovery.run == nil)
    #expect(hand.model.brokenInvariants(.thorough) == [])
  }
}
