public import HoldfastCore

/// The offsets of a time zone, as a list of changes. The caller provides the list.
public struct ZoneRules: Sendable, Hashable, Codable {
  /// The offset before the first change, in seconds east of UTC.
  public var initialSecondsEast: Int
  /// The changes, earliest first.
  public var transitions: [Transition]
  /// The common name of the zone, such as `Europe/Berlin`.
  public var name: String?

  /// A change of the offset.
  public struct Transition: Sendable, Hashable, Codable {
    /// The time from which the offset applies.
    public var at: Timestamp
    /// The offset, in seconds east of UTC.
    public var secondsEast: Int

    /// Creates a change.
    public init(at: Timestamp, secondsEast: Int) {
      self.at = at
      self.secondsEast = secondsEast
    }
  }

  /// Creates rules. By default, they have no changes and no name.
  public init(initialSecondsEast: Int, transitions: [Transition] = [], name: String? = nil) {
    self.initialSecondsEast = initialSecondsEast
    self.transitions = transitions
    self.name = name
  }

  /// The rules of UTC.
  public static let utc = ZoneRules(initialSecondsEast: 0, name: "UTC")

  /// Returns the name of the zone or, if it has none, its offset at a time, such as `UTC+01:00`.
  func title(at time: Timestamp) -> String {
    if let name { return name }
    let (hours, minutes) = abs(secondsEast(at: time) / 60).quotientAndRemainder(dividingBy: 60)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "UTC\(secondsEast(at: time) < 0 ? "-" : "+")\(two(hours)):\(two(minutes))"
  }

  /// Returns the offset at a time, in seconds east of UTC.
  public func secondsEast(at time: Timestamp) -> Int {
    secondsEast(of: interval(at: time))
  }

  /// Returns the local time that corresponds to a time.
  public func local(at time: Timestamp) -> CivilTime {
    CivilTime(nanoseconds: time.nanoseconds &+ nanosecondsEast(of: interval(at: time)))
  }

  /// Returns the time that corresponds to a local time. If the local time occurs twice, this is the
  /// first time. If clocks skip the local time, it is a time after the gap.
  public func instant(of reading: CivilTime) -> Timestamp {
    let (found, interval) = reach(reading)
    if local(at: found) == reading || interval == 0 { return found }
    // Clocks skip this local time, so the offset before the change applies.
    return Timestamp(nanoseconds: reading.nanoseconds &- nanosecondsEast(of: interval - 1))
  }

  /// Returns the time that corresponds to a requested time.
  public func instant(of time: HealthTime) -> Timestamp {
    switch time {
    case .instant(let time, _): time
    case .local(let reading): instant(of: reading)
    }
  }

  /// Returns the earliest time at which clocks show this local time or a later one.
  func first(showing reading: CivilTime) -> Timestamp {
    reach(reading).found
  }

  private func reach(_ reading: CivilTime) -> (found: Timestamp, interval: Int) {
    // All offsets are below 26 hours, so clocks cannot show this local time any earlier.
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

  /// Returns the number of changes at or before a time. This is the index of the interval between
  /// changes that contains it.
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
