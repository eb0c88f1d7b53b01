public import LinkCore

/// A WebSocket of any protocol, kept alive by a policy.
///
///     start ──▶ connecting ──open──▶ greeted ──confirmed──▶ connected ──lost──▶ reconnecting
///                   ▲                                                              │
///                   └──────────────────────────────────────────────────────────────┘
///
/// A link decides when to connect; this decides what a connection begins with and what is sent. The
/// greeting is the first message of every connection. If a confirmation is asked for, "connected"
/// means confirmed, within the policy's `establish.timeout`; otherwise it means open. All messages
/// of the present connection are delivered, in order, up to its close frame. What a message means
/// is data here (`SocketMarks`): the app's functions run outside.
public struct SocketModel: Journaled {
  public static var journalName: String { "held-socket" }
  /// The numbers and rules of this socket.
  public let settings: SocketSettings
  /// When, whether and how to connect.
  public internal(set) var link: HeldLink
  /// What is to be sent.
  public internal(set) var queue = ProvenQueue()
  /// Messages handed to a socket so far; one that is sent again counts again.
  public internal(set) var sent: UInt64 = 0
  /// The last position that the app noted.
  var position: Secret?
  /// The link's status and quality as they were shown last.
  var shown = (status: LinkStatus(phase: .disconnected), quality: LinkQuality.good)
  /// The link's ping that the app's own ping message stands for.
  var asked: UInt64?
  /// The attempt whose socket is not read, since the app leaves messages unread.
  var paused: AttemptID?
  /// When to stop although accepted messages wait; `nil` while not stopping.
  var stopsAt: Instant?

  /// Makes a socket that is not wanted yet.
  ///
  /// - Parameter seed: the start of its chance; the same seed and inputs make the same effects.
  public init(_ settings: SocketSettings, seed: UInt64) {
    self.settings = settings
    position = settings.position
    link = HeldLink(policy: settings.policy, seed: seed)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    if let due = link.deadline, due <= now {
      // While nothing is read, silence says nothing about the server.
      if let paused { drive(.heard(paused), &step) }
      follow(link.tick(at: now), &step)
    }
    if let due = proofDeadline, due <= now {
      step.show(.notice(.unproven(count: queue.expire(), isRepeated: false)))
    }
    if let due = stopsAt, due <= now { end(&step) }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    [link.deadline, proofDeadline, stopsAt].compactMap(\.self).min()
  }

  /// Whether messages can be handed over now.
  public var isConnected: Bool { link.status.phase == .connected }

  /// Whether nothing is under way and nothing will be until the next start.
  public var isStopped: Bool { !link.isWanted && stopsAt == nil }

  /// Whether messages that may not have arrived are sent again.
  var repeats: Bool { settings.outbox.repeats }

  /// A server that answers no ping does not hold up messages that are sent once.
  private var proofDeadline: Instant? { repeats ? nil : queue.deadline }

  /// What must follow every step: messages that may go are handed over, in order.
  private mutating func finish(_ step: inout Step) {
    if let attempt = link.currentAttempt, isConnected {
      let ready = queue.take()
      step.effects += ready.map { .send(attempt, $0) }
      let timeout = settings.policy.liveness.pongTimeout
      if let ping = queue.ask(until: step.now.advanced(by: timeout)) {
        step.effects.append(.ping(attempt, ping))
      }
      if !ready.isEmpty {
        sent += UInt64(ready.count)
        step.show(.sent(sent))
      }
    }
    // What a durable outbox holds waits for the next run, what is in memory for a connection.
    let mayArrive = isConnected || settings.outbox == .waiting || settings.outbox == .memory
    if stopsAt != nil, !mayArrive || queue.entries.isEmpty { end(&step) }
  }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: Update) { effects.append(.update(update)) }
  }

  /// Gives the link an input and carries on with what it wants.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }
}
