import LinkCore
import LinkServerCore
import LinkWire

/// The books of the server that the world keeps: what it says, stores and counts is compared
/// with what it was told and with what is durable.
///
/// The server's own books are not believed, and its numbers are written down here a second time. A
/// run of its process begins with what is durable.
struct SessionLedger: Sendable {
  /// A connection as its client sees it.
  struct Socket: Sendable {
    enum Stage: Sendable {
      case accepted, greeted, connected
    }

    var stage = Stage.accepted
    let challenge: String
    let openedAt: Instant
    var heardAt: Instant
    /// When the last ping frame and the last heartbeat went out; before, when it was opened and
    /// connected.
    var pingAt: Instant
    var beatAt: Instant
    var closedAt: Instant?
    /// The `connect` that was proven.
    var connect: SessionConnect?
    var version = SessionVersion.oldest
    /// Answers that are due at once: to pings, and to sizes.
    var pongs = 0
    var sizes = 0
    /// The places from which windows were asked for, by conversation, and the next place of each.
    var asked: [String: [UInt64]] = [:]
    var next: [String: UInt64] = [:]
    /// The parts that were sent of each answer, by the key of its prompt.
    var parts: [String: [String]] = [:]
    /// Whether the turn was aborted whose end follows, and must be said to be; by conversation.
    var turns: [String: (isAborted: Bool, isFresh: Bool)] = [:]
    var isClosing: Bool { closedAt != nil }
  }

  let policy: SessionServerPolicy
  var now = Instant.zero
  /// What the server was told last of its wall clock.
  private var clock = (wall: Timestamp(nanoseconds: 0), at: Instant.zero)
  var sockets: [ConnectionID: Socket] = [:]
  var challenges: [ConnectionID: String] = [:]
  var isDraining = false
  /// What the metrics must say.
  var counts: [String: UInt64] = [:]
  /// Changes on their way to the store.
  var writes: [StoreToken: [SessionChange]] = [:]
  /// Prompts that the store was asked to keep, and the connections that sent each key last.
  var prompts: Set<SessionPromptID> = []
  var askers: [String: ConnectionID] = [:]
  /// The keys whose acks are due in this step.
  var due: Set<String> = []
  /// Prompts whose program an earlier run started, those for which it runs, and how it ended.
  var broken: Set<SessionPromptID> = []
  var running: [SessionPromptID: String] = [:]
  var ends: [SessionPromptID: SessionResponse.Result] = [:]
  var answers: [SessionPromptID: KeptSessionAnswer] = [:]
  /// Prompts whose answer the store has taken in this run.
  var settled: Set<SessionPromptID> = []
  /// The answers that became known to be durable in this step.
  var fresh: Set<String> = []
  /// Conversations in which something was to be cancelled.
  var kills: Set<String> = []
  /// The connections that are to be told of a cancellation.
  var killers: [ConnectionID: [String]] = [:]
  /// Messages that clients acknowledged, and the number up to which each has all.
  var acknowledged: Set<String> = []
  var received: [String: UInt64] = [:]
  /// The last number of a message to each client.
  var numbers: [String: UInt64] = [:]
  /// The last place that was given in each conversation, and the one up to which the server knows
  /// that all is durable.
  var places: [String: UInt64] = [:]
  var stored: [String: Set<UInt64>] = [:]
  var known: [String: UInt64] = [:]
  /// Whether the step is an answer of the store.
  var isStored = false
  private(set) var found: [(kind: Finding.Kind, detail: String)] = []

  init(_ policy: SessionServerPolicy) { self.policy = policy }

  mutating func wrong(_ kind: Finding.Kind, _ detail: String) { found.append((kind, detail)) }

  mutating func takeFindings() -> [(kind: Finding.Kind, detail: String)] {
    defer { found = [] }
    return found
  }

  /// The wall clock as the server knows it.
  var wall: Timestamp { clock.wall.advanced(by: clock.at.duration(to: now)) }

  mutating func count(_ name: String) { counts[name, default: 0] += 1 }

  /// A run of the process begins with what it finds on its disk.
  mutating func boot(_ kept: SessionKept, at now: Instant) {
    let clock = clock
    self = SessionLedger(policy)
    (self.now, self.clock) = (now, clock)
    for (id, prompt) in kept.prompts {
      prompts.insert(id)
      switch prompt.stage {
      case .accepted: continue
      case .started: broken.insert(id)
      case .ended(let answer):
        answers[id] = answer
        settled.insert(id)
        numbers[prompt.client] = max(numbers[prompt.client] ?? 0, answer.number)
      }
    }
    for (id, client) in kept.clients { numbers[id] = max(numbers[id] ?? 0, client.lastNumber) }
    for (id, conversation) in kept.conversations {
      places[id] = conversation.entries.compactMap(\.place).max()
      known[id] = places[id]
    }
  }

