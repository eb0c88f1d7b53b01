import HoldfastCore

/// The nights and naps of each source and of all sources merged, by day.
///
/// A day lasts from 21:00 to 21:00, and a session belongs to the day in which it ends. A session is
/// part of the night if it has at least three hours of sleep, or if its middle is between 21:00 and
/// 09:00 local time. Every other session is a nap. Sums include both. Figures of nights exclude
/// naps.
struct SleepLog: Sendable {
  /// The sleep of one source on one day, or in one hour.
  struct Day: Sendable, Hashable {
    var bucket: Bucket
    /// The time from the start of the night's first session to the end of its last.
    var night: (start: Timestamp, end: Timestamp)? {
      nights > 0 ? (nightStart, nightEnd) : nil
    }
    /// The number of sessions in the night.
    var nights = 0
    var nightStart = Timestamp(nanoseconds: .max)
    var nightEnd = Timestamp(nanoseconds: .min)
    var nightMinutes = SIMD8<Double>.zero
    var nightKnown = SIMD8<Double>.zero
    var naps = 0
    var napMinutes = SIMD8<Double>.zero
    var napKnown = SIMD8<Double>.zero

    init(bucket: Bucket) { self.bucket = bucket }
  }

  /// The sleep of one source in one span of the calendar.
  struct Entry: Sendable {
    var source: Int
    var bucket: Bucket
    /// The part of all days that the entry covers, such as all Mondays.
    var part: CalendarPart?
    /// The start and end of the point, or `nil` if they are those of the span.
    var extent: (start: Timestamp, end: Timestamp)?
    /// The main value. It is the minutes asleep, the minutes in bed if sleep is unknown, or the
    /// number of nights.
    var value: Double
    var isInBed = false
    var times: SleepTimes
  }

  private struct Key: Hashable {
    var source: Int
    /// The start of the day's members. The `start` of a day that clocks skip would be the same as
    /// that of the next day.
    var first: Timestamp
  }

  /// The maximum number of days. The limit is Holdfast's own. 200,000 days are 90 years of six
  /// sources.
  static let most = 200_000
  /// The minimum length of a session, in minutes, that always counts as part of the night.
  static let leastNight = 180.0

  private var days: [Key: Day] = [:]

  /// Whether there is no room for another day.
  var isFull: Bool { days.count >= Self.most }

  /// Adds a session to the day in which it ends.
  mutating func add(_ session: SleepSession, of source: Int, in bucket: Bucket, isNight: Bool) {
    let key = Key(source: source, first: bucket.members.lowerBound)
    var day = days[key] ?? Day(bucket: bucket)
    days[key] = nil
    if isNight {
      day.nights += 1
      day.nightStart = min(day.nightStart, session.start)
      day.nightEnd = max(day.nightEnd, session.end)
      day.nightMinutes += session.minutes
      day.nightKnown.replace(with: session.known, where: session.known .> 0)
    } else {
      day.naps += 1
      day.napMinutes += session.minutes
      day.napKnown.replace(with: session.known, where: session.known .> 0)
    }
    days[key] = day
  }

  /// Returns the entries of each source in each span of `calendar`, in chronological order. If days
  /// belong to a part of all days, each part has one entry, which covers `whole`.
  func entries(
    _ figure: Figure, by calendar: CalendarBuckets,
    part: (Bucket) -> CalendarPart? = { _ in nil }, whole: Bucket? = nil
  ) -> [Entry] {
    let ordered = days.sorted {
      ($0.key.source, $0.key.first) < ($1.key.source, $1.key.first)
    }
    var groups: [(source: Int, bucket: Bucket, part: CalendarPart?, days: [Day])] = []
    for (key, day) in ordered {
      let part = part(day.bucket)
      let known =
        part == nil
        ? groups.indices.last.flatMap { last in
          groups[last].source == key.source
            && groups[last].bucket.members.contains(day.bucket.members.lowerBound) ? last : nil
        }
        : groups.firstIndex { $0.source == key.source && $0.part == part }
      if let known {
        groups[known].days.append(day)
        continue
      }
      let bucket = part == nil ? calendar.bucket(at: day.bucket.members.lowerBound) : whole
      groups.append((key.source, bucket ?? day.bucket, part, [day]))
    }
    return groups.compactMap { group in
      var entry = Self.entry(figure, (group.source, group.bucket, group.days))
      entry?.part = group.part
      return entry
    }
  }

  private static func entry(
    _ figure: Figure, _ group: (source: Int, bucket: Bucket, days: [Day])
  ) -> Entry? {
    var nights = group.days.filter { $0.nights > 0 }
    if figure == .latest { nights = Array(nights.suffix(1)) }
    var entry = Entry(
      source: group.source, bucket: group.bucket, value: Double(nights.count),
      times: SleepTimes(nights: nights.count, naps: group.days.reduce(0) { $0 + $1.naps }))
    guard figure != .count else { return entry }
    if figure == .latest { entry.extent = nights.first?.night }
    func part(_ part: SleepSession.Part) -> Double? {
      let index = part.rawValue
      guard figure == .sum else {
        return figure.combine(
          nights.map { ($0.nightMinutes[index], $0.nightKnown[index] > 0) })
      }
      return figure.combine(group.days.map { $0.sum(at: index) })
    }
    let asleep = part(.asleep)
    guard let value = asleep ?? part(.inBed) else { return nil }
    (entry.value, entry.isInBed) = (value, asleep == nil)
    entry.times.fill(part)
    if figure == .sum, entry.times.naps > 0 {
      let index = SleepSession.Part.asleep.rawValue
      entry.times.napMinutes = group.days.reduce(0) { $0 + $1.napMinutes[index] }
    }
    return entry
  }
}

extension SleepLog.Day {
  /// Returns the minutes of a part, in the night and in naps together.
  fileprivate func sum(at index: Int) -> (value: Double, isKnown: Bool) {
    (nightMinutes[index] + napMinutes[index], nightKnown[index] + napKnown[index] > 0)
  }
}

extension SleepTimes {
  fileprivate mutating func fill(_ part: (SleepSession.Part) -> Double?) {
    inBed = part(.inBed)
    awake = part(.awake)
    light = part(.light)
    deep = part(.deep)
    rem = part(.rem)
    unspecified = part(.unspecified)
  }
}

extension SleepSession {
  /// Returns whether the session belongs to a night. Otherwise it is a nap.
  func isNight(in zone: ZoneRules) -> Bool {
    let minutes = self[.asleep] ?? self[.inBed] ?? 0
    if minutes >= SleepLog.leastNight { return true }
    let reading = zone.local(at: start.middle(to: end)).nanoseconds
    let hour: Int64 = 3_600_000_000_000
    let clock = Gregorian.floorDivide(reading, by: CivilTime.nanosecondsPerDay).1
    return clock >= 21 * hour || clock < 9 * hour
  }
}
