import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for windows, cursors of both versions, live messages and removed messages.
@Suite struct SessionHistoryTests {
  private let conversation = Sessions.conversation

  /// Returns a harness with a conversation of `turns` prompts, each with its answer.
  private func talked(
    _ turns: UInt64, version: String = "0.4.0",
    _ change: (inout SessionServerPolicy) -> Void = { _ in }
  ) -> Sessions {
    var sessions = Sessions(change)
    sessions.connect(1, version: version)
    for number in 1...turns {
      sessions.ask(1, "q\(number)", key: "k\(number)")
      _ = sessions.answer(number, "a\(number)")
    }
    return sessions
  }

  private func histories(_ effects: [Sessions.Effect], to id: UInt64 = 1) -> [SessionHistory] {
    effects.messages(to: id).compactMap { if case .history(let it) = $0 { it } else { nil } }
  }

  private func subscribe(
    _ sessions: inout Sessions, _ cursor: SessionCursor, in name: String? = nil
  ) -> [SessionHistory] {
    let subscription = SessionSubscription(conversation: name ?? conversation, cursor: cursor)
    return histories(sessions.say(1, .subscribe(subscription)))
  }

  @Test func `a conversation whose first answer was stored late keeps all its messages`() {
    var sessions = Sessions.connected()
    sessions.ask(1, "a", key: "k1")
    _ = sessions.take(
      .ended(SessionPromptID(1), .success(text: "A"), wall: sessions.wall))
    _ = sessions.commit(failure: .full(detail: ""))
    sessions.ask(1, "b", key: "k2")
    _ = sessions.answer(2, "B")
    let stored = { (sessions: Sessions) in
      sessions.stored.conversations[Sessions.conversation]?.entries.map(\.text).sorted()
    }
    #expect(stored(sessions) == ["B", "b"])
    _ = sessions.wait(.seconds(2))
    _ = sessions.commitAll()
    #expect(stored(sessions) == ["A", "B", "a", "b"])
    let next = sessions.restarted().0
    let talk = next.server.conversations[Sessions.conversation]
    #expect(talk?.entries.map(\.text) == ["a", "A", "b", "B"])
    #expect(talk?.signature == sessions.server.conversations[Sessions.conversation]?.signature)
  }

  @Test func `sequence number 0 requests all messages from number 1 on`() throws {
    var sessions = talked(1)
    let history = try #require(subscribe(&sessions, .sequence(0)).first)
    #expect(history.entries.map(\.text) == ["q1", "a1"])
    #expect(history.entries.map(\.position) == [1, 2])
    #expect(history.entries.map(\.role) == [.user, .assistant])
    #expect(history.extent == .sequence(first: 1, last: 2, next: 3))
    #expect(history.isComplete && history.gap == nil)
  }

  @Test func `an offset requests the messages from there on, with the first one's signature`()
    throws
  {
    var sessions = talked(2, version: "0.5.0")
    let history = try #require(subscribe(&sessions, .offset(1, signature: nil)).first)
    #expect(history.entries.map(\.text) == ["a1", "q2", "a2"])
    #expect(history.entries.map(\.position) == [1, 2, 3])
    let first = sessions.server.conversations[conversation]?.entries.first?.id ?? ""
    #expect(history.extent == .offset(next: 4, signature: "2:\(first)", isReplaced: false))
  }

  @Test func `another signature restarts the conversation from its beginning`() throws {
    var sessions = talked(1, version: "0.5.0")
    let history = try #require(subscribe(&sessions, .offset(2, signature: "9:x")).first)
    #expect(history.entries.count == 2)
    guard case .offset(2, _, isReplaced: true) = history.extent else {
      return #expect(Bool(false), "the history does not replace the client's copy")
    }
  }

  @Test func `an offset beyond the end is answered with the end`() throws {
    var sessions = talked(1, version: "0.5.0")
    let history = try #require(subscribe(&sessions, .offset(7, signature: nil)).first)
    #expect(history.entries.isEmpty && history.isComplete)
    guard case .offset(2, _, isReplaced: false) = history.extent else {
      return #expect(Bool(false), "the history does not name the end")
    }
  }

