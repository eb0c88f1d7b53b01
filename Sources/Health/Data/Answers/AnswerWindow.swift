import HoldfastCore

/// The interval that an answer covers.
struct AnswerWindow: Sendable, Hashable {
  /// The start of the interval whose samples count.
  var from: Timestamp
  var to: Timestamp
  /// The requested start.
  var start: Timestamp
  /// The requested end. No reported span extends beyond it.
  var end: Timestamp
  /// The time before midnight at which the days of this answer begin.
  var lead = Duration.zero

  /// Creates the window of a query. Throws an error if the query is invalid.
  init(
    _ query: HealthDataQuery, zone: ZoneRules, now: Timestamp
  ) throws(AnswerRefusal) {
    if query.groupBy == nil, query.statistic != nil { throw .statisticAlone }
    from = zone.instant(of: query.start)
    to = zone.instant(of: query.end)
    (start, end) = (from, to)
    guard Self.range.contains(from), Self.range.contains(to) else { throw .outOfRange }
    guard from <= to else { throw .startAfterEnd }
    guard from <= now else { throw .startInFuture }
    if query.valueType == .sleep { widenToNights(in: zone) }
  }

  /// The interval whose samples count, as a range.
  var members: Range<Timestamp> { from..<max(from, to) }

  /// The time from 21:00, when days of sleep begin, to midnight.
  static let nightLead = Duration.seconds(3 * 3_600)

  /// The start of the year 1900.
  static let oldest = Timestamp(nanoseconds: -2_208_988_800_000_000_000)
  /// The years from 1900 to 2199.
  private static let range = oldest..<Timestamp(nanoseconds: 7_258_118_400_000_000_000)

  /// Extends whole days of sleep to the nights that belong to them, from 21:00 to 21:00.
  ///
  /// The nights of neighboring days then neither overlap nor leave a gap.
  private mutating func widenToNights(in zone: ZoneRules) {
    guard let first = Self.midnight(near: from, in: zone),
      let last = Self.midnight(near: to, in: zone), first < last
    else { return }
    lead = Self.nightLead
    from = Self.evening(before: first, in: zone)
    to = Self.evening(before: last, in: zone)
  }

  /// Returns the time from which samples count in a query of whole days that starts at `start`.
  static func evening(before start: Timestamp, in zone: ZoneRules) -> Timestamp {
    midnight(near: start, in: zone).map { evening(before: $0, in: zone) } ?? start
  }

  private static func evening(before midnight: CivilTime, in zone: ZoneRules) -> Timestamp {
    zone.first(showing: CivilTime(nanoseconds: midnight.nanoseconds - nightLead.nanoseconds))
  }

  /// Returns the midnight that a time represents: a time within 5 minutes of 00:00 or of 23:59.
  ///
  /// In a zone whose clocks skip 00:00, the day begins at the first time after the skip.
  private static func midnight(near time: Timestamp, in zone: ZoneRules) -> CivilTime? {
    let minute: Int64 = 60_000_000_000
    let day = CivilTime.nanosecondsPerDay
    let (days, rest) = Gregorian.floorDivide(zone.local(at: time).nanoseconds, by: day)
    let midnight = CivilTime(nanoseconds: days * day)
    let since = time.nanoseconds - zone.first(showing: midnight).nanoseconds
    if min(rest, since) <= 5 * minute { return midnight }
    if rest >= day - 6 * minute { return CivilTime(nanoseconds: (days + 1) * day) }
    return nil
  }
}
