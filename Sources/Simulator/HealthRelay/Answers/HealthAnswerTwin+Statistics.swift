import LinkCore
import LinkHealth

/// The place of a figure: one type and source, or all sources, in one span.
struct AnswerCell: Hashable {
  /// The number of its type.
  var type: Int
  var name: String?
  var isMerged: Bool
  var span: AnswerSpan
}

/// What is known of one cell.
struct AnswerTally {
  /// All values at each of the four places.
  var values: [[Double]] = [[], [], [], []]
  var activities: Set<String> = []
  var lastActivity = ""
  /// How many sessions several days had.
  var sessions = 0
  /// When the last sample was.
  var last: (from: Int64, to: Int64)?

  var count: Int { values.map(\.count).max() ?? 0 }

  /// Returns the figure at each place; 0 where nothing is known.
  func figures(_ word: String) -> [Double] {
    values.map { values in
      let sum = values.reduce(0, +)
      guard let last = values.last else { return 0 }
      switch word.prefix(while: { $0 != "_" }) {
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

extension HealthAnswerTwin {
  /// Returns one point for each type, source and span.
  mutating func statistics(
    _ frame: AnswerFrame, _ figures: AnswerFigures, spans: Int
  ) throws(AnswerReason) -> Lines {
    var (lines, tallies): (Lines, [AnswerCell: AnswerTally]) = (Lines(), [:])
    for (kind, word) in zip(figures.kinds, figures.words) {
      let type = figures.kinds.firstIndex { $0.type == kind.type } ?? 0
      var counting = AnswerCounting(frame: frame, kind: kind, word: word, type: type)
      var to = frame.to
      try readAll(kind, frame, upTo: &to) { sample, _ in
        if let numbers = AnswerValue.numbers(sample, kind) {
          counting.samples.append((sample, numbers))
        } else {
          lines.skipped += 1
        }
      }
      counting.count(into: &tallies)
    }
    let compares = figures.words.contains { $0.contains("_per_") }
    if !compares, tallies.count > spans { isBrief = true }
    let folded = folded(tallies, frame, figures)
    let isTooLarge =
      tallies.contains { cell, tally in
        let isSummed = !["min", "max", "latest", "count"].contains(figures.words[cell.type])
        return isSummed && tally.values.contains { !$0.reduce(0, +).isFinite }
      }
      || folded.contains { cell, tally in
        tally.figures(figures.words[cell.type]).contains { !$0.isFinite }
      }
    if isTooLarge {
      throw AnswerReason(
        text: "the samples add up to more than a number can hold, so some of them are wrong; ask "
          + "for the samples themselves, or for a time without them")
    }
    lines.all = folded.keys.sorted(by: Self.isBefore).compactMap { cell in
      folded[cell].map { line(cell, $0, frame, figures) }
    }
    return lines
  }

  static func isBefore(_ left: AnswerCell, _ right: AnswerCell) -> Bool {
    let (one, two) = (left.isMerged ? 0 : 1, right.isMerged ? 0 : 1)
    return (left.type, one, left.name ?? "", left.span.lower)
      < (right.type, two, right.name ?? "", right.span.lower)
  }

  /// Puts the sums of days into the spans of the question, where days are compared.
  private func folded(
    _ tallies: [AnswerCell: AnswerTally], _ frame: AnswerFrame, _ figures: AnswerFigures
  ) -> [AnswerCell: AnswerTally] {
    var folded: [AnswerCell: AnswerTally] = [:]
    // In order, since sums of numbers depend on it.
    for cell in tallies.keys.sorted(by: Self.isBefore) {
      guard let tally = tallies[cell] else { continue }
      guard figures.words[cell.type].contains("_per_") else {
        folded[cell] = tally
        continue
      }
      var whole = cell
      whole.span = frame.span(cell.span.lower)
      for place in 0..<4 where !tally.values[place].isEmpty {
        let sum = tally.values[place].reduce(0, +)
        folded[whole, default: AnswerTally()].values[place].append(sum)
      }
      folded[whole]?.activities.formUnion(tally.activities)
      folded[whole]?.sessions += tally.count
    }
    return folded
  }

  private func line(
    _ cell: AnswerCell, _ tally: AnswerTally, _ frame: AnswerFrame, _ figures: AnswerFigures
  ) -> AnswerLine {
    let (kind, word) = (figures.kinds[cell.type], figures.words[cell.type])
    let numbers = tally.figures(word)
    let value: String
    switch kind.form {
    case _ where word == "count": value = AnswerValue.number(Double(tally.count))
    case .nutrient: value = AnswerValue.meal(numbers)
    case .workout:
      let all = tally.activities.sorted().joined(separator: ",")
      let sessions = word == "latest" ? 1 : max(tally.sessions, tally.count)
      value = AnswerValue.workout(word == "latest" ? tally.lastActivity : all, numbers, sessions)
    case .spread, .reading, .sleep, .minutes: value = AnswerValue.number(numbers[0])
    }
    var label = AnswerLabel(
      type: kind.type, unit: word == "count" ? "count" : kind.measured.told, from: cell.span.start,
      to: min(cell.span.end, frame.end), source: cell.isMerged ? "merged" : cell.name, word: word,
      isMerged: cell.isMerged, isPartial: frame.isPartial(cell.span))
    if word == "latest", let last = tally.last { (label.from, label.to) = last }
    return frame.line(label, value, at: cell.span.start)
  }
}