  // MARK: What the server is told

  mutating func told(_ input: SessionServer.Input, at now: Instant) {
    pass(to: now)
    if let wall = input.wall { clock = (wall, now) }
    if case .stored = input { isStored = true }
    switch input {
    case .restored(let kept, _): boot(kept, at: now)
    case .opened(let id, let arrival, _): challenges[id] = arrival.challenge
    case .heard(let id): sockets[id]?.heardAt = now
    case .said(let id, let message, let proof, _): said(id, message, proof)
    case .gone(let id, _):
      sockets[id] = nil
      killers[id] = nil
    case .ended(let id, let result, _):
      ends[id] = result
      running[id] = nil
    case .stored(let token, let failure, _): written(token, failure)
    case .drain: isDraining = true
    case .unreadable, .drained, .overflowed, .produced: return
    }
  }

  private mutating func said(
    _ id: ConnectionID, _ message: SessionClientMessage, _ proof: SessionServer.Proof
  ) {
    guard let socket = sockets[id], !socket.isClosing else { return }
    count("messages_total")
    if message == .ping { sockets[id]?.pongs += 1 }
    guard socket.stage == .connected else {
      if case .connect(let connect) = message, proof != .none { sockets[id]?.connect = connect }
      return
    }
    switch message {
    case .messageAck(let message): acknowledged.insert(message)
    case .prompt(let prompt):
      count("said")
      if let key = prompt.idempotencyKey { askers[key] = id }
    case .subscribe(let one): ask(id, [one])
    case .subscribeBatch(let all): ask(id, all)
    case .setMaxMessageSize: sockets[id]?.sizes += 1
    case .killSession(let conversation):
      kills.insert(conversation)
      killers[id, default: []].append(conversation)
    case .connect, .ping, .unsubscribe, .disconnect, .unknown: return
    }
  }

  private mutating func ask(_ id: ConnectionID, _ all: [SessionSubscription]) {
    for one in all {
      let place: UInt64 =
        switch one.cursor {
        case .sequence(let last): last + 1
        case .offset(let offset, _): offset + 1
        }
      sockets[id]?.asked[one.conversation, default: []].append(place)
    }
  }

  // MARK: What is due

  /// Time has come so far; what had to happen before must have.
  mutating func pass(to now: Instant) {
    guard now > self.now else { return }
    self.now = now
    for id in sockets.keys { checkTimes(id) }
  }

  private mutating func checkTimes(_ id: ConnectionID) {
    guard let socket = sockets[id] else { return }
    if let closedAt = socket.closedAt {
      if closedAt.advanced(by: .seconds(5)) < now {
        wrong(.untimely, "a close frame was unanswered for more than 5 s")
      }
      return
    }
    if socket.pingAt.advanced(by: .seconds(30)) < now {
      wrong(.untimely, "no ping for more than 30 s")
    }
    if socket.heardAt.advanced(by: .seconds(90)) < now {
      wrong(.untimely, "a silent connection was kept for more than 90 s")
    }
    switch socket.stage {
    case .connected:
      if socket.beatAt.advanced(by: .seconds(45)) < now {
        wrong(.untimely, "no heartbeat for more than 45 s")
      }
    case .accepted, .greeted:
      if socket.openedAt.advanced(by: .seconds(30)) < now {
        wrong(.untimely, "a connection without connect was kept for more than 30 s")
      }
    }
  }

  /// The effects of a step are carried out; what had to be among them must have been.
  mutating func settle() {
    for (id, socket) in sockets where !socket.isClosing && socket.pongs > 0 {
      sockets[id]?.pongs = 0
      wrong(.untrue, "a ping was not answered")
    }
    for key in due { wrong(.untrue, "the prompt \(key) was stored and not acknowledged") }
    due = []
    fresh = []
    isStored = false
  }
}

extension SessionServer.Input {
  /// The wall clock that comes with it.
  fileprivate var wall: Timestamp? {
    switch self {
    case .restored(_, let wall), .opened(_, _, let wall), .said(_, _, _, let wall),
      .gone(_, let wall), .ended(_, _, let wall), .stored(_, _, let wall):
      wall
    case .heard, .unreadable, .drained, .overflowed, .produced, .drain: nil
    }
  }
}

extension Finding.Kind {
  /// Something that a server said or stored, and that is not so.
  public static let untrue = Finding.Kind(rawValue: "untrue")
  /// Something that a server did too early, too late or never.
  public static let untimely = Finding.Kind(rawValue: "untimely")
  /// A metric that does not say what happened.
  public static let miscounted = Finding.Kind(rawValue: "miscounted")
}
