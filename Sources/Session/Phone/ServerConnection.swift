import HoldfastCore
import HoldfastSessionData

/// A connection to the server, with the messages sent on it and the expected responses.
struct ServerConnection: Sendable, Hashable {
  /// The progress of establishing the connection.
  private enum Stage: Sendable, Hashable {
    /// The socket is not open yet, or `hello` has not been received.
    case opening
    /// `connect` was sent.
    case greeted
    /// `connected` was received.
    case connected(at: Instant, SessionVersion, Set<SessionFeature>)
  }

  private struct Ping: Sendable, Hashable {
    var id: UInt64
    var sentAt: Instant
  }

  /// A message to which an ack without a key can belong.
  enum Awaited: Sendable, Hashable {
    case size
    case prompt(UUID128)
  }

  /// A prompt that was sent but not acknowledged. While too many of their bytes are on the way, the
  /// next prompt waits for an ack.
  struct Upload: Sendable, Hashable {
    let key: UUID128
    /// The size of the prompt's message, without the bytes that differ between messages.
    let bytes: Int
    /// The instant at which the upload stops delaying other prompts.
    let until: Instant
    /// The instant at which the upload stops delaying pings. The upload delays no pings if the
    /// prompt is small, or if there was no sign of life during the previous upload.
    let deafUntil: Instant
  }

  /// A prompt that takes a noticeable time to upload.
  struct Large: Sendable, Hashable {
    let key: UUID128
    /// The instant at which control frames stop counting as signs of life.
    let until: Instant
  }

  let attempt: AttemptID
  /// The wall-clock time at the start of the attempt.
  let startedAt: Timestamp
  private let begin: Instant
  private var stage = Stage.opening
  /// Whether the server announced that it will stop.
  private(set) var isDraining = false
  /// Whether the socket is not read because the app has left too many messages unread.
  private(set) var isPaused = false
  private var malformed = 0
  private var hasReportedSkew = false
  private var pings: [Ping] = []
  /// The most recent round trip.
  private(set) var roundTrip: Duration?

  /// The messages whose acks are awaited.
  private(set) var awaited: [Awaited] = []
  /// The number of acks that were received but could not be matched to a message in `awaited`.
  private var looseAcks = 0
  /// Whether messages of the server were acknowledged. An error may then refer to an
  /// acknowledgement.
  private var hasAcknowledged = false
  /// The instant until which no further message that causes an ack is sent to a server without
  /// keys.
  private var askedUntil: Instant?
  /// The maximum message size that was reported to the server.
  private(set) var reportedSize: Int?

  /// The prompts that are being uploaded, oldest first.
  private(set) var uploads: [Upload] = []
  /// Whether an upload has delayed pings since the server's last message. If so, the next upload
  /// does not delay them, so that a dead connection is detected.
  private var wasDeaf = false
  /// The last large prompt without an ack. The client's pings wait behind it, so control frames of
  /// the server count as signs of life.
  private(set) var large: Large?
  /// The prompts that were sent on this connection and have no response.
  private(set) var sent: Set<UUID128> = []
  /// The pieces of incomplete responses, keyed by the prompt.
  var pieces = ResponsePieces()
  /// The conversations to which the connection has subscribed.
  var subscriptions = SessionSubscriptions()

  init(_ attempt: AttemptID, at wall: Timestamp, _ now: Instant) {
    (self.attempt, startedAt, begin) = (attempt, wall, now)
  }

  // MARK: Stages

  /// Whether `hello` has not been received.
  var isOpening: Bool { stage == .opening }

  /// Whether `connect` was sent but has no response.
  var isGreeted: Bool { stage == .greeted }

  /// Whether `connected` was received.
  var isConnected: Bool { connectedAt != nil }

  private var connectedAt: Instant? {
    if case .connected(let instant, _, _) = stage { instant } else { nil }
  }

  /// The server's version. It is the oldest version until the server's is known.
  var version: SessionVersion {
    if case .connected(_, let version, _) = stage { version } else { .oldest }
  }

  /// Returns whether the server supports a feature and agreed to use it.
  func has(_ feature: SessionFeature) -> Bool {
    if case .connected(_, _, let features) = stage { features.contains(feature) } else { false }
  }

