import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of gaps in a timeline, and of the pages that fill them.
struct GapTests {
  /// Returns a harness whose store has messages and a gap before the last of them. Its reader
  /// requests older messages.
  private static func filling(
    _ gap: ShopGap, in messages: [ShopMessage], page: Int = 50
  ) -> Harness {
    let newest = messages.last
    let cursor = ShopCursor(
      position: newest?.position, time: newest?.createdAt, wholeAt: Harness.wall)
    var settings = StreamHarness.settings
    settings.historyPage = page
    var harness = Harness()
    harness.model = StreamModel(settings: settings, seed: 1)
    harness.give(.open(at: Harness.wall))
    harness.give(.loaded(TimelineSnapshot(messages: messages, cursor: cursor, gaps: [gap])))
    harness.effects = []
    harness.give(.loadOlder)
    return harness
  }

  @Test func `a gap is filled when pages reach the position before it, whatever their stamps`() {
    // The server's clock was set back before message 40, which arrived without its neighbors.
    var early = Harness.message(40)
    early.createdAt = Harness.wall.advanced(by: .seconds(5))
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(60).key)
    var harness = Self.filling(gap, in: [early, Harness.message(10), Harness.message(60)])
    harness.answer(Page(messages: [early], hasNext: true, head: Harness.at(60)))
    #expect(harness.model.gaps == [gap])
    harness.answer(Harness.page([39, 10], head: 60, hasNext: true))
    #expect(harness.model.gaps == [])
    let queries = [UInt64(60), 40].map { PageQuery.before(Harness.at($0), limit: 50) }
    #expect(harness.fetches.map(\.query) == queries)
  }

  @Test func `without positions a gap is filled when pages reach below the range of late stamps`() {
    let messages = [UInt64(300), 1000].map { Harness.message($0, isPlain: true) }
    let gap = ShopGap(after: messages[0].key, before: messages[1].key)
    var harness = Self.filling(gap, in: messages)
    harness.answer(Harness.plainPage([1000, 350, 300, 299]))
    #expect(harness.model.gaps == [gap])
    harness.answer(Harness.plainPage([298, 180]))
    #expect(harness.model.gaps == [])
    let queries = [1, 2].map { PageQuery.page(number: $0, limit: 50) }
    #expect(harness.fetches.map(\.query) == queries)
  }

  @Test func `a message of another log does not show what lies beyond a gap`() {
    func position(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: "f", offset: offset) }
    func later(_ number: UInt64, at offset: UInt64) -> ShopMessage {
      var message = Harness.message(number)
      message.position = position(offset)
      return message
    }
    let edge = later(2000, at: 5)
    let gap = ShopGap(after: Harness.message(1000).key, before: edge.key)
    var harness = Self.filling(gap, in: [Harness.message(1000), later(1500, at: 3), edge])
    let page = [later(1500, at: 3), later(800, at: 4)]
    harness.answer(Page(messages: page, hasNext: true, head: position(5)))
    #expect(harness.model.gaps == [gap])
    let queries = [UInt64(5), 3].map { PageQuery.before(position($0), limit: 50) }
    #expect(harness.fetches.map(\.query) == queries)
  }

  @Test func `a log that repeatedly begins anew with the same messages leaves no gap`() throws {
    var harness = Harness.connected(at: 10, head: 20)
    for epoch in ["f", "g", "h"] {
      let messages = (UInt64(1)...3).map { number in
        var message = Harness.message(number)
        message.position = ShopPosition(epoch: epoch, offset: number)
        return message
      }
      let head = messages[2].position
      harness.answer(Page(messages: messages, hasNext: false, head: head, recovered: false))
      #expect(harness.model.recovery.cursor.position == head)
      harness.give(.oversized(try #require(harness.model.link.currentAttempt), bytes: 1))
    }
    let gap = ShopGap(after: nil, before: Harness.message(1).key)
    // The first log has none of the phone's messages, and the next one has them all.
    #expect(harness.model.gaps == [])
    #expect(harness.updates.filter { $0 == .gap(gap) } == [.gap(gap)])
    #expect(harness.updates.contains(.gapClosed(gap)))
  }

  /// Returns a harness that is connected to a plain server. Its first page was refused and is being
  /// fetched again.
  private static func listening() throws -> Harness {
    var harness = Harness()
    let failed = try #require(harness.fetches.last?.id)
    harness.give(.fetchFailed(failed, .http(status: 503, retryAfter: nil, detail: "")))
    harness.give(.opened(try #require(harness.model.link.currentAttempt), head: nil))
    return harness
  }

  @Test func `the first page leaves no gap above its last message, received before the page`()
    throws
  {
    var harness = try Self.listening()
    harness.receive(Harness.message(100, isPlain: true))
    harness.answer(Harness.plainPage([102, 101, 100]))
    #expect(harness.model.gaps == [])
  }

  @Test
  func `the first page leaves a gap above an older message received before it, stored or not`()
    throws
  {
    for isStored in [true, false] {
      var harness = try Self.listening()
      harness.storesPromptly = isStored
      harness.receive(Harness.message(4, isPlain: true))
      let page = [UInt64(102), 101, 100].map { Harness.message($0, isPlain: true) }
      harness.answer(Page(messages: page, hasNext: true))
      #expect(harness.model.gaps == [ShopGap(after: nil, before: page[2].key)])
    }
  }

  @Test func `shows stored messages beyond a gap that the server does not fill`() {
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(60).key)
    var harness = Self.filling(gap, in: [Harness.message(10), Harness.message(60)])
    harness.answer(Page(messages: [], hasNext: true, head: Harness.at(60)))
    #expect(harness.model.gaps == [gap])
    harness.give(.older([Harness.message(10)]))
    #expect(harness.texts == ["m10"])
    #expect(harness.histories == [.history(hasMore: true)])
  }

  @Test func `a page that ends at the message before a gap leaves late stamps to the next page`() {
    let messages = [UInt64(300), 1000].map { Harness.message($0, isPlain: true) }
    let gap = ShopGap(after: messages[0].key, before: messages[1].key)
    var harness = Self.filling(gap, in: messages)
    harness.answer(Harness.plainPage([1000, 350, 300]))
    #expect(harness.model.gaps == [gap])
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
  }

  @Test func `an unreadable last page, found by counting, closes no gap`() {
    let messages = [UInt64(10), 60, 61, 62, 63].map { Harness.message($0, isPlain: true) }
    let gap = ShopGap(after: messages[0].key, before: messages[1].key)
    var harness = Self.filling(gap, in: messages, page: 2)
    harness.give(.older(Array(messages[1...2])))
    harness.give(.loadOlder)
    #expect(harness.fetches.map(\.query) == [.page(number: 2, limit: 2)])
    harness.answer(Page(messages: [], hasNext: false, rejected: 2))
    #expect(harness.model.gaps == [gap])
  }

  @Test func `positions of another log do not match the message before a gap`() {
    func position(_ offset: UInt64) -> ShopPosition { ShopPosition(epoch: "f", offset: offset) }
    var again = Harness.message(1000)
    again.position = position(2)
    var edge = Harness.message(2000)
    edge.position = position(5)
    let gap = ShopGap(after: again.key, before: edge.key)
    var harness = Self.filling(gap, in: [Harness.message(1000), edge])
    harness.answer(Page(messages: [again], hasNext: true, head: position(5)))
    #expect(harness.model.gaps == [gap])
    #expect(harness.fetches.last?.query == .before(position(2), limit: 50))
  }

  /// Returns a message whose position does not match its order by time stamp.
  private static func message(_ number: UInt64, at offset: UInt64, seconds: Int64) -> ShopMessage {
    var message = Harness.message(number)
    message.position = Harness.at(offset)
    message.createdAt = Harness.wall.advanced(by: .seconds(seconds))
    return message
  }

  private static let elsewhere = [
    message(40, at: 40, seconds: 5), Harness.message(20, isPlain: true),
  ]

  @Test(arguments: elsewhere)
  func `a stored message does not show that a page reaches beyond a gap if its position differs`(
    stored: ShopMessage
  ) {
    let gap = ShopGap(after: Harness.message(10).key, before: Harness.message(60).key)
    let messages = [stored, Harness.message(10), Harness.message(60)].sorted { $0.key < $1.key }
    var harness = Self.filling(gap, in: messages)
    harness.answer(
      Page(messages: [stored, Harness.message(9)], hasNext: true, head: Harness.at(60)))
    #expect(harness.model.gaps == [gap])
    #expect(harness.fetches.last?.query == .before(Harness.at(9), limit: 50))
  }

  @Test func `a message waiting for the store lies before a gap, too`() {
    var harness = Harness.connected(at: 5)
    harness.storesPromptly = false
    harness.receive(Harness.message(6))
    harness.oversize()
    harness.answer(Harness.page(251...350, head: 350, recovered: false))
    #expect(
      harness.model.gaps == [
        ShopGap(after: Harness.message(6).key, before: Harness.message(251).key)
      ])
  }

  @Test func `the first screen ends at the newest gap`() {
    let harness = Harness.launched(
      with: TimelineSnapshot(
        messages: (UInt64(1)...110).map { Harness.message($0) },
        cursor: ShopCursor(position: Harness.at(110), wholeAt: Harness.wall),
        gaps: [UInt64(50), 100].map { ShopGap(after: nil, before: Harness.message($0).key) }))
    #expect(harness.texts == (100...110).map { "m\($0)" })
  }
}
