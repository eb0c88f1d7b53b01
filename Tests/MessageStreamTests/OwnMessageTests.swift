import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests that the user's own messages on a plain server are recognized after a kill, whatever the
/// phone's clock shows.
struct OwnMessageTests {
  private static let lost = LinkFailure.timeout(.response)

  private static func mine(_ text: String, at seconds: Int64, number: UInt64 = 9) -> Message {
    var message = Hand.message(number, text: text, user: "me", isPlain: true)
    message.createdAt = Hand.wall.advanced(by: .seconds(seconds))
    return message
  }

  @Test func `an echo is stored in the change that ends its entry`() throws {
    var hand = Hand.plain(user: "me")
    hand.send("once")
    let entry = try #require(hand.posts.last)
    let echo = Self.mine("once", at: 9)
    hand.hear(echo)
    hand.hear(echo)
    #expect(hand.commits.flatMap(\.messages) == [])
    #expect(hand.model.outbox.entries.count == 1)
    hand.fail(entry.id, Self.lost)
    #expect(hand.model.outbox.entries == [])
    let stored = hand.commits.filter { !$0.messages.isEmpty }
    #expect(stored.map(\.messages) == [[echo]])
    #expect(stored.map(\.outboxRemove) == [[entry.id]])
    #expect(hand.texts == ["once"])
    #expect(hand.posts.count == 1)
    #expect(hand.updates.count { if case .outboxDone = $0 { true } else { false } } == 1)
  }

  @Test func `an echo and the answer make one message`() throws {
    var hand = Hand.plain(user: "me")
    hand.send("once")
    let entry = try #require(hand.posts.last)
    hand.hear(Self.mine("once", at: 9))
    hand.give(.posted(entry.id, Self.mine("once", at: 9)))
    #expect(hand.texts == ["once"])
    #expect(hand.model.outbox.entries == [])
  }

  @Test func `shows a message that only resembled an echo when the attempt is over`() throws {
    var hand = Hand.plain(user: "me")
    hand.send("ok")
    let entry = try #require(hand.posts.last)
    hand.hear(Self.mine("ok", at: 9))
    #expect(hand.texts == [])
    hand.fail(entry.id, .http(status: 400, retryAfter: nil, detail: "no"))
    #expect(hand.texts == ["ok"])
    #expect(hand.model.outbox.entries.map(\.state) == [.failed(reason: "no")])
  }

