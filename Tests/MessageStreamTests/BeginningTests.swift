import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of the beginning of the history, of complete timelines, and of the end of fetching.
struct BeginningTests {
  @Test(arguments: [(4, 1), (3, 0)])
  func `a message older than all stored ones leaves a gap, unless memory may lack some`(
    memory: Int, gaps: Int
  ) {
    var harness = Harness { $0.memory = memory }
    let page = Harness.plainPage([102, 101, 100])
    harness.connect(page, head: nil)
    harness.answer(Page(messages: page.messages, hasNext: false))
    harness.answer(page)
    #expect(harness.model.gaps == [])
    #expect(harness.model.isWhole)
    harness.receive(Harness.message(99, isPlain: true))
    #expect(harness.model.gaps.map(\.before) == Array(repeating: page.messages[2].key, count: gaps))
  }

  private static func anew(_ numbers: ClosedRange<UInt64>, hasNext: Bool, recovered: Bool) -> Page {
    let messages = numbers.reversed().map { number in
      var message = Harness.message(number)
      message.position = ShopPosition(epoch: "new", offset: number)
      return message
    }
    return Page(
      messages: messages, hasNext: hasNext, head: ShopPosition(epoch: "new", offset: 150),
      recovered: recovered)
  }

  @Test func `fetches older messages by page number when the log began anew`() {
    var harness = Harness()
    harness.connect(Harness.page(101...150, head: 150, hasNext: true), head: Harness.at(150))
    harness.give(.loadOlder)
    harness.give(.older([]))
    #expect(harness.fetches.last?.query == .before(Harness.at(101), limit: 50))
    harness.answer(Self.anew(101...150, hasNext: false, recovered: false))
    #expect(harness.fetches.last?.query == .page(number: 1, limit: 50))
    harness.answer(Self.anew(101...150, hasNext: true, recovered: true))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
    let older = Self.anew(51...100, hasNext: true, recovered: true)
    harness.answer(older)
    harness.give(.older(older.messages.reversed()))
    #expect(harness.histories == [.history(hasMore: true)])
    #expect(harness.texts == (101...150).map { "m\($0)" } + (51...100).map { "m\($0)" })
  }

  @Test(arguments: [(UInt64(1), 0), (2, 1)])
  func `fetches nothing before the first offset of a log`(first: UInt64, count: Int) {
    var harness = Harness()
    harness.connect(Harness.page(first...50, head: 50, hasNext: true), head: Harness.at(50))
    harness.give(.loadOlder)
    let asked = harness.fetches.count
    harness.give(.older([]))
    #expect(harness.fetches.count == asked + count)
    #expect(harness.histories == (count == 0 ? [.history(hasMore: false)] : []))
  }

  /// The server's clock was set back before its second message, so the oldest message by time stamp
  /// is the third.
  @Test(arguments: [
    ([UInt64(1), 2, 3, 4], nil), ([2, 3, 4], Harness.at(2)), ([1, 3, 4], Harness.at(3)),
  ])
  func `does not fetch shown messages again if stamps do not rise with positions`(
    stored: [UInt64], asked: ShopPosition?
  ) {
    let messages = stored.map { number in
      var message = Harness.message(number)
      if number < 3 { message.createdAt = Harness.wall.advanced(by: .seconds(100)) }
      return message
    }
    var harness = Harness()
    harness.connect(
      Page(messages: messages, hasNext: true, head: Harness.at(4)), head: Harness.at(4))
    harness.effects = []
    harness.give(.loadOlder)
    harness.give(.older([]))
    #expect(
      harness.fetches.map(\.query) == [asked].compactMap(\.self).map { .before($0, limit: 50) })
    #expect(harness.histories == (asked == nil ? [.history(hasMore: false)] : []))
  }

  @Test func `a head of another epoch never equals the cursor`() throws {
    var harness = Harness(cursor: ShopCursor(position: Harness.at(5), wholeAt: Harness.wall))
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: ShopPosition(epoch: "new", offset: 5)))
    #expect(harness.fetches.last?.query == .after(Harness.at(5), limit: 100))
    #expect(!harness.model.isWhole)
  }

  @Test func `reports older messages to a reader that was told there were none`() {
    var harness = Harness()
    harness.connect(Harness.nothing, head: nil)
    harness.answer(Harness.nothing)
    #expect(harness.histories == [])
    let messages = (1...3).map { Harness.message($0, isPlain: true) }
    harness.give(.refresh)
    harness.answer(Page(messages: messages, hasNext: true))
    #expect(harness.histories == [.history(hasMore: true)])
  }

  @Test func `a head equal to the cursor makes the timeline whole, whatever failed before`() {
    var harness = Harness.connected(at: 5)
    harness.give(.lifecycle(.background), at: Harness.wall)
    harness.give(.lifecycle(.foreground), at: Harness.wall)
    let asked = harness.fetches.last?.id ?? FetchID(0)
    harness.give(.fetchFailed(asked, .http(status: 500, retryAfter: nil, detail: "")))
    #expect(!harness.model.isWhole)
    if let attempt = harness.model.link.currentAttempt {
      harness.give(.opened(attempt, head: Harness.at(5)))
    }
    #expect(harness.model.isWhole)
    #expect(harness.fetches.count == 1)
  }

  @Test func `a catch-up fetches no further page once the link has ended`() throws {
    var harness = Harness.connected(at: 5, head: 300)
    let asked = harness.fetches.count
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.lost(attempt, .closed(code: 4403, reason: "")))
    harness.answer(Harness.page(6...105, head: 300, hasNext: true))
    #expect(harness.fetches.count == asked)
    #expect(harness.model.deadline == nil)
  }

  @Test func `an answer after the end of the link causes no fetch`() throws {
    var harness = Harness.connected(at: 5)
    let asked = harness.fetches.count
    harness.send("mine")
    let entry = try #require(harness.posts.last)
    harness.give(
      .lost(try #require(harness.model.link.currentAttempt), .closed(code: 4403, reason: "")))
    harness.give(.posted(entry.id, Harness.message(9, text: "mine")))
    #expect(harness.texts == ["mine"])
    #expect(harness.fetches.count == asked)
    #expect(harness.model.deadline == nil)
  }

  @Test(arguments: [(UInt64(380), 0), (379, 1)])
  func `with full memory, a message stamped below the overlap leaves a gap`(
    number: UInt64, gaps: Int
  ) {
    var harness = Harness { $0.memory = 3 }
    let page = Harness.plainPage([500, 499, 498])
    harness.connect(page, head: nil)
    harness.answer(Page(messages: page.messages, hasNext: false))
    harness.answer(page)
    harness.receive(Harness.message(number, isPlain: true))
    #expect(harness.model.gaps.map(\.before) == Array(repeating: page.messages[2].key, count: gaps))
  }

  @Test func `answers a request for older messages when the first page shows that there are none`()
    throws
  {
    var harness = Harness()
    let failed = try #require(harness.fetches.last?.id)
    harness.give(.fetchFailed(failed, .http(status: 503, retryAfter: nil, detail: "")))
    harness.give(.opened(try #require(harness.model.link.currentAttempt), head: nil))
    harness.receive(Harness.message(5, isPlain: true))
    harness.give(.loadOlder)
    harness.answer(Page(messages: [Harness.message(5, isPlain: true)], hasNext: false))
    #expect(harness.histories == [])
    harness.give(.older([]))
    #expect(harness.histories == [.history(hasMore: false)])
  }
}
