import HoldfastCore
import HoldfastHealthSamples

/// The answer to one query for samples. It reads pages of samples and converts them to points.
///
/// For a statistic, it stores one cell for each span and source instead of the samples. An answer
/// that exceeds its maximum size is truncated at an instant and reports where to continue.
struct HealthAnswer: Sendable {
  let query: HealthDataQuery
  let zone: ZoneRules
  let now: Timestamp
  let limits: AnswerLimits
  let stored: StoredHealth
  /// The types to which the statistic applies. `figures` contains one figure for each of them, or
  /// is empty if there is no statistic.
  let kinds: [HealthKind]
  let figures: [Figure]
  /// Notes on the types and numbers that were omitted, with the reasons.
  var notes: [String]
  /// The number of each kind's type. The four kinds of a meal share one number.
  let typeNumbers: [Int]
  /// The length of the intervals before and after the window in which samples are also read.
  private let margin: Duration
  /// The interval whose samples count. Its end moves back when the answer is truncated.
  var window: AnswerWindow
  /// The original window. It does not change.
  let asked: AnswerWindow
  var reading: Reading
  let buckets: CalendarBuckets
  /// The calendar of figures that compare days.
  let days: CalendarBuckets
  /// Whether all spans are needed, even if they do not fit into the answer.
  private let isWhole: Bool
  /// The current span. Most samples belong to the same span as the previous sample.
  var current: Bucket?
  var cells: Cells
  var sources = Sources()
  var tracks = SourceMerger()
  /// The merged series of the current type, if its values are added. It contains no data for types
  /// that are not merged by time.
  var merge: SourceMerge?
  /// The readings of the current type.
  var same = SameReadings()
  /// The sessions of the current type that are still compared with each other.
  var merging = SessionMerge()
  /// The recorded kinds of workouts, if only one kind was asked for.
  var activities: Set<String> = []
  /// The heart rates during the workouts. They are read after all workouts.
  var pulses: WorkoutPulses?
  var runs = SleepRuns()
  var nights = SleepLog()
  /// The scale of the most recent unit.
  private var scale: (unit: String?, scale: Scale?)?
  /// The unit of a type that is unknown to this version: that of its first sample.
  private(set) var ownUnit: String?
  var raw = RawPoints()
  var nextStart: Timestamp?
  var skipped = 0
  /// The reason why there is no answer, if the question is refused.
  var refusal: AnswerRefusal?

  /// Starts an answer. If `only` is given, it is limited to the types of these names.
  init(
    _ query: HealthDataQuery, zone: ZoneRules, now: Timestamp, limits: AnswerLimits,
    stored: StoredHealth, only: Set<String>? = nil
  ) throws(AnswerRefusal) {
    self.query = query
    self.zone = zone
    self.now = now
    self.limits = limits
    self.stored = stored
    let window = try AnswerWindow(query, zone: zone, now: now)
    (self.window, asked) = (window, window)
    let chosen = try AnswerChoice(query, stored, only: only)
    (kinds, figures, notes) = (chosen.kinds, chosen.figures, chosen.notes)
    typeNumbers = kinds.map { [kinds] kind in kinds.firstIndex { $0.type == kind.type } ?? 0 }
    // A session that crosses an edge of the window must be read completely to determine its end.
    let isSleep = query.valueType == .sleep
    let seesWhole = isSleep && query.groupBy != nil && window.from < window.to
    margin = seesWhole ? Duration.seconds(12 * 3_600) : .zero
    reading = Reading(
      kinds, from: window.from.advanced(by: .zero - margin), to: window.to.advanced(by: margin),
      limits: limits)
    let lead = isSleep ? AnswerWindow.nightLead : .zero
    let whole = Bucket(start: window.start, end: window.end, members: window.members)
    buckets = CalendarBuckets(
      zone: zone, grouping: query.groupBy ?? .hour, lead: lead, whole: whole)
    days = CalendarBuckets(zone: zone, grouping: .day, lead: lead)
    isWhole = query.needsWhole || figures.contains(where: \.needsDays)
    // A point takes at least 120 bytes, a row 12. Half of the spans must be enough to fill an
    // answer. Two spans have at least four points: for each span, one of a source and one of all
    // sources.
    let spans = max(4, limits.maxBytes / (query.options.format == .table ? 6 : 60))
    cells = Cells(limit: isWhole ? SleepLog.most : spans)
    beginType()
  }

