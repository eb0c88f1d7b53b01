import HoldfastCore
import HoldfastSessionData
import HoldfastTestKit
import Testing

@testable import HoldfastSession

/// A harness with a session model, its clock, its store and a log of its effects.
struct SessionHarness {
  var model: SessionModel
  var now = Instant.zero
  var store = StoredClientSession()
  /// Whether changes wait for `commit()`.
  var holdsStore = false
  var changes: [(id: SessionCommitID, change: ClientSessionChange)] = []
  /// Whether pings are answered at once.
  var answersPings = true
  /// Whether the invariants are checked after each step.
  var isChecked = true
  /// The model's effects, oldest first.
  var log: [SessionModel.Effect] = []

  static let client = UUID128(high: 1, low: 2)
  static let conversation = "c"

  init(_ policy: LinkPolicy = .session, seed: UInt64 = 7) {
    model = SessionModel(SessionSettings(policy: policy), seed: seed)
  }

  /// Returns a harness whose store has been read and whose model is connecting.
  static func opening(_ policy: LinkPolicy = .session) -> SessionHarness {
    var harness = SessionHarness(policy)
    harness.restore()
    harness.give(.start)
    return harness
  }

  /// Returns a connected harness with an empty log.
  static func connected(
    _ features: Set<SessionFeature> = [.idempotency], version: SessionVersion = .newest,
    policy: LinkPolicy = .session
  ) -> SessionHarness {
    var harness = opening(policy)
    harness.connect(features, version: version)
    harness.log = []
    return harness
  }

  /// Returns a harness with an open socket on which nothing has been sent.
  static func opened() -> SessionHarness {
    var harness = opening()
    harness.give(.opened(harness.attempt))
    return harness
  }

  /// Returns a connected harness that has sent the prompt "a".
  static func prompted(_ features: Set<SessionFeature> = [.idempotency]) -> SessionHarness {
    var harness = connected(features)
    harness.prompt("a")
    return harness
  }

  /// Returns a harness whose prompt "a" was accepted by a plain server.
  static func acceptedByPlainServer() -> SessionHarness {
    var harness = prompted([])
    harness.ack(nil)
    return harness
  }

  /// Returns the harness of `acceptedByPlainServer()` after it has lost its connection and
  /// reconnected.
  static func lostByPlainServer() -> SessionHarness {
    var harness = acceptedByPlainServer()
    harness.lose()
    harness.connect([])
    return harness
  }

  /// Returns a connected harness with a conversation in which the server has answered one prompt.
  static func talking(
    _ features: Set<SessionFeature> = [.idempotency], version: SessionVersion = .newest
  ) -> SessionHarness {
    var harness = connected(features, version: version)
    harness.prompt("first")
    let key = harness.key("first")
    harness.ack(key)
    harness.respond("m0", to: key)
    return harness
  }

  var attempt: AttemptID { model.link.currentAttempt ?? AttemptID(0) }
  var wall: Timestamp { Timestamp(nanoseconds: 1_000_000_000_000).advanced(by: now.sinceZero) }

  mutating func restore() {
    give(.restored(store.open(as: Self.client), conversation: Self.conversation, at: wall))
  }

  /// Passes an input to the model and carries out its effects, including commits to the store.
  @discardableResult
  mutating func give(_ input: SessionModel.Input) -> [SessionModel.Effect] {
    let before = log.count
    follow(model.handle(input, at: now))
    return Array(log[before...])
  }

