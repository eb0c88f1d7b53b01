import HoldfastCore

/// A group of samples of one type in one interval, from one source or from all sources.
struct ReferenceCell: Hashable {
  /// The index of the type in the answer.
  var type: Int
  var name: String?
  /// The label of a group that covers all sources: `merged` or `all`.
  var all: String?
  var span: CalendarSpan
  /// The kind of workout.
  var activity = ""

  var isMerged: Bool { all == "merged" }
}

/// The values of one cell.
struct ReferenceCounts {
  /// The values, listed separately for each of the four numbers.
  var values: [[Double]] = [[], [], [], []]
  /// Each value with its time.
  var readings: [(at: Int64, value: Double)] = []
  /// The number of sessions if the cell combines several days.
  var sessions = 0
  /// The interval of the last sample.
  var last: (from: Int64, to: Int64)?

  var count: Int { values.map(\.count).max() ?? 0 }

  /// Adds the numbers of a sample.
  mutating func add(_ numbers: [Double?], from start: Int64, to end: Int64) {
    for (index, number) in numbers.enumerated() {
      guard let number else { continue }
      values[index].append(number)
      readings.append((start, number))
    }
    if start >= last?.from ?? start { last = (start, end) }
  }

  /// Returns the average weighted by time, up to the given end.
  ///
  /// The mean of the readings at a moment is weighted by the time until the next moment, up to 10
  /// minutes.
  func overTime(until end: Int64) -> Double {
    let moments = Set(readings.map(\.at)).sorted()
    var (sum, length) = (0.0, 0.0)
    for (moment, next) in zip(moments, moments.dropFirst() + [end]) {
      let values = readings.filter { $0.at == moment }.map(\.value)
      let held = Double(min(next - moment, 10 * ReferenceClock.minute)) / 1e9
      sum += values.reduce(0, +) / Double(values.count) * held
      length += held
    }
    let last = readings.filter { $0.at == moments.last }.map(\.value)
    return length > 0 ? sum / length : last.reduce(0, +) / Double(last.count)
  }

  /// Returns the statistic of each of the four numbers, or `nil` for a number without values.
  func figures(_ statistic: String) -> [Double?] {
    values.map { values in
      let sum = values.reduce(0, +)
      guard let last = values.last else { return nil }
      switch statistic.prefix(while: { $0 != "_" }) {
      case "average": return sum / Double(values.count)
      case "min": return values.sorted()[0]
      case "max": return values.sorted()[values.count - 1]
      case "latest", "shortest", "longest": return last
      case "count": return 0
      case _: return sum
      }
    }
  }
}

extension ReferenceAnswers {
  /// Returns one point for each type, source and interval.
  mutating func statistics(
    _ window: ReferenceWindow, _ figures: ReferenceFigures, spans: Int
  ) throws(ReferenceRefusal) -> Lines {
    var (lines, tallies): (Lines, [ReferenceCell: ReferenceCounts]) = (Lines(), [:])
    for (kind, statistic) in zip(figures.kinds, figures.names) {
      let type = figures.kinds.firstIndex { $0.type == kind.type } ?? 0
      var aggregator = ReferenceAggregator(
        window: window, kind: kind, statistic: statistic, type: type)
      var to = window.to
      try readAll(kind, window, upTo: &to) { sample, _ in
        if let numbers = ReferenceValue.numbers(sample, kind) {
          aggregator.samples.append((sample, numbers))
        } else {
          lines.skipped += 1
        }
      }
      aggregator.count(into: &tallies)
    }
    let compares = figures.names.contains { $0.contains("_per_") }
    if !compares, tallies.count > spans { hasTooManyGroups = true }
    let folded = folded(tallies, window, figures)
    let isTooLarge =
      tallies.contains { cell, counts in
        let single = ["min", "max", "latest", "count", "shortest", "longest"]
        let isSummed = !single.contains(figures.names[cell.type])
        return isSummed && counts.values.contains { !$0.reduce(0, +).isFinite }
      }
      || folded.contains { cell, counts in
        counts.figures(figures.names[cell.type]).contains { $0?.isFinite == false }
      }
    if isTooLarge {
      throw ReferenceRefusal(
        text: "the samples add up to more than a number can hold, so some of them are wrong; ask "
          + "for the samples themselves, or for a time without them")
    }
    lines.all = folded.keys.sorted(by: Self.isBefore).compactMap { cell in
      folded[cell].map { line(cell, $0, window, figures) }
    }
    return lines
  }

