import LinkCore

/// The readings of one moment, by which one that several sources report is recognized: an app that
/// copies another one's counts once.
///
/// Samples must come in order of time.
struct SameReadings: Sendable, Hashable {
  private var time: Timestamp?
  private var values: Set<Double> = []

  /// Notes a reading; returns whether it is the first one of its value and moment.
  mutating func isFirst(_ value: Double, at time: Timestamp) -> Bool {
    if self.time != time { (self.time, values) = (time, []) }
    return values.insert(value).inserted
  }
}
