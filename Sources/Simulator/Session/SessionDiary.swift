import LinkCore
import LinkWire
import Session

/// What a phone's session must show, send and store, from what it was told: kept a second time, so
/// that the model's own books are not believed.
struct SessionDiary: Sendable {
  /// One connection, or a try of one.
  struct Talk: Sendable {
    var challenge: String?
    var isConnected = false
    var pings = 0
    var hasPong = false
    var knowsSkew = false
    /// The prompt of each conversation that is under way.
    var underWay: [String: UUID128] = [:]
    /// When a prompt was handed over last, or accepted.
    var handed: [UUID128: Instant] = [:]
  }

  /// A prompt that has no end.
  struct Prompt: Sendable {
    var conversation: String
    var state: SessionPromptState.State
    let queuedAt: Instant
    /// From when on it must be called stale in time: the phone's clock may have stood still before.
    var lateFrom: Instant
    var isStale = false
    var isAccepted = false
    /// Whether it has ended, which is shown once it is stored.
    var isDecided = false

    init(_ conversation: String, _ state: SessionPromptState.State, at now: Instant) {
      (self.conversation, self.state) = (conversation, state)
      (queuedAt, lateFrom, isAccepted) = (now, now, state == .accepted)
    }
  }

  var talks: [AttemptID: Talk] = [:]
  private var prompts: [UUID128: Prompt] = [:]
  /// The prompt whose acceptance opened a conversation in this run of the process.
  private var openers: [String: UUID128] = [:]
  /// Conversations in which a prompt was sent, in any run.
  private var touched: Set<String> = []
  /// The change under way, and one that the store has refused.
  private var change: (id: SessionCommitID, change: ClientSessionChange)?
  private var refused: (change: ClientSessionChange, from: Instant)?
  private var failures = 0
  private var hasSlept = false

  /// What all runs counted: tries, connections and round trips.
  private var tries = 0
  private var connects = 0
  private var reconnects = 0
  private var pongs = 0
  private var runs = 0
  private var hasLost = false

  mutating func launched() {
    let old = self
    self = SessionDiary()
    touched = old.touched
    runs = old.runs + 1
  }

  mutating func slept() { hasSlept = true }

  /// Compares the numbers that were stored; those of a process that was killed are gone.
  func compare(_ days: [SessionDay], at now: Instant, _ found: inout Findings) {
    guard runs == 1 else { return }
    var sum = SessionDay(day: 0)
    for day in days { sum.add(day) }
    let stored = [sum.tries, sum.connects, sum.reconnects, sum.roundTrips]
    let counted = [tries, connects, reconnects, pongs]
    let hasTimes =
      (sum.reconnecting > .zero) == (sum.reconnects > 0)
      && sum.roundTripSum <= sum.longestRoundTrip * sum.roundTrips
      && sum.longestRoundTrip <= sum.roundTripSum
    if stored != counted || !hasTimes {
      found.add(.miscounted, at: now, "the days have \(stored) instead of \(counted)")
    }
  }

  // MARK: Inputs with their effects

  mutating func told(
    _ input: SessionModel.Input?, _ effects: [SessionModel.Effect], at now: Instant,
    _ found: inout Findings
  ) {
    checkStale(at: now, &found)
    let updates = effects.compactMap { effect in
      if case .update(let update) = effect { update } else { nil }
    }
    switch input {
    case .restored(let kept, _, _): restored(kept, updates, at: now, &found)
    case .frame(let attempt, let message, _, let wall):
      heard(message, attempt, wall, updates, at: now, &found)
    case .commitFailed(let id, let failure):
      guard let change, change.id == id else { break }
      failures += 1
      refused = (change.change, now)
      if !updates.contains(.notice(.store(failure))) {
        found.add(.untrue, at: now, "a failure of the store was not shown")
      }
    case .committed(let id, _):
      guard change?.id == id else { break }
      if failures > 0, !updates.contains(.notice(.storeRecovered)) {
        found.add(.untrue, at: now, "the store's recovery was not shown")
      }
      failures = 0
    case .follow(let conversation): touched.insert(conversation)
    case nil, .start, .stop, .prompt, .retry, .discard, .cancel, .shown, .link,
      .credentials, .probed, .opened, .malformed, .reading, .unsent:
      break
    }
    for effect in effects { asked(effect, at: now, &found) }
  }

