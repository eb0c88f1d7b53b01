import HoldfastCore

extension HealthPointValue {
  /// The numbers of the value. A single number has no name, and a text has none.
  var numbers: [HealthNumber] {
    switch self {
    case .number(let number): [HealthNumber(name: "", value: number)]
    case .text: []
    case .workout(let totals): HealthNumber.known(totals.numbers.map { ($0.rawValue, $1) })
    case .nutrition(let totals): HealthNumber.known(totals.numbers.map { ($0.rawValue, $1) })
    }
  }
}

extension SleepTimes {
  /// The minutes of each part that is known.
  var minutes: [HealthNumber] { HealthNumber.known(named) }
}

extension HealthNumber {
  fileprivate static func known(_ named: [(String, Double?)]) -> [HealthNumber] {
    named.compactMap { name, number in number.map { HealthNumber(name: name, value: $0) } }
  }

  /// Whether the number can be added.
  var isAdded: Bool { PointNumber(rawValue: name)?.isAdded ?? true }

  /// The unit of a number that has a name of its own, or `nil` for other numbers.
  fileprivate var unit: String? { PointNumber(rawValue: name)?.unit }
}

extension HealthKind {
  /// Whether a span without data counts as zero. No workout and no symptom is also an answer, but a
  /// device that was not worn counted no steps.
  func isZero(without figure: Figure) -> Bool {
    (isSession || aggregation == .events) && (figure == .sum || figure == .count)
  }
}

extension TimedPoint {
  /// Whether the point takes part in a trend.
  ///
  /// The sums, counts and extremes of spans that are incomplete would bend the line.
  fileprivate var isOfTrend: Bool {
    guard !isOfPartialDays else { return false }
    let statistic = point.statistic ?? ""
    let isSteady = statistic.hasPrefix("average") || statistic == Figure.latest.rawValue
    return isSteady || !point.isPartial
  }
}

extension HealthAnswer {
  /// Returns the trends of points that follow each other.
  ///
  /// Months and years differ in length. Their sums and counts are therefore replaced by those of an
  /// average day. A line needs at least two points.
  ///
  /// - Parameters:
  ///   - averages: The points of an answer about averages, which replace those of the same types.
  func trends(
    _ points: [TimedPoint], averages: [TimedPoint]
  ) throws(AnswerRefusal) -> [HealthTrend] {
    let replaced = averagedTypes
    var lines = TrendLines(query.groupBy ?? .total)
    let others =
      averages.isEmpty
      ? points
      : averages
        + points.filter {
          !replaced.contains($0.point.sleep == nil ? $0.point.type : HealthKind.sleepType)
        }
    for timed in others where timed.isOfTrend { lines.add(timed) }
    for type in lines.zeroTypes { lines.addZeros(type, try spans(lines.indices(of: type))) }
    return lines.trends(isExact: limits.isExact)
  }

  /// Returns a zero for each span of the query with one of these indices.
  private func spans(_ indices: ClosedRange<Int>) throws(AnswerRefusal) -> [Int: TrendPoint] {
    var found: [Int: TrendPoint] = [:]
    var bucket = buckets.bucket(at: asked.from)
    var (index, steps) = (0, 0)
    while index <= indices.upperBound {
      steps += 1
      guard steps <= SleepLog.most else { throw .tooManyDays }
      if indices.contains(index), found[index] == nil {
        found[index] = TrendPoint(
          at: bucket.start.middle(to: max(bucket.start, bucket.end)), value: 0,
          start: written(bucket.start), end: written(bucket.end))
      }
      let next = buckets.bucket(at: bucket.members.upperBound)
      guard next.members.lowerBound > bucket.members.lowerBound else { break }
      bucket = next
      index = self.index(of: bucket)
    }
    return found
  }
}

/// A point of a line.
private struct TrendPoint {
  /// The middle of its span.
  var at: Timestamp
  var value: Double
  var start: HealthTime
  var end: HealthTime
}

