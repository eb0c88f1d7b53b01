import LinkCore
import LinkHealth

/// A group of samples: one type and source, or all sources, in one interval.
struct ReferenceCell: Hashable {
  /// The index of the type.
  var type: Int
  var name: String?
  var isMerged: Bool
  var span: CalendarSpan
}

/// The values of one cell.
struct ReferenceTally {
  /// All values of each of the four numbers.
  var values: [[Double]] = [[], [], [], []]
  var activities: Set<String> = []
  var lastActivity = ""
  /// The number of sessions of several days.
  var sessions = 0
  /// The interval of the last sample.
  var last: (from: Int64, to: Int64)?

  var count: Int { values.map(\.count).max() ?? 0 }

  /// Returns the statistic of each number; 0 without values.
  func figures(_ statistic: String) -> [Double] {
    values.map { values in
      let sum = values.reduce(0, +)
      guard let last = values.last else { return 0 }
      switch statistic.prefix(while: { $0 != "_" }) {
      case "average": return sum / Double(values.count)
      case "min": return values.sorted()[0]
      case "max": return values.sorted()[values.count - 1]
      case "latest": return last
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
    var (lines, tallies): (Lines, [ReferenceCell: ReferenceTally]) = (Lines(), [:])
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
      tallies.contains { cell, tally in
        let isSummed = !["min", "max", "latest", "count"].contains(figures.names[cell.type])
        return isSummed && tally.values.contains { !$0.reduce(0, +).isFinite }
      }
      || folded.contains { cell, tally in
        tally.figures(figures.names[cell.type]).contains { !$0.isFinite }
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
    let (one, two) = (left.isMerged ? 0 : 1, right.isMerged ? 0 : 1)
    return (left.type, one, left.name ?? "", left.span.lower)
      < (right.type, two, right.name ?? "", right.span.lower)
  }

  /// Moves the sums of days to the intervals of the question, where days are compared.
  private func folded(
    _ tallies: [ReferenceCell: ReferenceTally], _ window: ReferenceWindow,
    _ figures: ReferenceFigures
  ) -> [ReferenceCell: ReferenceTally] {
    var folded: [ReferenceCell: ReferenceTally] = [:]
    // In order, since sums of numbers depend on it.
    for cell in tallies.keys.sorted(by: Self.isBefore) {
      guard let tally = tallies[cell] else { continue }
      guard figures.names[cell.type].contains("_per_") else {
        folded[cell] = tally
        continue
      }
      var whole = cell
      whole.span = window.span(cell.span.lower)
      for place in 0..<4 where !tally.values[place].isEmpty {
        let sum = tally.values[place].reduce(0, +)
        folded[whole, default: ReferenceTally()].values[place].append(sum)
      }
      folded[whole]?.activities.formUnion(tally.activities)
      folded[whole]?.sessions += tally.count
    }
    return folded
  }

  private func line(
    _ cell: ReferenceCell, _ tally: ReferenceTally, _ window: ReferenceWindow,
    _ figures: ReferenceFigures
  ) -> ReferencePoint {
    let (kind, statistic) = (figures.kinds[cell.type], figures.names[cell.type])
    let numbers = tally.figures(statistic)
    let value: String
    switch kind.form {
    case _ where statistic == "count": value = ReferenceValue.number(Double(tally.count))
    case .nutrient: value = ReferenceValue.meal(numbers)
    case .workout:
      let all = tally.activities.sorted().joined(separator: ",")
      let sessions = statistic == "latest" ? 1 : max(tally.sessions, tally.count)
      value = ReferenceValue.workout(
        statistic == "latest" ? tally.lastActivity : all, numbers, sessions)
    case .spread, .reading, .sleep, .minutes: value = ReferenceValue.number(numbers[0])
    }
    var label = PointLabel(
      type: kind.type, unit: statistic == "count" ? "count" : kind.measure.unit,
      from: cell.span.start,
      to: min(cell.span.end, window.end), source: cell.isMerged ? "merged" : cell.name,
      statistic: statistic,
      isMerged: cell.isMerged, isPartial: window.isPartial(cell.span))
    if statistic == "latest", let last = tally.last { (label.from, label.to) = last }
    return window.line(label, value, at: cell.span.start)
  }
}
