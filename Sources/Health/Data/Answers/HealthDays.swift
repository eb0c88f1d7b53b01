public import HoldfastCore
public import HoldfastHealthSamples

/// The values of one type by day, from all sources together.
///
///     wanted ──▶ take(page) ──▶ wanted … ──▶ nil
///
/// Any type has values: amounts are added, where overlapping sources count once; readings have an
/// average and extremes; samples of other types are counted. A session, such as a workout, that
/// several sources report counts once.
public struct HealthDays: Sendable {
  /// The way in which the samples of a day are combined.
  public enum Style: String, Sendable, Hashable, Codable, CaseIterable {
    /// The amounts are added.
    case sum
    /// The readings have an average, a lowest and a highest value.
    case reading
    /// The samples are counted.
    case count
  }

  /// The value of one day of the user's calendar.
  public struct Day: Sendable, Hashable {
    /// The start of the day in local time.
    public var day: CivilTime
    /// The sum, the average or the number of samples. It is not finite if the samples add up to
    /// more than a number can hold.
    public var value: Double
    /// The lowest reading. A style without readings has `nil`.
    public var least: Double?
    /// The highest reading. A style without readings has `nil`.
    public var greatest: Double?
  }

  /// HealthKit's identifier of the type.
  public let type: String
  /// The way in which the samples of a day are combined.
  public let style: Style
  /// The unit of the values in HealthKit's spelling; `nil` if they have none, or if it is that of
  /// the type's samples and none was read.
  public private(set) var unit: String?
  /// The next query of samples, or `nil` when all samples were read.
  public private(set) var wanted: HealthSampleQuery?

  private let kind: HealthKind?
  private let zone: ZoneRules
  private let from: Timestamp
  private let end: Timestamp
  /// The start of the newest sample of the type, whose unit is not yet known.
  private var newest: Timestamp?
  private let calendar: CalendarBuckets
  private var readings: HealthReadings
  private var sources = Sources()
  private var tracks = SourceMerger()
  private var merge: SourceMerge
  private var counted: [Day] = []
  private var bucket: Bucket?
  private var merging = SessionMerge()
  /// The values of days with sessions. Sessions do not arrive in the order of their days.
  private var sessionDays: [CivilTime: Double] = [:]

  /// Starts to read a type.
  ///
  /// - Parameters:
  ///   - type: HealthKit's identifier.
  ///   - to: The end of the interval, exclusive.
  ///   - newest: The start of the type's newest sample in any interval. A type without a unit of its
  ///     own has the unit of that sample, so that the unit does not depend on the interval. Without
  ///     such a sample, it has the unit of the first sample in the interval.
  public init(
    _ type: String, from: Timestamp, to: Timestamp, zone: ZoneRules, newest: Timestamp? = nil
  ) {
    self.type = type
    (self.from, end, self.zone) = (from, to, zone)
    kind = HealthKind.known(type)
    style = Self.style(of: type)
    unit = Self.unit(of: type)
    calendar = CalendarBuckets(zone: zone, grouping: .day)
    readings = HealthReadings(type, from: from, to: to, zone: zone)
    merge = SourceMerge(calendar: calendar)
    self.newest = kind == nil && style != .count ? newest : nil
    wanted = values
    if let newest = self.newest {
      wanted = HealthSampleQuery(
        types: [type], from: newest, to: newest.advanced(by: .nanoseconds(1)))
    }
  }

  /// The first query of the samples whose values are wanted.
  private var values: HealthSampleQuery { HealthSampleQuery(types: [type], from: from, to: end) }

  /// Adds the page that `wanted` requested.
  public mutating func take(_ page: HealthSamplePage) {
    guard wanted != nil else { return }
    wanted?.after = page.next
    let isLast = page.next == nil
    if let newest {
      takeUnit(of: page.samples.filter { $0.start == newest })
      guard isLast else { return }
      self.newest = nil
      wanted = values
      return
    }
    takeValues(page)
    guard isLast else { return }
    wanted = nil
    if style == .sum { merge.finish(at: end, tracks.ranks) }
    for session in merging.finish() { add(session) }
  }

  private mutating func takeValues(_ page: HealthSamplePage) {
    if let kind, kind.isSession {
      for sample in page.samples { take(sample, kind) }
      return
    }
    switch style {
    case .sum: for sample in page.samples { add(sample) }
    case .count: for sample in page.samples { count(sample) }
    case .reading:
      var page = page
      if kind == nil { page.samples = page.samples.compactMap { inUnit($0) } }
      readings.take(page)
    }
  }