  private mutating func restored(
    _ kept: ClientSessionSnapshot, _ updates: [SessionUpdate], at now: Instant,
    _ found: inout Findings
  ) {
    let open = kept.prompts.filter { if case .queued = $0.state { true } else { false } }
    for prompt in open {
      // It may have been sent, as far as the phone knows.
      touched.insert(prompt.conversation)
      prompts[prompt.id] = Prompt(
        prompt.conversation, prompt.isAccepted ? .accepted : .queued, at: now)
    }
    let pending = updates.compactMap { if case .pending(let all) = $0 { all } else { nil } }
    if pending != (open.isEmpty ? [] : [open]) {
      found.add(.untrue, at: now, "what waits from earlier runs was not shown so")
    }
    let shown = updates.count { update in
      switch update {
      case .message: true
      case .prompt(_, let news): news != nil
      case .status, .quality, .pending, .part, .gap, .record, .notice: false
      }
    }
    if shown != kept.unshown.count {
      found.add(.lost, at: now, "\(kept.unshown.count) stored news, \(shown) shown at the start")
    }
  }

  private mutating func heard(
    _ message: SessionServerMessage, _ attempt: AttemptID, _ wall: Timestamp,
    _ updates: [SessionUpdate], at now: Instant, _ found: inout Findings
  ) {
    guard talks[attempt] != nil else { return }
    switch message {
    case .hello(let hello): talks[attempt]?.challenge = hello.challenge
    case .pong:
      guard talks[attempt]?.pings ?? 0 > 0 else { return }
      talks[attempt]?.pings -= 1
      pongs += 1
      let isFirst = talks[attempt]?.hasPong == false
      talks[attempt]?.hasPong = true
      let isTold = updates.contains { if case .quality(_, .some) = $0 { true } else { false } }
      if isFirst, !isTold { found.add(.untrue, at: now, "the first round trip was not shown") }
    case .heartbeat(let time): heardBeat(time, attempt, wall, updates, at: now, &found)
    case .response(let response): ended(response.idempotencyKey, response.conversation, attempt)
    case .error(let error):
      ended(error.idempotencyKey, error.conversation, attempt)
      // One that is refused for good waits only for the store.
      let isForNow = ["busy", "rate_limited", "store_failed", "draining"].contains(error.code)
      if let key = error.idempotencyKey.flatMap({ UUID128($0) }), !isForNow {
        prompts[key]?.isDecided = true
      }
    case .replay(_, let entry, _): ended(nil, entry.conversation, attempt)
    case .history(let window): ended(nil, window.conversation, attempt)
    case .historyBatch(let all): for one in all { ended(nil, one.conversation, attempt) }
    case .connected, .authError, .ack, .responsePart, .turnComplete, .draining, .sessionKilled,
      .unknown:
      return
    }
  }

  /// The next prompt of a conversation may go: the end is shown once it is stored.
  private mutating func ended(
    _ key: String?, _ conversation: String?, _ attempt: AttemptID
  ) {
    let isNamed = key.flatMap { UUID128($0) }
    if let conversation, isNamed == nil || talks[attempt]?.underWay[conversation] == isNamed {
      talks[attempt]?.underWay[conversation] = nil
    } else if conversation == nil {
      talks[attempt]?.underWay = [:]
    }
  }

  private mutating func heardBeat(
    _ time: Timestamp?, _ attempt: AttemptID, _ wall: Timestamp, _ updates: [SessionUpdate],
    at now: Instant, _ found: inout Findings
  ) {
    guard let time, talks[attempt]?.isConnected == true else { return }
    let skew = wall.duration(to: time)
    let isLarge = skew > .seconds(30) || skew < .seconds(-30)
    let isDue = isLarge && talks[attempt]?.knowsSkew == false
    if isDue { talks[attempt]?.knowsSkew = true }
    if updates.contains(.notice(.clockSkew(skew))) != isDue {
      found.add(.untrue, at: now, "clocks that differ earn one notice of a connection")
    }
  }

