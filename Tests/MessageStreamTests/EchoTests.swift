import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of recognizing a sent message on a plain server.
struct EchoTests {
  private static let lost = LinkFailure.timeout(.response)

  private static func dones(_ hand: Hand) -> Int {
    hand.effects.count { if case .update(.outboxDone) = $0 { true } else { false } }
  }

  @Test(arguments: [nil, "me"])
  func `the same text by another user does not end an own message`(user: String?) throws {
    var hand = Hand.plain(user: user)
    hand.send("ok")
    let entry = try #require(hand.posts.last)
    hand.hear(Hand.message(9, text: "ok", user: "another", isPlain: true))
    hand.fail(entry.id, .http(status: 400, retryAfter: nil, detail: "no"))
    #expect(hand.model.outbox.entries.map(\.state) == [.failed(reason: "no")])
  }

  @Test func `the answer to one message gives the author of the next`() throws {
    var hand = Hand.plain()
    hand.send("first")
    let first = try #require(hand.posts.last)
    hand.give(.posted(first.id, Hand.message(9, text: "first", user: "me", isPlain: true)))
    hand.send("second")
    let second = try #require(hand.posts.last)
    hand.fail(second.id, Self.lost)
    hand.hear(Hand.message(10, text: "second", user: "me", isPlain: true))
    #expect(hand.model.outbox.entries == [])
    #expect(hand.posts.count == 2)
  }

  @Test func `the answer to a post leaves the cursor until the socket delivers the message`()
    throws
  {
    var hand = Hand.plain(user: "me")
    let before = hand.model.recovery.cursor.time
    hand.send("ok")
    let entry = try #require(hand.posts.last)
    let own = Hand.message(9, text: "ok", user: "me", isPlain: true)
    hand.give(.posted(entry.id, own))
    #expect(hand.model.recovery.cursor.time == before)
    // Nothing shows yet that all earlier messages have arrived.
    #expect(hand.model.recovery.unplaced == [own.id])
    hand.hear(own)
    #expect(hand.model.recovery.cursor.time == own.createdAt)
    #expect(hand.model.recovery.unplaced == [])
  }

  @Test func `sends an unanswered message again if the author is unknown`() throws {
    var hand = Hand.plain()
    hand.send("ok")
    let entry = try #require(hand.posts.last)
    hand.fail(entry.id, Self.lost)
    let page = Page(
      messages: [Hand.message(9, text: "ok", user: "me", isPlain: true)], hasNext: false)
    hand.pass(5, answering: page)
    hand.answer(page)
    #expect(hand.posts.map(\.id) == [entry.id, entry.id])
  }

  @Test func `searches for a message that failed during an attempt before sending it again`() {
    var hand = Hand.plain(user: "me")
    hand.send("once")
    hand.give(.credentials(.cleared))
    #expect(hand.model.outbox.entries.map(\.state) == [.failed(reason: "sign in to send")])
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.give(.retry(hand.posts[0].id))
    #expect(hand.posts.count == 1)
    let page = Page(
      messages: [Hand.message(9, text: "once", user: "me", isPlain: true)], hasNext: false)
    hand.answer(page)
    hand.pass(30, answering: page)
    #expect(hand.posts.count == 1)
    #expect(hand.model.outbox.entries == [])
  }

  @Test func `an echo that arrives after a search without result ends its entry`() throws {
    var hand = Hand.plain(user: "me")
    hand.send("once")
    hand.fail(try #require(hand.posts.last).id, Self.lost)
    hand.pass(5, answering: Hand.nothing)
    hand.answer(Hand.nothing)
    let again = try #require(hand.posts.dropFirst().last)
    hand.fail(again.id, .http(status: 503, retryAfter: nil, detail: "busy"))
    hand.hear(Hand.message(9, text: "once", user: "me", isPlain: true))
    #expect(hand.model.outbox.entries == [])
    #expect(hand.posts.count == 2)
    #expect(Self.dones(hand) == 1)
  }

  @Test func `only the first echo during an attempt waits for the end of the attempt`() throws {
    var hand = Hand.plain(user: "me")
    hand.send("ok")
    let entry = try #require(hand.posts.last)
    hand.hear(Hand.message(9, text: "ok", user: "me", isPlain: true))
    #expect(hand.model.timeline.messages.map(\.text) == [])
    hand.hear(Hand.message(10, text: "ok", user: "me", isPlain: true))
    #expect(hand.model.timeline.messages.count == 1)
    hand.fail(entry.id, Self.lost)
    #expect(hand.model.timeline.messages.count == 2)
    #expect(Self.dones(hand) == 1)
  }

  @Test func `forgets the author when the user signs out`() {
    var hand = Hand.plain()
    hand.give(.user("me"))
    hand.give(.credentials(.cleared))
    #expect(hand.model.outbox.author == nil)
  }

  @Test func `an attempt keeps its time limit while an older message waits for a search`() throws {
    var hand = Hand.plain(user: "me")
    hand.send("once")
    hand.give(.credentials(.cleared))
    hand.give(.credentials(.available(expiresIn: nil)))
    hand.send("twice")
    #expect(hand.posts.map(\.text) == ["once", "twice"])
    hand.give(.retry(hand.posts[0].id))
    hand.give(.refresh)
    let sending = try #require(hand.model.outbox.queue.sending(hand.posts[1].id))
    #expect(hand.model.sendDeadline == sending.until)
  }

  @Test func `a refused certificate ends both the sending and the link`() throws {
    let failure = LinkFailure.tls(.expired, detail: "")
    var hand = Hand.connected(at: 5)
    hand.send("words")
    hand.fail(try #require(hand.posts.last).id, failure)
    let reason = "the server's certificate was refused"
    #expect(hand.model.outbox.entries.map(\.state) == [.failed(reason: reason)])
    #expect(hand.updates.contains(.notice(.security(failure))))
  }
}
