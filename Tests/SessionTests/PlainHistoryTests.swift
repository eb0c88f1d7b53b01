import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSession

/// Tests of what the history of a server without keys shows about prompts.
@Suite struct PlainHistoryTests {
  private static let asked = SessionEntry.one("u1", .user, "a", at: 0)
  private static let said = SessionEntry.one("u2", .assistant, "A", at: 1)

  /// Returns a reconnected harness that lost its connection before a plain server accepted prompt
  /// "a".
  private static func unsure() -> SessionHarness {
    var harness = SessionHarness.prompted([])
    harness.lose()
    harness.connect([])
    return harness
  }

  /// Returns a harness whose prompt "a" waits for a connection that accepts prompts.
  private static func waiting() -> SessionHarness {
    var harness = SessionHarness.talking([])
    harness.say(.draining(message: "", retryAfter: .seconds(5), window: nil))
    harness.prompt("a")
    return harness
  }

  // MARK: An intermediate message is not an answer

  @Test func `after a loss an assistant's text does not end a prompt, but the response does`() {
    var harness = SessionHarness.lostByPlainServer()
    harness.prompt("b")
    harness.say(.window([Self.asked, .one("u2", .assistant, "I look at it", at: 1)], next: 2))
    #expect(harness.states.suffix(2) == ["a accepted", "b queued"])
    harness.say(.window([.one("u3", .assistant, "A", at: 2)], next: 3))
    harness.respond("u3", to: nil, "A")
    #expect(harness.states.suffix(2) == ["a answered", "b sent"])
    #expect(harness.messages.map { $0.prefix(2) } == ["u2", "u3"])
  }

  @Test func `a turn that ended without a connection has an unknown outcome after 30 s`() {
    var harness = SessionHarness.lostByPlainServer()
    harness.say(.window([Self.asked, Self.said], next: 2))
    harness.pass(.milliseconds(29_999))
    #expect(harness.states.last == "a accepted")
    harness.pass(.milliseconds(1))
    #expect(harness.states.last == "a unsure")
    #expect(harness.messages == ["u2 history"])
    #expect(harness.prompts.count == 1)
  }

  @Test(arguments: [false, true])
  func `a turn end without an id ends a prompt of an earlier connection`(isLost: Bool) {
    var harness =
      isLost ? SessionHarness.lostByPlainServer() : SessionHarness.acceptedByPlainServer()
    harness.say(.turnComplete(conversation: SessionHarness.conversation, isAborted: false))
    #expect(harness.states.last == "a accepted")
    harness.say(.window([Self.asked, Self.said], next: 2))
    harness.say(.turnComplete(conversation: SessionHarness.conversation, isAborted: false))
    #expect(harness.states.last == (isLost ? "a answered" : "a accepted"))
    #expect(harness.messages == ["u2 history"])
  }

