import LinkCore
import LinkWire
import Session

/// What a phone's session must acknowledge, number, measure and store before it is sent: kept a
/// second time beside the model's own books.
struct SessionPostbook: Sendable {
  /// One connection, or a try of one.
  private struct Talk: Sendable {
    let attempt: AttemptID
    let openedAt: Instant
    var hello: SessionHello?
    var connectedAt: Instant?
    /// When the pings went out whose pongs are awaited, and the last round trip.
    var pings: [Instant] = []
    var roundTrip: Duration?
    var toldSize: Int?
    /// The prompt that others wait for, and until when.
    var upload: (key: String, until: Instant)?
    var knowsKeys = false
  }

  /// A change with the messages that are to be acknowledged behind it.
  private struct Change: Sendable {
    let id: SessionCommitID
    let change: ClientSessionChange
    let ids: [String]
  }

  private var talk: Talk?
  private var client: UUID128?
  private var change: Change?
  /// Messages that came since the last change, and those whose acknowledgement is due.
  private var heard: [String] = []
  private var owed: [String] = []
  /// The prompts that the disk holds, by key.
  private var durable: [String: KeptPrompt] = [:]
  /// The number up to which all messages came, those beyond, and the number that is stored.
  private var received: UInt64 = 0
  private var ahead: Set<UInt64> = []
  private var skips = false
  private var stored: UInt64 = 0
  private var size = 200
  /// When the last connection was lost, the times of days, and whether clocks stood still.
  private var lostAt: Instant?
  private var sum = SessionDay(day: 0)
  private(set) var hasSlept = false
  private var runs = 0

  mutating func launched() {
    let runs = runs
    self = SessionPostbook()
    self.runs = runs + 1
  }

  mutating func slept() { hasSlept = true }

  mutating func told(
    _ input: SessionModel.Input?, _ effects: [SessionModel.Effect], at now: Instant,
    _ found: inout Findings
  ) {
    switch input {
    case .restored(let kept, _, _):
      client = kept.client
      (received, stored) = (kept.received, kept.received)
      for prompt in kept.prompts { durable[prompt.id.description] = prompt }
    case .committed(let id, _): committed(id)
    case .frame(let attempt, let message, _, let wall):
      if talk?.attempt == attempt { hear(message, wall, effects, at: now, &found) }
    case nil, .start, .stop, .prompt, .retry, .discard, .cancel, .follow, .shown, .link,
      .credentials, .probed, .opened, .malformed, .reading, .unsent, .commitFailed:
      break
    }
    for effect in effects { asked(effect, at: now, &found) }
    guard let talk, talk.connectedAt != nil else { return }
    if !owed.isEmpty {
      found.add(.untrue, at: now, "\(owed.count) stored messages were not acknowledged")
      owed = []
    }
    if talk.toldSize != size, !(talk.toldSize == nil && size == 100) {
      found.add(.untrue, at: now, "the server was not told the longest message")
    }
  }

  /// Compares the times that were stored; those of a process that was killed are gone.
  func compare(_ days: [SessionDay], at now: Instant, _ found: inout Findings) {
    guard runs == 1, !hasSlept else { return }
    var total = SessionDay(day: 0)
    for day in days { total.add(day) }
    if total.reconnecting != sum.reconnecting || total.roundTripSum != sum.roundTripSum
      || total.longestRoundTrip != sum.longestRoundTrip
    {
      found.add(.miscounted, at: now, "the days have other times than there were")
    }
  }

  // MARK: What comes

  private mutating func committed(_ id: SessionCommitID) {
    guard let done = change, done.id == id else { return }
    change = nil
    owed += done.ids
    stored = done.change.received ?? stored
    for prompt in done.change.prompts { durable[prompt.id.description] = prompt }
    for key in done.change.forgotten { durable[key.description] = nil }
  }

  private mutating func hear(
    _ message: SessionServerMessage, _ wall: Timestamp, _ effects: [SessionModel.Effect],
    at now: Instant, _ found: inout Findings
  ) {
    if case .hello(let hello) = message, talk?.hello == nil {
      talk?.hello = hello
      return greet(hello, wall, effects, at: now, &found)
    }
    if case .connected(let connected) = message {
      talk?.knowsKeys = connected.features.contains(.idempotency)
      if connected.isRecovered == false, talk?.hello != nil { skips = true }
    }
    guard talk?.connectedAt != nil else { return }
    switch message {
    case .response(let response):
      endUpload(response.idempotencyKey)
      keep(response.id, response.number)
    case .replay(let id, _, let number): keep(id, number)
    case .ack(_, let key): endUpload(key)
    case .error(let error):
      endUpload(error.idempotencyKey)
      if error.code == "not_recovered" { skips = true }
    case .pong: pong(effects, at: now, &found)
    case .hello, .connected, .authError, .responsePart, .turnComplete, .history, .historyBatch,
      .heartbeat, .draining, .sessionKilled, .unknown:
      return
    }
  }

  private func greet(
    _ hello: SessionHello, _ wall: Timestamp, _ effects: [SessionModel.Effect], at now: Instant,
    _ found: inout Findings
  ) {
    var features = Set(SessionFeature.allCases)
    if !hello.features.contains(.boundProof) { features.remove(.boundProof) }
    let time = hello.challenge == nil ? nil : hello.timestamp ?? wall
    for case .connect(_, let connect, _) in effects {
      let isRight =
        connect.session == client?.description && connect.features == features
        && connect.received == stored && connect.timestamp == time && connect.key == nil
        && connect.proof == nil
      if !isRight { found.add(.untrue, at: now, "connect says otherwise than it is") }
    }
  }

