import HoldfastCore
import HoldfastLinkChecks
import HoldfastSession
import HoldfastSessionChecks
import HoldfastSessionData
import HoldfastWorldKernel

/// A checker of a phone's messages and of its reports about connections.
///
/// It checks the `connect` message, acknowledgements, the maximum message size, round trips,
/// records and daily statistics.
struct SessionConnectionChecker: Sendable {
  /// A connection or a connection attempt.
  private struct Connection: Sendable {
    let attempt: AttemptID
    let openedAt: Instant
    var hello: SessionHello?
    var connectedAt: Instant?
    /// The times of pings that have not been answered by a pong.
    var pings: [Instant] = []
    var roundTrip: Duration?
    var hasSentSize = false
    /// Whether the server has no idempotency keys. With such a server, an acknowledgement may
    /// belong to any message, and an answer is acknowledged once its prompt is identified.
    var isPlain: Bool { hello?.features.contains(.idempotency) == false }
  }

  private var connection: Connection?
  private var client: UUID128?
  /// The number up to which all messages are stored on the disk.
  private var stored: UInt64 = 0
  /// The change that the store has not confirmed, with the messages that arrived before it.
  private var change: (id: SessionCommitID, received: UInt64?, messages: [String])?
  private var receivedIDs: [String] = []
  /// The messages on the disk that must be acknowledged.
  private var due: [String] = []
  /// The maximum message size that was last sent to the server, in KiB.
  private var size = 200
  private var lostAt: Instant?
  /// The expected daily statistics of this run of the process.
  private var sum = SessionDay(day: 0)
  private var runs = 0
  private var hasSlept = false

  mutating func launched() {
    let runs = runs
    self = SessionConnectionChecker()
    self.runs = runs + 1
  }

  mutating func slept() { hasSlept = true }

  mutating func received(
    _ input: SessionModel.Input?, _ effects: [SessionModel.Effect], at now: Instant,
    _ found: inout Findings
  ) {
    switch input {
    case .restored(let snapshot, _, _): (client, stored) = (snapshot.client, snapshot.received)
    case .committed(let id, _): committed(id)
    case .frame(let attempt, let message, _, _):
      if connection?.attempt == attempt { receive(message, effects, at: now, &found) }
    case nil, .start, .stop, .stopUnread, .prompt, .retry, .discard, .cancel, .follow, .shown,
      .answersShown, .link, .credentials, .probed, .opened, .malformed, .reading, .unsent,
      .commitFailed:
      break
    }
    for effect in effects { requested(effect, at: now, &found) }
    guard connection?.connectedAt != nil, connection?.isPlain == false else { return }
    if !due.isEmpty {
      found.add(.untrue, at: now, "\(due.count) stored messages were not acknowledged")
      due = []
    }
    // The server accepts 100 KiB by default.
    if connection?.hasSentSize == false, size != 100 {
      found.add(.untrue, at: now, "the server was not told the longest message")
      connection?.hasSentSize = true
    }
  }

  /// Compares the daily statistics on the disk with the expected ones.
  ///
  /// The check is skipped after a kill or a sleep. The statistics of a killed process are lost, and
  /// the duration of a sleep is not known here.
  func compare(_ days: [SessionDay], at now: Instant, _ found: inout Findings) {
    guard runs == 1, !hasSlept else { return }
    var total = SessionDay(day: 0)
    for day in days { total.add(day) }
    if total != sum { found.add(.miscounted, at: now, "the days say \(total), not \(sum)") }
  }

  // MARK: Inputs

  private mutating func committed(_ id: SessionCommitID) {
    guard let done = change, done.id == id else { return }
    change = nil
    due += done.messages
    stored = done.received ?? stored
  }

  private mutating func receive(
    _ message: SessionServerMessage, _ effects: [SessionModel.Effect], at now: Instant,
    _ found: inout Findings
  ) {
    if case .hello(let hello) = message, connection?.hello == nil { connection?.hello = hello }
    guard connection?.connectedAt != nil else { return }
    switch message {
    case .response(let response): receivedIDs += [response.id].compactMap(\.self)
    case .replay(let id, _, _): receivedIDs.append(id)
    case .pong: pong(effects, at: now, &found)
    case .hello, .connected, .authError, .ack, .error, .responsePart, .turnComplete, .history,
      .historyBatch, .heartbeat, .draining, .sessionKilled, .unknown:
      return
    }
  }

