public import HoldfastCore
public import HoldfastLinkChecks
public import HoldfastServerParts
public import HoldfastSession
public import HoldfastSessionChecks
public import HoldfastSessionData
public import HoldfastWorldKernel

// The world of sessions: two phones of two people, and a server with a program behind it.
extension SessionsFeature: SimulatedFeature {
  /// The checkers of what only the world knows.
  public typealias WorldCheckers = SessionWorldCheckers

  /// The IDs of the conversations: each phone's own, and the shared one.
  static let conversations = (0...phones).map { "00000000-0000-4000-8000-00000000000\($0)" }
  static let shared = conversations[phones]

  /// A message on a line.
  public enum Packet: Sendable {
    case opened
    /// The bytes of a frame, and the message that they encode; `nil` if there is none.
    case up([UInt8], SessionClientMessage?)
    case down([UInt8], SessionServerMessage?, phone: Int)
  }

  /// A scheduled event of the world.
  public enum ScheduledEvent: Sendable {
    // Phones.
    case input(SessionModel.Input)
    case commits(SessionCommitID, ClientSessionChange)
    // The server.
    case stores(StoreToken, [SessionChange])
    case stored(StoreToken, StoreFailure?)
    case drained(ConnectionID)
    case repeats(TrafficID, SessionServerMessage)
    case produces(SessionPromptID, String)
    case ends(SessionPromptID, SessionResponse.Result)
    // Foreign clients.
    case steps(ConnectionID)
    case receives(ConnectionID, [UInt8])
    case foreignClientLeaves(ConnectionID)
  }

  /// The counters of this world.
  public enum Counter: String, RunCounter {
    case prompts, handled, answers, shown

    public var label: String { rawValue }
  }

  /// The numbers that a plan fixes for a run, in addition to the network conditions.
  public struct Numbers: PlanNumbers {
    /// The duration of a call to the server's store.
    public var storeDelay = Duration.milliseconds(2)
    /// The maximum time for which the program works.
    public var work = Duration.seconds(2)
    /// Whether phones use protocol version 0.4: 1 if they do, otherwise 0.
    public var old = 0
    /// Whether the server omits Holdfast's additions to the original protocol: 1 if it does,
    /// otherwise 0.
    public var plain = 0
    /// The number of messages per conversation, and of answers per client, that the server retains.
    public var retained = 1_000
    /// Whether the server handles only a few messages at a time: 1 if it does, otherwise 0.
    public var tight = 0
    /// Whether the server has low limits: 1 if it does, otherwise 0.
    public var strict = 0

    public init() {}

    public static var fields: [PlanField<Numbers>] {
      [
        .span("storeDelay", \.storeDelay), .span("work", \.work), .number("old", \.old, 0...1),
        .number("plain", \.plain, 0...1), .number("kept", \.retained, 1...100_000),
        .number("tight", \.tight, 0...1), .number("strict", \.strict, 0...1),
      ]
    }
  }

  /// The kinds of planned events, in addition to those of the kernel.
  public enum EventKind: String, PlanEventKind {
    /// The user enters a prompt in the phone's own conversation (0) or in the shared one (1).
    case says
    /// The user pastes a prompt of a number of KiB; 0 for an empty prompt.
    case pastes
    /// The user retries or discards the failed prompts.
    case retries, discards
    /// The user switches to the other phone's conversation (0), the shared one (1), or a new one
    /// (2).
    case follows
    /// The phone has the key of another server.
    case wrongKey
    /// The user cancels the running prompt in their own conversation (0) or the shared one (1).
    case cancels
    /// The socket does not accept the message to be sent.
    case unsent
    /// The server sends a message that phones cannot use.
    case strangeMessage
    /// A foreign client visits the server.
    case visits

