import HoldfastCore
import HoldfastSessionData
import Testing

@testable import HoldfastSessionServer

/// Tests for what takes an entry in the lane of a socket, and for the bytes that each entry counts.
@Suite struct SessionQueueTests {
  private static let one = ConnectionID(1)
  private static let first = SessionPromptID(1)

  private static func windows(_ effects: [Sessions.Effect]) -> [[String]] {
    effects.messages(to: 1).compactMap { message in
      if case .history(let history) = message { history.entries.map(\.text) } else { nil }
    }
  }

  private static func parts(_ effects: [Sessions.Effect], to connection: UInt64) -> [String] {
    effects.messages(to: connection).compactMap { message in
      if case .responsePart(_, _, _, let text) = message { text } else { nil }
    }
  }

  /// Subscribes the first client to the conversations, in order.
  private static func follow(_ names: [String], _ sessions: inout Sessions) {
    for name in names {
      let subscription = SessionSubscription(conversation: name, cursor: .sequence(0))
      _ = sessions.say(1, .subscribe(subscription))
    }
  }

  // MARK: Bytes

  /// The message is cut to fit into 4,096 bytes, and counts as almost 4,096 bytes.
  @Test(arguments: [(4_000, true), (4_096, false)])
  func `a message that was cut counts with its remaining bytes`(bytes: Int, isFull: Bool) {
    var sessions = Sessions { $0.queueBytes = bytes }
    sessions.connect(1, version: "0.4.0")
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 4))
    sessions.connect(2, as: "bob")
    sessions.ask(2, String(repeating: "x", count: 10_000))
    _ = sessions.answer(1)
    let subscription = SessionSubscription(
      conversation: Sessions.conversation, cursor: .sequence(0))
    let effects = sessions.say(1, .subscribe(subscription))
    #expect(effects.contains(.noticeDrain(Self.one)) == isFull)
  }

  /// The end follows a response of two letters, which counts as 702 bytes.
  @Test(arguments: [(852, true), (853, false)])
  func `the end of a turn counts as 150 bytes`(bytes: Int, isFull: Bool) {
    var sessions = Sessions.asked { $0.queueBytes = bytes }
    #expect(sessions.answer(1, "hi").contains(.noticeDrain(Self.one)) == isFull)
  }

  @Test func `a drained socket is given the full limit of bytes again`() {
    var sessions = Sessions.connected { $0.queueBytes = 703 }
    for number in 1...2 as ClosedRange<UInt64> {
      sessions.ask(key: "k\(number)")
      #expect(sessions.answer(number, "hi").messages(to: 1).count == 2)
      #expect(sessions.take(.drained(Self.one)) == [])
    }
  }

  @Test(arguments: [(1, 130, [64, 64, 2]), (2_048, 40_000, [32_768, 7_232])])
  func `a part has between 64 bytes and 32 KiB`(
    kilobytes: Int, bytes: Int, parts: [Int]
  ) {
    var sessions = Sessions()
    sessions.connect(1, features: [.parts])
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: kilobytes))
    sessions.ask()
    let text = String(repeating: "a", count: bytes)
    let sent = Self.parts(sessions.take(.produced(Self.first, text)), to: 1)
    #expect(sent.map { $0.utf8.count } == parts)
  }

  // MARK: Entries

  @Test func `a message of a conversation whose window waits takes no entry`() {
    var sessions = Sessions { ($0.queueBytes, $0.maxQueued) = (1, 1) }
    sessions.connect(1, version: "0.4.0")
    sessions.connect(2, as: "bob")
    Self.follow(["a", Sessions.conversation], &sessions)
    sessions.ask(2)
    _ = sessions.answer(1)
    #expect(Self.windows(sessions.take(.drained(Self.one))) == [["hello", "hi"]])
  }

  @Test func `output for a prompt without a key takes no entry`() {
    var sessions = Sessions { ($0.queueBytes, $0.maxQueued) = (1, 1) }
    sessions.connect(1, features: [.parts])
    sessions.ask(key: nil)
    Self.follow(["a", "b"], &sessions)
    #expect(sessions.take(.produced(Self.first, "ab")) == [])
  }

  @Test func `the rest of a long part takes one entry`() {
    var sessions = Sessions { ($0.queueBytes, $0.maxQueued) = (1, 1) }
    sessions.connect(1, features: [.parts])
    _ = sessions.say(1, .setMaxMessageSize(kilobytes: 1))
    sessions.ask()
    let text = String(repeating: "a", count: 100)
    #expect(Self.parts(sessions.take(.produced(Self.first, text)), to: 1).count == 1)
    #expect(sessions.take(.produced(Self.first, "b")) == [])
    let rest = String(repeating: "a", count: 36) + "b"
    #expect(Self.parts(sessions.take(.drained(Self.one)), to: 1) == [rest])
  }

  @Test func `nothing waits for a closing socket`() {
    var sessions = Sessions.connected { $0.queueBytes = 1 }
    sessions.connect(2, as: "bob")
    Self.follow([Sessions.conversation, "a"], &sessions)
    #expect(sessions.server.sockets[Self.one]?.queue.count == 1)
    _ = sessions.take(.overflowed(Self.one))
    #expect(sessions.server.sockets[Self.one]?.queue.count == 0)
    sessions.ask(2)
    _ = sessions.answer(1)
    #expect(sessions.server.sockets[Self.one]?.queue.count == 0)
  }

  /// Covers lanes in which `before` answers have already been sent.
  @Test(arguments: [0, 1, 2])
  func `the rest of a batch is sent next`(before: Int) {
    let all = ["a", "b", "c"].map { SessionSubscription(conversation: $0, cursor: .sequence(0)) }
    let rest = SessionQueue.Item.batch(Array(all.dropFirst()))
    var queue = SessionQueue()
    for _ in 0..<before { queue.append(.response(Self.first)) }
    queue.append(.batch(all))
    queue.append(.response(SessionPromptID(2)))
    for _ in 0..<before { #expect(queue.next() == .response(Self.first)) }
    #expect(queue.next() == .batch(all))
    queue.putBack(rest)
    #expect(
      [queue.next(), queue.next(), queue.next()] == [rest, .response(SessionPromptID(2)), nil])
  }

  // MARK: Replays

  @Test func `an answer that is acknowledged while its replay waits is not replayed`() {
    var sessions = Sessions.asked { $0.queueBytes = 1 }
    _ = sessions.answer(1)
    sessions.ask(key: "k2")
    _ = sessions.answer(2)
    _ = sessions.gone(1)
    let replays = sessions.connect(2).messages(to: 2).filter { message in
      if case .replay = message { true } else { false }
    }
    #expect(replays.count == 1)
    let waiting = sessions.server.prompts[SessionPromptID(2)]?.answer?.message
    _ = sessions.say(2, .messageAck(waiting ?? ""))
    #expect(sessions.take(.drained(ConnectionID(2))) == [])
  }

  @Test func `a long answer that waited for its client is sent in parts before the response`() {
    var sessions = Sessions { $0.usualMessageBytes = 2_048 }
    sessions.connect(1, features: [.parts])
    sessions.ask()
    _ = sessions.gone(1)
    let text = String(repeating: "ab", count: 1_500)
    _ = sessions.answer(1, text)
    let effects = sessions.connect(2, features: [.parts])
    let parts = Self.parts(effects, to: 2)
    #expect(parts.joined() == text)
    #expect(effects.responses(to: 2).map(\.parts) == [parts.count])
  }

  @Test func `a long answer that is requested again is sent in all its parts again`() {
    var sessions = Sessions { $0.usualMessageBytes = 2_048 }
    sessions.connect(1, features: [.parts])
    sessions.ask()
    let text = String(repeating: "ab", count: 1_500)
    for effects in [sessions.answer(1, text), sessions.ask()] {
      let parts = Self.parts(effects, to: 1)
      #expect(parts.joined() == text)
      #expect(effects.responses(to: 1).map(\.parts) == [parts.count])
    }
  }
}