  /// Whether the server supports idempotency keys.
  var isIdempotent: Bool { has(.idempotency) }

  /// Records that `connect` was sent.
  mutating func greet() { stage = .greeted }

  /// Records that `connected` was received.
  mutating func connect(
    _ version: SessionVersion, _ features: Set<SessionFeature>, at now: Instant
  ) {
    stage = .connected(at: now, version, features)
  }

  /// Records that the server will stop soon.
  mutating func drain() { isDraining = true }

  /// Returns the record of this connection, which ends now.
  func record(
    endedAt wall: Timestamp, _ now: Instant, network: String?, _ reason: SessionRecord.Reason
  ) -> SessionRecord {
    SessionRecord(
      attempt: attempt, startedAt: startedAt, endedAt: wall,
      connecting: connectedAt.map { begin.duration(to: $0) },
      connected: connectedAt.map { $0.duration(to: now) }, network: network,
      roundTrip: roundTrip, reason: reason)
  }

  // MARK: Signs of life

  /// Whether silence says nothing about the server, because the socket is not read or a prompt is
  /// being uploaded.
  func isDeaf(at now: Instant) -> Bool {
    isPaused || uploads.contains { $0.deafUntil > now }
  }

  /// Records a sign of life from the server.
  mutating func noteSignOfLife() { wasDeaf = false }

  /// Records whether reading from the socket is paused.
  mutating func pause(_ isPaused: Bool) {
    self.isPaused = isPaused
    noteSignOfLife()
  }

  /// Counts a frame that could not be decoded. Returns whether the limit is reached.
  mutating func countMalformed() -> Bool {
    malformed += 1
    noteSignOfLife()
    return malformed == SessionSettings.malformedLimit
  }

  /// Returns whether to report a clock skew, which is done once for each connection.
  mutating func reportsSkew(_ skew: Duration) -> Bool {
    let limit = SessionSettings.skewLimit
    guard !hasReportedSkew, skew > limit || skew < .zero - limit else { return false }
    hasReportedSkew = true
    return true
  }

  mutating func sendPing(_ id: UInt64, at now: Instant) {
    pings.append(Ping(id: id, sentAt: now))
  }

  /// Records the response to the oldest ping.
  ///
  /// - Returns: The ID of the ping, the round trip, and whether the pong is the connection's first
  ///   one.
  mutating func takePong(at now: Instant) -> (id: UInt64, roundTrip: Duration, isFirst: Bool)? {
    guard !pings.isEmpty else { return nil }
    let ping = pings.removeFirst()
    let isFirst = roundTrip == nil
    let sample = ping.sentAt.duration(to: now)
    roundTrip = sample
    return (ping.id, sample, isFirst)
  }

  // MARK: Prompts

  /// Whether a potentially large response is expected.
  var awaitsMuch: Bool { subscriptions.isWaiting || !sent.isEmpty }

  /// Records that a prompt of this size was sent.
  mutating func send(_ key: UUID128, bytes: Int, at now: Instant) {
    let time = Duration.seconds(bytes / SessionSettings.uploadRate)
    let grace = min(time + SessionSettings.uploadTime, SessionSettings.longestUpload)
    let deaf = wasDeaf ? .zero : min(time, SessionSettings.longestUpload)
    uploads.append(
      Upload(
        key: key, bytes: bytes + SessionSettings.messageBytes, until: now.advanced(by: grace),
        deafUntil: now.advanced(by: deaf)))
    if deaf > .zero { wasDeaf = true }
    if time > .zero, large?.key != key {
      large = Large(key: key, until: now.advanced(by: SessionSettings.turnLimit))
    }
    sent.insert(key)
    expectAck(of: .prompt(key), at: now)
  }

  /// Records that a prompt has ended or will be resent.
  mutating func forgetSent(_ key: UUID128) { sent.remove(key) }

  /// Records that the server has received a whole prompt.
  mutating func endUpload(of key: UUID128) {
    uploads.removeAll { $0.key == key }
    if large?.key == key { large = nil }
  }

