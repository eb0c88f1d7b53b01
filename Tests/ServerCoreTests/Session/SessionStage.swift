import LinkCore
import LinkServerCore
import LinkStorage
import LinkWire
import Testing

/// A server of sessions with the clock of a test and short words for what happens.
struct Sessions {
  typealias Effect = SessionServer.Effect

  static let conversation = "11111111-1111-4111-8111-111111111111"
  static let other = "22222222-2222-4222-8222-222222222222"
  static let challenge = "0123456789abcdef0123456789abcdef"

  var server: SessionServer
  private(set) var now = Instant.zero
  /// What the store holds.
  private(set) var kept = StoredSessions()
  /// Changes that the store has not answered for.
  private(set) var writes: [(StoreToken, [SessionChange])] = []
  /// Prompts whose handlers were started, in order.
  private(set) var runs: [SessionPromptID] = []

  init(_ change: (inout SessionServerPolicy) -> Void = { _ in }) {
    server = SessionServer(policy: Self.policy(change), seed: 1, at: .zero)
    _ = server.handle(.restored(StoredSessions(), wall: wall), at: now)
  }

  /// One with a connected client, ann.
  static func connected(_ change: (inout SessionServerPolicy) -> Void = { _ in }) -> Sessions {
    var sessions = Sessions(change)
    sessions.connect(1)
    return sessions
  }

  /// One whose client's first prompt runs.
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

  /// The next run of the process over what the store holds.
  func restarted(
    _ change: (inout SessionServerPolicy) -> Void = { _ in }
  ) -> (Sessions, [Effect]) {
    var next = self
    next.server = SessionServer(policy: Self.policy(change), seed: 2, at: now)
    (next.writes, next.runs) = ([], [])
    let effects = next.take(.restored(kept, wall: wall))
    return (next, effects)
  }

  var wall: Timestamp { Stage.dawn.advanced(by: Instant.zero.duration(to: now)) }

  mutating func pass(_ time: Duration) { now = now.advanced(by: time) }

  /// Lets time pass, and does what is due on the way.
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

  /// Notes what the effects ask for, and checks the invariants.
  private mutating func judged(_ effects: [Effect]) -> [Effect] {
    #expect(server.brokenInvariants(.thorough) == [])
    for effect in effects {
      if case .store(let token, let changes) = effect { writes.append((token, changes)) }
      if case .run(let id, _) = effect { runs.append(id) }
    }
    return effects
  }

  /// Answers for the oldest write of the store; returns what follows.
  mutating func commit(failure: StoreFailure? = nil) -> [Effect] {
    guard !writes.isEmpty else { return [] }
    let (token, changes) = writes.removeFirst()
    if failure == nil { for change in changes { kept.apply(change) } }
    return take(.stored(token, failure: failure, wall: wall))
  }

  /// Answers for all writes of the store, and for those that follow.
  mutating func commitAll() -> [Effect] {
    var effects: [Effect] = []
    while !writes.isEmpty { effects += commit() }
    return effects
  }

  /// What of the effects concerns no store.
  static func visible(_ effects: [Effect]) -> [Effect] {
    effects.filter { if case .store = $0 { false } else { true } }
  }

  mutating func open(_ connection: UInt64, from: String = "home") -> [Effect] {
    take(
      .opened(
        ConnectionID(connection), .init(address: from, challenge: Self.challenge), wall: wall))
  }

  mutating func say(
    _ connection: UInt64, _ message: SessionClientMessage, proof: SessionServer.Proof = .none
  ) -> [Effect] {
    take(.said(ConnectionID(connection), message, proof: proof, wall: wall))
  }

  /// A connected client.
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

  /// A prompt that is sent on a connection, up to the start of its handler.
  @discardableResult
  mutating func ask(
    _ connection: UInt64 = 1, _ text: String = "hello",
    in conversation: String = conversation, key: String? = "k1"
  ) -> [Effect] {
    let effects = say(connection, .prompt(Self.prompt(text, in: conversation, key: key)))
    return effects + commitAll()
  }

  /// The handler of a prompt ends well.
  mutating func answer(_ id: UInt64, _ text: String = "hi") -> [Effect] {
    take(.ended(SessionPromptID(id), .success(text: text), wall: wall)) + commitAll()
  }

  mutating func gone(_ connection: UInt64) -> [Effect] {
    take(.gone(ConnectionID(connection), wall: wall))
  }
}

extension [SessionServer.Effect] {
  /// The messages to a connection.
  func messages(to connection: UInt64) -> [SessionServerMessage] {
    compactMap { effect in
      if case .send(ConnectionID(connection), let message) = effect { message } else { nil }
    }
  }

  /// The responses to a connection.
  func responses(to connection: UInt64) -> [SessionResponse] {
    messages(to: connection).compactMap { if case .response(let it) = $0 { it } else { nil } }
  }

  /// The codes of the errors to a connection.
  func codes(to connection: UInt64) -> [String?] {
    messages(to: connection).compactMap { message -> String?? in
      if case .error(let error) = message { .some(error.code) } else { nil }
    }
  }

  var runs: [SessionPromptID] {
    compactMap { if case .run(let id, _) = $0 { id } else { nil } }
  }
}
