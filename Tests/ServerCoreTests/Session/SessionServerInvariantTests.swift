import HoldfastTestKit
import LinkCore
import LinkWire
import Testing

@testable import LinkServerCore

/// Each invariant of the server of sessions can fail.
@Suite struct SessionServerInvariantTests {
  private typealias Plant = PlantedFault<SessionServer>

  private static let one = ConnectionID(1)
  private static let conversation = Sessions.conversation
  private static let ended = SessionPromptID(1)
  private static let running = SessionPromptID(2)
  private static let waiting = SessionPromptID(3)

  /// A client with an answer that it did not acknowledge, a prompt that runs, one that waits, and
  /// a subscription.
  private static var busy: SessionServer {
    var sessions = Sessions { $0.maxRunning = 1 }
    sessions.connect(1)
    _ = sessions.say(
      1,
      .subscribe(
        SessionSubscription(conversation: conversation, cursor: .offset(0, signature: nil))))
    sessions.ask(key: "k1")
    _ = sessions.answer(1)
    sessions.ask(key: "k2")
    sessions.ask(key: "k3")
    sessions.ask(in: Sessions.other, key: "k4")
    return sessions.server
  }

  private func check(_ plants: [Plant]) {
    #expect(unnoticed(plants, in: Self.busy) == [])
  }

  @Test func `what is counted and bounded is checked`() {
    check([
      ("session server: nothing is asked for between two inputs", { $0.effects = [.finished] }),
      ("session server: sockets and prompts are bounded", { $0.openCount = 10_001 }),
      ("session server: the bytes of prompts are bounded", { $0.endedBytes = -1 }),
      ("session server: handlers are bounded", { $0.running = 2 }),
      ("session server: a prompt is open or has ended", { $0.turnsByMessage = [:] }),
      ("session server: what the store failed has an alarm", { $0.owed = [Self.running] }),
      (
        "session server: what the store is to be told later has an alarm",
        { $0.delayed = [.endClient("x")] }
      ),
      (
        "session server: addresses are counted only while they have sockets",
        { $0.addresses = ["a": 1, "b": 1] }
      ),
      ("session server: a drain ends when nothing is left to wait for", { $0.mode = .finished }),
      (
        "post rate: the users that it counts are bounded",
        { server in
          for number in 0...server.rate.bound { server.rate.fullAt["\(number)"] = .zero }
        }
      ),
    ])
  }

  @Test func `prompts are checked`() {
    check([
      ("session server: the bytes are those of open prompts", { $0.openBytes += 1 }),
      ("session server: the bytes are those of ended prompts", { $0.endedBytes += 1 }),
      ("session server: a handler is counted while it is under way", { $0.running = 0 }),
      ("session server: a handler ends in time", { $0.alarms.clear(.turn(Self.running)) }),
      ("session server: a key leads to its prompts", { $0.turnsByKey["k9"] = [Self.ended] }),
      (
        "session server: a message leads to its prompt",
        { $0.turnsByMessage = ["x": Self.ended] }
      ),
    ])
  }

  @Test func `conversations are checked`() {
    check([
      (
        "session server: an open prompt is in the line of its conversation, once",
        { $0.talks[Self.conversation]?.line = [] }
      ),
      (
        "session server: one prompt of a conversation is under way at a time",
        { $0.turns[Self.waiting]?.stage = .starting }
      ),
      (
        "session server: what is kept of a conversation is bounded",
        { server in
          server.talks[Self.conversation]?.line = Array(repeating: Self.running, count: 1_001)
        }
      ),
      (
        "session server: the messages of a conversation have no hole",
        { $0.talks[Self.conversation]?.entries[0].place = 7 }
      ),
      (
        "session server: a conversation has a message, a prompt or a reader",
        { $0.talks["x"] = SessionTalk() }
      ),
      ("session server: the bytes are those of the conversations", { $0.historyBytes += 1 }),
      ("session server: a conversation waits for a handler once", { $0.queue = [] }),
      (
        "session server: no conversation waits while a handler is free",
        { server in
          server.running = 0
          server.queue = [Sessions.other]
        }
      ),
    ])
  }

  @Test func `clients are checked`() {
    check([
      (
        "session server: what waits for a client is bounded",
        { $0.clients["ann"]?.outboxBytes = 17 << 20 }
      ),
      (
        "session server: what waits for a client was not acknowledged",
        { $0.clients["ann"]?.outbox = [Self.running] }
      ),
      ("session server: an open prompt is of a client", { $0.clients["ann"]?.open = 0 }),
      (
        "session server: no answer has a number that was not given",
        { $0.clients["ann"]?.kept.lastNumber = 0 }
      ),
    ])
  }

  @Test func `sockets are checked`() {
    check([
      (
        "session server: an address's count is that of its sockets", { $0.addresses = ["home": 2] }
      ),
      ("session server: each open socket has a heartbeat", { $0.alarms.clear(.beat(Self.one)) }),
      (
        "session server: a connected socket is of its client",
        { $0.clients["ann"]?.sockets = [] }
      ),
      (
        "session server: what waits for a socket is bounded",
        { server in
          for _ in 0...5_196 { server.sockets[Self.one]?.lane.append(.response(Self.ended)) }
        }
      ),
      (
        "session server: what waits for a socket waits for its drain",
        { $0.sockets[Self.one]?.lane.append(.response(Self.ended)) }
      ),
      (
        "session server: a subscription is of its conversation",
        { $0.sockets[Self.one]?.subscriptions["x"] = .init(next: 1, isLive: true) }
      ),
    ])
  }

