import HoldfastCore
import HoldfastIdentity
import HoldfastServerFixtures
import HoldfastServerParts
import HoldfastSessionData
import HoldfastSessionServer
import Testing

/// A test harness that drives a session server at a settable time.
struct Sessions {
  typealias Effect = SessionServer.Effect

  static let conversation = "11111111-1111-4111-8111-111111111111"
  static let other = "22222222-2222-4222-8222-222222222222"
  static let challenge = "0123456789abcdef0123456789abcdef"

  var server: SessionServer
  private(set) var now = Instant.zero
  /// The stored state.
  private(set) var stored = StoredSessions()
  /// The store writes that have not completed.
  private(set) var writes: [(StoreToken, [SessionChange])] = []
  /// The prompts whose handlers were started, in order.
  private(set) var runs: [SessionPromptID] = []

  init(_ change: (inout SessionServerPolicy) -> Void = { _ in }) {
    server = SessionServer(policy: Self.policy(change), seed: 1, at: .zero)
    _ = server.handle(.restored(StoredSessions(), wall: wall), at: now)
  }

  /// Returns a harness with a connected client, "ann".
  static func connected(_ change: (inout SessionServerPolicy) -> Void = { _ in }) -> Sessions {
    var sessions = Sessions(change)
    sessions.connect(1)
    return sessions
  }

  /// Returns a harness with a connected client whose first prompt is running.
  static func asked(_ change: (inout SessionServerPolicy) -> Void = { _ in }) -> Sessions {
    var sessions = connected(change)
    sessions.ask()
    return sessions
  }

  private static func policy(
    _ change: (inout SessionServerPolicy) -> Void
  ) -> SessionServerPolicy {
    var policy = SessionServerPolicy()
    change(&policy)
    return policy
  }

  /// Returns a harness whose server is restarted with the stored state, and the effects of the
  /// restart.
  func restarted(
    _ change: (inout SessionServerPolicy) -> Void = { _ in }
  ) -> (Sessions, [Effect]) {
    var next = self
    next.server = SessionServer(policy: Self.policy(change), seed: 2, at: now)
    (next.writes, next.runs) = ([], [])
    let effects = next.take(.restored(stored, wall: wall))
    return (next, effects)
  }

  var wall: Timestamp { Stage.dawn.advanced(by: Instant.zero.duration(to: now)) }

  mutating func pass(_ time: Duration) { now = now.advanced(by: time) }

  /// Advances the time, calls the server at each deadline and returns the effects.
  mutating func wait(_ time: Duration) -> [Effect] {
    let end = now.advanced(by: time)
    var effects: [Effect] = []
    while let due = server.deadline, due <= end {
      now = max(due, now)
      effects += judged(server.tick(at: now))
    }
    now = end
    return effects
  }

  mutating func take(_ input: SessionServer.Input) -> [Effect] {
    judged(server.handle(input, at: now))
  }

  /// Records store writes and started handlers, and checks the invariants.
  private mutating func judged(_ effects: [Effect]) -> [Effect] {
    #expect(server.brokenInvariants(.thorough) == [])
    for effect in effects {
      if case .store(let token, let changes) = effect { writes.append((token, changes)) }
      if case .run(let id, _) = effect { runs.append(id) }
    }
    return effects
  }

  /// Completes the oldest store write and returns the resulting effects.
  mutating func commit(failure: StoreFailure? = nil) -> [Effect] {
    guard !writes.isEmpty else { return [] }
    let (token, changes) = writes.removeFirst()
    if failure == nil { for change in changes { stored.apply(change) } }
    return take(.stored(token, failure: failure, wall: wall))
  }

  /// Completes all store writes, including those that result from other writes, and returns the
  /// resulting effects.
  mutating func commitAll() -> [Effect] {
    var effects: [Effect] = []
    while !writes.isEmpty { effects += commit() }
    return effects
  }

  /// Returns the effects without store writes.
  static func visible(_ effects: [Effect]) -> [Effect] {
    effects.filter { if case .store = $0 { false } else { true } }
  }

  mutating func open(
    _ connection: UInt64, from: String = "home", credential: Credential? = nil
  ) -> [Effect] {
    let arrival = SessionServer.Arrival(
      address: from, challenge: Self.challenge, credential: credential)
    return take(.opened(ConnectionID(connection), arrival, wall: wall))
  }

  /// Connects a client of a user with a token.
  @discardableResult
  mutating func enter(
    _ connection: UInt64, of user: String, as client: String = "phone",
    ttl: Duration = .seconds(3_600), version: String = "0.4.0"
  ) -> [Effect] {
    let claims = Claims(
      user: user, name: "", shops: [], expiresAt: wall.advanced(by: ttl))
    let opened = open(connection, credential: .valid(claims))
    return opened + say(connection, .connect(SessionConnect(session: client, version: version)))
  }

  mutating func say(
    _ connection: UInt64, _ message: SessionClientMessage, proof: SessionServer.Proof = .none
  ) -> [Effect] {
    take(.said(ConnectionID(connection), message, proof: proof, wall: wall))
  }

  /// Connects a client.
  @discardableResult
  mutating func connect(
    _ connection: UInt64, as client: String = "ann", version: String? = "0.5.0",
    features: Set<SessionFeature> = [], received: UInt64? = nil
  ) -> [Effect] {
    _ = open(connection)
    return say(
      connection,
      .connect(
        SessionConnect(session: client, version: version, features: features, received: received)),
      proof: .key)
  }

  static func prompt(
    _ text: String = "hello", in conversation: String = conversation, key: String? = "k1",
    number: UInt64? = nil
  ) -> SessionPrompt {
    SessionPrompt(
      text: text, conversation: conversation, isNew: true, idempotencyKey: key, number: number)
  }

  /// Sends a prompt on a connection and completes all store writes, so that its handler can start.
  @discardableResult
  mutating func ask(
    _ connection: UInt64 = 1, _ text: String = "hello",
    in conversation: String = conversation, key: String? = "k1"
  ) -> [Effect] {
    let effects = say(connection, .prompt(Self.prompt(text, in: conversation, key: key)))
    return effects + commitAll()
  }

  /// Ends the handler of a prompt successfully and completes all store writes.
  mutating func answer(_ id: UInt64, _ text: String = "hi") -> [Effect] {
    take(.ended(SessionPromptID(id), .success(text: text), wall: wall)) + commitAll()
  }

  mutating func gone(_ connection: UInt64) -> [Effect] {
    take(.gone(ConnectionID(connection), wall: wall))
  }
}

extension [SessionServer.Effect] {
  /// Returns the messages that are sent to a connection.
  func messages(to connection: UInt64) -> [SessionServerMessage] {
    compactMap { effect in
      if case .send(ConnectionID(connection), let message) = effect { message } else { nil }
    }
  }

  /// Returns the responses that are sent to a connection.
  func responses(to connection: UInt64) -> [SessionResponse] {
    messages(to: connection).compactMap { if case .response(let it) = $0 { it } else { nil } }
  }

  /// Returns the codes of the errors that are sent to a connection.
  func codes(to connection: UInt64) -> [String?] {
    messages(to: connection).compactMap { message -> String?? in
      if case .error(let error) = message { .some(error.code) } else { nil }
    }
  }

  var runs: [SessionPromptID] {
    compactMap { if case .run(let id, _) = $0 { id } else { nil } }
  }
}
