import LinkCore

extension HealthAnswer {
  /// Adds a sample to the spans that it belongs to.
  mutating func count(_ sample: HealthSample, _ kind: HealthKind) {
    let figure = figures[reading.place]
    let source = sources.number(sample.source, device: sample.device)
    switch kind.measure {
    case .quantity, .nutrient:
      guard let value = number(sample, kind.dimension) else { return skipped += 1 }
      count(value, sample, kind, figure, source)
    case .minutes:
      guard let anchor = anchor(of: sample, kind.rule) else { return }
      add(source, anchor) { cell in
        cell.take(sample.minutes, for: figure)
        cell.note(sample)
      }
    case .workout:
      guard case .workout(let workout) = sample.value, let numbers = workout.numbers else {
        return skipped += 1
      }
      guard let anchor = anchor(of: sample, kind.rule) else { return }
      let all = numbers + [sample.minutes(of: workout)]
      add(source, bucket(at: anchor), activity: workout.answerType) { cell in
        // What the last one does not know, one before it cannot tell.
        if figure == .latest { (cell.sums, cell.counts, cell.sessions) = (.zero, .zero, []) }
        for (place, number) in all.enumerated() {
          if let number { cell.take(number, at: place, for: figure) }
        }
        cell.sessions.append(sample.start..<max(sample.start, sample.end))
        cell.note(sample)
      }
    case .sleep: sleep(sample, source)
    }
  }

  private mutating func count(
    _ value: Double, _ sample: HealthSample, _ kind: HealthKind, _ figure: Figure, _ source: Int
  ) {
    if figure.isAdded {
      let lane = lanes.lane(of: sample, source: source)
      merge?.take(value, sample, from: window.from, lane: lane, lanes.ranks)
      guard !mergedOnly else { return }
    }
    let place: Int
    if case .nutrient(let number) = kind.measure { place = number } else { place = 0 }
    if figure.isAdded, sample.end > sample.start {
      return spread(value, sample.start..<sample.end, source, place, figure)
    }
    let isFirst = kind.aggregation != .discrete || same.isFirst(value, at: sample.start)
    for owner in [source, Sources.all] {
      guard owner == source || kind.hasAll(figure) && isFirst,
        // Anew for each: there may be no room for the first.
        let anchor = anchor(of: sample, kind.rule)
      else { continue }
      add(owner, anchor) { cell in
        cell.take(value, at: place, for: figure)
        if figure == .averageOverTime { cell.held.take(value, at: sample.start) }
        cell.note(sample)
      }
    }
  }

  private mutating func sleep(_ sample: HealthSample, _ source: Int) {
    guard case .category(let name) = sample.value, let stage = SleepStage(name: name) else {
      return skipped += 1
    }
    let lane = lanes.lane(of: sample, source: source)
    let span = SleepSpan(
      start: sample.start, end: max(sample.start, sample.end), stage: stage, lane: lane)
    for owner in mergedOnly ? [Sources.merged] : [source, Sources.merged] {
      if let spans = runs.take(span, of: owner) { add(spans, of: owner) }
    }
  }

  /// Moves the merged sums that are complete to their cells.
  mutating func addMerged() {
    guard let sums = merge?.finished else { return }
    merge?.finished.removeAll()
    let place: Int
    if case .nutrient(let number) = kinds[reading.place].measure {
      place = number
    } else {
      place = 0
    }
    for sum in sums where sum.bucket.members.lowerBound < window.to && refusal == nil {
      add(Sources.merged, sum.bucket) { $0.take(sum.value, at: place, for: .sum) }
    }
  }

  /// The moment that decides to which span a sample belongs, if it is one that was asked for.
  private func anchor(of sample: HealthSample, _ rule: HealthKind.Rule) -> Timestamp? {
    let anchor: Timestamp =
      switch rule {
      case .atStart, .spread: sample.start
      case .atEnd: max(sample.start, sample.end)
      case .atMiddle: sample.middle
      }
    return (window.from..<window.to).contains(anchor) ? anchor : nil
  }

