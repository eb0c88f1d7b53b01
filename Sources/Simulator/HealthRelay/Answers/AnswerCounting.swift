import LinkCore
import LinkHealth

/// The samples of one type, put into cells: moment by moment where they lie over time.
struct AnswerCounting {
  let frame: AnswerFrame
  let kind: AnswerKind
  let word: String
  /// The number of the type.
  let type: Int
  /// What was read, in order, with the numbers that are told.
  var samples: [(sample: HealthSample, numbers: [Double])] = []

  init(frame: AnswerFrame, kind: AnswerKind, word: String, type: Int) {
    (self.frame, self.kind, self.word, self.type) = (frame, kind, word, type)
  }

  private var isAdded: Bool { word == "sum" || word.contains("_per_") }

  private func span(_ moment: Int64) -> AnswerSpan {
    word.contains("_per_") ? frame.span(moment, .day) : frame.span(moment)
  }

  func count(into tallies: inout [AnswerCell: AnswerTally]) {
    guard isAdded, kind.isSpread else {
      for (sample, numbers) in samples { count(sample, numbers, into: &tallies) }
      return
    }
    let lasting = samples.filter { $0.sample.end > $0.sample.start }.map { sample, numbers in
      AnswerStretch(
        from: max(sample.start.nanoseconds, frame.from),
        upTo: min(sample.end.nanoseconds, frame.to), sample: sample, number: numbers[kind.place])
    }.filter { $0.from < $0.upTo }
    count(lasting, into: &tallies)
    let brief = samples.filter { $0.sample.end <= $0.sample.start }.map { sample, numbers in
      AnswerStretch(
        from: sample.start.nanoseconds, upTo: sample.start.nanoseconds, sample: sample,
        number: numbers[kind.place])
    }.filter { frame.has($0.from) }
    count(brief, among: lasting, into: &tallies)
  }

  private func add(
    _ value: Double, _ source: AnswerSource?, _ span: AnswerSpan,
    into tallies: inout [AnswerCell: AnswerTally]
  ) {
    let cell = AnswerCell(type: type, name: source?.name, isMerged: source == nil, span: span)
    tallies[cell, default: AnswerTally()].values[kind.place].append(value)
  }

  /// Counts shares, which are the same between two moments at which anything begins or ends.
  private func count(
    _ lasting: [AnswerStretch], into tallies: inout [AnswerCell: AnswerTally]
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
      guard let best = AnswerStretch.best(of: active) else { continue }
      let span = span(from)
      for one in active {
        let share = one.number * (Double(upTo - from) / one.whole)
        add(share, one.source, span, into: &tallies)
        if one.source.isLike(best) { add(share, nil, span, into: &tallies) }
      }
    }
  }

  /// Counts samples without a length, of all sources those that no better source measures.
  private func count(
    _ brief: [AnswerStretch], among lasting: [AnswerStretch],
    into tallies: inout [AnswerCell: AnswerTally]
  ) {
    for one in brief {
      add(one.number, one.source, span(one.from), into: &tallies)
      let others =
        lasting.filter { $0.from <= one.from && $0.upTo > one.from }
        + brief.filter { $0.from == one.from }
      if let best = AnswerStretch.best(of: others), best.isLike(one.source) {
        add(one.number, nil, span(one.from), into: &tallies)
      }
    }
  }

  /// Counts a sample that belongs to one span as a whole.
  private func count(
    _ sample: HealthSample, _ numbers: [Double], into tallies: inout [AnswerCell: AnswerTally]
  ) {
    let (start, end) = (sample.start.nanoseconds, max(sample.start, sample.end).nanoseconds)
    let isSession = kind.form == .minutes || kind.form == .workout
    let moment = isSession ? start + (end - start) / 2 : start
    guard frame.has(moment) else { return }
    let cell = AnswerCell(
      type: type, name: AnswerSource.of(sample).name, isMerged: false, span: span(moment))
    var tally = tallies[cell] ?? AnswerTally()
    let places = kind.form == .workout ? 0...2 : kind.place...kind.place
    for place in places { tally.values[place].append(numbers[place]) }
    if case .workout(let workout) = sample.value {
      tally.lastActivity = AnswerValue.activities[workout.activity] ?? ""
      tally.activities.insert(tally.lastActivity)
    }
    if start >= tally.last?.from ?? start { tally.last = (start, end) }
    tallies[cell] = tally
  }
}

/// The part of a sample that lies within the question.
struct AnswerStretch {
  var from: Int64
  var upTo: Int64
  var number: Double
  var source: AnswerSource
  /// The length of all of it.
  var whole: Double

  init(from: Int64, upTo: Int64, sample: HealthSample, number: Double) {
    (self.from, self.upTo, self.number) = (from, upTo, number)
    source = AnswerSource.of(sample)
    whole = Double(sample.end.nanoseconds - sample.start.nanoseconds)
  }

  /// Returns the source that counts.
  static func best(of all: [AnswerStretch]) -> AnswerSource? {
    all.map(\.source).min { $0.isBefore($1) }
  }
}
