import HoldfastCore
import HoldfastHealth

/// A calendar interval, in nanoseconds since 1970.
struct CalendarSpan: Hashable {
  var start: Int64
  var end: Int64
  /// The first moment whose samples belong to the interval.
  var lower: Int64
  /// The first later moment whose samples no longer belong to the interval.
  var upper: Int64
}

/// The clock of a time zone. It computes local times by trying every offset of the zone.
struct ReferenceClock {
  /// The time between two changes of the offset.
  private struct Period {
    var from: Int64
    var upTo: Int64
    /// The offset east of UTC in nanoseconds.
    var east: Int64
  }

  let rules: ZoneRules
  private var periods: [Period]

  static let second: Int64 = 1_000_000_000
  static let minute = 60 * second
  static let hour = 60 * minute
  static let day = 24 * hour

  init(_ rules: ZoneRules) {
    self.rules = rules
    let east = Int64(rules.initialSecondsEast) * Self.second
    periods = [Period(from: .min, upTo: .max, east: east)]
    for change in rules.transitions {
      periods[periods.count - 1].upTo = change.at.nanoseconds
      periods.append(
        Period(
          from: change.at.nanoseconds, upTo: .max, east: Int64(change.secondsEast) * Self.second))
    }
  }

  private func period(_ moment: Int64) -> Period {
    periods.last { $0.from <= moment } ?? periods[0]
  }

  func secondsEast(_ moment: Int64) -> Int { Int(period(moment).east / Self.second) }

  /// Returns the local time at a moment.
  func local(_ moment: Int64) -> Int64 { moment + period(moment).east }

  /// Returns the local day at a moment as the number of days since 1970-01-01.
  func localDay(_ moment: Int64) -> Int64 { Self.floor(local(moment), Self.day) }

  /// Returns the first moment at which clocks show a local time.
  ///
  /// A skipped local time is converted with the offset before the gap.
  func moment(of local: Int64) -> Int64 {
    for one in periods where local - one.east >= one.from && local - one.east < one.upTo {
      return local - one.east
    }
    for (before, after) in zip(periods, periods.dropFirst())
    where local - before.east >= after.from && local - after.east < after.from {
      return local - before.east
    }
    return local
  }

  func moment(of time: HealthTime) -> Int64 {
    switch time {
    case .instant(let time, _): time.nanoseconds
    case .local(let reading): moment(of: reading.nanoseconds)
    }
  }

  /// Returns the first moment at which clocks show the given local time or a later one.
  func first(from local: Int64) -> Int64 {
    for one in periods {
      let found = max(one.from, local - one.east)
      if found < one.upTo { return found }
    }
    return local
  }

  /// Returns the name of the zone, or its offset at a moment, such as `UTC+01:00`.
  func name(_ moment: Int64) -> String {
    if let name = rules.name { return name }
    let seconds = secondsEast(moment)
    let minutes = Int(seconds.magnitude) / 60
    func two(_ number: Int) -> String { String("0\(number)".suffix(2)) }
    return "UTC" + (seconds < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60)
  }

  /// Returns a moment with the offset of the zone, or in UTC if the offset is not in whole minutes.
  func zoned(_ moment: Int64) -> HealthTime {
    let (minutes, rest) = secondsEast(moment).quotientAndRemainder(dividingBy: 60)
    return .instant(Timestamp(nanoseconds: moment), minutesEast: rest == 0 ? minutes : nil)
  }

  /// Formats a moment in the same form as another time.
  func format(_ moment: Int64, like other: HealthTime) -> String {
    switch other {
    case .instant(_, nil): return RFC3339.format(Timestamp(nanoseconds: moment))
    case .instant: return zoned(moment).description
    case .local:
      let local = local(moment)
      let isFirst = self.moment(of: local) == moment
      return isFirst ? CivilTime(nanoseconds: local).description : zoned(moment).description
    }
  }

  // MARK: - Intervals

  /// Returns the interval that contains a moment. Days begin `lead` before midnight.
  func span(_ moment: Int64, _ grouping: HealthGrouping, lead: Int64 = 0) -> CalendarSpan {
    if grouping == .hour {
      let period = period(moment)
      let full = Self.floor(moment + period.east, Self.hour) * Self.hour - period.east
      let (start, end) = (max(full, period.from), min(full + Self.hour, period.upTo))
      return CalendarSpan(start: start, end: end, lower: start, upper: end)
    }
    let days = Self.firstDays(around: Self.floor(local(moment) + lead, Self.day), grouping)
    let marks = days.map { first(from: $0 * Self.day - lead) }
    let index = marks.lastIndex { $0 <= moment } ?? 0
    return CalendarSpan(
      start: first(from: days[index] * Self.day),
      end: first(from: days[index + 1] * Self.day), lower: marks[index], upper: marks[index + 1])
  }

  /// Returns the first days of the intervals around a day.
  private static func firstDays(around day: Int64, _ grouping: HealthGrouping) -> [Int64] {
    switch grouping {
    case .hour, .day, .total, .weekday, .weekpart, .hourOfDay: return Array(day - 3...day + 3)
    // 1970-01-05 was a Monday.
    case .week: return (day - 17...day + 17).filter { (($0 - 4) % 7 + 7) % 7 == 0 }
    case .month:
      let index = max(1, Int((day - (months.first ?? 0)) * 100 / 3_045) - 1)
      return Array(months[max(0, index - 2)..<min(months.count, index + 6)])
    case .year:
      let first = months.lastIndex { $0 <= day } ?? 0
      return [-12, 0, 12, 24].map { months[first / 12 * 12 + $0] }
    }
  }

  /// The first days of all months from 1890 to 2210, as numbers of days since 1970-01-01.
  private static let months: [Int64] = (1_890...2_210).flatMap { year in
    (1...12).map { Int64(CalendarDays.days(year, $0, 1)) }
  }

  /// Divides two numbers and rounds the quotient down.
  static func floor(_ number: Int64, _ part: Int64) -> Int64 {
    let rest = (number % part + part) % part
    return (number - rest) / part
  }
}
