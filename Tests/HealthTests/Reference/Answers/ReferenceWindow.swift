import HoldfastCore
import HoldfastHealth

/// The reason why a question is refused.
struct ReferenceRefusal: Error, Hashable {
  var text: String
}

/// The interval of a question, and the calendar intervals within it.
struct ReferenceWindow {
  let query: HealthDataQuery
  let clock: ReferenceClock
  let now: Int64
  /// The bounds of the requested interval.
  let start: Int64
  let end: Int64
  /// The bounds of the interval whose samples are included.
  private(set) var from: Int64
  private(set) var to: Int64
  /// Whether the interval covers whole days of sleep.
  private var isWhole = false

  var isSleep: Bool { query.valueType == .sleep }
  /// The time before and after the interval in which samples are also read, to complete sleep
  /// sessions.
  var margin: Int64 { isSleep && query.groupBy != nil && from < to ? 12 * ReferenceClock.hour : 0 }
  private var lead: Int64 {
    isSleep && query.groupBy != .hour ? 3 * ReferenceClock.hour : 0
  }

  init(
    _ query: HealthDataQuery, _ clock: ReferenceClock, at now: Int64
  ) throws(ReferenceRefusal) {
    (self.query, self.clock, self.now) = (query, clock, now)
    if query.groupBy == nil, query.statistic != nil {
      throw ReferenceRefusal(
        text: "statistic needs group_by: HOUR, DAY, WEEK, MONTH, YEAR, WEEKDAY, WEEKPART, "
          + "HOUR_OF_DAY, or TOTAL for one number")
    }
    (start, end) = (clock.moment(of: query.start), clock.moment(of: query.end))
    (from, to) = (start, end)
    // The years 1900 to 2199 consist of 25,567 days before 1970 and 84,006 days from 1970 on.
    let years = -25_567 * ReferenceClock.day..<84_006 * ReferenceClock.day
    guard years.contains(start), years.contains(end) else {
      throw ReferenceRefusal(text: "start_time and end_time must be within the years 1900 to 2199")
    }
    if start > end { throw ReferenceRefusal(text: "start_time is after end_time") }
    if start > now { throw ReferenceRefusal(text: "start_time is in the future") }
    if isSleep, let first = midnight(near: start), let last = midnight(near: end), first < last {
      isWhole = true
      from = clock.first(from: first - 3 * ReferenceClock.hour)
      to = clock.first(from: last - 3 * ReferenceClock.hour)
    }
  }

  /// Returns the nearest midnight if the local time of a moment is between 23:54 and 00:05.
  ///
  /// On a day without 00:00, its first five minutes count as midnight.
  private func midnight(near moment: Int64) -> Int64? {
    let shown = clock.local(moment)
    let day = ReferenceClock.floor(shown, ReferenceClock.day) * ReferenceClock.day
    let isEarly = moment - clock.first(from: day) <= 5 * ReferenceClock.minute
    if isEarly || shown - day <= 5 * ReferenceClock.minute { return day }
    return day + ReferenceClock.day - shown <= 6 * ReferenceClock.minute
      ? day + ReferenceClock.day : nil
  }

  /// Returns the latest start with which a question that has the same end covers a whole interval.
  func restart(_ span: CalendarSpan) -> Int64 {
    guard isWhole else { return span.lower }
    var span = span
    while let midnight = midnight(near: span.start),
      clock.first(from: midnight - 3 * ReferenceClock.hour) > span.lower
    {
      span = self.span(span.lower - 1)
    }
    return span.start
  }

  func has(_ moment: Int64) -> Bool { moment >= from && moment < to }

  /// Returns the interval of the question's grouping that contains a moment.
  func span(_ moment: Int64) -> CalendarSpan { span(moment, query.groupBy ?? .hour) }

  func span(_ moment: Int64, _ grouping: HealthGrouping) -> CalendarSpan {
    guard grouping != .total else {
      return CalendarSpan(start: start, end: end, lower: from, upper: to)
    }
    return clock.span(moment, grouping, lead: lead)
  }

  /// Returns whether the question or the present time cuts more than a second off an interval.
  func isPartial(_ span: CalendarSpan) -> Bool {
    let second = ReferenceClock.second
    return from - span.lower > second || span.upper - min(to, now) > second
  }

  func format(_ moment: Int64) -> String { clock.format(moment, like: query.start) }
}

/// The types of an answer, each with the name of its statistic.
struct ReferenceFigures {
  private(set) var kinds: [ReferenceType] = []
  private(set) var names: [String] = []
  private(set) var notes: [String] = []
  private(set) var statistics: Set<HealthStatistic> = []

  init(_ query: HealthDataQuery) throws(ReferenceRefusal) {
    guard let grouping = query.groupBy else {
      kinds = ReferenceType.all(query.valueType)
      return
    }
    var (noSum, noDays): ([String], [String]) = ([], [])
    for kind in ReferenceType.all(query.valueType) {
      let isReading = kind.form == .reading
      let isHour = grouping == .hour
      let usual: HealthStatistic =
        isReading || (kind.form == .sleep && !isHour) ? .average : .sum
      let statistic = query.statistic ?? usual
      let isOfOne = kind.form == .workout && [.min, .max].contains(statistic)
      let compares = [.average, .min, .max].contains(statistic) && !isReading && !isOfOne
      if statistic == .sum, isReading {
        noSum.append(kind.type)
      } else if compares, isHour {
        noDays.append(kind.type)
      } else {
        kinds.append(kind)
        names.append(
          isOfOne
            ? (statistic == .min ? "shortest" : "longest")
            : Self.name(statistic, of: kind, compares: compares))
        statistics.insert(statistic)
      }
    }
    if let only = query.statistic { statistics = [only] }
    let reasons = Self.reasons(noSum, noDays, query.statistic?.rawValue ?? "")
    if kinds.isEmpty { throw ReferenceRefusal(text: reasons.joined()) }
    notes = reasons.map { "Left out: \($0)." }
  }

  private static func name(
    _ statistic: HealthStatistic, of kind: ReferenceType, compares: Bool
  ) -> String {
    if kind.isHeld, statistic == .average { return "average_over_time" }
    let ending = compares ? (kind.form == .sleep ? "_per_night" : "_per_day") : ""
    return statistic.rawValue.lowercased() + ending
  }

  private static func reasons(
    _ noSum: [String], _ noDays: [String], _ statistic: String
  ) -> [String] {
    var reasons: [String] = []
    if !noSum.isEmpty {
      reasons.append(
        "SUM does not apply to \(list(noSum)): these are readings, which cannot be added. "
          + "Ask for AVERAGE, MIN, MAX, COUNT or LATEST")
    }
    if !noDays.isEmpty {
      reasons.append(
        "\(statistic) of \(list(noDays)) compares days or nights, so it needs group_by DAY, WEEK, "
          + "MONTH, YEAR, WEEKDAY, WEEKPART or TOTAL; by the hour ask for SUM, COUNT or LATEST")
    }
    return reasons
  }

  private static func list(_ items: [String]) -> String {
    var text = ""
    var left = items.enumerated().filter { items.firstIndex(of: $0.element) == $0.offset }
      .map(\.element)
    while !left.isEmpty {
      text += left.removeFirst()
      if left.count > 1 { text += ", " } else if left.count == 1 { text += " and " }
    }
    return text
  }
}
