import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for how long the session server remembers clients, and for which messages it sends to each
/// client.
@Suite struct SessionMemoryTests {
  private static let change: @Sendable (inout SessionServerPolicy) -> Void = { policy in
    policy.memory = .seconds(100)
    policy.pongWait = .seconds(100_000)
  }

  @Test func `a client whose prompt is running is remembered until the prompt has ended`() {
    var sessions = Sessions(Self.change)
    sessions.connect(1, as: "ann")
    sessions.ask(key: "k1")
    _ = sessions.answer(1)
    sessions.ask(key: "k2")
    _ = sessions.gone(1)
    _ = sessions.wait(.seconds(290)) + sessions.commitAll()
    #expect(sessions.server.prompts.ids == [SessionPromptID(2)])
    #expect(sessions.server.clients.keys.sorted() == ["ann"])
    _ = sessions.answer(2)
    _ = sessions.wait(.seconds(200)) + sessions.commitAll()
    #expect(sessions.server.clients.isEmpty && sessions.server.prompts.ids.isEmpty)
  }

  @Test func `expired clients are forgotten in the order of their ids`() {
    var sessions = Sessions(Self.change)
    for (connection, client) in [(1, "cat"), (2, "ann"), (3, "bob")] as [(UInt64, String)] {
      sessions.connect(connection, as: client)
    }
    sessions.ask(key: "k1")
    _ = sessions.answer(1)
    for connection in 1...3 as ClosedRange<UInt64> { _ = sessions.gone(connection) }
    _ = sessions.wait(.seconds(200))
    let ends = sessions.writes.flatMap { $0.1 }.compactMap { change in
      if case .endClient(let id) = change { id } else { nil }
    }
    #expect(ends == ["ann", "bob", "cat"])
  }

  @Test func `a forgotten prompt does not free the same key of another client`() {
    var sessions = Sessions.connected { $0.maxEnded = 1 }
    sessions.connect(2, as: "bob")
    sessions.ask()
    sessions.ask(2, "other", in: Sessions.other)
    _ = sessions.answer(1)
    let answer = sessions.answer(2).responses(to: 2)
    #expect(sessions.server.prompts.ended == [SessionPromptID(2)])
    #expect(sessions.ask(2, "other", in: Sessions.other).responses(to: 2) == answer)
    #expect(sessions.runs == [1, 2].map { SessionPromptID($0) })
  }

  @Test func `an answer counts as a use of its conversation`() {
    var sessions = Sessions.connected { $0.maxConversations = 2 }
    for name in ["c1", "c2"] {
      sessions.ask(1, in: name, key: name)
      sessions.pass(.seconds(1))
    }
    for number in [2, 1] as [UInt64] {
      _ = sessions.answer(number)
      sessions.pass(.seconds(1))
    }
    sessions.ask(1, in: "c3", key: "c3")
    _ = sessions.answer(3)
    #expect(sessions.server.conversations.ids == ["c1", "c3"])
  }

