import LinkCore
import LinkHealth

/// A reason why there is no answer, in words.
struct AnswerReason: Error, Hashable {
  var text: String
}

/// The time that a question asks about, and its calendar.
struct AnswerFrame {
  let query: HealthDataQuery
  let clock: AnswerClock
  let now: Int64
  /// As asked.
  let start: Int64
  let end: Int64
  /// What counts.
  private(set) var from: Int64
  private(set) var to: Int64
  /// Whether it asks for whole days of sleep.
  private var isWhole = false

  var isSleep: Bool { query.valueType == .sleep }
  /// How far beyond both ends it is read, since sleep must be seen whole.
  var margin: Int64 { isSleep && query.groupBy != nil && from < to ? 12 * AnswerClock.hour : 0 }
  private var lead: Int64 {
    isSleep && query.groupBy != .hour ? 3 * AnswerClock.hour : 0
  }

  init(
    _ query: HealthDataQuery, _ clock: AnswerClock, at now: Int64
  ) throws(AnswerReason) {
    (self.query, self.clock, self.now) = (query, clock, now)
    if query.groupBy == nil, query.statistic != nil {
      throw AnswerReason(
        text: "statistic needs group_by: HOUR, DAY, WEEK, MONTH, or TOTAL for one number")
    }
    (start, end) = (clock.moment(of: query.start), clock.moment(of: query.end))
    (from, to) = (start, end)
    // 25,567 days before 1970, and 84,006 from there on.
    let years = -25_567 * AnswerClock.day..<84_006 * AnswerClock.day
    guard years.contains(start), years.contains(end) else {
      throw AnswerReason(text: "start_time and end_time must be within the years 1900 to 2199")
    }
    if start > end { throw AnswerReason(text: "start_time is after end_time") }
    if start > now { throw AnswerReason(text: "start_time is in the future") }
    if isSleep, let first = midnight(near: start), let last = midnight(near: end), first < last {
      isWhole = true
      from = clock.first(showing: first - 3 * AnswerClock.hour)
      to = clock.first(showing: last - 3 * AnswerClock.hour)
    }
  }

  /// Returns the midnight near which a moment is shown: up to 00:05, or from 23:54 on.
  ///
  /// Where no clock shows 00:00, the first five minutes of the day stand for it.
  private func midnight(near moment: Int64) -> Int64? {
    let shown = clock.shown(moment)
    let day = AnswerClock.whole(shown, AnswerClock.day) * AnswerClock.day
    let isEarly = moment - clock.first(showing: day) <= 5 * AnswerClock.minute
    if isEarly || shown - day <= 5 * AnswerClock.minute { return day }
    return day + AnswerClock.day - shown <= 6 * AnswerClock.minute ? day + AnswerClock.day : nil
  }

  /// Returns the last moment from which a question with the same end has all of a span of sleep.
  func restart(_ span: AnswerSpan) -> Int64 {
    guard isWhole else { return span.lower }
    var span = span
    while let midnight = midnight(near: span.start),
      clock.first(showing: midnight - 3 * AnswerClock.hour) > span.lower
    {
      span = self.span(span.lower - 1)
    }
    return span.start
  }

  func has(_ moment: Int64) -> Bool { moment >= from && moment < to }

  /// Returns the span of the question that a moment belongs to.
  func span(_ moment: Int64) -> AnswerSpan { span(moment, query.groupBy ?? .hour) }

  func span(_ moment: Int64, _ grouping: HealthGrouping) -> AnswerSpan {
    guard grouping != .total else {
      return AnswerSpan(start: start, end: end, lower: from, upper: to)
    }
    return clock.span(moment, grouping, lead: lead)
  }

  /// Returns whether the question or the present cuts more than a second off a span.
  func isPartial(_ span: AnswerSpan) -> Bool {
    let second = AnswerClock.second
    return from - span.lower > second || span.upper - min(to, now) > second
  }

  func written(_ moment: Int64) -> String { clock.written(moment, like: query.start) }
}

/// The types of an answer, each with the word for its figure.
struct AnswerFigures {
  private(set) var kinds: [AnswerKind] = []
  private(set) var words: [String] = []
  private(set) var notes: [String] = []
  private(set) var statistics: Set<HealthStatistic> = []

  init(_ query: HealthDataQuery) throws(AnswerReason) {
    guard let grouping = query.groupBy else {
      kinds = AnswerKind.all(query.valueType)
      return
    }
    var (noSum, noDays): ([String], [String]) = ([], [])
    for kind in AnswerKind.all(query.valueType) {
      let isReading = kind.form == .reading
      let isHour = grouping == .hour
      let usual: HealthStatistic =
        isReading || (kind.form == .sleep && !isHour) ? .average : .sum
      let statistic = query.statistic ?? usual
      let compares = [.average, .min, .max].contains(statistic) && !isReading
      if statistic == .sum, isReading {
        noSum.append(kind.type)
      } else if compares, isHour {
        noDays.append(kind.type)
      } else {
        let ending = compares ? (kind.form == .sleep ? "_per_night" : "_per_day") : ""
        kinds.append(kind)
        words.append(statistic.rawValue.lowercased() + ending)
        statistics.insert(statistic)
      }
    }
    if let only = query.statistic { statistics = [only] }
    let reasons = Self.reasons(noSum, noDays, query.statistic?.rawValue ?? "")
    if kinds.isEmpty { throw AnswerReason(text: reasons.joined()) }
    notes = reasons.map { "Left out: \($0)." }
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
          + "MONTH or TOTAL; by the hour ask for SUM, COUNT or LATEST")
    }
    return reasons
  }

  private static func list(_ words: [String]) -> String {
    var text = ""
    var left = words.enumerated().filter { words.firstIndex(of: $0.element) == $0.offset }
      .map(\.element)
    while !left.isEmpty {
      text += left.removeFirst()
      if left.count > 1 { text += ", " } else if left.count == 1 { text += " and " }
    }
    return text
  }
}