    /// The declarations of all event kinds.
    public static let forms: [EventKind: EventForm] = [
      .says: EventForm(.number(0...1), isOfPeople: true) {
        $0.number == 0 ? "says something" : "says something to both"
      },
      .pastes: EventForm(.count(0...600), isOfPeople: true) { "pastes \($0.number) KiB" },
      .retries: EventForm(isOfPeople: true) { _ in "tries again what failed" },
      .discards: EventForm(isOfPeople: true) { _ in "forgets what failed" },
      .follows: EventForm(.number(0...2), isOfPeople: true) {
        "turns to conversation \($0.number)"
      },
      .wrongKey: EventForm(.span) { "the phone has a wrong key for \(TraceText.length($0.span))" },
      .cancels: EventForm(.number(0...1), isOfPeople: true) { _ in "cancels what runs" },
      .unsent: EventForm { _ in "the phone's socket takes no more" },
      .strangeMessage: EventForm(.choice(["oversized", "unknown", "garbled"]), of: .backend) {
        "the server sends phones something \($0.choice)"
      },
      .visits: EventForm(.choice(ForeignSessionClient.Kind.allCases.map(\.rawValue)), of: .backend)
      {
        "a third-party client connects: \($0.choice)"
      },
    ]
  }

  public static var summary: String { "play two people who talk to a program over sessions" }
  public static var details: [String] {
    [
      """
      Two phones send prompts to a server, which runs a program for each and streams back what it \
      says. Checkers watch that no prompt runs twice or out of order, that each ends as it is \
      told, and that each message is stored before it is acknowledged and shown exactly once.
      """
    ]
  }
  public static func hosts(_ numbers: Numbers) -> [HostKind] {
    Array(repeating: .phone, count: phones) + [.backend]
  }
  public static var kinds: [Finding.Kind] {
    [
      .lost, .duplicated, .reordered, .unannounced, .unstored, .outranked, .falseGap, .untrue,
      .untimely, .miscounted, .misread, .leaked,
    ]
      + Finding.Kind.ofLinks
  }

  public static func play(
    _ plan: Plan, _ setup: RunSetup<SessionsFeature>, watch: RunWatch<SessionsFeature>?
  ) -> Outcome {
    var world = SessionWorld(plan, setup, watch: watch)
    return world.play()
  }

  public static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<SessionsFeature>) {
    builder.numbers.storeDelay = builder.draw.one(.milliseconds(2), .milliseconds(300))
    builder.numbers.work = builder.draw.one(.milliseconds(50), .seconds(2), .seconds(40))
    builder.numbers.old = builder.draw.one(0, 0, 1)
    builder.numbers.plain = builder.draw.one(0, 0, 0, 1)
    builder.numbers.retained = builder.draw.one(1_000, 1_000, 3)
    builder.day(preset)
    builder.scatter(builder.draw.count(8...30)) { PlannedEvent(.says, $0.one(0, 0, 1)) }
    builder.scatter(builder.draw.count(0...3)) { PlannedEvent(.pastes, $0.count(1...200)) }
    builder.scatter(builder.draw.count(0...2)) { PlannedEvent(.cancels, $0.one(0, 1)) }
    let isRough = preset == .swarm || preset == .deploy
    builder.swarm(PlanBuilder<SessionsFeature>.troubles, times: isRough ? 6...16 : 0...4)
    builder.aside { if $0.draw.happens(0.5) { $0.swarm([.busy, .waver], times: 1...4) } }
    for index in builder.events.indices where builder.events[index].event.isOfPhone {
      if builder.draw.happens(0.75) {
        builder.events[index].event.host = builder.draw.count(0...phones - 1)
      }
    }
    builder.numbers.tight = builder.draw.one(0, 0, 1)
    builder.numbers.strict = builder.draw.one(0, 0, 1)
    builder.scatter(builder.draw.count(2...10)) { draw in
      let kinds = ForeignSessionClient.Kind.allCases
      return PlannedEvent(.visits, 0, kinds[draw.count(0...kinds.count - 1)].rawValue)
    }
    builder.scatter(builder.draw.count(0...6)) { draw in
      let phone = draw.count(0...phones - 1)
      return draw.one(
        PlannedEvent(.retries, on: phone), PlannedEvent(.retries, on: phone),
        PlannedEvent(.discards, on: phone),
        PlannedEvent(.follows, draw.count(0...2), on: phone),
        PlannedEvent(.pastes, draw.one(0, 511, 512, 600), on: phone))
    }
    if builder.draw.happens(0.2) {
      builder.scatter(1) {
        PlannedEvent(.wrongKey, for: $0.seconds(1, 200), on: $0.count(0...phones - 1))
      }
    }
  }

}

