import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

/// Tests of answers of a server without keys, on one connection and over several.
@Suite struct PlainAnswerTests {
  private static let asked = SessionEntry.one("u1", .user, "a", at: 0)
  private static let said = SessionEntry.one("u2", .assistant, "A", at: 1)

  /// Returns a harness connected to a plain server that accepted the first prompt.
  private static func asking(_ texts: String...) -> SessionBench {
    var bench = SessionBench.connected([])
    for text in texts { bench.prompt(text) }
    bench.ack(nil)
    return bench
  }

  private static func failure(_ id: String?, in conversation: String?) -> SessionServerMessage {
    .response(SessionResponse(id: id, conversation: conversation, result: .failure(error: "no")))
  }

  // MARK: An answer counts once

  @Test func `a repeated response ends only one prompt`() {
    var bench = Self.asking("a", "b")
    for _ in 1...2 { bench.respond("m1", to: nil, "A") }
    bench.ack(nil)
    #expect(bench.states.suffix(3) == ["a answered", "b sent", "b accepted"])
    bench.respond("m1", to: nil, "A")
    #expect(bench.states.last == "b accepted")
    bench.respond("m2", to: nil, "B")
    #expect(bench.states.last == "b answered")
    #expect(bench.messages == ["m1 live", "m2 live"])
    #expect(bench.acks == ["m1", "m1", "m1", "m2"])
  }

  @Test func `a repeated failure fails only one prompt`() {
    var bench = Self.asking("a", "b")
    bench.say(Self.failure("m1", in: SessionBench.conversation))
    bench.ack(nil)
    bench.say(Self.failure("m1", in: SessionBench.conversation))
    #expect(bench.states.suffix(3) == ["a failed", "b sent", "b accepted"])
  }

  @Test func `an answer that ended a prompt in an earlier run ends no other one`() {
    var bench = Self.asking("a")
    bench.respond("m1", to: nil, "A")
    var next = SessionBench(seed: 8)
    next.store = bench.store
    next.restore()
    next.give(.start)
    next.connect([])
    next.prompt("b")
    next.ack(nil)
    next.respond("m1", to: nil, "A")
    #expect(next.states.last == "b accepted")
    next.respond("m2", to: nil, "B")
    #expect(next.states.last == "b answered")
  }

  @Test func `an answer to no prompt of this client ends no later prompt`() {
    var bench = SessionBench.connected([])
    bench.respond("m1", to: nil, "A")
    bench.prompt("a")
    bench.ack(nil)
    bench.respond("m1", to: nil, "A")
    #expect(bench.states.last == "a accepted")
  }

  @Test func `the same text again without an id may be the previous answer`() {
    var bench = Self.asking("a", "b")
    bench.respond(nil, to: nil, "A")
    bench.ack(nil)
    bench.respond(nil, to: nil, "A")
    #expect(bench.states.last == "b accepted")
    bench.pass(.milliseconds(29_999))
    #expect(bench.states.last == "b accepted")
    bench.pass(.milliseconds(1))
    #expect(bench.states.last == "b unsure")
    #expect(bench.messages.count == 1)
  }

  @Test func `the same text again without an id is an answer if the history contains both`() {
    var bench = Self.asking("a", "b")
    bench.respond(nil, to: nil, "A")
    bench.ack(nil)
    let later = [SessionEntry.one("u3", .user, "b", at: 2), .one("u4", .assistant, "A", at: 3)]
    bench.say(.window([Self.asked, Self.said] + later, next: 4))
    bench.respond(nil, to: nil, "A")
    #expect(bench.states.last == "b answered")
  }

  // MARK: The end is stored before the next prompt goes

  @Test func `sends the next prompt when the end of the last one is stored`() {
    var bench = Self.asking("a", "b")
    bench.holdsStore = true
    bench.respond("m1", to: nil, "A")
    #expect(bench.prompts.map(\.text) == ["a"])
    bench.commit()
    // The store first records that the second prompt is about to be sent.
    #expect(bench.prompts.map(\.text) == ["a"])
    #expect(bench.changes.first?.change.prompts.map(\.floor) == [0])
    bench.holdsStore = false
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.prompts.map(\.text) == ["a", "b"])
  }

  @Test func `does not send a prompt again whose end is being stored`() {
    var bench = Self.asking("a")
    bench.holdsStore = true
    bench.respond("m1", to: nil, "A")
    bench.lose()
    bench.connect()
    #expect(bench.prompts.map(\.text) == ["a"])
    bench.holdsStore = false
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.states.last == "a answered")
    bench.prompt("b", in: "d")
    #expect(bench.prompts.map(\.text) == ["a", "b"])
  }

  // MARK: An answer is shown once

  @Test func `the next connection's history does not show a response without an id again`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond(nil, to: nil, "A")
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.messages.count == 1)
    // The same text once more is a new message.
    bench.say(.window([.one("u3", .assistant, "A", at: 2)], next: 3))
    #expect(bench.messages.count == 2)
  }

  @Test func `one later history does not show two responses without an id again`() {
    var bench = Self.asking("a", "b")
    bench.respond(nil, to: nil, "A")
    bench.ack(nil)
    bench.respond(nil, to: nil, "B")
    let later = [
      SessionEntry.one("u3", .user, "b", at: 2), .one("u4", .assistant, "B", at: 3),
    ]
    bench.say(.window([Self.asked, Self.said] + later, next: 4))
    #expect(bench.messages.count == 2)
    #expect(bench.states.filter { $0.hasSuffix("answered") } == ["a answered", "b answered"])
  }

  @Test(arguments: [nil, "m1"], [false, true])
  func `shows an answer once although the history has it under another id`(
    id: String?, isBefore: Bool
  ) {
    var bench = SessionBench.acceptedByPlainServer()
    let window = SessionServerMessage.window([Self.asked, Self.said], next: 2)
    if isBefore { bench.say(window) }
    bench.respond(id, to: nil, "A")
    if !isBefore { bench.say(window) }
    #expect(bench.messages.count == 1)
    #expect(bench.states.last == "a answered")
  }

  // MARK: A failure that names no conversation

  @Test func `a failure without a conversation ends the only prompt in flight`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(Self.failure(nil, in: nil))
    #expect(bench.states.last == "a failed")
    #expect(bench.reason == "no")
  }

  @Test func `a failure without a conversation makes the outcome of two prompts unknown`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.prompt("b", in: "d")
    bench.ack(nil)
    let before = bench.states
    #expect(before.suffix(2) == ["b sent", "b accepted"])
    bench.say(Self.failure(nil, in: nil))
    #expect(bench.states == before)
    bench.pass(.seconds(30))
    #expect(Set(bench.states.suffix(2)) == ["a unsure", "b unsure"])
  }

  @Test func `a failed prompt stays failed, although a history showed an answer before`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.say(Self.failure("m1", in: SessionBench.conversation))
    #expect(bench.states.last == "a failed")
    bench.lose()
    #expect(bench.states.last == "a failed")
    #expect(bench.model.queue.items.map(\.text) == ["a"])
  }
}
