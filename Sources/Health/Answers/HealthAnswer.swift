import LinkCore

/// Answers one question for samples: says what to read, takes pages, and tells the points.
///
/// A statistic keeps one cell for each span and source, not the samples. An answer that grows
/// beyond its bytes is cut at a moment, and says where to ask on.
struct HealthAnswer: Sendable {
  let query: HealthDataQuery
  let zone: ZoneRules
  let limits: AnswerLimits
  let kinds: [HealthKind]
  /// The number of each kind's type: the four numbers of a meal have one.
  let typeNumbers: [Int]
  /// How far beyond the window it reads on both sides.
  private let margin: Duration
  /// What counts; its end moves back when the answer is cut.
  var window: AnswerWindow
  var reading: Reading
  let buckets: CalendarBuckets
  /// The span at hand: most samples fall into that of the one before.
  var current: Bucket?
  var cells: Cells
  var sources = Sources()
  var sleep = SleepSessions()
  /// The scale of the unit that came last.
  private var scale: (unit: String?, scale: Scale?)?
  var raw = RawPoints()
  var nextStart: Timestamp?
  var skipped = 0
  /// Why there is no answer.
  var refusal: AnswerRefusal?

  init(
    _ query: HealthDataQuery, zone: ZoneRules, now: Timestamp, limits: AnswerLimits
  ) throws(AnswerRefusal) {
    self.query = query
    self.zone = zone
    self.limits = limits
    kinds = query.valueType.kinds
    typeNumbers = kinds.map { [kinds] kind in kinds.firstIndex { $0.type == kind.type } ?? 0 }
    let window = try AnswerWindow(query, zone: zone, now: now)
    self.window = window
    // A session that begins or goes on outside must be seen whole to know where it ends.
    let isSleep = query.valueType == .sleep && query.groupBy != nil && window.from < window.to
    margin = isSleep ? Duration.seconds(12 * 3_600) : .zero
    reading = Reading(
      kinds, from: window.from.advanced(by: .zero - margin), to: window.to.advanced(by: margin),
      limits: limits)
    buckets = CalendarBuckets(
      zone: zone, grouping: query.groupBy ?? .hour,
      lead: query.groupBy == .hour ? .zero : window.lead)
    // No point takes fewer than 120 bytes, and half of the spans must still fill an answer.
    cells = Cells(limit: max(2, limits.maxBytes / 60))
  }

  /// What to read next; `nil` when the answer is there.
  var wanted: HealthSampleQuery? { refusal == nil ? reading.query : nil }

  /// Takes the page that was wanted.
  mutating func take(_ page: HealthSamplePage) {
    guard reading.place < kinds.count, refusal == nil else { return }
    let kind = kinds[reading.place]
    let fresh = reading.fresh
    for sample in page.samples where fresh.contains(sample.start) {
      if query.groupBy == nil { list(sample, kind) } else { count(sample, kind) }
    }
    guard refusal == nil else { return }
    guard reading.isPast || (page.next == nil && reading.isLastBatch) else {
      return reading.advance(page.next)
    }
    if query.groupBy != nil, kind.measure == .sleep { finishSleep() }
    // The next type's units are of another dimension.
    scale = nil
    reading.finishType()
  }

  /// Ends the answer at a moment, of every type alike; `next` is where to ask on.
  mutating func shorten(to cut: Timestamp, askingFrom next: Timestamp) {
    (window.to, nextStart) = (cut, next)
    reading.shorten(to: cut.advanced(by: margin))
  }

  /// The number of a sample in the unit that is told; `nil` if nothing is known of its unit, or if
  /// it is none.
  mutating func number(_ sample: HealthSample, _ dimension: Dimension?) -> Double? {
    guard let dimension, case .quantity(let value) = sample.value, value.isFinite else {
      return nil
    }
    if scale?.unit != sample.unit || scale == nil {
      scale = (sample.unit, dimension.scale(from: sample.unit))
    }
    guard let number = scale?.scale?(value), number.isFinite else { return nil }
    return number
  }

  /// The span of a moment.
  mutating func bucket(at time: Timestamp) -> Bucket {
    if let current, current.members.contains(time) { return current }
    let found = buckets.bucket(at: time)
    current = found
    return found
  }
}