  /// The calendar of the current type. It consists of days if the figure compares days.
  var calendar: CalendarBuckets {
    figures[reading.index].needsDays && query.groupBy != .hourOfDay ? days : buckets
  }

  /// Begins the merged series of the current type, if its values are added.
  private mutating func beginType() {
    // The units of the next type have a different dimension, and its spans belong to a different
    // calendar.
    (scale, current, merge) = (nil, nil, nil)
    same = SameReadings()
    guard figures.indices.contains(reading.index), figures[reading.index].isAdded else { return }
    merge = SourceMerge(calendar: calendar)
  }

  /// The next query of samples, or `nil` when the answer is complete.
  var wanted: HealthSampleQuery? { refusal == nil ? reading.query ?? pulses?.query : nil }

  /// Adds the page that `wanted` requested.
  mutating func take(_ page: HealthSamplePage) {
    guard refusal == nil else { return }
    guard reading.index < kinds.count else { return takePulses(page) }
    let kind = kinds[reading.index]
    let fresh = reading.fresh
    for sample in page.samples where fresh.contains(sample.start) {
      if query.groupBy == nil { list(sample, kind) } else { count(sample, kind) }
    }
    addMerged()
    guard refusal == nil else { return }
    guard reading.isPast || (page.next == nil && reading.isLastBatch) else {
      return reading.advance(page.next)
    }
    finishSleep()
    finishSessions()
    merge?.finish(at: window.to, tracks.ranks)
    addMerged()
    reading.finishType()
    beginType()
    if query.valueType == .workout, !limits.isExact { beginPulses() }
  }

  /// Truncates the answer at an instant, for all types alike. The next query continues at `next`.
  mutating func shorten(to cut: Timestamp, askingFrom next: Timestamp) {
    (window.to, nextStart) = (cut, next)
    reading.shorten(to: cut.advanced(by: margin))
  }

  /// Returns the number of a sample in the unit of answers, or `nil` if its unit is unknown or its
  /// value is not a finite number.
  mutating func number(_ sample: HealthSample, _ dimension: Dimension?) -> Double? {
    guard let dimension, case .quantity(let value) = sample.value else { return nil }
    if dimension == .own {
      ownUnit = ownUnit ?? sample.unit ?? "count"
      guard ownUnit == sample.unit ?? "count" else { return nil }
    }
    if scale?.unit != sample.unit || scale == nil {
      scale = (sample.unit, dimension.scale(from: sample.unit))
    }
    guard let number = scale?.scale?(value), number.isFinite else { return nil }
    return number
  }

  /// Returns the span to which a time belongs.
  mutating func bucket(at time: Timestamp) -> Bucket {
    if let current, current.members.contains(time) { return current }
    let found = calendar.bucket(at: time)
    current = found
    return found
  }
}

/// The types of an answer, and the figure of each type.
private struct AnswerChoice {
  var kinds: [HealthKind] = []
  var figures: [Figure] = []
  var notes: [String] = []

  /// Chooses types and figures for a query. Throws an error if its statistic applies to none of the
  /// types.
  init(
    _ query: HealthDataQuery, _ stored: StoredHealth, only: Set<String>?
  ) throws(AnswerRefusal) {
    var asked = query.valueType.kinds(in: stored)
    guard !asked.isEmpty else { throw stored.unknown(query.valueType) }
    if let only { asked.removeAll { !only.contains($0.type) } }
    guard let grouping = query.groupBy else {
      kinds = asked
      return
    }
    var refusals: [AnswerRefusal] = []
    for kind in asked {
      do throws(AnswerRefusal) {
        figures.append(try kind.figure(query.statistic, by: grouping))
        kinds.append(kind)
      } catch {
        if let last = refusals.last, let both = last.joined(with: error) {
          refusals[refusals.count - 1] = both
        } else {
          refusals.append(error)
        }
      }
    }
    guard !kinds.isEmpty else { throw refusals.first ?? .statisticAlone }
    notes = refusals.map { "Left out: \($0)." }
  }
}

