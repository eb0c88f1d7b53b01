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
  /// What stands around the points, in bytes: names, times, freshness and where to ask on.
  static let around = 1_500

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
    let points = try query.groupBy == nil ? raw.all : statistics()
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
    var told = query
    (told.statistic, told.maxBytes) = (statistic, nil)
    return HealthReply(
      query: told, points: kept.map(\.point), nextStart: nextStart.map(written),
      skipped: skipped, notes: notes, freshness: freshness)
  }

  /// As asked, or what all types have in common.
  private var statistic: HealthStatistic? {
    let chosen = Set(figures.map(\.statistic))
    return query.statistic ?? (chosen.count == 1 ? chosen.first : nil)
  }

  private var freshness: HealthFreshness {
    var last: [(type: String, at: Timestamp?)] = []
    for kind in query.valueType.kinds {
      let at = stored.lastSamples[kind.identifier]
      if let place = last.firstIndex(where: { $0.type == kind.type }) {
        last[place].at = [last[place].at, at].compactMap(\.self).max()
      } else {
        last.append((kind.type, at))
      }
    }
    var freshness = HealthFreshness(zone: zone, now: now)
    freshness.imported = stored.lastImport.map(written)
    freshness.lastSamples = last.map { .init(type: $0.type, at: $0.at.map(written)) }
    return freshness
  }

  /// By type, the merged value before its parts, by source, then by time.
  private func statistics() throws(AnswerRefusal) -> [TimedPoint] {
    let cells = folded()
    // Also sums of several days can be too large.
    guard cells.allSatisfy(\.isFinite) else { throw .sumTooLarge }
    let told = cells.map { cell in
      (order: (cell.type, cell.source, cell.bucket.members.lowerBound), point: point(of: cell))
    }
    let slept = nights.entries(figures.first ?? .sum, by: buckets).map { entry in
      (order: (0, entry.source, entry.bucket.members.lowerBound), point: point(of: entry))
    }
    func name(_ source: Int) -> String { sources.names[source] ?? "" }
    return (told + slept).sorted { left, right in
      let (one, two) = (left.order, right.order)
      guard (one.0 == two.0) && (one.1 == Sources.merged) == (two.1 == Sources.merged) else {
        return (one.0, one.1 == Sources.merged ? 0 : 1) < (two.0, two.1 == Sources.merged ? 0 : 1)
      }
      return (name(one.1), one.2) < (name(two.1), two.2)
    }.map(\.point)
  }

  /// The cells by spans of the question: of those that compare days, several become one.
  private func folded() -> [Cell] {
    var kept: [Cell] = []
    var groups: [Group: [Cell]] = [:]
    for cell in cells.all {
      guard figures[cell.type].needsDays else {
        kept.append(cell)
        continue
      }
      let bucket = buckets.bucket(at: cell.bucket.members.lowerBound)
      groups[Group(type: cell.type, source: cell.source, bucket: bucket), default: []].append(cell)
    }
    return kept + groups.map { group, days in fold(days, into: group) }
  }

  private struct Group: Hashable {
    var type: Int
    var source: Int
    var bucket: Bucket
  }

  private func fold(_ days: [Cell], into group: Group) -> Cell {
    var whole = Cell(type: group.type, source: group.source, bucket: group.bucket)
    for place in 0..<4 {
      let figure = figures[group.type]
      let values = days.map { (value: $0.sums[place], isKnown: $0.counts[place] > 0) }
      whole.sums[place] = figure.combine(values) ?? 0
    }
    for day in days {
      whole.counts += day.counts
      for activity in day.activities { whole.add(activity: activity) }
    }
    return whole
  }

  private func point(of cell: Cell) -> TimedPoint {
    let (kind, figure) = (kinds[cell.type], figures[cell.type])
    var point = HealthPoint(
      type: kind.type, value: value(of: cell, kind, figure),
      unit: figure == .count ? Dimension.count.unit : kind.unit,
      start: written(cell.bucket.start), end: written(min(cell.bucket.end, window.end)),
      source: sources.names[cell.source], statistic: figure.rawValue,
      isMerged: cell.source == Sources.merged, isPartial: isPartial(cell.bucket))
    if figure == .latest, let latest = cell.latest {
      (point.start, point.end) = (written(latest.lowerBound), written(latest.upperBound))
    }
    return TimedPoint(point, start: cell.bucket.start)
  }

  private func point(of entry: SleepBook.Entry) -> TimedPoint {
    let figure = figures.first ?? .sum
    let unit = figure == .count ? Dimension.count : Dimension.time
    let start = entry.extent?.start ?? entry.bucket.start
    let end = entry.extent?.end ?? min(entry.bucket.end, window.end)
    let point = HealthPoint(
      type: entry.isInBed ? SleepStage.inBed.type : HealthKind.sleepType,
      value: .number(entry.value), unit: unit.unit, start: written(start), end: written(end),
      source: sources.names[entry.source], statistic: figure.rawValue,
      isMerged: entry.source == Sources.merged, isPartial: isPartial(entry.bucket),
      sleep: entry.times)
    return TimedPoint(point, start: cut(before: entry.bucket))
  }

  /// Where to ask on so that nothing of a span of nights is lost: its evening is before its start.
  private func cut(before bucket: Bucket) -> Timestamp {
    // A question that is not of whole days counts from the very moment at which it starts.
    guard asked.lead > .zero else { return bucket.members.lowerBound }
    let evening = AnswerWindow.evening(before: bucket.start, in: zone)
    guard evening > bucket.members.lowerBound else { return bucket.start }
    // The clocks skip the span's first day: no start finds its evening but that of the span before.
    let before = bucket.members.lowerBound.advanced(by: .nanoseconds(-1))
    return cut(before: buckets.bucket(at: before))
  }

  /// Whether the question, or the present, cuts a span by more than a second.
  private func isPartial(_ bucket: Bucket) -> Bool {
    let second = Duration.seconds(1)
    return bucket.members.lowerBound.advanced(by: second) < asked.from
      || bucket.members.upperBound > min(asked.to, now).advanced(by: second)
  }

  private func value(of cell: Cell, _ kind: HealthKind, _ figure: Figure) -> HealthPointValue {
    guard figure != .count else { return .number(cell.counts.max()) }
    let counts = cell.counts.replacing(with: .one, where: cell.counts .== .zero)
    let values = figure == .average ? cell.sums / counts : cell.sums
    switch kind.measure {
    case .quantity, .minutes, .sleep: return .number(values.x)
    case .nutrient: return .nutrition(NutritionTotals(values))
    case .workout:
      let sessions = figure == .latest ? 1 : Int(cell.counts.x)
      return .workout(
        WorkoutTotals(
          type: cell.activities.joined(separator: ","), values, sessions: sessions))
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
