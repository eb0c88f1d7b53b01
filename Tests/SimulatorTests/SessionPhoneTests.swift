import HoldfastCore
import HoldfastSession
import HoldfastSessionData
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastSessionChecks
@testable import HoldfastSessionWorld
@testable import HoldfastWorldKernel

/// Tests of the checkers of a session's phone for findings that no deliberate defect causes.
@Suite struct SessionPhoneTests {
  typealias Change = @Sendable (SessionModel.Effect) -> [SessionModel.Effect]

  /// The faults of a phone, with the finding that each fault causes.
  private static let faults: [(name: String, kind: Finding.Kind, change: Change)] = [
    ("no prompts of before", .untrue, shown { if case .pending = $0 { [] } else { [$0] } }),
    ("no failure", .untrue, shown { if case .notice(.store) = $0 { [] } else { [$0] } }),
    ("no recovery", .untrue, shown { $0 == .notice(.storeRecovered) ? [] : [$0] }),
    ("another state", .untrue, shown { [prompt($0) { $0.state = .queued }] }),
    ("stale at once", .untimely, shown { [$0] + stale($0) }),
    (
      "a large size", .untrue,
      sent { message in
        if case .setMaxMessageSize = message {
          [.setMaxMessageSize(kilobytes: 251)]
        } else {
          [message]
        }
      }
    ),
    (
      "another change", .lost,
      { effect in
        guard case .commit(let id, var change) = effect, id.number % 2 == 0 else { return [effect] }
        change.news = []
        return [.commit(id, change)]
      }
    ),
  ]

  @Test func `finds each fault of a phone`() {
    #expect(PhoneScript.findings { [$0] } == [])
    for fault in Self.faults {
      let found = PhoneScript.findings(fault.change)
      #expect(found.contains { $0.kind == fault.kind }, "\(fault.name): \(found)")
    }
  }

  private static func shown(
    _ change: @escaping @Sendable (SessionUpdate) -> [SessionUpdate]
  ) -> Change {
    { effect in
      guard case .update(let update) = effect else { return [effect] }
      return change(update).map { .update($0) }
    }
  }

  private static func sent(
    _ change: @escaping @Sendable (SessionClientMessage) -> [SessionClientMessage]
  ) -> Change {
    { effect in
      guard case .send(let attempt, let message) = effect else { return [effect] }
      return change(message).map { .send(attempt, $0) }
    }
  }

  private static func prompt(
    _ update: SessionUpdate, _ change: (inout SessionPromptState) -> Void
  ) -> SessionUpdate {
    guard case .prompt(var prompt, let news) = update else { return update }
    change(&prompt)
    return .prompt(prompt, news: news)
  }

  private static func stale(_ update: SessionUpdate) -> [SessionUpdate] {
    if case .prompt(let prompt, nil) = update { [.notice(.stale(prompt.key))] } else { [] }
  }
}

/// A session with one prompt, one answer, one store failure and one loss. Its checkers examine it.
private struct PhoneScript {
  private static let conversation = SessionsFeature.shared
  private static let wall = Timestamp(nanoseconds: 1_000_000_000_000)
  private static let client = UUID128(high: 1, low: 2)

  private var model = SessionModel(SessionSettings(policy: .session), seed: 1)
  private var checkers = SessionWorldCheckers()
  private var disk = StoredClientSession()
  private var now = Instant.zero
  /// Whether the store rejects the next change.
  private var isFull = false
  /// The idempotency key of the most recently sent prompt.
  private var key: String?
  private let change: SessionPhoneTests.Change

  private init(_ change: @escaping SessionPhoneTests.Change) { self.change = change }

  /// Runs the script with altered effects. Returns the findings.
  static func findings(_ change: @escaping SessionPhoneTests.Change) -> [Finding] {
    var script = PhoneScript(change)
    script.play()
    return script.checkers.findings
  }

  /// Stores the state of an earlier run: a prompt without an answer, and a message that has not
  /// been shown.
  private mutating func prepare() {
    _ = disk.open(as: Self.client)
    var change = ClientSessionChange()
    change.prompts = [
      StoredPrompt(
        id: UUID128(high: 7, low: 1), conversation: Self.conversation, text: "0.1.1 ", number: 1,
        createdAt: Self.wall)
    ]
    let entry = SessionEntry(
      id: "old", role: .assistant, text: "re old", conversation: Self.conversation)
    change.news = [.message(entry, via: .live)]
    _ = disk.commit(change)
  }

  private mutating func play() {
    prepare()
    checkers.handle(.launched(.phone, run: 1), phoneState)
    let snapshot = disk.open(as: Self.client)
    give(.restored(snapshot, conversation: Self.conversation, at: Self.wall))
    give(.credentials(.available(expiresIn: nil)))
    give(.start)
    connect()
    say(.ack(message: "", idempotencyKey: key))
    isFull = true
    answer("m")
    pass(.seconds(70))
    if let attempt = model.currentAttempt { give(.link(.lost(attempt, .reset), at: Self.wall)) }
    pass(.seconds(5))
    connect()
    pass(.seconds(5))
    give(.stop)
    pass(.seconds(5))
    checkers.handle(.fact(.counted(phone: 0, disk.days)), phoneState)
  }

  private mutating func connect() {
    guard let attempt = model.currentAttempt else { return }
    give(.opened(attempt))
    let features: Set<SessionFeature> = [.idempotency, .boundProof]
    say(.hello(SessionHello(message: "", features: features)))
    say(
      .connected(
        SessionConnected(message: "", session: "", version: .newest, features: features)))
  }

  private mutating func answer(_ id: String) {
    say(
      .response(
        SessionResponse(
          id: id, conversation: Self.conversation, idempotencyKey: key,
          result: .success(text: "re"))))
  }

  private mutating func say(_ message: SessionServerMessage) {
    guard let attempt = model.currentAttempt else { return }
    give(.frame(attempt, message, bytes: 100, at: Self.wall))
  }

  private mutating func pass(_ time: Duration) {
    let end = now.advanced(by: time)
    while let due = model.deadline, due <= end {
      now = max(now, due)
      follow(nil, model.tick(at: now))
    }
    now = end
  }

  private mutating func give(_ input: SessionModel.Input) {
    now = now.advanced(by: .milliseconds(10))
    follow(input, model.handle(input, at: now))
  }

  private var phoneState: PhoneState<SessionsFeature> {
    var state = SessionsFeature.State()
    state.mayDrop = true
    return PhoneState(now: now, policy: .session, status: model.status, own: state)
  }

  private mutating func follow(_ input: SessionModel.Input?, _ effects: [SessionModel.Effect]) {
    let changed = effects.flatMap(change)
    checkers.stepped(input, isLate: false, changed, phoneState)
    for effect in changed {
      switch effect {
      case .commit(let id, let change):
        if isFull {
          isFull = false
          give(.commitFailed(id, .full(detail: "")))
        } else {
          give(.committed(id, disk.commit(change)))
        }
      case .send(_, .prompt(let prompt)): key = prompt.idempotencyKey
      case .send(_, .ping): say(.pong)
      case .update(.message(_, _, let news)): give(.shown(through: news))
      case .open, .close, .connect, .send, .refreshCredentials, .probe, .update: continue
      }
    }
  }
}
