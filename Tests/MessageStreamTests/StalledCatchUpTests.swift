import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import MessageStream

/// Tests of responses that do not deliver the messages of the server.
struct StalledCatchUpTests {
  @Test func `skips pages that cannot be read, entry by entry`() {
    var hand = Hand.connected(at: 3, head: 205)
    hand.answer(Hand.page([], head: 205, hasNext: true, rejected: 100))
    #expect(hand.fetches.last?.query == .after(Hand.at(103), limit: 100))
    hand.answer(Hand.page([], head: 205, hasNext: true, rejected: 100))
    #expect(!hand.model.isWhole)
    hand.answer(Hand.page(204...205, head: 205))
    #expect(hand.texts == ["m204", "m205"])
    #expect(hand.model.recovery.cursor.position == Hand.at(205))
    #expect(hand.model.isWhole)
  }

  @Test func `requests a page that leads nowhere again, ever less often`() {
    var hand = Hand.connected(at: 3, head: 500)
    let nothing = Hand.page([], head: 500, hasNext: true)
    hand.answer(nothing)
    #expect(!hand.model.isWhole)
    #expect(hand.model.recovery.cursor.position == Hand.at(3))
    let asked = hand.fetches.count
    hand.pass(600, answering: nothing)
    #expect((20...40).contains(hand.fetches.count - asked))
    hand.pass(30, answering: Hand.page([4], head: 4))
    #expect(hand.model.isWhole)
  }

  @Test func `skips unreadable newest pages by number`() {
    var hand = Hand()
    hand.answer(Hand.page([], head: 90, hasNext: true, rejected: 50))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
    for _ in 1...9 { hand.answer(Hand.page([], head: 900, hasNext: true, rejected: 50)) }
    #expect(hand.fetches.count == 10)
    #expect(!hand.model.isWhole)
    #expect(hand.model.recovery.cursor.position == nil)
  }

  @Test func `queries a server that lags behind itself ever less often`() {
    var hand = Hand.connected(at: 4)
    hand.hear(Hand.message(6))
    let lag = Hand.page([], head: 4)
    hand.answer(lag)
    let asked = hand.fetches.count
    hand.pass(600, answering: lag)
    #expect((20...40).contains(hand.fetches.count - asked))
    hand.pass(30, answering: Hand.page(5...6, head: 6))
    #expect(hand.model.recovery.cursor.position == Hand.at(6))
    #expect(hand.model.recovery.failures == 0)
  }

  @Test func `honors the server's retry-after up to the policy's maximum`() throws {
    let failure = LinkFailure.http(status: 503, retryAfter: .seconds(1_000_000), detail: "")
    var hand = Hand.connected(at: 4, head: 5)
    let longest = hand.model.settings.policy.retry.maxRetryAfter
    let run = try #require(hand.fetches.last)
    hand.give(.fetchFailed(run.id, failure))
    #expect(hand.model.recovery.retryAt == hand.now.advanced(by: longest))
    hand.send("ok")
    hand.fail(hand.posts[0].id, failure)
    #expect(hand.model.outbox.queue.deadline == hand.now.advanced(by: longest))
  }

  @Test func `a response that lags behind the cursor does not move it`() {
    var hand = Hand.connected(at: 5)
    hand.give(.refresh)
    hand.answer(Hand.page([], head: 3))
    #expect(hand.commits.last?.cursor?.position == Hand.at(5))
  }

  @Test func `skips a newest page whose only entry cannot be read`() {
    var hand = Hand()
    hand.answer(Hand.page([], head: 90, hasNext: true, rejected: 1))
    #expect(hand.fetches.last?.query == .page(number: 2, limit: 50))
  }

  @Test func `jitter spreads the waits over the last quarter`() throws {
    let waits = try (UInt64(1)...100).map { seed in
      var hand = Hand.connected(at: 3, head: 500)
      hand.model.generator = RandomSource(seed: seed)
      hand.answer(Hand.page([], head: 500, hasNext: true))
      return hand.now.duration(to: try #require(hand.model.recovery.retryAt))
    }
    let shortest = try #require(waits.min())
    let longest = try #require(waits.max())
    #expect(shortest >= .milliseconds(750) && shortest < .milliseconds(800))
    #expect(longest <= .seconds(1) && longest > .milliseconds(950))
  }

  @Test func `newest pages cover everything up to the head of the first of them`() {
    var hand = Hand()
    hand.answer(Hand.page([], head: 90, hasNext: true, rejected: 50))
    hand.answer(Hand.page(1...45, head: 95))
    #expect(hand.model.recovery.cursor.position == Hand.at(90))
  }
}
