import LinkCore
import LinkHealth

/// A span of the calendar, by moments in nanoseconds.
struct AnswerSpan: Hashable {
  var start: Int64
  var end: Int64
  /// The first moment that belongs to it.
  var lower: Int64
  /// The first moment after those that belong to it.
  var upper: Int64
}

/// The clocks of a zone, read by going through all of their changes.
struct AnswerClock {
  /// A time between two changes.
  private struct Stretch {
    var from: Int64
    var upTo: Int64
    /// Nanoseconds east of UTC.
    var east: Int64
  }

  let rules: ZoneRules
  private var stretches: [Stretch]

  static let second: Int64 = 1_000_000_000
  static let minute = 60 * second
  static let hour = 60 * minute
  static let day = 24 * hour

  init(_ rules: ZoneRules) {
    self.rules = rules
    let east = Int64(rules.initialSecondsEast) * Self.second
    stretches = [Stretch(from: .min, upTo: .max, east: east)]
    for change in rules.transitions {
      stretches[stretches.count - 1].upTo = change.at.nanoseconds
      stretches.append(
        Stretch(
          from: change.at.nanoseconds, upTo: .max, east: Int64(change.secondsEast) * Self.second))
    }
  }

  private func stretch(_ moment: Int64) -> Stretch {
    stretches.last { $0.from <= moment } ?? stretches[0]
  }

  func secondsEast(_ moment: Int64) -> Int { Int(stretch(moment).east / Self.second) }

  /// Returns what is shown at a moment.
  func shown(_ moment: Int64) -> Int64 { moment + stretch(moment).east }

  /// Returns the day that is shown at a moment.
  func dayShown(_ moment: Int64) -> Int64 { Self.whole(shown(moment), Self.day) }

  /// Returns the first moment that shows a reading; if none does, the one as far behind the gap.
  func moment(of reading: Int64) -> Int64 {
    for one in stretches where reading - one.east >= one.from && reading - one.east < one.upTo {
      return reading - one.east
    }
    for (before, after) in zip(stretches, stretches.dropFirst())
    where reading - before.east >= after.from && reading - after.east < after.from {
      return reading - before.east
    }
    return reading
  }

  func moment(of time: HealthTime) -> Int64 {
    switch time {
    case .instant(let time, _): time.nanoseconds
    case .local(let reading): moment(of: reading.nanoseconds)
    }
  }

  /// Returns the first moment that shows a reading or a later one.
  func first(showing reading: Int64) -> Int64 {
    for one in stretches {
      let found = max(one.from, reading - one.east)
      if found < one.upTo { return found }
    }
    return reading
  }

  /// Returns the zone's name, or its offset as `UTC+01:00`.
  func title(_ moment: Int64) -> String {
    if let name = rules.name { return name }
    let seconds = secondsEast(moment)
    let minutes = Int(seconds.magnitude) / 60
    func two(_ number: Int) -> String { String("0\(number)".suffix(2)) }
    return "UTC" + (seconds < 0 ? "-" : "+") + two(minutes / 60) + ":" + two(minutes % 60)
  }

  /// Returns a moment with the offset of the zone, or in UTC where the offset has seconds.
  func zoned(_ moment: Int64) -> HealthTime {
    let (minutes, rest) = secondsEast(moment).quotientAndRemainder(dividingBy: 60)
    return .instant(Timestamp(nanoseconds: moment), minutesEast: rest == 0 ? minutes : nil)
  }

  /// Writes a moment in the form of another time.
  func written(_ moment: Int64, like other: HealthTime) -> String {
    switch other {
    case .instant(_, nil): return RFC3339.format(Timestamp(nanoseconds: moment))
    case .instant: return zoned(moment).description
    case .local:
      let reading = shown(moment)
      let isFirst = self.moment(of: reading) == moment
      return isFirst
        ? CivilTime(nanoseconds: reading).description : zoned(moment).description
    }
  }

  // MARK: - Spans

  /// Returns the span of a moment; days begin `lead` before midnight.
  func span(_ moment: Int64, _ grouping: HealthGrouping, lead: Int64 = 0) -> AnswerSpan {
    if grouping == .hour {
      let stretch = stretch(moment)
      let full = Self.whole(moment + stretch.east, Self.hour) * Self.hour - stretch.east
      let (start, end) = (max(full, stretch.from), min(full + Self.hour, stretch.upTo))
      return AnswerSpan(start: start, end: end, lower: start, upper: end)
    }
    let days = Self.firstDays(around: Self.whole(shown(moment) + lead, Self.day), grouping)
    let marks = days.map { first(showing: $0 * Self.day - lead) }
    let place = marks.lastIndex { $0 <= moment } ?? 0
    return AnswerSpan(
      start: first(showing: days[place] * Self.day),
      end: first(showing: days[place + 1] * Self.day), lower: marks[place], upper: marks[place + 1])
  }

  /// Returns the days near another one with which spans begin.
  private static func firstDays(around day: Int64, _ grouping: HealthGrouping) -> [Int64] {
    switch grouping {
    case .hour, .day, .total: return Array(day - 3...day + 3)
    // 1970-01-05 was a Monday.
    case .week: return (day - 17...day + 17).filter { (($0 - 4) % 7 + 7) % 7 == 0 }
    case .month:
      let place = max(1, Int((day - (months.first ?? 0)) * 100 / 3_045) - 1)
      return Array(months[max(0, place - 2)..<min(months.count, place + 6)])
    }
  }

  /// The first days of all months from 1890 on, counted from 1970.
  private static let months: [Int64] = (1_890...2_210).flatMap { year in
    (1...12).map { Int64(TimeAccount.days(year, $0, 1)) }
  }

  /// Returns how often one number goes into another, rounded down.
  static func whole(_ number: Int64, _ part: Int64) -> Int64 {
    let rest = (number % part + part) % part
    return (number - rest) / part
  }
}
