import HoldfastCore

extension HealthGrouping {
  /// Whether a point covers a part of each day or week of the interval, such as all Mondays.
  var isRecurring: Bool {
    switch self {
    case .hour, .day, .week, .month, .year, .total: false
    case .weekday, .weekpart, .hourOfDay: true
    }
  }

  /// The spans in which samples are counted. Those of a recurring part are joined at the end.
  var base: HealthGrouping {
    switch self {
    case .hour, .day, .week, .month, .year, .total: self
    case .weekday, .weekpart: .day
    case .hourOfDay: .hour
    }
  }

  /// Whether the points follow each other in time, so that they have a trend.
  var isSeries: Bool { self != .total && !isRecurring }

  /// Whether each point covers at least a day and begins with one.
  var hasWholeDays: Bool {
    switch self {
    case .day, .week, .month, .year: true
    case .hour, .total, .weekday, .weekpart, .hourOfDay: false
    }
  }
}

/// A part of all days or weeks: a weekday, the working days, the weekend, or an hour of the day.
struct CalendarPart: Sendable, Hashable {
  /// The index of the part among those of the grouping, from 0. Weeks begin on Monday.
  var index: Int
  /// The name of the part in a point.
  var name: String

  private static let weekdays = [
    "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY",
  ]

  /// Creates the part to which a span of `grouping.base` belongs. Returns `nil` if the grouping has
  /// no recurring parts.
  init?(_ bucket: Bucket, _ grouping: HealthGrouping, in zone: ZoneRules) {
    let (day, rest) = Gregorian.floorDivide(
      zone.local(at: bucket.start).nanoseconds, by: CivilTime.nanosecondsPerDay)
    // 1970-01-01 was a Thursday.
    let weekday = Int(Gregorian.floorDivide(day + 3, by: 7).1)
    switch grouping {
    case .hour, .day, .week, .month, .year, .total: return nil
    case .weekday: self.init(index: weekday, name: Self.weekdays[weekday])
    case .weekpart:
      self.init(index: weekday < 5 ? 0 : 1, name: weekday < 5 ? "WEEKDAYS" : "WEEKEND")
    case .hourOfDay:
      let hour = Int(rest / 3_600_000_000_000)
      self.init(index: hour, name: hour < 10 ? "0\(hour)" : "\(hour)")
    }
  }

  private init(index: Int, name: String) {
    (self.index, self.name) = (index, name)
  }
}

extension CalendarBuckets {
  /// Returns the number of a span among all spans of its calendar. Spans with consecutive numbers
  /// follow each other.
  ///
  /// Hours are counted by the clock: an hour that clocks show twice has one number, and an hour
  /// that they skip has a number without a span.
  static func number(
    of bucket: Bucket, _ grouping: HealthGrouping, in zone: ZoneRules
  ) -> Int {
    let local = zone.local(at: bucket.start).nanoseconds
    let day = Int(Gregorian.floorDivide(local, by: CivilTime.nanosecondsPerDay).0)
    let (year, month, _) = Gregorian.civil(dayNumber: day)
    switch grouping {
    case .hour: return Int(Gregorian.floorDivide(local, by: 3_600_000_000_000).0)
    case .day: return day
    case .week: return Int(Gregorian.floorDivide(Int64(day) + 3, by: 7).0)
    case .month: return year * 12 + month
    case .year: return year
    case .total: return 0
    case .weekday, .weekpart, .hourOfDay:
      return CalendarPart(bucket, grouping, in: zone)?.index ?? 0
    }
  }
}
