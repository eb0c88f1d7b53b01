public import LinkCore
public import LinkStorage

/// A two-way session with a server: prompts go out, messages come in, each exactly once.
///
///     open ──hello──▶ greeted ──connected──▶ connected ──lost──▶ (the link decides when) open
///
///     a prompt:  unstored ─stored─▶ queued ─given─▶ sent ─ack─▶ accepted ─response─▶ answered
///                                     ▲              │             │                 interrupted
///                                     └─ lost, busy ─┘             └─▶ failed, unsure
///
///     a message:  heard ─▶ stored, cursor in the same change ─▶ acknowledged, shown once
///
/// A link decides when to connect; this decides what is said. Acks and pings go first, then
/// prompts, one at a time until its ack, then subscriptions. One prompt of a conversation is under
/// way at a time, until its end is stored. After a loss a prompt without an answer is sent again
/// under the same key if the server knows keys. With a plain server `PromptEvidence` decides whose
/// a message is: it is first asked for the history, and what it may have is only waited for. What a
/// user is shown is numbered by the store and shown until it is confirmed.
public struct SessionModel: Journaled {
  public static var journalName: String { "session" }
  /// Its numbers and rules.
  public let settings: SessionSettings
  /// When, whether and how to connect.
  public internal(set) var link: HeldLink
  /// Prompts without an answer, and those that failed.
  public internal(set) var queue = SendQueue<StoredPrompt>(limit: SessionSettings.outboxLimit)
  /// The conversation of prompts that name none.
  public internal(set) var conversation = ""
  /// The client's own id; `nil` until the store was read.
  public internal(set) var client: UUID128?
  var chance: Chance
  var writer = SessionWriter()
  var payload = PayloadSize()
  var metrics = SessionMetrics()
  var conversations: [String: KnownConversation] = [:]
  var lastPrompt: UInt64 = 0
  /// The number of the server's last message up to which all are stored or on their way there.
  var received: UInt64 = 0
  /// The same of those that are stored: what `connect` tells the server.
  var stored: UInt64 = 0
  var ahead: Set<UInt64> = []
  /// Whether the server said that messages are missing: its next number counts.
  var skipsNumbers = false
  /// Stored messages of the server whose ack was not handed to a connection.
  var owed: [String] = []
  /// The present connection, or the try of one.
  var talk: Talk?
  /// The conversation that the user named last: the server may have it from another client.
  var named: String?
  /// What plain servers have shown of prompts, by conversation.
  var evidence: [String: PromptEvidence] = [:]
  /// Prompts whose end is on its way to the store: nothing is done for them meanwhile.
  var ending: Set<UUID128> = []
  /// A prompt that goes to a plain server once the store knows that it does.
  var leaving: UUID128?
  /// Whether a login page of the network is in the way.
  var portal: PortalWatch
  /// When prompts that are not accepted become stale, in order.
  var staleTimes: [StaleTime] = []
  /// The last state of each prompt that was shown.
  var states: [UUID128: SessionPromptState.State] = [:]
  var shown = (status: LinkStatus(phase: .disconnected), quality: LinkQuality.good)
  /// News up to this number were handed to the user.
  var handed: UInt64 = 0
  /// News up to this number were confirmed.
  var confirmed: UInt64 = 0
  var network: String?
  var isInBackground = false
  /// When to stop although something is under way; `nil` while not stopping.
  var stopsAt: Instant?
  var clock = WallClock()

  struct StaleTime: Sendable, Hashable {
    var key: UUID128
    var at: Instant
  }

  /// Makes a session that is not wanted yet.
  ///
  /// - Parameter seed: the start of its chance; the same seed and inputs make the same effects.
  public init(_ settings: SessionSettings, seed: UInt64) {
    self.settings = settings
    chance = Chance(seed: seed)
    link = HeldLink(policy: settings.policy, seed: chance.next())
    portal = PortalWatch(settings.policy.gate)
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
      if let attempt = link.currentAttempt, isDeaf(at: now) { drive(.heard(attempt), &step) }
      follow(link.tick(at: now), &step)
    }
    if let due = portal.deadline, due <= now { leavePortal(&step) }
    expire(&step)
    if let due = stopsAt, due <= now { end(&step) }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    var due = [
      link.deadline, stopsAt, writer.retryAt, staleTimes.first?.at, portal.deadline,
    ]
    if let talk, isConnected { due += [talk.deadline, queue.deadline] }
    return due.compactMap(\.self).min()
  }

  /// Whether prompts can be handed over now.
  public var isConnected: Bool { link.status.phase == .connected }

  /// Whether nothing is under way and nothing will be until the next start.
  public var isStopped: Bool {
    !link.isWanted && stopsAt == nil && (writer.isDone || writer.failures > 0)
  }

  /// Whether all news that were handed to the user were confirmed.
  public var isShown: Bool { confirmed >= handed }

  /// How many prompts have no end yet.
  public var unanswered: Int {
    queue.items.count { if case .queued = $0.state { true } else { false } }
  }

  /// Whether all prompts have ended, and everything is stored.
  public var isSettled: Bool { unanswered == 0 && writer.isDone }

  /// Whether silence of the server says nothing: it is not read, or a prompt is on its way there.
  private func isDeaf(at now: Instant) -> Bool {
    talk?.isPaused == true || talk?.upload.map { $0.deafUntil > now } ?? false
  }

  /// What must follow every step: what may go is handed over, in the order of its weight.
  private mutating func finish(_ step: inout Step) {
    if isConnected {
      sendAcks(&step)
      // An ack of a plain server does not say what it is for: prompts go first.
      if talk?.isIdempotent == true { sendSize(&step) }
      sendPrompts(&step)
      if talk?.isIdempotent == false { sendSize(&step) }
      subscribe(&step)
    }
    if isInBackground, isFlushed { drive(.flushed, &step) }
    if stopsAt != nil, writer.isDone, isShown { end(&step) }
    if let (id, change) = writer.next(at: step.now) { step.effects.append(.commit(id, change)) }
  }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: SessionUpdate) { effects.append(.update(update)) }
  }

  /// Gives the link an input and carries on with what it wants.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// The wall clock now, as far as it is known.
  func wall(at now: Instant) -> Timestamp { clock.time(at: now) }

  mutating func note(_ wall: Timestamp, _ step: Step) { clock.set(wall, at: step.now) }
}
