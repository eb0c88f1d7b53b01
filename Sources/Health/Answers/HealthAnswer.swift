import LinkCore

/// Answers one question for samples: says what to read, takes pages, and tells the points.
///
/// A statistic keeps one cell for each span and source, not the samples. An answer that grows
/// beyond its bytes is cut at a moment, and says where to ask on.
struct HealthAnswer: Sendable {
  let query: HealthDataQuery
  let zone: ZoneRules
  let now: Timestamp
  let limits: AnswerLimits
  let stored: StoredHealth
  /// The types that the statistic applies to, each with its figure; no figures without statistic.
  let kinds: [HealthKind]
  let figures: [Figure]
  /// Which types were left out, and why; and which numbers.
  var notes: [String]
  /// The number of each kind's type: the four numbers of a meal have one.
  let typeNumbers: [Int]
  /// Whether single sources are left out where there is a merged value.
  var mergedOnly = false
  /// How far beyond the window it reads on both sides.
  private let margin: Duration
  /// What counts; its end moves back when the answer is cut.
  var window: AnswerWindow
  /// The same, which stays.
  let asked: AnswerWindow
  var reading: Reading
  let buckets: CalendarBuckets
  /// The calendar of figures that compare days.
  let days: CalendarBuckets
  /// The span at hand: most samples fall into that of the one before.
  var current: Bucket?
  var cells: Cells
  var sources = Sources()
  var lanes = SourceLanes()
  /// The merged series of the type at hand, if its values are added; without data if they do not
  /// lie over time.
  var merge: SourceMerge?
  /// The readings of the type at hand.
  var same = SameReadings()
  /// Once all workouts were read: their heart rates.
  var pulses: WorkoutPulses?
  var runs = SleepRuns()
  var nights = SleepBook()
  /// The scale of the unit that came last.
  private var scale: (unit: String?, scale: Scale?)?
  var raw = RawPoints()
  var nextStart: Timestamp?
  var skipped = 0
  /// Why there is no answer.
  var refusal: AnswerRefusal?

  init(
    _ query: HealthDataQuery, zone: ZoneRules, now: Timestamp, limits: AnswerLimits,
    stored: StoredHealth
  ) throws(AnswerRefusal) {
    self.query = query
    self.zone = zone
    self.now = now
    self.limits = limits
    self.stored = stored
    let window = try AnswerWindow(query, zone: zone, now: now)
    (self.window, asked) = (window, window)
    let chosen = try AnswerChoice(query)
    (kinds, figures, notes) = (chosen.kinds, chosen.figures, chosen.notes)
    typeNumbers = kinds.map { [kinds] kind in kinds.firstIndex { $0.type == kind.type } ?? 0 }
    // A session that begins or goes on outside must be seen whole to know where it ends.
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
    // No point takes fewer than 120 bytes, and half of the spans must still fill an answer. Two
    // spans have four points, those of a source and those of all.
    let spans = max(4, limits.maxBytes / 60)
    cells = Cells(limit: figures.contains(where: \.needsDays) ? SleepBook.most : spans)
    beginType()
  }

  /// The calendar of the type at hand: days where its figure compares days.
  var calendar: CalendarBuckets {
    figures[reading.place].needsDays ? days : buckets
  }

  /// Begins the merged series of the type at hand, if its values are added.
  private mutating func beginType() {
    // The next type's units are of another dimension, and its spans of another calendar.
    (scale, current, merge) = (nil, nil, nil)
    same = SameReadings()
    guard figures.indices.contains(reading.place), figures[reading.place].isAdded else { return }
    merge = SourceMerge(calendar: calendar)
  }

  /// What to read next; `nil` when the answer is there.
  var wanted: HealthSampleQuery? { refusal == nil ? reading.query ?? pulses?.query : nil }

  /// Takes the page that was wanted.
  mutating func take(_ page: HealthSamplePage) {
    guard refusal == nil else { return }
    guard reading.place < kinds.count else { return takePulses(page) }
    let kind = kinds[reading.place]
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
    merge?.finish(at: window.to, lanes.ranks)
    addMerged()
    reading.finishType()
    beginType()
    if query.valueType == .workout, !limits.isExact { beginPulses() }
  }

  /// Ends the answer at a moment, of every type alike; `next` is where to ask on.
  mutating func shorten(to cut: Timestamp, askingFrom next: Timestamp) {
    (window.to, nextStart) = (cut, next)
    reading.shorten(to: cut.advanced(by: margin))
  }

  /// The number of a sample in the unit that is told; `nil` if nothing is known of its unit, or if
  /// it is none.
  mutating func number(_ sample: HealthSample, _ dimension: Dimension?) -> Double? {
    guard let dimension, case .quantity(let value) = sample.value else { return nil }
    if scale?.unit != sample.unit || scale == nil {
      scale = (sample.unit, dimension.scale(from: sample.unit))
    }
    guard let number = scale?.scale?(value), number.isFinite else { return nil }
    return number
  }

  /// The span of a moment.
  mutating func bucket(at time: Timestamp) -> Bucket {
    if let current, current.members.contains(time) { return current }
    let found = calendar.bucket(at: time)
    current = found
    return found
  }
}

/// The types of an answer, and what figure each gives.
private struct AnswerChoice {
  var kinds: [HealthKind] = []
  var figures: [Figure] = []
  var notes: [String] = []

  /// Chooses by the question's statistic. Throws if it applies to none of the types.
  init(_ query: HealthDataQuery) throws(AnswerRefusal) {
    guard let grouping = query.groupBy else {
      kinds = query.valueType.kinds
      return
    }
    var refusals: [AnswerRefusal] = []
    for kind in query.valueType.kinds {
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