  /// Checks that the first round trip of a connection is shown, and that no other time is shown.
  private mutating func pong(
    _ effects: [SessionModel.Effect], at now: Instant, _ found: inout Findings
  ) {
    guard let sentAt = connection?.pings.first else { return }
    connection?.pings.removeFirst()
    let (time, before) = (sentAt.duration(to: now), connection?.roundTrip)
    connection?.roundTrip = time
    sum.roundTrips += 1
    sum.roundTripSum += time
    sum.longestRoundTrip = max(sum.longestRoundTrip, time)
    guard !hasSlept else { return }
    let shown = effects.compactMap { effect in
      if case .update(.quality(_, let time)) = effect { time } else { nil }
    }
    // Other data may restore the quality before the pong is measured.
    if before == nil && shown.isEmpty || shown.contains(where: { $0 != time && $0 != before }) {
      found.add(.untrue, at: now, "the round trips \(shown) were shown instead of \(time)")
    }
  }

  // MARK: Effects

  private mutating func requested(
    _ effect: SessionModel.Effect, at now: Instant, _ found: inout Findings
  ) {
    switch effect {
    case .open(let attempt):
      connection = Connection(attempt: attempt, openedAt: now)
      sum.tries += 1
    case .connect(_, let connect, let challenge): greeted(connect, challenge, at: now, &found)
    case .send(_, let message): sent(message, at: now, &found)
    case .commit(let id, let next):
      // A change that the store refused is retried without changes.
      let messages = change?.messages ?? receivedIDs
      if change == nil { receivedIDs = [] }
      change = (id, next.received, messages)
    case .update(.status(let status)) where status.phase == .connected: connected(at: now)
    case .update(.record(let record)): ended(record, at: now, &found)
    case .close, .refreshCredentials, .probe, .update: return
    }
  }

  private func greeted(
    _ connect: SessionConnect, _ challenge: String?, at now: Instant, _ found: inout Findings
  ) {
    var features = Set(SessionFeature.allCases)
    if connection?.hello?.features.contains(.boundProof) != true { features.remove(.boundProof) }
    if connect.session != client?.description || connect.received != stored
      || connect.features != features || challenge != connection?.hello?.challenge
    {
      found.add(.untrue, at: now, "connect does not match the phone's state and features")
    }
  }

  private mutating func sent(
    _ message: SessionClientMessage, at now: Instant, _ found: inout Findings
  ) {
    switch message {
    case .ping: connection?.pings.append(now)
    case .messageAck(let id):
      guard let index = due.firstIndex(of: id) else {
        return found.add(.unstored, at: now, "\(id) was acknowledged and is not newly stored")
      }
      due.remove(at: index)
    case .setMaxMessageSize(let kilobytes):
      if !(50...250).contains(kilobytes) { found.add(.untrue, at: now, "a size out of bounds") }
      size = kilobytes
      connection?.hasSentSize = true
    case .connect, .prompt, .subscribe, .subscribeBatch, .unsubscribe, .killSession, .disconnect,
      .unknown:
      return
    }
  }

  private mutating func connected(at now: Instant) {
    guard connection?.connectedAt == nil, connection != nil else { return }
    connection?.connectedAt = now
    sum.connects += 1
    guard let lost = lostAt else { return }
    sum.reconnects += 1
    sum.reconnecting += lost.duration(to: now)
    lostAt = nil
  }

  private mutating func ended(
    _ record: HoldfastSession.SessionRecord, at now: Instant, _ found: inout Findings
  ) {
    guard let ended = connection, ended.attempt == record.attempt else {
      return found.add(.untrue, at: now, "a connection ended that was not there")
    }
    connection = nil
    if ended.connectedAt != nil { lostAt = now }
    guard !hasSlept else { return }
    if record.connecting != ended.connectedAt.map({ ended.openedAt.duration(to: $0) })
      || record.connected != ended.connectedAt.map({ $0.duration(to: now) })
      || record.roundTrip != ended.roundTrip
    {
      found.add(.untrue, at: now, "the record of a connection does not match it")
    }
  }
}
