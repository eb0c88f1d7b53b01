import LinkCore

extension HealthAnswer {
  /// Adds a sample to the spans that it belongs to.
  mutating func count(_ sample: HealthSample, _ kind: HealthKind) {
    let source = sources.number(sample.source, device: sample.device)
    switch kind.measure {
    case .quantity, .nutrient:
      guard let value = number(sample, kind.dimension) else { return skipped += 1 }
      count(value, sample, kind, source)
    case .minutes:
      guard let anchor = anchor(of: sample, kind.rule) else { return }
      add(source, anchor) { $0.add(sample.minutes) }
    case .workout:
      guard case .workout(let workout) = sample.value, let numbers = workout.numbers else {
        return skipped += 1
      }
      guard let anchor = anchor(of: sample, kind.rule) else { return }
      add(source, anchor) { cell in
        cell.sums += numbers
        cell.counts += .one
        cell.add(activity: workout.answerType)
      }
    case .sleep:
      guard case .category(let name) = sample.value, let stage = SleepStage(name: name) else {
        return skipped += 1
      }
      let span = SleepSession(start: sample.start, end: max(sample.start, sample.end))
      for session in sleep.take(stage, span, source: source) { add(session, source) }
    }
  }

  private mutating func count(
    _ value: Double, _ sample: HealthSample, _ kind: HealthKind, _ source: Int
  ) {
    let place: Int
    if case .nutrient(let number) = kind.measure { place = number } else { place = 0 }
    if kind.rule == .spread, sample.end > sample.start {
      return spread(value, sample.start..<sample.end, source, place)
    }
    guard let anchor = anchor(of: sample, kind.rule) else { return }
    add(source, anchor) { $0.add(value, at: place) }
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
    _ source: Int, _ bucket: Bucket, _ change: (inout Cell) -> Void
  ) {
    let number = typeNumbers[min(reading.place, kinds.count - 1)]
    if cells.update(type: number, source: source, bucket: bucket, change) { return }
    shorten()
    guard refusal == nil, bucket.members.lowerBound < window.to else { return }
    _ = cells.update(type: number, source: source, bucket: bucket, change)
  }

  private mutating func add(_ session: SleepSession, _ source: Int) {
    guard (window.from..<window.to).contains(session.end) else { return }
    add(source, session.end) { $0.add(session.length / 60e9) }
  }

  /// Gives each span its share of a value, by time; what lies outside the window goes to none.
  private mutating func spread(
    _ value: Double, _ span: Range<Timestamp>, _ source: Int, _ place: Int
  ) {
    var start = max(span.lowerBound, window.from)
    let whole = span.lowerBound.distance(to: span.upperBound)
    while start < min(span.upperBound, window.to), refusal == nil {
      let bucket = bucket(at: start)
      let stop = min(bucket.members.upperBound, span.upperBound, window.to)
      let part = start.distance(to: stop)
      let share = part == whole ? value : value * (part / whole)
      add(source, bucket) { $0.add(share, at: place) }
      start = stop
    }
  }

  /// Adds the sessions that no later stage finished.
  mutating func finishSleep() {
    for (source, session) in sleep.finish() { add(session, source) }
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
}

extension HealthSample {
  /// Its length; none for one that ends before it starts.
  var minutes: Double { max(0, start.distance(to: end)) / 60e9 }

  fileprivate var middle: Timestamp {
    end > start ? Timestamp(nanoseconds: start.nanoseconds / 2 + end.nanoseconds / 2) : start
  }
}
