import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of the beginning of history, of whole timelines, and of the end of fetching.
struct BeginningTests {
  @Test(arguments: [(4, 1), (3, 0)])
  func `a message older than all stored ones leaves a gap, unless memory may lack some`(
    memory: Int, gaps: Int
  ) {
    var hand = Hand { $0.memory = memory }
    let page = Hand.plainPage([102, 101, 100])
    hand.connect(page, head: nil)
    hand.answer(Page(messages: page.messages, hasNext: false))
    hand.answer(page)
    #expect(hand.model.gaps == [])
    #expect(hand.model.isWhole)
    hand.hear(Hand.message(99, isPlain: true))
    #expect(hand.model.gaps.map(\.before) == Array(repeating: page.messages[2].key, count: gaps))
  }

  private static func anew(_ numbers: ClosedRange<UInt64>, hasNext: Bool, recovered: Bool) -> Page {
    let messages = numbers.reversed().map { number in
      var message = Hand.message(number)
      message.position = Position(epoch: "new", offset: number)
      return message
    }
    return Page(
      messages: messages, hasNext: hasNext, head: Position(epoch: "new", offset: 150),
      recovered: recovered)
  }

  @Test func `fetches older messages by page number when the log began anew`() {
    var hand = Hand()
    hand.connect(Hand.page(101...150, head: 150, hasNext: true), head: Hand.at(150))
    hand.give(.loadOlder)
    hand.give(.older([]))
    #expect(hand.fetches.last?.query == .before(Hand.at(101), limit: 50))
    hand.answer(Self.anew(101...150, hasNext: false, recovered: false))
    #expect(hand.fetches.last?.query == .page(number: 1, limit: 50))
    hand.answer(Self.anew(101...150, hasNext: true, recovered: true))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
    let older = Self.anew(51...100, hasNext: true, recovered: true)
    hand.answer(older)
    hand.give(.older(older.messages.reversed()))
    #expect(hand.histories == [.history(hasMore: true)])
    #expect(hand.texts == (101...150).map { "m\($0)" } + (51...100).map { "m\($0)" })
  }

  @Test(arguments: [(UInt64(1), 0), (2, 1)])
  func `fetches nothing before the first offset of a log`(first: UInt64, count: Int) {
    var hand = Hand()
    hand.connect(Hand.page(first...50, head: 50, hasNext: true), head: Hand.at(50))
    hand.give(.loadOlder)
    let asked = hand.fetches.count
    hand.give(.older([]))
    #expect(hand.fetches.count == asked + count)
    #expect(hand.histories == (count == 0 ? [.history(hasMore: false)] : []))
  }

  /// The server's clock went back before its second message, so the oldest by stamp is the third.
  @Test(arguments: [
    ([UInt64(1), 2, 3, 4], nil), ([2, 3, 4], Hand.at(2)), ([1, 3, 4], Hand.at(3)),
  ])
  func `does not fetch shown messages again if stamps do not rise with positions`(
    kept: [UInt64], asked: Position?
  ) {
    let messages = kept.map { number in
      var message = Hand.message(number)
      if number < 3 { message.createdAt = Hand.wall.advanced(by: .seconds(100)) }
      return message
    }
    var hand = Hand()
    hand.connect(Page(messages: messages, hasNext: true, head: Hand.at(4)), head: Hand.at(4))
    hand.effects = []
    hand.give(.loadOlder)
    hand.give(.older([]))
    #expect(hand.fetches.map(\.query) == [asked].compactMap(\.self).map { .before($0, limit: 50) })
    #expect(hand.histories == (asked == nil ? [.history(hasMore: false)] : []))
  }

  @Test func `a head of another epoch never equals the cursor`() throws {
    var hand = Hand(cursor: Cursor(position: Hand.at(5), wholeAt: Hand.wall))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Position(epoch: "new", offset: 5)))
    #expect(hand.fetches.last?.query == .after(Hand.at(5), limit: 100))
    #expect(!hand.model.isWhole)
  }

  @Test func `reports older messages to a reader that was told there were none`() {
    var hand = Hand()
    hand.connect(Hand.nothing, head: nil)
    hand.answer(Hand.nothing)
    #expect(hand.histories == [])
    let messages = (1...3).map { Hand.message($0, isPlain: true) }
    hand.give(.refresh)
    hand.answer(Page(messages: messages, hasNext: true))
    #expect(hand.histories == [.history(hasMore: true)])
  }

  @Test func `a head equal to the cursor makes the timeline whole, whatever failed before`() {
    var hand = Hand.connected(at: 5)
    hand.give(.lifecycle(.background), at: Hand.wall)
    hand.give(.lifecycle(.foreground), at: Hand.wall)
    let asked = hand.fetches.last?.id ?? FetchID(0)
    hand.give(.fetchFailed(asked, .http(status: 500, retryAfter: nil, detail: "")))
    #expect(!hand.model.isWhole)
    if let attempt = hand.model.link.currentAttempt {
      hand.give(.opened(attempt, head: Hand.at(5)))
    }
    #expect(hand.model.isWhole)
    #expect(hand.fetches.count == 1)
  }

  @Test func `a catch-up fetches no further page once the link has ended`() throws {
    var hand = Hand.connected(at: 5, head: 300)
    let asked = hand.fetches.count
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.lost(attempt, .closed(code: 4403, reason: "")))
    hand.answer(Hand.page(6...105, head: 300, hasNext: true))
    #expect(hand.fetches.count == asked)
    #expect(hand.model.deadline == nil)
  }

  @Test func `an answer after the end of the link causes no fetch`() throws {
    var hand = Hand.connected(at: 5)
    let asked = hand.fetches.count
    hand.send("mine")
    let entry = try #require(hand.posts.last)
    hand.give(.lost(try #require(hand.model.link.currentAttempt), .closed(code: 4403, reason: "")))
    hand.give(.posted(entry.id, Hand.message(9, text: "mine")))
    #expect(hand.texts == ["mine"])
    #expect(hand.fetches.count == asked)
    #expect(hand.model.deadline == nil)
  }

  @Test(arguments: [(UInt64(380), 0), (379, 1)])
  func `with full memory, a message stamped below the overlap leaves a gap`(
    number: UInt64, gaps: Int
  ) {
    var hand = Hand { $0.memory = 3 }
    let page = Hand.plainPage([500, 499, 498])
    hand.connect(page, head: nil)
    hand.answer(Page(messages: page.messages, hasNext: false))
    hand.answer(page)
    hand.hear(Hand.message(number, isPlain: true))
    #expect(hand.model.gaps.map(\.before) == Array(repeating: page.messages[2].key, count: gaps))
  }

  @Test func `answers a request for older messages when the first page shows that there are none`()
    throws
  {
    var hand = Hand()
    let failed = try #require(hand.fetches.last?.id)
    hand.give(.fetchFailed(failed, .http(status: 503, retryAfter: nil, detail: "")))
    hand.give(.opened(try #require(hand.model.link.currentAttempt), head: nil))
    hand.hear(Hand.message(5, isPlain: true))
    hand.give(.loadOlder)
    hand.answer(Page(messages: [Hand.message(5, isPlain: true)], hasNext: false))
    #expect(hand.histories == [])
    hand.give(.older([]))
    #expect(hand.histories == [.history(hasMore: false)])
  }
}