  static func isBefore(_ left: ReferenceCell, _ right: ReferenceCell) -> Bool {
    let (one, two) = (left.all == nil ? 1 : 0, right.all == nil ? 1 : 0)
    return (left.type, one, left.name ?? "", left.span.lower, left.activity)
      < (right.type, two, right.name ?? "", right.span.lower, right.activity)
  }

  /// Groups the sums of the days by the intervals of the question if the statistic compares days.
  private func folded(
    _ tallies: [ReferenceCell: ReferenceCounts], _ window: ReferenceWindow,
    _ figures: ReferenceFigures
  ) -> [ReferenceCell: ReferenceCounts] {
    var folded: [ReferenceCell: ReferenceCounts] = [:]
    // The order is fixed, since floating-point sums depend on it.
    for cell in tallies.keys.sorted(by: Self.isBefore) {
      guard let counts = tallies[cell] else { continue }
      guard figures.names[cell.type].contains("_per_") else {
        folded[cell] = counts
        continue
      }
      var whole = cell
      whole.span = window.span(cell.span.lower)
      // A day that is cut lowers an average and a minimum.
      let isLowered = !figures.names[cell.type].hasPrefix("max")
      if isLowered, window.isPartial(cell.span), hasWholeDay(whole, tallies, window) { continue }
      for index in 0..<4 where !counts.values[index].isEmpty {
        let sum = counts.values[index].reduce(0, +)
        folded[whole, default: ReferenceCounts()].values[index].append(sum)
      }
      folded[whole]?.sessions += counts.count
    }
    return folded
  }

  private func hasWholeDay(
    _ whole: ReferenceCell, _ tallies: [ReferenceCell: ReferenceCounts], _ window: ReferenceWindow
  ) -> Bool {
    tallies.keys.contains { cell in
      var other = cell
      other.span = window.span(cell.span.lower)
      return other == whole && !window.isPartial(cell.span)
    }
  }

  private func line(
    _ cell: ReferenceCell, _ counts: ReferenceCounts, _ window: ReferenceWindow,
    _ figures: ReferenceFigures
  ) -> ReferencePoint {
    let (kind, statistic) = (figures.kinds[cell.type], figures.names[cell.type])
    var numbers = counts.figures(statistic)
    if statistic == "average_over_time" {
      numbers[0] = counts.overTime(until: min(cell.span.upper, window.to))
    }
    let value: String
    switch kind.form {
    case _ where statistic == "count": value = ReferenceValue.number(Double(counts.count))
    case .nutrient: value = ReferenceValue.meal(numbers)
    case .workout:
      value = ReferenceValue.workout(
        cell.activity, numbers, max(counts.sessions, counts.count))
    case .spread, .reading, .sleep, .minutes: value = ReferenceValue.number(numbers[0] ?? 0)
    }
    let isOfOne = statistic == "longest" || statistic == "shortest"
    let ending = counts.values[0].first ?? 0 > 0 ? "_by_distance" : "_by_duration"
    var label = PointLabel(
      type: kind.type, unit: statistic == "count" ? "count" : kind.measure.unit,
      from: cell.span.start,
      to: min(cell.span.end, window.end), source: cell.all ?? cell.name,
      statistic: statistic + (isOfOne ? ending : ""),
      isMerged: cell.isMerged, isPartial: window.isPartial(cell.span))
    if statistic == "count", kind.form == .workout { label.activity = cell.activity }
    if statistic == "latest" || isOfOne, let last = counts.last { (label.from, label.to) = last }
    return window.line(label, value, at: cell.span.start)
  }
}