extension HealthAnswer {
  /// Adds a sample to the spans to which it belongs.
  mutating func count(_ sample: HealthSample, _ kind: HealthKind) {
    let figure = figures[reading.index]
    guard !kind.isSession else { return countSession(sample, kind) }
    let source = sources.number(sample.source, device: sample.device)
    switch kind.measure {
    case .quantity, .nutrient:
      guard let value = number(sample, kind.dimension) else { return skipped += 1 }
      count(value, sample, kind, figure, source)
    case .minutes, .workout: break
    case .sleep: sleep(sample, source)
    case .event(let values): count(sample, values, figure, source)
    }
  }

  private mutating func count(
    _ value: Double, _ sample: HealthSample, _ kind: HealthKind, _ figure: Figure, _ source: Int
  ) {
    if figure.isAdded {
      let track = tracks.track(of: sample, source: source)
      merge?.take(value, sample, from: window.from, track: track, tracks.ranks)
      guard query.options.bySource else { return }
    }
    let index: Int
    if case .nutrient(let number) = kind.measure { index = number } else { index = 0 }
    if figure.isAdded, sample.end > sample.start {
      return spread(value, sample.start..<sample.end, source, index, figure)
    }
    let isFirst = kind.aggregation != .discrete || same.isFirst(value, at: sample.start)
    for owner in owners(source) {
      guard owner == source || kind.hasAll(figure) && isFirst,
        // The anchor is determined for each owner, because adding to the first may shorten the
        // window.
        let anchor = anchor(of: sample, kind.rule)
      else { continue }
      add(owner, anchor) { cell in
        cell.take(value, at: index, for: figure)
        if figure == .averageOverTime { cell.held.take(value, at: sample.start) }
        cell.note(sample)
      }
    }
  }

  private mutating func sleep(_ sample: HealthSample, _ source: Int) {
    guard case .category(let name) = sample.value, let stage = SleepStage(name: name) else {
      return skipped += 1
    }
    let track = tracks.track(of: sample, source: source)
    let span = SleepSpan(
      start: sample.start, end: max(sample.start, sample.end), stage: stage, track: track)
    for owner in query.options.bySource ? [source, Sources.merged] : [Sources.merged] {
      if let spans = runs.take(span, of: owner) { add(spans, of: owner) }
    }
  }

  /// Moves complete merged sums to their cells.
  mutating func addMerged() {
    guard let sums = merge?.finished else { return }
    merge?.finished.removeAll()
    let index: Int
    if case .nutrient(let number) = kinds[reading.index].measure {
      index = number
    } else {
      index = 0
    }
    for sum in sums where sum.bucket.members.lowerBound < window.to && refusal == nil {
      add(Sources.merged, sum.bucket) { $0.take(sum.value, at: index, for: .sum) }
    }
  }

  /// Returns the time that determines to which span a sample belongs, or `nil` if that time is
  /// outside the window.
  func anchor(of sample: HealthSample, _ rule: HealthKind.Rule) -> Timestamp? {
    let anchor = rule.anchor(of: sample)
    return (window.from..<window.to).contains(anchor) ? anchor : nil
  }

  private mutating func add(
    _ source: Int, _ anchor: Timestamp, _ change: (inout Cell) -> Void
  ) {
    add(source, bucket(at: anchor), change)
  }

  /// Returns the owners of a value that is not merged by time.
  func owners(_ source: Int) -> [Int] {
    query.options.bySource ? [source, Sources.all] : [Sources.all]
  }

  /// Changes the cell of a span. If there is no room for it, the answer is shortened.
  mutating func add(
    _ source: Int, _ bucket: Bucket, activity: String? = nil, _ change: (inout Cell) -> Void
  ) {
    let number = typeNumbers[reading.index]
    if cells.update(type: number, source: source, bucket: bucket, activity: activity, change) {
      return
    }
    guard !isWhole else { return refusal = .tooManyDays }
    shorten()
    guard bucket.members.lowerBound < window.to else { return }
    _ = cells.update(type: number, source: source, bucket: bucket, activity: activity, change)
  }

