import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of gaps in a timeline, and of the pages that fill them.
struct GapTests {
  /// Returns a harness whose store has messages and a gap before the last of them, and whose reader
  /// requests older messages.
  private static func filling(
    _ gap: Gap, in messages: [Message], page: Int = 50
  ) -> Hand {
    let newest = messages.last
    let cursor = Cursor(
      position: newest?.position, time: newest?.createdAt, wholeAt: Hand.wall)
    var settings = StreamHarness.settings
    settings.historyPage = page
    var hand = Hand()
    hand.model = StreamModel(settings: settings, seed: 1)
    hand.give(.open(at: Hand.wall))
    hand.give(.loaded(TimelineSnapshot(messages: messages, cursor: cursor, gaps: [gap])))
    hand.effects = []
    hand.give(.loadOlder)
    return hand
  }

  @Test func `a gap is filled when pages reach the position before it, whatever their stamps`() {
    // The server's clock went back before message 40, which arrived alone.
    var early = Hand.message(40)
    early.createdAt = Hand.wall.advanced(by: .seconds(5))
    let gap = Gap(after: Hand.message(10).key, before: Hand.message(60).key)
    var hand = Self.filling(gap, in: [early, Hand.message(10), Hand.message(60)])
    hand.answer(Page(messages: [early], hasNext: true, head: Hand.at(60)))
    #expect(hand.model.gaps == [gap])
    hand.answer(Hand.page([39, 10], head: 60, hasNext: true))
    #expect(hand.model.gaps == [])
    let queries = [UInt64(60), 40].map { PageQuery.before(Hand.at($0), limit: 50) }
    #expect(hand.fetches.map(\.query) == queries)
  }

  @Test func `without positions a gap is filled when pages reach below the range of late stamps`() {
    let messages = [UInt64(300), 1000].map { Hand.message($0, isPlain: true) }
    let gap = Gap(after: messages[0].key, before: messages[1].key)
    var hand = Self.filling(gap, in: messages)
    hand.answer(Hand.plainPage([1000, 350, 300, 299]))
    #expect(hand.model.gaps == [gap])
    hand.answer(Hand.plainPage([298, 180]))
    #expect(hand.model.gaps == [])
    let queries = [1, 2].map { PageQuery.page(number: $0, limit: 50) }
    #expect(hand.fetches.map(\.query) == queries)
  }

  @Test func `a message of another log does not show what lies beyond a gap`() {
    func position(_ offset: UInt64) -> Position { Position(epoch: "f", offset: offset) }
    func later(_ number: UInt64, at offset: UInt64) -> Message {
      var message = Hand.message(number)
      message.position = position(offset)
      return message
    }
    let edge = later(2000, at: 5)
    let gap = Gap(after: Hand.message(1000).key, before: edge.key)
    var hand = Self.filling(gap, in: [Hand.message(1000), later(1500, at: 3), edge])
    let page = [later(1500, at: 3), later(800, at: 4)]
    hand.answer(Page(messages: page, hasNext: true, head: position(5)))
    #expect(hand.model.gaps == [gap])
    let queries = [UInt64(5), 3].map { PageQuery.before(position($0), limit: 50) }
    #expect(hand.fetches.map(\.query) == queries)
  }

