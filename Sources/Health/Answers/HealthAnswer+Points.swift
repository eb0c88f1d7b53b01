import LinkCore

/// A point and what of it is needed to cut an answer.
struct TimedPoint: Sendable, Hashable {
  var point: HealthPoint
  var start: Timestamp
  /// Its bytes on the wire, with the comma after it.
  var length: Int

  init(_ point: HealthPoint, start: Timestamp) {
    self.point = point
    self.start = start
    length = point.length + 1
  }
}

/// The samples of an answer without statistics.
struct RawPoints: Sendable {
  var all: [TimedPoint] = []
  /// The bytes of the type at hand: each type may fill the answer, the rest is cut at the end.
  var bytes = 0
  /// The type at hand.
  var place = 0
}

extension HealthAnswer {
  /// What stands around the points, in bytes: names, times and where to ask on.
  private static let around = 500

  private var room: Int { max(0, limits.maxBytes - Self.around) }

  /// Tells a sample as it is; if there is no room for it, the answer ends before it.
  mutating func list(_ sample: HealthSample, _ kind: HealthKind) {
    guard (window.from..<window.to).contains(sample.start) else { return }
    if raw.place != reading.place {
      raw.place = reading.place
      raw.bytes = 0
    }
    guard let point = point(of: sample, kind) else { return skipped += 1 }
    let timed = TimedPoint(point, start: sample.start)
    raw.bytes += timed.length
    guard raw.bytes > room else { return raw.all.append(timed) }
    raw.all.removeAll { $0.start >= sample.start }
    shorten(to: sample.start, askingFrom: sample.start)
  }

  private mutating func point(of sample: HealthSample, _ kind: HealthKind) -> HealthPoint? {
    let source = sources.number(sample.source, device: sample.device)
    var type = kind.type
    let value: HealthPointValue
    switch kind.measure {
    case .quantity(let dimension):
      guard let number = number(sample, dimension) else { return nil }
      value = .number(number)
    case .nutrient(let place):
      guard let number = number(sample, kind.dimension) else { return nil }
      var sums = SIMD4<Double>.zero
      sums[place] = number
      value = .nutrition(NutritionTotals(sums))
    case .minutes: value = .number(sample.minutes)
    case .sleep:
      guard case .category(let name) = sample.value else { return nil }
      type = SleepStage(name: name)?.type ?? SleepStage.unknownType
      value = .number(sample.minutes)
    case .workout:
      guard case .workout(let workout) = sample.value, let numbers = workout.numbers else {
        return nil
      }
      value = .workout(WorkoutTotals(type: workout.answerType, numbers, sessions: 1))
    }
    return HealthPoint(
      type: type, value: value, unit: kind.rawUnit, start: written(sample.start),
      end: written(max(sample.start, sample.end)), source: sources.names[source])
  }

  /// The whole answer, once nothing more is wanted.
  func reply() throws(AnswerRefusal) -> HealthReply {
    if let refusal { throw refusal }
    guard cells.all.allSatisfy(\.isFinite) else { throw .sumTooLarge }
    let points = query.groupBy == nil ? raw.all : statistics()
    var nextStart = nextStart
    var bytes = 0
    // Cut at a moment that every type and source keeps, so that asking on repeats nothing.
    for point in points.sorted(by: { $0.start < $1.start }) {
      bytes += point.length
      guard bytes > room else { continue }
      nextStart = min(point.start, nextStart ?? point.start)
      break
    }
    let kept = points.filter { point in nextStart.map { point.start < $0 } ?? true }
    // Asking on would find as much at that moment again.
    if kept.isEmpty, nextStart != nil { throw .tooMuchAtOnce }
    return HealthReply(
      query: query, points: kept.map(\.point), nextStart: nextStart.map(written), skipped: skipped)
  }

  /// By type and source, then by time.
  private func statistics() -> [TimedPoint] {
    cells.all.sorted { left, right in
      let (before, after) = (sources.names[left.source] ?? "", sources.names[right.source] ?? "")
      return (left.type, before, left.bucket.start) < (right.type, after, right.bucket.start)
    }.map { cell in
      let kind = kinds[cell.type]
      let point = HealthPoint(
        type: kind.type, value: value(of: cell, kind), unit: kind.unit,
        start: written(cell.bucket.start), end: written(min(cell.bucket.end, window.end)),
        source: sources.names[cell.source])
      return TimedPoint(point, start: cell.bucket.start)
    }
  }

  private func value(of cell: Cell, _ kind: HealthKind) -> HealthPointValue {
    let isMean = query.statistic == .average
    let counts = cell.counts.replacing(with: .one, where: cell.counts .== .zero)
    let values = isMean ? cell.sums / counts : cell.sums
    switch kind.measure {
    case .quantity, .minutes, .sleep: return .number(values.x)
    case .nutrient: return .nutrition(NutritionTotals(values))
    case .workout:
      return .workout(
        WorkoutTotals(
          type: cell.activities.joined(separator: ","), values, sessions: Int(cell.counts.x)))
    }
  }

  /// A moment in the manner of the question: on the user's clock, or with its zone if it had one.
  ///
  /// A reading that the clocks show twice gets its offset the second time.
  func written(_ time: Timestamp) -> HealthTime {
    let east = zone.secondsEast(at: time)
    let zoned = HealthTime.instant(time, minutesEast: east % 60 == 0 ? east / 60 : nil)
    switch query.start {
    case .instant(_, nil): return .instant(time, minutesEast: nil)
    case .instant: return zoned
    case .local:
      let reading = zone.local(at: time)
      return zone.instant(of: reading) == time ? .local(reading) : zoned
    }
  }
}

extension WorkoutTotals {
  fileprivate init(type: String, _ numbers: SIMD4<Double>, sessions: Int) {
    self.init(
      type: type, distance: numbers.x, energy: numbers.y, steps: numbers.z, sessions: sessions)
  }
}

extension NutritionTotals {
  fileprivate init(_ numbers: SIMD4<Double>) {
    self.init(calories: numbers.x, protein: numbers.y, carbs: numbers.z, fat: numbers.w)
  }
}