  private mutating func follow(_ effects: [SessionModel.Effect]) {
    if isChecked { #expect(model.brokenInvariants(.thorough) == []) }
    log += effects
    for effect in effects {
      if case .commit(let id, let change) = effect {
        changes.append((id, change))
        if !holdsStore { commit() }
      } else if case .refreshCredentials = effect {
        give(.credentials(.available(expiresIn: nil)))
      } else if case .send(_, .ping) = effect, answersPings {
        say(.pong)
      }
    }
  }

  /// Stores the oldest pending change and reports it to the model.
  mutating func commit() {
    let (id, change) = changes.removeFirst()
    give(.committed(id, store.commit(change)))
  }

  /// Lets time pass and calls the model at each of its deadlines.
  @discardableResult
  mutating func pass(_ duration: Duration) -> [SessionModel.Effect] {
    let end = now.advanced(by: duration)
    let before = log.count
    while let due = model.deadline, due <= end {
      now = max(now, due)
      follow(model.tick(at: now))
    }
    now = end
    return Array(log[before...])
  }

  /// Simulates the start of another process with the same store.
  mutating func relaunch() {
    model = SessionModel(SessionSettings(policy: .session), seed: 8)
    restore()
    give(.start)
  }

  // MARK: The server

  @discardableResult
  mutating func say(_ message: SessionServerMessage, bytes: Int = 100) -> [SessionModel.Effect] {
    give(.frame(attempt, message, bytes: bytes, at: wall))
  }

  mutating func connect(
    _ features: Set<SessionFeature> = [.idempotency], version: SessionVersion = .newest,
    isRecovered: Bool? = nil
  ) {
    give(.opened(attempt))
    say(.hello(SessionHello(message: "hi", features: features)))
    say(
      .connected(
        SessionConnected(
          message: "", session: Self.client.description, version: version, features: features,
          isRecovered: isRecovered)))
    // The ack of a plain server does not name the message that it answers.
    if features.isEmpty, model.connection?.awaited == [.size] { ack(nil) }
  }

  /// Loses the connection and waits for the next attempt.
  mutating func lose(_ failure: LinkFailure = .reset) {
    give(.link(.lost(attempt, failure), at: wall))
    pass(.seconds(10))
  }

  mutating func ack(_ key: UUID128?) {
    say(.ack(message: "", idempotencyKey: key?.description))
  }

  mutating func respond(_ id: String?, to key: UUID128?, _ text: String = "answer") {
    say(
      .response(
        SessionResponse(
          id: id, conversation: Self.conversation, idempotencyKey: key?.description,
          result: .success(text: text))))
  }

  mutating func refuse(_ key: UUID128, _ code: String) {
    say(.error(SessionError(message: code, code: code, idempotencyKey: key.description)))
  }

  // MARK: The user

  mutating func prompt(_ text: String, in conversation: String? = nil, key: UUID128 = Self.newKey) {
    give(.prompt(text, conversation: conversation, key: key, at: wall))
  }

  mutating func retry(_ key: UUID128) { give(.retry(key, as: Self.newKey)) }

  /// A key that no run has used.
  static var newKey: UUID128 {
    var generator = SystemRandomNumberGenerator()
    return .random(using: &generator)
  }

  /// Returns the key of the most recent prompt with this text.
  func key(_ text: String) -> UUID128 {
    model.queue.items.last { $0.text == text }?.id ?? UUID128(high: 0, low: 0)
  }

  // MARK: The model's effects

  var sent: [SessionClientMessage] {
    log.compactMap { if case .send(_, let message) = $0 { message } else { nil } }
  }

  /// The prompts that the model has sent.
  var prompts: [SessionPrompt] {
    sent.compactMap { if case .prompt(let prompt) = $0 { prompt } else { nil } }
  }

  var subscriptions: [SessionSubscription] {
    sent.compactMap { if case .subscribe(let one) = $0 { one } else { nil } }
  }

  var acks: [String] {
    sent.compactMap { if case .messageAck(let id) = $0 { id } else { nil } }
  }

  var connects: [(connect: SessionConnect, challenge: String?)] {
    log.compactMap {
      if case .connect(_, let connect, let challenge) = $0 { (connect, challenge) } else { nil }
    }
  }

  var opens: Int {
    log.count { if case .open = $0 { true } else { false } }
  }

  var updates: [SessionUpdate] {
    log.compactMap { if case .update(let update) = $0 { update } else { nil } }
  }

  /// The states of prompts shown to the user, as "text state".
  var states: [String] {
    updates.compactMap {
      if case .prompt(let one, _) = $0 { "\(one.text) \(one.state.rawValue)" } else { nil }
    }
  }

  /// The reason for the most recent state shown.
  var reason: String? {
    updates.last { if case .prompt = $0 { true } else { false } }.flatMap {
      if case .prompt(let one, _) = $0 { one.reason } else { nil }
    }
  }

  /// The messages shown to the user, as "id via".
  var messages: [String] {
    updates.compactMap {
      if case .message(let entry, let via, _) = $0 { "\(entry.id) \(via.rawValue)" } else { nil }
    }
  }

  var gaps: [SessionGap] {
    updates.compactMap { if case .gap(_, let gap) = $0 { gap } else { nil } }
  }

  var notices: [SessionNotice] {
    updates.compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
  }
}

extension Instant {
  fileprivate var sinceZero: Duration { Instant.zero.duration(to: self) }
}

extension SessionEntry {
  /// Returns an entry of the conversation `SessionHarness.conversation`.
  static func one(
    _ id: String, _ role: SessionRole = .assistant, _ text: String = "text", at position: UInt64?
  ) -> SessionEntry {
    SessionEntry(
      id: id, role: role, text: text, conversation: SessionHarness.conversation, position: position)
  }
}

extension SessionServerMessage {
  /// Returns a history window whose extent is given as offsets.
  static func window(
    _ entries: [SessionEntry], next: UInt64, isReplaced: Bool = false, isComplete: Bool = true
  ) -> SessionServerMessage {
    .history(
      SessionHistory(
        conversation: SessionHarness.conversation, entries: entries,
        extent: .offset(next: next, signature: "s", isReplaced: isReplaced),
        isComplete: isComplete))
  }

  /// Returns a history window whose extent is given as sequence numbers.
  static func numbered(
    _ entries: [SessionEntry], next: UInt64, isComplete: Bool = true,
    gap: SessionHistory.Gap? = nil
  ) -> SessionServerMessage {
    .history(
      SessionHistory(
        conversation: SessionHarness.conversation, entries: entries,
        extent: .sequence(
          first: entries.first?.position, last: entries.last?.position, next: next),
        isComplete: isComplete, gap: gap))
  }
}