  private mutating func add(
    _ source: Int, _ anchor: Timestamp, _ change: (inout Cell) -> Void
  ) {
    add(source, bucket(at: anchor), change)
  }

  private mutating func add(
    _ source: Int, _ bucket: Bucket, activity: String? = nil, _ change: (inout Cell) -> Void
  ) {
    let number = typeNumbers[reading.place]
    if cells.update(type: number, source: source, bucket: bucket, activity: activity, change) {
      return
    }
    guard !figures.contains(where: \.needsDays) else { return refusal = .tooManyDays }
    shorten()
    guard bucket.members.lowerBound < window.to else { return }
    _ = cells.update(type: number, source: source, bucket: bucket, activity: activity, change)
  }

  /// Adds a session to the day, or to the hour, in which it ends.
  private mutating func add(_ spans: [SleepSpan], of source: Int) {
    guard let session = SleepSession(spans, lanes.ranks),
      (window.from..<window.to).contains(session.end)
    else { return }
    guard !nights.isFull else { return refusal = .tooManyDays }
    let calendar = query.groupBy == .hour ? buckets : days
    nights.add(
      session, of: source, in: calendar.bucket(at: session.end), isNight: session.isNight(in: zone))
  }

  /// Gives each span its share of a value, by time; what lies outside the window goes to none.
  private mutating func spread(
    _ value: Double, _ span: Range<Timestamp>, _ source: Int, _ place: Int, _ figure: Figure
  ) {
    var start = max(span.lowerBound, window.from)
    let whole = span.lowerBound.distance(to: span.upperBound)
    while start < min(span.upperBound, window.to), refusal == nil {
      let bucket = bucket(at: start)
      let stop = min(bucket.members.upperBound, span.upperBound, window.to)
      let part = start.distance(to: stop)
      let share = part == whole ? value : value * (part / whole)
      add(source, bucket) { $0.take(share, at: place, for: figure) }
      start = stop
    }
  }

  /// Adds the sessions that no later stage finished.
  mutating func finishSleep() {
    for (source, spans) in runs.finish() { add(spans, of: source) }
  }

  /// Makes room: gives up the later half of the spans, of every type alike.
  private mutating func shorten() {
    guard let cut = cells.middle, let bucket = cells.all.first(where: { $0.bucket.start == cut })
    else {
      refusal = .tooMuchAtOnce
      return
    }
    cells.drop(from: cut)
    shorten(to: bucket.bucket.members.lowerBound, askingFrom: cut)
  }
}

extension Timestamp {
  /// Nanoseconds from here to `other`, whatever the two are.
  func distance(to other: Timestamp) -> Double {
    let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return overflow ? Double(other.nanoseconds) - Double(nanoseconds) : Double(difference)
  }

  /// Returns the moment halfway to `end`, which must be no earlier; rounded down to a nanosecond.
  func middle(to end: Timestamp) -> Timestamp {
    // Without a sign the distance of any two fits.
    let length = UInt64(bitPattern: end.nanoseconds &- nanoseconds)
    return Timestamp(nanoseconds: nanoseconds + Int64(length / 2))
  }
}

extension Cell {
  /// Remembers when its last sample was: the numbers of a meal are read one after another.
  fileprivate mutating func note(_ sample: HealthSample) {
    if let latest, latest.lowerBound > sample.start { return }
    latest = sample.start..<max(sample.start, sample.end)
  }
}

extension HealthSample {
  /// Its length; none for one that ends before it starts.
  var minutes: Double { max(0, start.distance(to: end)) / 60e9 }

  /// The minutes of a workout, without its pauses if they are known.
  func minutes(of workout: WorkoutValue) -> Double {
    guard let duration = workout.duration, duration >= .zero else { return minutes }
    let (seconds, rest) = duration.components
    return (Double(seconds) + Double(rest) / 1e18) / 60
  }

  fileprivate var middle: Timestamp { start.middle(to: max(start, end)) }
}
