import HoldfastCore

/// The times at which a node compares the heads of its rooms with the log.
///
/// A report that was lost is made good by the next comparison.
struct HeadChecks: Sendable {
  private let interval: Duration
  private let intervalAlone: Duration
  private var due: Instant
  private var isUnderWay = false
  private var isConnected = false

  /// Creates the schedule of a node that receives no reports yet.
  init(interval: Duration, alone: Duration, at now: Instant) {
    (self.interval, intervalAlone, due) = (interval, alone, now)
  }

  /// The time of the next comparison; `nil` while one is under way.
  var deadline: Instant? { isUnderWay ? nil : due }

  /// Records whether reports arrive, and plans a comparison: what was reported before is unknown.
  mutating func connected(_ isConnected: Bool, at now: Instant) {
    self.isConnected = isConnected
    due = now
  }

  /// Plans a comparison.
  mutating func plan(at now: Instant) { due = now }

  /// Begins a comparison if one is due. Returns false if none is.
  mutating func begin(at now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    due = now.advanced(by: isConnected ? interval : intervalAlone)
    return true
  }

  /// Records that the log was asked.
  mutating func ask() { isUnderWay = true }

  /// Records that the log has answered, or failed.
  mutating func end() { isUnderWay = false }
}