extension PlannedEvent<SessionsFeature.EventKind> {
  /// Whether the event affects phones.
  fileprivate var isOfPhone: Bool { (kind ?? form.host) == .phone }
}

extension PlanBuilder<SessionsFeature> {
  /// The faults of sessions, in addition to the common faults. Seeds depend on their order.
  fileprivate static var troubles: [Trouble<SessionsFeature.EventKind>] {
    [
      Trouble { _ in PlannedEvent(.unsent) },
      Trouble {
        PlannedEvent(
          $0.one(.storeFull, .storeLocked, .storeSlow), for: $0.seconds(1, 60), at: .backend)
      },
      Trouble {
        PlannedEvent($0.one(.storeFull, .storeLocked, .storeSlow), for: $0.seconds(1, 60))
      },
      Trouble { PlannedEvent(.kill, for: $0.seconds(0.5, 30), at: .backend) },
      Trouble { PlannedEvent(.strangeMessage, 0, $0.one("oversized", "unknown", "garbled")) },
      Trouble { PlannedEvent(.serverClock, by: $0.seconds(-120, 120)) },
    ]
  }
}

extension Finding.Kind {
  /// A frame was decoded differently from how it was encoded.
  public static let misread = Finding.Kind(rawValue: "misread")
}

// Contributions of a session's steps to a run's digest, in addition to their roles. Sets are
// omitted, because they are unordered.
extension SessionsFeature {
  public static func mix(_ fact: Fact, into digest: inout Digest) {
    switch fact {
    case .ran(let name):
      digest.mix(1)
      digest.mix(name)
    case .discarded(let phone, let key):
      digest.mix(5, UInt64(phone))
      digest.mix(key)
    case .dropped(let phone): digest.mix(2, UInt64(phone))
    case .broken(_, let detail): digest.mix(detail)
    case .counted(let phone, let days): digest.mix(4, UInt64(phone), UInt64(days.count))
    }
  }

  public static func mix(_ input: Input, into digest: inout Digest) {
    switch input {
    case .restored(let sessions, _, let wall):
      digest.mix(1, UInt64(sessions.prompts.count), UInt64(sessions.conversations.count))
      digest.mix(wall)
    case .prompt(let text, let conversation, let key, let wall):
      digest.mix(text.firstWord)
      digest.mix(conversation ?? "")
      digest.mix(key)
      digest.mix(wall)
    case .retry(let key, let new):
      digest.mix(key)
      digest.mix(new)
    case .discard(let key): digest.mix(key)
    case .cancel(let conversation), .follow(let conversation): digest.mix(conversation)
    case .shown(let through): digest.mix(2, through)
    case .answersShown(let numbers):
      for number in numbers { digest.mix(7, number) }
    case .frame(_, let message, let bytes, let wall):
      digest.mix(3, UInt64(bytes))
      digest.mix(wall)
      mix(message, into: &digest)
    case .committed(let id, let news):
      digest.mix(4, id.number, UInt64(news.count))
      if let last = news.last { digest.mix(last.number) }
    case .commitFailed(let id, _): digest.mix(5, id.number)
    case .malformed(_, let detail): digest.mix(detail)
    case .reading(_, let isPaused): digest.mix(isPaused)
    case .probed(let isPortal): digest.mix(isPortal)
    case .start, .stop, .stopUnread, .link, .credentials, .opened, .unsent: return
    }
  }

