import LinkCore

/// A link that is kept alive by a policy, told a second time (decisions 0001, 0014, and the
/// comments of `HeldLink` and of its policies).
///
/// What counts at the moment stands side by side in plain fields; where the link is says which of
/// them mean something.
struct LinkTwin: Twin {
  typealias Original = HeldLink
  typealias Effect = HeldLink.Effect

  static let name = "the link"

  /// Where a link is.
  enum Place: Sendable {
    case idle, held, settling, waiting, refreshing, preparing, opening, establishing, ready
    case resting, failed
  }

  /// A connection that stands.
  struct Line: Sendable {
    let generation: UInt64
    let since: Instant
    var provenAt: Instant?
    var pulse: LinkPulse
    var drain: Duration?
  }

  let policy: LinkPolicy
  var dice: LinkDice
  var keys: LinkKeys
  var pace: LinkPace
  var side: LinkSide
  var now = Instant.zero
  var out: [Effect] = []

  var wish = Wish.none
  var network: Reachability?
  var phase = Lifecycle.foreground
  var leavesAt: Instant?

  var place = Place.idle
  /// Why it is idle, rests or has failed.
  var reason: LinkStatus.Reason?
  /// What holds it.
  var hold = Obstacle.unreachable
  var run = LinkRun.first
  /// What a wait follows.
  var cause: LinkFailure?
  /// When a wait or a step of a try ends, and when the whole try.
  var until: Instant?
  var wholeUntil: Instant?
  var lastAttempt: UInt64 = 0
  var attempt: AttemptID?
  /// The credentials of the try.
  var generation: UInt64 = 0
  var line: Line?
  var shown = LinkStatus(phase: .disconnected)

  init(_ policy: LinkPolicy, seed: UInt64) {
    self.policy = policy
    dice = LinkDice(seed: seed)
    keys = LinkKeys(policy.gate)
    pace = LinkPace(policy.retry)
    side = LinkSide(policy)
  }

  // Steps.

  mutating func step(_ input: HeldLink.Input?, at now: Instant) -> [Effect] {
    (self.now, out) = (now, [])
    if let input {
      take(input)
    } else {
      while let deadline, deadline <= now { pass() }
    }
    keepQueue()
    if isSideAwake, let poll = side.takePoll(at: now) { out.append(.poll(poll)) }
    let status = status
    if status != shown { out.append(.status(status)) }
    shown = status
    return out
  }

  private mutating func pass() {
    let isOver = { (at: Instant?, now: Instant) in at.map { $0 <= now } ?? false }
    if isOver(leavesAt, now) { return leave() }
    if isOver(keysDue, now) { return passKeys() }
    if let line {
      let due = line.pulse.deadline
      if isOver(line.provenAt, now) || isOver(due, now) { return passLine() }
    } else if isOver(until, now) {
      return passPlace()
    }
    passSide()
  }

  func difference(from original: HeldLink, after input: HeldLink.Input?) -> String? {
    if original.status != shown { return "shows \(original.status), not \(shown)" }
    if original.isWanted != (wish != .none) { return "does not know what is wanted" }
    if original.currentAttempt != attempt { return "tries another attempt" }
    if original.queuedAttempt != side.queued { return "has queued another attempt" }
    if original.nextAttempt.number != lastAttempt + 1 { return "names attempts otherwise" }
    if original.policy != policy { return "has another policy" }
    var check = InvariantCheck(.thorough)
    original.check(&check)
    return check.broken.first.map { "breaks an invariant: \($0)" }
  }

  // What is waited for.

  var deadline: Instant? {
    var due = [leavesAt, keysDue, until, sideDue]
    if let line {
      // What no rule ends stands for ever.
      due.append(line.pulse.deadline ?? Instant(nanoseconds: .max))
      due.append(line.provenAt)
    }
    return due.compactMap(\.self).min()
  }

  /// Credentials are kept fresh while something is wanted and the app is in use.
  private var keysDue: Instant? {
    if place == .idle || place == .failed { return nil }
    return place == .held && hold == .background ? nil : keys.deadline
  }

  private var sideDue: Instant? {
    guard isSideAwake else { return nil }
    guard let polls = side.polls else { return side.rearmAt }
    let mayProbe = place == .resting && wish == .live && !isLeft
    return mayProbe ? min(polls.dueAt, polls.probeAt) : polls.dueAt
  }

  /// Whether what is armed may act: not behind a closed gate, nor beside a connection.
  var isSideAwake: Bool {
    switch place {
    case .idle, .held, .ready, .failed: false
    case .settling, .waiting, .refreshing, .preparing, .opening, .establishing, .resting: true
    }
  }

  /// Whether a try is under way.
  var isTrying: Bool { attempt != nil && line == nil }
  var isEnded: Bool { place == .idle || place == .failed }

  // What is in the way.

  var obstacle: Obstacle? {
    if network == .unreachable { return .unreachable }
    if network == .captivePortal { return .captivePortal }
    guard case .leave(_, let then) = policy.gate.background, phase == .background,
      leavesAt == nil
    else { return nil }
    switch then {
    case .hold, .idle: return .background
    case .standby: return nil
    }
  }

  /// Whether only the standby is left, in background.
  var isLeft: Bool {
    policy.leavesForStandby && phase == .background && leavesAt == nil
  }
}

extension LinkPolicy {
  /// Whether a link rests on its standby in background.
  var leavesForStandby: Bool {
    guard case .leave(_, then: .standby) = gate.background else { return false }
    return true
  }
}
