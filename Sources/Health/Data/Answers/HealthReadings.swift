public import HoldfastCore
public import HoldfastHealthSamples

/// The readings of one type in an interval, from all sources together: figures by day and in total,
/// and the latest reading.
///
///     wanted ──▶ take(page) ──▶ wanted … ──▶ nil
///
/// If two sources report the same reading for the same time, it counts once.
public struct HealthReadings: Sendable {
  /// The number of readings, their average and their extremes.
  public struct Figures: Sendable, Hashable {
    /// The number of readings.
    public private(set) var count = 0
    private var sum = 0.0
    /// The lowest reading, or 0 if there are none.
    public private(set) var least = 0.0
    /// The highest reading, or 0 if there are none.
    public private(set) var greatest = 0.0
    /// The average over time, for a type that has one.
    private var held: HeldAverage?

    /// The average of the readings, or `nil` if there are none. It is weighted by time for types
    /// that are measured more often when their values are high.
    public var average: Double? {
      count == 0 ? nil : held.map(\.average) ?? sum / Double(count)
    }

    init(isHeld: Bool = false) { held = isHeld ? HeldAverage() : nil }

    /// Ends the last reading at `time`.
    mutating func end(at time: Timestamp) { held?.end(at: time) }

    mutating func take(_ value: Double, at time: Timestamp) {
      held?.take(value, at: time)
      least = count == 0 ? value : min(least, value)
      greatest = count == 0 ? value : max(greatest, value)
      sum += value
      count += 1
    }
  }

  /// The readings of one day of the user's calendar.
  public struct Day: Sendable, Hashable {
    /// The start of the day in local time.
    public var day: CivilTime
    /// The figures of the readings that began on this day.
    public var figures: Figures
  }

  /// A single reading.
  public struct Reading: Sendable, Hashable {
    /// The value, in the unit of answers.
    public var value: Double
    /// The time at which the reading began.
    public var at: Timestamp
  }

  /// The next query of samples, or `nil` when all samples were read.
  public private(set) var wanted: HealthSampleQuery?
  /// The days that have readings, in order.
  public private(set) var days: [Day] = []
  /// The figures of all readings.
  public private(set) var figures: Figures
  /// The reading that began last.
  public private(set) var latest: Reading?

  private let zone: ZoneRules
  /// The interval of the last day.
  private var day: Range<Timestamp>?
  private let kind: HealthKind?
  /// The end of the interval, exclusive.
  private let end: Timestamp
  private var same = SameReadings()

  /// Starts to read a type.
  ///
  /// - Parameters:
  ///   - type: HealthKit's identifier. Values of unknown types keep their
  ///     unit.
  ///   - to: The end of the interval, exclusive.
  public init(_ type: String, from: Timestamp, to: Timestamp, zone: ZoneRules) {
    wanted = HealthSampleQuery(types: [type], from: from, to: to)
    self.zone = zone
    end = to
    kind = HealthType.named(type)?.kind
    figures = Figures(isHeld: kind?.isHeld == true)
  }

  /// Adds the page that `wanted` requested.
  public mutating func take(_ page: HealthSamplePage) {
    guard let from = wanted?.from else { return }
    for sample in page.samples where sample.start >= from { take(sample) }
    wanted?.after = page.next
    guard page.next == nil else { return }
    wanted = nil
    figures.end(at: end)
    endDay()
  }

  private mutating func take(_ sample: HealthSample) {
    guard case .quantity(let quantity) = sample.value,
      let scale = kind?.dimension.map({ $0.scale(from: sample.unit) }) ?? Scale()
    else { return }
    let value = scale(quantity)
    guard value.isFinite else { return }
    guard same.isFirst(value, at: sample.start) else { return }
    latest = Reading(value: value, at: sample.start)
    figures.take(value, at: sample.start)
    if day?.contains(sample.start) != true { begin(dayOf: sample.start) }
    days[days.count - 1].figures.take(value, at: sample.start)
  }

  private mutating func endDay() {
    guard let day else { return }
    days[days.count - 1].figures.end(at: min(day.upperBound, end))
  }

  private mutating func begin(dayOf time: Timestamp) {
    endDay()
    let bucket = CalendarBuckets(zone: zone, grouping: .day).bucket(at: time)
    day = bucket.members
    let shown = zone.local(at: bucket.start).nanoseconds
    let number = Gregorian.floorDivide(shown, by: CivilTime.nanosecondsPerDay).0
    let first = CivilTime(nanoseconds: number * CivilTime.nanosecondsPerDay)
    days.append(Day(day: first, figures: Figures(isHeld: kind?.isHeld == true)))
  }
}

/// The values of the readings at one instant. They identify a reading that several sources report,
/// so that a reading that one app copies from another counts once.
///
/// Samples must arrive in chronological order.
struct SameReadings: Sendable, Hashable {
  private var time: Timestamp?
  private var values: Set<Double> = []

  /// Adds a reading. Returns whether it is the first with this value at this instant.
  mutating func isFirst(_ value: Double, at time: Timestamp) -> Bool {
    if self.time != time { (self.time, values) = (time, []) }
    return values.insert(value).inserted
  }
}

extension HealthFreshness {
  /// Creates the freshness of an answer at `now`. Both times always have an offset, so that clocks
  /// can be compared.
  init(zone: ZoneRules, now: Timestamp, imported: Timestamp? = nil) {
    self.init(
      zone: zone.title(at: now), answered: .zoned(now, in: zone),
      imported: imported.map { .zoned($0, in: zone) }, lastSamples: [])
  }
}

extension HealthTime {
  /// Returns a time with the offset of a zone.
  fileprivate static func zoned(_ time: Timestamp, in zone: ZoneRules) -> HealthTime {
    let east = zone.secondsEast(at: time)
    return .instant(time, minutesEast: east % 60 == 0 ? east / 60 : nil)
  }
}
