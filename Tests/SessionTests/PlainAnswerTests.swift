import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of answers of a server without keys, on one connection and across several connections.
@Suite struct PlainAnswerTests {
  private static let asked = SessionEntry.one("u1", .user, "a", at: 0)
  private static let said = SessionEntry.one("u2", .assistant, "A", at: 1)

  /// Returns a harness connected to a plain server that has accepted the first prompt.
  private static func asking(_ texts: String...) -> SessionHarness {
    var harness = SessionHarness.connected([])
    for text in texts { harness.prompt(text) }
    harness.ack(nil)
    return harness
  }

  private static func failure(_ id: String?, in conversation: String?) -> SessionServerMessage {
    .response(SessionResponse(id: id, conversation: conversation, result: .failure(error: "no")))
  }

  // MARK: An answer counts once

  @Test func `a repeated response ends only one prompt`() {
    var harness = Self.asking("a", "b")
    for _ in 1...2 { harness.respond("m1", to: nil, "A") }
    harness.ack(nil)
    #expect(harness.states.suffix(3) == ["a answered", "b sent", "b accepted"])
    harness.respond("m1", to: nil, "A")
    #expect(harness.states.last == "b accepted")
    harness.respond("m2", to: nil, "B")
    #expect(harness.states.last == "b answered")
    #expect(harness.messages == ["m1 live", "m2 live"])
    #expect(harness.acks == ["m1", "m1", "m1", "m2"])
  }

  @Test func `a repeated failure fails only one prompt`() {
    var harness = Self.asking("a", "b")
    harness.say(Self.failure("m1", in: SessionHarness.conversation))
    harness.ack(nil)
    harness.say(Self.failure("m1", in: SessionHarness.conversation))
    #expect(harness.states.suffix(3) == ["a failed", "b sent", "b accepted"])
  }

  @Test func `an answer that ended a prompt in an earlier run ends no other one`() {
    var harness = Self.asking("a")
    harness.respond("m1", to: nil, "A")
    var next = SessionHarness(seed: 8)
    next.store = harness.store
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
    var harness = SessionHarness.connected([])
    harness.respond("m1", to: nil, "A")
    harness.prompt("a")
    harness.ack(nil)
    harness.respond("m1", to: nil, "A")
    #expect(harness.states.last == "a accepted")
  }

  @Test func `the same text again without an id may be the previous answer`() {
    var harness = Self.asking("a", "b")
    harness.respond(nil, to: nil, "A")
    harness.ack(nil)
    harness.respond(nil, to: nil, "A")
    #expect(harness.states.last == "b accepted")
    harness.pass(.milliseconds(29_999))
    #expect(harness.states.last == "b accepted")
    harness.pass(.milliseconds(1))
    #expect(harness.states.last == "b unsure")
    #expect(harness.messages.count == 1)
  }

  @Test func `the same text again without an id is an answer if the history contains both`() {
    var harness = Self.asking("a", "b")
    harness.respond(nil, to: nil, "A")
    harness.ack(nil)
    let later = [SessionEntry.one("u3", .user, "b", at: 2), .one("u4", .assistant, "A", at: 3)]
    harness.say(.window([Self.asked, Self.said] + later, next: 4))
    harness.respond(nil, to: nil, "A")
    #expect(harness.states.last == "b answered")
  }

  // MARK: The end is stored before the next prompt is sent

  @Test func `sends the next prompt when the end of the last one is stored`() {
    var harness = Self.asking("a", "b")
    harness.holdsStore = true
    harness.respond("m1", to: nil, "A")
    #expect(harness.prompts.map(\.text) == ["a"])
    harness.commit()
    // The store first records that the second prompt is about to be sent.
    #expect(harness.prompts.map(\.text) == ["a"])
    #expect(harness.changes.first?.change.prompts.map(\.floor) == [0])
    harness.holdsStore = false
    while !harness.changes.isEmpty { harness.commit() }
    #expect(harness.prompts.map(\.text) == ["a", "b"])
  }

  @Test func `does not send a prompt again whose end is being stored`() {
    var harness = Self.asking("a")
    harness.holdsStore = true
    harness.respond("m1", to: nil, "A")
    harness.lose()
    harness.connect()
    #expect(harness.prompts.map(\.text) == ["a"])
    harness.holdsStore = false
    while !harness.changes.isEmpty { harness.commit() }
    #expect(harness.states.last == "a answered")
    harness.prompt("b", in: "d")
    #expect(harness.prompts.map(\.text) == ["a", "b"])
  }

  // MARK: An answer is shown once

  @Test func `the next connection's history does not show a response without an id again`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond(nil, to: nil, "A")
    harness.lose()
    harness.connect([])
    harness.say(.window([Self.asked, Self.said], next: 2))
    #expect(harness.messages.count == 1)
    // A later message with the same text is new.
    harness.say(.window([.one("u3", .assistant, "A", at: 2)], next: 3))
    #expect(harness.messages.count == 2)
  }

  @Test func `one later history does not show two responses without an id again`() {
    var harness = Self.asking("a", "b")
    harness.respond(nil, to: nil, "A")
    harness.ack(nil)
    harness.respond(nil, to: nil, "B")
    let later = [
      SessionEntry.one("u3", .user, "b", at: 2), .one("u4", .assistant, "B", at: 3),
    ]
    harness.say(.window([Self.asked, Self.said] + later, next: 4))
    #expect(harness.messages.count == 2)
    #expect(harness.states.filter { $0.hasSuffix("answered") } == ["a answered", "b answered"])
  }

  @Test(arguments: [nil, "m1"], [false, true])
  func `shows an answer once although the history has it under another id`(
    id: String?, isBefore: Bool
  ) {
    var harness = SessionHarness.acceptedByPlainServer()
    let window = SessionServerMessage.window([Self.asked, Self.said], next: 2)
    if isBefore { harness.say(window) }
    harness.respond(id, to: nil, "A")
    if !isBefore { harness.say(window) }
    #expect(harness.messages.count == 1)
    #expect(harness.states.last == "a answered")
  }

  // MARK: A failure that names no conversation

  @Test func `a failure without a conversation ends the only prompt in flight`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(Self.failure(nil, in: nil))
    #expect(harness.states.last == "a failed")
    #expect(harness.reason == "no")
  }

  @Test func `a failure without a conversation makes the outcome of two prompts unknown`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.prompt("b", in: "d")
    harness.ack(nil)
    let before = harness.states
    #expect(before.suffix(2) == ["b sent", "b accepted"])
    harness.say(Self.failure(nil, in: nil))
    #expect(harness.states == before)
    harness.pass(.seconds(30))
    #expect(Set(harness.states.suffix(2)) == ["a unsure", "b unsure"])
  }

  @Test func `a failed prompt stays failed, although a history showed an answer before`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(.window([Self.asked, Self.said], next: 2))
    harness.say(Self.failure("m1", in: SessionHarness.conversation))
    #expect(harness.states.last == "a failed")
    harness.lose()
    #expect(harness.states.last == "a failed")
    #expect(harness.model.queue.items.map(\.text) == ["a"])
  }
}
