public import LinkCore

/// The offsets of a time zone as a list of changes, provided by the caller.
public struct ZoneRules: Sendable, Hashable, Codable {
  /// Seconds east of UTC before the first change.
  public var initialSecondsEast: Int
  /// The changes, earliest first.
  public var transitions: [Transition]
  /// The common name of the zone, such as `Europe/Berlin`.
  public var name: String?

  /// A moment at which the offset changes.
  public struct Transition: Sendable, Hashable, Codable {
    /// The moment from which the offset applies.
    public var at: Timestamp
    /// The offset, in seconds east of UTC.
    public var secondsEast: Int

    /// Creates a change.
    public init(at: Timestamp, secondsEast: Int) {
      self.at = at
      self.secondsEast = secondsEast
    }
  }

  /// Creates rules. By default they have no changes and no name.
  public init(initialSecondsEast: Int, transitions: [Transition] = [], name: String? = nil) {
    self.initialSecondsEast = initialSecondsEast
    self.transitions = transitions
    self.name = name
  }

  /// The rules of UTC.
  public static let utc = ZoneRules(initialSecondsEast: 0, name: "UTC")

  /// Returns the name of the zone, or its offset at a moment, such as `UTC+01:00`.
  func title(at time: Timestamp) -> String {
    if let name { return name }
    let (hours, minutes) = abs(secondsEast(at: time) / 60).quotientAndRemainder(dividingBy: 60)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "UTC\(secondsEast(at: time) < 0 ? "-" : "+")\(two(hours)):\(two(minutes))"
  }

  /// Returns the offset at a moment, in seconds east of UTC.
  public func secondsEast(at time: Timestamp) -> Int {
    secondsEast(of: interval(at: time))
  }

  /// Returns the local time at a moment.
  public func local(at time: Timestamp) -> CivilTime {
    CivilTime(nanoseconds: time.nanoseconds &+ nanosecondsEast(of: interval(at: time)))
  }

  /// Returns the moment of a local time: the first of two, or a moment after the gap for a local
  /// time that is skipped.
  public func instant(of reading: CivilTime) -> Timestamp {
    let (found, interval) = reach(reading)
    if local(at: found) == reading || interval == 0 { return found }
    // The clocks skipped this local time, so the offset before the change applies.
    return Timestamp(nanoseconds: reading.nanoseconds &- nanosecondsEast(of: interval - 1))
  }

  /// Returns the moment of a requested time.
  public func instant(of time: HealthTime) -> Timestamp {
    switch time {
    case .instant(let time, _): time
    case .local(let reading): instant(of: reading)
    }
  }

  /// Returns the first moment at which the clocks show this local time or a later one.
  func first(showing reading: CivilTime) -> Timestamp {
    reach(reading).found
  }

  private func reach(_ reading: CivilTime) -> (found: Timestamp, interval: Int) {
    // No offset reaches 26 hours, so no earlier moment can show this local time.
    let early = Timestamp(nanoseconds: reading.nanoseconds &- 26 * 3_600_000_000_000)
    var interval = interval(at: early)
    while true {
      let shown = Timestamp(
        nanoseconds: reading.nanoseconds &- nanosecondsEast(of: interval))
      let found = interval > 0 ? max(shown, transitions[interval - 1].at) : shown
      if interval == transitions.count || found < transitions[interval].at {
        return (found, interval)
      }
      interval += 1
    }
  }

  /// Returns the number of changes before or at a moment, which is the index of its interval.
  func interval(at time: Timestamp) -> Int {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle].at <= time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func nanosecondsEast(of interval: Int) -> Int64 {
    Int64(secondsEast(of: interval)) * 1_000_000_000
  }

  private func secondsEast(of interval: Int) -> Int {
    interval == 0 ? initialSecondsEast : transitions[interval - 1].secondsEast
  }
}
