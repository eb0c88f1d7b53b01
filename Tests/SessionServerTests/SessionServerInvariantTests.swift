import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastSessionServer

/// Tests that each invariant of `SessionServer` and its parts detects a planted fault, and that a
/// state at the limits is accepted.
@Suite struct SessionServerInvariantTests {
  private static let one = ConnectionID(1)
  private static let conversation = Sessions.conversation
  private static let ended = SessionPromptID(1)
  private static let running = SessionPromptID(2)
  private static let waiting = SessionPromptID(3)

  /// A server whose client has an unacknowledged answer, a running prompt, a waiting prompt and a
  /// subscription.
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
    ("session server: no effect is pending between two inputs", { $0.effects = [.finished] }),
    (
      "session server: sockets and prompts are bounded",
      { server in
        guard let socket = server.sockets[one] else { return }
        for number in 10...2_009 as ClosedRange<UInt64> {
          server.sockets.add(ConnectionID(number), socket)
        }
      }
    ),
    // Prompts.
    ("session server: handlers are bounded", { $0.prompts.move(waiting, to: .starting) }),
    (
      "session server: one prompt of a conversation is under way at a time",
      { $0.prompts.move(waiting, to: .starting) }
    ),
    ("session server: a handler ends in time", { $0.disarm(.turn(running)) }),
    (
      "session server: an open prompt is in the line of its conversation, once",
      { $0.conversations.leave(waiting, in: conversation) }
    ),
    ("session server: an open prompt is of a client", { $0.clients["ann"]?.open += 1 }),
    // Conversations.
    (
      "session server: no conversation waits while a handler is free",
      { $0.prompts.move(running, to: .waiting) }
    ),
    // Clients and sockets.
    (
      "session client: its stored answers are not acknowledged",
      { $0.clients["ann"]?.retain(running, size: 0) }
    ),
    ("session server: each open socket has a heartbeat", { $0.disarm(.beat(one)) }),
    (
      "session server: a subscription is of its conversation",
      { $0.sockets.change(one) { $0.subscriptions["x"] = .init(next: 1, isLive: true) } }
    ),
    (
      "session sockets: queued items wait for the drain of their socket",
      { $0.sockets.change(one) { $0.queue.append(.response(ended)) } }
    ),
    // The store.
    (
      "session server: what the store is to be told later has an alarm",
      { server in
        server.disarm(.acks)
        server.writes.delay(.endPrompt(ended))
      }
    ),
    ("session server: a failed write has an alarm", { $0.writes.retry(running) }),
  ]

  @Test func `detects each broken invariant`() {
    #expect(unnoticed(Self.plants, in: Self.busy) == [])
  }

  @Test func `a full lane is accepted, and one more parcel breaks an invariant`() {
    var server = Self.busy
    server.sockets.change(Self.one) { socket in
      for _ in 1...5_196 { socket.queue.append(.response(Self.ended)) }
      _ = socket.queue.sent(1, limit: 1)
    }
    #expect(server.brokenInvariants(.thorough) == [])
    server.sockets.change(Self.one) { $0.queue.append(.response(Self.ended)) }
    #expect(
      server.brokenInvariants(.thorough)
        == ["session server: the queue of each socket is bounded"])
  }
}
