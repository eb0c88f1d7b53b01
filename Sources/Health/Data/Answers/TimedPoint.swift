import HoldfastCore

/// A point, with the values that are needed to truncate, compare and tabulate an answer.
struct TimedPoint: Sendable, Hashable {
  var point: HealthPoint
  /// The time at which the answer is cut if the point does not fit.
  var start: Timestamp
  /// The size of the point in the answer, including the comma after it, in bytes.
  var length: Int
  /// The index of the span among those of the query, or of the part of all days.
  var index = 0
  /// The middle of the span.
  var middle: Timestamp
  /// The first day of a span of whole days, such as `2026-01-31`, in the user's time zone.
  var day: String?
  /// Whether the times of the point are its own and not those of a span of the query.
  var hasOwnTimes = false
  /// The length of the span in days by the clock, as far as it belongs to the query and is past.
  var days = 0.0
  /// Whether the point compares days, and only days that are not whole have data.
  var isOfPartialDays = false
  /// The number of the point's type if a span without data counts as zero: sessions and events.
  var zeroType: Int?

  init(_ point: HealthPoint, start: Timestamp) {
    self.point = point
    self.start = start
    middle = start
    length = point.length + 1
    hasOwnTimes = point.statistic == nil
  }

  /// The kind of workout that the point covers.
  var activity: String? {
    if case .workout(let totals) = point.value { return totals.type }
    return point.workoutType
  }
}

extension HealthAnswer {
  /// Returns a point with the place of its span in the calendar.
  func timed(
    _ point: HealthPoint, _ bucket: Bucket, _ part: CalendarPart?, of type: Int, start: Timestamp
  ) -> TimedPoint {
    var found = TimedPoint(point, start: start)
    let grouping = query.groupBy ?? .total
    found.index = part?.index ?? index(of: bucket)
    found.middle = bucket.start.middle(to: max(bucket.start, bucket.end))
    found.days = pastDays(of: bucket, type)
    if grouping.hasWholeDays {
      found.day = String(zone.local(at: bucket.start).description.prefix(10))
    }
    return found
  }

  /// Returns all points, once `wanted` is `nil`. They are sorted by type, source and time.
  func collected() throws(AnswerRefusal) -> [TimedPoint] {
    if let refusal { throw refusal }
    guard cells.all.allSatisfy(\.isFinite) else { throw .sumTooLarge }
    return try query.groupBy == nil ? samples() : statistics()
  }

  /// Returns the points, sorted by type, source and time. Values of all sources come before those
  /// of each source.
  private func statistics() throws(AnswerRefusal) -> [TimedPoint] {
    let cells = latestEvents(of: recurring(folded()))
    // Sums of several days can also overflow.
    guard cells.allSatisfy(\.isFinite) else { throw .sumTooLarge }
    let figure = figures.first ?? .sum
    let slept = nights.entries(figure, by: buckets, part: part(of:), whole: whole)
    let orders =
      cells.map { order($0.type, $0.source, $0.bucket, $0.part, $0.activity ?? "") }
      + slept.map { order(0, $0.source, $0.bucket, $0.part, "") }
    let points = cells.map { point(of: $0) } + slept.map { point(of: $0) }
    // Points are large, so the sort moves their indices.
    return orders.indices.sorted { orders[$0] < orders[$1] }.map { points[$0] }
  }

  private func order(
    _ type: Int, _ source: Int, _ bucket: Bucket, _ part: CalendarPart?, _ activity: String
  ) -> (Int, Int, String, Timestamp, Int, String) {
    let isOfAll = source == Sources.merged || source == Sources.all
    return (
      type, isOfAll ? 0 : 1, sources.names[source] ?? "", bucket.members.lowerBound,
      part?.index ?? 0, activity
    )
  }

  /// Returns the cells for the spans of the query. If the figure compares days, the cells of
  /// several days are combined.
  private func folded() -> [Cell] {
    guard query.groupBy?.isRecurring != true else { return cells.all }
    var single: [Cell] = []
    var groups: [CellGroup: [Cell]] = [:]
    for cell in cells.all {
      guard figures[cell.type].needsDays else {
        single.append(cell)
        continue
      }
      let bucket = buckets.bucket(at: cell.bucket.members.lowerBound)
      let group = CellGroup(
        type: cell.type, source: cell.source, bucket: bucket, activity: cell.activity)
      groups[group, default: []].append(cell)
    }
    return single + groups.map { group, days in fold(days, into: group) }
  }

  /// Combines the cells of several days in the way of a figure that compares days.
  ///
  /// A day that is not whole has less than it will have, so that it takes no part in an average or
  /// a minimum, unless no other day has data.
  func fold(_ days: [Cell], into group: CellGroup) -> Cell {
    var whole = group.cell
    var days = days
    if figures[group.type].needsWholeDays {
      let known = days.filter { !isPartial($0.bucket, of: group.type) }
      whole.isOfPartialDays = known.isEmpty
      if !known.isEmpty { days = known }
    }
    for index in 0..<4 {
      let figure = figures[group.type]
      let values = days.map { (value: $0.sums[index], isKnown: $0.counts[index] > 0) }
      whole.sums[index] = figure.combine(values) ?? 0
    }
    for day in days {
      whole.counts += day.counts
      whole.held.add(day.held)
    }
    return whole
  }
}

/// The cells that are combined into one.
struct CellGroup: Hashable {
  var type: Int
  var source: Int
  var bucket: Bucket
  var part: CalendarPart?
  var activity: String?

  /// An empty cell for the group.
  var cell: Cell {
    Cell(type: type, source: source, bucket: bucket, part: part, activity: activity)
  }
}
