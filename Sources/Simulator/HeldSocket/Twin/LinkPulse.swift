import LinkCore

/// The signs of life of a connection, told a second time.
struct LinkPulse: Sendable {
  /// What is due of a connection.
  enum Due: Sendable, Equatable {
    case ping(UInt64)
    case dead(LinkFailure.Phase)
    case idle(IdleRule.Then)
  }

  private let policy: LivenessPolicy
  private(set) var heardAt: Instant
  private var dataAt: Instant
  private var askedAt: Instant
  private var question: UInt64?
  private var questions: UInt64 = 0
  private var missed = 0
  private var isSuspect = false
  /// How long an answer takes, and how much that varies.
  private var pace: (mean: Duration, spread: Duration)?

  init(_ policy: LivenessPolicy, at now: Instant) {
    self.policy = policy
    (heardAt, dataAt, askedAt) = (now, now, now)
  }

  mutating func heard(at now: Instant) { (heardAt, missed, isSuspect) = (now, 0, false) }

  mutating func data(at now: Instant) {
    heard(at: now)
    dataAt = now
  }

  mutating func pong(_ id: UInt64, at now: Instant) {
    heard(at: now)
    guard question == id else { return }
    question = nil
    let took = askedAt.duration(to: now)
    guard let (mean, spread) = pace else {
      pace = (took, took / 2)
      return
    }
    let off = took < mean ? mean - took : took - mean
    pace = ((mean * 7 + took) / 8, (spread * 3 + off) / 4)
  }

  mutating func suspect(at now: Instant) -> UInt64? {
    isSuspect = true
    return question == nil ? ask(at: now) : nil
  }

  private mutating func ask(at now: Instant) -> UInt64 {
    questions += 1
    (question, askedAt) = (questions, now)
    return questions
  }

  /// How long an answer takes at worst, as far as that is known.
  private var expected: Duration {
    guard let (mean, spread) = pace else { return .zero }
    return mean + spread * 4
  }

  var quality: LinkQuality {
    if missed >= 2 || expected > .milliseconds(2_000) { return .poor }
    return missed == 1 || expected > .milliseconds(600) ? .degraded : .good
  }

  // What is due.

  private var silentAt: Instant? { policy.silence.map { heardAt.advanced(by: $0) } }
  private var idleAt: Instant? { policy.idle.map { dataAt.advanced(by: $0.after) } }

  private var deafAt: Instant? {
    guard question != nil else { return nil }
    var slack = missed
    // A suspect is asked once, as the second time.
    if isSuspect, missed == 0, policy.pongTries > 1 { slack = 1 }
    let (step, trips) = (policy.pongTimeout, policy.pongRoundTrips)
    let usual = expected * trips > step ? expected * trips : step
    let patience = usual + step * slack
    return (askedAt > heardAt ? askedAt : heardAt)
      .advanced(by: patience > step * trips ? step * trips : patience)
  }

  private var pingAt: Instant? {
    guard question == nil, let ping = policy.ping else { return nil }
    var wait = ping
    var rare = policy.degradedPing
    if quality == .poor, let poor = policy.poorPing { rare = poor }
    if quality != .good, let rare, rare > ping {
      if let silence = policy.silence, rare >= silence {} else { wait = rare }
    }
    return askedAt.advanced(by: wait)
  }

  var deadline: Instant? { [silentAt, deafAt, idleAt, pingAt].compactMap(\.self).min() }

  /// What is due, the gravest first.
  mutating func due(at now: Instant) -> Due? {
    if let silentAt, now >= silentAt { return .dead(.silence) }
    if let deafAt, now >= deafAt {
      if isSuspect || missed + 1 >= policy.pongTries { return .dead(.pong) }
      missed += 1
      return .ping(ask(at: now))
    }
    if let idleAt, now >= idleAt, let then = policy.idle?.then { return .idle(then) }
    if let pingAt, now >= pingAt { return .ping(ask(at: now)) }
    return nil
  }
}
