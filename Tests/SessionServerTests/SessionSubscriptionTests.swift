import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for the windows that subscriptions receive, alone, in batches and after a refusal.
@Suite struct SessionSubscriptionTests {
  private static func windows(_ effects: [Sessions.Effect]) -> [SessionHistory] {
    effects.messages(to: 1).compactMap { if case .history(let it) = $0 { it } else { nil } }
  }

  private static func subscription(
    _ cursor: SessionCursor, in name: String = Sessions.conversation
  ) -> SessionSubscription {
    SessionSubscription(conversation: name, cursor: cursor)
  }

  /// Returns the messages that a client with a limit of 4 KiB receives for a batch of two
  /// conversations, each with one question.
  private static func batches(_ questions: [String]) -> [SessionServerMessage] {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 4))
    let names = [Sessions.conversation, Sessions.other]
    for (index, name) in names.enumerated() {
      sessions.ask(1, questions[index], in: name, key: "k\(index)")
      let id = SessionPromptID(UInt64(index) + 1)
      _ = sessions.take(.ended(id, .failure(error: "no"), wall: sessions.wall))
      _ = sessions.commitAll()
    }
    let all = names.map { subscription(.sequence(0), in: $0) }
    return sessions.say(1, .subscribeBatch(all)).messages(to: 1)
  }

  private static func texts(_ messages: [SessionServerMessage]) -> [[[String]]] {
    messages.compactMap { message in
      guard case .historyBatch(let histories) = message else { return nil }
      return histories.map { $0.entries.map(\.text) }
    }
  }

  @Test func `a batch fits into the client's maximum message size`() {
    // Each question fits alone, but the two do not fit together.
    let questions = [1_290, 2_690].map { String(repeating: "q", count: $0) }
    let messages = Self.batches(questions)
    #expect(messages.map { $0.bytes.count <= 4_096 } == [true])
    let note = "\n\n[... 2690 bytes left out ...]\n\n"
    #expect(Self.texts(messages) == [[[questions[0]], [note]]])
  }

  @Test func `a window without space in a batch is sent whole in the next one`() {
    let questions = [1_296, 2_690].map { String(repeating: "q", count: $0) }
    let messages = Self.batches(questions)
    #expect(messages.map { $0.bytes.count <= 4_096 } == [true, true])
    #expect(Self.texts(messages) == [[[questions[0]]], [[questions[1]]]])
  }

  @Test func `a message that was sent live takes no entry in the lane`() {
    var sessions = Sessions { ($0.queueBytes, $0.maxQueued) = (1, 2) }
    sessions.connect(1, version: "0.4.0")
    sessions.connect(2, as: "bob")
    _ = sessions.say(1, .subscribe(Self.subscription(.sequence(0))))
    _ = sessions.take(.drained(ConnectionID(1)))
    sessions.ask(2)
    _ = sessions.take(.ended(SessionPromptID(1), .failure(error: "no"), wall: sessions.wall))
    #expect(Self.windows(sessions.commitAll()).map { $0.entries.map(\.text) } == [["hello"]])
    // The message is being sent, and the maximum number of windows is waiting.
    for name in ["a", "b"] {
      #expect(sessions.say(1, .subscribe(Self.subscription(.sequence(0), in: name))) == [])
    }
  }

  @Test(arguments: [
    ("0.4.0", SessionCursor.sequence(0), SessionCursor.offset(0, signature: nil)),
    ("0.5.0", .offset(0, signature: nil), .sequence(1)),
  ])
  func `a cursor of the other version returns no window for a subscribed conversation`(
    version: String, right: SessionCursor, wrong: SessionCursor
  ) {
    var sessions = Sessions()
    sessions.connect(1, version: version)
    #expect(Self.windows(sessions.say(1, .subscribe(Self.subscription(right)))).count == 1)
    let refused = sessions.say(1, .subscribe(Self.subscription(wrong)))
    #expect(refused.codes(to: 1).count == 1)
    #expect(Self.windows(refused) == [])
  }

  @Test func `a waiting window is not sent once its conversation is unsubscribed`() {
    var sessions = Sessions { $0.queueBytes = 1 }
    sessions.connect(1, version: "0.4.0")
    for name in ["a", "b"] {
      _ = sessions.say(1, .subscribe(Self.subscription(.sequence(0), in: name)))
    }
    _ = sessions.say(1, .unsubscribe(conversation: "b"))
    #expect(sessions.take(.drained(ConnectionID(1))) == [])
    #expect(sessions.server.sockets[ConnectionID(1)]?.subscriptions.keys.sorted() == ["a"])
  }

  @Test func `a client without a first message continues from its offset`() {
    var sessions = Sessions.asked()
    _ = sessions.answer(1)
    let cursor = SessionCursor.offset(1, signature: "")
    let windows = Self.windows(sessions.say(1, .subscribe(Self.subscription(cursor))))
    #expect(windows.map { $0.entries.map(\.text) } == [["hi"]])
  }

  /// The window and its two messages take 700 bytes each, which leaves 1,996 of 4,096 for the
  /// texts.
  @Test(arguments: [(1_000, 2), (1_001, 1)])
  func `a window uses all the space of the client's maximum message size`(
    bytes: Int, count: Int
  ) {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 4))
    sessions.ask(1, String(repeating: "q", count: 996))
    _ = sessions.answer(1, String(repeating: "a", count: bytes))
    let windows = Self.windows(sessions.say(1, .subscribe(Self.subscription(.sequence(0)))))
    #expect(windows.map(\.entries.count) == [count])
  }

  @Test func `a refused batch takes no entry behind the waiting windows`() {
    var sessions = Sessions { ($0.maxQueued, $0.queueBytes) = (1, 1) }
    sessions.connect(1, version: "0.4.0")
    for name in ["a", "b"] {
      _ = sessions.say(1, .subscribe(Self.subscription(.sequence(0), in: name)))
    }
    let batch = [Self.subscription(.offset(0, signature: nil), in: "c")]
    let refused = sessions.say(1, .subscribeBatch(batch))
    #expect(refused.codes(to: 1) == ["unsupported_subscribe_field"])
    #expect(sessions.server.sockets[ConnectionID(1)]?.life.isOpen == true)
    let later = sessions.take(.drained(ConnectionID(1)))
    #expect(Self.windows(later).map(\.conversation) == ["b"])
  }

  @Test func `a message that was cut leaves no space for another one in its window`() {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 4))
    sessions.ask(1, String(repeating: "q", count: 5_000))
    _ = sessions.answer(1, "hi")
    let windows = Self.windows(sessions.say(1, .subscribe(Self.subscription(.sequence(0)))))
    #expect(windows.map(\.entries.count) == [1])
  }
}
