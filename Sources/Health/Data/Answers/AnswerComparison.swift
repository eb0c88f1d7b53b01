import HoldfastCore

/// The comparison of the points of one span with those of another.
///
/// Points of the same index are compared: the first day with the first day, Mondays with Mondays,
/// the whole span with the whole span. Sums and counts grow with the length of their span. If the
/// lengths differ, they are compared as averages a day, or not at all if one of the spans has no
/// whole day.
struct AnswerComparison {
  /// The type, source, kind of workout and index that two points have in common.
  private struct Key: Hashable {
    var type: String
    var source: String?
    var activity: String?
    var index: Int

    init(_ timed: TimedPoint) {
      (type, source) = (timed.point.type, timed.point.source)
      (activity, index) = (timed.activity, timed.index)
    }
  }

  /// The points of one of the spans, and the lengths of these points in days.
  private struct Side {
    var points: [Key: TimedPoint]
    /// The points of hours that clocks show a second time. They have the index of the first time.
    var repeated: [TimedPoint]
    /// The averages a day of the points, from an answer to the same question about averages.
    var averages: [Key: TimedPoint]
    var partDays: [Int: Double]
    var lengthInDays: Double

    init(_ answer: HealthAnswer, _ points: [TimedPoint], _ averages: [TimedPoint]) {
      func byKey(_ points: [TimedPoint]) -> [Key: TimedPoint] {
        Dictionary(points.map { (Key($0), $0) }) { first, _ in first }
      }
      (self.points, self.averages) = (byKey(points), byKey(averages))
      var seen: Set<Key> = []
      let isByHour = answer.query.groupBy == .hour
      repeated = isByHour ? points.filter { !seen.insert(Key($0)).inserted } : []
      (partDays, lengthInDays) = (answer.daysOfParts(), answer.lengthInDays)
    }

    func days(of timed: TimedPoint) -> Double { partDays[timed.index] ?? timed.days }
  }

  /// The way in which two points are compared.
  private enum Way {
    case asTheyAre
    case averages(TimedPoint, TimedPoint)
    /// The numbers that grow are divided by these lengths in days.
    case perDay(Double, Double)
    /// The points cannot be compared.
    case none
  }

  private let current: Side
  private let previous: Side
  private let grouping: HealthGrouping
  private let isExact: Bool
  /// The index of the last span of a series, which the other span may exceed.
  private let lastIndex: Int

  /// Creates a comparison of the points of two answers.
  ///
  /// - Parameters:
  ///   - averages: The points of answers about averages to both spans, if they are needed.
  init(
    _ current: (answer: HealthAnswer, points: [TimedPoint]),
    _ previous: (answer: HealthAnswer, points: [TimedPoint]),
    averages: (current: [TimedPoint], previous: [TimedPoint]) = ([], [])
  ) {
    self.current = Side(current.answer, current.points, averages.current)
    self.previous = Side(previous.answer, previous.points, averages.previous)
    grouping = current.answer.query.groupBy ?? .total
    isExact = current.answer.limits.isExact
    lastIndex = grouping.isSeries ? current.answer.lastIndex : .max
  }

  /// Returns whether two lengths in days differ by more than a change of clocks.
  static func isUneven(_ one: Double, _ other: Double) -> Bool {
    abs(one - other) > min(0.1, max(one, other) / 20)
  }

  /// Whether averages of these types are needed beside the sums of points. Hours and days have
  /// none.
  func needsAverages(of types: Set<String>) -> Bool {
    guard grouping != .hour, grouping != .day else { return false }
    return current.points.contains { key, mine in
      guard mine.point.statistic == Figure.sum.rawValue, let other = previous.points[key] else {
        return false
      }
      return types.contains(mine.point.sleep == nil ? key.type : HealthKind.sleepType)
        && Self.isUneven(current.days(of: mine), previous.days(of: other))
    }
  }

  /// Returns the points with their comparisons.
  func applied(to points: [TimedPoint]) -> [TimedPoint] {
    points.map { timed in
      var found = timed
      found.point.comparison = comparison(of: timed)
      found.length = found.point.length + 1
      return found
    }
  }