  @Test func `a sequence number ahead of the server is reported as a gap`() {
    var sessions = talked(1)
    #expect(subscribe(&sessions, .sequence(2)).map(\.gap) == [nil])
    #expect(
      subscribe(&sessions, .sequence(3)) == [
        SessionHistory(
          conversation: conversation, entries: [],
          extent: .sequence(first: nil, last: nil, next: 3), isComplete: true,
          gap: .init(requested: 3, oldest: 1, reason: .clientAhead))
      ])
  }

  @Test func `removed messages are a gap that names the oldest message left`() {
    var sessions = talked(3) { $0.entriesPerConversation = 4 }
    let gap = subscribe(&sessions, .sequence(1))
    #expect(
      gap == [
        SessionHistory(
          conversation: conversation, entries: [],
          extent: .sequence(first: nil, last: 2, next: 3), isComplete: false,
          gap: .init(requested: 1, oldest: 3, reason: .pruned))
      ])
    #expect(subscribe(&sessions, .sequence(2)).first?.entries.map(\.position) == [3, 4, 5, 6])
    #expect(sessions.stored.conversations[conversation]?.entries.count ?? 0 >= 4)
  }

  @Test(
    arguments: [
      (3, 0, ["q1", "a1", "q2", "a2", "q3", "a3"]), (3, 1, ["q2", "a2", "q3", "a3"]),
      (2, 1, ["a1", "q2", "a2"]),
    ] as [(UInt64, Int, [String])])
  func `the oldest quarter is removed one byte beyond the limit of all histories`(
    turns: UInt64, below: Int, left: [String]
  ) {
    let bytes = talked(turns).server.conversations.bytes
    let sessions = talked(turns) { $0.maxHistoryBytes = bytes - below }
    #expect(sessions.server.conversations[conversation]?.entries.map(\.text) == left)
  }

  @Test func `an offset below the oldest message begins with that message and reports a gap`()
    throws
  {
    var sessions = talked(3, version: "0.5.0") { $0.entriesPerConversation = 4 }
    let history = try #require(subscribe(&sessions, .offset(1, signature: nil)).first)
    #expect(history.entries.map(\.position) == [2, 3, 4, 5])
    #expect(history.gap == .init(requested: 1, oldest: 3, reason: .pruned))
    guard case .offset(6, _, isReplaced: false) = history.extent else {
      return #expect(Bool(false), "the history does not end after the last message")
    }
    #expect(history.isComplete)
  }

  @Test func `a conversation whose waiting prompt was cancelled stays in the queue`() {
    var sessions = Sessions.connected { ($0.maxRunning, $0.maxHistoryBytes) = (1, 1) }
    sessions.ask(1, "a", key: "k1")
    sessions.ask(1, "b", in: Sessions.other, key: "k2")
    _ = sessions.say(1, .killSession(conversation: Sessions.other))
    _ = sessions.commitAll()
    #expect(sessions.server.conversations.queue == [Sessions.other])
    sessions.ask(1, "c", in: Sessions.other, key: "k3")
    #expect(sessions.server.conversations.queue == [Sessions.other])
    _ = sessions.answer(1)
    #expect(sessions.runs == [SessionPromptID(1), SessionPromptID(3)])
  }

  @Test func `a client that subscribes again receives nothing live before its new window`() {
    var sessions = talked(1) { $0.queueBytes = 1 }
    _ = subscribe(&sessions, .sequence(2))
    for _ in 0..<9 { _ = sessions.take(.drained(ConnectionID(1))) }
    // The new messages wait behind the response.
    sessions.ask(1, "q2", key: "k2")
    _ = sessions.answer(2, "a2")
    _ = subscribe(&sessions, .sequence(0))
    var effects: [Sessions.Effect] = []
    for _ in 0..<9 { effects += sessions.take(.drained(ConnectionID(1))) }
    #expect(histories(effects).map { $0.entries.map(\.position) } == [[1, 2, 3, 4]])
  }

  @Test func `a window is limited in number and continues from its end`() throws {
    var sessions = talked(2) { $0.windowEntries = 3 }
    let first = try #require(subscribe(&sessions, .sequence(0)).first)
    #expect(first.extent == .sequence(first: 1, last: 3, next: 4) && !first.isComplete)
    // No message is sent live before the client has reached the end.
    sessions.ask(1, "q3", key: "k3")
    #expect(histories(sessions.answer(3)) == [])
    let rest = try #require(subscribe(&sessions, .sequence(3)).first)
    #expect(rest.extent == .sequence(first: 4, last: 6, next: 7) && rest.isComplete)
  }

  @Test func `a window fits into the client's maximum message size`() throws {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 4))
    for number in 1...4 as ClosedRange<UInt64> {
      sessions.ask(1, String(repeating: "q", count: 1_000), key: "k\(number)")
      _ = sessions.answer(number, String(repeating: "\n", count: 1_000))
    }
    var last: UInt64 = 0
    var count = 0
    for _ in 0..<20 {
      let history = try #require(subscribe(&sessions, .sequence(last)).first)
      #expect(SessionServerMessage.history(history).bytes.count <= 4_096)
      #expect(!history.entries.isEmpty)
      count += history.entries.count
      guard case .sequence(_, let end?, _) = history.extent, !history.isComplete else { break }
      last = end
    }
    #expect(count == 8)
  }

  @Test(arguments: [100, 2_000, 4_000])
  func `a message longer than the client's maximum is cut to fit`(length: Int) throws {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 4))
    sessions.ask(1, "q")
    let text = String(repeating: "x", count: length)
    _ = sessions.answer(1, text)
    let history = try #require(subscribe(&sessions, .sequence(1)).first)
    let shown = try #require(history.entries.first)
    #expect((shown.text == text) == (length < 4_000))
    #expect(shown.text.hasPrefix(String(repeating: "x", count: 100)))
    #expect(history.entries.count == 1)
    #expect(SessionServerMessage.history(history).bytes.count <= 4_096)
  }

  @Test func `new messages are sent live, one per window, in order`() {
    var sessions = talked(1)
    _ = subscribe(&sessions, .sequence(2))
    sessions.ask(1, "q2", key: "k2")
    let live = histories(sessions.answer(2, "a2"))
    #expect(live.map { $0.entries.map(\.text) } == [["q2"], ["a2"]])
    #expect(
      live.map(\.extent) == [
        .sequence(first: 3, last: 3, next: 4), .sequence(first: 4, last: 4, next: 5),
      ])
  }

  @Test func `live messages are sent to subscribers only, in the form of their version`() {
    var sessions = talked(1)
    sessions.connect(2, as: "bob", version: "0.5.0")
    sessions.connect(3, as: "cat")
    let cursor = SessionCursor.offset(2, signature: nil)
    _ = sessions.say(
      2, .subscribe(SessionSubscription(conversation: conversation, cursor: cursor)))
    sessions.ask(1, "q2", key: "k2")
    let effects = sessions.answer(2, "a2")
    #expect(histories(effects, to: 2).flatMap { $0.entries.map(\.position) } == [2, 3])
    #expect(histories(effects, to: 1) == [] && effects.messages(to: 3) == [])
    _ = sessions.say(2, .unsubscribe(conversation: conversation))
    sessions.ask(1, "q3", key: "k3")
    #expect(histories(sessions.answer(3), to: 2) == [])
  }

  @Test func `the response precedes the same message in the history`() {
    var sessions = talked(1)
    _ = subscribe(&sessions, .sequence(2))
    sessions.ask(1, "q2", key: "k2")
    let messages = sessions.answer(2).messages(to: 1)
    guard case .response? = messages.first else {
      return #expect(Bool(false), "the response is not the first message")
    }
  }

  @Test func `the id of a question is its key if that is a UUID`() throws {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    let key = "33333333-3333-4333-8333-333333333333"
    sessions.ask(key: key)
    let answer = try #require(sessions.answer(1).responses(to: 1).first)
    let ids = subscribe(&sessions, .sequence(0)).flatMap { $0.entries.map(\.id) }
    #expect(ids == [key, answer.id])
  }

  @Test func `a failed prompt adds only its question`() {
    var sessions = Sessions()
    sessions.connect(1, version: "0.4.0")
    sessions.ask()
    _ = sessions.take(.ended(SessionPromptID(1), .failure(error: "no"), wall: sessions.wall))
    _ = sessions.commitAll()
    #expect(subscribe(&sessions, .sequence(0)).first?.entries.map(\.role) == [.user])
  }

  @Test func `a batch has a window for each conversation`() {
    var sessions = talked(1)
    sessions.ask(1, "x", in: Sessions.other, key: "o")
    _ = sessions.answer(2, "y")
    let all = [conversation, Sessions.other, "none"].map {
      SessionSubscription(conversation: $0, cursor: .sequence(0))
    }
    guard
      case .historyBatch(let histories)? = sessions.say(1, .subscribeBatch(all))
        .messages(to: 1).first
    else { return #expect(Bool(false), "no batch of histories was sent") }
    #expect(histories.map(\.conversation) == [conversation, Sessions.other, "none"])
    #expect(histories.map(\.entries.count) == [2, 2, 0])
    sessions.ask(1, "z", in: Sessions.other, key: "p")
    #expect(self.histories(sessions.answer(3)).count == 2)
  }

  @Test func `a cursor of the other version is refused`() {
    var old = talked(1)
    let offset = SessionSubscription(
      conversation: conversation, cursor: .offset(0, signature: nil))
    #expect(old.say(1, .subscribe(offset)).codes(to: 1) == ["unsupported_subscribe_field"])
    var new = talked(1, version: "0.5.0")
    let sequence = SessionSubscription(conversation: conversation, cursor: .sequence(1))
    #expect(new.say(1, .subscribe(sequence)).codes(to: 1) == ["invalid_subscribe"])
    #expect(subscribe(&new, .sequence(0)).first?.entries.count == 2)
  }

  @Test func `subscriptions are limited`() {
    var sessions = Sessions { $0.maxSubscriptions = 2 }
    sessions.connect(1, version: "0.4.0")
    #expect(subscribe(&sessions, .sequence(0), in: "a").count == 1)
    #expect(subscribe(&sessions, .sequence(0), in: "b").count == 1)
    let third = SessionSubscription(conversation: "c", cursor: .sequence(0))
    #expect(sessions.say(1, .subscribe(third)).codes(to: 1) == ["too_many_subscriptions"])
    #expect(subscribe(&sessions, .sequence(0), in: "b").count == 1)
    _ = sessions.say(1, .unsubscribe(conversation: "a"))
    #expect(subscribe(&sessions, .sequence(0), in: "c").count == 1)
  }

  @Test func `a refused subscription sends no window later`() {
    var sessions = Sessions { ($0.maxSubscriptions, $0.queueBytes) = (1, 1) }
    sessions.connect(1, version: "0.4.0")
    #expect(subscribe(&sessions, .sequence(0), in: "a").count == 1)
    #expect(subscribe(&sessions, .sequence(0), in: "b") == [])
    _ = sessions.say(1, .unsubscribe(conversation: "a"))
    #expect(subscribe(&sessions, .sequence(0), in: "b") == [])
    #expect(histories(sessions.take(.drained(ConnectionID(1)))).map(\.conversation) == ["b"])
    #expect(histories(sessions.take(.drained(ConnectionID(1)))) == [])
  }

  @Test func `conversations are limited in number and in bytes, and the oldest is removed first`() {
    var sessions = Sessions { $0.maxConversations = 2 }
    sessions.connect(1, version: "0.4.0")
    for number in 1...3 as ClosedRange<UInt64> {
      sessions.ask(1, in: "c\(number)", key: "k\(number)")
      _ = sessions.answer(number)
      sessions.pass(.seconds(1))
      if number == 2 { #expect(sessions.server.conversations.ids == ["c1", "c2"]) }
    }
    #expect(sessions.server.conversations.ids == ["c2", "c3"])
    _ = sessions.wait(.seconds(1)) + sessions.commitAll()
    #expect(sessions.stored.conversations.keys.sorted() == ["c2", "c3"])
  }

  @Test func `histories survive a restart`() {
    let sessions = talked(2)
    var (next, _) = sessions.restarted()
    next.connect(1, version: "0.4.0")
    #expect(subscribe(&next, .sequence(0)).first?.entries.map(\.text) == ["q1", "a1", "q2", "a2"])
    next.ask(1, "q3", key: "k3")
    _ = next.answer(3, "a3")
    #expect(next.server.conversations[conversation]?.entries.map(\.position) == [1, 2, 3, 4, 5, 6])
  }
}
