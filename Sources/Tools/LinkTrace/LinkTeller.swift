public import HoldfastCore
public import HoldfastLinkChecks

/// A writer of the facts of one phone's link, from the observations of a replayed or simulated run.
public struct LinkTeller<Feature: TracedFeature> {
  /// The facts so far, in order of time.
  public private(set) var facts: [TraceFact] = []

  private let phone: Int
  private let start: Instant
  private let startedAt: Timestamp
  private(set) var at = Duration.zero
  private var line: Int?
  /// The fact that caused those of the current step.
  private var cause: Int?
  var link = LinkMemory()
  /// The times at which requests, posts and writes began, by their name.
  private var begun: [String: Duration] = [:]
  /// The entries of the user that wait to be sent, and the times at which they were made.
  private var waiting: [String: Duration] = [:]
  private var world = WorldMemory()

  /// Creates a teller.
  ///
  /// - Parameters:
  ///   - phone: The index of the phone. Observations of other phones are ignored.
  ///   - start: The instant of the beginning of the trace.
  ///   - startedAt: The wall-clock time of that instant.
  public init(phone: Int = 0, start: Instant, startedAt: Timestamp) {
    (self.phone, self.start, self.startedAt) = (phone, start, startedAt)
  }

  /// Adds the facts of an observation.
  ///
  /// - Parameters:
  ///   - state: The state of the phone right after the observation.
  ///   - line: The line of the journal.
  public mutating func see(
    _ seen: Observation<Feature>, _ state: PhoneState<Feature>, line: Int? = nil
  ) {
    if let host = seen.host, host.kind != .phone || host.index != phone { return }
    guard facts.count < Self.limit else { return endKnown(seen, state) }
    at = start.duration(to: state.now)
    (self.line, cause) = (line, nil)
    switch seen {
    case .received(_, let input, let isLate, let effects):
      receive(input, isLate: isLate, state)
      perform(effects, state)
      settle(Feature.waiting(state.own))
      show(state)
    case .ticked(_, let effects):
      cause = link.waitFact
      perform(effects, state)
      settle(Feature.waiting(state.own))
      show(state)
    case .launched(_, let run): launch(run)
    case .killed:
      add(.app("killed"), "The app was killed.")
      let why = TraceReason.killed.rawValue
      for attempt in link.open { end(attempt, why, "the app was killed", isLost: true) }
      add(.state(TraceEvent.State(phase: .idle, why: why)), "Not connected: the app does not run.")
    case .suspended: add(.app("suspended"), "The system suspended the app: its timers stand still.")
    case .resumed: add(.app("resumed"), "The system let the app run again.")
    case .upgraded, .serverLost, .wentDead, .server, .began, .ended, .calm, .fact: seeWorld(seen)
    }
    if facts.count >= Self.limit {
      add(.note(.device), "The trace ends here, because it has \(Self.limit) facts.")
    }
  }

  /// The number of facts after which a trace ends, so that a page of it can be opened.
  private static var limit: Int { 300_000 }

  /// Sets the ends of facts that were in progress when the trace had its last fact.
  private mutating func endKnown(_ seen: Observation<Feature>, _ state: PhoneState<Feature>) {
    let until = start.duration(to: state.now)
    switch seen {
    case .server(let host, isRunning: true):
      if let index = world.downs.removeValue(forKey: host) { facts[index].until = until }
    case .ended(let event):
      if let index = world.ended(event) { facts[index].until = until }
    case .server, .upgraded, .serverLost, .wentDead, .began, .calm, .fact, .launched, .killed,
      .suspended, .resumed, .received, .ticked:
      return
    }
  }

  /// Adds a finding of a checker, unless it is one of another phone.
  public mutating func add(_ finding: Finding) {
    if let other = finding.phone, other != phone { return }
    at = max(start.duration(to: finding.at), .zero)
    (line, cause) = (nil, nil)
    add(
      .finding(name: finding.kind.rawValue),
      Sentence.closed("A promise was broken (\(finding.kind.rawValue)): \(finding.detail)"))
  }

