import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests that the user's own messages on a plain server are recognized after the process was
/// killed, whatever the phone's clock shows.
struct OwnMessageTests {
  private static let lost = LinkFailure.timeout(.response)

  private static func mine(_ text: String, at seconds: Int64, number: UInt64 = 9) -> ShopMessage {
    var message = Harness.message(number, text: text, user: "me", isPlain: true)
    message.createdAt = Harness.wall.advanced(by: .seconds(seconds))
    return message
  }

  @Test func `an echo is stored in the change that ends its entry`() throws {
    var harness = Harness.plain(user: "me")
    harness.send("once")
    let entry = try #require(harness.posts.last)
    let echo = Self.mine("once", at: 9)
    harness.receive(echo)
    harness.receive(echo)
    #expect(harness.commits.flatMap(\.messages) == [])
    #expect(harness.model.outbox.entries.count == 1)
    harness.fail(entry.id, Self.lost)
    #expect(harness.model.outbox.entries == [])
    let stored = harness.commits.filter { !$0.messages.isEmpty }
    #expect(stored.map(\.messages) == [[echo]])
    #expect(stored.map(\.outboxRemove) == [[entry.id]])
    #expect(harness.texts == ["once"])
    #expect(harness.posts.count == 1)
    #expect(harness.updates.count { if case .outboxDone = $0 { true } else { false } } == 1)
  }

  @Test func `an echo and the answer make one message`() throws {
    var harness = Harness.plain(user: "me")
    harness.send("once")
    let entry = try #require(harness.posts.last)
    harness.receive(Self.mine("once", at: 9))
    harness.give(.posted(entry.id, Self.mine("once", at: 9)))
    #expect(harness.texts == ["once"])
    #expect(harness.model.outbox.entries == [])
  }