  /// Whether another prompt may be sent now.
  ///
  /// To a server with keys, prompts follow each other without waiting for acks as long as those on
  /// the way are short in total. So several conversations cost no round trip each, and a slow
  /// connection still has only one long prompt at a time.
  var mayUpload: Bool {
    guard isIdempotent else { return uploads.isEmpty }
    return uploads.reduce(0) { $0 + $1.bytes } < SessionSettings.uploadWindow
  }

  // MARK: Acks

  /// Whether a message that causes an ack may be sent now. A server without keys gets the next such
  /// message only after the ack or a time-out, so that the ack can be attributed.
  var mayAsk: Bool { isIdempotent || awaited.isEmpty || askedUntil == nil }

  /// Returns whether an error without a reference can only concern this prompt.
  func awaitsOnly(_ key: UUID128) -> Bool {
    awaited == [.prompt(key)] && !subscriptions.isWaiting && !hasAcknowledged
  }

  /// Records that messages of the server were acknowledged.
  mutating func acknowledge() { hasAcknowledged = true }

  /// Records that a maximum message size was reported to the server.
  mutating func report(size: Int, at now: Instant) {
    reportedSize = size
    expectAck(of: .size, at: now)
  }

  private mutating func expectAck(of one: Awaited, at now: Instant) {
    awaited.append(one)
    if !isIdempotent { askedUntil = now.advanced(by: SessionSettings.askTime) }
  }

  /// Records that an ack is no longer awaited.
  mutating func forget(_ one: Awaited) {
    awaited.removeAll { $0 == one }
    if awaited.isEmpty { (looseAcks, askedUntil) = (0, nil) }
  }

  /// Records an ack without a key.
  ///
  /// - Returns: The prompts to which the ack may belong, and whether the server has certainly
  ///   received all of them.
  mutating func takeAck() -> (prompts: [UUID128], isSure: Bool) {
    guard !awaited.isEmpty else { return ([], false) }
    // On a server with keys, acks of prompts have keys.
    if isIdempotent, awaited.contains(.size) {
      forget(.size)
      return ([], false)
    }
    looseAcks += 1
    let isSure = looseAcks >= awaited.count
    let prompts: [UUID128] = awaited.compactMap {
      if case .prompt(let key) = $0 { key } else { nil }
    }
    if isSure { for one in awaited { forget(one) } }
    return (prompts, isSure)
  }

  // MARK: Time

  /// The instant at which an upload, a subscription or the wait for an ack times out.
  var deadline: Instant? {
    (uploads.map(\.until) + [subscriptions.deadline, askedUntil].compactMap(\.self)).min()
  }

  /// Ends the waits that timed out. Returns the conversations whose subscriptions had no response,
  /// in order.
  mutating func expire(at now: Instant) -> [String] {
    uploads.removeAll { $0.until <= now }
    if let askedUntil, askedUntil <= now { self.askedUntil = nil }
    return subscriptions.expire(at: now, isIdempotent: isIdempotent)
  }
}

extension ServerConnection: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      isConnected
        || pings.isEmpty && awaited.isEmpty && uploads.isEmpty && sent.isEmpty
          && subscriptions.isEmpty,
      "server connection: nothing but connect is sent before connected")
    check.require(
      uploads.allSatisfy { sent.contains($0.key) }, "server connection: what is uploaded was sent")
    subscriptions.check(&check)
  }
}

/// The most recently reported state of the device.
struct SessionDevice: Sendable, Hashable {
  /// The detection of a captive portal.
  var portal: PortalWatch
  /// The network path of the device, if known.
  private(set) var network: String?
  /// Whether the app is in the background.
  private(set) var isInBackground = false

  init(_ policy: GatePolicy) { portal = PortalWatch(policy) }

  /// Records a change that the device reports.
  mutating func note(_ change: DeviceChange) {
    switch change {
    case .reachability(let reachability):
      portal.note(reachability)
      switch reachability {
      case .reachable(let path, _): network = path.name
      case .unreachable, .captivePortal: network = nil
      }
    case .lifecycle(let lifecycle): isInBackground = lifecycle == .background
    case .woke, .again: return
    }
  }
}
