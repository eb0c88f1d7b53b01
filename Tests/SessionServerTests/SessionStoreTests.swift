import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for delayed changes and for store failures.
@Suite struct SessionStoreTests {
  private let first = SessionPromptID(1)

  /// Returns whether the answer to the first prompt is stored as acknowledged, or `nil` if no
  /// answer is stored.
  private func isTaken(_ sessions: Sessions) -> Bool? {
    guard case .ended(let answer)? = sessions.stored.prompts[first]?.stage else { return nil }
    return answer.isTaken
  }

  @Test func `an acknowledgement that the store failed to write is stored later`() throws {
    var sessions = Sessions.asked()
    let id = try #require(sessions.answer(1).responses(to: 1).first?.id)
    _ = sessions.say(1, .messageAck(id))
    _ = sessions.wait(.seconds(1))
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(isTaken(sessions) == false)
    _ = sessions.wait(.seconds(1))
    _ = sessions.commitAll()
    #expect(isTaken(sessions) == true)
    #expect(sessions.server.writes.delayed == [])
  }

  @Test func `a loss that the store failed to write is remembered until it is stored`() {
    var sessions = Sessions.connected { $0.answersPerClient = 1 }
    for number in 1...2 as ClosedRange<UInt64> {
      sessions.ask(key: "k\(number)")
      _ = sessions.answer(number)
    }
    _ = sessions.wait(.seconds(1))
    _ = sessions.commit(failure: .locked(detail: ""))
    _ = sessions.wait(.seconds(1))
    _ = sessions.commitAll()
    #expect(sessions.stored.clients["ann"]?.lost == 1)
    var next = sessions.restarted { $0.answersPerClient = 1 }.0
    #expect(next.connect(1).codes(to: 1) == ["not_recovered"])
  }

  @Test func `a change that was undone meanwhile is not stored later`() {
    var sessions = Sessions { $0.maxClients = 1 }
    sessions.connect(1, as: "ann")
    _ = sessions.gone(1)
    sessions.connect(2, as: "bob")
    _ = sessions.wait(.seconds(1))
    _ = sessions.gone(2)
    sessions.connect(3, as: "ann")
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(sessions.server.writes.delayed == [.endClient("bob")])
  }

  @Test func `a prompt of two clients that could not be stored appears in no later change`() {
    var sessions = Sessions.connected()
    sessions.connect(2, as: "bob")
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    _ = sessions.say(2, .prompt(Sessions.prompt()))
    _ = sessions.wait(.seconds(1))
    let refused = sessions.commit(failure: .full(detail: ""))
    #expect(refused.codes(to: 2) == ["store_failed"])
    _ = sessions.wait(.seconds(5))
    _ = sessions.commitAll()
    #expect(sessions.stored.prompts.isEmpty)
    var (next, begun) = sessions.restarted()
    begun += next.commitAll()
    #expect(begun.runs == [])
  }

  @Test func `a waiting conversation receives the handler of a prompt that could not be stored`() {
    var sessions = Sessions.connected { $0.maxRunning = 1 }
    sessions.ask(in: "a", key: "k1")
    _ = sessions.say(1, .prompt(Sessions.prompt(in: "b", key: "k2")))
    _ = sessions.take(.ended(first, .success(text: "hi"), wall: sessions.wall))
    _ = sessions.say(1, .prompt(Sessions.prompt(in: "c", key: "k3")))
    for _ in 1...2 { _ = sessions.commit() }
    #expect(sessions.server.conversations.queue == ["b"])
    #expect(sessions.commit(failure: .full(detail: "")).codes(to: 1) == ["store_failed"])
    #expect(sessions.commitAll().runs == [SessionPromptID(2)])
  }

  @Test func `a prompt of two clients belongs to the last one after a restart`() {
    var sessions = Sessions.connected()
    sessions.connect(2, as: "bob")
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    _ = sessions.say(2, .prompt(Sessions.prompt()))
    _ = sessions.commitAll()
    _ = sessions.wait(.seconds(1))
    _ = sessions.commitAll()
    #expect(sessions.stored.prompts[first]?.client == "bob")
  }

