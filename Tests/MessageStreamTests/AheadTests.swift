import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of messages that arrive over a socket before the ones that precede them.
struct AheadTests {
  /// Returns a harness that received a message out of turn and failed to fetch those before it.
  private static func ahead() throws -> Hand {
    var hand = Hand.connected(at: 5)
    hand.hear(Hand.message(9))
    hand.give(.fetchFailed(try #require(hand.fetches.last?.id), .reset))
    hand.effects = []
    return hand
  }

  @Test func `what came out of turn before a log was put back is forgotten with the next page`()
    throws
  {
    var hand = try Self.ahead()
    hand.give(.lifecycle(.background), at: Hand.wall)
    hand.give(.lifecycle(.foreground), at: Hand.wall)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.connect(Hand.page([], head: 5), head: Hand.at(5))
    #expect(hand.model.isWhole)
    #expect(hand.fetches.count == 1)
  }

  @Test func `it is forgotten with a socket whose head is an earlier one, and asked for once`()
    throws
  {
    var hand = try Self.ahead()
    hand.reconnect(head: 5, settles: false)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.answer(Hand.page([], head: 5))
    #expect(hand.model.isWhole)
    hand.pass(60)
    #expect(hand.fetches.count == 1)
  }

  @Test func `it says nothing of a log that begins anew`() throws {
    var hand = Hand.connected(at: 5)
    hand.hear(Hand.message(9))
    let new = Self.anew()
    hand.answer(Page(messages: new, hasNext: false, head: new[7].position, recovered: false))
    #expect(hand.model.recovery.cursor.position == new[7].position)
    #expect(hand.model.recovery.ahead == [])
  }

  /// Returns eight messages of a log that began anew.
  private static func anew() -> [Message] {
    (UInt64(1)...8).map { offset in
      var message = Hand.other(offset, "new")
      message.position = Position(epoch: "f", offset: offset)
      return message
    }
  }

  @Test func `nor does it count in a log whose pages go on as if it were the same`() throws {
    var hand = Hand.connected(at: 5, head: 7)
    hand.hear(Hand.message(9))
    let new = Self.anew()
    let head = Position(epoch: "f", offset: 9)
    hand.answer(Page(messages: Array(new[..<3]), hasNext: true, head: head))
    #expect(hand.model.recovery.ahead == [])
    hand.answer(Page(messages: Array(new[3...]), hasNext: false, head: new[7].position))
    #expect(hand.model.recovery.cursor.position == new[7].position)
  }

  @Test func `nor does it follow the last message of such a page`() {
    var hand = Hand.connected(at: 5, head: 7)
    hand.hear(Hand.message(9))
    let new = Self.anew()
    hand.answer(Page(messages: new, hasNext: true, head: Position(epoch: "f", offset: 12)))
    let end = Position(epoch: "f", offset: 8)
    #expect(hand.fetches.last?.query == .after(end, limit: 100))
    #expect(hand.model.recovery.cursor.position == end)
  }

  @Test func `while the socket stands pages of an older state lead up to it`() throws {
    var hand = try Self.ahead()
    hand.pass(10)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.answer(Hand.page(6...8, head: 8))
    #expect(hand.model.recovery.cursor.position == Hand.at(9))
    #expect(hand.model.isWhole)
  }

  @Test func `after another socket opened the log may hold another message in its place`() throws {
    var hand = try Self.ahead()
    hand.reconnect(head: 9, settles: false)
    hand.answer(Hand.page(6...8, head: 9, hasNext: true))
    #expect(hand.fetches.last?.query == .after(Hand.at(8), limit: 100))
    hand.answer(
      Page(messages: [Hand.other(9, "theirs")], hasNext: false, head: Hand.at(9)))
    #expect(hand.model.timeline.messages.map(\.text) == ["m6", "m7", "m8", "m9", "theirs"])
    #expect(hand.model.isWhole)
  }

  @Test func `the answer to a post without a socket is fetched again if something lies before it`()
    throws
  {
    var hand = Hand.connected(at: 5)
    hand.lose()
    hand.send("mine")
    let entry = try #require(hand.model.outbox.entries.first)
    hand.give(.posted(entry.id, Hand.other(7, "mine")))
    #expect(hand.model.recovery.cursor.position == Hand.at(5))
    #expect(hand.model.recovery.ahead == [])
    let attempt = try #require(hand.model.link.currentAttempt)
    hand.give(.opened(attempt, head: Hand.at(7)))
    #expect(hand.fetches.last?.query == .after(Hand.at(5), limit: 100))
    let page = [Hand.message(6), Hand.other(7, "mine")]
    hand.answer(Page(messages: page, hasNext: false, head: Hand.at(7)))
    #expect(hand.model.timeline.messages.map(\.text) == ["m6", "mine"])
    hand.answer(Hand.page([], head: 7))
    #expect(hand.model.isWhole)
  }
}