  public static func mix(_ effect: Effect, into digest: inout Digest) {
    switch effect {
    case .close(_, let reason): digest.mix(UInt64(reason.closeCode))
    case .connect(_, let connect, let challenge):
      digest.mix(1, connect.received ?? 0)
      digest.mix(challenge ?? "")
    case .send(_, let message): mix(message, into: &digest)
    case .commit(let id, let change):
      digest.mix(2, id.number, UInt64(change.news.count))
      digest.mix(UInt64(change.prompts.count), change.received ?? 0, change.shown ?? 0)
      for number in change.marked { digest.mix(8, number) }
    case .update(let update): mix(update, into: &digest)
    case .probe(let time): digest.mix(time)
    case .open, .refreshCredentials: return
    }
  }

  private static func mix(_ message: SessionServerMessage, into digest: inout Digest) {
    switch message {
    case .hello(let hello): digest.mix(hello.challenge ?? "")
    case .ack(_, let key): digest.mix(key ?? "")
    case .response(let response):
      digest.mix(10, response.number ?? 0)
      digest.mix(response.id ?? "")
    case .responsePart(_, let key, let index, _):
      digest.mix(11, UInt64(index))
      digest.mix(key)
    case .error(let error): digest.mix(error.message)
    case .replay(let id, _, let number):
      digest.mix(12, number ?? 0)
      digest.mix(id)
    case .history(let window): mix(window, into: &digest)
    case .historyBatch(let windows): for window in windows { mix(window, into: &digest) }
    case .heartbeat(let time): if let time { digest.mix(time) }
    case .draining(_, let retryAfter, _): digest.mix(retryAfter)
    case .connected, .pong, .authError, .turnComplete, .sessionKilled, .unknown: return
    }
  }

  private static func mix(_ window: SessionHistory, into digest: inout Digest) {
    digest.mix(13, UInt64(window.entries.count))
    digest.mix(window.conversation)
    if let last = window.entries.last { digest.mix(last.id) }
  }

  private static func mix(_ message: SessionClientMessage, into digest: inout Digest) {
    switch message {
    case .messageAck(let id): digest.mix(id)
    case .prompt(let prompt):
      digest.mix(prompt.idempotencyKey ?? "")
      digest.mix(prompt.text.firstWord)
    case .subscribe(let one): digest.mix(one.conversation)
    case .subscribeBatch(let all): for one in all { digest.mix(one.conversation) }
    case .unsubscribe(let conversation), .killSession(let conversation): digest.mix(conversation)
    case .setMaxMessageSize(let kilobytes): digest.mix(20, UInt64(kilobytes))
    case .disconnect(let reason): digest.mix(reason)
    case .connect, .ping, .unknown: return
    }
  }

  private static func mix(_ update: SessionUpdate, into digest: inout Digest) {
    switch update {
    case .status(let status): digest.mix(30, UInt64(status.attempt))
    case .prompt(let prompt, let news):
      digest.mix(31, news ?? 0)
      digest.mix(prompt.key)
      digest.mix(prompt.state.rawValue)
    case .message(let entry, _, let news):
      digest.mix(32, news)
      digest.mix(entry.id)
    case .part(_, let key, let index, _):
      digest.mix(33, UInt64(index))
      digest.mix(key)
    case .gap(let conversation, let gap):
      digest.mix(conversation ?? "")
      digest.mix(gap.rawValue)
    case .quality(_, let roundTrip): digest.mix(34, UInt64(roundTrip == nil ? 1 : 2))
    case .pending(let prompts): digest.mix(35, UInt64(prompts.count))
    case .record(let record): digest.mix(36, record.attempt.number)
    case .notice: digest.mix(37)
    }
  }
}
