import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of responses that do not contain the server's messages.
struct StalledCatchUpTests {
  @Test func `skips pages that cannot be read, entry by entry`() {
    var harness = Harness.connected(at: 3, head: 205)
    harness.answer(Harness.page([], head: 205, hasNext: true, rejected: 100))
    #expect(harness.fetches.last?.query == .after(Harness.at(103), limit: 100))
    harness.answer(Harness.page([], head: 205, hasNext: true, rejected: 100))
    #expect(!harness.model.isWhole)
    harness.answer(Harness.page(204...205, head: 205))
    #expect(harness.texts == ["m204", "m205"])
    #expect(harness.model.recovery.cursor.position == Harness.at(205))
    #expect(harness.model.isWhole)
  }

  @Test func `requests a page that leads nowhere again, ever less often`() {
    var harness = Harness.connected(at: 3, head: 500)
    let nothing = Harness.page([], head: 500, hasNext: true)
    harness.answer(nothing)
    #expect(!harness.model.isWhole)
    #expect(harness.model.recovery.cursor.position == Harness.at(3))
    let asked = harness.fetches.count
    harness.pass(600, answering: nothing)
    #expect((20...40).contains(harness.fetches.count - asked))
    harness.pass(30, answering: Harness.page([4], head: 4))
    #expect(harness.model.isWhole)
  }

  @Test func `skips unreadable newest pages by number`() {
    var harness = Harness()
    harness.answer(Harness.page([], head: 90, hasNext: true, rejected: 50))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
    for _ in 1...9 { harness.answer(Harness.page([], head: 900, hasNext: true, rejected: 50)) }
    #expect(harness.fetches.count == 10)
    #expect(!harness.model.isWhole)
    #expect(harness.model.recovery.cursor.position == nil)
  }

  @Test func `queries a server that lags behind itself ever less often`() {
    var harness = Harness.connected(at: 4)
    harness.receive(Harness.message(6))
    let lag = Harness.page([], head: 4)
    harness.answer(lag)
    let asked = harness.fetches.count
    harness.pass(600, answering: lag)
    #expect((20...40).contains(harness.fetches.count - asked))
    harness.pass(30, answering: Harness.page(5...6, head: 6))
    #expect(harness.model.recovery.cursor.position == Harness.at(6))
    #expect(harness.model.recovery.failures == 0)
  }

  @Test func `honors the server's retry-after up to the policy's maximum`() throws {
    let failure = LinkFailure.http(status: 503, retryAfter: .seconds(1_000_000), detail: "")
    var harness = Harness.connected(at: 4, head: 5)
    let longest = harness.model.settings.policy.retry.maxRetryAfter
    let run = try #require(harness.fetches.last)
    harness.give(.fetchFailed(run.id, failure))
    #expect(harness.model.recovery.retryAt == harness.now.advanced(by: longest))
    harness.send("ok")
    harness.fail(harness.posts[0].id, failure)
    #expect(harness.model.outbox.queue.deadline == harness.now.advanced(by: longest))
  }

  @Test func `a response that lags behind the cursor does not move it`() {
    var harness = Harness.connected(at: 5)
    harness.give(.refresh)
    harness.answer(Harness.page([], head: 3))
    #expect(harness.commits.last?.cursor?.position == Harness.at(5))
  }

  @Test func `skips a newest page whose only entry cannot be read`() {
    var harness = Harness()
    harness.answer(Harness.page([], head: 90, hasNext: true, rejected: 1))
    #expect(harness.fetches.last?.query == .page(number: 2, limit: 50))
  }

  @Test func `jitter spreads the waits over the last quarter`() throws {
    let waits = try (UInt64(1)...100).map { seed in
      var harness = Harness.connected(at: 3, head: 500)
      harness.model.generator = RandomSource(seed: seed)
      harness.answer(Harness.page([], head: 500, hasNext: true))
      return harness.now.duration(to: try #require(harness.model.recovery.retryAt))
    }
    let shortest = try #require(waits.min())
    let longest = try #require(waits.max())
    #expect(shortest >= .milliseconds(750) && shortest < .milliseconds(800))
    #expect(longest <= .seconds(1) && longest > .milliseconds(950))
  }

  @Test func `newest pages cover everything up to the head of the first of them`() {
    var harness = Harness()
    harness.answer(Harness.page([], head: 90, hasNext: true, rejected: 50))
    harness.answer(Harness.page(1...45, head: 95))
    #expect(harness.model.recovery.cursor.position == Harness.at(90))
  }
}
