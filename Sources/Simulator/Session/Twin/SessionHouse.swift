import LinkCore
import LinkServerCore
import LinkWire

/// What a server of sessions must do, told a second time (seed 003, contract 4 and the protocol of
/// sessions).
///
/// It shares no rule with the server: its numbers are written out, and what the server counts as it
/// goes is looked up in its tables here.
struct SessionHouse: Sendable {
  typealias Effect = SessionServer.Effect

  /// A prompt from its arrival until it is forgotten.
  struct Job: Sendable {
    let id: SessionPromptID
    var client: String
    let prompt: SessionPrompt
    var asker: ConnectionID?
    let at: Timestamp
    var stage: Stage
    var output = ""
    var entries: [SessionEntry] = []
    /// The client that it was of when the store was asked for it, if that is another one now.
    var giver: String?
    /// Whether its answer made room for others.
    var isLost = false
    var killers: [ConnectionID] = []
  }

  enum Stage: Sendable, Equatable {
    case arrives(starts: Bool)
    case waits, starts, runs
    case stops(error: String)
    case ends(KeptSessionAnswer)
    case over(KeptSessionAnswer)
  }

  struct Client: Sendable {
    var kept: KeptSessionClient
    var sockets: [ConnectionID] = []
    /// Prompts whose answers it did not acknowledge.
    var shelf: [SessionPromptID] = []
    var told: UInt64 = 0
  }

  struct Talk: Sendable {
    var signature = ""
    var entries: [SessionEntry] = []
    var isKept = false
    var late: [SessionEntry] = []
    var next: UInt64 = 1
    var line: [SessionPromptID] = []
    var usedAt = Timestamp(nanoseconds: 0)
    var isQueued = false

    /// The places of the first entry and behind the last one.
    var first: UInt64 { entries.first?.place ?? end }
    var end: UInt64 { entries.last?.place.map { $0 + 1 } ?? 1 }
    var bytes: Int { entries.reduce(0) { $0 + $1.text.utf8.count + $1.id.utf8.count } }
  }

  struct Socket: Sendable {
    let address: String
    var heardAt: Instant
    var pingAt: Instant
    /// Until when its close frame may stay unanswered.
    var closesAt: Instant?
    let challenge: String
    var peer: Peer?
    var lane: [Parcel] = []
    var inFlight = 0
    var awaitsDrain = false
    var follows: [String: Follow] = [:]
    var parts: [SessionPromptID: Parts] = [:]
  }

  /// The next place of a conversation for a socket, and whether it comes by itself.
  struct Follow: Sendable {
    var next: UInt64 = 0
    var isLive = false
  }

  /// What a socket was sent of a text in parts, and whether the next part waits.
  struct Parts: Sendable {
    var count = 0
    var bytes = 0
    var isQueued = false
  }

  struct Peer: Sendable {
    var client: String
    var speaksOffsets: Bool
    var takesParts: Bool
    var longest: Int
  }

  enum Parcel: Sendable, Equatable {
    case replay(SessionPromptID)
    case response(SessionPromptID)
    case turnEnd(String, isAborted: Bool)
    case part(SessionPromptID)
    case window(SessionSubscription)
    case batch([SessionSubscription])
    case news(String)
  }

  enum Mode: Sendable, Equatable {
    case serves, ended
    case warns(within: Duration, closeAt: Instant, until: Instant)
    case leaves(until: Instant)
  }

  enum Wait: Sendable {
    case accepted(SessionPromptID)
    case started(SessionPromptID)
    case answered(SessionPromptID)
    case putOff(SessionPromptID)
    case delayed(SessionChange)
  }

  /// Something that is due at a time; what is due at one time comes in this order.
  struct Bell: Sendable, Hashable, Comparable {
    var rank: Int
    var id: UInt64 = 0

    static func socket(_ id: ConnectionID) -> Bell { Bell(rank: 0, id: id.number) }
    static func beat(_ id: ConnectionID) -> Bell { Bell(rank: 1, id: id.number) }
    static func job(_ id: SessionPromptID) -> Bell { Bell(rank: 2, id: id.number) }
    static let store = Bell(rank: 3)
    static let later = Bell(rank: 4)
    static let memory = Bell(rank: 5)

    static func < (left: Bell, right: Bell) -> Bool {
      left.rank != right.rank ? left.rank < right.rank : left.id < right.id
    }
  }

  let numbers: Numbers
  var now: Instant
  var wallAt: (wall: Timestamp, at: Instant)
  var chance: Chance
  var out: [Effect] = []
  var mode = Mode.serves
  var sockets: [ConnectionID: Socket] = [:]
  var clients: [String: Client] = [:]
  var talks: [String: Talk] = [:]
  var jobs: [SessionPromptID: Job] = [:]
  var byKey: [String: [SessionPromptID]] = [:]
  /// Prompts that are over, in the order of their ends.
  var over: [SessionPromptID] = []
  /// Conversations that wait for a handler.
  var queue: [String] = []
  var fullAt: [String: Instant] = [:]
  var waits: [UInt64: [Wait]] = [:]
  var owed: Set<SessionPromptID> = []
  var delayed: [SessionChange] = []
  var lastStore: UInt64 = 0
  var lastJob: UInt64 = 0
  var bells: [Bell: Instant] = [:]
  var failure: StoreFailure?
  var counts: [String: UInt64] = [:]

