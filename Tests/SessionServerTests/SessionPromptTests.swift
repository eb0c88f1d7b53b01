import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData
import HoldfastSessionServer
import Testing

/// Tests that prompts run exactly once, one at a time in a conversation, and within limits.
@Suite struct SessionPromptTests {
  private let one = ConnectionID(1)
  private let first = SessionPromptID(1)

  @Test func `a prompt is acknowledged once it is durable, and its handler starts only then`() {
    var sessions = Sessions.connected()
    let asked = sessions.say(1, .prompt(Sessions.prompt()))
    #expect(Sessions.visible(asked) == [])
    let accepted = sessions.commit()
    #expect(
      accepted == [
        .send(one, .ack(message: "Prompt received", idempotencyKey: "k1")),
        .run(first, Sessions.prompt()),
      ])
    #expect(sessions.stored.prompts[first]?.stage == .started)
  }

  @Test func `a response is sent once it is durable, with its message id and number`() {
    var sessions = Sessions.asked()
    let ended = sessions.take(.ended(first, .success(text: "hi"), wall: sessions.wall))
    #expect(Sessions.visible(ended) == [])
    let answered = sessions.commit()
    let response = answered.responses(to: 1).first
    #expect(
      response
        == SessionResponse(
          id: response?.id, number: 1, conversation: Sessions.conversation,
          idempotencyKey: "k1", result: .success(text: "hi")))
    #expect(response?.id.flatMap { UUID128($0) } != nil)
    #expect(
      answered.last
        == .send(one, .turnComplete(conversation: Sessions.conversation, isAborted: false)))
  }

  @Test func `a repeated prompt is acknowledged while it runs, and runs once`() {
    var sessions = Sessions.asked()
    let again = sessions.ask()
    #expect(
      Sessions.visible(again) == [
        .send(one, .ack(message: "Prompt received", idempotencyKey: "k1"))
      ])
    #expect(sessions.runs == [first])
  }

  @Test func `a repeated prompt receives the same response after its end`() {
    var sessions = Sessions.asked()
    let answer = sessions.answer(1).responses(to: 1)
    #expect(sessions.ask().responses(to: 1) == answer)
    #expect(sessions.runs == [first])
    _ = sessions.say(1, .messageAck(answer.first?.id ?? ""))
    #expect(sessions.ask().responses(to: 1) == answer)
  }

  @Test func `the same prompt of two clients runs once, and both receive the answer`() {
    var sessions = Sessions.connected()
    sessions.connect(2, as: "bob")
    sessions.ask()
    sessions.ask(2)
    let answer = sessions.answer(1)
    #expect(answer.responses(to: 2).count == 1)
    #expect(sessions.runs == [first])
  }

  @Test func `the same key with another content is a conflict`() {
    var sessions = Sessions.asked()
    #expect(sessions.ask(1, "other").codes(to: 1) == ["idempotency_conflict"])
    #expect(sessions.ask(in: Sessions.other).codes(to: 1) == ["idempotency_conflict"])
    #expect(sessions.runs == [first])
  }

  @Test func `another client may use the same key for something else`() {
    var sessions = Sessions.connected()
    sessions.connect(2, as: "bob")
    sessions.ask()
    #expect(sessions.ask(2, "other", in: Sessions.other).runs == [SessionPromptID(2)])
  }

  @Test func `prompts without a key are independent`() {
    var sessions = Sessions.connected()
    sessions.ask(key: nil)
    _ = sessions.answer(1)
    sessions.ask(key: nil)
    #expect(sessions.runs == [first, SessionPromptID(2)])
  }

  @Test func `the prompts of a conversation run one at a time, in order`() {
    var sessions = Sessions.connected()
    for key in ["k1", "k2", "k3"] { sessions.ask(key: key) }
    sessions.ask(in: Sessions.other, key: "k4")
    #expect(sessions.runs == [first, SessionPromptID(4)])
    _ = sessions.answer(1)
    #expect(sessions.runs == [first, SessionPromptID(4), SessionPromptID(2)])
    _ = sessions.answer(2)
    #expect(sessions.runs.last == SessionPromptID(3))
  }

  @Test func `the next prompt is marked as started in the commit of the answer before it`() {
    var sessions = Sessions.asked()
    sessions.ask(key: "k2")
    _ = sessions.take(.ended(first, .success(text: "hi"), wall: sessions.wall))
    #expect(sessions.writes.count == 1)
    let effects = sessions.commit()
    #expect(effects.responses(to: 1).count == 1)
    #expect(effects.runs == [SessionPromptID(2)])
  }

  @Test func `handlers are limited, and conversations receive them in order`() {
    var sessions = Sessions.connected { $0.maxRunning = 2 }
    for number in 1...4 { sessions.ask(in: "c\(number)", key: "k\(number)") }
    #expect(sessions.runs == [first, SessionPromptID(2)])
    _ = sessions.answer(2)
    #expect(sessions.runs.last == SessionPromptID(3))
    _ = sessions.answer(1)
    #expect(sessions.runs.last == SessionPromptID(4))
  }

  @Test func `a conversation that waits for a handler precedes the next prompt of another`() {
    var sessions = Sessions.asked { $0.maxRunning = 1 }
    sessions.ask(key: "k2")
    sessions.ask(in: Sessions.other, key: "k3")
    _ = sessions.answer(1)
    _ = sessions.answer(3)
    #expect(sessions.runs == [1, 3, 2].map { SessionPromptID($0) })
  }

  @Test func `the length of a text is limited`() {
    var sessions = Sessions.connected { $0.maxPromptBytes = 5 }
    #expect(sessions.ask(1, "1234", key: "a").codes(to: 1) == [])
    #expect(sessions.ask(1, "12345", key: "b").codes(to: 1) == [])
    #expect(sessions.ask(1, "123456", key: "c").codes(to: 1) == ["too_long"])
  }

  @Test func `waiting prompts are limited per conversation, in number and in bytes`() {
    var sessions = Sessions.connected {
      ($0.promptsPerConversation, $0.maxPrompts, $0.maxPromptsBytes) = (2, 3, 15)
    }
    sessions.ask(key: "a")
    sessions.ask(key: "b")
    #expect(sessions.ask(key: "c").codes(to: 1) == ["busy"])
    #expect(sessions.ask(1, "123456", in: "o", key: "d").codes(to: 1) == ["busy"])
    #expect(sessions.ask(1, "12345", in: "o", key: "e").codes(to: 1) == [])
    #expect(sessions.ask(1, "", in: "p", key: "f").codes(to: 1) == ["busy"])
    _ = sessions.answer(1)
    #expect(sessions.ask(key: "c").codes(to: 1) == [])
  }

  @Test func `the rate of prompts is limited`() {
    var sessions = Sessions.connected { ($0.promptBurst, $0.promptInterval) = (2, .seconds(1)) }
    #expect(sessions.ask(key: "a").codes(to: 1) == [])
    #expect(sessions.ask(key: "b").codes(to: 1) == [])
    #expect(sessions.ask(key: "c").codes(to: 1) == ["rate_limited"])
    sessions.pass(.seconds(1))
    #expect(sessions.ask(key: "c").codes(to: 1) == [])
  }

  @Test func `a prompt that cannot be stored is refused and can be sent again`() {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    #expect(sessions.commit(failure: .full(detail: "")).codes(to: 1) == ["store_failed"])
    #expect(
      sessions.server.serviceHealth == .failing(reason: "the disk of the session store is full"))
    #expect(sessions.ask().runs == [SessionPromptID(2)])
    #expect(sessions.server.serviceHealth == .ok)
  }

  @Test func `an answer that cannot be stored is retried, and sent once it is durable`() {
    var sessions = Sessions.asked()
    sessions.ask(key: "k2")
    _ = sessions.take(.ended(first, .success(text: "hi"), wall: sessions.wall))
    #expect(sessions.commit(failure: .full(detail: "")) == [])
    #expect(Sessions.visible(sessions.wait(.nanoseconds(1_999_999_999))) == [])
    #expect(sessions.writes.isEmpty)
    _ = sessions.wait(.nanoseconds(1))
    let effects = sessions.commitAll()
    #expect(effects.responses(to: 1).map(\.idempotencyKey) == ["k1"])
    #expect(effects.runs == [SessionPromptID(2)])
  }

  @Test func `a handler that fails produces a failure response`() {
    var sessions = Sessions.asked()
    let effects =
      sessions.take(.ended(first, .failure(error: "no"), wall: sessions.wall))
      + sessions.commitAll()
    #expect(effects.responses(to: 1).first?.result == .failure(error: "no"))
  }

  @Test func `a handler is ended after 300 s`() {
    var sessions = Sessions.asked()
    _ = sessions.gone(1)
    #expect(!sessions.wait(.nanoseconds(299_999_999_999)).contains(.cancel(first)))
    #expect(sessions.wait(.nanoseconds(1)).contains(.cancel(first)))
    _ = sessions.take(.ended(first, .success(text: "late"), wall: sessions.wall))
    _ = sessions.commitAll()
    let replay = sessions.connect(2).responses(to: 2)
    #expect(replay.map(\.result) == [.failure(error: "no answer within 300s")])
  }

  @Test func `a handler that does not end within 5 s of its cancellation is abandoned`() {
    var sessions = Sessions.asked()
    _ = sessions.say(1, .killSession(conversation: Sessions.conversation))
    #expect(sessions.wait(.nanoseconds(4_999_999_999)) == [])
    _ = sessions.wait(.nanoseconds(1))
    #expect(sessions.commitAll().responses(to: 1).count == 1)
    #expect(sessions.take(.ended(first, .success(text: ""), wall: sessions.wall)) == [])
  }

  @Test func `the length of a response is limited, streamed or whole`() {
    var sessions = Sessions.connected { $0.maxResponseBytes = 4 }
    sessions.ask(key: "a")
    #expect(sessions.take(.produced(first, "1234")) == [])
    #expect(sessions.take(.produced(first, "5")) == [.cancel(first)])
    let cut = sessions.answer(1, "").responses(to: 1).first?.result
    #expect(cut == .failure(error: "the response is longer than 4 bytes"))
    sessions.ask(key: "b")
    let whole = sessions.answer(2, "12345").responses(to: 1).first?.result
    #expect(whole == .failure(error: "the response is longer than 4 bytes"))
  }

  @Test func `no handler starts beyond the limit, even if more ran in an earlier process`() {
    var sessions = Sessions.connected { $0.maxRunning = 2 }
    sessions.ask(1, in: Sessions.other, key: "k1")
    sessions.ask(1, key: "k2")
    sessions.ask(1, in: Sessions.other, key: "k3")
    let (_, effects) = sessions.restarted { $0.maxRunning = 1 }
    let started = effects.compactMap { effect -> Bool? in
      guard case .store(_, let changes) = effect else { return nil }
      return changes.contains(.started(SessionPromptID(3)))
    }
    #expect(started.first == false)
    #expect(started.count { $0 } == 1)
  }

  @Test func `kill_session cancels a waiting prompt, which never runs`() {
    var sessions = Sessions.connected { $0.maxRunning = 1 }
    sessions.ask(1, in: Sessions.other, key: "k1")
    sessions.ask(1, key: "k2")
    let killed =
      sessions.say(1, .killSession(conversation: Sessions.conversation)) + sessions.commitAll()
    #expect(killed.responses(to: 1).map(\.result) == [.failure(error: "cancelled")])
    #expect(
      killed.messages(to: 1).last == .sessionKilled(conversation: Sessions.conversation))
    #expect(sessions.answer(1).runs == [])
    // The next prompt of the conversation runs.
    #expect(sessions.ask(1, key: "k3").runs == [SessionPromptID(3)])
  }

  @Test func `kill_session ends a prompt that is not stored yet, and is confirmed once`() {
    var sessions = Sessions.connected { $0.maxRunning = 1 }
    sessions.ask(1, in: Sessions.other, key: "k1")
    _ = sessions.say(1, .prompt(Sessions.prompt(key: "k2")))
    for _ in 1...3 { _ = sessions.say(1, .killSession(conversation: Sessions.conversation)) }
    let effects = sessions.commitAll()
    #expect(effects.responses(to: 1).map(\.result) == [.failure(error: "cancelled")])
    #expect(
      effects.messages(to: 1).count {
        $0 == .sessionKilled(conversation: Sessions.conversation)
      } == 1)
    #expect(sessions.answer(1).runs == [])
  }

  @Test func `kill_session cancels a running prompt, answers it, and is confirmed`() {
    var sessions = Sessions.asked()
    let killed = sessions.say(1, .killSession(conversation: Sessions.conversation))
    #expect(killed == [.cancel(first)])
    let effects =
      sessions.take(.ended(first, .failure(error: "signal 9"), wall: sessions.wall))
      + sessions.commitAll()
    #expect(effects.responses(to: 1).first?.result == .failure(error: "cancelled"))
    #expect(
      effects.messages(to: 1).suffix(2) == [
        .turnComplete(conversation: Sessions.conversation, isAborted: true),
        .sessionKilled(conversation: Sessions.conversation),
      ])
  }

  @Test func `kill_session without a running prompt is confirmed at once`() {
    var sessions = Sessions.connected()
    #expect(
      sessions.say(1, .killSession(conversation: "c")) == [
        .send(one, .sessionKilled(conversation: "c"))
      ])
  }

  @Test func `a prompt that is killed before its handler starts is cancelled`() {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    #expect(sessions.say(1, .killSession(conversation: Sessions.conversation)) == [])
    #expect(sessions.commit().contains(.cancel(first)))
  }

  @Test func `after a restart a started prompt is interrupted and an accepted one runs`() {
    var sessions = Sessions.asked()
    sessions.ask(key: "k2")
    var (next, begun) = sessions.restarted()
    begun += next.commitAll()
    #expect(begun.runs == [SessionPromptID(2)])
    let replay = next.connect(1).responses(to: 1)
    #expect(replay.map(\.result) == [.failure(error: "interrupted")])
    #expect(next.ask(key: "k1").responses(to: 1) == replay)
    #expect(next.runs == [SessionPromptID(2)])
  }

  @Test func `a prompt whose acceptance was lost in a crash runs when it is sent again`() {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    var (next, _) = sessions.restarted()
    next.connect(1)
    #expect(next.ask().runs == [first])
  }

  @Test(arguments: [0, 7] as [UInt64])
  func `the number of the last prompt is reported on connect, even after a restart`(number: UInt64)
  {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt(number: number))) + sessions.commitAll()
    var (next, _) = sessions.restarted()
    guard case .connected(let connected)? = next.connect(2).messages(to: 2).first else {
      return #expect(Bool(false), "the client received no connected message")
    }
    #expect(connected.received == number)
  }
}
