import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of messages that arrive over a socket before messages that precede them.
struct AheadTests {
  /// Returns a harness that received a message ahead of others and failed to fetch the others.
  private static func ahead() throws -> Harness {
    var harness = Harness.connected(at: 5)
    harness.receive(Harness.message(9))
    harness.give(.fetchFailed(try #require(harness.fetches.last?.id), .reset))
    harness.effects = []
    return harness
  }

  @Test
  func `forgets a message received out of turn once a page shows that the log was rolled back`()
    throws
  {
    var harness = try Self.ahead()
    harness.give(.lifecycle(.background), at: Harness.wall)
    harness.give(.lifecycle(.foreground), at: Harness.wall)
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.connect(Harness.page([], head: 5), head: Harness.at(5))
    #expect(harness.model.isWhole)
    #expect(harness.fetches.count == 1)
  }

  @Test func `forgets a message received out of turn when the next socket has an earlier head`()
    throws
  {
    var harness = try Self.ahead()
    harness.reconnect(head: 5, accepts: false)
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.answer(Harness.page([], head: 5))
    #expect(harness.model.isWhole)
    harness.pass(60)
    #expect(harness.fetches.count == 1)
  }

  @Test func `ignores a message received out of turn when the log begins anew`() throws {
    var harness = Harness.connected(at: 5)
    harness.receive(Harness.message(9))
    let new = Self.anew()
    harness.answer(Page(messages: new, hasNext: false, head: new[7].position, recovered: false))
    #expect(harness.model.recovery.cursor.position == new[7].position)
    #expect(harness.model.recovery.ahead == [])
  }

  /// Returns eight messages of a log that began anew.
  private static func anew() -> [ShopMessage] {
    (UInt64(1)...8).map { offset in
      var message = Harness.other(offset, "new")
      message.position = ShopPosition(epoch: "f", offset: offset)
      return message
    }
  }

  @Test func `forgets a message received out of turn when a new log continues like the old one`()
    throws
  {
    var harness = Harness.connected(at: 5, head: 7)
    harness.receive(Harness.message(9))
    let new = Self.anew()
    let head = ShopPosition(epoch: "f", offset: 9)
    harness.answer(Page(messages: Array(new[..<3]), hasNext: true, head: head))
    #expect(harness.model.recovery.ahead == [])
    harness.answer(Page(messages: Array(new[3...]), hasNext: false, head: new[7].position))
    #expect(harness.model.recovery.cursor.position == new[7].position)
  }

  @Test func `does not append a message received out of turn to the last page of a new log`() {
    var harness = Harness.connected(at: 5, head: 7)
    harness.receive(Harness.message(9))
    let new = Self.anew()
    harness.answer(Page(messages: new, hasNext: true, head: ShopPosition(epoch: "f", offset: 12)))
    let end = ShopPosition(epoch: "f", offset: 8)
    #expect(harness.fetches.last?.query == .after(end, limit: 100))
    #expect(harness.model.recovery.cursor.position == end)
  }

  @Test func `pages of an older state lead up to the message while the socket stays open`() throws {
    var harness = try Self.ahead()
    harness.pass(10)
    #expect(harness.fetches.map(\.query) == [.after(Harness.at(5), limit: 100)])
    harness.answer(Harness.page(6...8, head: 8))
    #expect(harness.model.recovery.cursor.position == Harness.at(9))
    #expect(harness.model.isWhole)
  }

  @Test func `allows another message at the same position after a new socket opened`() throws {
    var harness = try Self.ahead()
    harness.reconnect(head: 9, accepts: false)
    harness.answer(Harness.page(6...8, head: 9, hasNext: true))
    #expect(harness.fetches.last?.query == .after(Harness.at(8), limit: 100))
    harness.answer(
      Page(messages: [Harness.other(9, "theirs")], hasNext: false, head: Harness.at(9)))
    #expect(harness.model.timeline.messages.map(\.text) == ["m6", "m7", "m8", "m9", "theirs"])
    #expect(harness.model.isWhole)
  }

  @Test func `offsets beyond a limit are not remembered, and are fetched`() {
    var recovery = Recovery()
    recovery.cursor.position = Harness.at(5)
    let last = UInt64(6 + StreamSettings.offsetsAhead)
    for offset in 7...last {
      let isWhole = recovery.take(Harness.at(offset), advancing: true, isConnected: true)
      #expect(!isWhole)
      if offset == last - 1 { #expect(recovery.ahead.count == StreamSettings.offsetsAhead - 1) }
    }
    #expect(recovery.ahead.count == StreamSettings.offsetsAhead)
    _ = recovery.take(Harness.at(last + 1), advancing: true, isConnected: true)
    #expect(recovery.ahead.count == StreamSettings.offsetsAhead)
    let isWhole = recovery.take(Harness.at(6), advancing: true, isConnected: true)
    #expect(isWhole && recovery.cursor.position == Harness.at(last))
    // The next frame shows that the one beyond the limit was forgotten.
    let next = recovery.take(Harness.at(last + 2), advancing: true, isConnected: true)
    #expect(!next && recovery.ahead == [last + 2])
  }

  @Test func `fetches the answer to a post without a socket again if a message may precede it`()
    throws
  {
    var harness = Harness.connected(at: 5)
    harness.lose()
    harness.send("mine")
    let entry = try #require(harness.model.outbox.entries.first)
    harness.give(.posted(entry.id, Harness.other(7, "mine")))
    #expect(harness.model.recovery.cursor.position == Harness.at(5))
    #expect(harness.model.recovery.ahead == [])
    let attempt = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(attempt, head: Harness.at(7)))
    #expect(harness.fetches.last?.query == .after(Harness.at(5), limit: 100))
    let page = [Harness.message(6), Harness.other(7, "mine")]
    harness.answer(Page(messages: page, hasNext: false, head: Harness.at(7)))
    #expect(harness.model.timeline.messages.map(\.text) == ["m6", "mine"])
    harness.answer(Harness.page([], head: 7))
    #expect(harness.model.isWhole)
  }
}