  /// Returns the facts in order of time, with the times of the server's clock moved so that no
  /// entry is shown before it was made.
  public func finished() -> [TraceFact] {
    var ahead = Duration.zero
    for index in world.clocked {
      if case .message(let made, _, _) = facts[index].event {
        ahead = max(ahead, made - facts[index].at)
      }
    }
    var moved = facts
    for index in world.clocked {
      if case .message(let made, let via, let position) = moved[index].event {
        moved[index].event = .message(made: made - ahead, via: via, position: position)
      }
    }
    return moved.inOrderOfTime()
  }

  // MARK: Facts

  /// Sets the time of the facts of a note. Returns false if the trace has begun later, or is full.
  mutating func begin(noteAt now: Instant, line: Int?) -> Bool {
    let time = start.duration(to: now)
    guard facts.count < Self.limit, !facts.isEmpty, time >= .zero else { return false }
    // A note is made outside the machine, and may be written after the next step.
    at = max(time, at)
    (self.line, cause) = (line, nil)
    return true
  }

  @discardableResult
  mutating func add(
    _ event: TraceEvent, _ say: String, attempt: AttemptID? = nil, cause: Int? = nil
  ) -> Int {
    facts.append(
      TraceFact(
        event, at: at, say, attempt: attempt, cause: cause ?? self.cause, line: line))
    return facts.count - 1
  }

  private mutating func launch(_ run: Int) {
    link = LinkMemory()
    (begun, waiting) = ([:], [:])
    add(.app("launched"), run == 1 ? "The app starts." : "The app starts again (run \(run)).")
  }

  // MARK: Inputs

  private mutating func receive(
    _ input: Feature.Input, isLate: Bool, _ state: PhoneState<Feature>
  ) {
    let say = Feature.say(input) + (isLate ? " It belongs to an earlier connection." : "")
    let first = facts.count
    switch Feature.Model.role(of: input) {
    case .wanted: add(.want, say)
    case .left: add(.leave, say)
    case .lifecycle(let lifecycle): add(.app(lifecycle.rawValue), say)
    case .changed: change(Feature.Model.event(of: input), say)
    case .trigger: trigger(Feature.Model.event(of: input), say)
    case .credentials: add(.token, say)
    case .opened(let attempt): if !isLate { opened(attempt) }
    case .lost(let attempt, let failure): lost(attempt, failure)
    case .data(let attempt), .received(let attempt), .draining(let attempt, _):
      hear(input, attempt, say)
    case .answered, .refused, .other: break
    }
    let news = Feature.news(of: input)
    for each in news { tell(each, say, state) }
    if facts.count == first, isLate { add(.note(.traffic), say) }
    if facts.count > first { cause = first }
  }

  private mutating func change(_ event: LinkEvent?, _ say: String) {
    guard case .device(.reachability(let way))? = event else { add(.note(.user), say); return }
    switch way {
    case .reachable(let path, _):
      add(.path(path.name), "The device uses the network “\(path.name)”.")
    case .unreachable: add(.path("none"), "The device has no network.")
    case .captivePortal: add(.path("login page"), "A login page answers in place of the server.")
    }
  }

  private mutating func trigger(_ event: LinkEvent?, _ say: String) {
    if case .device(.woke)? = event { add(.woke, say) } else { add(.want, say) }
  }

  private mutating func opened(_ attempt: AttemptID) {
    // A radio can report a connection twice.
    guard !link.isUp(attempt) else { return }
    if link.openFact[attempt] == nil {
      let say = "The system makes connection \(attempt.number), which was queued."
      link.openFact[attempt] = add(.open, say, attempt: attempt)
    }
    link.up(attempt, at: at)
    add(
      .up, "Connection \(attempt.number) is open.", attempt: attempt, cause: link.openFact[attempt])
  }

  private mutating func lost(_ attempt: AttemptID, _ failure: LinkFailure) {
    guard link.isOpen(attempt) else { return }
    let own = Feature.words(for: failure)
    var words = own?.say ?? failure.description
    if let quiet = link.quiet(attempt, at: at), quiet >= .seconds(2) {
      words += "; nothing had arrived for \(Sentence.length(quiet))"
    }
    end(attempt, own?.why.rawValue ?? TraceReason.word(for: failure), words, isLost: true)
  }

