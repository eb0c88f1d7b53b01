import HoldfastCore

/// A span of the calendar.
struct Bucket: Sendable, Hashable {
  /// The start of the calendar span.
  var start: Timestamp
  /// The start of the next span.
  var end: Timestamp
  /// The interval whose samples belong to the span. It can be shifted relative to the span.
  var members: Range<Timestamp>
}

/// The calendar of one time zone, divided into hours, days, weeks from Monday, months, or years.
///
/// The spans follow each other without gaps, even when clocks change. A day can have 23 or 25
/// hours, and an hour that clocks show twice forms two spans.
struct CalendarBuckets: Sendable, Hashable {
  private let zone: ZoneRules
  private let grouping: HealthGrouping
  /// The time before midnight at which days, weeks and months begin, in nanoseconds.
  private let lead: Int64
  /// The single span of `total`.
  private let whole: Bucket?

  /// Creates a calendar. `whole` is the span of `total` and is ignored for other groupings.
  init(
    zone: ZoneRules, grouping: HealthGrouping, lead: Duration = .zero, whole: Bucket? = nil
  ) {
    self.zone = zone
    self.grouping = grouping.base
    self.lead = lead.nanoseconds
    self.whole = grouping == .total ? whole : nil
  }

  /// Returns the span to which a time belongs.
  func bucket(at time: Timestamp) -> Bucket {
    if let whole { return whole }
    if grouping == .hour { return hour(at: time) }
    let reading = zone.local(at: time).nanoseconds + lead
    let day = Int(Gregorian.floorDivide(reading, by: CivilTime.nanosecondsPerDay).0)
    var first = firstDay(of: day)
    var bucket = days(first, next(after: first))
    // Clocks that are set back across midnight show the end of a day twice. The second time belongs
    // to the next day.
    while bucket.members.upperBound <= time {
      first = next(after: first)
      bucket = days(first, next(after: first))
    }
    return bucket
  }

  private static let hour: Int64 = 3_600_000_000_000

  private func hour(at time: Timestamp) -> Bucket {
    let interval = zone.interval(at: time)
    let east = zone.nanosecondsEast(of: interval)
    let hour = Gregorian.floorDivide(time.nanoseconds + east, by: Self.hour).0 * Self.hour
    var start = Timestamp(nanoseconds: hour - east)
    var end = Timestamp(nanoseconds: hour - east + Self.hour)
    if interval > 0 { start = max(start, zone.transitions[interval - 1].at) }
    if interval < zone.transitions.count { end = min(end, zone.transitions[interval].at) }
    return Bucket(start: start, end: end, members: start..<end)
  }

  private func days(_ first: Int, _ next: Int) -> Bucket {
    let (start, end) = (midnight(first, lead: 0), midnight(next, lead: 0))
    let members = lead == 0 ? start..<end : midnight(first, lead: lead)..<midnight(next, lead: lead)
    return Bucket(start: start, end: end, members: members)
  }

  private func midnight(_ day: Int, lead: Int64) -> Timestamp {
    let reading = Int64(day) * CivilTime.nanosecondsPerDay - lead
    return zone.first(showing: CivilTime(nanoseconds: reading))
  }

  private func firstDay(of day: Int) -> Int {
    switch grouping {
    case .hour, .day, .total, .weekday, .weekpart, .hourOfDay: return day
    // 1970-01-01 was a Thursday.
    case .week: return day - Int(Gregorian.floorDivide(Int64(day) + 3, by: 7).1)
    case .month: return day - Gregorian.civil(dayNumber: day).day + 1
    case .year: return day - Self.daysBefore(day)
    }
  }

  private func next(after first: Int) -> Int {
    switch grouping {
    case .hour, .day, .total, .weekday, .weekpart, .hourOfDay: return first + 1
    case .week: return first + 7
    case .month:
      let (year, month, _) = Gregorian.civil(dayNumber: first)
      return first + Gregorian.length(ofMonth: month, year: year)
    case .year:
      let year = Gregorian.civil(dayNumber: first).year
      return first + (1...12).reduce(0) { $0 + Gregorian.length(ofMonth: $1, year: year) }
    }
  }

  /// Returns the number of days of its year before a day.
  private static func daysBefore(_ number: Int) -> Int {
    let (year, month, day) = Gregorian.civil(dayNumber: number)
    return (1..<month).reduce(day - 1) { $0 + Gregorian.length(ofMonth: $1, year: year) }
  }
}
