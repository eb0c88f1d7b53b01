import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// An aggregator that counts the samples of one type in cells.
///
/// For a sum, a sample that has a duration is split wherever an interval or a sample begins or
/// ends.
struct ReferenceAggregator {
  let window: ReferenceWindow
  let kind: ReferenceType
  let statistic: String
  /// The index of the type in the answer.
  let type: Int
  /// The samples in order, each with its converted numbers.
  var samples: [(sample: HealthSample, numbers: [Double?])] = []

  init(window: ReferenceWindow, kind: ReferenceType, statistic: String, type: Int) {
    (self.window, self.kind, self.statistic, self.type) = (window, kind, statistic, type)
  }

  private var isSum: Bool { statistic == "sum" || statistic.contains("_per_") }

  private func span(_ moment: Int64) -> CalendarSpan {
    statistic.contains("_per_") ? window.span(moment, .day) : window.span(moment)
  }

  func count(into tallies: inout [ReferenceCell: ReferenceCounts]) {
    guard isSum, kind.isSpread else {
      for (sample, numbers) in samples { count(sample, numbers, into: &tallies) }
      for (sample, numbers) in countedSessions { count(sample, numbers, isAll: true, &tallies) }
      return
    }
    let lasting = samples.filter { $0.sample.end > $0.sample.start }.map { sample, numbers in
      ClippedSample(
        from: max(sample.start.nanoseconds, window.from),
        upTo: min(sample.end.nanoseconds, window.to), sample: sample,
        number: numbers[kind.index] ?? 0)
    }.filter { $0.from < $0.upTo }
    count(lasting, into: &tallies)
    let brief = samples.filter { $0.sample.end <= $0.sample.start }.map { sample, numbers in
      ClippedSample(
        from: sample.start.nanoseconds, upTo: sample.start.nanoseconds, sample: sample,
        number: numbers[kind.index] ?? 0)
    }.filter { window.has($0.from) }
    count(brief, among: lasting, into: &tallies)
  }

  private func add(
    _ value: Double, _ source: ReferenceSource?, _ span: CalendarSpan,
    into tallies: inout [ReferenceCell: ReferenceCounts]
  ) {
    guard source == nil || window.query.options.bySource else { return }
    let cell = ReferenceCell(
      type: type, name: source?.name, all: source == nil ? "merged" : nil, span: span)
    tallies[cell, default: ReferenceCounts()].values[kind.index].append(value)
  }

  /// Splits the time wherever an interval or a sample begins or ends, and adds the share of each
  /// sample in every part.
  private func count(
    _ lasting: [ClippedSample], into tallies: inout [ReferenceCell: ReferenceCounts]
  ) {
    var edges: Set<Int64> = []
    for one in lasting {
      edges.formUnion([one.from, one.upTo])
      var moment = span(one.from).upper
      while moment < one.upTo {
        edges.insert(moment)
        let next = span(moment).upper
        guard next > moment else { break }
        moment = next
      }
    }
    let times = edges.sorted()
    for (from, upTo) in zip(times, times.dropFirst()) {
      let active = lasting.filter { $0.from <= from && $0.upTo > from }
      guard let best = ClippedSample.best(of: active) else { continue }
      let span = span(from)
      for one in active {
        let share = one.number * (Double(upTo - from) / one.whole)
        add(share, one.source, span, into: &tallies)
        if one.source.isLike(best) { add(share, nil, span, into: &tallies) }
      }
    }
  }

  /// Adds samples without a duration.
  ///
  /// The merged value includes the samples that no source of higher rank overlaps.
  private func count(
    _ brief: [ClippedSample], among lasting: [ClippedSample],
    into tallies: inout [ReferenceCell: ReferenceCounts]
  ) {
    for one in brief {
      add(one.number, one.source, span(one.from), into: &tallies)
      let others =
        lasting.filter { $0.from <= one.from && $0.upTo > one.from }
        + brief.filter { $0.from == one.from }
      if let best = ClippedSample.best(of: others), best.isLike(one.source) {
        add(one.number, nil, span(one.from), into: &tallies)
      }
    }
  }

