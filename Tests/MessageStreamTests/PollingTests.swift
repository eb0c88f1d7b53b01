import LinkCore
import LinkWire
import Testing

@testable import MessageStream

/// Real-time messaging is switched off: polls bring what comes.
struct PollingTests {
  private static let cursor = Cursor(position: Hand.at(5), wholeAt: Hand.wall)

  /// It polls, and is whole.
  private static func polling() -> Hand {
    var hand = Hand(cursor: cursor)
    hand.give(.realtime(false))
    hand.give(.refresh)
    hand.answer(Hand.page([], head: 5))
    #expect(hand.model.isWhole)
    return hand
  }

  @Test func `one that only sends, and polls nothing, is not whole`() {
    var hand = Hand(cursor: Self.cursor) { $0.sendsOnly = true }
    hand.give(.realtime(false))
    #expect(hand.model.link.status.mode == .polling)
    #expect(!hand.model.isWhole)
  }

  @Test func `a page that leads nowhere says that it is not whole`() {
    var hand = Self.polling()
    hand.give(.refresh)
    hand.answer(Hand.page([], head: 500, hasNext: true))
    #expect(!hand.model.isWhole)
  }

  @Test func `a page that was not taken is missing until the next poll`() {
    var hand = Self.polling()
    hand.give(.reader(isBehind: true))
    hand.give(.refresh)
    hand.answer(Hand.page([6], head: 6))
    hand.give(.reader(isBehind: false))
    #expect(!hand.model.isWhole)
  }

  @Test func `an answer that was not taken is missing after a page that was asked for before`()
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

  @Test func `credentials that a late page was answered with are refreshed at the next refusal`()
    throws
  {
    let refused = LinkFailure.http(status: 401, retryAfter: nil, detail: "")
    var hand = Self.polling()
    hand.give(.refresh)
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), refused))
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.give(.refresh)
    let late = try #require(hand.fetches.last?.id)
    hand.pass(11)
    hand.give(.refresh)
    let next = try #require(hand.fetches.last?.id)
    #expect(next != late)
    hand.give(.fetched(late, Hand.page([], head: 5)))
    hand.effects = []
    hand.give(.fetchFailed(next, refused))
    #expect(hand.effects.contains(.refreshCredentials))
    #expect(!hand.updates.contains(.notice(.signIn)))
  }
}
