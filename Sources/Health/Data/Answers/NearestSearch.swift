import HoldfastCore

/// The search for the last value of each type before a time, however old it is.
///
/// It reads back in spans of increasing length, and ends when each type has a value.
struct NearestSearch: Sendable {
  /// The length of the first span in days. Each further span is twice as long. The length is
  /// Holdfast's own: most types are measured at least once a month.
  private static let firstDays = 32
  /// The greatest length of a span in days. The span after it reaches back to the oldest time.
  private static let mostDays = 1 << 16

  /// The names of the types that have no value yet.
  private(set) var missing: Set<String>
  /// The number of days before the end at which the span that was read last begins.
  private var days = 0
  private var isOver = false

  init(_ types: [String]) { missing = Set(types) }

  /// Removes the types that have a value.
  mutating func found(_ points: [TimedPoint]) {
    missing.subtract(points.map(\.point.type))
    // A night of which only the time in bed is known has a type of its own.
    if points.contains(where: { $0.point.sleep != nil }) { missing.remove(HealthKind.sleepType) }
  }

  /// Returns the next span to read, or `nil` when the search is over.
  ///
  /// - Parameters:
  ///   - end: The time before which values are looked for.
  ///   - oldest: The first time that can be asked for.
  mutating func next(before end: HealthTime, oldest: Timestamp, in zone: ZoneRules) -> QuerySpan? {
    let to = end.moved(byDays: -days)
    guard !missing.isEmpty, !isOver, zone.instant(of: to) > oldest else { return nil }
    days = days == 0 ? Self.firstDays : days * 2
    if days <= Self.mostDays {
      let from = end.moved(byDays: -days)
      if zone.instant(of: from) > oldest { return QuerySpan(start: from, end: to) }
    }
    isOver = true
    return QuerySpan(start: end.like(oldest, in: zone), end: to)
  }
}

extension HealthTime {
  /// Returns the time a number of days later by the calendar, in the same form.
  fileprivate func moved(byDays days: Int) -> HealthTime {
    let (shift, overflow) = Int64(days).multipliedReportingOverflow(
      by: CivilTime.nanosecondsPerDay)
    func moved(_ nanoseconds: Int64) -> Int64 {
      let (sum, sumOverflow) = nanoseconds.addingReportingOverflow(shift)
      return overflow || sumOverflow ? (days < 0 ? .min : .max) : sum
    }
    switch self {
    case .local(let time):
      return .local(CivilTime(nanoseconds: moved(time.nanoseconds)))
    case .instant(let time, let minutes):
      return .instant(
        Timestamp(nanoseconds: moved(time.nanoseconds)), minutesEast: minutes)
    }
  }

  /// Returns an instant in the same form as this time.
  fileprivate func like(_ time: Timestamp, in zone: ZoneRules) -> HealthTime {
    switch self {
    case .local: .local(zone.local(at: time))
    case .instant(_, let minutes): .instant(time, minutesEast: minutes)
    }
  }
}
