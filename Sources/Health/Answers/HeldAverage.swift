import LinkCore

/// The average over time of readings that come in order of time.
///
/// Each reading counts for the time to the next one, at most 10 minutes; of those of one moment
/// their mean counts. A plain mean would tell the heart rate of workouts, in which a watch measures
/// every few seconds.
struct HeldAverage: Sendable, Hashable {
  /// How long a reading counts at the most, in nanoseconds; ours, twice as long as a watch at rest
  /// commonly waits.
  private static let longest = 600e9

  /// The moment at hand, and the sum and the number of its readings.
  private var moment: Timestamp?
  private var sum = 0.0
  private var count = 0.0
  /// What was before: means, each times its length, and all lengths, both in units of `longest`.
  private var total = 0.0
  private var length = 0.0
  /// The mean of the last moment.
  private var last: Double?

  /// The average of what was ended, or what counted for no time at all; `nil` for nothing.
  var average: Double? { length > 0 ? total / length : last }

  mutating func take(_ value: Double, at time: Timestamp) {
    if moment != time {
      end(at: time)
      (moment, sum, count) = (time, 0, 0)
    }
    sum += value
    count += 1
  }

  /// Lets the last reading count until `time`, and no longer.
  mutating func end(at time: Timestamp) {
    guard let moment else { return }
    let share = min(max(0, moment.distance(to: time)), Self.longest) / Self.longest
    last = sum / count
    total += sum / count * share
    length += share
    self.moment = nil
  }

  /// Adds what another one has ended.
  mutating func add(_ other: HeldAverage) {
    total += other.total
    length += other.length
  }
}