  private mutating func hear(_ input: Feature.Input, _ attempt: AttemptID, _ say: String) {
    let quiet = link.hear(attempt, at: at)
    var say = say
    if let quiet, quiet >= .seconds(5) {
      say += " Nothing had arrived for \(Sentence.length(quiet))."
    }
    switch Feature.Model.event(of: input) {
    case .ping?: add(.pingIn, say, attempt: attempt)
    case .pong?: add(.pong, say, attempt: attempt)
    case .device?, .oversized?, .lost?, nil:
      var size: Int?
      for case .receives(let bytes) in Feature.news(of: input) { size = bytes }
      add(.incoming(bytes: size), say, attempt: attempt)
    }
  }

  // MARK: Effects

  private mutating func perform(_ effects: [Feature.Effect], _ state: PhoneState<Feature>) {
    for effect in effects {
      let say = Feature.say(effect)
      switch Feature.Model.role(of: effect) {
      case .open(let attempt): open(attempt)
      case .close(let attempt, let reason): close(attempt, reason, state)
      case .ping(let attempt):
        let limit = state.policy.liveness.pongTimeout
        add(
          .pingOut, "The app pings; an answer is due within \(Sentence.length(limit)).",
          attempt: attempt)
      case .refreshCredentials: add(.token, "The app asks for a new token.")
      case .notice, .signIn: add(.notice, say.isEmpty ? "The app reports a notice." : say)
      case .request, .store, .other: break
      }
      for each in Feature.news(of: effect) { tell(each, say, state) }
    }
  }

  private mutating func open(_ attempt: AttemptID) {
    let say = "Connection \(attempt.number) is attempted."
    link.openFact[attempt] = add(.open, say, attempt: attempt)
    link.open(attempt, at: at)
  }

  private mutating func close(
    _ attempt: AttemptID, _ reason: HeldLink.CloseReason, _ state: PhoneState<Feature>
  ) {
    guard link.isOpen(attempt) else { return }
    var words = reason.description
    if reason == .silent, let quiet = link.quiet(attempt, at: at) {
      let limit = state.policy.liveness.silence.map { ", and the limit is \(Sentence.length($0))" }
      words =
        "nothing arrived for \(Sentence.length(quiet))"
        + (limit ?? ", not even an answer to a ping")
    }
    let isLost = reason == .silent || reason == .timeout || reason == .networkChanged
    end(attempt, TraceReason.word(for: reason).rawValue, words, isLost: isLost)
  }

  private mutating func end(_ attempt: AttemptID, _ why: String, _ words: String, isLost: Bool) {
    let wasUp = link.end(attempt)
    add(
      .end(why: why, isLost: isLost),
      (wasUp ? "Connection \(attempt.number) is over: " : "Attempt \(attempt.number) is over: ")
        + words + ".",
      attempt: attempt)
  }

  // MARK: The status

  private mutating func show(_ state: PhoneState<Feature>) {
    guard let status = link.change(to: state.status) else { return }
    var shown = TraceEvent.State(phase: Sentence.phase(status))
    (shown.attempt, shown.most) = (status.attempt, status.maxAttempts)
    shown.retryAt = status.retryAt.map { max(start.duration(to: $0), at) }
    shown.why = status.reason.map { word(for: $0) }
    shown.quality = status.quality
    let wait = shown.retryAt.map { $0 - at }
    if let parts = state.wait, parts.until == status.retryAt {
      shown.base = parts.base
      shown.spread = parts.window == nil ? nil : parts.spread
      shown.rule = WaitWords.name(of: parts.rule)
    }
    let rule = WaitWords.explain(status, wait, state)
    let index = add(.state(shown), Sentence.of(status, wait: wait, rule))
    link.waitFact = wait == nil ? nil : index
  }