  @Test func `a message that only resembled an echo counts as in order, and pages lead down to it`()
    throws
  {
    var hand = Hand.plain(user: "me")
    hand.send("ok")
    let entry = try #require(hand.posts.last)
    let like = Self.mine("ok", at: 9)
    hand.hear(like)
    hand.fail(entry.id, .http(status: 400, retryAfter: nil, detail: "no"))
    hand.effects = []
    hand.give(.oversized(try #require(hand.model.link.currentAttempt), bytes: 1))
    hand.answer(Page(messages: [like], hasNext: false))
    hand.answer(Page(messages: [like], hasNext: true))
    let since = Hand.wall.advanced(by: .seconds(-111))
    let queries: [PageQuery] = [
      .since(since, page: 1, limit: 100), .page(number: 1, limit: 50),
    ]
    #expect(hand.fetches.map(\.query) == queries)
    #expect(hand.model.gaps == [])
  }

  @Test func `the answer to one message is not the answer to another with the same text`()
    throws
  {
    let entries = [UInt64(1), 2].map { number in
      OutboxEntry(
        id: UUID128(high: 9, low: number), shop: Hand.message(1).shop, text: "ok",
        createdAt: Hand.wall)
    }
    var hand = Hand(
      cursor: Cursor(time: Hand.wall, wholeAt: Hand.wall), user: "me", outbox: entries)
    hand.connect(Hand.nothing, head: nil)
    hand.answer(Hand.nothing)
    hand.pass(5, answering: Hand.nothing)
    #expect(hand.posts.map(\.id) == [entries[0].id])
    hand.give(.posted(entries[0].id, Self.mine("ok", at: 9)))
    hand.pass(5, answering: Hand.nothing)
    #expect(hand.posts.map(\.id) == entries.map(\.id))
  }

  @Test func `the same text in reply to another message is no echo`() {
    var hand = Hand.plain(user: "me")
    hand.send("ok")
    #expect(hand.posts.count == 1)
    var other = Self.mine("ok", at: 9)
    other.parent = Hand.message(3).id
    hand.hear(other)
    #expect(hand.texts == ["ok"])
  }

  @Test(arguments: [(-120, true), (-121, false)])
  func `the newest stamp known at the first attempt bounds which message can be its echo`(
    seconds: Int64, isTaken: Bool
  ) throws {
    var hand = Hand.plain(user: "me")
    hand.send("ok", ahead: .seconds(600))
    hand.fail(try #require(hand.posts.last).id, Self.lost)
    hand.hear(Self.mine("ok", at: seconds))
    #expect(hand.model.outbox.entries.isEmpty == isTaken)
    #expect(hand.posts.count == 1)
  }

  @Test(arguments: [-7200, 7200])
  func `a wrong clock of the phone hides no own message`(ahead: Int64) throws {
    var hand = Hand.plain(user: "me")
    hand.send("once", ahead: .seconds(ahead))
    hand.fail(try #require(hand.posts.last).id, Self.lost)
    hand.hear(Self.mine("once", at: 9))
    #expect(hand.model.outbox.entries == [])
    #expect(hand.posts.count == 1)
  }

  @Test func `a wrong clock hides no own message after a relaunch`() {
    let entry = OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: Hand.message(1).shop, text: "once",
      createdAt: Hand.wall.advanced(by: .seconds(7200)))
    var hand = Hand(
      cursor: Cursor(time: Hand.wall, wholeAt: Hand.wall), user: "me", outbox: [entry])
    let page = Page(messages: [Self.mine("once", at: 9)], hasNext: false)
    hand.connect(page, head: nil)
    hand.pass(60, answering: page)
    #expect(hand.model.outbox.entries == [])
    #expect(hand.posts == [])
  }

  @Test(arguments: [(-120, 2), (-121, 1)])
  func `without stored messages, pages reach down to an own message's earliest stamp`(
    seconds: Int64, pages: Int
  ) {
    var hand = Hand(user: "me", outbox: [Hand.entry("once")])
    hand.answer(Page(messages: [Self.mine("other", at: seconds)], hasNext: true))
    #expect(
      hand.fetches.map(\.query) == (1...pages).map { PageQuery.page(number: $0, limit: 50) })
  }

  @Test func `in a shop that was empty any own message can be the one that was sent`() throws {
    var hand = Hand(user: "me")
    hand.connect(Hand.nothing, head: nil)
    hand.answer(Hand.nothing)
    hand.send("once", ahead: .seconds(7200))
    hand.fail(try #require(hand.posts.last).id, Self.lost)
    hand.hear(Self.mine("once", at: 9))
    #expect(hand.model.outbox.entries == [])
    #expect(hand.posts.count == 1)
  }

  @Test func `fetches the first page before the first attempt if nothing is known of the server`()
    throws
  {
    var hand = Hand(user: "me")
    hand.send("once", ahead: .seconds(7200))
    #expect(hand.posts == [])
    #expect(hand.fetches.map(\.query) == [.page(number: 1, limit: 50)])
    hand.answer(Page(messages: [Self.mine("once", at: 0)], hasNext: false))
    #expect(hand.texts == ["once"], "older words")
    hand.fail(try #require(hand.posts.last).id, Self.lost)
    hand.hear(Self.mine("once", at: 9, number: 10))
    #expect(hand.model.outbox.entries == [])
    #expect(hand.posts.count == 1)
  }

  @Test func `a message waiting for the first page is no further purpose of it`() throws {
    var hand = Hand(user: "me")
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.send("once")
    #expect(hand.posts == [])
    #expect(hand.model.recovery.run?.purposes == [.prepare(attempt)])
  }

  @Test func `fetches a failed first page again before the first attempt`() {
    var hand = Hand(user: "me")
    hand.send("once")
    for fetch in hand.fetches { hand.give(.fetchFailed(fetch.id, Self.lost)) }
    let asked = hand.fetches.count
    hand.pass(4)
    #expect(hand.posts == [])
    hand.pass(30, answering: Hand.nothing)
    #expect(hand.fetches.count > asked)
    #expect(hand.posts.map(\.text) == ["once"])
  }

  @Test
  func `the first attempt waits until the cursor is stored and so survives a kill`()
    throws
  {
    var hand = Hand(user: "me")
    hand.send("once")
    hand.keepsPromptly = false
    hand.answer(Hand.nothing)
    #expect(hand.posts == [])
    #expect(hand.fetches.count == 1)
    hand.refuseCommit()
    hand.pass(0)
    #expect(hand.posts == [])
    hand.keepsPromptly = true
    hand.pass(2)
    #expect(hand.posts.map(\.text) == ["once"])
  }

  @Test func `a server with positions supports keys, so no page is awaited`() throws {
    var hand = Hand(user: "me")
    hand.send("once")
    let page = try #require(hand.fetches.last)
    hand.give(.fetchFailed(page.id, .http(status: 500, retryAfter: nil, detail: "")))
    #expect(hand.posts == [])
    hand.give(.opened(try #require(hand.model.link.currentAttempt), head: Hand.at(4)))
    #expect(hand.posts.map(\.text) == ["once"])
  }

  @Test func `in a stream that only sends, the phone's clock identifies old messages`() throws {
    var hand = Hand(user: "me") { $0.sendsOnly = true }
    hand.send("ok", ahead: .seconds(600))
    hand.fail(try #require(hand.posts.last).id, Self.lost)
    hand.connect(Page(messages: [Self.mine("ok", at: 9)], hasNext: false), head: nil)
    #expect(hand.model.outbox.entries.map(\.text) == ["ok"])
    #expect(hand.texts == ["ok"])
  }
}
