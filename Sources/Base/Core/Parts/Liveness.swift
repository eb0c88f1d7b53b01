/// The liveness of one established link: the last activity, outstanding pings and response times.
struct Liveness: Sendable, Hashable {
  /// The action that became due.
  enum Due: Sendable, Hashable {
    case ping(UInt64)
    case dead(LinkFailure.Phase)
    case idle(IdleRule.Then)
  }

  private let policy: LinkPolicy
  /// The instant at which the last byte was received.
  var lastReceived: Instant
  /// The instant at which valid application data was last received.
  var lastData: Instant
  var lastPing: Instant
  var outstanding: Ping?
  var nextPing: UInt64 = 1
  /// The number of unanswered pings in a row before the outstanding one.
  var missed = 0
  /// Whether an event may have cut the link. If so, a single unanswered ping ends the link.
  var needsVerification = false
  /// The smoothed round trip; `nil` before the first pong.
  private(set) var roundTrip: RoundTrip?

  struct Ping: Sendable, Hashable {
    var id: UInt64
    var sentAt: Instant
  }

  init(_ policy: LinkPolicy, at now: Instant) {
    self.policy = policy
    lastReceived = now
    lastData = now
    lastPing = now
  }

  mutating func received(at now: Instant) {
    lastReceived = now
    missed = 0
    needsVerification = false
  }

  mutating func data(at now: Instant) {
    received(at: now)
    lastData = now
  }

  mutating func pong(_ id: UInt64, at now: Instant) {
    received(at: now)
    guard let ping = outstanding, ping.id == id else { return }
    outstanding = nil
    let sample = ping.sentAt.duration(to: now)
    roundTrip = roundTrip?.adding(sample) ?? RoundTrip(first: sample)
  }

  /// Records that a ping is sent now, and returns its id. Returns `nil` if a ping is outstanding.
  mutating func probe(at now: Instant) -> UInt64? {
    guard outstanding == nil else { return nil }
    return ask(at: now)
  }

  /// Records a ping that verifies a link after an event that may have cut the link, and returns the
  /// ping's id.
  mutating func verify(at now: Instant) -> UInt64? {
    needsVerification = true
    return probe(at: now)
  }

  private mutating func ask(at now: Instant) -> UInt64 {
    let id = nextPing
    nextPing += 1
    outstanding = Ping(id: id, sentAt: now)
    lastPing = now
    return id
  }

  /// The time allowed for the next pong.
  var pongTimeout: Duration {
    let second = min(1, policy.liveness.pongTries - 1)
    return policy.liveness.pongTimeout(
      missed: needsVerification ? max(missed, second) : missed, roundTrip: roundTrip?.expected)
  }

  /// The quality of the link, derived from the response time and the number of unanswered pings.
  var quality: LinkQuality {
    let expected = roundTrip?.expected ?? .zero
    if expected > .seconds(2) || missed > 1 { return .poor }
    return expected > .milliseconds(600) || missed == 1 ? .degraded : .good
  }

  var deadline: Instant {
    Instant.earlier(
      Instant.earlier(silenceEnds, pongDue), Instant.earlier(idleEnds, pingDue))
      ?? Instant(nanoseconds: .max)
  }

  /// Returns the most severe action that is due at `now`.
  ///
  /// If the action is a ping, the ping is recorded as sent.
  mutating func due(at now: Instant) -> Due? {
    if let at = silenceEnds, at <= now { return .dead(.silence) }
    if let at = pongDue, at <= now {
      guard !needsVerification, missed + 1 < policy.liveness.pongTries else { return .dead(.pong) }
      missed += 1
      return .ping(ask(at: now))
    }
    if let at = idleEnds, at <= now, let idle = policy.liveness.idle { return .idle(idle.then) }
    if let at = pingDue, at <= now { return probe(at: now).map { .ping($0) } }
    return nil
  }

  var silenceEnds: Instant? {
    policy.liveness.silence.map { lastReceived.advanced(by: $0) }
  }

  /// The instant at which the pong is overdue. A byte received after the ping is as good a sign of
  /// life as the pong.
  var pongDue: Instant? {
    outstanding.map { max($0.sentAt, lastReceived).advanced(by: pongTimeout) }
  }

  var idleEnds: Instant? {
    policy.liveness.idle.map { lastData.advanced(by: $0.after) }
  }

  var pingDue: Instant? {
    guard outstanding == nil else { return nil }
    return policy.liveness.ping(in: quality).map { lastPing.advanced(by: $0) }
  }
}

extension Liveness: SelfChecking {
  func check(_ check: inout InvariantCheck) {
    check.require(lastData <= lastReceived, "liveness: data is not newer than the last byte")
    check.require(
      missed == 0 || outstanding != nil, "liveness: another ping follows an unanswered one")
    if let outstanding {
      check.require(outstanding.id < nextPing, "liveness: the outstanding ping was numbered")
      check.require(outstanding.sentAt == lastPing, "liveness: the outstanding ping is the last")
    }
  }
}

/// A smoothed round trip and its variation (RFC 6298 section 2).
struct RoundTrip: Sendable, Hashable {
  var smoothed: Duration
  var variation: Duration

  init(first sample: Duration) {
    smoothed = sample
    variation = sample / 2
  }

  func adding(_ sample: Duration) -> RoundTrip {
    var next = self
    let error = smoothed > sample ? smoothed - sample : sample - smoothed
    next.variation = (variation * 3 + error) / 4
    next.smoothed = (smoothed * 7 + sample) / 8
    return next
  }

  /// The expected response time, with a margin for variation.
  var expected: Duration { smoothed + variation * 4 }
}

/// The quality of a connection, by the response times of the peer.
public enum LinkQuality: String, Sendable, Hashable, Codable {
  case good
  case degraded
  case poor
}