  @Test func `the wall clock of each input is used, even after an adjustment`() {
    var sessions = Sessions.asked()
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: sessions.wall))
    let (hour, day) = (Duration.seconds(3_600), Duration.seconds(86_400))
    let (stored, gone) = (sessions.wall.advanced(by: hour), sessions.wall.advanced(by: day))
    for token in sessions.writes.map({ $0.0 }) {
      _ = sessions.take(.stored(token, failure: nil, wall: stored))
    }
    #expect(sessions.server.conversations[Sessions.conversation]?.usedAt == stored)
    _ = sessions.take(.gone(ConnectionID(1), wall: gone))
    #expect(sessions.server.clients["ann"]?.stored.seenAt == gone)
  }

  @Test func `a client is remembered while it is connected`() {
    var sessions = Sessions(Self.change)
    sessions.connect(1, as: "ann")
    sessions.ask()
    _ = sessions.answer(1)
    _ = sessions.wait(.seconds(300)) + sessions.commitAll()
    #expect(sessions.server.prompts.ids.isEmpty)
    #expect(sessions.server.clients.keys.sorted() == ["ann"])
    #expect(sessions.stored.clients.keys.sorted() == ["ann"])
  }

  @Test func `a client that connects receives the output of its prompts in their order`() {
    var sessions = Sessions()
    sessions.connect(1, features: [.parts])
    let names = ["a", "b", "c"]
    for (index, name) in names.enumerated() {
      sessions.ask(in: name, key: name)
      _ = sessions.take(.produced(SessionPromptID(UInt64(index) + 1), name))
    }
    let again = sessions.connect(2, features: [.parts]).messages(to: 2)
    let parts = names.map { name in
      SessionServerMessage.responsePart(
        conversation: name, idempotencyKey: name, index: 0, text: name)
    }
    #expect(Array(again.dropFirst()) == parts)
  }

  @Test func `a client that connects receives no output of another client's prompts`() {
    var sessions = Sessions()
    sessions.connect(1, as: "ann", features: [.parts])
    sessions.ask()
    _ = sessions.take(.produced(SessionPromptID(1), "secret"))
    sessions.connect(2, as: "bob", features: [.parts])
    sessions.ask(2, "mine", in: Sessions.other, key: "k2")
    let again = sessions.connect(3, as: "bob", features: [.parts])
    let parts = again.messages(to: 3).filter { if case .responsePart = $0 { true } else { false } }
    #expect(parts == [])
  }

  @Test func `an acknowledgement counts only for the client itself`() {
    var sessions = Sessions()
    sessions.connect(1, as: "ann")
    sessions.connect(2, as: "bob")
    sessions.ask()
    let id = sessions.answer(1).responses(to: 1).first?.id ?? ""
    _ = sessions.say(2, .messageAck(id))
    #expect(sessions.server.clients["ann"]?.outbox.count == 1)
    _ = sessions.say(1, .messageAck(id))
    #expect(sessions.server.clients["ann"]?.outbox.isEmpty == true)
    #expect(sessions.server.clients["ann"]?.outboxBytes == 0)
  }

  @Test func `the messages of an answered prompt are stored only in its conversation`() {
    var sessions = Sessions.asked()
    _ = sessions.answer(1)
    #expect(sessions.server.prompts[SessionPromptID(1)]?.entries == [])
    #expect(
      sessions.server.conversations[Sessions.conversation]?.entries.map(\.text) == ["hello", "hi"])
  }

  @Test func `the output of a handler is not stored in addition to its answer`() {
    var sessions = Sessions.asked()
    _ = sessions.take(.produced(SessionPromptID(1), "hi"))
    #expect(sessions.server.prompts[SessionPromptID(1)]?.output == "hi")
    _ = sessions.answer(1, "hi")
    #expect(sessions.server.prompts[SessionPromptID(1)]?.output == "")
  }

  @Test(arguments: [(4, 0), (5, 1)])
  func `a single prompt may use the limit of all prompts, and no byte more`(
    bytes: Int, refusals: Int
  ) {
    var sessions = Sessions.connected { $0.maxPromptsBytes = 4 }
    let text = String(repeating: "x", count: bytes)
    let effects = sessions.say(1, .prompt(Sessions.prompt(text)))
    #expect(effects.codes(to: 1).count == refusals)
  }

  @Test(arguments: [(0, true), (1, false)])
  func `the rate allows a burst, and one more prompt in each interval`(short: Int, isTaken: Bool) {
    var sessions = Sessions.connected { ($0.promptInterval, $0.promptBurst) = (.seconds(1), 2) }
    for number in 1...2 {
      #expect(sessions.ask(1, "q", in: "c\(number)", key: "k\(number)").codes(to: 1) == [])
    }
    sessions.pass(.seconds(1) - .nanoseconds(short))
    let codes = sessions.ask(1, "q", in: "c3", key: "k3").codes(to: 1)
    #expect(codes == (isTaken ? [] : ["rate_limited"]))
  }

  @Test func `ended prompts are forgotten in order, each when it expires`() {
    var sessions = Sessions(Self.change)
    sessions.connect(1)
    for number in 1...2 as ClosedRange<UInt64> {
      sessions.ask(key: "k\(number)")
      _ = sessions.answer(number)
      _ = sessions.wait(.seconds(50)) + sessions.commitAll()
    }
    #expect(sessions.server.prompts.ids == [SessionPromptID(2)])
  }

  @Test func `a prompt that expires after its client is forgotten later`() {
    var sessions = Sessions(Self.change)
    sessions.connect(1)
    sessions.ask(key: "k1")
    _ = sessions.answer(1)
    sessions.ask(key: "k2")
    _ = sessions.gone(1)
    _ = sessions.wait(.seconds(50)) + sessions.commitAll()
    _ = sessions.answer(2)
    _ = sessions.wait(.seconds(50)) + sessions.commitAll()
    #expect(sessions.server.clients.isEmpty)
    #expect(sessions.server.prompts.ids == [SessionPromptID(2)])
    _ = sessions.wait(.seconds(100)) + sessions.commitAll()
    #expect(sessions.server.prompts.ids.isEmpty)
  }

  @Test func `the time of an answer is the time at which its handler ended`() {
    var sessions = Sessions.asked()
    let end = sessions.wall.advanced(by: .seconds(60))
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: end))
    let times = sessions.writes.flatMap { $0.1 }.compactMap { change in
      if case .answered(_, let answer) = change { answer.at } else { nil }
    }
    #expect(times == [end])
  }

  @Test func `a prompt counts as a use of its conversation even if it could not be stored`() {
    var sessions = Sessions.connected { $0.maxConversations = 2 }
    for (number, name) in [(1, "c1"), (2, "c2")] as [(UInt64, String)] {
      sessions.ask(1, in: name, key: name)
      _ = sessions.answer(number)
      sessions.pass(.seconds(1))
    }
    _ = sessions.say(1, .prompt(Sessions.prompt(in: "c1", key: "again")))
    #expect(sessions.commit(failure: .full(detail: "")).codes(to: 1) == ["store_failed"])
    sessions.pass(.seconds(1))
    sessions.ask(1, in: "c3", key: "c3")
    _ = sessions.answer(4)
    #expect(sessions.server.conversations.ids == ["c1", "c3"])
  }
}
