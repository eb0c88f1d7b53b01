import HoldfastTestKit
import LinkWire
import Testing

@testable import LinkCore
@testable import Session

/// The check of a session, and that of each of its parts, can fail, and allows what may be.
@Suite struct SessionInvariantTests {
  private static let nobody = UUID128(high: 9, low: 9)

  /// Connected, with one prompt on its way.
  private static var prompting: SessionModel {
    var bench = SessionBench.connected()
    bench.prompt("one")
    return bench.model
  }

  private static let plants: [PlantedFault<SessionModel>] = [
    ("session: connected means that the server said so", { $0.talk?.stage = .greeted }),
    ("session: nothing is done before the store was read", { $0.client = nil }),
    ("session: acknowledgements are bounded", { $0.owed = Array(repeating: "m", count: 1_001) }),
    ("session: numbers ahead are bounded", { $0.ahead = Set(2...1_002) }),
    ("session: what was sent is in the outbox until its end", { $0.talk?.sent.insert(nobody) }),
    ("session: a prompt is marked for a server without keys", { $0.leaving = nobody }),
    ("link: it is idle exactly while it is not wanted", { $0.link.gate.wish = .none }),
    ("payload size: it stays within its range", { $0.payload.kilobytes = 251 }),
    ("payload size: it stays within its range", { $0.payload.kilobytes = 49 }),
    (
      "payload size: no more outcomes count than its window",
      { $0.payload.outcomes = Array(repeating: true, count: 21) }
    ),
    (
      "talk: nothing but connect is said before connected",
      { model in
        model.talk?.stage = .greeted
        model.talk?.sent = []
        model.talk?.upload = nil
        model.talk?.pings = [Talk.Ping(id: 1, sentAt: .zero)]
      }
    ),
    ("talk: what is awaited was subscribed to", { $0.talk?.subscribing["x"] = .zero }),
    (
      "send queue: an item is in it once",
      { model in
        let items = model.queue.items
        model.queue.restore(items + items)
      }
    ),
  ]

  @Test func `a broken session is found`() {
    #expect(unnoticed(Self.plants, in: Self.prompting) == [])
  }

  @Test func `as much as may wait or count is no fault`() {
    var model = Self.prompting
    model.owed = Array(repeating: "m", count: 1_000)
    model.ahead = Set(2...1_001)
    model.payload.outcomes = Array(repeating: true, count: 20)
    #expect(model.brokenInvariants(.thorough) == [])
  }
}