/// The points of an answer, ordered by the lines through them.
private struct TrendLines {
  private struct Series: Hashable {
    var type: String
    var source: String?
    var activity: String?
    var number: String
  }

  /// The points of a line. The first of them describes it.
  private struct Line {
    var first: TimedPoint
    var number: HealthNumber
    var statistic: String
    var indices: Set<Int> = []
    var points: [TrendPoint] = []
  }

  private let grouping: HealthGrouping
  private var order: [Series] = []
  private var lines: [Series: Line] = [:]
  private var zeros: [Int: ClosedRange<Int>] = [:]

  init(_ grouping: HealthGrouping) { self.grouping = grouping }

  /// The numbers of the types whose spans without data count as zero.
  var zeroTypes: [Int] { zeros.keys.sorted() }

  /// Returns the indices from the first to the last span in which a type has data.
  func indices(of type: Int) -> ClosedRange<Int> { zeros[type] ?? 0...0 }

  mutating func add(_ timed: TimedPoint) {
    if let type = timed.zeroType {
      let known = zeros[type] ?? timed.index...timed.index
      zeros[type] =
        min(known.lowerBound, timed.index)...max(known.upperBound, timed.index)
    }
    let isLong = grouping == .month || grouping == .year
    let isPerDay = isLong && timed.growsWithLength && timed.days > 0
    for number in timed.point.value.numbers {
      let key = Series(
        type: timed.point.type, source: timed.point.source, activity: timed.activity,
        number: number.name)
      if lines[key] == nil {
        order.append(key)
        let statistic = isPerDay ? HealthTrend.perDay : timed.point.statistic ?? ""
        lines[key] = Line(
          first: timed, number: number,
          statistic: number.isAdded ? statistic : Figure.averageOverTime.rawValue)
      }
      let value = isPerDay && number.isAdded ? number.value / timed.days : number.value
      lines[key]?.points.append(
        TrendPoint(
          at: timed.middle, value: value, start: timed.point.start, end: timed.point.end))
      lines[key]?.indices.insert(timed.index)
    }
  }

  /// Adds a zero for each span in which a series has no data.
  mutating func addZeros(_ type: Int, _ spans: [Int: TrendPoint]) {
    for (key, line) in lines where line.first.zeroType == type && line.number.isAdded {
      for (index, zero) in spans where !line.indices.contains(index) {
        lines[key]?.points.append(zero)
      }
    }
  }

  func trends(isExact: Bool) -> [HealthTrend] {
    order.compactMap { key in
      guard let line = lines[key] else { return nil }
      return trend(of: line, isExact: isExact)
    }
  }

  private func trend(of line: Line, isExact: Bool) -> HealthTrend? {
    let points = line.points.sorted { $0.at < $1.at }
    guard let first = points.first, let last = points.last else { return nil }
    let week = 7.0 * 86_400e9
    let times = points.map { first.at.distance(to: $0.at) / week }
    let count = Double(points.count)
    let (middle, mean) = (
      times.reduce(0, +) / count, points.reduce(0) { $0 + $1.value } / count
    )
    var (products, squares) = (0.0, 0.0)
    for (time, point) in zip(times, points) {
      products += (time - middle) * (point.value - mean)
      squares += (time - middle) * (time - middle)
    }
    let slope = products / squares
    guard squares > 0, slope.isFinite, let length = times.last else { return nil }
    func rounded(_ number: Double) -> Double { isExact ? number : number.roundedForAnswer }
    let point = line.first.point
    return HealthTrend(
      type: point.type, source: point.source, workoutType: line.first.activity,
      number: line.number.name.isEmpty ? nil : line.number.name, statistic: line.statistic,
      grouping: grouping, unit: line.number.unit ?? point.unit, perWeek: rounded(slope),
      change: rounded(slope * length), start: first.start, end: last.end,
      points: points.count)
  }
}
