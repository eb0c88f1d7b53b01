import HoldfastTestKit
import LinkWire
import Testing

@testable import LinkCore
@testable import Session

/// Each invariant of a session and of its parts can fail.
@Suite struct SessionInvariantTests {
  private static let nobody = UUID128(high: 9, low: 9)

  /// Connected, with one prompt on its way.
  private static var prompting: SessionModel {
    var bench = SessionBench.connected()
    bench.prompt("one")
    return bench.model
  }

  private static let plants: [PlantedFault<SessionModel>] = [
    (
      "session: it talks on the link's attempt",
      { $0.talk = Talk(AttemptID(99), at: Timestamp(nanoseconds: 0), .zero) }
    ),
    ("session: connected means that the server said so", { $0.talk?.stage = .greeted }),
    ("session: nothing is done before the store was read", { $0.client = nil }),
    (
      "session: acknowledgements are bounded",
      { $0.owed = Array(repeating: "m", count: 1_001) }
    ),
    ("session: numbers ahead are bounded", { $0.ahead = Set(2...1_002) }),
    ("session: a prompt is under way only on a connection", { $0.talk?.stage = .greeted }),
    (
      "session: the user is shown the present state",
      { $0.shown.status = LinkStatus(phase: .failed) }
    ),
    ("session: the next number is not ahead", { $0.ahead = [1] }),
    ("session: every prompt was numbered", { $0.lastPrompt = 0 }),
    (
      "session: what was sent is in the outbox until its end",
      { $0.talk?.sent.insert(nobody) }
    ),
    ("link: it is idle exactly while it is not wanted", { $0.link.gate.wish = .none }),
    ("session writer: only a refused change is tried again", { $0.writer.retryAt = .zero }),
    (
      "session writer: the change under way is the last one",
      { $0.writer.inFlight = SessionWriter.InFlight(id: SessionCommitID(99), batch: .init()) }
    ),
    ("payload size: it stays within its range", { $0.payload.kilobytes = 251 }),
    (
      "payload size: no more outcomes count than its window",
      { $0.payload.outcomes = Array(repeating: true, count: 21) }
    ),
    ("talk: nothing but connect is said before connected", { $0.talk?.stage = .greeted }),
    (
      "talk: what is uploaded was sent",
      { $0.talk?.upload = Talk.Upload(key: nobody, until: .zero, deafUntil: .zero) }
    ),
    ("payload size: it stays within its range", { $0.payload.kilobytes = 49 }),
    (
      "session: nothing is done before the store was read",
      { model in
        model.client = nil
        for prompt in model.queue.items { model.queue.remove(prompt.id) }
      }
    ),
    (
      "session writer: only a refused change is tried again",
      { model in
        (model.writer.retryAt, model.writer.failures) = (.zero, 1)
        model.writer.inFlight = nil
      }
    ),
    (
      "session writer: only a refused change is tried again",
      { model in
        let id = SessionCommitID(model.writer.lastID)
        model.writer.inFlight = SessionWriter.InFlight(id: id, batch: .init())
        (model.writer.retryAt, model.writer.failures) = (.zero, 0)
      }
    ),
    ("talk: the time of connected is known", { $0.talk?.connectedAt = nil }),
    ("talk: what is awaited was subscribed to", { $0.talk?.subscribing["x"] = .zero }),
    (
      "send queue: an item is in it once",
      { model in
        let items = model.queue.items
        model.queue.restore(items + items)
      }
    ),
  ]

  /// Greeted, and not connected.
  private static var greeted: SessionModel {
    var bench = SessionBench.opening()
    bench.give(.opened(bench.attempt))
    bench.say(.hello(SessionHello(message: "")))
    return bench.model
  }

  @Test func `a session that says anything before it is connected is noticed`() {
    let early: [@Sendable (inout SessionModel) -> Void] = [
      { $0.talk?.pings = [Talk.Ping(id: 1, sentAt: .zero)] }, { $0.talk?.awaited = [.size] },
      { $0.talk?.upload = Talk.Upload(key: Self.nobody, until: .zero, deafUntil: .zero) },
      { $0.talk?.sent = [Self.nobody] }, { $0.talk?.subscribed = ["x"] },
      { $0.talk?.subscribing = ["x": .zero] },
    ]
    let faults = early.map {
      PlantedFault<SessionModel>("talk: nothing but connect is said before connected", $0)
    }
    #expect(unnoticed(faults, in: Self.greeted) == [])
  }

  @Test func `as much as may wait or count is no fault`() {
    var model = Self.prompting
    model.owed = Array(repeating: "m", count: 1_000)
    model.ahead = Set(2...1_001)
    model.payload.outcomes = Array(repeating: true, count: 20)
    #expect(model.brokenInvariants(.thorough) == [])
  }

  @Test func `a session that sends is checked`() {
    #expect(unnoticed(Self.plants, in: Self.prompting) == [])
  }

  @Test func `a prompt that waits before the store was read is found`() {
    var bench = SessionBench()
    bench.restore()
    bench.prompt("one")
    let fault = PlantedFault<SessionModel>(
      "session: nothing is done before the store was read", { $0.client = nil })
    #expect(unnoticed([fault], in: bench.model) == [])
  }
}
