public import LinkCore
public import LinkWire

/// A bottle that reconnects by itself, and whose drinks are stored, each once.
///
///     start ──▶ disconnected ──burst──▶ scanning ──found──▶ connecting ──open──▶ discovering
///                │   ▲   │                                       ▲                  │
///                │   │   └── the system's queued connect opens ──┘                  ▼
///                │   └────────── idle, lost, background ◀─────────────────────── connected
///                └── no burst: foreground only
///
/// A link decides when to look for the bottle; this translates between it and the radio, and
/// fetches drinks while connected. The system's queued connect is armed in every state but
/// connected, so that a suspended app is woken; a burst is a fast path beside it and never takes
/// its place. Every callback carries the attempt that it belongs to, and those of others change
/// nothing.
public struct BottleModel: Journaled {
  public static var journalName: String { "bottle-link" }
  /// The numbers and rules.
  public let settings: BottleSettings
  /// When to look for the bottle.
  public internal(set) var link: HeldLink
  /// What the radio can do.
  public internal(set) var adapter = AdapterState.unknown
  /// The bottle; `nil` until one was found.
  public internal(set) var bottle: KnownBottle?
  /// The burst under way.
  var burst: Burst?
  /// The ticket of the system's queued connect.
  var queue: AttemptID?
  /// Whether the radio was told to scan.
  var isScanning = false
  /// The open connection.
  var connection: Connection?
  /// The synchronisation of drinks, idle while none runs.
  public internal(set) var sync = DrinkSync()
  /// What the bottle said last.
  public internal(set) var state: BottleState?
  var requests = Requests()
  /// How often the app asked to keep the connection.
  var holds = 0
  /// Whether the last connection left something to do: then its bottle is not left alone.
  var hasMore = false
  var isInBackground = false
  /// The number of the last change that went to the store.
  var lastCommit: UInt64 = 0
  /// The device's wall clock when the bottle was heard last, and when that was.
  var lastWall = Timestamp(nanoseconds: 0)
  var lastHeard = Instant.zero
  var lastWrite: UInt64 = 0
  var shown = BottleStatus()

  /// A burst: it looks for the bottle, then connects.
  struct Burst: Sendable, Hashable {
    let attempt: AttemptID
    /// The bottle that it found.
    var found: PeripheralID?
  }

  /// An open connection.
  struct Connection: Sendable, Hashable {
    let attempt: AttemptID
    /// The longest value of a notification; 0 until services are discovered.
    var longestValue = 0
    /// The most bytes of one chunk; less after a chunk that was cut off.
    var chunkBytes = 0
    /// Writes that the radio has not answered.
    var writes: [WriteID: Purpose] = [:]
    /// How often in a row the bottle did not take the time, and when it is set again.
    var untimed = 0
    var timeAt: Instant?
    /// How many synchronisations failed in a row, and when the next one begins.
    var failures = 0
    var syncAt: Instant?
    /// How often in a row nothing came although the bottle said that it has something.
    var silences = 0
    /// Whether a synchronisation was completed: what comes now is live.
    var isCaughtUp = false
    /// The count at which the bottle sent nothing, or nothing new: it is not asked again for that.
    var vainCount: UInt16?
    /// Whether it told its state since the last acknowledgement was given to the radio.
    var saidMore = false

    var isReady: Bool { longestValue > 0 }
  }

  /// What a write is for.
  enum Purpose: Sendable, Hashable {
    case time
    case ping(UInt64)
    /// Wakes the bottle at the begin of a hold.
    case wake
    case start
    case acknowledgement(isLast: Bool)
    case request(UInt64)
  }

  /// Makes a link that is not wanted yet.
  ///
  /// - Parameter seed: the start of its chance; the same seed and inputs make the same effects.
  public init(_ settings: BottleSettings, seed: UInt64) {
    self.settings = settings
    link = HeldLink(policy: settings.policy, seed: seed)
    // Nothing is tried before the radio has said that it is on.
    _ = link.handle(.reachability(.unreachable), at: .zero)
  }

  public mutating func handle(_ input: Input, at now: Instant) -> [Effect] {
    var step = Step(now: now)
    take(input, &step)
    finish(&step)
    return step.effects
  }

  public mutating func tick(at now: Instant) -> [Effect] {
    var step = Step(now: now)
    follow(link.tick(at: now), &step)
    if let due = connection?.timeAt, due <= now { setTime(&step) }
    syncIsDue(&step)
    requestsAreDue(&step)
    finish(&step)
    return step.effects
  }

  public var deadline: Instant? {
    [link.deadline, connection?.timeAt, syncDeadline, requests.deadline].compactMap(\.self).min()
  }

  /// Whether nothing is under way and nothing will be until the next start.
  public var isStopped: Bool { !link.isWanted }

  /// Whether the bottle is connected and discovered.
  public var isConnected: Bool { connection?.isReady == true }

  /// What the user sees.
  public var status: BottleStatus { shown }

  /// One call: its time, and what it asks for so far.
  struct Step {
    let now: Instant
    var effects: [Effect] = []

    mutating func show(_ update: BottleUpdate) { effects.append(.update(update)) }
  }

  /// Gives the link an input and carries on with what it wants.
  mutating func drive(_ input: HeldLink.Input, _ step: inout Step) {
    follow(link.handle(input, at: step.now), &step)
  }

  /// What must follow every step.
  private mutating func finish(_ step: inout Step) {
    settleRequests(&step)
    let wanted = wantsScan
    if wanted != isScanning {
      isScanning = wanted
      step.effects.append(wanted ? .scan : .stopScan)
    }
    let current = observed
    if current != shown {
      shown = current
      step.show(.status(current))
    }
  }

  /// A burst looks for the bottle; without a known one a queued scan looks for any.
  private var wantsScan: Bool {
    if let burst, burst.found == nil { return true }
    return queue != nil && bottle == nil
  }
}
