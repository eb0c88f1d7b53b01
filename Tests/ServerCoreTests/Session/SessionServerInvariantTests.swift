import HoldfastTestKit
import LinkCore
import LinkStorage
import LinkWire
import Testing

@testable import LinkServerCore

/// The check of the server of sessions, and that of each of its parts, can fail, and allows what
/// may be.
@Suite struct SessionServerInvariantTests {
  private static let one = ConnectionID(1)
  private static let conversation = Sessions.conversation
  private static let ended = SessionPromptID(1)
  private static let running = SessionPromptID(2)
  private static let waiting = SessionPromptID(3)

  /// A client with an answer that it did not acknowledge, a prompt that runs, one that waits, and
  /// a subscription.
  private static var busy: SessionServer {
    var sessions = Sessions.connected { $0.maxRunning = 1 }
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

  private static let plants: [PlantedFault<SessionServer>] = [
    ("session server: nothing is asked for between two inputs", { $0.effects = [.finished] }),
    (
      "session server: sockets and prompts are bounded",
      { server in
        for number in 10...2_009 as ClosedRange<UInt64> {
          server.sockets[ConnectionID(number)] = server.sockets[one]
        }
      }
    ),
    ("session server: the bytes of prompts are bounded", { $0.openBytes = (64 << 20) + 1 }),
    ("session server: the bytes of prompts are bounded", { $0.endedBytes = -1 }),
    ("session server: handlers are bounded", { $0.running = 2 }),
    ("session server: a drain ends when nothing is left to wait for", { $0.mode = .finished }),
    // Prompts.
    ("session server: the bytes are those of open prompts", { $0.openBytes += 1 }),
    ("session server: a handler ends in time", { $0.alarms.clear(.turn(running)) }),
    // Conversations.
    (
      "session server: one prompt of a conversation is under way at a time",
      { $0.turns[waiting]?.stage = .starting }
    ),
    (
      "session server: the messages of a conversation have no hole",
      { $0.talks[conversation]?.entries[0].place = 7 }
    ),
    ("session server: a conversation waits for a handler once", { $0.queue = [] }),
    // Clients and sockets.
    (
      "session server: what waits for a client was not acknowledged",
      { $0.clients["ann"]?.outbox = [running] }
    ),
    ("session server: each open socket has a heartbeat", { $0.alarms.clear(.beat(one)) }),
    (
      "session server: a subscription is of its conversation",
      { $0.sockets[one]?.subscriptions["x"] = .init(next: 1, isLive: true) }
    ),
    // Parts.
    (
      "post rate: the users that it counts are bounded",
      { server in
        for number in 0...server.rate.bound { server.rate.fullAt["\(number)"] = .zero }
      }
    ),
  ]

  @Test func `a broken server is found`() {
    #expect(unnoticed(Self.plants, in: Self.busy) == [])
  }

  @Test func `as much as may wait for a socket is no fault, and one more is`() {
    var server = Self.busy
    for _ in 1...5_196 { server.sockets[Self.one]?.lane.append(.response(Self.ended)) }
    server.sockets[Self.one]?.lane.awaitsDrain = true
    #expect(server.brokenInvariants(.thorough) == [])
    server.sockets[Self.one]?.lane.append(.response(Self.ended))
    #expect(
      server.brokenInvariants(.thorough)
        == ["session server: what waits for a socket is bounded"])
  }
}
