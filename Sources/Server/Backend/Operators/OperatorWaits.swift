import HoldfastCore

/// The requests of operators that wait for checks of the stores and figures of the process.
///
/// They are answered together, when both have ended or after a short time: what operators ask must
/// not hang because a disk does.
struct OperatorWaits<Asked> {
  /// The maximum time that an answer waits. With it, an answer takes less than 1 s, which monitors
  /// and balancers allow at least.
  static var usualLimit: Duration { .milliseconds(500) }

  private let limit: Duration

  /// The time at which the requests are answered at the latest; `nil` if none waits.
  private(set) var deadline: Instant?
  private var waiting: [Asked] = []
  /// Whether figures are being read.
  private(set) var isReading = false

  init(limit: Duration = Self.usualLimit) { self.limit = limit }

  /// Adds a request. Returns whether to begin a reading of figures.
  mutating func add(_ asked: Asked, at now: Instant) -> Bool {
    waiting.append(asked)
    deadline = deadline ?? now.advanced(by: limit)
    defer { isReading = true }
    return !isReading
  }

  /// Ends the reading of figures.
  mutating func read() { isReading = false }

  /// Removes a request whose client has left.
  mutating func remove(where isGone: (Asked) -> Bool) {
    waiting.removeAll(where: isGone)
    if waiting.isEmpty { deadline = nil }
  }

  /// Returns the requests to answer now, and removes them.
  ///
  /// - Parameter isChecking: Whether checks of the stores are still running.
  mutating func due(at now: Instant, isChecking: Bool) -> [Asked] {
    guard let deadline, deadline <= now || !(isReading || isChecking) else { return [] }
    defer { (waiting, self.deadline) = ([], nil) }
    return waiting
  }
}
