public import LinkCore

/// The one source of time: a clock that counts through sleep, and the wall clock beside it.
public protocol LinkClock: Sendable {
  /// This moment; never goes back.
  var now: Instant { get }

  /// The wall clock's time, for stamps only: it may jump.
  var wall: Timestamp { get }

  /// Returns when `now` is at or past `deadline`, never before.
  ///
  /// - Throws: `CancellationError` when the task is cancelled first, also for a past deadline.
  func wait(until deadline: Instant) async throws(CancellationError)
}