  /// Adds a sample as a whole to one interval.
  private func count(
    _ sample: HealthSample, _ numbers: [Double?],
    into tallies: inout [ReferenceCell: ReferenceCounts]
  ) {
    let (start, end) = (sample.start.nanoseconds, max(sample.start, sample.end).nanoseconds)
    guard !kind.isSession else {
      if window.query.options.bySource { count(sample, numbers, isAll: false, &tallies) }
      return
    }
    guard window.has(start) else { return }
    var cell = ReferenceCell(type: type, name: ReferenceSource.of(sample).name, span: span(start))
    if window.query.options.bySource {
      tallies[cell, default: ReferenceCounts()].add(numbers, from: start, to: end)
    }
    cell = ReferenceCell(type: type, all: "all", span: cell.span)
    var counts = tallies[cell] ?? ReferenceCounts()
    // A reading that a second source repeats counts once.
    let isAgain = counts.readings.contains { $0.at == start && $0.value == numbers[kind.index] }
    guard kind.form != .reading || !isAgain else { return }
    counts.add(numbers, from: start, to: end)
    tallies[cell] = counts
  }
}

// Sessions.
extension ReferenceAggregator {
  private func activity(of sample: HealthSample) -> String {
    guard case .workout(let workout) = sample.value else { return "" }
    return ReferenceValue.activities[workout.activity] ?? ""
  }

  /// The sessions that count if all sources are put together, in order.
  ///
  /// A session does not count if one of the same kind and a source of higher rank counts and
  /// overlaps with half of the shorter of both.
  var countedSessions: [(sample: HealthSample, numbers: [Double?])] {
    guard kind.isSession else { return [] }
    let byRank = samples.indices.sorted { one, two in
      let (first, second) = (source(one), source(two))
      if first.isBefore(second) || second.isBefore(first) { return first.isBefore(second) }
      return one < two
    }
    var counted: [Int] = []
    for index in byRank where !counted.contains(where: { isCopy(index, of: $0) }) {
      counted.append(index)
    }
    return counted.sorted().map { samples[$0] }
  }

  private func source(_ index: Int) -> ReferenceSource {
    ReferenceSource.of(samples[index].sample)
  }

  private func isCopy(_ index: Int, of other: Int) -> Bool {
    let (one, two) = (samples[index].sample, samples[other].sample)
    guard activity(of: one) == activity(of: two), source(index).name != source(other).name else {
      return false
    }
    let (oneEnd, twoEnd) = (max(one.start, one.end), max(two.start, two.end))
    let overlap = min(oneEnd, twoEnd).nanoseconds - max(one.start, two.start).nanoseconds
    let shorter = min(
      oneEnd.nanoseconds - one.start.nanoseconds, twoEnd.nanoseconds - two.start.nanoseconds)
    return overlap >= 0 && 2 * overlap >= shorter
  }

  /// Adds a session to the interval that contains its middle.
  private func count(
    _ sample: HealthSample, _ numbers: [Double?], isAll: Bool,
    _ tallies: inout [ReferenceCell: ReferenceCounts]
  ) {
    let (start, end) = (sample.start.nanoseconds, max(sample.start, sample.end).nanoseconds)
    let middle = start + (end - start) / 2
    guard window.has(middle) else { return }
    let cell = ReferenceCell(
      type: type, name: isAll ? nil : ReferenceSource.of(sample).name,
      all: isAll ? "merged" : nil, span: span(middle), activity: activity(of: sample))
    var counts = tallies[cell] ?? ReferenceCounts()
    if statistic == "longest" || statistic == "shortest" {
      guard counts.isBeaten(by: numbers, wantsMost: statistic == "longest") else { return }
    }
    if kind.form == .workout, ["latest", "longest", "shortest"].contains(statistic) {
      counts = ReferenceCounts()
    }
    counts.add(numbers, from: start, to: end)
    tallies[cell] = counts
  }
}

extension ReferenceCounts {
  /// Returns whether a workout with these numbers is longer, or shorter, than the one that counts.
  fileprivate func isBeaten(by numbers: [Double?], wantsMost: Bool) -> Bool {
    guard !values[3].isEmpty else { return true }
    var (old, new) = (values[0].first ?? 0, numbers[0] ?? 0)
    if (old > 0) != (new > 0) { return new > 0 }
    if old <= 0 { (old, new) = (values[3].first ?? 0, numbers[3] ?? 0) }
    return wantsMost ? new > old : new < old
  }
}

/// The part of a sample within the interval of the question.
struct ClippedSample {
  var from: Int64
  var upTo: Int64
  var number: Double
  var source: ReferenceSource
  /// The duration of the whole sample in nanoseconds.
  var whole: Double

  init(from: Int64, upTo: Int64, sample: HealthSample, number: Double) {
    (self.from, self.upTo, self.number) = (from, upTo, number)
    source = ReferenceSource.of(sample)
    whole = Double(sample.end.nanoseconds - sample.start.nanoseconds)
  }

  /// Returns the source of the highest rank among overlapping samples.
  static func best(of all: [ClippedSample]) -> ReferenceSource? {
    all.map(\.source).min { $0.isBefore($1) }
  }
}
