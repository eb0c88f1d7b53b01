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
  /// When the workouts among them were.
  var sessions: [Range<Timestamp>] = []
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
    guard raw.bytes > room else {
      if kind.measure == .workout {
        raw.sessions.append(sample.start..<max(sample.start, sample.end))
      }
      return raw.all.append(timed)
    }
    raw.all.removeAll { $0.start >= sample.start }
    raw.sessions.removeAll { $0.lowerBound >= sample.start }
    shorten(to: sample.start, askingFrom: sample.start)
  }

  private mutating func point(of sample: HealthSample, _ kind: HealthKind) -> HealthPoint? {
    let source = sources.number(sample.source, device: sample.device)
    var type = kind.type
    let value: HealthPointValue
    switch kind.measure {
    case .quantity(let dimension):
      guard let number = number(sample, dimension) else { return nil }
      value = .number(told(number, as: dimension))
    case .nutrient(let place):
      guard let number = number(sample, kind.dimension) else { return nil }
      var numbers: [Double?] = [nil, nil, nil, nil]
      numbers[place] = number
      value = .nutrition(meal(numbers))
    case .minutes: value = .number(told(sample.minutes))
    case .sleep:
      guard case .category(let name) = sample.value else { return nil }
      type = SleepStage(name: name)?.type ?? SleepStage.unknownType
      value = .number(told(sample.minutes))
    case .workout:
      guard case .workout(let workout) = sample.value, let numbers = workout.numbers else {
        return nil
      }
      let all = numbers + [sample.minutes(of: workout)]
      value = .workout(training(workout.answerType, all, sessions: 1))
    }
    return HealthPoint(
      type: type, value: value, unit: kind.toldDimension.unit, start: written(sample.start),
      end: written(max(sample.start, sample.end)), source: sources.names[source])
  }

  /// The whole answer, once nothing more is wanted.
  func reply() throws(AnswerRefusal) -> HealthReply {
    if let refusal { throw refusal }
    guard cells.all.allSatisfy(\.isFinite) else { throw .sumTooLarge }
    let points = try query.groupBy == nil ? samples() : statistics()
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

  /// The samples, workouts with their heart rates.
  private func samples() -> [TimedPoint] {
    guard let pulses else { return raw.all }
    return raw.all.enumerated().map { place, timed in
      var point = timed.point
      guard case .workout(var totals) = point.value else { return timed }
      totals.heartRate = pulses.found[place]?.average.map { told($0) }
      point.value = .workout(totals)
      return TimedPoint(point, start: timed.start)
    }
  }

  /// By type, the value of all sources before its parts, by source, then by time.
  private func statistics() throws(AnswerRefusal) -> [TimedPoint] {
    let cells = folded()
    // Also sums of several days can be too large.
    guard cells.allSatisfy(\.isFinite) else { throw .sumTooLarge }
    let told = cells.map { cell in
      (
        order: order(cell.type, cell.source, cell.bucket, cell.activity ?? ""),
        point: point(of: cell)
      )
    }
    let slept = nights.entries(figures.first ?? .sum, by: buckets).map { entry in
      (order: order(0, entry.source, entry.bucket, ""), point: point(of: entry))
    }
    return (told + slept).sorted { $0.order < $1.order }.map(\.point)
  }

  private func order(
    _ type: Int, _ source: Int, _ bucket: Bucket, _ activity: String
  ) -> (Int, Int, String, Timestamp, String) {
    let isOfAll = source == Sources.merged || source == Sources.all
    return (
      type, isOfAll ? 0 : 1, sources.names[source] ?? "", bucket.members.lowerBound, activity
    )
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
      let group = Group(
        type: cell.type, source: cell.source, bucket: bucket, activity: cell.activity)
      groups[group, default: []].append(cell)
    }
    return kept + groups.map { group, days in fold(days, into: group) }
  }

  private struct Group: Hashable {
    var type: Int
    var source: Int
    var bucket: Bucket
    var activity: String?
  }

  private func fold(_ days: [Cell], into group: Group) -> Cell {
    var whole = Cell(
      type: group.type, source: group.source, bucket: group.bucket, activity: group.activity)
    for place in 0..<4 {
      let figure = figures[group.type]
      let values = days.map { (value: $0.sums[place], isKnown: $0.counts[place] > 0) }
      whole.sums[place] = figure.combine(values) ?? 0
    }
    for day in days {
      whole.counts += day.counts
      whole.held.add(day.held)
    }
    return whole
  }

  private func point(of cell: Cell) -> TimedPoint {
    let (kind, figure) = (kinds[cell.type], figures[cell.type])
    let dimension = figure == .count ? Dimension.count : kind.toldDimension
    var point = HealthPoint(
      type: kind.type, value: value(of: cell, kind, figure), unit: dimension.unit,
      start: written(cell.bucket.start), end: written(min(cell.bucket.end, window.end)),
      source: sources.names[cell.source], statistic: figure.rawValue,
      isMerged: cell.source == Sources.merged, isPartial: isPartial(cell.bucket),
      workoutType: figure == .count ? cell.activity : nil)
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
      value: .number(told(entry.value, as: unit)), unit: unit.unit, start: written(start),
      end: written(end),
      source: sources.names[entry.source], statistic: figure.rawValue,
      isMerged: entry.source == Sources.merged, isPartial: isPartial(entry.bucket),
      sleep: told(entry.times))
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
    var values = figure == .average ? cell.sums / counts : cell.sums
    if figure == .averageOverTime {
      var held = cell.held
      held.end(at: min(cell.bucket.members.upperBound, window.to))
      values.x = held.average ?? 0
    }
    let known = (0..<4).map { cell.counts[$0] > 0 ? values[$0] : nil }
    switch kind.measure {
    case .quantity, .minutes, .sleep: return .number(told(values.x, as: kind.toldDimension))
    case .nutrient: return .nutrition(meal(known))
    case .workout:
      var totals = training(cell.activity ?? "", known, sessions: Int(cell.counts.w))
      totals.heartRate = cell.held.average.map { told($0) }
      return .workout(totals)
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

extension HealthAnswer {
  /// A number as the answer's reader wants it.
  private func told(_ number: Double, as dimension: Dimension = .nutrient) -> Double {
    limits.isExact ? number : dimension.told(number)
  }

  private func told(_ numbers: [Double?]) -> [Double?] { numbers.map { $0.map { told($0) } } }

  private func told(_ times: SleepTimes) -> SleepTimes {
    var times = times
    for part in [
      \SleepTimes.inBed, \.awake, \.light, \.deep, \.rem, \.unspecified, \.napMinutes,
    ] {
      times[keyPath: part] = times[keyPath: part].map { told($0) }
    }
    return times
  }

  /// A workout, or several, from distance, energy, steps and minutes.
  private func training(_ type: String, _ numbers: [Double?], sessions: Int) -> WorkoutTotals {
    let all = told(numbers)
    return WorkoutTotals(
      type: type, distance: all[0], energy: all[1],
      steps: numbers[2].map { told($0, as: .count) }, sessions: sessions, duration: all[3])
  }

  /// A meal from its four numbers.
  private func meal(_ numbers: [Double?]) -> NutritionTotals {
    let all = told(numbers)
    return NutritionTotals(calories: all[0], protein: all[1], carbs: all[2], fat: all[3])
  }
}
