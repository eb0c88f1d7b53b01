import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for the delivery of answers: replays, limits, parts and the lane of a socket.
@Suite struct SessionDeliveryTests {
  private let one = ConnectionID(1)
  private let two = ConnectionID(2)

  /// Returns a harness whose client has `count` unacknowledged answers, and the ids of their
  /// messages.
  private func answered(
    _ count: UInt64, _ change: (inout SessionServerPolicy) -> Void = { _ in }
  ) -> (Sessions, [String]) {
    var sessions = Sessions(change)
    sessions.connect(1)
    var ids: [String] = []
    for number in 1...count {
      sessions.ask(key: "k\(number)")
      ids += sessions.answer(number, "a\(number)").responses(to: 1).compactMap(\.id)
    }
    return (sessions, ids)
  }

  /// Returns the ids of the messages that are replayed to a connection.
  private func replays(_ effects: [Sessions.Effect], to connection: UInt64) -> [String] {
    effects.messages(to: connection).compactMap { message in
      if case .replay(let id, _, _) = message { id } else { nil }
    }
  }

  @Test func `unacknowledged answers are replayed in order on the next connection`() {
    var (sessions, ids) = answered(3)
    _ = sessions.gone(1)
    let effects = sessions.connect(2)
    #expect(replays(effects, to: 2) == ids)
    #expect(
      effects.messages(to: 2).dropFirst().first
        == .replay(
          id: ids[0],
          SessionEntry(
            id: ids[0], role: .assistant, text: "a1", conversation: Sessions.conversation,
            timestamp: sessions.wall), number: 1))
  }

  @Test func `an acknowledgement receives no reply and ends the replay`() {
    var (sessions, ids) = answered(2)
    #expect(Sessions.visible(sessions.say(1, .messageAck(ids[0]))) == [])
    #expect(Sessions.visible(sessions.say(1, .messageAck(ids[0]))) == [])
    #expect(Sessions.visible(sessions.say(1, .messageAck("stranger"))) == [])
    _ = sessions.gone(1)
    #expect(replays(sessions.connect(2), to: 2) == [ids[1]])
  }

  @Test func `replays and acknowledgements survive a restart`() {
    var (sessions, ids) = answered(2)
    _ = sessions.say(1, .messageAck(ids[0]))
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    var (next, _) = sessions.restarted()
    #expect(replays(next.connect(1), to: 1) == [ids[1]])
  }

  @Test func `the number in connect acknowledges all answers up to it`() {
    var (sessions, ids) = answered(3)
    _ = sessions.gone(1)
    let effects = sessions.connect(2, features: [.resume], received: 2)
    #expect(replays(effects, to: 2) == [ids[2]])
  }

  @Test func `answers are sent to no other client`() {
    var (sessions, _) = answered(1)
    #expect(replays(sessions.connect(2, as: "bob"), to: 2) == [])
  }

  @Test func `another client's acknowledgement changes nothing`() {
    var (sessions, ids) = answered(1)
    sessions.connect(2, as: "bob")
    #expect(Sessions.visible(sessions.say(2, .messageAck(ids[0]))) == [])
    _ = sessions.gone(1)
    #expect(replays(sessions.connect(3), to: 3) == ids)
  }

  @Test func `failures are replayed as the original response`() {
    var sessions = Sessions.asked()
    _ = sessions.gone(1)
    _ = sessions.take(.ended(SessionPromptID(1), .failure(error: "no"), wall: sessions.wall))
    _ = sessions.commitAll()
    let responses = sessions.connect(2).responses(to: 2)
    #expect(responses.map(\.result) == [.failure(error: "no")])
    #expect(responses.map(\.idempotencyKey) == ["k1"])
  }

  @Test func `beyond the limit the oldest answers are lost, and the client is informed once`() {
    var (sessions, ids) = answered(3) { $0.answersPerClient = 2 }
    _ = sessions.gone(1)
    let effects = sessions.connect(2)
    #expect(effects.codes(to: 2) == ["not_recovered"])
    #expect(replays(effects, to: 2) == [ids[1], ids[2]])
    guard case .connected(let connected)? = effects.messages(to: 2).first else {
      return #expect(Bool(false), "the client received no connected message")
    }
    #expect(connected.isRecovered == false)
    // The loss is reported on each connection until the client sends a message, which shows that it
    // has received the report.
    _ = sessions.gone(2)
    #expect(sessions.connect(3).codes(to: 3) == ["not_recovered"])
    _ = sessions.say(3, .messageAck(ids[1]))
    _ = sessions.gone(3)
    #expect(sessions.connect(4).codes(to: 4) == [])
  }

  @Test(arguments: [SessionClientMessage.ping, .messageAck("stranger")])
  func `a loss during a connection is reported on the next one`(
    message: SessionClientMessage
  ) {
    var (sessions, _) = answered(3) { $0.answersPerClient = 2 }
    _ = sessions.say(1, message)
    _ = sessions.gone(1)
    #expect(sessions.connect(2).codes(to: 2) == ["not_recovered"])
  }

  @Test func `at the limit of number and bytes, nothing is lost`() {
    var (sessions, ids) = answered(2) { ($0.answersPerClient, $0.answersBytesPerClient) = (2, 4) }
    _ = sessions.gone(1)
    #expect(replays(sessions.connect(2), to: 2) == ids)
    var (small, few) = answered(2) { $0.answersBytesPerClient = 3 }
    _ = small.gone(1)
    let effects = small.connect(2)
    #expect(replays(effects, to: 2) == [few[1]])
    #expect(effects.codes(to: 2) == ["not_recovered"])
  }

  @Test func `a client that has received the lost message is not informed of a loss`() {
    var (sessions, ids) = answered(3) { $0.answersPerClient = 2 }
    _ = sessions.gone(1)
    let effects = sessions.connect(2, features: [.resume], received: 1)
    #expect(effects.codes(to: 2) == [])
    #expect(replays(effects, to: 2) == [ids[1], ids[2]])
  }

  @Test func `a client ahead of the store receives higher numbers and a report of the loss`() {
    var sessions = Sessions()
    let effects = sessions.connect(1, features: [.resume], received: 9)
    #expect(effects.codes(to: 1) == ["not_recovered"])
    sessions.ask()
    #expect(sessions.answer(1).responses(to: 1).map(\.number) == [10])
  }

  @Test func `answers and keys are forgotten after 30 days`() {
    var (sessions, _) = answered(1)
    _ = sessions.gone(1)
    _ = sessions.wait(.seconds(30 * 86_400 - 1)) + sessions.commitAll()
    #expect(sessions.server.prompts.ids.count == 1)
    _ = sessions.wait(.seconds(3_601)) + sessions.commitAll()
    #expect(sessions.server.prompts.ids.isEmpty)
    #expect(sessions.stored.prompts.isEmpty)
    #expect(sessions.stored.clients.isEmpty)
  }

  @Test func `ended prompts are limited in number and in bytes`() {
    var (sessions, _) = answered(3) { $0.maxEnded = 2 }
    #expect(sessions.server.prompts.ids == [SessionPromptID(2), SessionPromptID(3)])
    let (small, _) = answered(3) { $0.maxEndedBytes = 14 }
    #expect(small.server.prompts.ids == [SessionPromptID(2), SessionPromptID(3)])
    _ = sessions.gone(1)
    #expect(sessions.connect(2).codes(to: 2) == ["not_recovered"])
  }

  @Test func `a client that accepts parts receives all output from the start on each connection`() {
    var sessions = Sessions()
    sessions.connect(1, features: [.parts])
    sessions.ask()
    let part = { (index: Int, text: String) in
      SessionServerMessage.responsePart(
        conversation: Sessions.conversation, idempotencyKey: "k1", index: index, text: text)
    }
    #expect(
      sessions.take(.produced(SessionPromptID(1), "ab\n")).messages(to: 1) == [part(0, "ab")])
    #expect(
      sessions.take(.produced(SessionPromptID(1), "cd")).messages(to: 1) == [part(1, "\ncd")])
    #expect(
      sessions.connect(2, features: [.parts]).messages(to: 2).dropFirst() == [part(0, "ab\ncd")])
    #expect(sessions.answer(1, "ab\ncd").responses(to: 1).map(\.parts) == [nil])
  }

  @Test func `a plain client receives no parts`() {
    var sessions = Sessions.asked()
    #expect(sessions.take(.produced(SessionPromptID(1), "ab")) == [])
  }

  @Test func `no further part of a cancelled prompt is sent`() {
    var sessions = Sessions { $0.queueBytes = 1 }
    sessions.connect(1, features: [.parts])
    sessions.ask()
    #expect(sessions.take(.produced(SessionPromptID(1), "ab")).messages(to: 1).count == 1)
    #expect(sessions.take(.produced(SessionPromptID(1), "cd")) == [])
    _ = sessions.say(1, .killSession(conversation: Sessions.conversation))
    #expect(sessions.take(.drained(one)) == [])
  }

  @Test func `output of a cancelled handler takes no entry in a lane`() {
    var sessions = Sessions { ($0.queueBytes, $0.maxQueued) = (1, 1) }
    sessions.connect(1, features: [.parts])
    sessions.ask()
    // A part is being sent, and the only window that may wait is waiting.
    _ = sessions.take(.produced(SessionPromptID(1), "ab"))
    let window = SessionSubscription(
      conversation: Sessions.conversation, cursor: .offset(0, signature: nil))
    #expect(sessions.say(1, .subscribe(window)) == [])
    _ = sessions.say(1, .killSession(conversation: Sessions.conversation))
    #expect(sessions.take(.produced(SessionPromptID(1), "cd")) == [])
  }

  @Test func `output of a handler takes one entry in the lane of a slow reader`() {
    var sessions = Sessions { ($0.queueBytes, $0.maxQueued) = (1, 2) }
    sessions.connect(1, features: [.parts])
    sessions.ask()
    _ = sessions.take(.produced(SessionPromptID(1), "a"))
    for text in ["b", "c", "d"] {
      #expect(sessions.take(.produced(SessionPromptID(1), text)) == [])
    }
    #expect(
      sessions.take(.drained(one)).messages(to: 1) == [
        .responsePart(
          conversation: Sessions.conversation, idempotencyKey: "k1", index: 1, text: "bcd")
      ])
  }

  @Test func `a long response is cut in the middle for a plain client`() throws {
    var sessions = Sessions.connected()
    #expect(
      sessions.say(1, .setMaxMessageSize(kilobytes: 2)).messages(to: 1) == [
        .ack(message: "Max message size set to 2 KB", idempotencyKey: nil)
      ])
    sessions.ask()
    let text = String(repeating: "a\"", count: 2_000)
    let effects = sessions.answer(1, text)
    let response = try #require(effects.responses(to: 1).first)
    guard case .success(let cut) = response.result else {
      return #expect(Bool(false), "the response is a failure")
    }
    #expect(cut.hasPrefix("a\"a") && cut.hasSuffix("a\""))
    #expect(cut.contains("bytes left out ...]"))
    #expect(SessionServerMessage.response(response).bytes.count <= 2_048)
    #expect(response.parts == nil)
  }

  @Test func `a long response is sent in parts to a client that accepts them`() throws {
    var sessions = Sessions()
    sessions.connect(1, features: [.parts])
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 2))
    sessions.ask()
    let text = String(repeating: "\u{E9}\n", count: 1_500)
    let effects = sessions.answer(1, text)
    let parts = effects.messages(to: 1).compactMap { message -> String? in
      if case .responsePart(_, _, _, let text) = message { text } else { nil }
    }
    let response = try #require(effects.responses(to: 1).first)
    #expect(parts.joined() == text)
    #expect(response.parts == parts.count)
    #expect(effects.messages(to: 1).allSatisfy { $0.bytes.count <= 2_048 })
    _ = sessions.gone(1)
    sessions.connect(2, features: [.parts])
    let again = sessions.ask(2).responses(to: 2)
    #expect(again.map(\.result) == [.success(text: text)])
  }

  @Test(arguments: [(2_047, false), (2_048, false), (2_049, true)])
  func `a message is as long as the client accepts`(size: Int, isCut: Bool) throws {
    var sessions = Sessions.connected()
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 2))
    sessions.ask()
    let text = String(repeating: "a", count: size - SessionText.envelope)
    let response = try #require(sessions.answer(1, text).responses(to: 1).first)
    #expect((response.result != .success(text: text)) == isCut)
  }

  @Test func `large messages wait for the socket, and small ones do not`() {
    var sessions = Sessions.asked { $0.queueBytes = 1 }
    sessions.ask(key: "k2")
    let first = sessions.answer(1)
    #expect(first.responses(to: 1).count == 1)
    #expect(first.contains(.noticeDrain(one)))
    #expect(sessions.answer(2).responses(to: 1).isEmpty)
    #expect(sessions.say(1, .ping) == [.send(one, .pong)])
    #expect(sessions.ask(key: "k3").messages(to: 1).count == 1)
    let turn = SessionServerMessage.turnComplete(
      conversation: Sessions.conversation, isAborted: false)
    #expect(sessions.take(.drained(one)) == [.send(one, turn), .noticeDrain(one)])
    #expect(sessions.take(.drained(one)).responses(to: 1).map(\.idempotencyKey) == ["k2"])
  }

  @Test func `a socket with too many waiting parcels is closed`() {
    var sessions = Sessions.connected { ($0.queueBytes, $0.maxQueued) = (1, 3) }
    for number in 1...2 as ClosedRange<UInt64> {
      sessions.ask(key: "k\(number)")
      #expect(!sessions.answer(number).contains(.close(one, .slowReader)))
    }
    sessions.ask(key: "k3")
    #expect(sessions.answer(3).contains(.close(one, .slowReader)))
  }

  @Test func `a batch of subscriptions counts as that many parcels`() {
    var sessions = Sessions.connected { ($0.queueBytes, $0.maxQueued) = (1, 4) }
    let batch = SessionClientMessage.subscribeBatch(
      ["a", "b", "c"].map { SessionSubscription(conversation: $0, cursor: .sequence(0)) })
    // The first batch is being sent, and the second one waits.
    _ = sessions.say(1, batch)
    _ = sessions.say(1, batch)
    #expect(!sessions.say(1, batch).contains(.close(one, .slowReader)))
    #expect(sessions.say(1, batch).contains(.close(one, .slowReader)))
  }

  @Test func `acknowledged answers are forgotten before waiting or lost ones`() {
    var (sessions, ids) = answered(3) { ($0.maxEnded, $0.answersPerClient) = (3, 2) }
    _ = sessions.say(1, .messageAck(ids[2]))
    sessions.ask(key: "k4")
    _ = sessions.answer(4)
    #expect(sessions.server.prompts.ended == [1, 2, 4].map { SessionPromptID($0) })
    // The lost answer of the first prompt is still returned for its key.
    #expect(sessions.ask(key: "k1").responses(to: 1).map(\.id) == [ids[0]])
    sessions.ask(key: "k5")
    _ = sessions.answer(5)
    #expect(sessions.server.prompts.ended == [2, 4, 5].map { SessionPromptID($0) })
    #expect(sessions.runs == [1, 2, 3, 4, 5].map { SessionPromptID($0) })
  }

  @Test func `another client that sends the same prompt receives its answer without a number`() {
    var (sessions, ids) = answered(1)
    sessions.connect(2, as: "bob")
    let responses = sessions.ask(2, key: "k1").responses(to: 2)
    #expect(responses.map(\.id) == ids)
    #expect(responses.map(\.number) == [nil])
  }

  @Test func `the rest of a batch counts as that many parcels`() {
    let all = ["a", "b", "c"].map { SessionSubscription(conversation: $0, cursor: .sequence(0)) }
    var queue = SessionQueue()
    queue.append(.batch(all))
    #expect(queue.count == 3)
    #expect(queue.next() == .batch(all))
    #expect(queue.count == 0)
    queue.putBack(.batch(Array(all.dropFirst())))
    #expect(queue.count == 2)
  }
}
