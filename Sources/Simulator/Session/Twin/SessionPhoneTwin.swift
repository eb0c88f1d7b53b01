import LinkCore
import LinkWire
import Session

/// What a phone must say, store and show of its sessions, told a second time (seed 003, contract 4
/// and the protocol of sessions).
///
/// When to connect is the decision of a link, which is the same here and judged by others: the twin
/// tells its own link what happened. All else is told anew: each effect of each step is predicted.
struct SessionPhoneTwin: Sendable {
  typealias Effect = SessionModel.Effect

  var link: HeldLink
  var portal: PortalWatch
  var chance: Chance
  var now = Instant.zero
  var out: [Effect] = []

  var client: UUID128?
  var outbox = SessionOutbox()
  var paper = SessionPaper()
  var size = SessionSize()
  var counts = SessionCounts()
  var places: [String: KnownConversation] = [:]
  /// The conversation of prompts that name none, and the one that the user named.
  var home = ""
  var named: String?
  var lastNumber: UInt64 = 0
  /// Numbers of the server: all up to `got` came, all up to `kept` are stored.
  var got: UInt64 = 0
  var kept: UInt64 = 0
  var early: Set<UInt64> = []
  var jumps = false
  var owed: [String] = []
  var line: Line?
  var ownWords: [Words] = []
  var programWords: [Words] = []
  var status = LinkStatus(phase: .disconnected)
  var quality = LinkQuality.good
  var handed: UInt64 = 0
  var confirmed: UInt64 = 0
  var way: String?
  var isBehind = false
  var stopsAt: Instant?
  var wallAt: (wall: Timestamp, at: Instant) = (Timestamp(nanoseconds: 0), .zero)

  /// Words that a plain server's history repeats under another id.
  struct Words: Sendable {
    var key: UUID128
    var conversation: String
    var text: String
    /// The name of the server's message that said them again.
    var name: String?
  }

  /// A connection, or the try of one.
  struct Line: Sendable {
    let attempt: AttemptID
    let startedAt: Timestamp
    let begin: Instant
    var isGreeted = false
    var connectedAt: Instant?
    var version = SessionVersion(0, 4, 0)
    var features: Set<SessionFeature> = []
    var isDraining = false
    var isPaused = false
    var unreadable = 0
    var knowsSkew = false
    var pings: [(id: UInt64, at: Instant)] = []
    /// What acks without a key belong to; `nil` for a size.
    var awaited: [UUID128?] = []
    /// The prompt whose ack is awaited, until when it holds up others, and pings.
    var upload: (key: UUID128, until: Instant, deaf: Instant)?
    var wasDeaf = false
    var large: (key: UUID128, until: Instant)?
    var sent: Set<UUID128> = []
    var pieces: [String: [String]] = [:]
    var told: Int?
    var asking: [String: Instant] = [:]
    var asked: Set<String> = []
    var again: Set<String> = []
    var whole: Set<String> = []
    var holes: Set<String> = []
    var written: [String: String] = [:]
    var repeated: [UUID128: Bool] = [:]
    var roundTrip: Duration?

    var isConnected: Bool { connectedAt != nil }
    var knowsKeys: Bool { features.contains(.idempotency) }
  }

  init(_ policy: LinkPolicy, seed: UInt64) {
    chance = Chance(seed: seed)
    link = HeldLink(policy: policy, seed: chance.next())
    portal = PortalWatch(policy.gate)
  }

  // Steps.

  /// Returns all that must be asked for; time passes without an input.
  mutating func step(_ input: SessionModel.Input?, at now: Instant) -> [Effect] {
    (self.now, out) = (now, [])
    if let input { take(input) } else { pass() }
    settle()
    return out
  }

  var deadline: Instant? {
    var due = [link.deadline, portal.deadline, stopsAt, paper.retryAt, outbox.stale.first?.at]
    if let line, isConnected {
      due += [outbox.deadline, line.upload?.until, line.asking.values.min()]
    }
    return due.compactMap(\.self).min()
  }

  var isConnected: Bool { link.status.phase == .connected && line?.isConnected == true }
  var wall: Timestamp { wallAt.wall.advanced(by: wallAt.at.duration(to: now)) }

  mutating func show(_ update: SessionUpdate) { out.append(.update(update)) }

  private mutating func pass() {
    if let due = link.deadline, due <= now {
      let isDeaf = line.map { $0.isPaused || $0.upload.map { $0.deaf > now } ?? false } ?? false
      if let attempt = link.currentAttempt, isDeaf { drive(.heard(attempt)) }
      follow(link.tick(at: now))
    }
    if let due = portal.deadline, due <= now { leavePortal() }
    passPrompts()
    if let due = stopsAt, due <= now { end() }
  }

  /// What follows each step: acknowledgements first, prompts before subscriptions.
  private mutating func settle() {
    if isConnected {
      sendAcknowledgements()
      sendSize()
      sendPrompts()
      subscribe()
    }
    if isBehind, isIdle { drive(.flushed) }
    if stopsAt != nil, paper.isDone, confirmed >= handed, owed.isEmpty || !isConnected { end() }
    if let (number, change) = paper.next(at: now) {
      out.append(.commit(SessionCommitID(number), change))
    }
  }

