import LinkCore
import MessageStream

/// A series of tries ends in standby: only a link that stood, valid data, or something new starts
/// another one.
struct Tries {
  private(set) var found = Findings()
  /// Tries since a link last proved itself or something new came.
  private var count = 0
  private var last: Instant?
  /// The connection that stands, and since when.
  private var standing: (attempt: AttemptID, since: Instant)?
  /// The loss that is just told asks for a spread retry.
  private var isDropped = false
  /// How often a try followed such a loss in the same instant.
  private var prompt = 0

  init() {}
}

extension Tries: Watch {
  mutating func told(_ input: StreamModel.Input, isLate: Bool, _ facts: Facts) {
    isDropped = false
    if input.isNewStart { count = 0 }
    guard !isLate else { return }
    switch input {
    case .opened(let attempt, _, _): standing = (attempt, facts.now)
    case .frame(_, .message):
      if facts.settings.policy.retry.stability.provenByData { count = 0 }
    case .lost(let attempt, let failure):
      end(attempt, facts)
      isDropped = facts.settings.policy.verdict(on: failure) == .retrySpread
    case .open, .close, .realtime, .refresh, .reader, .user, .loadOlder, .send, .retry, .discard,
      .reachability,
      .lifecycle, .woke, .credentials, .frame, .ping, .pong, .oversized, .fetched, .fetchFailed,
      .posted, .postFailed, .loaded, .loadFailed, .committed, .commitFailed, .older, .olderFailed:
      return
    }
  }

  mutating func ticked(_ facts: Facts) { isDropped = false }

  mutating func asked(_ effect: StreamModel.Effect, _ facts: Facts) {
    switch effect {
    case .open: tryOnce(facts)
    case .close(let attempt, _): end(attempt, facts)
    case .ping, .refreshCredentials, .fetch, .post, .load, .commit, .readOlder, .update: return
    }
  }

  mutating func met(_ happening: Happening, _ facts: Facts) {
    guard case .launched = happening else { return }
    count = 0
    last = nil
    standing = nil
  }

  private mutating func end(_ attempt: AttemptID, _ facts: Facts) {
    guard let stood = standing, stood.attempt == attempt else { return }
    standing = nil
    let time = stood.since.duration(to: facts.now)
    if time >= facts.settings.policy.retry.stability.after { count = 0 }
  }

  private mutating func tryOnce(_ facts: Facts) {
    if isDropped {
      prompt += 1
      if prompt > 1 {
        found.add(.storm, at: facts.now, "tried again at once when the server closed, not spread")
      }
    }
    count += 1
    defer { last = facts.now }
    let policy = facts.settings.policy
    guard let allowed = policy.longestSeries, count > allowed, let last,
      last.duration(to: facts.now) < policy.restOfStandby
    else { return }
    found.add(.storm, at: facts.now, "try \(count) of a series that ends after \(allowed)")
    count = 0
  }
}

extension LinkPolicy {
  /// The most tries without a new reason: the free first one, its schedule, and one probe when the
  /// standby finds the server back; `nil` without end.
  fileprivate var longestSeries: Int? {
    guard let first = retry.first.attempts, let reconnect = retry.reconnect.attempts else {
      return nil
    }
    return max(first, reconnect) + 2
  }

  /// The least time between two tries out of standby: a poll must find the server back.
  fileprivate var restOfStandby: Duration {
    switch standby {
    case .none: retry.longestWish
    case .poll(let poll): min(poll.interval, poll.probe) * (1 - poll.jitter)
    case .queuedConnect(let rearm): rearm
    }
  }
}
