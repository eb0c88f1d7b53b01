import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSessionServer

/// Tests for the drain of a session server.
@Suite struct SessionDrainTests {
  private let one = ConnectionID(1)
  private let window = Duration.seconds(5)

  @Test func `an idle server warns its clients and closes at once`() {
    var sessions = Sessions.connected()
    _ = sessions.open(2)
    #expect(
      sessions.take(.drain(within: window)) == [
        .send(
          one,
          .draining(
            message: "The server is about to stop.", retryAfter: .seconds(5), window: window)),
        .close(one, .draining(within: window)),
        .close(ConnectionID(2), .draining(within: window)),
      ])
    _ = sessions.gone(1)
    #expect(sessions.gone(2) == [.finished])
    #expect(sessions.server.isFinished)
  }

  @Test func `a second drain warns no client again`() {
    var sessions = Sessions.asked()
    #expect(sessions.take(.drain(within: window)).messages(to: 1).count == 1)
    #expect(sessions.take(.drain(within: .seconds(1))) == [])
  }

  @Test func `messages of a socket that is about to close are not answered`() {
    var sessions = Sessions.connected()
    #expect(sessions.take(.unreadable(one, detail: "no JSON", field: nil)).codes(to: 1).count == 1)
    _ = sessions.take(.drain(within: window))
    #expect(sessions.take(.unreadable(one, detail: "no JSON", field: nil)) == [])
  }

  @Test func `during the grace period handlers may end, and new prompts are refused`() {
    var sessions = Sessions.asked()
    sessions.ask(key: "k2")
    #expect(sessions.take(.drain(within: window)).messages(to: 1).count == 1)
    #expect(sessions.ask(key: "k3").codes(to: 1) == ["draining"])
    #expect(
      sessions.open(2) == [
        .refuse(ConnectionID(2), HTTPRefusal(503, "draining", retryAfter: .seconds(2)))
      ])
    #expect(sessions.server.serviceHealth == .draining)
    let answer = sessions.answer(1)
    #expect(answer.responses(to: 1).count == 1)
    #expect(sessions.runs == [SessionPromptID(1)])
    #expect(sessions.wait(.seconds(1)).contains(.close(one, .draining(within: window))))
  }

  @Test func `a handler that outlasts the grace period is ended, and its prompt is interrupted`() {
    var sessions = Sessions.asked()
    sessions.ask(key: "k2")
    _ = sessions.take(.drain(within: window))
    #expect(!sessions.wait(.nanoseconds(999_999_999)).contains(.cancel(SessionPromptID(1))))
    #expect(sessions.wait(.nanoseconds(1)).contains(.cancel(SessionPromptID(1))))
    _ = sessions.commitAll()
    #expect(sessions.gone(1) == [.finished])
    var (next, begun) = sessions.restarted()
    begun += next.commitAll()
    #expect(begun.runs == [SessionPromptID(2)])
    let replay = next.connect(1).responses(to: 1)
    #expect(replay.map(\.result) == [.failure(error: "interrupted")])
  }

  @Test(arguments: [false, true])
  func `a prompt stored after a drain began runs in the next process`(isLeaving: Bool) {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    _ = sessions.take(.drain(within: window))
    if isLeaving { _ = sessions.wait(.seconds(1)) }
    _ = sessions.commitAll()
    #expect(sessions.runs == [])
    #expect(sessions.stored.prompts[SessionPromptID(1)]?.stage == .accepted)
    if !isLeaving { _ = sessions.wait(.seconds(1)) }
    #expect(sessions.gone(1) == [.finished])
    var (next, begun) = sessions.restarted()
    begun += next.commitAll()
    #expect(begun.runs == [SessionPromptID(1)])
  }

  @Test func `a handler whose start is stored after a drain began is not started`() {
    var sessions = Sessions.asked()
    sessions.ask(key: "k2")
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: sessions.wall))
    _ = sessions.take(.drain(within: window))
    #expect(sessions.commitAll().responses(to: 1).count == 1)
    #expect(sessions.runs == [SessionPromptID(1)])
    #expect(sessions.stored.prompts[SessionPromptID(2)]?.stage == .accepted)
  }

  @Test func `a conversation that waits for a handler keeps waiting during a drain`() {
    var sessions = Sessions.asked { $0.maxRunning = 1 }
    sessions.ask(key: "k2")
    sessions.ask(in: Sessions.other, key: "k3")
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: sessions.wall))
    _ = sessions.take(.drain(within: window))
    // The handler reserved for the next prompt is free again.
    #expect(sessions.commitAll().responses(to: 1).count == 1)
    #expect(sessions.server.prompts.running == 0)
    #expect(sessions.server.conversations.queue == [Sessions.conversation])
    #expect(sessions.stored.prompts[SessionPromptID(2)]?.stage == .accepted)
    #expect(sessions.stored.prompts[SessionPromptID(3)]?.stage == .accepted)
  }

  @Test func `a prompt cancelled before its start is stored is answered during the drain`() {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    _ = sessions.say(1, .killSession(conversation: Sessions.conversation))
    _ = sessions.take(.drain(within: window))
    let responses = sessions.commitAll().responses(to: 1)
    #expect(responses.map(\.result) == [.failure(error: "cancelled")])
    #expect(sessions.runs == [])
  }

  @Test func `whatever does not end is dropped after 10 s`() {
    var sessions = Sessions.connected()
    _ = sessions.take(.drain(within: window))
    #expect(!sessions.wait(.nanoseconds(9_999_999_999)).contains(.finished))
    let effects = sessions.wait(.nanoseconds(1))
    #expect(effects.contains(.finished))
  }

  @Test func `an answer that the store failed to write is stored before a drain ends`() {
    var sessions = Sessions.asked()
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: sessions.wall))
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(!sessions.take(.drain(within: window)).contains(.close(one, .draining(within: window))))
    #expect(sessions.wait(.seconds(1)).contains(.close(one, .draining(within: window))))
    _ = sessions.commit(failure: .full(detail: ""))
    #expect(!sessions.gone(1).contains(.finished))
    _ = sessions.wait(.seconds(2))
    #expect(sessions.commitAll().contains(.finished))
    #expect(sessions.stored.prompts[SessionPromptID(1)]?.stage.answer?.text == "hi")
  }

  /// - Parameter failures: The number of further attempts that also fail.
  @Test(arguments: [0, 1])
  func `a start mark that the store fails to remove is removed later`(
    failures: Int
  ) {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .prompt(Sessions.prompt()))
    _ = sessions.take(.drain(within: window))
    _ = sessions.commit()
    _ = sessions.commit(failure: .locked(detail: ""))
    #expect(sessions.stored.prompts[SessionPromptID(1)]?.stage == .started)
    _ = sessions.wait(.seconds(1))
    #expect(!sessions.gone(1).contains(.finished))
    for _ in 0..<failures {
      #expect(!sessions.commit(failure: .locked(detail: "")).contains(.finished))
      _ = sessions.wait(.seconds(2))
    }
    #expect(sessions.commitAll().contains(.finished))
    #expect(sessions.stored.prompts[SessionPromptID(1)]?.stage == .accepted)
  }

  @Test func `an answer that is being stored is sent before the sockets close`() {
    var sessions = Sessions.asked()
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: sessions.wall))
    #expect(!sessions.take(.drain(within: window)).contains(.close(one, .draining(within: window))))
    #expect(sessions.commitAll().responses(to: 1).count == 1)
  }

  @Test func `removals caused by an answer are stored before a drain ends`() {
    var sessions = Sessions.asked { $0.maxEnded = 1 }
    _ = sessions.answer(1)
    sessions.ask(key: "k2")
    _ = sessions.take(.ended(SessionPromptID(2), .success(text: "hi"), wall: sessions.wall))
    _ = sessions.take(.drain(within: window)) + sessions.wait(.seconds(1)) + sessions.gone(1)
    #expect(!sessions.commitAll().contains(.finished))
    _ = sessions.wait(.seconds(1))
    #expect(sessions.commitAll().contains(.finished))
    #expect(sessions.stored.prompts.keys.map(\.number) == [2])
  }

  @Test func `no deadline remains once a drain has ended`() {
    var sessions = Sessions.connected { $0.memory = .seconds(9) }
    _ = sessions.ask() + sessions.answer(1) + sessions.take(.drain(within: window))
    #expect(sessions.gone(1) == [.finished])
    #expect(sessions.server.deadline == nil)
    #expect(sessions.wait(.seconds(9)) == [])
  }

  @Test func `a drain whose store keeps failing ends after 10 s`() {
    var sessions = Sessions.asked()
    _ = sessions.take(.ended(SessionPromptID(1), .success(text: "hi"), wall: sessions.wall))
    _ = sessions.take(.drain(within: window)) + sessions.gone(1)
    for _ in 0..<5 {
      _ = sessions.commit(failure: .full(detail: ""))
      #expect(!sessions.wait(.milliseconds(1_999)).contains(.finished))
    }
    #expect(sessions.wait(.milliseconds(5)).contains(.finished))
  }
}

extension StoredSessionPrompt.Stage {
  fileprivate var answer: StoredSessionAnswer? {
    switch self {
    case .ended(let answer): answer
    case .accepted, .started: nil
    }
  }
}
