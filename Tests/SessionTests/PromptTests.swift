import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

@Suite struct PromptTests {
  @Test func `a prompt is stored before it is shown as queued and sent`() {
    var harness = SessionHarness.connected()
    harness.holdsStore = true
    harness.prompt("a")
    #expect(harness.states == [])
    #expect(harness.prompts == [])
    let key = harness.key("a")
    harness.commit()
    #expect(harness.states == ["a queued", "a sent"])
    #expect(
      harness.prompts == [
        SessionPrompt(
          text: "a", conversation: "c", isNew: true, idempotencyKey: key.description, number: 1)
      ])
  }

  @Test func `a prompt is queued, sent, accepted and answered`() {
    var harness = SessionHarness.talking()
    #expect(harness.states == ["first queued", "first sent", "first accepted", "first answered"])
    #expect(harness.messages == ["m0 live"])
    #expect(harness.acks == ["m0"])
    #expect(harness.model.isIdle)
    harness.prompt("b")
    #expect(harness.prompts.map(\.isNew) == [true, false])
    #expect(harness.prompts.map(\.number) == [1, 2])
  }

  @Test func `sends the prompts of a conversation in order, one in flight at a time`() {
    var harness = SessionHarness.connected()
    for text in ["a", "b", "c"] { harness.prompt(text) }
    for text in ["a", "b", "c"] {
      #expect(harness.prompts.last?.text == text)
      let key = harness.key(text)
      harness.ack(key)
      #expect(harness.prompts.last?.text == text)
      harness.respond("m-\(text)", to: key)
    }
    #expect(harness.prompts.map(\.text) == ["a", "b", "c"])
  }

  /// A prompt of one second on a slow connection.
  private static let long = String(repeating: "a", count: 16_384)

  @Test func `another conversation waits for the ack of a long prompt, not for the answer`() {
    var harness = SessionHarness.connected()
    harness.prompt(Self.long)
    harness.prompt("b", in: "d")
    #expect(harness.prompts.map(\.text) == [Self.long])
    harness.ack(harness.key(Self.long))
    #expect(harness.prompts.map(\.text) == [Self.long, "b"])
  }

  @Test func `a long prompt without an ack holds up others for its time and 10 s`() {
    var harness = SessionHarness.connected()
    harness.prompt(Self.long)
    harness.prompt("b", in: "d")
    harness.pass(.milliseconds(10_999))
    #expect(harness.prompts.map(\.text) == [Self.long])
    harness.pass(.milliseconds(1))
    #expect(harness.prompts.map(\.text) == [Self.long, "b"])
  }

  @Test func `an ack without a key belongs to the only message awaiting one`() {
    var harness = SessionHarness.opened()
    harness.say(.hello(SessionHello(message: "")))
    harness.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    // The maximum message size has been sent.
    harness.prompt("a")
    #expect(harness.states == ["a queued"])
    harness.ack(nil)
    #expect(harness.states == ["a queued", "a sent"])
    harness.ack(nil)
    #expect(harness.states.last == "a accepted")
  }

  @Test(arguments: [false, true])
  func `sends a lost prompt again under its key to a server with keys`(isAccepted: Bool) {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    if isAccepted { harness.ack(key) }
    harness.lose()
    harness.connect()
    #expect(harness.prompts.map(\.text) == ["a", "a"])
    #expect(harness.prompts.map(\.idempotencyKey) == [key.description, key.description])
    harness.respond("m1", to: key)
    #expect(harness.states.last == "a answered")
  }

  @Test func `sends a prompt without an ack again after 30 s to a server with keys`() {
    var harness = SessionHarness.prompted()
    harness.pass(.milliseconds(29_999))
    #expect(harness.prompts.count == 1)
    harness.pass(.milliseconds(1))
    #expect(harness.prompts.count == 2)
    #expect(Set(harness.prompts).count == 1)
  }

  @Test func `requests a plain server's history before it sends a lost prompt again`() {
    var harness = SessionHarness.prompted([])
    harness.lose()
    harness.connect([])
    #expect(harness.prompts.count == 1)
    #expect(harness.subscriptions.map(\.conversation) == ["c"])
    harness.say(.window([], next: 0))
    #expect(harness.prompts.count == 2)
  }

  @Test func `a prompt in a plain server's history was accepted and is not sent again`() {
    var harness = SessionHarness.prompted([])
    harness.lose()
    harness.connect([])
    harness.say(.window([.one("u1", .user, "a", at: 0)], next: 1))
    #expect(harness.prompts.count == 1)
    #expect(harness.states == ["a queued", "a sent", "a accepted"])
    harness.say(.window([.one("u2", .assistant, "A", at: 1)], next: 2))
    #expect(harness.states.last == "a accepted")
    harness.respond("u2", to: nil, "A")
    #expect(harness.states.last == "a answered")
    #expect(harness.messages.map { $0.prefix(2) } == ["u2"])
  }

  @Test func `an own prompt in a plain server's history is not shown after a replay of its answer`()
  {
    var harness = SessionHarness.lostByPlainServer()
    let answer = SessionEntry.one("u2", .assistant, "A", at: 1)
    harness.say(.replay(id: "u2", answer, number: nil))
    harness.say(.window([.one("u1", .user, "a", at: 0), answer], next: 2))
    #expect(harness.states.last == "a answered")
    #expect(harness.messages == ["u2 replay"])
  }

  @Test func `an own prompt in a plain server's history is not shown on the next connection`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("u2", to: nil, "A")
    harness.lose()
    harness.connect([])
    let answer = SessionEntry.one("u2", .assistant, "A", at: 1)
    harness.say(.window([.one("u1", .user, "a", at: 0), answer], next: 2))
    #expect(harness.messages == ["u2 live"])
    // The same text from another client is a new message.
    harness.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(harness.messages == ["u2 live", "u3 live"])
  }

  @Test func `reports a repeated end once before it is stored`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.ack(key)
    harness.holdsStore = true
    for _ in 1...3 {
      harness.say(
        .response(
          SessionResponse(
            id: nil, conversation: SessionHarness.conversation, idempotencyKey: key.description,
            result: .failure(error: "no"))))
    }
    while !harness.changes.isEmpty { harness.commit() }
    #expect(harness.states.filter { $0 == "a failed" } == ["a failed"])
  }

  @Test(arguments: [true, false])
  func `stores an ack at once only for a server without keys`(isPlain: Bool) {
    var harness = SessionHarness.prompted(isPlain ? [] : [.idempotency])
    if isPlain { harness.ack(nil) }
    harness.ack(isPlain ? nil : harness.key("a"))
    harness.respond("m1", to: isPlain ? nil : harness.key("a"))
    // From here on the conversation is known.
    harness.prompt("b")
    let before = harness.log.count
    harness.ack(isPlain ? nil : harness.key("b"))
    #expect(harness.states.last == "b accepted")
    let commits = harness.log[before...].compactMap { effect in
      if case .commit(_, let change) = effect { change } else { nil }
    }
    #expect(commits.map { $0.prompts.map(\.isAccepted) } == (isPlain ? [[true]] : []))
    // The next change stores the acceptance in either case.
    harness.prompt("c")
    #expect(
      harness.store.open(as: SessionHarness.client).prompts.map(\.isAccepted) == [true, false])
  }

  @Test func `a prompt sent twice may appear twice`() {
    var harness = SessionHarness.prompted([])
    harness.lose()
    harness.connect([])
    harness.say(.window([], next: 0))
    #expect(harness.prompts.count == 2)
    harness.say(.window([.one("u1", .user, "a", at: 0)], next: 1))
    harness.say(.window([.one("u3", .user, "a", at: 1)], next: 2))
    #expect(harness.messages == [])
  }

  @Test func `a plain server's prompt has an unknown outcome after 300 s and is not sent again`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.pass(.milliseconds(299_999))
    #expect(harness.states.last == "a accepted")
    harness.pass(.milliseconds(1))
    #expect(harness.states.last == "a unsure")
    #expect(harness.reason == SessionModel.unsureReason)
    #expect(harness.prompts.count == 1)
    let stored = harness.store.open(as: SessionHarness.client).prompts
    #expect(stored.map(\.state) == [.failed(reason: SessionModel.unsureReason)])
  }

  @Test func `an accepted prompt is not sent to a plain server again after a loss`() {
    var harness = SessionHarness.lostByPlainServer()
    harness.say(.window([], next: 0))
    harness.pass(.seconds(299))
    #expect(harness.prompts.count == 1)
    harness.pass(.seconds(1))
    #expect(harness.states.last == "a unsure")
  }

  @Test(arguments: ["busy", "rate_limited", "store_failed", "draining"])
  func `retries a temporarily refused prompt after 1 s, with a jitter of a quarter`(
    code: String
  ) {
    var harness = SessionHarness.prompted()
    harness.refuse(harness.key("a"), code)
    #expect(harness.states.last == "a queued")
    #expect(harness.reason == code)
    harness.pass(.milliseconds(999))
    #expect(harness.prompts.count == 1)
    harness.pass(.milliseconds(251))
    #expect(harness.prompts.count == 2)
    #expect(Set(harness.prompts).count == 1)
  }

  @Test func `makes 21 attempts with a busy server, then fails the prompt`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    for count in 1...21 {
      harness.refuse(key, "rate_limited")
      // The longest wait is 37.5 s. An attempt without an answer would be retried after 30 s.
      for _ in 1...38 where harness.prompts.count == count { harness.pass(.seconds(1)) }
    }
    #expect(harness.prompts.count == 21)
    #expect(harness.states.last == "a failed")
    #expect(harness.reason == "rate_limited")
  }

  @Test(arguments: ["conflict", "too_long", "idempotency_conflict"])
  func `another refusal fails the prompt and removes its entry`(code: String) {
    var harness = SessionHarness.prompted()
    #expect(harness.store.history(of: "c", before: nil, limit: 9).count == 1)
    harness.refuse(harness.key("a"), code)
    #expect(harness.states.last == "a failed")
    #expect(harness.reason == code)
    #expect(harness.store.history(of: "c", before: nil, limit: 9) == [])
    #expect(harness.model.isIdle)
  }

  @Test func `a failed response keeps the entry, and a retry has a new key`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.ack(key)
    harness.say(
      .response(
        SessionResponse(
          id: "m1", conversation: "c", idempotencyKey: key.description,
          result: .failure(error: "no"))))
    #expect(harness.states.last == "a failed")
    #expect(harness.acks == ["m1"])
    #expect(harness.store.history(of: "c", before: nil, limit: 9).count == 1)
    harness.retry(key)
    #expect(harness.prompts.count == 2)
    #expect(Set(harness.prompts.map(\.idempotencyKey)).count == 2)
  }

  @Test func `a failed prompt stays when it is retried while the session ends`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.refuse(key, "conflict")
    harness.holdsStore = true
    harness.prompt("b")
    harness.give(.stop)
    harness.retry(key)
    #expect(harness.model.queue[key]?.text == "a")
  }

  @Test func `shows an interrupted prompt as interrupted`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.say(
      .response(
        SessionResponse(
          id: "m1", conversation: "c", idempotencyKey: key.description,
          result: .failure(error: "interrupted"))))
    #expect(harness.states.last == "a interrupted")
    #expect(harness.model.queue.items == [])
  }

  @Test func `a failed prompt can be discarded`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.refuse(key, "conflict")
    harness.give(.discard(key))
    #expect(harness.model.queue.items == [])
    #expect(harness.store.open(as: SessionHarness.client).prompts == [])
  }

  @Test func `a prompt not accepted within 60 s is reported stale once`() {
    var harness = SessionHarness()
    harness.restore()
    harness.prompt("a")
    let key = harness.key("a")
    harness.pass(.milliseconds(59_999))
    #expect(harness.notices == [])
    harness.pass(.milliseconds(1))
    #expect(harness.notices == [.stale(key)])
    harness.pass(.seconds(120))
    #expect(harness.notices == [.stale(key)])
  }

  @Test func `an accepted prompt does not become stale`() {
    var harness = SessionHarness.prompted()
    harness.ack(harness.key("a"))
    harness.pass(.seconds(61))
    #expect(!harness.notices.contains(.stale(harness.key("a"))))
  }

  @Test func `1000 prompts may wait, and the next is refused at once`() {
    var harness = SessionHarness()
    harness.restore()
    harness.isChecked = false
    for number in 1...1_000 { harness.prompt("\(number)") }
    #expect(harness.model.unanswered == 1_000)
    #expect(harness.states.last == "1000 queued")
    harness.prompt("1001")
    #expect(harness.states.last == "1001 failed")
    #expect(harness.reason == "too many prompts wait for an answer")
    #expect(harness.model.unanswered == 1_000)
    #expect(harness.model.brokenInvariants(.thorough) == [])
  }

  @Test(arguments: [(0, false), (1, true), (524_288, true), (524_289, false)])
  func `a prompt has 1 to 524,288 bytes`(count: Int, isTaken: Bool) {
    var harness = SessionHarness.connected()
    harness.isChecked = false
    harness.prompt(String(repeating: "x", count: count))
    #expect(harness.prompts.count == (isTaken ? 1 : 0))
  }

  @Test(arguments: [(0, true), (1, false)])
  func `a prompt has at most 983,040 bytes as JSON`(more: Int, isTaken: Bool) {
    var harness = SessionHarness.connected()
    harness.isChecked = false
    let empty = SessionClientMessage.prompt(
      SessionPrompt(
        text: "", conversation: "c", isNew: false,
        idempotencyKey: UUID128(high: 0, low: 0).description, number: 1))
    let room = 983_040 - empty.bytes.count
    let text = String(repeating: "\"", count: room / 2)
    harness.prompt(text + String(repeating: "x", count: room % 2 + more))
    #expect(harness.prompts.count == (isTaken ? 1 : 0))
  }

  @Test func `cancels a prompt by its conversation`() {
    var harness = SessionHarness.prompted()
    harness.give(.cancel(conversation: "c"))
    #expect(harness.sent.last == .killSession(conversation: "c"))
  }
}
