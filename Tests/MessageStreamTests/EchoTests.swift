import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests that a sent message is recognized on a plain server.
struct EchoTests {
  private static let lost = LinkFailure.timeout(.response)

  private static func dones(_ harness: Harness) -> Int {
    harness.effects.count { if case .update(.outboxDone) = $0 { true } else { false } }
  }

  @Test(arguments: [nil, "me"])
  func `the same text by another user does not end an own message`(user: String?) throws {
    var harness = Harness.plain(user: user)
    harness.send("ok")
    let entry = try #require(harness.posts.last)
    harness.receive(Harness.message(9, text: "ok", user: "another", isPlain: true))
    harness.fail(entry.id, .http(status: 400, retryAfter: nil, detail: "no"))
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: "no")])
  }

  @Test func `the answer to one message gives the author of the next`() throws {
    var harness = Harness.plain()
    harness.send("first")
    let first = try #require(harness.posts.last)
    harness.give(.posted(first.id, Harness.message(9, text: "first", user: "me", isPlain: true)))
    harness.send("second")
    let second = try #require(harness.posts.last)
    harness.fail(second.id, Self.lost)
    harness.receive(Harness.message(10, text: "second", user: "me", isPlain: true))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.posts.count == 2)
  }

  @Test func `the answer to a post leaves the cursor until the socket delivers the message`()
    throws
  {
    var harness = Harness.plain(user: "me")
    let before = harness.model.recovery.cursor.time
    harness.send("ok")
    let entry = try #require(harness.posts.last)
    let own = Harness.message(9, text: "ok", user: "me", isPlain: true)
    harness.give(.posted(entry.id, own))
    #expect(harness.model.recovery.cursor.time == before)
    // It is not yet known whether all earlier messages have arrived.
    #expect(harness.model.recovery.unplaced == [own.id])
    harness.receive(own)
    #expect(harness.model.recovery.cursor.time == own.createdAt)
    #expect(harness.model.recovery.unplaced == [])
  }

  @Test func `sends an unanswered message again if the author is unknown`() throws {
    var harness = Harness.plain()
    harness.send("ok")
    let entry = try #require(harness.posts.last)
    harness.fail(entry.id, Self.lost)
    let page = Page(
      messages: [Harness.message(9, text: "ok", user: "me", isPlain: true)], hasNext: false)
    harness.pass(5, answering: page)
    harness.answer(page)
    #expect(harness.posts.map(\.id) == [entry.id, entry.id])
  }

  @Test func `searches for a message that failed during an attempt before sending it again`() {
    var harness = Harness.plain(user: "me")
    harness.send("once")
    harness.give(.credentials(.cleared))
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: "sign in to send")])
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.give(.retry(harness.posts[0].id))
    #expect(harness.posts.count == 1)
    let page = Page(
      messages: [Harness.message(9, text: "once", user: "me", isPlain: true)], hasNext: false)
    harness.answer(page)
    harness.pass(30, answering: page)
    #expect(harness.posts.count == 1)
    #expect(harness.model.outbox.entries == [])
  }

  @Test func `an echo that arrives after a search without result ends its entry`() throws {
    var harness = Harness.plain(user: "me")
    harness.send("once")
    harness.fail(try #require(harness.posts.last).id, Self.lost)
    harness.pass(5, answering: Harness.nothing)
    harness.answer(Harness.nothing)
    let again = try #require(harness.posts.dropFirst().last)
    harness.fail(again.id, .http(status: 503, retryAfter: nil, detail: "busy"))
    harness.receive(Harness.message(9, text: "once", user: "me", isPlain: true))
    #expect(harness.model.outbox.entries == [])
    #expect(harness.posts.count == 2)
    #expect(Self.dones(harness) == 1)
  }

  @Test func `only the first echo during an attempt waits for the end of the attempt`() throws {
    var harness = Harness.plain(user: "me")
    harness.send("ok")
    let entry = try #require(harness.posts.last)
    harness.receive(Harness.message(9, text: "ok", user: "me", isPlain: true))
    #expect(harness.model.timeline.messages.map(\.text) == [])
    harness.receive(Harness.message(10, text: "ok", user: "me", isPlain: true))
    #expect(harness.model.timeline.messages.count == 1)
    harness.fail(entry.id, Self.lost)
    #expect(harness.model.timeline.messages.count == 2)
    #expect(Self.dones(harness) == 1)
  }

  @Test func `forgets the author when the user signs out`() {
    var harness = Harness.plain()
    harness.give(.user("me"))
    harness.give(.credentials(.cleared))
    #expect(harness.model.outbox.author == nil)
  }

  @Test func `an attempt keeps its time limit while an older message waits for a search`() throws {
    var harness = Harness.plain(user: "me")
    harness.send("once")
    harness.give(.credentials(.cleared))
    harness.give(.credentials(.available(expiresIn: nil)))
    harness.send("twice")
    #expect(harness.posts.map(\.text) == ["once", "twice"])
    harness.give(.retry(harness.posts[0].id))
    harness.give(.refresh)
    let sending = try #require(harness.model.outbox.queue.sending(harness.posts[1].id))
    #expect(harness.model.sendDeadline == sending.until)
  }

  @Test func `a refused certificate ends both the sending and the link`() throws {
    let failure = LinkFailure.tls(.expired, detail: "")
    var harness = Harness.connected(at: 5)
    harness.send("words")
    harness.fail(try #require(harness.posts.last).id, failure)
    let reason = "the server's certificate was refused"
    #expect(harness.model.outbox.entries.map(\.state) == [.failed(reason: reason)])
    #expect(harness.updates.contains(.notice(.security(failure))))
  }
}
