import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// How long the server of sessions remembers clients, and what it sends to whom.
@Suite struct SessionMemoryTests {
  private static let change: @Sendable (inout SessionServerPolicy) -> Void = { policy in
    policy.memory = .seconds(100)
    policy.pongWait = .seconds(100_000)
  }

  @Test func `a client whose prompt still runs is remembered until it has ended`() {
    var sessions = Sessions(Self.change)
    sessions.connect(1, as: "ann")
    sessions.ask(key: "k1")
    _ = sessions.answer(1)
    sessions.ask(key: "k2")
    _ = sessions.gone(1)
    _ = sessions.wait(.seconds(290)) + sessions.commitAll()
    #expect(sessions.server.turns.keys.sorted() == [SessionPromptID(2)])
    #expect(sessions.server.clients.keys.sorted() == ["ann"])
    _ = sessions.answer(2)
    _ = sessions.wait(.seconds(200)) + sessions.commitAll()
    #expect(sessions.server.clients.isEmpty && sessions.server.turns.isEmpty)
  }

  @Test func `a client is remembered as long as it is connected`() {
    var sessions = Sessions(Self.change)
    sessions.connect(1, as: "ann")
    sessions.ask()
    _ = sessions.answer(1)
    _ = sessions.wait(.seconds(300)) + sessions.commitAll()
    #expect(sessions.server.turns.isEmpty)
    #expect(sessions.server.clients.keys.sorted() == ["ann"])
    #expect(sessions.kept.clients.keys.sorted() == ["ann"])
  }

  @Test func `a client that connects gets what its prompts produced in the order of the prompts`() {
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

  @Test func `a client that connects is sent no part of what runs for another one`() {
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

  @Test func `a message is stored once it is here, and counts for its own client alone`() {
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

  @Test func `the messages of an answered prompt are kept in its conversation alone`() {
    var sessions = Sessions()
    sessions.connect(1)
    sessions.ask()
    _ = sessions.answer(1)
    #expect(sessions.server.turns[SessionPromptID(1)]?.entries == [])
    #expect(sessions.server.talks[Sessions.conversation]?.entries.map(\.text) == ["hello", "hi"])
  }

  @Test(arguments: [(4, 0), (5, 1)])
  func `a prompt may be as many bytes as all together, and no byte more`(
    bytes: Int, refusals: Int
  ) {
    var sessions = Sessions { $0.maxPromptsBytes = 4 }
    sessions.connect(1)
    let text = String(repeating: "x", count: bytes)
    let effects = sessions.say(1, .prompt(Sessions.prompt(text)))
    #expect(effects.codes(to: 1).count == refusals)
  }

  @Test(arguments: [(0, true), (1, false)])
  func `a rate has its burst, and one prompt more in each interval`(short: Int, isTaken: Bool) {
    var sessions = Sessions { ($0.promptInterval, $0.promptBurst) = (.seconds(1), 2) }
    sessions.connect(1)
    for number in 1...2 {
      #expect(sessions.ask(1, "q", in: "c\(number)", key: "k\(number)").codes(to: 1) == [])
    }
    sessions.pass(.seconds(1) - .nanoseconds(short))
    let codes = sessions.ask(1, "q", in: "c3", key: "k3").codes(to: 1)
    #expect(codes == (isTaken ? [] : ["rate_limited"]))
  }
}