  /// A prompt that was not accepted for 60 s must have been called stale, unless the phone slept.
  private mutating func checkStale(at now: Instant, _ found: inout Findings) {
    if hasSlept {
      for key in prompts.keys { prompts[key]?.lateFrom = now }
      hasSlept = false
    }
    for (key, prompt) in prompts
    where !prompt.isStale && !prompt.isAccepted && !prompt.isDecided {
      guard prompt.lateFrom.advanced(by: .seconds(61)) < now else { continue }
      prompts[key]?.isStale = true
      found.add(.untimely, at: now, "a prompt waits for more than 60 s and is not called stale")
    }
  }

  // MARK: Effects

  private mutating func asked(
    _ effect: SessionModel.Effect, at now: Instant, _ found: inout Findings
  ) {
    switch effect {
    case .open(let attempt):
      talks = [attempt: Talk()]
      tries += 1
    case .connect(let attempt, _, let challenge):
      if challenge != talks[attempt]?.challenge {
        found.add(.untrue, at: now, "the challenge was not answered")
      }
    case .send(let attempt, let message): sent(message, attempt, at: now, &found)
    case .commit(let id, let change): commit(id, change, at: now, &found)
    case .update(let update): shown(update, at: now, &found)
    case .close, .refreshCredentials, .probe: return
    }
  }

  private mutating func sent(
    _ message: SessionClientMessage, _ attempt: AttemptID, at now: Instant,
    _ found: inout Findings
  ) {
    switch message {
    case .ping: talks[attempt]?.pings += 1
    case .prompt(let prompt): handed(prompt, attempt, at: now, &found)
    case .subscribe(let one): subscribed(one.conversation, at: now, &found)
    case .subscribeBatch(let all):
      for one in all { subscribed(one.conversation, at: now, &found) }
    case .setMaxMessageSize(let kilobytes):
      if !(50...250).contains(kilobytes) { found.add(.untrue, at: now, "a size out of bounds") }
    case .connect, .messageAck, .unsubscribe, .killSession, .disconnect, .unknown: return
    }
  }

  private func subscribed(_ conversation: String, at now: Instant, _ found: inout Findings) {
    if !touched.contains(conversation) {
      found.add(.needless, at: now, "a conversation was asked for in which nothing was said")
    }
  }

  private mutating func handed(
    _ prompt: SessionPrompt, _ attempt: AttemptID, at now: Instant, _ found: inout Findings
  ) {
    let isFirst = touched.insert(prompt.conversation).inserted
    guard let key = prompt.idempotencyKey.flatMap({ UUID128($0) }), var talk = talks[attempt]
    else { return }
    // A plain server's answer may never come.
    if let other = talk.underWay[prompt.conversation], other != key,
      talk.handed[other].map({ $0.advanced(by: .seconds(300)) > now }) ?? true
    {
      found.add(.reordered, at: now, "two prompts of a conversation are under way")
    }
    if let last = talk.handed[key], last.advanced(by: .seconds(30)) > now {
      found.add(.untimely, at: now, "a prompt was sent again within 30 s")
    }
    talk.underWay[prompt.conversation] = key
    talk.handed[key] = now
    talks[attempt] = talk
    let opener = openers[prompt.conversation] ?? key
    if isFirst && !prompt.isNew || opener != key && prompt.isNew {
      found.add(.untrue, at: now, "a prompt does not say whether its conversation is new")
    }
  }

