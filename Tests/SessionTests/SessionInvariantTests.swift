import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastCore
@testable import HoldfastSession

/// Tests that the invariant checks of a session and of its parts detect broken states and accept
/// legal ones.
@Suite struct SessionInvariantTests {
  private static let nobody = UUID128(high: 9, low: 9)

  private static func news(_ number: UInt64) -> NumberedSessionNews {
    NumberedSessionNews(number: number, news: .message(.one("m", at: nil), via: .live))
  }

  /// A connected model with one prompt in flight.
  private static var prompting: SessionModel {
    var harness = SessionHarness.connected()
    harness.prompt("one")
    return harness.model
  }

  private static let plants: [PlantedFault<SessionModel>] = [
    (
      "session: its connection is the link's attempt",
      { $0.connection = ServerConnection(AttemptID(99), at: Timestamp(nanoseconds: 0), .zero) }
    ),
    ("session: connected means that the server said so", { $0.connection?.greet() }),
    (
      "session: what was sent is in the outbox until its end",
      { $0.connection?.send(nobody, bytes: 1, at: .zero) }
    ),
    (
      "session: a prompt is marked for a server without keys",
      { model in if let prompt = model.outbox.items.first { model.outbox.mark(prompt) } }
    ),
    (
      "session: an answer waits only for the end of its prompt to be stored",
      { $0.answers[nobody] = .one("m", at: nil) }
    ),
    (
      "shown state: unconfirmed news are in order",
      { model in for number in [2, 1] as [UInt64] { model.shown.deliver(news(number)) } }
    ),
    (
      "shown state: what is unconfirmed comes after what is confirmed",
      { model in
        for number in [5, 1] as [UInt64] { model.shown.deliver(news(number)) }
        _ = model.shown.confirm(3)
      }
    ),
    ("link: it is idle exactly while it is not wanted", { $0.link.gate.intent = .none }),
    ("payload size: it stays within its range", { $0.payload.kilobytes = 251 }),
    ("payload size: it stays within its range", { $0.payload.kilobytes = 49 }),
    (
      "payload size: no more outcomes count than its window",
      { $0.payload.outcomes = Array(repeating: true, count: 21) }
    ),
    (
      "server connection: nothing but connect is sent before connected",
      { $0.connection?.greet() }
    ),
    (
      "server connection: what is uploaded was sent",
      { model in for prompt in model.outbox.items { model.connection?.forgetSent(prompt.id) } }
    ),
    (
      "session outbox: every prompt was numbered",
      { model in _ = model.outbox.restore(model.outbox.items, lastNumber: 0, at: .zero) }
    ),
    (
      "send queue: an item is in it once",
      { model in
        let items = model.outbox.items
        _ = model.outbox.restore(items + items, lastNumber: 9, at: .zero)
      }
    ),
  ]

  @Test func `detects a broken session`() {
    #expect(unnoticed(Self.plants, in: Self.prompting) == [])
  }

  @Test func `accepts the largest allowed counts`() {
    var model = Self.prompting
    model.messages.committed(received: nil, acks: Array(repeating: "m", count: 1_001))
    #expect(model.messages.pendingAcks.count == 1_000)
    for number in UInt64(2)...1_002 { _ = model.messages.note(number) }
    #expect(model.messages.ahead == Set(2...1_001))
    model.payload.outcomes = Array(repeating: true, count: 20)
    #expect(model.brokenInvariants(.thorough) == [])
  }
}