  @Test(arguments: [(131_048, [String?]()), (131_049, ["too_long"])])
  func `a system prompt fits into one environment variable of Linux`(count: Int, codes: [String?]) {
    var sessions = Sessions.connected()
    var prompt = Sessions.prompt()
    prompt.systemPrompt = String(repeating: "s", count: count)
    #expect(sessions.say(1, .prompt(prompt)).codes(to: 1) == codes)
  }

  @Test func `a refused prompt leaves no conversation, and its number is not acknowledged`() {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt(number: 7)))
    #expect(sessions.commit(failure: .full(detail: "")).codes(to: 1) == ["store_failed"])
    #expect(sessions.server.conversations.ids.isEmpty)
    #expect(received(sessions.connect(2), by: 2) == [nil])
    _ = sessions.say(2, .prompt(Sessions.prompt(number: 7)))
    #expect(received(sessions.connect(3), by: 3) == [nil])
    _ = sessions.commitAll()
    #expect(received(sessions.connect(4), by: 4) == [7])
  }

  @Test func `the number of a prompt that two clients sent is that of the first one`() {
    var sessions = Sessions.connected()
    sessions.connect(2, as: "bob")
    _ = sessions.say(1, .prompt(Sessions.prompt(number: 7)))
    _ = sessions.say(2, .prompt(Sessions.prompt(number: 3)))
    _ = sessions.commitAll()
    #expect(received(sessions.connect(3), by: 3) == [7])
  }

  @Test func `a prompt that waits behind one that could not be stored starts`() {
    var sessions = Sessions.connected()
    for key in ["k1", "k2"] { _ = sessions.say(1, .prompt(Sessions.prompt(key: key))) }
    let tokens = sessions.writes.map { $0.0 }
    _ = sessions.take(.stored(tokens[1], failure: nil, wall: sessions.wall))
    _ = sessions.take(.stored(tokens[0], failure: .full(detail: ""), wall: sessions.wall))
    #expect(sessions.writes.last?.1 == [.started(SessionPromptID(2))])
  }

  @Test func `the end of a client that the store failed to write is stored later`() {
    var sessions = Sessions { $0.maxClients = 1 }
    sessions.connect(1, as: "ann")
    sessions.ask()
    _ = sessions.answer(1)
    _ = sessions.gone(1)
    sessions.connect(2, as: "bob")
    _ = sessions.wait(.seconds(1))
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(sessions.stored.clients.keys.sorted() == ["ann"])
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    #expect(sessions.stored.clients.isEmpty)
  }

  private func received(_ effects: [Sessions.Effect], by connection: UInt64) -> [UInt64?] {
    effects.messages(to: connection).compactMap {
      if case .connected(let connected) = $0 { connected.received } else { nil }
    }
  }

  @Test func `a restarted conversation contains nothing of one whose end was not stored`() {
    var sessions = Sessions.asked { $0.maxConversations = 1 }
    _ = sessions.answer(1, "old")
    sessions.ask(in: Sessions.other, key: "k2")
    _ = sessions.answer(2)
    _ = sessions.wait(.seconds(1))
    _ = sessions.say(1, .prompt(Sessions.prompt("anew", key: "k3")))
    _ = sessions.commit(failure: .full(detail: ""))
    _ = sessions.commitAll() + sessions.answer(3, "new")
    let next = sessions.restarted { $0.maxConversations = 1 }.0
    let texts = next.server.conversations[Sessions.conversation]?.entries.map(\.text)
    #expect(texts == ["anew", "new"])
  }

  @Test func `the end of a conversation that the store failed to write is stored later`() {
    var sessions = Sessions.asked { $0.maxConversations = 1 }
    _ = sessions.answer(1)
    sessions.ask(in: Sessions.other, key: "k2")
    _ = sessions.answer(2)
    _ = sessions.wait(.seconds(1))
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(sessions.server.writes.delayed == [.endConversation(Sessions.conversation)])
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    #expect(sessions.stored.conversations.keys.sorted() == [Sessions.other])
  }
}