  /// Where an invariant has several conditions, each of them can fail alone.
  @Test func `each bound of what is counted is checked`() {
    check([
      (
        "session server: sockets and prompts are bounded",
        { server in
          for number in 10...2_009 as ClosedRange<UInt64> {
            server.sockets[ConnectionID(number)] = server.sockets[Self.one]
          }
        }
      ),
      (
        "session server: sockets and prompts are bounded",
        { $0.ended = Array(repeating: Self.ended, count: 20_001) }
      ),
      ("session server: the bytes of prompts are bounded", { $0.openBytes = -1 }),
      ("session server: the bytes of prompts are bounded", { $0.openBytes = (64 << 20) + 1 }),
      ("session server: the bytes of prompts are bounded", { $0.endedBytes = (64 << 20) + 1 }),
      ("session server: handlers are bounded", { $0.running = -1 }),
      ("session server: a prompt is open or has ended", { $0.turns[Self.waiting] = nil }),
      (
        "session server: a drain ends when nothing is left to wait for",
        { server in
          (server.mode, server.sockets) = (.finished, [:])
          server.waits[StoreToken(99)] = []
        }
      ),
      (
        "session server: a drain ends when nothing is left to wait for",
        { ($0.mode, $0.waits) = (.finished, [:]) }
      ),
      (
        "session server: a drain ends when nothing is left to wait for",
        { server in
          (server.mode, server.sockets, server.waits) = (.finished, [:], [:])
          server.owed = [Self.running]
        }
      ),
    ])
  }

  @Test func `each condition of prompts is checked`() {
    check([
      ("session server: a key leads to its prompts", { $0.turnsByKey["k9"] = [] }),
      (
        "session server: the bytes are those of ended prompts",
        { server in
          server.turns[Self.ended] = nil
          server.endedBytes = 1
        }
      ),
      (
        "session server: an open prompt is in the line of its conversation, once",
        { server in
          let moved = server.talks[Self.conversation]?.line.popLast()
          server.talks[Sessions.other]?.line.append(moved ?? Self.running)
        }
      ),
    ])
  }

  @Test func `each condition of conversations is checked`() {
    check([
      (
        "session server: what is kept of a conversation is bounded",
        { server in
          let entry = server.talks[Self.conversation]?.entries.first
          server.talks[Self.conversation]?.entries = Array(
            repeating: entry, count: 2_001
          ).compactMap(\.self)
        }
      ),
      (
        "session server: the messages of a conversation have no hole",
        { $0.talks[Self.conversation]?.next = 1 }
      ),
      (
        "session server: a conversation waits for a handler once",
        { $0.queue = [Sessions.other, Sessions.other] }
      ),
      (
        "session server: a conversation waits for a handler once",
        { $0.talks[Self.conversation]?.isQueued = true }
      ),
      (
        "session server: a conversation waits for a handler once",
        { $0.queue = ["nothing"] }
      ),
    ])
  }

  @Test func `a conversation that waits twice in place of another is noticed`() {
    check([
      (
        "session server: a conversation waits for a handler once",
        { server in
          server.talks[Self.conversation]?.isQueued = true
          server.queue = [Sessions.other, Sessions.other]
        }
      )
    ])
  }

  @Test func `each condition of clients and sockets is checked`() {
    check([
      (
        "session server: what waits for a client is bounded",
        { $0.clients["ann"]?.outbox = Array(repeating: Self.ended, count: 1_001) }
      ),
      (
        "session server: what waits for a client was not acknowledged",
        { $0.clients["ann"]?.outboxBytes += 1 }
      ),
      (
        "session server: what waits for a client was not acknowledged",
        { $0.turns[Self.ended]?.client = "bob" }
      ),
      (
        "session server: an open prompt is of a client",
        { server in
          server.clients["ann"]?.open += 1
          server.clients["bob"] = server.clients["ann"]
          server.clients["bob"]?.open = -1
        }
      ),
      (
        "session server: a connected socket is of its client",
        { $0.clients["ann"]?.sockets.append(ConnectionID(9)) }
      ),
      ("session server: a connected socket is of its client", { $0.clients = [:] }),
      (
        "session server: what waits for a client was not acknowledged",
        { server in
          server.clients["ann"]?.outbox = [Self.running]
          server.clients["ann"]?.outboxBytes = 0
        }
      ),
      (
        "session server: a subscription is of its conversation",
        { $0.talks[Self.conversation]?.readers.insert(ConnectionID(9)) }
      ),
    ])
  }

  @Test func `the alarms are checked`() {
    check([("alarm queue: each alarm has an entry", { $0.alarms.heap = [] })])
  }

  @Test func `as much as may wait for a socket is no fault`() {
    var server = Self.busy
    for _ in 1...5_196 { server.sockets[Self.one]?.lane.append(.response(Self.ended)) }
    server.sockets[Self.one]?.lane.awaitsDrain = true
    #expect(server.brokenInvariants(.thorough) == [])
  }
}
