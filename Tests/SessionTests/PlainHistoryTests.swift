import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import Session

/// Tests of the conclusions about prompts from the history of a server without keys.
@Suite struct PlainHistoryTests {
  private static let asked = SessionEntry.one("u1", .user, "a", at: 0)
  private static let said = SessionEntry.one("u2", .assistant, "A", at: 1)

  /// Returns a harness whose prompt "a" was lost before a plain server accepted it, on the next
  /// connection.
  private static func unsure() -> SessionBench {
    var bench = SessionBench.prompted([])
    bench.lose()
    bench.connect([])
    return bench
  }

  /// Returns a harness whose prompt "a" waits for a connection that accepts prompts.
  private static func waiting() -> SessionBench {
    var bench = SessionBench.talking([])
    bench.say(.draining(message: "", retryAfter: .seconds(5), window: nil))
    bench.prompt("a")
    return bench
  }

  // MARK: A message in between is no answer

  @Test func `after a loss an assistant's text does not end a prompt, but the response does`() {
    var bench = SessionBench.lostByPlainServer()
    bench.prompt("b")
    bench.say(.window([Self.asked, .one("u2", .assistant, "I look at it", at: 1)], next: 2))
    #expect(bench.states.suffix(2) == ["a accepted", "b queued"])
    bench.say(.window([.one("u3", .assistant, "A", at: 2)], next: 3))
    bench.respond("u3", to: nil, "A")
    #expect(bench.states.suffix(2) == ["a answered", "b sent"])
    #expect(bench.messages.map { $0.prefix(2) } == ["u2", "u3"])
  }

  @Test func `a turn that ended without a connection has an unknown outcome after 30 s`() {
    var bench = SessionBench.lostByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.pass(.milliseconds(29_999))
    #expect(bench.states.last == "a accepted")
    bench.pass(.milliseconds(1))
    #expect(bench.states.last == "a unsure")
    #expect(bench.messages == ["u2 history"])
    #expect(bench.prompts.count == 1)
  }

  @Test(arguments: [false, true])
  func `a turn end without an id ends a prompt of an earlier connection`(isLost: Bool) {
    var bench = isLost ? SessionBench.lostByPlainServer() : SessionBench.acceptedByPlainServer()
    bench.say(.turnComplete(conversation: SessionBench.conversation, isAborted: false))
    #expect(bench.states.last == "a accepted")
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.say(.turnComplete(conversation: SessionBench.conversation, isAborted: false))
    #expect(bench.states.last == (isLost ? "a answered" : "a accepted"))
    #expect(bench.messages == ["u2 history"])
  }

