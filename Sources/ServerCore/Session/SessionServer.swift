public import LinkCore
import LinkStorage

/// The server of sessions as a value: entrance, prompts, answers, conversations and the end.
///
/// A socket goes this way; a client may have several:
///
///     upgrade ──► greeted (hello) ──► connected ──► closing ──► gone
///
/// A prompt goes the way of `SessionTurn`. Each is remembered durably before `ack`, marked durably
/// before its handler starts, and answered durably before `response`. One prompt of a conversation
/// is under way at a time. An answer stays with its client until the client acknowledges it.
public struct SessionServer: ServerRules {
  let policy: SessionServerPolicy

  /// The moment of the input that is being handled.
  var now: Instant
  var clock: WallClock
  /// What it asks for so far; empty between inputs.
  var effects: [Effect] = []
  var chance: Chance

  var mode = ServerMode.serving
  var sockets: [ConnectionID: SessionSocket] = [:]
  var addresses: [String: Int] = [:]
  var clients: [String: SessionClient] = [:]
  var talks: [String: SessionTalk] = [:]
  var turns: [SessionPromptID: SessionTurn] = [:]
  /// The prompts of each idempotency key, at most one of a client.
  var turnsByKey: [String: [SessionPromptID]] = [:]
  /// The prompts that have ended, by the ids of their answers.
  var turnsByMessage: [String: SessionPromptID] = [:]
  /// The prompts that have ended, the first one first; those that were forgotten are skipped.
  var ended: [SessionPromptID] = []
  /// The conversations whose next prompt waits for a free handler, in order.
  var queue: [String] = []

  /// Prompts that have not ended, and their bytes.
  var openCount = 0
  var openBytes = 0
  /// Handlers that run, or are about to.
  var running = 0
  /// Bytes of the prompts that have ended.
  var endedBytes = 0
  /// Bytes of all conversations.
  var historyBytes = 0
  var rate: PostRate

  /// What waits for the store.
  var waits: [StoreToken: [Wait]] = [:]
  /// Prompts whose mark or answer the store failed to keep; stored again until it is durable.
  var owed: Set<SessionPromptID> = []
  /// Changes that may wait, and are stored with the next ones.
  var delayed: [SessionChange] = []
  var lastStore: UInt64 = 0
  var lastTurn: UInt64 = 0
  var alarms = AlarmQueue<SessionAlarm>()
  /// Why the last change was not stored; `nil` once one was.
  var storeFailure: StoreFailure?
  var metrics = SessionMetrics()

  /// What happens once a change is durable.
  enum Wait: Sendable, Equatable {
    case accepted(SessionPromptID)
    case started(SessionPromptID)
    case answered(SessionPromptID)
    /// The mark of a start was taken back.
    case putOff(SessionPromptID)
    /// One that could wait.
    case delayed(SessionChange)
  }

  /// A server that begins at `now`.
  ///
  /// - Parameter seed: The start of the ids of its messages; each run of a process has another.
  public init(
    policy: SessionServerPolicy = SessionServerPolicy(), seed: UInt64, at now: Instant
  ) {
    let policy = policy.workable
    self.policy = policy
    self.now = now
    clock = WallClock(Timestamp(nanoseconds: 0), at: now)
    chance = Chance(seed: seed)
    rate = PostRate(
      interval: policy.promptInterval, burst: policy.promptBurst, bound: policy.maxClients)
  }

  /// Takes one input; answers what to do, in order.
  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    self.now = now
    switch input {
    case .restored(let kept, let wall):
      read(wall)
      restore(kept)
    case .opened(let id, let arrival, let wall):
      read(wall)
      open(id, arrival)
    case .heard(let id): sockets[id]?.life.heard(at: now)
    case .said(let id, let message, let proof, let wall):
      read(wall)
      said(id, message, proof)
    case .unreadable(let id, let detail, let field): unreadable(id, detail, field)
    case .drained(let id): drained(id)
    case .overflowed(let id): overflowed(id)
    case .gone(let id, let wall):
      read(wall)
      forget(id)
    case .produced(let id, let text): produced(id, text)
    case .ended(let id, let result, let wall):
      read(wall)
      handlerEnded(id, result)
    case .stored(let token, let failure, let wall):
      read(wall)
      stored(token, failure)
    case .drain(let window): drain(within: window)
    }
    advanceDrain()
    return takeEffects()
  }

  /// Lets pings, heartbeats, limits of time and the drain come due.
  public mutating func tick(at now: Instant) -> [Effect] {
    self.now = now
    while let alarm = alarms.take(dueAt: now) {
      switch alarm {
      case .socket(let id): wake(id)
      case .beat(let id): beat(id)
      case .turn(let id): turnExpired(id)
      case .store: storeOwed()
      case .acks: store([])
      case .memory: forgetOld()
      }
    }
    advanceDrain()
    return takeEffects()
  }

  /// The next instant at which something may be due; early at most, never late.
  public var deadline: Instant? {
    [alarms.first, mode.deadline].compactMap(\.self).min()
  }

  /// The challenge of a connection that has not answered it, for the judgement of its `connect`.
  public func challenge(of id: ConnectionID) -> String? {
    guard case .greeted(let challenge) = sockets[id]?.stage else { return nil }
    return challenge
  }

  private mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  private mutating func read(_ wall: Timestamp) { clock.set(wall, at: now) }

  /// The wall clock now.
  var wall: Timestamp { clock.time(at: now) }

  /// A fresh id for a message.
  mutating func freshID() -> String { UUID128.random(using: &chance).description }
}
