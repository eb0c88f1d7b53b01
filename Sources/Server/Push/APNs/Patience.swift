import HoldfastCore

/// The back-off of all pushes after the service has failed to accept one. It grows with each
/// failure.
struct Patience {
  /// The waits: 1, 2, 4… seconds, up to 5 minutes, with a jitter of a quarter. Apple specifies no
  /// values.
  static let schedule = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(300), jitter: 0.25, floor: .seconds(1),
    attempts: nil)
  /// The maximum retry-after from the service that is honored.
  static let maxRetryAfter = Duration.seconds(3_600)

  private var generator: RandomSource
  private var failures = 0
  private var lastFailure: Instant?
  private var notBefore = Instant.zero

  init(generator: RandomSource) {
    self.generator = generator
  }

  /// Returns the remaining wait; `nil` if a push may be sent.
  func wait(at now: Instant) -> Duration? {
    now < notBefore ? now.duration(to: notBefore) : nil
  }

  /// Records that a push sent at `sent` was not accepted. Returns the remaining wait.
  ///
  /// Failures of pushes that were in progress at the same time count as one failure.
  mutating func failed(sent: Instant, at now: Instant, retryAfter: Duration?) -> Duration {
    if lastFailure.map({ sent > $0 }) ?? true {
      let wait = Self.schedule.wait(before: failures, generator: &generator) ?? .seconds(300)
      failures += 1
      lastFailure = now
      notBefore = max(notBefore, now.advanced(by: wait))
    }
    if let retryAfter {
      notBefore = max(notBefore, now.advanced(by: min(retryAfter, Self.maxRetryAfter)))
    }
    return now.duration(to: notBefore)
  }

  /// Ends the back-off after an accepted push, unless the push was sent before the last failure.
  mutating func succeeded(sent: Instant) {
    guard lastFailure.map({ sent > $0 }) ?? true else { return }
    (failures, lastFailure) = (0, nil)
  }
}

/// The devices that received too many pushes, each with the time until which no push is sent to it.
struct Holds {
  /// The time for which a device receives no pushes. A jitter of up to the same time is added.
  /// Apple specifies no value.
  static let duration = Duration.seconds(30)
  /// The maximum number of devices. Above it, the device whose hold ends first is removed.
  static let limit = 1_000

  private var ends: [String: Instant] = [:]

  func wait(_ token: String, at now: Instant) -> Duration? {
    guard let end = ends[token], now < end else { return nil }
    return now.duration(to: end)
  }

  mutating func hold(_ token: String, until end: Instant, at now: Instant) {
    if ends.count >= Self.limit, ends[token] == nil {
      ends = ends.filter { $0.value > now }
      if ends.count >= Self.limit, let first = ends.min(by: { $0.value < $1.value }) {
        ends[first.key] = nil
      }
    }
    ends[token] = end
  }
}