  private func word(for reason: LinkStatus.Reason) -> String {
    switch reason {
    case .failure(let failure), .exhausted(let failure):
      Feature.words(for: failure)?.why.rawValue ?? TraceReason.word(for: failure)
    case .blocked, .signIn, .ended, .debouncing, .limited: TraceReason.word(for: reason)
    }
  }

  // MARK: Data

  private mutating func tell(_ news: TraceNews, _ say: String, _ state: PhoneState<Feature>) {
    switch news {
    case .attempts(let attempt): open(attempt)
    case .asks(let id):
      begun[id] = at
      if state.status.mode == .polling { add(.poll, say) }
    case .posts(let id), .stores(let id): begun[id] = at
    case .answered(let id, let isDone, let count):
      add(.fetched(from: begun.removeValue(forKey: id) ?? at, isDone: isDone, count: count), say)
    case .posted(let id, let isDone):
      add(.post(from: begun.removeValue(forKey: id) ?? at, isDone: isDone), say)
    case .stored(let id, let isDone):
      guard let from = begun.removeValue(forKey: id) else { return }
      add(
        .commit(from: from, isDone: isDone),
        isDone ? "Stored in \(Sentence.length(at - from))." : say)
    case .waits(let id):
      guard waiting[id] == nil else { return }
      waiting[id] = at
      add(.outbox(waiting: waiting.count), say + " \(waiting.count) waiting.")
    case .settled(let id, let isSent): settle(id, isSent: isSent)
    case .unproven(let count): for id in oldest.prefix(count) { settle(id, isSent: false) }
    case .settledThrough(let number):
      for id in oldest.prefix(while: { (UInt64($0) ?? .max) <= number }) {
        settle(id, isSent: true)
      }
    case .shown(let text, let made, let via, let position, let id):
      show(text, made: made, via: via, position: position, id: id)
    case .head(let position):
      add(.head(position: position), "The server's newest position is \(position).")
    case .gap: add(.gap, "Entries are missing here and will be fetched.")
    case .gapClosed: add(.gapClosed, "The missing entries have arrived.")
    case .wrote: add(.wrote, say)
    case .sends(let bytes): add(.outgoing(bytes: bytes), say.isEmpty ? "A message is sent." : say)
    case .receives: return
    case .accepted(let id): accept(id, say)
    case .reached: reach(say)
    case .draining: add(.draining, say)
    }
  }

  /// The entries that wait to be sent, the oldest first, if they are numbered.
  private var oldest: [String] {
    waiting.keys.sorted { (UInt64($0) ?? .max, $0) < (UInt64($1) ?? .max, $1) }
  }

  /// Settles the oldest entries so that `count` entries wait; none if `count` is `nil`.
  private mutating func settle(_ count: Int?) {
    guard let count, waiting.count > count else { return }
    for id in oldest.prefix(waiting.count - count) { settle(id, isSent: true) }
  }

  private mutating func settle(_ id: String, isSent: Bool) {
    guard let made = waiting.removeValue(forKey: id) else { return }
    if isSent {
      add(
        .sent(made: made, waiting: waiting.count),
        "The server has an entry of the user, \(Sentence.length(at - made)) after it was made.")
    } else {
      add(.outbox(waiting: waiting.count), "An entry is no longer to be sent.")
    }
  }

  private mutating func show(
    _ text: String, made: Timestamp?, via: String, position: UInt64?, id: String?
  ) {
    // The app shows stored entries again when it starts again.
    if let id, !world.shown.insert(id).inserted, via == "history" { return }
    let accepted = made == nil ? nil : id.flatMap { world.accepted[$0] }
    var time = accepted ?? made.map { startedAt.duration(to: $0) } ?? at
    // The time of an entry that was made before a jump of the server's clock is not known.
    if accepted == nil, let jump = world.clockJump { time = min(time - jump, at) }
    let index = add(.message(made: time, via: via, position: position), Sentence.shown(text, via))
    if accepted == nil, made != nil, world.clockJump == nil { world.clocked.insert(index) }
  }

  // MARK: The world

