import HoldfastCore
import HoldfastServerFixtures
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for what a session server restores from the previous process.
@Suite struct SessionRestoreTests {
  private static let first = SessionPromptID(1)

  /// Returns a harness in which a prompt runs for "bob", although another client sent it first.
  private static func handedOver() -> Sessions {
    var sessions = Sessions.connected()
    sessions.connect(2, as: "bob")
    sessions.ask(1)
    sessions.ask(2)
    return sessions
  }

  @Test func `an interrupted prompt is answered to the client that sent it last`() {
    var sessions = Self.handedOver()
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    var next = sessions.restarted().0
    _ = next.commitAll()
    let replay = next.connect(3, as: "bob").responses(to: 3)
    #expect(replay.map(\.result) == [.failure(error: "interrupted")])
    #expect(next.connect(4).responses(to: 4) == [])
  }

  @Test func `the new client of a prompt that the store failed to write is stored later`() {
    var sessions = Self.handedOver()
    _ = sessions.wait(.seconds(1))
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(sessions.stored.prompts[Self.first]?.client == "ann")
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    #expect(sessions.stored.prompts[Self.first]?.client == "bob")
  }

  @Test func `an answer waits for its client even if nothing else is stored about the client`() {
    var sessions = Sessions.asked()
    _ = sessions.answer(1)
    var stored = sessions.stored
    stored.apply(.endClient("ann"))
    var server = SessionServer(seed: 2, at: .zero)
    _ = server.handle(.restored(stored, wall: sessions.wall), at: .zero)
    #expect(server.clients["ann"]?.outbox == [Self.first])
    #expect(server.clients["ann"]?.stored.lastNumber == 1)
  }

  @Test func `the conversation whose last message is oldest is removed first`() {
    var sessions = Sessions.connected()
    for (number, name) in [(1, "c1"), (2, "c2"), (3, "c1")] as [(UInt64, String)] {
      sessions.ask(1, in: name, key: "k\(number)")
      _ = sessions.answer(number)
      sessions.pass(.seconds(1))
    }
    let next = sessions.restarted { $0.maxConversations = 1 }.0
    #expect(next.server.conversations.ids == ["c1"])
  }

  @Test func `a conversation without messages is not restored`() {
    var stored = StoredSessions()
    stored.apply(.conversation("c", signature: "1:x"))
    var server = SessionServer(seed: 2, at: .zero)
    _ = server.handle(.restored(stored, wall: Stage.dawn), at: .zero)
    #expect(server.conversations.ids.isEmpty)
  }

  @Test func `the number of a prompt belongs to the client that sent it first`() {
    var sessions = Sessions()
    for (connection, client) in [(1, "ann"), (2, "bob"), (3, "cat")] as [(UInt64, String)] {
      sessions.connect(connection, as: client)
    }
    for connection in 1...3 as ClosedRange<UInt64> {
      _ = sessions.say(connection, .prompt(Sessions.prompt(number: 5)))
    }
    _ = sessions.commitAll()
    let clients = sessions.server.clients
    #expect(sessions.server.prompts[Self.first]?.client == "cat")
    let numbers = ["ann", "bob", "cat"].map { clients[$0]?.stored.lastPrompt }
    #expect(numbers == [5, nil, nil])
  }

  @Test func `the oldest waiting prompt runs first, whatever its conversation's history`() {
    var sessions = Sessions.connected()
    sessions.ask(1, in: "d", key: "k1")
    _ = sessions.answer(1)
    var stored = sessions.stored
    for (number, name) in [(2, "c"), (3, "d")] as [(UInt64, String)] {
      stored.apply(
        .prompt(
          StoredSessionPrompt(
            id: SessionPromptID(number), client: "ann",
            prompt: Sessions.prompt(in: name, key: "k\(number)"), at: sessions.wall,
            stage: .accepted)))
    }
    var policy = SessionServerPolicy()
    policy.maxRunning = 1
    var server = SessionServer(policy: policy, seed: 2, at: .zero)
    let effects = server.handle(.restored(stored, wall: sessions.wall), at: .zero)
    let started = effects.flatMap { effect -> [SessionChange] in
      if case .store(_, let changes) = effect { changes } else { [] }
    }
    #expect(started == [.started(SessionPromptID(2))])
  }

  @Test func `of a conversation with a gap, only the messages after the gap are restored`() {
    var stored = StoredSessions()
    stored.apply(.conversation("c", signature: "1:x"))
    for position in [4, 1, 3] as [UInt64] {
      let id = "m\(position)"
      stored.apply(
        .entry(
          SessionEntry(id: id, role: .assistant, text: "a", conversation: "c", position: position)))
    }
    var server = SessionServer(seed: 2, at: .zero)
    _ = server.handle(.restored(stored, wall: Stage.dawn), at: .zero)
    #expect(server.conversations["c"]?.entries.map(\.id) == ["m3", "m4"])
    #expect(server.brokenInvariants(.thorough) == [])
  }
}