  /// The days that have samples, in order.
  public var days: [Day] {
    if kind?.isSession == true {
      return sessionDays.sorted { $0.key < $1.key }.map { Day(day: $0.key, value: $0.value) }
    }
    return switch style {
    case .reading:
      readings.days.map { day in
        let figures = day.figures
        return Day(
          day: day.day, value: figures.average ?? .nan, least: figures.least,
          greatest: figures.greatest)
      }
    case .sum: merge.finished.map { Day(day: day(of: $0.bucket), value: rounded($0.value)) }
    case .count: counted
    }
  }

  // MARK: Samples

  private mutating func takeUnit(of samples: [HealthSample]) {
    for sample in samples {
      if case .quantity(let value) = sample.value, value.isFinite { unit = Self.own(of: sample) }
    }
  }

  /// Returns the unit of a sample.
  private static func own(of sample: HealthSample) -> String { sample.unit ?? "count" }

  private mutating func add(_ sample: HealthSample) {
    guard let value = amount(of: sample) else { return }
    let source = sources.number(sample.source, device: sample.device)
    let track = tracks.track(of: sample, source: source)
    merge.take(value, sample, from: from, track: track, tracks.ranks)
  }

  /// Takes a session, such as a workout.
  private mutating func take(_ sample: HealthSample, _ kind: HealthKind) {
    guard let activity = kind.activity(of: sample) else { return }
    let source = sources.number(sample.source, device: sample.device)
    let track = tracks.track(of: sample, source: source)
    let session = SessionMerge.Session(
      sample: sample, kind: activity, source: source, rank: tracks.ranks[track])
    for one in merging.take(session) { add(one) }
  }

  /// Adds a session that counts.
  private mutating func add(_ session: SessionMerge.Session) {
    let sample = session.sample
    guard let anchor = kind?.rule.anchor(of: sample), (from..<end).contains(anchor) else { return }
    let value = style == .sum ? sample.minutes : 1
    sessionDays[day(of: calendar.bucket(at: anchor)), default: 0] += value
  }

  private mutating func amount(of sample: HealthSample) -> Double? {
    guard let sample = inUnit(sample), case .quantity(let quantity) = sample.value else {
      return nil
    }
    guard let dimension = kind?.dimension else { return quantity }
    guard let value = dimension.scale(from: sample.unit)?(quantity), value.isFinite else {
      return nil
    }
    return value
  }

  /// Counts a sample on the day on which it begins.
  private mutating func count(_ sample: HealthSample) {
    guard (from..<end).contains(sample.start) else { return }
    if bucket?.members.contains(sample.start) != true {
      let next = calendar.bucket(at: sample.start)
      bucket = next
      counted.append(Day(day: day(of: next), value: 0))
    }
    counted[counted.count - 1].value += 1
  }

  /// Returns a sample in the unit of the type, or `nil` if its own unit cannot be converted. Known
  /// types have a unit of their own.
  private mutating func inUnit(_ sample: HealthSample) -> HealthSample? {
    guard kind == nil else { return sample }
    guard case .quantity(var value) = sample.value, value.isFinite else { return nil }
    // HealthKit stores a fraction of one.
    if sample.unit == "%" { value *= 100 }
    let own = Self.own(of: sample)
    if unit == nil { unit = own }
    guard let unit, let converted = HealthUnits.convert(value, from: own, to: unit) else {
      return nil
    }
    var found = sample
    found.value = .quantity(converted)
    return found
  }

  private func day(of bucket: Bucket) -> CivilTime {
    let shown = zone.local(at: bucket.start).nanoseconds
    let number = Gregorian.floorDivide(shown, by: CivilTime.nanosecondsPerDay).0
    return CivilTime(nanoseconds: number * CivilTime.nanosecondsPerDay)
  }

  private func rounded(_ value: Double) -> Double {
    kind?.dimension == .count || unit == "count" ? value.rounded() : value
  }
}

// The properties of types.
extension HealthDays {
  /// Returns the way in which the samples of a type are combined.
  public static func style(of type: String) -> Style {
    let kind = HealthKind.known(type) ?? HealthType.unknownKind(type)
    switch kind.aggregation {
    case .cumulative: return kind.measure == .workout ? .count : .sum
    case .discrete: return .reading
    case .nightly, .events: return .count
    }
  }

  /// Returns the unit of the values of a type in HealthKit's spelling, or `nil` if it is that of the
  /// samples or there is none.
  public static func unit(of type: String) -> String? {
    guard let kind = HealthKind.known(type) else { return nil }
    return kind.measure == .minutes ? "min" : kind.dimension?.healthKitUnits.first
  }
}

extension HealthKind {
  /// Returns the kind of a type that this version knows.
  static func known(_ identifier: String) -> HealthKind? { HealthType.named(identifier)?.kind }
}
