import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

@Suite struct PromptTests {
  @Test func `a prompt is stored before it is shown as queued and sent`() {
    var bench = SessionBench.connected()
    bench.holdsStore = true
    bench.prompt("a")
    #expect(bench.states == [])
    #expect(bench.prompts == [])
    let key = bench.key("a")
    bench.commit()
    #expect(bench.states == ["a queued", "a sent"])
    #expect(
      bench.prompts == [
        SessionPrompt(
          text: "a", conversation: "c", isNew: true, idempotencyKey: key.description, number: 1)
      ])
  }

  @Test func `a prompt is queued, sent, accepted and answered`() {
    var bench = SessionBench.talking()
    #expect(bench.states == ["first queued", "first sent", "first accepted", "first answered"])
    #expect(bench.messages == ["m0 live"])
    #expect(bench.acks == ["m0"])
    #expect(bench.model.isSettled)
    bench.prompt("b")
    #expect(bench.prompts.map(\.isNew) == [true, false])
    #expect(bench.prompts.map(\.number) == [1, 2])
  }

  @Test func `sends the prompts of a conversation in order, one in flight at a time`() {
    var bench = SessionBench.connected()
    for text in ["a", "b", "c"] { bench.prompt(text) }
    for text in ["a", "b", "c"] {
      #expect(bench.prompts.last?.text == text)
      let key = bench.key(text)
      bench.ack(key)
      #expect(bench.prompts.last?.text == text)
      bench.respond("m-\(text)", to: key)
    }
    #expect(bench.prompts.map(\.text) == ["a", "b", "c"])
  }

  @Test func `another conversation waits for the ack, not for the answer`() {
    var bench = SessionBench.prompted()
    bench.prompt("b", in: "d")
    #expect(bench.prompts.map(\.text) == ["a"])
    bench.ack(bench.key("a"))
    #expect(bench.prompts.map(\.text) == ["a", "b"])
  }

  @Test func `a prompt without an ack holds up others for 10 s`() {
    var bench = SessionBench.prompted()
    bench.prompt("b", in: "d")
    bench.pass(.milliseconds(9_999))
    #expect(bench.prompts.map(\.text) == ["a"])
    bench.pass(.milliseconds(1))
    #expect(bench.prompts.map(\.text) == ["a", "b"])
  }

  @Test func `an ack without a key belongs to the only message awaiting one`() {
    var bench = SessionBench.opened()
    bench.say(.hello(SessionHello(message: "")))
    bench.say(.connected(SessionConnected(message: "", session: "", version: .newest)))
    // The maximum message size was sent.
    bench.prompt("a")
    #expect(bench.states == ["a queued"])
    bench.ack(nil)
    #expect(bench.states == ["a queued", "a sent"])
    bench.ack(nil)
    #expect(bench.states.last == "a accepted")
  }

  @Test(arguments: [false, true])
  func `sends a lost prompt again under its key to a server with keys`(isAccepted: Bool) {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    if isAccepted { bench.ack(key) }
    bench.lose()
    bench.connect()
    #expect(bench.prompts.map(\.text) == ["a", "a"])
    #expect(bench.prompts.map(\.idempotencyKey) == [key.description, key.description])
    bench.respond("m1", to: key)
    #expect(bench.states.last == "a answered")
  }

  @Test func `sends a prompt without an ack again after 30 s to a server with keys`() {
    var bench = SessionBench.prompted()
    bench.pass(.milliseconds(29_999))
    #expect(bench.prompts.count == 1)
    bench.pass(.milliseconds(1))
    #expect(bench.prompts.count == 2)
    #expect(Set(bench.prompts).count == 1)
  }

  @Test func `requests a plain server's history before it sends a lost prompt again`() {
    var bench = SessionBench.prompted([])
    bench.lose()
    bench.connect([])
    #expect(bench.prompts.count == 1)
    #expect(bench.subscriptions.map(\.conversation) == ["c"])
    bench.say(.window([], next: 0))
    #expect(bench.prompts.count == 2)
  }

  @Test func `a prompt in a plain server's history was accepted and is not sent again`() {
    var bench = SessionBench.prompted([])
    bench.lose()
    bench.connect([])
    bench.say(.window([.one("u1", .user, "a", at: 0)], next: 1))
    #expect(bench.prompts.count == 1)
    #expect(bench.states == ["a queued", "a sent", "a accepted"])
    bench.say(.window([.one("u2", .assistant, "A", at: 1)], next: 2))
    #expect(bench.states.last == "a accepted")
    bench.respond("u2", to: nil, "A")
    #expect(bench.states.last == "a answered")
    #expect(bench.messages.map { $0.prefix(2) } == ["u2"])
  }

  @Test func `an own prompt in a plain server's history is not shown after a replay of its answer`()
  {
    var bench = SessionBench.lostByPlainServer()
    let answer = SessionEntry.one("u2", .assistant, "A", at: 1)
    bench.say(.replay(id: "u2", answer, number: nil))
    bench.say(.window([.one("u1", .user, "a", at: 0), answer], next: 2))
    #expect(bench.states.last == "a answered")
    #expect(bench.messages == ["u2 replay"])
  }

  @Test func `an own prompt in a plain server's history is not shown on the next connection`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("u2", to: nil, "A")
    bench.lose()
    bench.connect([])
    let answer = SessionEntry.one("u2", .assistant, "A", at: 1)
    bench.say(.window([.one("u1", .user, "a", at: 0), answer], next: 2))
    #expect(bench.messages == ["u2 live"])
    // The same text of another client is new.
    bench.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(bench.messages == ["u2 live", "u3 live"])
  }

  @Test func `reports a repeated end once before it is stored`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.ack(key)
    bench.holdsStore = true
    for _ in 1...3 {
      bench.say(
        .response(
          SessionResponse(
            id: nil, conversation: SessionBench.conversation, idempotencyKey: key.description,
            result: .failure(error: "no"))))
    }
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.states.filter { $0 == "a failed" } == ["a failed"])
  }

  @Test(arguments: [true, false])
  func `stores an ack at once only for a server without keys`(isPlain: Bool) {
    var bench = SessionBench.prompted(isPlain ? [] : [.idempotency])
    if isPlain { bench.ack(nil) }
    bench.ack(isPlain ? nil : bench.key("a"))
    bench.respond("m1", to: isPlain ? nil : bench.key("a"))
    // From here on the conversation is known.
    bench.prompt("b")
    let before = bench.log.count
    bench.ack(isPlain ? nil : bench.key("b"))
    #expect(bench.states.last == "b accepted")
    let commits = bench.log[before...].compactMap { effect in
      if case .commit(_, let change) = effect { change } else { nil }
    }
    #expect(commits.map { $0.prompts.map(\.isAccepted) } == (isPlain ? [[true]] : []))
    // The next change stores it in any case.
    bench.prompt("c")
    #expect(bench.store.open(as: SessionBench.client).prompts.map(\.isAccepted) == [true, false])
  }

  @Test func `a prompt sent twice may appear twice`() {
    var bench = SessionBench.prompted([])
    bench.lose()
    bench.connect([])
    bench.say(.window([], next: 0))
    #expect(bench.prompts.count == 2)
    bench.say(.window([.one("u1", .user, "a", at: 0)], next: 1))
    bench.say(.window([.one("u3", .user, "a", at: 1)], next: 2))
    #expect(bench.messages == [])
  }

  @Test func `a plain server's prompt has an unknown outcome after 300 s and is not sent again`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.pass(.milliseconds(299_999))
    #expect(bench.states.last == "a accepted")
    bench.pass(.milliseconds(1))
    #expect(bench.states.last == "a unsure")
    #expect(bench.reason == SessionModel.unsureReason)
    #expect(bench.prompts.count == 1)
    let kept = bench.store.open(as: SessionBench.client).prompts
    #expect(kept.map(\.state) == [.failed(reason: SessionModel.unsureReason)])
  }

  @Test func `an accepted prompt is not sent to a plain server again after a loss`() {
    var bench = SessionBench.lostByPlainServer()
    bench.say(.window([], next: 0))
    bench.pass(.seconds(299))
    #expect(bench.prompts.count == 1)
    bench.pass(.seconds(1))
    #expect(bench.states.last == "a unsure")
  }

  @Test(arguments: ["busy", "rate_limited", "store_failed", "draining"])
  func `retries a temporarily refused prompt after 1 s, with a jitter of a quarter`(
    code: String
  ) {
    var bench = SessionBench.prompted()
    bench.refuse(bench.key("a"), code)
    #expect(bench.states.last == "a queued")
    #expect(bench.reason == code)
    bench.pass(.milliseconds(999))
    #expect(bench.prompts.count == 1)
    bench.pass(.milliseconds(251))
    #expect(bench.prompts.count == 2)
    #expect(Set(bench.prompts).count == 1)
  }

  @Test func `makes 21 attempts with a busy server, then fails the prompt`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    for count in 1...21 {
      bench.refuse(key, "rate_limited")
      // The longest wait is 37.5 s; an attempt without an answer would be retried 30 s later.
      for _ in 1...38 where bench.prompts.count == count { bench.pass(.seconds(1)) }
    }
    #expect(bench.prompts.count == 21)
    #expect(bench.states.last == "a failed")
    #expect(bench.reason == "rate_limited")
  }

  @Test(arguments: ["conflict", "too_long", "idempotency_conflict"])
  func `another refusal fails the prompt and removes its entry`(code: String) {
    var bench = SessionBench.prompted()
    #expect(bench.store.history(of: "c", before: nil, limit: 9).count == 1)
    bench.refuse(bench.key("a"), code)
    #expect(bench.states.last == "a failed")
    #expect(bench.reason == code)
    #expect(bench.store.history(of: "c", before: nil, limit: 9) == [])
    #expect(bench.model.isSettled)
  }

  @Test func `a failed response keeps the entry, and a retry has a new key`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.ack(key)
    bench.say(
      .response(
        SessionResponse(
          id: "m1", conversation: "c", idempotencyKey: key.description,
          result: .failure(error: "no"))))
    #expect(bench.states.last == "a failed")
    #expect(bench.acks == ["m1"])
    #expect(bench.store.history(of: "c", before: nil, limit: 9).count == 1)
    bench.give(.retry(key))
    #expect(bench.prompts.count == 2)
    #expect(Set(bench.prompts.map(\.idempotencyKey)).count == 2)
  }

  @Test func `a failed prompt stays when it is retried while the session ends`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.refuse(key, "conflict")
    bench.holdsStore = true
    bench.prompt("b")
    bench.give(.stop)
    bench.give(.retry(key))
    #expect(bench.model.queue[key]?.text == "a")
  }

  @Test func `shows an interrupted prompt as interrupted`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.say(
      .response(
        SessionResponse(
          id: "m1", conversation: "c", idempotencyKey: key.description,
          result: .failure(error: "interrupted"))))
    #expect(bench.states.last == "a interrupted")
    #expect(bench.model.queue.items == [])
  }

  @Test func `a failed prompt can be discarded`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.refuse(key, "conflict")
    bench.give(.discard(key))
    #expect(bench.model.queue.items == [])
    #expect(bench.store.open(as: SessionBench.client).prompts == [])
  }

  @Test func `a prompt not accepted within 60 s is reported stale once`() {
    var bench = SessionBench()
    bench.restore()
    bench.prompt("a")
    let key = bench.key("a")
    bench.pass(.milliseconds(59_999))
    #expect(bench.notices == [])
    bench.pass(.milliseconds(1))
    #expect(bench.notices == [.stale(key)])
    bench.pass(.seconds(120))
    #expect(bench.notices == [.stale(key)])
  }

  @Test func `an accepted prompt does not become stale`() {
    var bench = SessionBench.prompted()
    bench.ack(bench.key("a"))
    bench.pass(.seconds(61))
    #expect(!bench.notices.contains(.stale(bench.key("a"))))
  }

  @Test func `1000 prompts may wait, and the next is refused at once`() {
    var bench = SessionBench()
    bench.restore()
    bench.isChecked = false
    for number in 1...1_000 { bench.prompt("\(number)") }
    #expect(bench.model.unanswered == 1_000)
    #expect(bench.states.last == "1000 queued")
    bench.prompt("1001")
    #expect(bench.states.last == "1001 failed")
    #expect(bench.reason == "too many prompts wait for an answer")
    #expect(bench.model.unanswered == 1_000)
    #expect(bench.model.brokenInvariants(.thorough) == [])
  }

  @Test(arguments: [(0, false), (1, true), (524_288, true), (524_289, false)])
  func `a prompt has 1 to 524,288 bytes`(count: Int, isTaken: Bool) {
    var bench = SessionBench.connected()
    bench.isChecked = false
    bench.prompt(String(repeating: "x", count: count))
    #expect(bench.prompts.count == (isTaken ? 1 : 0))
  }

  @Test(arguments: [(0, true), (1, false)])
  func `a prompt has at most 983,040 bytes as JSON`(more: Int, isTaken: Bool) {
    var bench = SessionBench.connected()
    bench.isChecked = false
    let empty = SessionClientMessage.prompt(
      SessionPrompt(
        text: "", conversation: "c", isNew: false,
        idempotencyKey: UUID128(high: 0, low: 0).description, number: 1))
    let room = 983_040 - empty.bytes.count
    let text = String(repeating: "\"", count: room / 2)
    bench.prompt(text + String(repeating: "x", count: room % 2 + more))
    #expect(bench.prompts.count == (isTaken ? 1 : 0))
  }

  @Test func `cancels a prompt by its conversation`() {
    var bench = SessionBench.prompted()
    bench.give(.cancel(conversation: "c"))
    #expect(bench.sent.last == .killSession(conversation: "c"))
  }
}
