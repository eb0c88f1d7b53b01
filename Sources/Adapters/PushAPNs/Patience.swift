import LinkCore

/// Holds pushes back after the service could not take one, longer each time it still cannot.
struct Patience {
  /// Waits of 1, 2, 4… seconds up to 5 minutes, spread by a quarter; ours, Apple names none.
  static let schedule = Schedule.exponential(
    first: .seconds(1), factor: 2, cap: .seconds(300), jitter: 0.25, floor: .seconds(1),
    attempts: nil)
  /// The longest wish of the service that is obeyed.
  static let longestWish = Duration.seconds(3_600)

  private var chance: Chance
  private var failures = 0
  private var lastFailure: Instant?
  private var notBefore = Instant.zero

  init(chance: Chance) {
    self.chance = chance
  }

  /// How long nothing may be sent yet; `nil` when something may.
  func wait(at now: Instant) -> Duration? {
    now < notBefore ? now.duration(to: notBefore) : nil
  }

  /// Notes that what was sent at `sent` could not be taken, and says how long to wait now.
  ///
  /// What was under way together counts as one failure.
  mutating func failed(sent: Instant, at now: Instant, wish: Duration?) -> Duration {
    if lastFailure.map({ sent > $0 }) ?? true {
      let wait = Self.schedule.wait(before: failures, chance: &chance) ?? .seconds(300)
      failures += 1
      lastFailure = now
      notBefore = max(notBefore, now.advanced(by: wait))
    }
    if let wish { notBefore = max(notBefore, now.advanced(by: min(wish, Self.longestWish))) }
    return now.duration(to: notBefore)
  }

  /// What the service takes ends the waiting, unless it was sent before it last could not.
  mutating func succeeded(sent: Instant) {
    guard lastFailure.map({ sent > $0 }) ?? true else { return }
    (failures, lastFailure) = (0, nil)
  }
}

/// Devices that were pushed to too often, until when each is left alone.
struct Holds {
  /// A device that had too many is left alone this long, and up to as long again; ours.
  static let duration = Duration.seconds(30)
  /// Beyond it the one that would be over first is let go.
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