  private func way(of mine: TimedPoint, _ other: TimedPoint) -> Way {
    let lengths = (current.days(of: mine), previous.days(of: other))
    guard Self.isUneven(lengths.0, lengths.1) else { return .asTheyAre }
    guard mine.growsWithLength else {
      return mine.isOfPartialDays || other.isOfPartialDays ? .none : .asTheyAre
    }
    if let mine = current.averages[Key(mine)], let other = previous.averages[Key(other)] {
      return mine.isOfPartialDays || other.isOfPartialDays ? .none : .averages(mine, other)
    }
    // A day on which clocks change can have 23 hours.
    return min(lengths.0, lengths.1) > 0.95 ? .perDay(lengths.0, lengths.1) : .none
  }

  private func comparison(of timed: TimedPoint) -> HealthComparison {
    var found = HealthComparison(basis: timed.point.statistic ?? "")
    guard let other = previous.points[Key(timed)] else { return found }
    (found.previous, found.previousSleep) = (other.point.value, other.point.sleep)
    (found.previousStart, found.previousEnd) = (other.point.start, other.point.end)
    found.isPreviousPartial = other.point.isPartial
    var (one, two) = (timed.point, other.point)
    var numbers = (one.value.numbers, two.value.numbers)
    switch way(of: timed, other) {
    case .asTheyAre: break
    case .none: return found
    case .averages(let mine, let others):
      (one, two, found.basis) = (mine.point, others.point, mine.point.statistic ?? "")
      numbers = (one.value.numbers, two.value.numbers)
      (found.perDay, found.previousPerDay) = numbers
    case .perDay(let days, let previousDays):
      found.basis = HealthTrend.perDay
      numbers = (divided(numbers.0, by: days), divided(numbers.1, by: previousDays))
      found.perDay = numbers.0.filter(\.isAdded)
      found.previousPerDay = numbers.1.filter(\.isAdded)
    }
    found.change = changes(numbers.0, numbers.1)
    found.percent = percents(numbers.0, numbers.1, unit: one.unit)
    if let sleep = one.sleep, let before = two.sleep {
      found.sleepChange = changes(sleep.minutes, before.minutes)
    }
    return found
  }

  /// Returns the numbers of a day. Numbers that cannot be added stay as they are.
  private func divided(_ numbers: [HealthNumber], by days: Double) -> [HealthNumber] {
    numbers.map { number in
      number.isAdded
        ? rounded(HealthNumber(name: number.name, value: number.value / days)) : number
    }
  }

  private func changes(_ one: [HealthNumber], _ two: [HealthNumber]) -> [HealthNumber] {
    one.compactMap { number in
      two.first { $0.name == number.name }.map { before in
        rounded(HealthNumber(name: number.name, value: number.value - before.value))
      }
    }
  }

  /// Returns the changes in percent. A degree has no natural zero, and percent of percent are
  /// misread.
  private func percents(
    _ one: [HealthNumber], _ two: [HealthNumber], unit: String
  ) -> [HealthNumber] {
    guard unit != Dimension.temperature.unit, unit != Dimension.share.unit else { return [] }
    return one.compactMap { number in
      guard let before = two.first(where: { $0.name == number.name })?.value, before > 0 else {
        return nil
      }
      let percent = (number.value - before) / before * 100
      return HealthNumber(
        name: number.name, value: isExact ? percent : (percent * 10).rounded() / 10)
    }
  }

  private func rounded(_ number: HealthNumber) -> HealthNumber {
    HealthNumber(
      name: number.name, value: isExact ? number.value : number.value.roundedForAnswer)
  }
}

// Sentences about a comparison.
extension AnswerComparison {
  /// The maximum number of points that a note names. The limit is Holdfast's own.
  private static let mostNamed = 10

  /// Sentences about the points with their comparisons.
  func notes(_ points: [TimedPoint]) -> [String] {
    var notes: [String] = []
    if !points.isEmpty, previous.points.isEmpty { notes.append("No data in compare_with.") }
    let comparisons = points.compactMap(\.point.comparison)
    if comparisons.contains(where: { !$0.perDay.isEmpty }) {
      let lengths =
        grouping == .total
        ? "The spans have \(Self.text(current.lengthInDays)) and "
          + "\(Self.text(previous.lengthInDays)) days, so"
        : "Where spans differ in length,"
      notes.append(
        "\(lengths) change compares a day of each: per_day and previous_per_day.")
    }
    let isWithout = points.contains { timed in
      guard let compared = timed.point.comparison, compared.previous != nil else { return false }
      return compared.change.isEmpty && !timed.point.value.numbers.isEmpty
    }
    if isWithout {
      notes.append(
        "Spans of different lengths, of which one has no whole day, have no change. End both at "
          + "the same time of day.")
    }
    return notes + lost()
  }

