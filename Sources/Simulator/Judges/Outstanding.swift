import LinkCore
import MessageStream

/// Something is always outstanding while the link is wanted, and what falls due is done in time.
struct Outstanding {
  private(set) var found = Findings()
  private var before: Moment?
  private var awakeSince = Instant.zero
  /// Since when it is held back by what is not so.
  private var heldSince: Instant?
  /// The deadline at which it was suspended.
  private var sleeping: Instant??
  /// What happens now asks for something, which is under way from now on.
  private var asks = false
  /// A finding tells of a state, not of every moment in it.
  private var isTold = false

  /// How things stood.
  private struct Moment: Sendable {
    var now: Instant
    var deadline: Instant?
    var isAwake: Bool
    var isIdle: Bool
  }

  init() {}
}

extension Outstanding: Watch {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    lapse(until: facts.now)
  }

  mutating func ticked(_ facts: Facts) {
    lapse(until: facts.now)
    guard let deadline = facts.deadline, deadline <= facts.now else { return }
    tell(facts.now, "was woken, and its deadline did not move")
  }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .open, .refreshCredentials, .fetch, .post, .load, .commit, .readOlder: asks = true
    case .close, .ping, .update: return
    }
  }

  mutating func met(_ happening: Happening, _ facts: Facts) {
    switch happening {
    case .launched, .killed:
      before = nil
      heldSince = nil
      sleeping = nil
      isTold = false
      awakeSince = facts.now
    case .suspended: sleeping = .some(facts.deadline)
    case .resumed:
      awakeSince = facts.now
      if let sleeping, sleeping != facts.deadline {
        tell(facts.now, "its deadline moved while it was suspended")
      }
      sleeping = nil
    case .told, .ticked, .stored, .accepted, .beganAnew, .upgraded, .serverLost, .wentDead,
      .began, .ended, .calm:
      lapse(until: facts.now)
    }
  }

  mutating func settled(_ facts: Facts) {
    let isIdle = facts.isIdle && !asks
    asks = false
    if !isIdle, before?.isIdle ?? false { isTold = false }
    before = Moment(
      now: facts.now, deadline: facts.deadline, isAwake: facts.isAwake, isIdle: isIdle)
    guard facts.isHeldInVain else {
      heldSince = nil
      return
    }
    let since = heldSince ?? facts.now
    heldSince = since
    if since.advanced(by: facts.settings.policy.gate.settle) < facts.now {
      tell(facts.now, "is held back by what is not so: \(facts.status.words)")
    }
  }

  /// The run is over.
  mutating func conclude(_ facts: Facts) { lapse(until: facts.now) }

  /// Time passed since the last thing happened.
  private mutating func lapse(until now: Instant) {
    guard let before, before.isAwake, before.now < now else { return }
    if before.isIdle { tell(before.now, "is wanted, and nothing is outstanding") }
    if let deadline = before.deadline, max(deadline, awakeSince) < now {
      tell(now, "its deadline passed, and it was not woken")
    }
  }

  private mutating func tell(_ now: Instant, _ detail: @autoclosure () -> String) {
    if !isTold { found.add(.stuck, at: now, detail()) }
    isTold = true
  }
}

extension Facts {
  /// Wanted, and nothing would ever happen again, although nothing is in the way and no answer
  /// ended it.
  fileprivate var isIdle: Bool {
    deadline == nil && mayWork && currentAttempt == nil && underWay == 0 && !storeFails
      && status.phase != .failed
  }

  fileprivate var isHeldInVain: Bool { status.phase == .held && mayWork }

  private var mayWork: Bool { isWanted && isAwake && isReachable && isSignedIn }
}

extension LinkStatus {
  /// For people: where it stands and why.
  var words: String {
    guard let reason else { return phase.rawValue }
    return "\(phase.rawValue), \(reason)"
  }
}
