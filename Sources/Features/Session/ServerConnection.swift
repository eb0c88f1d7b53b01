import LinkCore
import LinkWire

/// One connection to the server: what was sent on it, and which answers it awaits.
struct ServerConnection: Sendable, Hashable {
  /// How far the connection is established.
  private enum Stage: Sendable, Hashable {
    /// The socket is not open, or `hello` was not received.
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

  /// A message that an ack without a key can belong to.
  enum Awaited: Sendable, Hashable {
    case size
    case prompt(UUID128)
  }

  /// A prompt that was sent and not acknowledged: the next one waits for it.
  struct Upload: Sendable, Hashable {
    let key: UUID128
    /// When it stops delaying other prompts.
    let until: Instant
    /// When it stops delaying pings; for a small prompt, and for one behind another that brought no
    /// sign of life, that is at once.
    let deafUntil: Instant
  }

  /// A prompt that takes a while to upload.
  struct Large: Sendable, Hashable {
    let key: UUID128
    /// When control frames stop counting as signs of life.
    let until: Instant
  }

  let attempt: AttemptID
  /// The wall clock at the start of the attempt.
  let startedAt: Timestamp
  private let begin: Instant
  private var stage = Stage.opening
  /// Whether the server announced that it stops.
  private(set) var isDraining = false
  /// Whether the socket is not read, because the app leaves messages unread.
  private(set) var isPaused = false
  private var malformed = 0
  private var hasReportedSkew = false
  private var pings: [Ping] = []
  /// The last round trip.
  private(set) var roundTrip: Duration?

  /// The messages whose acks are awaited.
  private(set) var awaited: [Awaited] = []
  /// The number of acks that belong to one of `awaited`, without saying to which.
  private var looseAcks = 0
  /// Whether messages of the server were acknowledged: an error may be about that.
  private var hasAcknowledged = false
  /// Until when nothing else that earns an ack is sent to a server without keys.
  private var askedUntil: Instant?
  /// The size that was reported to the server.
  private(set) var reportedSize: Int?

  /// The prompt that is being uploaded.
  private(set) var upload: Upload?
  /// Whether an upload delayed pings since the server was last heard: the next one does not, so
  /// that a dead connection ends.
  private var wasDeaf = false
  /// The last large prompt without an ack: our pings wait behind it, so that control frames of the
  /// server prove that the connection lives.
  private(set) var large: Large?
  /// Prompts that were sent on this connection and not answered.
  private(set) var sent: Set<UUID128> = []
  /// Pieces of responses that the server still sends, by the key of their prompt.
  var pieces = ResponsePieces()
  /// The conversations that were subscribed to.
  var subscriptions = SessionSubscriptions()

  init(_ attempt: AttemptID, at wall: Timestamp, _ now: Instant) {
    (self.attempt, startedAt, begin) = (attempt, wall, now)
  }

  // MARK: Stages

  /// Whether `hello` was not received.
  var isOpening: Bool { stage == .opening }

  /// Whether `connect` was sent and not answered.
  var isGreeted: Bool { stage == .greeted }

  /// Whether the server said `connected`.
  var isConnected: Bool { connectedAt != nil }

  private var connectedAt: Instant? {
    if case .connected(let instant, _, _) = stage { instant } else { nil }
  }

  /// The server's version; the oldest one before it is known.
  var version: SessionVersion {
    if case .connected(_, let version, _) = stage { version } else { .oldest }
  }

  /// Whether the server has a feature and agreed to use it.
  func has(_ feature: SessionFeature) -> Bool {
    if case .connected(_, _, let features) = stage { features.contains(feature) } else { false }
  }

  /// Whether the server knows idempotency keys.
  var isIdempotent: Bool { has(.idempotency) }

  /// Notes that `connect` was sent.
  mutating func greet() { stage = .greeted }

  /// Notes that the server said `connected`.
  mutating func connect(
    _ version: SessionVersion, _ features: Set<SessionFeature>, at now: Instant
  ) {
    stage = .connected(at: now, version, features)
  }

  /// Notes that the server stops soon.
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

  /// Whether silence of the server proves nothing: the socket is not read, or a prompt is being
  /// uploaded.
  func isDeaf(at now: Instant) -> Bool {
    isPaused || upload.map { $0.deafUntil > now } ?? false
  }

  /// Notes that the server was heard.
  mutating func heard() { wasDeaf = false }

  /// Notes whether the socket is read.
  mutating func pause(_ isPaused: Bool) {
    self.isPaused = isPaused
    heard()
  }

  /// Counts a frame that could not be read; returns whether there were too many.
  mutating func countMalformed() -> Bool {
    malformed += 1
    heard()
    return malformed == SessionSettings.malformedLimit
  }

