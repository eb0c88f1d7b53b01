import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for the session server at its limits, and for what counts toward each limit.
@Suite struct SessionBoundTests {
  private func prompt(_ text: String, _ system: String, key: String) -> SessionClientMessage {
    var prompt = Sessions.prompt(text, key: key)
    prompt.systemPrompt = system
    return .prompt(prompt)
  }

  @Test(arguments: [(3, 2, []), (3, 3, ["too_long"]), (6, 0, ["too_long"])])
  func `the system prompt counts toward the size of a prompt`(
    text: Int, system: Int, codes: [String?]
  ) {
    var sessions = Sessions.connected { $0.maxPromptBytes = 5 }
    let message = prompt(
      String(repeating: "x", count: text), String(repeating: "y", count: system), key: "k")
    #expect(sessions.say(1, message).codes(to: 1) == codes)
  }

  @Test func `all bytes of a prompt are released with its answer`() {
    var sessions = Sessions.connected { $0.maxPromptsBytes = 9 }
    for number in 1...3 as ClosedRange<UInt64> {
      let effects = sessions.say(1, prompt("12345", "1234", key: "k\(number)"))
      #expect(effects.codes(to: 1) == [])
      _ = sessions.commitAll()
      #expect(sessions.server.prompts.openBytes == 9)
      #expect(sessions.say(1, prompt("1", "", key: "more")).codes(to: 1) == ["busy"])
      _ = sessions.answer(number, "hi")
      #expect(sessions.server.prompts.openBytes == 0)
      #expect(sessions.server.prompts.endedBytes == Int(number) * 11)
    }
  }

  /// A response of two letters counts as 702 bytes in the lane.
  @Test(arguments: [(702, 1), (703, 2)])
  func `a socket is sent nothing more once its lane is full`(
    bytes: Int, count: Int
  ) {
    var sessions = Sessions.asked { $0.queueBytes = bytes }
    let effects = sessions.answer(1, "hi")
    #expect(effects.messages(to: 1).count == count)
    #expect(sessions.take(.drained(ConnectionID(1))).messages(to: 1).count == 2 - count)
  }

  @Test(arguments: [(202, true), (203, false)])
  func `a part counts as 200 bytes in the lane in addition to its text`(bytes: Int, isFull: Bool) {
    var sessions = Sessions { $0.queueBytes = bytes }
    sessions.connect(1, features: [.parts])
    sessions.ask()
    let effects = sessions.take(.produced(SessionPromptID(1), "ab"))
    #expect(effects.contains(.noticeDrain(ConnectionID(1))) == isFull)
  }

  @Test func `a lane below its limit accepts a whole batch of subscriptions`() {
    var sessions = Sessions.connected {
      ($0.queueBytes, $0.maxQueued) = (1, 2)
      $0.answersPerClient = 1
    }
    let all = (0...100).map { number in
      SessionSubscription(conversation: "c\(number)", cursor: .sequence(0))
    }
    // The first window is being sent, and the second one waits.
    for _ in 1...2 { _ = sessions.say(1, .subscribe(all[0])) }
    _ = sessions.say(1, .subscribeBatch(Array(all.dropFirst())))
    #expect(sessions.server.sockets[ConnectionID(1)]?.queue.count == 101)
  }

  @Test func `beyond the limit of history bytes, a conversation ends with its only message`() {
    var sessions = Sessions.connected { $0.maxHistoryBytes = 40 }
    // The question has 5 bytes and an id of 36 bytes.
    sessions.ask()
    _ = sessions.take(.ended(SessionPromptID(1), .failure(error: "no"), wall: sessions.wall))
    _ = sessions.commitAll()
    #expect(sessions.server.conversations.ids.isEmpty)
    #expect(sessions.server.writes.delayed == [.endConversation(Sessions.conversation)])
  }

  @Test func `a loss is remembered across a restart until its client was informed`() {
    let change: (inout SessionServerPolicy) -> Void = { $0.answersPerClient = 1 }
    var sessions = Sessions(change)
    sessions.connect(1)
    for number in 1...2 as ClosedRange<UInt64> {
      sessions.ask(1, "q", in: "c\(number)", key: "k\(number)")
      _ = sessions.answer(number)
    }
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    var (next, _) = sessions.restarted(change)
    let results = next.connect(2).messages(to: 2).compactMap { message in
      if case .connected(let connected) = message { connected.isRecovered } else { nil }
    }
    #expect(results == [false])
  }

  @Test func `a lane frees its delivered parcels once they are the larger part`() {
    var queue = SessionQueue()
    for number in 1...200 as ClosedRange<UInt64> {
      queue.append(.response(SessionPromptID(number)))
    }
    for number in 1...130 as ClosedRange<UInt64> {
      #expect(queue.next() == .response(SessionPromptID(number)))
    }
    #expect(queue.count == 70)
    #expect(queue.items.count < 130)
    for _ in 1...70 { _ = queue.next() }
    #expect(queue.next() == nil && queue.items.isEmpty)
  }

  @Test func `a parcel that was put back is sent first and only once`() {
    var queue = SessionQueue()
    queue.putBack(.news("a"))
    queue.append(.news("a"))
    queue.append(.news("b"))
    #expect(queue.count == 2)
    #expect(queue.next() == .news("a"))
    queue.putBack(.news("a"))
    #expect([queue.next(), queue.next(), queue.next()] == [.news("a"), .news("b"), nil])
    #expect(queue.news == [])
  }

  @Test func `the limit of prompts per conversation may be one`() {
    var sessions = Sessions.connected { $0.promptsPerConversation = 1 }
    #expect(sessions.ask(key: "k1").codes(to: 1) == [])
    #expect(sessions.ask(key: "k2").codes(to: 1) == ["busy"])
  }
}