  /// A sentence that names the points of the other span that have no partner in this one.
  private func lost() -> [String] {
    let alone = previous.points.filter { key, _ in current.points[key] == nil }.values
    let lost = (alone + previous.repeated).filter { $0.index <= lastIndex }.sorted {
      ($0.point.type, $0.point.source ?? "", $0.activity ?? "", $0.start)
        < ($1.point.type, $1.point.source ?? "", $1.activity ?? "", $1.start)
    }
    guard !lost.isEmpty else { return [] }
    let named = lost.prefix(Self.mostNamed).map(text).joined(separator: "; ")
    let more = lost.count - Self.mostNamed
    let start = current.points.isEmpty ? "No data from start_time to end_time. " : ""
    return ["\(start)Only in compare_with: \(named)\(more > 0 ? "; and \(more) more" : "")."]
  }

  /// Returns the names and the numbers of a point.
  private func text(_ timed: TimedPoint) -> String {
    let point = timed.point
    let hour = grouping == .hour ? point.start.description : nil
    let isOfAll = point.source == "merged" || point.source == "all"
    let names: [String?] = [
      timed.activity ?? point.type, isOfAll ? nil : point.source,
      point.part ?? timed.day ?? hour,
    ]
    let numbers = point.value.numbers.map { number in
      (number.name.isEmpty ? "" : number.name + " ") + Self.text(number.value)
    }
    return names.compactMap(\.self).joined(separator: " ") + ": "
      + numbers.joined(separator: ", ")
  }

  private static func text(_ number: Double) -> String {
    let rounded = (number * 10).rounded() / 10
    return rounded == rounded.rounded() && abs(rounded) < 0x1p53
      ? "\(Int64(rounded))" : "\(rounded)"
  }
}

extension TimedPoint {
  /// Whether the numbers of the point grow with the length of its span.
  var growsWithLength: Bool {
    point.statistic == Figure.sum.rawValue || point.statistic == Figure.count.rawValue
  }
}

extension HealthAnswer {
  /// The length of the span in days by the clock, as far as it is past.
  var lengthInDays: Double {
    let start = knownStart == asked.from ? asked.start : knownStart
    return localDays(from: start, to: min(asked.end, now))
  }

  /// Returns the length of a span in days by the clock, as far as it belongs to the query, is past
  /// and is known.
  func pastDays(of bucket: Bucket, _ type: Int) -> Double {
    localDays(
      from: max(bucket.members.lowerBound, knownStart(of: type)),
      to: min(bucket.members.upperBound, asked.to, now))
  }

  private func localDays(from start: Timestamp, to end: Timestamp) -> Double {
    guard start < end else { return 0 }
    let local = zone.local(at: end).nanoseconds - zone.local(at: start).nanoseconds
    return Double(max(0, local)) / Double(CivilTime.nanosecondsPerDay)
  }

  /// The index of the last span of the query.
  fileprivate var lastIndex: Int {
    let last = max(asked.from, asked.to.advanced(by: .nanoseconds(-1)))
    return index(of: buckets.bucket(at: last))
  }

  /// Returns the index of a span among those of the query.
  func index(of bucket: Bucket) -> Int {
    let grouping = query.groupBy ?? .total
    return CalendarBuckets.number(of: bucket, grouping, in: zone)
      - CalendarBuckets.number(of: buckets.bucket(at: asked.from), grouping, in: zone)
  }

  /// The names of the types whose sums have averages of days.
  var averagedTypes: Set<String> {
    Set(
      zip(kinds, figures).compactMap { kind, figure in
        let isAveraged = kind.aggregation == .cumulative || kind.aggregation == .nightly
        return figure == .sum && isAveraged && !kind.isSession ? kind.type : nil
      })
  }
}
