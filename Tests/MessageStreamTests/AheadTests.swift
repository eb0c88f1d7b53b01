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

  @Test
  func `forgets a message received out of turn once a page shows that the log was rolled back`()
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

  @Test func `forgets a message received out of turn when the next socket has an earlier head`()
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

  @Test func `ignores a message received out of turn when the log begins anew`() throws {
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

  @Test func `forgets a message received out of turn when a new log continues like the old one`()
    throws
  {
    var hand = Hand.connected(at: 5, head: 7)
    hand.hear(Hand.message(9))
    let new = Self.anew()
    let head = Position(epoch: "f", offset: 9)
    hand.answer(Page(messages: Array(new[..<3]), hasNext: true, head: head))
    #expect(hand.model.recovery.ahead == [])
    hand.answer(Page(messages: Array(new[3...]), hasNext: false, head: new[7].position))
    #expect(hand.model.recovery.cursor.position == new[7].position)
  }

  @Test func `does not append a message received out of turn to the last page of a new log`() {
    var hand = Hand.connected(at: 5, head: 7)
    hand.hear(Hand.message(9))
    let new = Self.anew()
    hand.answer(Page(messages: new, hasNext: true, head: Position(epoch: "f", offset: 12)))
    let end = Position(epoch: "f", offset: 8)
    #expect(hand.fetches.last?.query == .after(end, limit: 100))
    #expect(hand.model.recovery.cursor.position == end)
  }

  @Test func `pages of an older state lead up to the message while the socket stays open`() throws {
    var hand = try Self.ahead()
    hand.pass(10)
    #expect(hand.fetches.map(\.query) == [.after(Hand.at(5), limit: 100)])
    hand.answer(Hand.page(6...8, head: 8))
    #expect(hand.model.recovery.cursor.position == Hand.at(9))
    #expect(hand.model.isWhole)
  }

  @Test func `allows another message at the same position after a new socket opened`() throws {
    var hand = try Self.ahead()
    hand.reconnect(head: 9, settles: false)
    hand.answer(Hand.page(6...8, head: 9, hasNext: true))
    #expect(hand.fetches.last?.query == .after(Hand.at(8), limit: 100))
    hand.answer(
      Page(messages: [Hand.other(9, "theirs")], hasNext: false, head: Hand.at(9)))
    #expect(hand.model.timeline.messages.map(\.text) == ["m6", "m7", "m8", "m9", "theirs"])
    #expect(hand.model.isWhole)
  }

  @Test func `fetches the answer to a post without a socket again if a message may precede it`()
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