  /// Returns whether a difference of the clocks is reported, which happens once.
  mutating func reportsSkew(_ skew: Duration) -> Bool {
    let limit = SessionSettings.skewLimit
    guard !hasReportedSkew, skew > limit || skew < .zero - limit else { return false }
    hasReportedSkew = true
    return true
  }

  mutating func sendPing(_ id: UInt64, at now: Instant) {
    pings.append(Ping(id: id, sentAt: now))
  }

  /// Takes the answer to the oldest ping; returns its name, the round trip, and whether that is the
  /// first one.
  mutating func takePong(at now: Instant) -> (id: UInt64, roundTrip: Duration, isFirst: Bool)? {
    guard !pings.isEmpty else { return nil }
    let ping = pings.removeFirst()
    let isFirst = roundTrip == nil
    let sample = ping.sentAt.duration(to: now)
    roundTrip = sample
    return (ping.id, sample, isFirst)
  }

  // MARK: Prompts

  /// Whether an answer is awaited that can be large.
  var awaitsMuch: Bool { subscriptions.isWaiting || !sent.isEmpty }

  /// Notes that a prompt of so many bytes was sent.
  mutating func send(_ key: UUID128, bytes: Int, at now: Instant) {
    let time = Duration.seconds(bytes / SessionSettings.uploadRate)
    let grace = min(time + SessionSettings.uploadTime, SessionSettings.longestUpload)
    let deaf = wasDeaf ? .zero : min(time, SessionSettings.longestUpload)
    upload = Upload(
      key: key, until: now.advanced(by: grace), deafUntil: now.advanced(by: deaf))
    if deaf > .zero { wasDeaf = true }
    if time > .zero, large?.key != key {
      large = Large(key: key, until: now.advanced(by: SessionSettings.turnLimit))
    }
    sent.insert(key)
    expectAck(of: .prompt(key), at: now)
  }

  /// Notes that a prompt is to be sent again, or has ended.
  mutating func forgetSent(_ key: UUID128) { sent.remove(key) }

  /// Notes that the server has all of a prompt.
  mutating func endUpload(of key: UUID128) {
    if upload?.key == key { upload = nil }
    if large?.key == key { large = nil }
  }

  // MARK: Acks

  /// Whether something that earns an ack may be sent to a server without keys: that ack is then
  /// its own.
  var mayAsk: Bool { isIdempotent || awaited.isEmpty || askedUntil == nil }

  /// Whether an error that names nothing can only be about a prompt.
  func awaitsOnly(_ key: UUID128) -> Bool {
    awaited == [.prompt(key)] && !subscriptions.isWaiting && !hasAcknowledged
  }

  /// Notes that messages of the server were acknowledged.
  mutating func acknowledge() { hasAcknowledged = true }

  /// Notes that a size was reported to the server.
  mutating func report(size: Int, at now: Instant) {
    reportedSize = size
    expectAck(of: .size, at: now)
  }

  private mutating func expectAck(of one: Awaited, at now: Instant) {
    awaited.append(one)
    if !isIdempotent { askedUntil = now.advanced(by: SessionSettings.askTime) }
  }

  /// Notes that an ack is awaited no more.
  mutating func forget(_ one: Awaited) {
    awaited.removeAll { $0 == one }
    if awaited.isEmpty { (looseAcks, askedUntil) = (0, nil) }
  }

  /// Takes an ack that does not say what it is for; returns the prompts that it may belong to, and
  /// whether the server has all of them.
  mutating func takeAck() -> (prompts: [UUID128], isSure: Bool) {
    guard !awaited.isEmpty else { return ([], false) }
    // Those of prompts have their keys.
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

  /// When an upload, a subscription or the wait for an ack is over.
  var deadline: Instant? {
    [upload?.until, subscriptions.deadline, askedUntil].compactMap(\.self).min()
  }

  /// Ends the waits that are over; returns the conversations whose subscriptions were not answered,
  /// in order.
  mutating func expire(at now: Instant) -> [String] {
    if let upload, upload.until <= now { self.upload = nil }
    if let askedUntil, askedUntil <= now { self.askedUntil = nil }
    return subscriptions.expire(at: now, isIdempotent: isIdempotent)
  }
}

extension ServerConnection: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(
      isConnected
        || pings.isEmpty && awaited.isEmpty && upload == nil && sent.isEmpty
          && subscriptions.isEmpty,
      "server connection: nothing but connect is sent before connected")
    if let upload {
      check.require(sent.contains(upload.key), "server connection: what is uploaded was sent")
    }
    subscriptions.check(&check)
  }
}

/// What the device of a session last reported about its network and the app.
struct SessionDevice: Sendable, Hashable {
  /// Whether a login page of the network is in the way.
  var portal: PortalWatch
  /// The way out of the device, if it is known.
  private(set) var network: String?
  /// Whether the app is in background.
  private(set) var isInBackground = false

  init(_ policy: GatePolicy) { portal = PortalWatch(policy) }

  /// Takes a change that the device reports.
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
