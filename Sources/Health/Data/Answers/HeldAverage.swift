import HoldfastCore

/// The average over time of readings that arrive in chronological order.
///
/// Each reading is weighted by the time to the next one, at most 10 minutes. Readings at the same
/// instant count as their mean. A plain mean would mostly reflect the heart rate during workouts,
/// in which a watch measures every few seconds.
struct HeldAverage: Sendable, Hashable {
  /// The maximum weight of a reading, in nanoseconds. The value is Holdfast's own. It is twice the
  /// interval at which a watch commonly measures at rest.
  private static let longest = 600e9

  /// The current instant. `sum` and `count` are the sum and the number of its readings.
  private var moment: Timestamp?
  private var sum = 0.0
  private var count = 0.0
  /// The weighted sum of all means before the current instant. `length` is the sum of the weights.
  /// Both are in units of `longest`.
  private var total = 0.0
  private var length = 0.0
  /// The mean of the last instant.
  private var last: Double?

  /// The average of the ended readings. It is the last mean if all weights are zero, or `nil` if
  /// there are no readings.
  var average: Double? { length > 0 ? total / length : last }

  mutating func take(_ value: Double, at time: Timestamp) {
    if moment != time {
      end(at: time)
      (moment, sum, count) = (time, 0, 0)
    }
    sum += value
    count += 1
  }

  /// Ends the last reading at `time`.
  mutating func end(at time: Timestamp) {
    guard let moment else { return }
    let share = min(max(0, moment.distance(to: time)), Self.longest) / Self.longest
    last = sum / count
    total += sum / count * share
    length += share
    self.moment = nil
  }

  /// Adds the ended readings of another average.
  mutating func add(_ other: HeldAverage) {
    total += other.total
    length += other.length
  }
}