  @Test func `each message of a turn restarts the wait`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked], next: 1))
    bench.pass(.seconds(299))
    bench.say(.window([Self.said], next: 2))
    bench.pass(.seconds(299))
    #expect(bench.states.last == "a accepted")
    bench.pass(.seconds(1))
    #expect(bench.states.last == "a unsure")
  }

  @Test func `an older prompt in a history does not answer the waiting one`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.prompt("b")
    bench.ack(nil)
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.lose()
    #expect(bench.states.last == "b accepted")
  }

  // MARK: Whose row it is

  @Test func `another client's text does not show that an unsent prompt arrived`() {
    var bench = Self.waiting()
    bench.say(.window([.one("u3", .user, "a", at: 0), .one("u4", at: 1)], next: 2))
    #expect(bench.states.last == "a queued")
    #expect(bench.messages.suffix(2).map { $0.prefix(2) } == ["u3", "u4"])
  }

  @Test func `a repeated window shows nothing about a later prompt with the same text`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.respond(nil, to: nil, "A")
    bench.prompt("a")
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.states.last == "a sent")
    #expect(bench.prompts.count == 3)
  }

  @Test(arguments: [false, true])
  func `an earlier message is no sign of a prompt with the same text`(isRelaunched: Bool) {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("u2", to: nil, "A")
    bench.prompt("a")
    bench.lose()
    if isRelaunched {
      bench.relaunch()
    }
    bench.connect([])
    // Message by message, as a server with little room in a window sends them.
    bench.say(.window([Self.asked], next: 1, isComplete: false))
    #expect(bench.prompts.count == 2)
    bench.say(.window([Self.said], next: 2))
    #expect(bench.prompts.count == 3)
    bench.lose()
    bench.connect([])
    bench.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(bench.states.last == "a accepted")
    #expect(bench.prompts.count == 3)
  }

  @Test func `an equal text whose answer has another id leaves the prompt's arrival open`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.prompt("a")
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.states.last == "a sent")
    #expect(bench.prompts.count == 2)
    // A second message with this text belongs to the second prompt.
    bench.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(bench.states.last == "a accepted")
    bench.pass(.seconds(300))
    #expect(bench.states.last == "a unsure")
    #expect(bench.prompts.count == 2)
  }

  @Test func `a prompt that only the history shows makes its conversation known for good`() {
    var bench = Self.unsure()
    bench.say(.window([Self.asked], next: 1))
    #expect(bench.states.last == "a accepted")
    let known = KnownConversation(
      id: SessionBench.conversation, openedBy: bench.key("a"), offset: 1, signature: "s")
    #expect(bench.store.open(as: SessionBench.client).conversations == [known])
    let kept = bench.store.open(as: SessionBench.client).prompts
    #expect(kept.map(\.isSeen) == [true])
    #expect(kept.map(\.floor) == [1])
  }

  @Test func `requests the history of a lost prompt's conversation, and of no other`() {
    var bench = SessionBench.connected([])
    bench.prompt("a", in: "d")
    bench.lose()
    bench.connect([])
    #expect(bench.subscriptions.map(\.conversation) == ["d"])
  }

  @Test func `sends a lost prompt again to a server without a history`() {
    var bench = Self.unsure()
    #expect(bench.prompts.count == 1)
    let error = SessionError(message: "no", conversation: SessionBench.conversation)
    bench.say(.error(error))
    #expect(bench.notices == [.refused(error)])
    #expect(bench.prompts.count == 2)
  }

  @Test func `a missing history does not show that a prompt is absent`() {
    var bench = Self.unsure()
    bench.pass(.seconds(60))
    #expect(bench.states.last == "a sent")
    #expect(bench.prompts.count == 1)
    bench.pass(.seconds(300))
    #expect(bench.states.last == "a unsure")
    #expect(bench.prompts.count == 1)
  }

  @Test func `an answer of a server with keys is no own text of a plain one`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.ack(key)
    bench.respond("m1", to: key)
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked], next: 1))
    #expect(bench.messages.map { $0.prefix(2) } == ["m1", "u1"])
  }

  // MARK: What is repeated

  @Test func `a replay of a known message is no sign of the next prompt`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("u2", to: nil, "A")
    bench.prompt("b")
    bench.lose()
    bench.connect([])
    bench.say(.replay(id: "u2", Self.said, number: nil))
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.prompts.map(\.text) == ["a", "b", "b"])
    #expect(bench.messages == ["u2 live"])
  }

  @Test func `a replay does not answer a prompt sent on the same connection`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.replay(id: "u2", Self.said, number: nil))
    #expect(bench.states.last == "a accepted")
    #expect(bench.messages == ["u2 replay"])
  }

  @Test func `acknowledges a replay when its prompt is known`() {
    var bench = Self.unsure()
    bench.say(.replay(id: "u2", Self.said, number: nil))
    #expect(bench.acks == [])
    bench.say(.window([], next: 0))
    #expect(bench.prompts.count == 1)
    #expect(bench.acks == ["u2"])
    #expect(bench.states.last == "a answered")
    #expect(bench.model.outbox.staleDeadline == nil)
    bench.prompt("b", in: "d")
    #expect(bench.prompts.last?.text == "b")
  }

  @Test func `shows an own message once when its window arrives twice`() {
    var bench = SessionBench.acceptedByPlainServer()
    for _ in 1...2 { bench.say(.window([Self.asked, Self.said], next: 2)) }
    #expect(bench.messages == ["u2 history"])
  }

  @Test func `a replaced history does not show own messages again`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.say(.window([Self.asked, Self.said], next: 2, isReplaced: true))
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.messages == ["u2 history"])
  }

  @Test func `own messages in a history without numbers are not taken for another client's`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond(nil, to: nil, "A")
    let entries = [Self.asked, Self.said].map { entry in
      SessionEntry(
        id: entry.id, role: entry.role, text: entry.text, conversation: entry.conversation)
    }
    let history = SessionHistory(
      conversation: SessionBench.conversation, entries: entries,
      place: .sequence(first: nil, last: nil, next: 1), isComplete: true)
    let before = bench.messages
    for _ in 1...2 { bench.say(.history(history)) }
    #expect(bench.messages == before)
  }

  // MARK: Holes

  @Test func `own messages beyond a hole are not taken for another client's`() {
    var bench = Self.unsure()
    let asked = SessionEntry.one("u1", .user, "a", at: 1)
    bench.say(.window([asked], next: 2))
    #expect(bench.messages == [])
    for _ in 1...2 { bench.say(.window([.one("u0", at: 0), asked], next: 2)) }
    #expect(bench.messages == ["u0 history"])
    #expect(bench.states.last == "a accepted")
  }

  @Test func `accepts a single message although a plain server always omits what precedes it`() {
    var bench = Self.unsure()
    let asked = SessionEntry.one("u1", .user, "x", at: 1)
    bench.say(.window([asked], next: 2))
    #expect(bench.messages == [])
    bench.pass(.seconds(10))
    bench.say(.window([asked], next: 2))
    #expect(bench.gaps == [.hole])
    #expect(bench.messages == ["u1 live"])
    let subscriptions = bench.subscriptions
    bench.pass(.seconds(60))
    #expect(bench.subscriptions == subscriptions)
    // The prompt may lie in the hole.
    #expect(bench.prompts.count == 1)
  }

  @Test func `own messages after an omitted part show that the server has the prompt`() {
    var bench = Self.unsure()
    let entries = [SessionEntry.one("u1", .user, "a", at: 1), .one("u2", at: 2)]
    bench.say(.window(entries, next: 3))
    #expect(bench.states.last == "a sent")
    bench.say(.window(entries, next: 3))
    #expect(bench.gaps == [.hole])
    #expect(bench.messages == ["u2 history"])
    #expect(bench.states.last == "a accepted")
    #expect(bench.prompts.count == 1)
  }
}