  /// Adds a session to the day or hour in which it ends.
  private mutating func add(_ spans: [SleepSpan], of source: Int) {
    guard let session = SleepSession(spans, tracks.ranks),
      (window.from..<window.to).contains(session.end)
    else { return }
    guard !nights.isFull else { return refusal = .tooManyDays }
    let calendar = query.groupBy == .hour ? buckets : days
    nights.add(
      session, of: source, in: calendar.bucket(at: session.end), isNight: session.isNight(in: zone))
  }

  /// Divides a value among the spans in proportion to time. The share outside the window is
  /// dropped.
  private mutating func spread(
    _ value: Double, _ span: Range<Timestamp>, _ source: Int, _ index: Int, _ figure: Figure
  ) {
    var start = max(span.lowerBound, window.from)
    let whole = span.lowerBound.distance(to: span.upperBound)
    while start < min(span.upperBound, window.to), refusal == nil {
      let bucket = bucket(at: start)
      let stop = min(bucket.members.upperBound, span.upperBound, window.to)
      let part = start.distance(to: stop)
      let share = part == whole ? value : value * (part / whole)
      add(source, bucket) { $0.take(share, at: index, for: figure) }
      start = stop
    }
  }

  /// Adds the sessions that are still open after all samples were read.
  mutating func finishSleep() {
    for (source, spans) in runs.finish() { add(spans, of: source) }
  }

  /// Makes room by dropping the second half of the spans, for all types alike.
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
  /// Returns the number of nanoseconds from this time to `other`, without overflow.
  func distance(to other: Timestamp) -> Double {
    let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return overflow ? Double(other.nanoseconds) - Double(nanoseconds) : Double(difference)
  }

  /// Returns the time halfway to `end`, rounded down to a nanosecond. `end` must not be earlier
  /// than this time.
  func middle(to end: Timestamp) -> Timestamp {
    // The distance between any two times fits into an unsigned integer.
    let length = UInt64(bitPattern: end.nanoseconds &- nanoseconds)
    return Timestamp(nanoseconds: nanoseconds + Int64(length / 2))
  }
}

extension Cell {
  /// Stores the time of the last sample. The four numbers of a meal are read one after another, so
  /// a sample may be earlier.
  mutating func note(_ sample: HealthSample) {
    if let latest, latest.lowerBound > sample.start { return }
    latest = sample.span
  }
}

extension HealthSample {
  /// The length of the sample in minutes, or 0 if the sample ends before it starts.
  var minutes: Double { max(0, start.distance(to: end)) / 60e9 }

  /// Returns the length of a workout in minutes. Pauses are excluded if they are known.
  func minutes(of workout: WorkoutValue) -> Double {
    guard let duration = workout.duration, duration >= .zero else { return minutes }
    let (seconds, rest) = duration.components
    return (Double(seconds) + Double(rest) / 1e18) / 60
  }

  var middle: Timestamp { start.middle(to: max(start, end)) }
}

extension HealthAnswer {
  /// The number of bytes for all members except the points: names, times, freshness and the
  /// position to continue at.
  static let around = 1_500

  var room: Int { max(0, limits.maxBytes - Self.around) }