  private mutating func keep(_ id: String?, _ number: UInt64?) {
    if let id { heard.append(id) }
    guard let number, number > received else { return }
    if skips { (received, skips, ahead) = (number - 1, false, []) }
    ahead.insert(number)
    while ahead.remove(received + 1) != nil { received += 1 }
  }

  private mutating func endUpload(_ key: String?) {
    if key == nil || talk?.upload?.key == key { talk?.upload = nil }
  }

  private mutating func pong(
    _ effects: [SessionModel.Effect], at now: Instant, _ found: inout Findings
  ) {
    guard let sentAt = talk?.pings.first else { return }
    talk?.pings.removeFirst()
    let time = sentAt.duration(to: now)
    let before = talk?.roundTrip
    talk?.roundTrip = time
    sum.roundTripSum += time
    sum.longestRoundTrip = max(sum.longestRoundTrip, time)
    // A sign of life may restore the quality before the pong is measured.
    for case .update(.quality(_, let shown?)) in effects
    where shown != time && shown != before && !hasSlept {
      found.add(.untrue, at: now, "a round trip was shown that was another one")
    }
  }

  // MARK: What goes

  private mutating func asked(
    _ effect: SessionModel.Effect, at now: Instant, _ found: inout Findings
  ) {
    switch effect {
    case .open(let attempt): talk = Talk(attempt: attempt, openedAt: now)
    case .send(_, let message): sent(message, at: now, &found)
    case .commit(let id, let change): commit(id, change, at: now, &found)
    case .update(.status(let status)) where status.phase == .connected: connected(at: now)
    case .update(.record(let record)): ended(record, at: now, &found)
    case .update(.prompt(let prompt, _)):
      if prompt.state != .sent { endUpload(prompt.key.description) }
    case .connect, .close, .refreshCredentials, .probe, .update: return
    }
  }

  private mutating func connected(at now: Instant) {
    guard talk?.connectedAt == nil, talk != nil else { return }
    talk?.connectedAt = now
    guard let lost = lostAt else { return }
    sum.reconnecting += lost.duration(to: now)
    lostAt = nil
  }

  private mutating func sent(
    _ message: SessionClientMessage, at now: Instant, _ found: inout Findings
  ) {
    switch message {
    case .ping: talk?.pings.append(now)
    case .messageAck(let id):
      guard let index = owed.firstIndex(of: id) else {
        return found.add(.untrue, at: now, "an acknowledgement that was not due")
      }
      owed.remove(at: index)
    case .setMaxMessageSize(let kilobytes):
      let next = [size, max(size * 3 / 4, 50), min(size * 11 / 10, 250)]
      if !next.contains(kilobytes) || talk?.toldSize == kilobytes {
        found.add(.untrue, at: now, "the longest message became \(kilobytes) from \(size)")
      }
      size = kilobytes
      talk?.toldSize = kilobytes
    case .prompt(let prompt): handed(prompt, at: now, &found)
    case .connect, .subscribe, .subscribeBatch, .unsubscribe, .killSession, .disconnect, .unknown:
      return
    }
  }

  private mutating func handed(
    _ prompt: SessionPrompt, at now: Instant, _ found: inout Findings
  ) {
    let key = prompt.idempotencyKey ?? ""
    let kept = durable[key]
    if kept?.text != prompt.text || kept?.conversation != prompt.conversation
      || kept?.number != prompt.number || prompt.text.utf8.count > 524_288
    {
      found.add(.unstored, at: now, "a prompt was sent otherwise than it is stored")
    }
    if let upload = talk?.upload, upload.until > now {
      found.add(.outranked, at: now, "a prompt was sent while another one was on its way")
    }
    let time = Duration.seconds(prompt.text.utf8.count / 16_384 + 10)
    talk?.upload = (key, now.advanced(by: min(time, .seconds(60))))
  }

  private mutating func commit(
    _ id: SessionCommitID, _ next: ClientSessionChange, at now: Instant,
    _ found: inout Findings
  ) {
    // One that the store refused is tried again as it was.
    var ids = heard
    if let change { ids = change.ids } else { heard = [] }
    let isNew = change == nil
    change = Change(id: id, change: next, ids: ids)
    guard isNew else { return }
    if let number = next.received, number != received {
      found.add(.untrue, at: now, "a change says that \(number) came instead of \(received)")
    }
    if next.received == nil, received > stored {
      found.add(.untrue, at: now, "a change does not say which number came")
    }
  }

  private mutating func ended(
    _ record: Session.SessionRecord, at now: Instant, _ found: inout Findings
  ) {
    guard let talk, talk.attempt == record.attempt else { return }
    self.talk = nil
    if talk.connectedAt != nil { lostAt = now }
    guard !hasSlept else { return }
    if record.connecting != talk.connectedAt.map({ talk.openedAt.duration(to: $0) })
      || record.connected != talk.connectedAt.map({ $0.duration(to: now) })
      || record.roundTrip != talk.roundTrip
    {
      found.add(.untrue, at: now, "the record of a connection has other times")
    }
  }
}