  private mutating func seeWorld(_ seen: Observation<Feature>) {
    switch seen {
    case .upgraded(_, let attempt, let status) where status != 101:
      add(
        .note(.server), "The server refuses connection \(attempt.number) with status \(status).")
    case .serverLost(_, let attempt):
      add(.note(.server), "The server no longer has connection \(attempt.number).")
    case .wentDead(_, let attempt):
      add(.note(.network), "Nothing passes on connection \(attempt.number) any more.")
    case .server(let host, let isRunning): server(host, isRunning: isRunning)
    case .began(let event): if event.concerns(phone: phone) { begin(event) }
    case .ended(let event):
      if let index = world.ended(event) { facts[index].until = at }
    case .calm: add(.note(.network), "From now on, nothing goes wrong any more.")
    case .fact(let fact): tell(fact)
    case .upgraded, .launched, .killed, .suspended, .resumed, .received, .ticked: return
    }
  }

  private mutating func begin(_ event: ObservedEvent) {
    let isOfUser = Feature.isOfUser(event)
    let say = Sentence.of(event, isOfUser: isOfUser)
    if let jump = event.serverJump { world.clockJump = (world.clockJump ?? .zero) + jump }
    if event.isOfPeople {
      // The app's inputs contain what a person does with this phone's app.
      let isKnown = isOfUser && event.length == .zero
      if !isKnown { add(.note(.user), say) }
    } else if Feature.ordinaryEvents.contains(event.name) {
      add(.note(event.hostKind == .phone ? .device : .server), say)
    } else {
      let index = add(.trouble(name: Sentence.name(of: event)), say)
      facts[index].until = at
      world.began(event, index)
    }
  }

  private mutating func server(_ host: HostID, isRunning: Bool) {
    guard host.kind == .backend || host.kind == .peripheral else { return }
    let name = Feature.serverName
    if isRunning, let index = world.downs.removeValue(forKey: host) {
      facts[index].until = at
      add(.note(.server), "The \(name) runs again.")
    } else if !isRunning {
      world.downs[host] = add(.down, "The \(name) no longer runs.")
    }
  }

  private mutating func tell(_ fact: Feature.Fact) {
    if let other = Feature.phone(of: fact), other != phone { return }
    let parts = Feature.describe(fact)
    let say = parts.map(Sentence.of).joined(separator: " ")
    let news = Feature.news(of: fact)
    for case .accepted(let id) in news { accept(id, say) }
    if news.contains(.reached) { reach(say) }
    guard news.isEmpty else { return }
    for part in parts {
      switch part.who {
      case .server: add(.note(.server), Sentence.of(part))
      case .network: add(.note(.network), Sentence.of(part))
      case .phone: add(.note(.device), Sentence.of(part))
      case .user: add(.note(.user), Sentence.capitalized(part.what) + ".")
      case .disk, .app, .screen, .plan, .checker: continue
      }
    }
  }

  private mutating func accept(_ id: String?, _ say: String) {
    if let id { world.accepted[id] = at }
    add(.accepted, say.isEmpty ? "The server accepted an entry." : say)
  }

  private mutating func reach(_ say: String) {
    add(.note(.server), say.isEmpty ? "The server has an entry of the user." : say)
  }
}

/// The state of the world around a phone, as its trace has reported it so far.
struct WorldMemory {
  /// The times at which the server accepted entries.
  var accepted: [String: Duration] = [:]
  /// The entries that the app has shown.
  var shown: Set<String> = []
  /// The facts whose entry was made at a time of the server's clock.
  var clocked: Set<Int> = []
  /// The time by which the server's clock has jumped; `nil` if it has not.
  var clockJump: Duration?
  /// The facts of servers that are not running.
  var downs: [HostID: Int] = [:]
  /// The facts of planned events that are in progress, in the order in which they began.
  private var troubles: [ObservedEvent: [Int]] = [:]

  mutating func began(_ event: ObservedEvent, _ fact: Int) {
    troubles[event, default: []].append(fact)
  }

  /// Returns the fact of an event that ended; `nil` if the event has none.
  mutating func ended(_ event: ObservedEvent) -> Int? {
    guard let first = troubles[event]?.first else { return nil }
    troubles[event]?.removeFirst()
    return first
  }
}
