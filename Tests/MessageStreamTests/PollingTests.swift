import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of a stream that polls because real-time messaging is switched off.
struct PollingTests {
  private static let cursor = ShopCursor(position: Harness.at(5), wholeAt: Harness.wall)

  /// Returns a harness that polls and whose timeline is complete.
  private static func polling() -> Harness {
    var harness = Harness(cursor: cursor)
    harness.give(.realtime(false))
    harness.give(.refresh)
    harness.answer(Harness.page([], head: 5))
    #expect(harness.model.isWhole)
    return harness
  }

  @Test func `a stream that only sends and does not poll is not whole`() {
    var harness = Harness(cursor: Self.cursor) { $0.sendsOnly = true }
    harness.give(.realtime(false))
    #expect(harness.model.link.status.mode == .polling)
    #expect(!harness.model.isWhole)
  }

  @Test func `an empty page with a successor leaves the timeline incomplete`() {
    var harness = Self.polling()
    harness.give(.refresh)
    harness.answer(Harness.page([], head: 500, hasNext: true))
    #expect(!harness.model.isWhole)
  }

  @Test func `a page that was not accepted is missing until the next poll`() {
    var harness = Self.polling()
    harness.give(.reader(isBehind: true))
    harness.give(.refresh)
    harness.answer(Harness.page([6], head: 6))
    harness.give(.reader(isBehind: false))
    #expect(!harness.model.isWhole)
  }

  @Test func `an answer that was not accepted is missing after a page requested earlier`()
    throws
  {
    var harness = Self.polling()
    harness.send("mine")
    harness.give(.refresh)
    harness.give(.reader(isBehind: true))
    let post = try #require(harness.posts.last?.id)
    harness.give(.posted(post, Harness.message(6, text: "mine", user: "me")))
    harness.give(.reader(isBehind: false))
    harness.answer(Harness.page([], head: 5))
    #expect(!harness.model.isWhole)
  }

  /// Returns a harness that fetches a refused page again with renewed credentials.
  private static func renewed() throws -> Harness {
    var harness = polling()
    harness.give(.refresh)
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), Harness.refused))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.refresh)
    return harness
  }

  @Test func `an empty page with a successor shows that the server accepts the credentials, too`()
    throws
  {
    var harness = try Self.renewed()
    harness.answer(Harness.page([], head: 500, hasNext: true))
    harness.give(.refresh)
    harness.effects = []
    harness.give(.fetchFailed(FetchID(harness.model.requests.last), Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
  }

  @Test func `a stream that only sends is not whole after it was closed`() {
    var harness = Harness(cursor: Self.cursor) { $0.sendsOnly = true }
    harness.give(.realtime(false))
    harness.give(.refresh)
    harness.answer(Harness.page([], head: 5))
    #expect(harness.model.isWhole)
    harness.give(.close)
    harness.give(.open(at: Harness.wall))
    #expect(harness.model.link.status.mode == .polling)
    #expect(!harness.model.isWhole)
  }

  @Test func `refreshes credentials again at the next refusal after a late page accepted them`()
    throws
  {
    var harness = try Self.renewed()
    let late = try #require(harness.fetches.last?.id)
    harness.pass(11)
    harness.give(.refresh)
    let next = try #require(harness.fetches.last?.id)
    #expect(next != late)
    harness.give(.fetched(late, Harness.page([], head: 5)))
    harness.effects = []
    harness.give(.fetchFailed(next, Harness.refused))
    #expect(harness.effects.contains(.refreshCredentials))
    #expect(!harness.updates.contains(.notice(.signIn)))
  }
}
