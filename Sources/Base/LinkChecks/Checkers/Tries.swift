import HoldfastCore

/// A checker that detects series of attempts that do not end in standby. A new series may start
/// only after a stable link, valid data, or a new reason.
struct Tries<Feature: ObservedFeature>: LinkChecker {
  private(set) var found = Findings()
  /// The number of attempts since a link was last proven or there was a new reason to connect.
  private var count = 0
  private var last: Instant?
  /// The open connection and the time at which it opened.
  private var connection: (attempt: AttemptID, since: Instant)?
  /// Whether the current input is a loss that requires a jittered retry.
  private var isDropped = false
  /// The number of attempts in the same instant as a loss that requires a jittered retry.
  private var prompt = 0

  mutating func received(_ role: InputRole, isLate: Bool, _ phoneState: PhoneState<Feature>) {
    isDropped = false
    if role.isNewStart { count = 0 }
    guard !isLate else { return }
    switch role {
    case .opened(let attempt): connection = (attempt, phoneState.now)
    case .data:
      if phoneState.policy.retry.stability.provenByData { count = 0 }
    case .lost(let attempt, let failure):
      end(attempt, phoneState)
      isDropped = phoneState.policy.action(on: failure) == .retryJittered
    case .wanted, .left, .changed, .lifecycle, .trigger, .credentials, .draining, .received,
      .answered,
      .refused, .other:
      return
    }
  }

  mutating func ticked(_ phoneState: PhoneState<Feature>) { isDropped = false }

  mutating func requested(
    _ role: EffectRole, _ effect: Feature.Effect, _ phoneState: PhoneState<Feature>
  ) {
    switch role {
    case .open: tryOnce(phoneState)
    case .close(let attempt, _): end(attempt, phoneState)
    case .ping, .refreshCredentials, .request, .store, .notice, .signIn, .other: return
    }
  }

  mutating func handle(_ seen: Observation<Feature>, _ phoneState: PhoneState<Feature>) {
    guard case .launched = seen else { return }
    count = 0
    last = nil
    connection = nil
  }

  private mutating func end(_ attempt: AttemptID, _ phoneState: PhoneState<Feature>) {
    guard let stood = connection, stood.attempt == attempt else { return }
    connection = nil
    let time = stood.since.duration(to: phoneState.now)
    if time >= phoneState.policy.retry.stability.after { count = 0 }
  }

  private mutating func tryOnce(_ phoneState: PhoneState<Feature>) {
    if isDropped {
      prompt += 1
      if prompt > 1 {
        found.add(
          .storm, at: phoneState.now, "tried again at once when the server closed, not spread")
      }
    }
    count += 1
    defer { last = phoneState.now }
    let policy = phoneState.policy
    guard let allowed = policy.longestSeries, count > allowed, let last,
      last.duration(to: phoneState.now) < policy.restOfStandby
    else { return }
    found.add(.storm, at: phoneState.now, "try \(count) of a series that ends after \(allowed)")
    count = 0
  }
}

extension LinkPolicy {
  /// The maximum number of attempts without a new reason; `nil` if there is no limit.
  ///
  /// The attempts are the first attempt, those of its schedule, and one probe when the standby
  /// finds that the server is available again.
  fileprivate var longestSeries: Int? {
    guard let first = retry.first.attempts, let reconnect = retry.reconnect.attempts else {
      return nil
    }
    return max(first, reconnect) + 2
  }

  /// The minimum time between two attempts from standby. In this time, a poll must find that the
  /// server is available again.
  fileprivate var restOfStandby: Duration {
    switch standby {
    case .none: retry.maxRetryAfter
    case .poll(let poll): min(poll.interval, poll.probe) * (1 - poll.jitter)
    case .queuedConnect(let queue): queue.rearm
    }
  }
}
