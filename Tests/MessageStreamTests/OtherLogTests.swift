import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// What shows that a log was put back and has grown again: sockets, and pages of what is older.
struct OtherLogTests {
  private static func other(_ offset: UInt64) -> Message {
    RewoundLogTests.other(offset, "theirs")
  }

  /// Kept all up to `last`, which the log has given to another message; the next socket brings what
  /// lies behind the cursor.
  private static func reopened(from start: UInt64, to last: UInt64, page: Int) throws -> Hand {
    var hand = Hand.connected(at: start) { $0.catchUpPage = page }
    for number in start + 1...last { hand.hear(Hand.message(number)) }
    hand.hear(other(last))
    hand.lose()
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), .reset))
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(last), after: hand.named))
    return hand
  }

  @Test func `a socket that begins behind the first offset leads further back, too`() throws {
    var hand = try Self.reopened(from: 1, to: 3, page: 100)
    #expect(hand.named == Hand.at(1))
    hand.hear(Self.other(2))
    #expect(hand.fetches.last?.query == .page(number: 1, limit: 100))
  }

  @Test func `a socket that leaves its first messages out is no sign of another log`() throws {
    var hand = try Self.reopened(from: 0, to: 8, page: 2)
    hand.hear(Self.other(7))
    #expect(hand.model.recovery.cursor.position == Hand.at(5))
    #expect(hand.fetches.last?.query == .after(Hand.at(5), limit: 2))
  }

  @Test func `one of two that are known there says nothing once the socket is past it`() throws {
    var hand = try Self.reopened(from: 0, to: 8, page: 2)
    hand.model.recovery.cursor.position = Hand.at(6)
    hand.model.timeline.insert(Self.other(6))
    hand.hear(Self.other(6))
    #expect(hand.model.recovery.cursor.position == Hand.at(6))
  }

  /// Messages 141 to 150 are kept, and what is older was asked for.
  private static func asking() -> Hand {
    var hand = Hand.connected(at: 140) { $0.catchUpPage = 2 }
    for number in UInt64(141)...150 { hand.hear(Hand.message(number)) }
    hand.give(.loadOlder)
    hand.give(.older([]))
    return hand
  }

  @Test func `a page of others leads back from the lowest of them`() {
    var hand = Self.asking()
    let page = [Self.other(148), Self.other(147)]
    hand.answer(Page(messages: page, hasNext: true, head: Hand.at(149)))
    #expect(hand.model.recovery.cursor.position == Hand.at(144))
  }

  @Test func `a catch-up under way that begins there anew is enough`() throws {
    var hand = Self.asking()
    let older = try #require(hand.fetches.last?.id)
    hand.oversize()
    let page = Page(messages: [Self.other(147)], hasNext: true, head: Hand.at(149))
    hand.give(.fetched(older, page))
    #expect(hand.fetches.map(\.query).contains(.after(Hand.at(144), limit: 2)))
    #expect(!hand.model.recovery.again)
  }
}
