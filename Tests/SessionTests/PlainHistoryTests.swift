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
    var bench = SessionBench.prompted([])
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
    let taken = known.take(Self.asked)
    #expect(taken == nil)
    var other = Self.asked
    other.conversation = "d"
    _ = known.take(other)
    #expect(known.hasTaken(other))
    #expect(!known.hasTaken(Self.asked))
  }

  @Test func `a message that repeated a text repeats the same one when it comes again`() {
    var known = KnownTexts()
    let keys = (1...2 as ClosedRange<UInt64>).map { UUID128(high: 0, low: $0) }
    for key in keys { known.add("a", of: key, in: SessionBench.conversation) }
    let again = SessionEntry.one("u9", .user, "a", at: 7)
    let taken = [Self.asked, again, Self.asked, again].map { known.take($0) }
    #expect(taken == keys + keys)
    #expect(
      [Self.asked, again, .one("u8", .user, "a", at: 8)].map(known.hasTaken) == [true, true, false])
    // A prompt that is sent again is repeated again; its message of before stays known.
    known.add("a", of: keys[0], in: SessionBench.conversation)
    let later = [SessionEntry.one("u8", .user, "a", at: 8), Self.asked].map { known.take($0) }
    #expect(later == [keys[0], keys[0]])
  }

  @Test func `own words are shown once when their window comes twice`() {
    var bench = SessionBench.acceptedByPlainServer()
    for _ in 1...2 { bench.say(.window([Self.asked, Self.said], next: 2)) }
    #expect(bench.messages == ["u2 history"])
  }

  @Test func `own words beyond a hole are not those of another client`() {
    var bench = Self.unsure()
    let asked = SessionEntry.one("u1", .user, "a", at: 1)
    bench.say(.window([asked], next: 2))
    #expect(bench.messages == [])
    for _ in 1...2 { bench.say(.window([.one("u0", at: 0), asked], next: 2)) }
    #expect(bench.messages == ["u0 history"])
    #expect(bench.states.last == "a accepted")
  }

  @Test func `a single message is taken though a plain server always leaves out what is before it`()
  {
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
  }

  @Test func `own words behind what a server left out show that it has the prompt`() {
    var bench = Self.unsure()
    let entries = [SessionEntry.one("u1", .user, "a", at: 1), .one("u2", at: 2)]
    bench.say(.window(entries, next: 3))
    #expect(bench.states.last == "a sent")
    bench.say(.window(entries, next: 3))
    #expect(bench.gaps == [.hole])
    #expect(bench.messages == ["u2 history"])
    #expect(bench.states.suffix(2) == ["a accepted", "a answered"])
    #expect(bench.prompts.count == 1)
  }

  @Test func `own words in a history without numbers are not those of another client`() {
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

  @Test func `own words are not shown again by a history that was replaced`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.say(.window([Self.asked, Self.said], next: 2))
    bench.say(.window([Self.asked, Self.said], next: 2, isReplaced: true))
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.messages == ["u2 history"])
  }

  @Test func `earlier words are no sign of a prompt with the same ones`() {
    var bench = SessionBench.acceptedByPlainServer()
    bench.respond("m1", to: nil, "A")
    bench.prompt("a")
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked, Self.said], next: 2))
    #expect(bench.states.last == "a sent")
    #expect(bench.prompts.count == 3)
    bench.lose()
    bench.connect([])
    bench.say(.window([.one("u3", .user, "a", at: 2)], next: 3))
    #expect(bench.states.last == "a accepted")
    #expect(bench.prompts.count == 3)
  }

  @Test func `what a server with keys answered is no own text of a plain one`() {
    var bench = SessionBench.prompted()
    let key = bench.key("a")
    bench.ack(key)
    bench.respond("m1", to: key)
    bench.lose()
    bench.connect([])
    bench.say(.window([Self.asked], next: 1))
    #expect(bench.messages.map { $0.prefix(2) } == ["m1", "u1"])
  }
}
