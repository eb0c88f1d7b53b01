/// A device's wall clock, set at one instant and advanced with the monotonic clock.
///
/// It provides dates for display. Deadlines are instants.
package struct WallClock: Sendable, Hashable {
  private var wall = Timestamp(nanoseconds: 0)
  private var instant = Instant.zero

  /// Creates a clock that shows 1970-01-01T00:00:00Z at `Instant.zero`, until it is set.
  package init() {}

  /// Creates a clock that shows a time at an instant.
  package init(_ wall: Timestamp, at instant: Instant) {
    (self.wall, self.instant) = (wall, instant)
  }

  /// Sets the clock to the time that a device showed at an instant.
  package mutating func set(_ wall: Timestamp, at instant: Instant) {
    self = WallClock(wall, at: instant)
  }

  /// Returns the time at an instant.
  package func time(at now: Instant) -> Timestamp { wall.advanced(by: instant.duration(to: now)) }
}