  @Test func `each message of a turn restarts the wait`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(.window([Self.asked], next: 1))
    harness.pass(.seconds(299))
    harness.say(.window([Self.said], next: 2))
    harness.pass(.seconds(299))
    #expect(harness.states.last == "a accepted")
    harness.pass(.seconds(1))
    #expect(harness.states.last == "a unsure")
  }

  @Test func `an older prompt in a history does not answer the waiting one`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("m1", to: nil, "A")
    harness.prompt("b")
    harness.ack(nil)
    harness.say(.window([Self.asked, Self.said], next: 2))
    harness.lose()
    #expect(harness.states.last == "b accepted")
  }

  // MARK: The client that sent a message

  @Test func `another client's text does not show that an unsent prompt arrived`() {
    var harness = Self.waiting()
    harness.say(.window([.one("u3", .user, "a", at: 0), .one("u4", at: 1)], next: 2))
    #expect(harness.states.last == "a queued")
    #expect(harness.messages.suffix(2).map { $0.prefix(2) } == ["u3", "u4"])
  }

  @Test func `a repeated window shows nothing about a later prompt with the same text`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(.window([Self.asked, Self.said], next: 2))
    harness.respond(nil, to: nil, "A")
    harness.prompt("a")
    harness.lose()
    harness.connect([])
    harness.say(.window([Self.asked, Self.said], next: 2))
    #expect(harness.states.last == "a sent")
    #expect(harness.prompts.count == 3)
  }

  @Test(arguments: [false, true])
  func `an earlier message is no sign of a prompt with the same text`(isRelaunched: Bool) {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("u2", to: nil, "A")
    harness.prompt("a")
    harness.lose()
    if isRelaunched {
      harness.relaunch()
    }
    harness.connect([])
    // The messages arrive one by one, as from a server with little room in a window.
    harness.say(.window([Self.asked], next: 1, isComplete: false))
    #expect(harness.prompts.count == 2)
    harness.say(.window([Self.said], next: 2))
    #expect(harness.prompts.count == 3)
    harness.lose()
    harness.connect([])
    harness.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(harness.states.last == "a accepted")
    #expect(harness.prompts.count == 3)
  }

  @Test func `an equal text whose answer has another id leaves the prompt's arrival open`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("m1", to: nil, "A")
    harness.prompt("a")
    harness.lose()
    harness.connect([])
    harness.say(.window([Self.asked, Self.said], next: 2))
    #expect(harness.states.last == "a sent")
    #expect(harness.prompts.count == 2)
    // A second message with this text belongs to the second prompt.
    harness.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(harness.states.last == "a accepted")
    harness.pass(.seconds(300))
    #expect(harness.states.last == "a unsure")
    #expect(harness.prompts.count == 2)
  }

  @Test func `a prompt that only the history shows makes its conversation known for good`() {
    var harness = Self.unsure()
    harness.say(.window([Self.asked], next: 1))
    #expect(harness.states.last == "a accepted")
    let known = KnownConversation(
      id: SessionHarness.conversation, openedBy: harness.key("a"), offset: 1, signature: "s")
    #expect(harness.store.open(as: SessionHarness.client).conversations == [known])
    let stored = harness.store.open(as: SessionHarness.client).prompts
    #expect(stored.map(\.isSeen) == [true])
    #expect(stored.map(\.floor) == [1])
  }

  @Test func `requests the history of a lost prompt's conversation, and of no other`() {
    var harness = SessionHarness.connected([])
    harness.prompt("a", in: "d")
    harness.lose()
    harness.connect([])
    #expect(harness.subscriptions.map(\.conversation) == ["d"])
  }

  @Test func `sends a lost prompt again to a server without a history`() {
    var harness = Self.unsure()
    #expect(harness.prompts.count == 1)
    let error = SessionError(message: "no", conversation: SessionHarness.conversation)
    harness.say(.error(error))
    #expect(harness.notices == [.refused(error)])
    #expect(harness.prompts.count == 2)
  }

  @Test func `a missing history does not show that a prompt is absent`() {
    var harness = Self.unsure()
    harness.pass(.seconds(60))
    #expect(harness.states.last == "a sent")
    #expect(harness.prompts.count == 1)
    harness.pass(.seconds(300))
    #expect(harness.states.last == "a unsure")
    #expect(harness.prompts.count == 1)
  }

  @Test func `an answer of a server with keys is no own text of a plain one`() {
    var harness = SessionHarness.prompted()
    let key = harness.key("a")
    harness.ack(key)
    harness.respond("m1", to: key)
    harness.lose()
    harness.connect([])
    harness.say(.window([Self.asked], next: 1))
    #expect(harness.messages.map { $0.prefix(2) } == ["m1", "u1"])
  }

  // MARK: Repeated messages

  @Test func `a replay of a known message is no sign of the next prompt`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond("u2", to: nil, "A")
    harness.prompt("b")
    harness.lose()
    harness.connect([])
    harness.say(.replay(id: "u2", Self.said, number: nil))
    harness.say(.window([Self.asked, Self.said], next: 2))
    #expect(harness.prompts.map(\.text) == ["a", "b", "b"])
    #expect(harness.messages == ["u2 live"])
  }

  @Test func `a replay does not answer a prompt sent on the same connection`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(.replay(id: "u2", Self.said, number: nil))
    #expect(harness.states.last == "a accepted")
    #expect(harness.messages == ["u2 replay"])
  }

  @Test func `acknowledges a replay when its prompt is known`() {
    var harness = Self.unsure()
    harness.say(.replay(id: "u2", Self.said, number: nil))
    #expect(harness.acks == [])
    harness.say(.window([], next: 0))
    #expect(harness.prompts.count == 1)
    #expect(harness.acks == ["u2"])
    #expect(harness.states.last == "a answered")
    #expect(harness.model.outbox.staleDeadline == nil)
    harness.prompt("b", in: "d")
    #expect(harness.prompts.last?.text == "b")
  }

  @Test func `shows an own message once when its window arrives twice`() {
    var harness = SessionHarness.acceptedByPlainServer()
    for _ in 1...2 { harness.say(.window([Self.asked, Self.said], next: 2)) }
    #expect(harness.messages == ["u2 history"])
  }

  @Test func `a replaced history does not show own messages again`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.say(.window([Self.asked, Self.said], next: 2))
    harness.say(.window([Self.asked, Self.said], next: 2, isReplaced: true))
    harness.say(.window([Self.asked, Self.said], next: 2))
    #expect(harness.messages == ["u2 history"])
  }

  @Test func `own messages in a history without numbers are not taken for another client's`() {
    var harness = SessionHarness.acceptedByPlainServer()
    harness.respond(nil, to: nil, "A")
    let entries = [Self.asked, Self.said].map { entry in
      SessionEntry(
        id: entry.id, role: entry.role, text: entry.text, conversation: entry.conversation)
    }
    let history = SessionHistory(
      conversation: SessionHarness.conversation, entries: entries,
      extent: .sequence(first: nil, last: nil, next: 1), isComplete: true)
    let before = harness.messages
    for _ in 1...2 { harness.say(.history(history)) }
    #expect(harness.messages == before)
  }

  // MARK: Missing messages

  @Test func `own messages beyond a hole are not taken for another client's`() {
    var harness = Self.unsure()
    let asked = SessionEntry.one("u1", .user, "a", at: 1)
    harness.say(.window([asked], next: 2))
    #expect(harness.messages == [])
    for _ in 1...2 { harness.say(.window([.one("u0", at: 0), asked], next: 2)) }
    #expect(harness.messages == ["u0 history"])
    #expect(harness.states.last == "a accepted")
  }

  @Test func `accepts a single message although a plain server always omits what precedes it`() {
    var harness = Self.unsure()
    let asked = SessionEntry.one("u1", .user, "x", at: 1)
    harness.say(.window([asked], next: 2))
    #expect(harness.messages == [])
    harness.pass(.seconds(10))
    harness.say(.window([asked], next: 2))
    #expect(harness.gaps == [.hole])
    #expect(harness.messages == ["u1 live"])
    let subscriptions = harness.subscriptions
    harness.pass(.seconds(60))
    #expect(harness.subscriptions == subscriptions)
    // The prompt may be among the missing messages.
    #expect(harness.prompts.count == 1)
  }

  @Test func `own messages after an omitted part show that the server has the prompt`() {
    var harness = Self.unsure()
    let entries = [SessionEntry.one("u1", .user, "a", at: 1), .one("u2", at: 2)]
    harness.say(.window(entries, next: 3))
    #expect(harness.states.last == "a sent")
    harness.say(.window(entries, next: 3))
    #expect(harness.gaps == [.hole])
    #expect(harness.messages == ["u2 history"])
    #expect(harness.states.last == "a accepted")
    #expect(harness.prompts.count == 1)
  }
}