  init(_ numbers: Numbers, seed: UInt64, at now: Instant) {
    (self.numbers, self.now) = (numbers, now)
    wallAt = (Timestamp(nanoseconds: 0), now)
    chance = Chance(seed: seed)
  }

  // Steps.

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: SessionServer.Input?, at now: Instant) -> [Effect] {
    (self.now, out) = (now, [])
    if let input { take(input) } else { ring() }
    goOnLeaving()
    return out
  }

  var deadline: Instant? {
    var due = bells.values.min()
    switch mode {
    case .serves, .ended: break
    case .warns(_, let at, let until): due = min(due ?? at, at, until)
    case .leaves(let until): due = min(due ?? until, until)
    }
    return due
  }

  private mutating func ring() {
    while let first = bells.filter({ $0.value <= now })
      .min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
    {
      bells[first.key] = nil
      let (connection, job) = (ConnectionID(first.key.id), SessionPromptID(first.key.id))
      switch first.key.rank {
      case 0: look(at: connection)
      case 1: beat(connection)
      case 2: timeIsUp(job)
      case 3: storeOwed()
      case 4: store([], [])
      case _: forgetOld()
      }
    }
  }

  mutating func ring(_ bell: Bell, after time: Duration) { bells[bell] = now.advanced(by: time) }

  var wall: Timestamp { wallAt.wall.advanced(by: wallAt.at.duration(to: now)) }
  mutating func count(_ name: String, _ more: UInt64 = 1) { counts[name, default: 0] += more }
  mutating func fresh() -> String { UUID128.random(using: &chance).description }

  private mutating func take(_ input: SessionServer.Input) {
    switch input {
    case .restored(let kept, let wall):
      wallAt = (wall, now)
      restore(kept)
    case .opened(let id, let arrival, let wall):
      wallAt = (wall, now)
      open(id, arrival)
    case .heard(let id): sockets[id]?.heardAt = now
    case .said(let id, let message, let proof, let wall):
      wallAt = (wall, now)
      hear(id, message, proof)
    case .unreadable(let id, let detail, let field): puzzle(id, detail, field)
    case .drained(let id):
      sockets[id]?.awaitsDrain = false
      sockets[id]?.inFlight = 0
      pump(id)
    case .overflowed(let id): overflow(id)
    case .gone(let id, let wall):
      wallAt = (wall, now)
      gone(id)
    case .produced(let id, let text): produced(id, text)
    case .ended(let id, let result, let wall):
      wallAt = (wall, now)
      handlerEnded(id, result)
    case .stored(let token, let failure, let wall):
      wallAt = (wall, now)
      stored(token.number, failure)
    case .drain(let window): drain(within: window)
    }
  }

  // The end.

  private mutating func drain(within window: Duration) {
    guard mode == .serves else { return }
    let grace: Duration = running == 0 && waits.isEmpty && owed.isEmpty ? .zero : .seconds(1)
    mode = .warns(
      within: window, closeAt: now.advanced(by: grace), until: now.advanced(by: .seconds(10)))
    for id in sockets.keys.sorted() where isOpen(id) && sockets[id]?.peer != nil {
      let words = "The server is about to stop."
      say(id, .draining(message: words, retryAfter: .seconds(5), window: window))
    }
  }

  private mutating func goOnLeaving() {
    if case .warns(let window, let at, let until) = mode, now >= min(at, until) {
      mode = .leaves(until: until)
      for id in jobs.keys.sorted() where jobs[id]?.hasHandler == true {
        out.append(.cancel(id))
        finish(id, .failure(error: "interrupted"))
      }
      storeOwed()
      let words = "draining within_ms=\(window.nanoseconds / 1_000_000)"
      for id in sockets.keys.sorted() { close(id, 1001, words) }
    }
    guard case .leaves(let until) = mode else { return }
    if now >= until {
      for id in sockets.keys.sorted() {
        gone(id)
        out.append(.drop(id))
      }
      (waits, owed) = ([:], [])
    }
    guard sockets.isEmpty, waits.isEmpty, owed.isEmpty else { return }
    mode = .ended
    out.append(.finished)
  }
}

extension SessionHouse.Job {
  var answer: KeptSessionAnswer? { if case .over(let answer) = stage { answer } else { nil } }

  /// The answer that is not durable.
  var ending: KeptSessionAnswer? { if case .ends(let answer) = stage { answer } else { nil } }

  /// Whether its handler runs.
  var hasHandler: Bool {
    switch stage {
    case .runs, .stops: true
    case .arrives, .waits, .starts, .ends, .over: false
    }
  }

  /// Whether it takes a place among the handlers.
  var takesPlace: Bool {
    switch stage {
    case .arrives(let starts): starts
    case .starts, .runs, .stops: true
    case .waits, .ends, .over: false
    }
  }

  var bytes: Int { prompt.text.utf8.count + (prompt.systemPrompt?.utf8.count ?? 0) }

  var kept: KeptSessionPrompt {
    let stage: KeptSessionPrompt.Stage =
      switch stage {
      case .arrives(starts: false), .waits: .accepted
      case .arrives(starts: true), .starts, .runs, .stops, .ends: .started
      case .over(let answer): .ended(answer)
      }
    return KeptSessionPrompt(id: id, client: client, prompt: prompt, at: at, stage: stage)
  }
}
