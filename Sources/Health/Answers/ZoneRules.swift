public import LinkCore

/// What a time zone's clocks show and showed: a list of changes, given from outside.
public struct ZoneRules: Sendable, Hashable, Codable {
  /// Seconds east of UTC before the first change.
  public var initialSecondsEast: Int
  /// The changes, earliest first.
  public var transitions: [Transition]
  /// What people call the zone, such as `Europe/Berlin`.
  public var name: String?

  /// A moment at which the clocks are set.
  public struct Transition: Sendable, Hashable, Codable {
    /// From this moment on.
    public var at: Timestamp
    /// Seconds east of UTC.
    public var secondsEast: Int

    /// A change.
    public init(at: Timestamp, secondsEast: Int) {
      self.at = at
      self.secondsEast = secondsEast
    }
  }

  /// Rules; without changes and without a name by default.
  public init(initialSecondsEast: Int, transitions: [Transition] = [], name: String? = nil) {
    self.initialSecondsEast = initialSecondsEast
    self.transitions = transitions
    self.name = name
  }

  /// UTC.
  public static let utc = ZoneRules(initialSecondsEast: 0, name: "UTC")

  /// The name of the zone, or its offset at a moment, such as `UTC+01:00`.
  func title(at time: Timestamp) -> String {
    if let name { return name }
    let (hours, minutes) = abs(secondsEast(at: time) / 60).quotientAndRemainder(dividingBy: 60)
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "UTC\(secondsEast(at: time) < 0 ? "-" : "+")\(two(hours)):\(two(minutes))"
  }

  /// Seconds east of UTC at a moment.
  public func secondsEast(at time: Timestamp) -> Int {
    secondsEast(of: stretch(at: time))
  }

  /// What the clocks show at a moment.
  public func local(at time: Timestamp) -> CivilTime {
    CivilTime(nanoseconds: time.nanoseconds &+ nanosecondsEast(of: stretch(at: time)))
  }

  /// The moment of a reading: the first of two, and for one that is skipped, as far after the gap.
  public func instant(of reading: CivilTime) -> Timestamp {
    let (found, stretch) = reach(reading)
    if local(at: found) == reading || stretch == 0 { return found }
    // The clocks were set forward over it: they would have shown it by the old offset.
    return Timestamp(nanoseconds: reading.nanoseconds &- nanosecondsEast(of: stretch - 1))
  }

  /// The moment of a time as it was asked for.
  public func instant(of time: HealthTime) -> Timestamp {
    switch time {
    case .instant(let time, _): time
    case .local(let reading): instant(of: reading)
    }
  }

  /// The first moment at which the clocks show this reading or a later one.
  func first(showing reading: CivilTime) -> Timestamp {
    reach(reading).found
  }

  private func reach(_ reading: CivilTime) -> (found: Timestamp, stretch: Int) {
    // No offset is as much as 26 hours, so nothing before that can show it.
    let early = Timestamp(nanoseconds: reading.nanoseconds &- 26 * 3_600_000_000_000)
    var stretch = stretch(at: early)
    while true {
      let shown = Timestamp(
        nanoseconds: reading.nanoseconds &- nanosecondsEast(of: stretch))
      let found = stretch > 0 ? max(shown, transitions[stretch - 1].at) : shown
      if stretch == transitions.count || found < transitions[stretch].at {
        return (found, stretch)
      }
      stretch += 1
    }
  }

  /// How many changes came before or at a moment: the stretch in which it lies.
  func stretch(at time: Timestamp) -> Int {
    var low = 0
    var high = transitions.count
    while low < high {
      let middle = (low + high) / 2
      if transitions[middle].at <= time { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func nanosecondsEast(of stretch: Int) -> Int64 {
    Int64(secondsEast(of: stretch)) * 1_000_000_000
  }

  private func secondsEast(of stretch: Int) -> Int {
    stretch == 0 ? initialSecondsEast : transitions[stretch - 1].secondsEast
  }
}
