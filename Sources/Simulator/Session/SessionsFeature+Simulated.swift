public import HoldfastCore
public import HoldfastServerCore
public import HoldfastStorage
public import HoldfastWire
public import HoldfastSession

/// The world of sessions: two phones of two people, and a server with a program behind it.
///
/// Each phone has its own conversation, and both take part in a third conversation. The program
/// answers each prompt after a while. It must run exactly once for each prompt.
public enum SessionsFeature: SimulatedFeature {
  /// The model of a session on a phone.
  public typealias Model = SessionModel
  /// The checkers of the guarantees that are specific to a session.
  public typealias Checkers = SessionCheckers

  static let phones = 2
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

  /// A fact that is specific to this world.
  public enum Fact: Sendable, Equatable {
    /// The program was started for a prompt with this text.
    case ran(text: String)
    /// The user of a phone discarded a failed prompt.
    case discarded(phone: Int, UUID128)
    /// A phone was notified that the server dropped messages.
    case dropped(phone: Int)
    /// The ledger found a violation by the server.
    case broken(Finding.Kind, detail: String)
    /// The daily statistics on a phone's disk at the end of the run.
    case counted(phone: Int, [SessionDay])
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

  /// The feature's part of a phone's state. The checkers use it in addition to the link's state.
  public struct State: Sendable {
    var phone = 0
    /// The number of prompts that have not ended.
    var unanswered = 0
    var isWritten = true
    /// Whether the server has no idempotency keys, and whether a prompt that may have reached the
    /// server waits for a sign of its arrival. The wait may be longer than the calm phase.
    var isPlain = false
    var waitsForSign = false
    /// The IDs of other users' messages in the followed conversations that the app has not shown.
    private(set) var expected: Set<String> = []
    /// The IDs of all of the program's answers on the server.
    var answers: Set<String> = []
    /// The names of the prompts that have been answered.
    var answered: Set<String> = []
    /// The attempt on which the phone last received the server's `connected` message.
    var connected: AttemptID?
    /// The IDs of the messages that the app has shown, and of those on its disk.
    private(set) var shown: Set<String> = []
    var durable: Set<String> = []
    /// Whether the server has recorded that the phone takes part in the shared conversation.
    var hasJoined = false
    /// The number up to which the disk has recorded that news were shown.
    var confirmed: UInt64 = 0
    /// The numbers of the single news for which the disk has recorded the same.
    var marked: Set<UInt64> = []
    /// Whether the phone was notified that messages are missing, and whether the server may drop
    /// messages.
    var hasGap = false
    var mayDrop = false
    /// Whether all messages have different texts. If so, a message with the same text but another
    /// ID is the same message.
    var hasUniqueTexts = true

    /// Returns whether the disk has recorded that news were shown.
    func isConfirmed(_ news: UInt64) -> Bool { news <= confirmed || marked.contains(news) }

    var missing: Int { hasGap || !hasJoined ? 0 : expected.count }

    mutating func expect(_ id: String) { if !shown.contains(id) { expected.insert(id) } }

    mutating func show(_ id: String) {
      shown.insert(id)
      expected.remove(id)
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

  public static var name: String { "session" }
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
  public static var policy: LinkPolicy { .session }
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

  /// The maximum time for which an upload delays pings.
  public static var timeLimit: Duration { SessionSettings.longestUpload }
  public static func isHealed(_ phoneState: PhoneState<SessionsFeature>) -> Bool {
    (phoneState.own.unanswered == 0 || phoneState.own.waitsForSign) && phoneState.own.missing == 0
  }

  public static func remains(_ phoneState: PhoneState<SessionsFeature>) -> String {
    ", \(phoneState.own.unanswered) without an answer, \(phoneState.own.missing) to show"
  }

  public static func checkBounds(
    _ phoneState: PhoneState<SessionsFeature>, _ found: (String, Int, Int) -> Void
  ) {
    if phoneState.own.unanswered > 1_000 { found("prompts", phoneState.own.unanswered, 1_000) }
  }

  public static func expose(_ effect: Effect, _ look: (String, String) -> Void) {
    switch effect {
    case .send(_, .prompt(let prompt)): look(prompt.text, "a prompt")
    case .update(.message(let entry, _, _)): look(entry.text, "a message")
    case .update(.part(_, _, _, let text)): look(text, "a message")
    case .update(.prompt(let prompt, _)): look(prompt.reason ?? prompt.text, "a prompt")
    case .update(.status(let status)):
      if let text = status.reason?.text { look(text, "a status") }
    case .connect: look("\(effect)", "a log")
    case .update, .send, .open, .close, .refreshCredentials, .probe, .commit: return
    }
  }

  public static func isLogged(_ effect: Effect) -> Bool {
    switch effect {
    case .send(_, .prompt), .update(.message), .update(.part), .update(.prompt): false
    case .send, .update: true
    case .connect, .open, .close, .refreshCredentials, .probe, .commit: false
    }
  }

  // Traces.

  public static func statusLabel(_ effect: Effect) -> String? {
    if case .update(.status(let status)) = effect { TraceText.status(status) } else { nil }
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
  /// A message was acknowledged before it was stored on the phone's disk.
  public static let unstored = Finding.Kind(rawValue: "unstored")
  /// A message was sent before another message that had priority over it.
  public static let outranked = Finding.Kind(rawValue: "outranked")
  /// A frame was decoded differently from how it was encoded.
  public static let misread = Finding.Kind(rawValue: "misread")
  /// A gap was shown although the server dropped nothing.
  public static let falseGap = Finding.Kind(rawValue: "falseGap")
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