  @Test func `shows a message that only resembled an echo when the attempt is over`() throws {
    var harness = Harness.plain(user: "me")
    harness.send("ok")
    let entry = try #require(harness.posts.last)
    harness.receive(Self.mine("ok", at: 9))
    #expect(harness.texts == [])
    harness.fail(entry.id, .http(status: 400, retryAfter: nil, detail: "no"))
    #expect(harness.texts == ["ok"])
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: "no")])
  }

  @Test func `a message that only resembled an echo counts as in order, and pages lead down to it`()
    throws
  {
    var harness = Harness.plain(user: "me")
    harness.send("ok")
    let entry = try #require(harness.posts.last)
    let like = Self.mine("ok", at: 9)
    harness.receive(like)
    harness.fail(entry.id, .http(status: 400, retryAfter: nil, detail: "no"))
    harness.effects = []
    harness.give(.oversized(try #require(harness.model.link.currentAttempt), bytes: 1))
    harness.answer(Page(messages: [like], hasNext: false))
    harness.answer(Page(messages: [like], hasNext: true))
    let since = Harness.wall.advanced(by: .seconds(-111))
    let queries: [PageQuery] = [
      .since(since, page: 1, limit: 100), .page(number: 1, limit: 50),
    ]
    #expect(harness.fetches.map(\.query) == queries)
    #expect(harness.model.gaps == [])
  }

  @Test func `the answer to one message is not the answer to another with the same text`()
    throws
  {
    let entries = [UInt64(1), 2].map { number in
      OutboxEntry(
        id: UUID128(high: 9, low: number), shop: Harness.message(1).shop, text: "ok",
        createdAt: Harness.wall)
    }
    var harness = Harness(
      cursor: ShopCursor(time: Harness.wall, wholeAt: Harness.wall), user: "me", outbox: entries)
    harness.connect(Harness.nothing, head: nil)
    harness.answer(Harness.nothing)
    harness.pass(5, answering: Harness.nothing)
    #expect(harness.posts.map(\.id) == [entries[0].id])
    harness.give(.posted(entries[0].id, Self.mine("ok", at: 9)))
    harness.pass(5, answering: Harness.nothing)
    #expect(harness.posts.map(\.id) == entries.map(\.id))
  }

  @Test func `the same text in reply to another message is no echo`() {
    var harness = Harness.plain(user: "me")
    harness.send("ok")
    #expect(harness.posts.count == 1)
    var other = Self.mine("ok", at: 9)
    other.parent = Harness.message(3).id
    harness.receive(other)
    #expect(harness.texts == ["ok"])
  }

  @Test(arguments: [(-120, true), (-121, false)])
  func `the newest stamp known at the first attempt bounds which message can be its echo`(
    seconds: Int64, isTaken: Bool
  ) throws {
    var harness = Harness.plain(user: "me")
    harness.send("ok", ahead: .seconds(600))
    harness.fail(try #require(harness.posts.last).id, Self.lost)
    harness.receive(Self.mine("ok", at: seconds))
    #expect(harness.model.outbox.entries.isEmpty == isTaken)
    #expect(harness.posts.count == 1)
  }

  @Test(arguments: [-7200, 7200])
  func `a wrong clock of the phone hides no own message`(ahead: Int64) throws {
    var harness = Harness.plain(user: "me")
    harness.send("once", ahead: .seconds(ahead))
    harness.fail(try #require(harness.posts.last).id, Self.lost)
    harness.receive(Self.mine("once", at: 9))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.posts.count == 1)
  }

  @Test func `a wrong clock hides no own message after a relaunch`() {
    let entry = OutboxEntry(
      id: UUID128(high: 1, low: 1), shop: Harness.message(1).shop, text: "once",
      createdAt: Harness.wall.advanced(by: .seconds(7200)))
    var harness = Harness(
      cursor: ShopCursor(time: Harness.wall, wholeAt: Harness.wall), user: "me", outbox: [entry])
    let page = Page(messages: [Self.mine("once", at: 9)], hasNext: false)
    harness.connect(page, head: nil)
    harness.pass(60, answering: page)
    #expect(harness.model.outbox.entries == [])
    #expect(harness.posts == [])
  }

  @Test(arguments: [(-120, 2), (-121, 1)])
  func `without stored messages, pages reach down to an own message's earliest stamp`(
    seconds: Int64, pages: Int
  ) {
    var harness = Harness(user: "me", outbox: [Harness.entry("once")])
    harness.answer(Page(messages: [Self.mine("other", at: seconds)], hasNext: true))
    #expect(
      harness.fetches.map(\.query) == (1...pages).map { PageQuery.page(number: $0, limit: 50) })
  }

  @Test func `in a shop that was empty any own message can be the one that was sent`() throws {
    var harness = Harness(user: "me")
    harness.connect(Harness.nothing, head: nil)
    harness.answer(Harness.nothing)
    harness.send("once", ahead: .seconds(7200))
    harness.fail(try #require(harness.posts.last).id, Self.lost)
    harness.receive(Self.mine("once", at: 9))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.posts.count == 1)
  }

  @Test func `fetches the first page before the first attempt if nothing is known of the server`()
    throws
  {
    var harness = Harness(user: "me")
    harness.send("once", ahead: .seconds(7200))
    #expect(harness.posts == [])
    #expect(harness.fetches.map(\.query) == [.page(number: 1, limit: 50)])
    harness.answer(Page(messages: [Self.mine("once", at: 0)], hasNext: false))
    #expect(harness.texts == ["once"], "older words")
    harness.fail(try #require(harness.posts.last).id, Self.lost)
    harness.receive(Self.mine("once", at: 9, number: 10))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.posts.count == 1)
  }

  @Test func `a message waiting for the first page is no further purpose of it`() throws {
    var harness = Harness(user: "me")
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.send("once")
    #expect(harness.posts == [])
    #expect(harness.model.recovery.run?.purposes == [.prepare(attempt)])
  }

  @Test func `fetches a failed first page again before the first attempt`() {
    var harness = Harness(user: "me")
    harness.send("once")
    for fetch in harness.fetches { harness.give(.fetchFailed(fetch.id, Self.lost)) }
    let asked = harness.fetches.count
    harness.pass(4)
    #expect(harness.posts == [])
    harness.pass(30, answering: Harness.nothing)
    #expect(harness.fetches.count > asked)
    #expect(harness.posts.map(\.text) == ["once"])
  }

  @Test
  func `the first attempt waits until the cursor is stored and so survives a kill`()
    throws
  {
    var harness = Harness(user: "me")
    harness.send("once")
    harness.storesPromptly = false
    harness.answer(Harness.nothing)
    #expect(harness.posts == [])
    #expect(harness.fetches.count == 1)
    harness.refuseCommit()
    harness.pass(0)
    #expect(harness.posts == [])
    harness.storesPromptly = true
    harness.pass(2)
    #expect(harness.posts.map(\.text) == ["once"])
  }

  @Test func `a server with positions supports keys, so no page is awaited`() throws {
    var harness = Harness(user: "me")
    harness.send("once")
    let page = try #require(harness.fetches.last)
    harness.give(.fetchFailed(page.id, .http(status: 500, retryAfter: nil, detail: "")))
    #expect(harness.posts == [])
    harness.give(.opened(try #require(harness.model.link.currentAttempt), head: Harness.at(4)))
    #expect(harness.posts.map(\.text) == ["once"])
  }

  @Test func `in a stream that only sends, the phone's clock identifies old messages`() throws {
    var harness = Harness(user: "me") { $0.sendsOnly = true }
    harness.send("ok", ahead: .seconds(600))
    harness.fail(try #require(harness.posts.last).id, Self.lost)
    harness.connect(Page(messages: [Self.mine("ok", at: 9)], hasNext: false), head: nil)
    #expect(harness.model.outbox.entries.map(\.text) == ["ok"])
    #expect(harness.texts == ["ok"])
  }
}