  /// Adds a sample as a point. If there is no room for it, the answer is truncated before it.
  mutating func list(_ sample: HealthSample, _ kind: HealthKind) {
    if kind.isSession, !query.options.bySource { return countSession(sample, kind) }
    guard (window.from..<window.to).contains(sample.start) else { return }
    if raw.index != reading.index {
      raw.index = reading.index
      raw.bytes = 0
    }
    if case .workout(let workout) = sample.value, !isWanted(workout.answerType) { return }
    guard let point = point(of: sample, kind) else { return skipped += 1 }
    let timed = TimedPoint(point, start: sample.start)
    raw.bytes += length(of: timed)
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

  mutating func point(of sample: HealthSample, _ kind: HealthKind) -> HealthPoint? {
    let source = sources.number(sample.source, device: sample.device)
    var type = kind.type
    let value: HealthPointValue
    switch kind.measure {
    case .quantity(let dimension):
      guard let number = number(sample, dimension) else { return nil }
      value = .number(rounded(number, as: dimension))
    case .nutrient(let index):
      guard let number = number(sample, kind.dimension) else { return nil }
      var numbers: [Double?] = [nil, nil, nil, nil]
      numbers[index] = number
      value = .nutrition(meal(numbers))
    case .minutes: value = .number(rounded(sample.minutes))
    case .sleep:
      guard case .category(let name) = sample.value else { return nil }
      type = SleepStage(name: name)?.type ?? SleepStage.unknownType
      value = .number(rounded(sample.minutes))
    case .workout:
      guard case .workout(let workout) = sample.value, let numbers = workout.numbers else {
        return nil
      }
      let all = numbers + [sample.minutes(of: workout)]
      value = .workout(training(workout.answerType, all, sessions: 1))
    case .event(let values): value = self.value(of: sample, values)
    }
    return HealthPoint(
      type: type, value: value, unit: unit(of: value, kind, kind.answerDimension),
      start: written(sample.start),
      end: written(max(sample.start, sample.end)), source: sources.names[source])
  }

  /// The requested statistic, or the statistic that all types have in common.
  var statistic: HealthStatistic? {
    let chosen = Set(figures.map(\.statistic))
    return query.statistic ?? (chosen.count == 1 ? chosen.first : nil)
  }

  var freshness: HealthFreshness {
    var last: [(type: String, at: Timestamp?)] = []
    for kind in query.valueType.kinds(in: stored) {
      let at = stored.lastSamples[kind.identifier]
      if let index = last.firstIndex(where: { $0.type == kind.type }) {
        last[index].at = [last[index].at, at].compactMap(\.self).max()
      } else {
        last.append((kind.type, at))
      }
    }
    var freshness = HealthFreshness(zone: zone, now: now, imported: stored.lastImport)
    freshness.lastSamples = last.map { .init(type: $0.type, at: $0.at.map(written)) }
    return freshness
  }

  /// Returns the samples as points, with heart rates for workouts.
  func samples() -> [TimedPoint] {
    guard let pulses else { return raw.all }
    return raw.all.enumerated().map { index, timed in
      var point = timed.point
      guard case .workout(var totals) = point.value else { return timed }
      totals.heartRate = pulses.found[index]?.average.map { rounded($0) }
      point.value = .workout(totals)
      return TimedPoint(point, start: timed.start)
    }
  }

  func point(of cell: Cell) -> TimedPoint {
    let (kind, figure) = (kinds[cell.type], figures[cell.type])
    let dimension = figure == .count ? Dimension.count : kind.answerDimension
    var point = HealthPoint(
      type: type(of: cell, kind, figure), value: value(of: cell, kind, figure),
      unit: unit(of: value(of: cell, kind, figure), kind, dimension),
      start: written(cell.bucket.start), end: written(min(cell.bucket.end, window.end)),
      source: sources.names[cell.source], statistic: figure.rawValue,
      isMerged: cell.source == Sources.merged,
      isPartial: isPartial(cell.bucket, cell.part, of: cell.type),
      workoutType: figure == .count && kind.measure == .workout ? cell.activity : nil)
    point.part = cell.part?.name
    if figure == .longest || figure == .shortest {
      point.statistic = figure.rawValue + (cell.hasDistance ? "_by_distance" : "_by_duration")
    }
    let latest = figure.isOfOneSample ? cell.latest : nil
    if let latest {
      (point.start, point.end) = (written(latest.lowerBound), written(latest.upperBound))
    }
    var found = timed(
      point, cell.bucket, cell.part, of: cell.type, start: cell.bucket.start)
    found.isOfPartialDays = cell.isOfPartialDays
    found.zeroType = kind.isZero(without: figure) ? cell.type : nil
    guard let latest else { return found }
    (found.day, found.middle, found.hasOwnTimes) = (nil, latest.lowerBound, true)
    return found
  }

  func point(of entry: SleepLog.Entry) -> TimedPoint {
    let figure = figures.first ?? .sum
    let unit = figure == .count ? Dimension.count : Dimension.time
    let start = entry.extent?.start ?? entry.bucket.start
    let end = entry.extent?.end ?? min(entry.bucket.end, window.end)
    var point = HealthPoint(
      type: entry.isInBed ? SleepStage.inBed.type : HealthKind.sleepType,
      value: .number(rounded(entry.value, as: unit)), unit: unit.unit, start: written(start),
      end: written(end),
      source: sources.names[entry.source], statistic: figure.rawValue,
      isMerged: entry.source == Sources.merged,
      isPartial: isPartial(entry.bucket, entry.part, of: 0),
      sleep: rounded(entry.times))
    point.part = entry.part?.name
    var found = timed(
      point, entry.bucket, entry.part, of: 0, start: cut(before: entry.bucket))
    if entry.extent != nil { (found.day, found.hasOwnTimes) = (nil, true) }
    return found
  }

  /// Returns the time at which to continue without losing part of a night, since the evening of a
  /// night is before the start of its span.
  private func cut(before bucket: Bucket) -> Timestamp {
    // In a query that is not for whole days, samples count from exactly the time at which it
    // starts.
    guard asked.lead > .zero else { return bucket.members.lowerBound }
    let evening = AnswerWindow.evening(before: bucket.start, in: zone)
    guard evening > bucket.members.lowerBound else { return bucket.start }
    // Clocks skip the first day of the span, so only the start of the previous span includes the
    // evening.
    let before = bucket.members.lowerBound.advanced(by: .nanoseconds(-1))
    return cut(before: buckets.bucket(at: before))
  }

  /// Returns whether more than a second of a span is outside the query or in the future, or whether
  /// it begins before the type is synced.
  func isPartial(_ bucket: Bucket, of type: Int) -> Bool {
    guard !isUnsynced(bucket, of: type) else { return true }
    let second = Duration.seconds(1)
    return bucket.members.lowerBound.advanced(by: second) < asked.from
      || bucket.members.upperBound > min(asked.to, now).advanced(by: second)
  }

  private func value(of cell: Cell, _ kind: HealthKind, _ figure: Figure) -> HealthPointValue {
    guard figure != .count else { return .number(cell.counts.max()) }
    if case .event = kind.measure, figure == .latest, let word = cell.activity {
      return .text(word)
    }
    let counts = cell.counts.replacing(with: .one, where: cell.counts .== .zero)
    var values = figure == .average ? cell.sums / counts : cell.sums
    if figure == .averageOverTime {
      var held = cell.held
      held.end(at: min(cell.bucket.members.upperBound, window.to))
      values.x = held.average ?? 0
    }
    let known = (0..<4).map { cell.counts[$0] > 0 ? values[$0] : nil }
    switch kind.measure {
    case .quantity, .minutes, .sleep, .event:
      return .number(rounded(values.x, as: kind.answerDimension))
    case .nutrient: return .nutrition(meal(known))
    case .workout:
      var totals = training(cell.activity ?? "", known, sessions: Int(cell.counts.w))
      totals.heartRate = cell.held.average.map { rounded($0) }
      return .workout(totals)
    }
  }

  /// Returns a time in the form that the query uses: as local time or with an offset.
  ///
  /// If a local time occurs twice, its second occurrence is returned with its offset.
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
  /// Returns a number, rounded unless the answer is exact.
  func rounded(_ number: Double, as dimension: Dimension = .nutrient) -> Double {
    limits.isExact ? number : dimension.rounded(number)
  }

  private func rounded(_ numbers: [Double?]) -> [Double?] { numbers.map { $0.map { rounded($0) } } }

  private func rounded(_ times: SleepTimes) -> SleepTimes { times.map { rounded($0) } }

  /// Returns a workout or the totals of several workouts, given the distance, energy, steps and
  /// minutes.
  private func training(_ type: String, _ numbers: [Double?], sessions: Int) -> WorkoutTotals {
    let all = rounded(numbers)
    return WorkoutTotals(
      type: type, distance: all[0], energy: all[1],
      steps: numbers[2].map { rounded($0, as: .count) }, sessions: sessions, duration: all[3])
  }

  /// Returns a meal, given its four numbers.
  private func meal(_ numbers: [Double?]) -> NutritionTotals {
    let all = rounded(numbers)
    return NutritionTotals(calories: all[0], protein: all[1], carbs: all[2], fat: all[3])
  }
}