  @Test func `a log that repeatedly begins anew with the same messages leaves one gap`() throws {
    var hand = Hand.connected(at: 10, head: 20)
    for epoch in ["f", "g", "h"] {
      let messages = (UInt64(1)...3).map { number in
        var message = Hand.message(number)
        message.position = Position(epoch: epoch, offset: number)
        return message
      }
      let head = messages[2].position
      hand.answer(Page(messages: messages, hasNext: false, head: head, recovered: false))
      #expect(hand.model.recovery.cursor.position == head)
      hand.give(.oversized(try #require(hand.model.link.currentAttempt), bytes: 1))
    }
    let gap = Gap(after: nil, before: Hand.message(1).key)
    #expect(hand.model.gaps == [gap])
    #expect(hand.updates.filter { $0 == .gap(gap) } == [.gap(gap)])
  }

  /// Returns a harness connected to a plain server, whose first page was refused and is fetched
  /// again.
  private static func listening() throws -> Hand {
    var hand = Hand()
    let failed = try #require(hand.fetches.last?.id)
    hand.give(.fetchFailed(failed, .http(status: 503, retryAfter: nil, detail: "")))
    hand.give(.opened(try #require(hand.model.link.currentAttempt), head: nil))
    return hand
  }

  @Test func `the first page leaves no gap above its last message, received before the page`()
    throws
  {
    var hand = try Self.listening()
    hand.hear(Hand.message(100, isPlain: true))
    hand.answer(Hand.plainPage([102, 101, 100]))
    #expect(hand.model.gaps == [])
  }

  @Test
  func `the first page leaves a gap above an older message received before it, stored or not`()
    throws
  {
    for isStored in [true, false] {
      var hand = try Self.listening()
      hand.keepsPromptly = isStored
      hand.hear(Hand.message(4, isPlain: true))
      let page = [UInt64(102), 101, 100].map { Hand.message($0, isPlain: true) }
      hand.answer(Page(messages: page, hasNext: true))
      #expect(hand.model.gaps == [Gap(after: nil, before: page[2].key)])
    }
  }

  @Test func `shows stored messages beyond a gap that the server does not fill`() {
    let gap = Gap(after: Hand.message(10).key, before: Hand.message(60).key)
    var hand = Self.filling(gap, in: [Hand.message(10), Hand.message(60)])
    hand.answer(Page(messages: [], hasNext: true, head: Hand.at(60)))
    #expect(hand.model.gaps == [gap])
    hand.give(.older([Hand.message(10)]))
    #expect(hand.texts == ["m10"])
    #expect(hand.histories == [.history(hasMore: true)])
  }

  @Test func `a page that ends at the message before a gap leaves late stamps to the next page`() {
    let messages = [UInt64(300), 1000].map { Hand.message($0, isPlain: true) }
    let gap = Gap(after: messages[0].key, before: messages[1].key)
    var hand = Self.filling(gap, in: messages)
    hand.answer(Hand.plainPage([1000, 350, 300]))
    #expect(hand.model.gaps == [gap])
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
  }

  @Test func `an unreadable last page, found by counting, closes no gap`() {
    let messages = [UInt64(10), 60, 61, 62, 63].map { Hand.message($0, isPlain: true) }
    let gap = Gap(after: messages[0].key, before: messages[1].key)
    var hand = Self.filling(gap, in: messages, page: 2)
    hand.give(.older(Array(messages[1...2])))
    hand.give(.loadOlder)
    #expect(hand.fetches.map(\.query) == [.page(number: 2, limit: 2)])
    hand.answer(Page(messages: [], hasNext: false, rejected: 2))
    #expect(hand.model.gaps == [gap])
  }

  @Test func `positions of another log do not match the message before a gap`() {
    func position(_ offset: UInt64) -> Position { Position(epoch: "f", offset: offset) }
    var again = Hand.message(1000)
    again.position = position(2)
    var edge = Hand.message(2000)
    edge.position = position(5)
    let gap = Gap(after: again.key, before: edge.key)
    var hand = Self.filling(gap, in: [Hand.message(1000), edge])
    hand.answer(Page(messages: [again], hasNext: true, head: position(5)))
    #expect(hand.model.gaps == [gap])
    #expect(hand.fetches.last?.query == .before(position(2), limit: 50))
  }

  /// Returns a message whose position does not match its place by stamp.
  private static func message(_ number: UInt64, at offset: UInt64, seconds: Int64) -> Message {
    var message = Hand.message(number)
    message.position = Hand.at(offset)
    message.createdAt = Hand.wall.advanced(by: .seconds(seconds))
    return message
  }

  private static let elsewhere = [
    message(40, at: 40, seconds: 5), Hand.message(20, isPlain: true),
  ]

  @Test(arguments: elsewhere)
  func `a stored message does not show that a page reaches beyond a gap if its position differs`(
    kept: Message
  ) {
    let gap = Gap(after: Hand.message(10).key, before: Hand.message(60).key)
    let messages = [kept, Hand.message(10), Hand.message(60)].sorted { $0.key < $1.key }
    var hand = Self.filling(gap, in: messages)
    hand.answer(Page(messages: [kept, Hand.message(9)], hasNext: true, head: Hand.at(60)))
    #expect(hand.model.gaps == [gap])
    #expect(hand.fetches.last?.query == .before(Hand.at(9), limit: 50))
  }

  @Test func `a message waiting for the store lies before a gap, too`() {
    var hand = Hand.connected(at: 5)
    hand.keepsPromptly = false
    hand.hear(Hand.message(6))
    hand.oversize()
    hand.answer(Hand.page(251...350, head: 350, recovered: false))
    #expect(hand.model.gaps == [Gap(after: Hand.message(6).key, before: Hand.message(251).key)])
  }

  @Test func `the first screen ends at the newest gap`() {
    let hand = Hand.launched(
      with: TimelineSnapshot(
        messages: (UInt64(1)...110).map { Hand.message($0) },
        cursor: Cursor(position: Hand.at(110), wholeAt: Hand.wall),
        gaps: [UInt64(50), 100].map { Gap(after: nil, before: Hand.message($0).key) }))
    #expect(hand.texts == (100...110).map { "m\($0)" })
  }
}
