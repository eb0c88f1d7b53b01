public import LinkCore
public import LinkStorage

/// One shop's messages on a phone: ordered, complete, and kept, whatever happens to the link.
///
/// A link decides when to connect; this decides what that means for the data:
///
///     open ── load ── shown at once ──▶ link wants ── prepare: fetch ──▶ socket opens
///                                                                          │
///              cursor moves with the messages it speaks for                ▼
///     shown ◀── committed ◀── writer ◀── new by id ◀── live frames, pages, polls, answers
///                                                          ▲
///                       hole? (head, offset, reconnect) ───┘ fetch until whole
///
/// A message is shown only after the store has it, so that a killed app shows it again and a
/// repeated one is told apart; the cursor is written with the messages that it covers.
public struct StreamModel: Machine {
  /// The numbers and the shop that it goes by.
  public let settings: StreamSettings
  /// When, whether and how to connect.
  public internal(set) var link: HeldLink
  /// What is shown.
  public internal(set) var timeline: ShopTimeline
  /// What waits to be sent.
  public internal(set) var outbox: Outbox
  /// Holes that the reader sees, oldest first.
  public internal(set) var gaps: [Gap] = []
  var recovery = Recovery()
  var writer = Writer()
  var history = History()
  /// Whose messages are sent here, where it is known: told, or seen in the server's answers.
  var author: String?
  var chance: Chance
  var phase = Phase.closed
  /// What the link shall be while the stream is open: live, unless switched off in the settings.
  var wish = Wish.live
  private var clock = WallClock()
  /// The app leaves updates unread: what comes is left to a later catch-up, so memory is bounded,
  /// and the link lives on.
  var isReaderBehind = false
  /// When malformed frames came lately.
  var malformed: [Instant] = []
  /// How often the store could not be read in a row.
  var failedLoads = 0
  /// Counts the credentials that there were.
  var credentialsCount: UInt64 = 0
  var lastFetch: UInt64 = 0

  enum Phase: Sendable, Hashable {
    case closed
    /// The store is read; what the link should do when it is.
    case loading
    case open
    /// The store cannot be read; when to look again, if that may help.
    case broken(StoreFailure, retryAt: Instant?)
  }

  /// - Parameter seed: the start of its chance: idempotency keys and jitter.
  public init(settings: StreamSettings, seed: UInt64) {
    outbox = Outbox(limit: settings.outboxLimit)
    self.settings = settings
    author = settings.user
    timeline = ShopTimeline(limit: settings.memory)
    link = HeldLink(policy: settings.policy, seed: seed)
    chance = Chance(seed: ~seed)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    if let due = loadDeadline, due <= now { load(&step) }
    if let due = link.deadline, due <= now { follow(link.tick(at: now), &step) }
    if let due = recovery.deadline, due <= now { expireRecovery(&step) }
    if let due = history.deadline, due <= now { expireHistory(&step) }
    if let due = sendDeadline, due <= now { expireOutbox(&step) }
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    let store = phase == .open ? writer.retryAt : nil
    return [
      link.deadline, recovery.deadline, history.deadline, sendDeadline, store, loadDeadline,
    ]
    .compactMap(\.self).min()
  }

  /// Whether the store has everything, or refuses it.
  public var isStored: Bool {
    switch phase {
    case .open, .closed: writer.isDone || writer.failures > 0
    case .loading, .broken: true
    }
  }

  /// Whether everything that the server was known to have is stored and shown, and more comes in.
  public var isWhole: Bool {
    phase == .open && link.status.mode != .none && recovery.isCurrent && recovery.run == nil
      && recovery.retryAt == nil && !recovery.again && recovery.arrears == nil
      && recovery.ahead.isEmpty && writer.isDone
  }

  /// What must follow every step: waiting changes go to the store, waiting entries to the server.
  private mutating func finish(_ step: inout Step) {
    switch phase {
    case .open:
      releaseEcho(&step)
      sendNext(&step)
    case .closed: break  // what was sent while it was read must still be kept
    case .loading, .broken: return
    }
    if let (id, change) = writer.next(at: step.now) { step.effects.append(.commit(id, change)) }
  }

  /// The store is stuck, or nobody reads.
  var takesNoMore: Bool { writer.isFull || isReaderBehind }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: StreamUpdate) { effects.append(.update(update)) }
  }

  /// The wall clock as far as it is known; only for spans of minutes and for stamps people read.
  func wall(at now: Instant) -> Timestamp { clock.time(at: now) }

  mutating func note(wall: Timestamp, at now: Instant) { clock.set(wall, at: now) }

  mutating func newFetch() -> FetchID {
    lastFetch += 1
    return FetchID(lastFetch)
  }

  /// Gives the link an input and carries on with what it wants.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }
}
