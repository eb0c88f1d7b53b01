import LinkCore
import LinkWire

extension HealthAnswer {
  /// Adds a sample to the spans that it belongs to; where to cut if there is no room for it.
  mutating func count(_ sample: HealthSample, _ kind: HealthKind) -> Timestamp? {
    let source = sources.number(sample.source, device: sample.device)
    switch kind.measure {
    case .quantity, .nutrient:
      guard let value = number(sample, kind.dimension) else { return skip() }
      return count(value, sample, kind, source) ? nil : sample.start
    case .minutes:
      guard let anchor = anchor(of: sample, kind.rule) else { return nil }
      return add(source, anchor) { $0.add(sample.minutes) } ? nil : sample.start
    case .workout:
      guard case .workout(let workout) = sample.value else { return skip() }
      guard let anchor = anchor(of: sample, kind.rule) else { return nil }
      let isRoom = add(source, anchor) { cell in
        cell.sums += SIMD4(workout.distance ?? 0, workout.energy ?? 0, workout.steps ?? 0, 0)
        cell.counts += .one
        cell.add(activity: workout.answerType)
      }
      return isRoom ? nil : sample.start
    case .sleep:
      guard case .category(let name) = sample.value, let stage = SleepStage(name: name) else {
        return skip()
      }
      let span = SleepSession(start: sample.start, end: max(sample.start, sample.end))
      let finished = sleep.take(stage, span, source: source)
      let lost = finished.first { !add($0, source) }
      return lost.map { min($0.start, sleep.earliest ?? $0.start) }
    }
  }

  private mutating func skip() -> Timestamp? {
    skipped += 1
    return nil
  }

  private mutating func count(
    _ value: Double, _ sample: HealthSample, _ kind: HealthKind, _ source: Int
  ) -> Bool {
    let place: Int
    if case .nutrient(let number) = kind.measure { place = number } else { place = 0 }
    if kind.rule == .spread, sample.end > sample.start {
      return spread(value, sample.start..<sample.end, source, place)
    }
    guard let anchor = anchor(of: sample, kind.rule) else { return true }
    return add(source, anchor) { $0.add(value, at: place) }
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
  ) -> Bool {
    cells.update(type: typeNumber, source: source, bucket: bucket(at: anchor), change)
  }

  private mutating func add(_ session: SleepSession, _ source: Int) -> Bool {
    guard (window.from..<window.to).contains(session.end) else { return true }
    return add(source, session.end) { $0.add(session.length / 60e9) }
  }

  /// Gives each span its share of a value, by time; what lies outside the window goes to none.
  private mutating func spread(
    _ value: Double, _ span: Range<Timestamp>, _ source: Int, _ place: Int
  ) -> Bool {
    var start = max(span.lowerBound, window.from)
    let end = min(span.upperBound, window.to)
    let whole = span.lowerBound.distance(to: span.upperBound)
    while start < end {
      let bucket = bucket(at: start)
      let stop = min(bucket.members.upperBound, end)
      let part = start.distance(to: stop)
      let share = part == whole ? value : value * (part / whole)
      let isRoom = cells.update(type: typeNumber, source: source, bucket: bucket) {
        $0.add(share, at: place)
      }
      guard isRoom else { return false }
      start = stop
    }
    return true
  }

  /// Tells the sessions that no later stage finished.
  mutating func finishSleep() {
    let left = sleep.finish()
    guard left.contains(where: { !add($0.session, $0.source) }) else { return }
    // Where the earliest of them begins, so that none is told without its neighbours.
    shorten(to: left.map(\.session.start).min() ?? window.from)
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
