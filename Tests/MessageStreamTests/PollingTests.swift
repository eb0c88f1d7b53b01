import LinkCore
import LinkStorage
import Testing

@testable import MessageStream

/// Tests of a stream with real-time messaging switched off, which polls.
struct PollingTests {
  private static let cursor = Cursor(position: Hand.at(5), wholeAt: Hand.wall)

  /// Returns a harness that polls and is whole.
  private static func polling() -> Hand {
    var hand = Hand(cursor: cursor)
    hand.give(.realtime(false))
    hand.give(.refresh)
    hand.answer(Hand.page([], head: 5))
    #expect(hand.model.isWhole)
    return hand
  }

  @Test func `a stream that only sends and does not poll is not whole`() {
    var hand = Hand(cursor: Self.cursor) { $0.sendsOnly = true }
    hand.give(.realtime(false))
    #expect(hand.model.link.status.mode == .polling)
    #expect(!hand.model.isWhole)
  }

  @Test func `an empty page with a successor leaves the timeline incomplete`() {
    var hand = Self.polling()
    hand.give(.refresh)
    hand.answer(Hand.page([], head: 500, hasNext: true))
    #expect(!hand.model.isWhole)
  }

  @Test func `a page that was not accepted is missing until the next poll`() {
    var hand = Self.polling()
    hand.give(.reader(isBehind: true))
    hand.give(.refresh)
    hand.answer(Hand.page([6], head: 6))
    hand.give(.reader(isBehind: false))
    #expect(!hand.model.isWhole)
  }

  @Test func `an answer that was not accepted is missing after a page requested earlier`()
    throws
  {
    var hand = Self.polling()
    hand.send("mine")
    hand.give(.refresh)
    hand.give(.reader(isBehind: true))
    let post = try #require(hand.posts.last?.id)
    hand.give(.posted(post, Hand.message(6, text: "mine", user: "me")))
    hand.give(.reader(isBehind: false))
    hand.answer(Hand.page([], head: 5))
    #expect(!hand.model.isWhole)
  }

  /// Returns a harness that fetches a refused page again with new credentials.
  private static func renewed() throws -> Hand {
    var hand = polling()
    hand.give(.refresh)
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), Hand.refused))
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.give(.refresh)
    return hand
  }

  @Test func `an empty page with a successor shows that the server accepts the credentials, too`()
    throws
  {
    var hand = try Self.renewed()
    hand.answer(Hand.page([], head: 500, hasNext: true))
    hand.give(.refresh)
    hand.effects = []
    hand.give(.fetchFailed(FetchID(hand.model.requests.last), Hand.refused))
    #expect(hand.effects.contains(.refreshCredentials))
  }

  @Test func `a stream that only sends is not whole after it was closed`() {
    var hand = Hand(cursor: Self.cursor) { $0.sendsOnly = true }
    hand.give(.realtime(false))
    hand.give(.refresh)
    hand.answer(Hand.page([], head: 5))
    #expect(hand.model.isWhole)
    hand.give(.close)
    hand.give(.open(at: Hand.wall))
    #expect(hand.model.link.status.mode == .polling)
    #expect(!hand.model.isWhole)
  }

  @Test func `refreshes credentials again at the next refusal after a late page accepted them`()
    throws
  {
    var hand = try Self.renewed()
    let late = try #require(hand.fetches.last?.id)
    hand.pass(11)
    hand.give(.refresh)
    let next = try #require(hand.fetches.last?.id)
    #expect(next != late)
    hand.give(.fetched(late, Hand.page([], head: 5)))
    hand.effects = []
    hand.give(.fetchFailed(next, Hand.refused))
    #expect(hand.effects.contains(.refreshCredentials))
    #expect(!hand.updates.contains(.notice(.signIn)))
  }
}
