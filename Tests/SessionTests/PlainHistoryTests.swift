import LinkCore
import LinkWire
import Testing

@testable import Session

/// What the history of a server without keys says about prompts, and what it does not say.
@Suite struct PlainHistoryTests {
  private static let asked = SessionEntry.one("u1", .user, "a", at: 0)
  private static let said = SessionEntry.one("u2", .assistant, "A", at: 1)

  /// One whose prompt "a" was lost before a plain server accepted it, on the next connection.
  private static func unsure() -> SessionBench {
    var bench = SessionBench.connected([])
    bench.prompt("a")
    bench.lose()
    bench.connect([])
    return bench
  }

  /// One whose prompt "a" waits for a connection that takes prompts.
  private static func waiting() -> SessionBench {
    var bench = SessionBench.talking([])
    bench.say(.draining(message: "", retryAfter: .seconds(5), window: nil))
    bench.prompt("a")
    return bench
  }

  @Test func `an older prompt in a history does not answer the one that waits`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.prompt("b")
    bench.ack(nil)
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.lose()
    #expect(bench.states.last == "b accepted")
  }

  @Test func `a prompt that a history shows without an answer is not answered by a loss`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked], next: 1))
    bench.lose()
    #expect(bench.states.last == "a accepted")
  }

  @Test func `an answer that a history showed before the prompt was sent is that of another one`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    // The same words wait behind a prompt that is on its way.
    bench.prompt("z", in: "d")
    bench.prompt("a")
    bench.say(.window([Self.asked, Self.said], next: 2))
    for _ in 1...2 { bench.ack(nil) }
    #expect(bench.states.suffix(3) == ["z accepted", "a sent", "a accepted"])
    bench.lose()
    #expect(bench.states.last == "a accepted")
  }

  @Test func `the words of another client are no sign of a prompt that was never sent`() {
    var bench = Self.waiting()
    bench.say(.window([.one("u3", .user, "a", at: 0), .one("u4", at: 1)], next: 2))
    #expect(bench.states.last == "a queued")
    #expect(bench.messages.suffix(2).map { $0.prefix(2) } == ["u3", "u4"])
  }

  @Test func `a window that comes again says nothing about a later prompt of the same words`() {
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

  @Test func `a replay is no answer to a prompt that was sent on the same connection`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.replay(id: "u2", Self.said, number: nil))
    #expect(bench.states.last == "a accepted")
    #expect(bench.messages == ["u2 replay"])
  }

  @Test func `a replay answers a prompt that the server says it has`() {
    var bench = Self.waiting()
    bench.ack(bench.key("a"))
    #expect(bench.states.last == "a accepted")
    bench.say(.replay(id: "u2", Self.said, number: nil))
    #expect(bench.states.last == "a answered")
  }

  @Test func `a text of before the prompt takes nothing from a response with the same text`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.prompt("b")
    bench.ack(nil)
    let before = bench.messages.count
    bench.respond(nil, to: nil, "A")
    #expect(bench.messages.count == before + 1)
  }

  @Test func `a server that has no history gets a lost prompt again`() {
    var bench = Self.unsure()
    #expect(bench.prompts.count == 1)
    let error = SessionError(message: "no", conversation: SessionBench.conversation)
    bench.say(.error(error))
    #expect(bench.notices == [.refused(error)])
    #expect(bench.prompts.count == 2)
  }

  @Test func `a prompt whose answer is stored late holds up no other one`() {
    var bench = Self.unsure()
    bench.holdsStore = true
    bench.say(.replay(id: "u2", Self.said, number: nil))
    bench.say(.window([], next: 0))
    #expect(bench.prompts.count == 1)
    bench.holdsStore = false
    while !bench.changes.isEmpty { bench.commit() }
    #expect(bench.states.last == "a answered")
    #expect(bench.model.staleTimes == [])
    bench.prompt("b", in: "d")
    #expect(bench.prompts.last?.text == "b")
  }

  @Test func `a text is known in its own conversation alone`() {
    var known = KnownTexts()
    known.add("a", of: UUID128(high: 0, low: 1), in: "d")
    #expect(!known.contains(Self.asked))
    let isTaken = known.take(Self.asked)
    #expect(!isTaken)
  }

  @Test func `what a server with keys answered is no own text of a plain one`() {
    var bench = SessionBench.connected()
    bench.prompt("a")
    let key = bench.key("a")
    bench.ack(key)
    bench.respond("m1", to: key)
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked], next: 1))
    #expect(bench.messages.map { $0.prefix(2) } == ["m1", "u1"])
  }
}