  /// Whether nothing is left for which a phone stays awake.
  private var isIdle: Bool {
    paper.isDone && owed.isEmpty && line?.upload == nil
      && outbox.all.allSatisfy { $0.isFailed || $0.isAccepted }
  }

  mutating func end() {
    stopsAt = nil
    drive(.want(.none))
    let open = outbox.all.count { !$0.isFailed }
    if open > 0 { show(.notice(.unanswered(count: open))) }
  }

  // Inputs.

  private mutating func take(_ input: SessionModel.Input) {
    switch input {
    case .restored(let snapshot, let conversation, let time):
      wallAt = (time, now)
      restore(snapshot, conversation)
    case .start: begin()
    case .stop: stopsAt = stopsAt ?? now.advanced(by: .seconds(2))
    case .prompt(let text, let conversation, let time):
      wallAt = (time, now)
      prompt(text, conversation ?? home)
    case .retry(let key): retry(key)
    case .discard(let key): discard(key)
    case .cancel(let conversation):
      if isConnected, let line {
        out.append(.send(line.attempt, .killSession(conversation: conversation)))
      }
    case .follow(let conversation):
      named = conversation
      move(to: conversation)
    case .shown(let through):
      guard through > confirmed else { return }
      confirmed = through
      paper.waiting.change.shown = through
    case .link(let event, let time):
      wallAt = (time, now)
      hear(event)
    case .credentials(let event): drive(.credentials(event))
    case .probed(let isPortal): probed(isPortal)
    case .committed(let id, let news): committed(id.number, news)
    case .commitFailed(let id, let failure):
      if paper.refuse(id.number, at: now) { show(.notice(.store(failure))) }
    case .opened, .frame, .malformed, .reading, .unsent: takeSocket(input)
    }
  }

  private mutating func takeSocket(_ input: SessionModel.Input) {
    let attempt = line?.attempt
    switch input {
    case .opened(let of):
      if of == attempt { drive(.opened(of)) }
    case .frame(let of, let message, let bytes, let time):
      wallAt = (time, now)
      guard of == attempt else { return }
      size.came(bytes)
      line?.wasDeaf = false
      drive(.heard(of))
      hear(message, of)
    case .malformed(let of, let detail):
      if of == attempt { misheard(of, detail) }
    case .reading(let of, let isPaused):
      guard of == attempt else { return }
      line?.isPaused = isPaused
      line?.wasDeaf = false
      drive(.heard(of))
    case .unsent(let of):
      if of == attempt { drive(.reject(of, .local(detail: "the socket takes no more"))) }
    case .restored, .start, .stop, .prompt, .retry, .discard, .cancel, .follow, .shown, .link,
      .credentials, .probed, .committed, .commitFailed:
      return  // taken before
    }
  }

  private mutating func restore(_ snapshot: ClientSessionSnapshot, _ wanted: String?) {
    guard client == nil else { return }
    client = snapshot.client
    (lastNumber, got, kept) = (snapshot.lastPrompt, snapshot.received, snapshot.received)
    for place in snapshot.conversations { places[place.id] = place }
    outbox.restore(snapshot.prompts, at: now)
    let open = outbox.all.filter { !$0.isFailed }
    if !open.isEmpty { show(.pending(open)) }
    move(
      to: wanted ?? snapshot.conversations.last?.id ?? UUID128.random(using: &chance).description)
    for news in snapshot.unshown { show(news) }
  }

  private mutating func move(to conversation: String) {
    home = conversation
    keep(places[conversation] ?? KnownConversation(id: conversation))
  }

  mutating func keep(_ place: KnownConversation) {
    places[place.id] = place
    paper.put(place)
  }

  private mutating func committed(_ number: UInt64, _ news: [NumberedSessionNews]) {
    let hadFailed = paper.failures > 0
    guard let batch = paper.done(number) else { return }
    if hadFailed { show(.notice(.storeRecovered)) }
    kept = batch.change.received ?? kept
    for key in batch.prompts {
      guard let prompt = outbox.store(key) else { continue }
      tell(prompt, .queued)
      outbox.watch(prompt, at: now)
    }
    owed = Array((owed + batch.acks).suffix(1_000))
    for one in news { show(one) }
  }

  private mutating func show(_ one: NumberedSessionNews) {
    handed = max(handed, one.number)
    switch one.news {
    case .message(let entry, let via): show(.message(entry, via: via, news: one.number))
    case .ended(let end):
      var state = SessionPromptState.State.answered
      switch end.outcome {
      case .answered: forget(end.key)
      case .interrupted:
        forget(end.key)
        state = .interrupted
      case .failed: state = .failed
      }
      outbox.told[end.key] = nil
      show(
        .prompt(
          SessionPromptState(
            key: end.key, conversation: end.conversation, text: end.text, state: state,
            reason: end.reason), news: one.number))
    case .answer: return  // a store gives back its parts
    }
  }
}
