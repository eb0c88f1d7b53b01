import LinkCore
import LinkWire
import Testing

@testable import Session

/// Answers of a server without ids, on one connection and over several.
@Suite struct PlainAnswerTests {
  private static let asked = SessionEntry.one("u1", .user, "a", at: 0)
  private static let said = SessionEntry.one("u2", .assistant, "A", at: 1)

  @Test func `a response without an id is not shown again by the history of the next connection`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond(nil, to: nil, "A")
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.messages.count == 1)
    // The same words once more are news.
    bench.say(.window([.one("u3", .assistant, "A", at: 2)], next: 3))
    #expect(bench.messages.count == 2)
  }

  @Test func `two responses without an id are not shown again by one later history`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond(nil, to: nil, "A")
    bench.prompt("b")
    bench.ack(nil)
    bench.respond(nil, to: nil, "B")
    let later = [
      SessionEntry.one("u3", .user, "b", at: 2), .one("u4", .assistant, "B", at: 3),
    ]
    bench.say(.window([Self.asked, Self.said] + later, next: 4))
    #expect(bench.messages.count == 2)
    #expect(bench.states.filter { $0.hasSuffix("answered") } == ["a answered", "b answered"])
  }

  @Test func `a history before the response shows the text once`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.respond(nil, to: nil, "A")
    #expect(bench.messages.map { $0.prefix(2) } == ["u2"])
    #expect(bench.states.last == "a answered")
  }

  @Test func `a prompt whose answer a history showed is answered when its response is lost`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.states.last == "a accepted")
    bench.lose()
    #expect(bench.states.last == "a answered")
    bench.connect([])
    bench.pass(.seconds(300))
    #expect(bench.states.filter { $0.hasPrefix("a ") }.last == "a answered")
    #expect(bench.prompts.count == 1)
    #expect(bench.messages.map { $0.prefix(2) } == ["u2"])
  }

  @Test func `the same words of another client take no answer from a prompt`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said, .one("u3", .user, "a", at: 2)], next: 3))
    #expect(bench.messages.map { $0.prefix(2) } == ["u2", "u3"])
    bench.lose()
    #expect(bench.states.last == "a answered")
  }

  private static let failure = SessionServerMessage.response(
    SessionResponse(id: nil, conversation: nil, result: .failure(error: "no")))

  @Test func `a failure that names no conversation ends the only prompt under way`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(Self.failure)
    #expect(bench.states.last == "a failed")
    #expect(bench.reason == "no")
  }

  @Test func `a failure that names no conversation ends none of two prompts under way`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.prompt("b", in: "d")
    bench.ack(nil)
    let before = bench.states
    #expect(before.suffix(2) == ["b sent", "b accepted"])
    bench.say(Self.failure)
    #expect(bench.states == before)
  }

  @Test func `a prompt that failed stays so, though a history showed an answer before`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.say(
      .response(
        SessionResponse(
          id: "m1", conversation: SessionBench.conversation, result: .failure(error: "no"))))
    #expect(bench.states.last == "a failed")
    bench.lose()
    #expect(bench.states.last == "a failed")
    #expect(bench.model.queue.items.map(\.text) == ["a"])
  }

  @Test func `what a history showed before the prompt does not answer it`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([.one("u0", .assistant, "old", at: 0)], next: 1))
    bench.lose()
    #expect(bench.states.last == "a accepted")
    bench.connect([])
    bench.say(
      .window([.one("u1", .user, "a", at: 1), .one("u2", .assistant, "A", at: 2)], next: 3))
    #expect(bench.states.last == "a answered")
  }

  @Test(arguments: [false, true])
  func `the answer to another client's prompt does not end one that waits`(isRelaunched: Bool) {
    var bench = SessionBench.lostByPlainServer()
    bench.say(.window([.one("u1", .user, "other", at: 0)], next: 1))
    if isRelaunched {
      bench.model = SessionModel(SessionSettings(policy: .session), seed: 8)
      bench.restore()
      bench.give(.start)
      bench.connect([])
    }
    bench.say(.window([.one("u2", .assistant, "re other", at: 1)], next: 2))
    #expect(!bench.states.contains("a answered"))
    let own = [SessionEntry.one("u3", .user, "a", at: 2), .one("u4", .assistant, "A", at: 3)]
    bench.say(.window(own, next: 4))
    #expect(bench.states.last == "a answered")
    #expect(Set(bench.messages.map { $0.prefix(2) }) == ["u1", "u2", "u4"])
  }

  /// - Parameter last: the last prompt of what comes behind the gap.
  @Test(arguments: [nil, "a", "later"])
  func `behind a gap the last prompt that is seen says what a text answers`(last: String?) {
    var bench = SessionBench.lostByPlainServer()
    bench.say(.window([.one("u1", .user, "other", at: 0)], next: 1))
    let prompt = last.map { [SessionEntry.one("u6", .user, $0, at: 6)] } ?? []
    let behind = [SessionEntry.one("u4", at: 4), .one("u5", at: 5)] + prompt
    for _ in 1...2 { bench.say(.window(behind, next: 7)) }
    #expect(bench.gaps == [.hole])
    bench.say(.window([.one("u7", .assistant, "A", at: 7)], next: 8))
    #expect(bench.states.contains("a answered") == (last != "later"))
  }

  @Test func `a prompt that only the history shows opens its conversation for good`() {
    var bench = SessionBench.prompted([])
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked], next: 1))
    #expect(bench.states.last == "a accepted")
    let known = KnownConversation(
      id: SessionBench.conversation, openedBy: bench.key("a"), offset: 1, signature: "s")
    #expect(bench.store.open(as: SessionBench.client).conversations == [known])
  }

  @Test func `a lost prompt brings the history of its conversation, and of no other`() {
    var bench = SessionBench.connected([])
    bench.prompt("a", in: "d")
    bench.lose()
    bench.connect([])
    #expect(bench.subscriptions.map(\.conversation) == ["d"])
  }

  @Test func `an answer that is stored late ends a prompt that is on its way again`() {
    var bench = SessionBench.lostByPlainServer()
    bench.holdsStore = true
    bench.say(.window([.one("u1", .user, "a", at: 0), .one("u2", at: 1)], next: 2))
    bench.lose()
    // Its next version knows keys.
    bench.connect()
    #expect(bench.prompts.map(\.text) == ["a", "a"])
    bench.holdsStore = false
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.states.last == "a answered")
    bench.prompt("b", in: "d")
    #expect(bench.prompts.map(\.text) == ["a", "a", "b"])
  }
}