  private mutating func commit(
    _ id: SessionCommitID, _ change: ClientSessionChange, at now: Instant,
    _ found: inout Findings
  ) {
    if let refused {
      if refused.change != change {
        found.add(.lost, at: now, "a change that the store refused was not tried again")
      }
      let wait = Duration.seconds(min(30, 1 << min(failures - 1, 5)))
      if refused.from.advanced(by: wait) > now {
        found.add(.untimely, at: now, "the store was asked again too soon")
      }
    }
    refused = nil
    self.change = (id, change)
    for case .ended(let ending) in change.news { prompts[ending.key]?.isDecided = true }
  }

  private mutating func shown(
    _ update: SessionUpdate, at now: Instant, _ found: inout Findings
  ) {
    switch update {
    case .status(let status):
      guard status.phase == .connected, let attempt = talks.keys.first else { return }
      if talks[attempt]?.isConnected == false {
        connects += 1
        if hasLost { reconnects += 1 }
        hasLost = false
      }
      talks[attempt]?.isConnected = true
    case .prompt(let prompt, _): shown(prompt, at: now, &found)
    case .notice(.stale(let key)):
      guard let prompt = prompts[key] else { return }
      if prompt.isAccepted || prompt.isStale || prompt.queuedAt.advanced(by: .seconds(60)) > now {
        found.add(.untimely, at: now, "a prompt was called stale that is not")
      }
      prompts[key]?.isStale = true
    case .record(let record):
      closed(
        record.attempt, [record.connecting, record.connected], record.roundTrip, at: now, &found)
    case .quality, .pending, .message, .part, .gap, .notice: return
    }
  }

  /// - Parameters:
  ///   - times: How long it took to be connected, and how long it was.
  private mutating func closed(
    _ attempt: AttemptID, _ times: [Duration?], _ roundTrip: Duration?, at now: Instant,
    _ found: inout Findings
  ) {
    guard let talk = talks.removeValue(forKey: attempt) else {
      return found.add(.untrue, at: now, "a connection ended that was not there")
    }
    if talk.isConnected { hasLost = true }
    if times.contains(where: { ($0 != nil) != talk.isConnected })
      || (roundTrip != nil) != talk.hasPong
    {
      found.add(.untrue, at: now, "the record of a connection says otherwise than it went")
    }
  }

  private mutating func shown(
    _ prompt: SessionPromptState, at now: Instant, _ found: inout Findings
  ) {
    let old = prompts[prompt.key]
    let isNext: Bool =
      switch prompt.state {
      case .queued: old == nil || prompt.reason != nil
      case .sent: old?.state == .queued || old?.state == .sent && prompt.reason != nil
      case .accepted: old?.state == .queued || old?.state == .sent
      case .answered, .failed, .interrupted: true
      }
    let hasReason: Bool =
      switch prompt.state {
      case .queued: true
      case .sent, .accepted, .answered: prompt.reason == nil
      case .failed, .interrupted: prompt.reason != nil
      }
    if !isNext || !hasReason {
      let was = old.map { ", was \($0.state.rawValue)" } ?? ""
      found.add(.untrue, at: now, "a prompt is \(prompt.state.rawValue)\(was)")
    }
    for attempt in talks.keys {
      switch prompt.state {
      case .queued, .answered, .failed, .interrupted:
        talks[attempt]?.handed[prompt.key] = nil
        if talks[attempt]?.underWay[prompt.conversation] == prompt.key {
          talks[attempt]?.underWay[prompt.conversation] = nil
        }
      case .accepted: talks[attempt]?.handed[prompt.key] = now
      case .sent: continue
      }
    }
    note(prompt, old, at: now)
  }

  private mutating func note(
    _ prompt: SessionPromptState, _ old: Prompt?, at now: Instant
  ) {
    switch prompt.state {
    case .answered, .failed, .interrupted: prompts[prompt.key] = nil
    case .queued, .sent, .accepted:
      var next = old ?? Prompt(prompt.conversation, prompt.state, at: now)
      next.state = prompt.state
      if prompt.state == .accepted { next.isAccepted = true }
      prompts[prompt.key] = next
    }
    if prompt.state == .accepted, openers[prompt.conversation] == nil {
      openers[prompt.conversation] = prompt.key
    }
  }
}
