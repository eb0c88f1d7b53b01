public import LinkCore

/// The readings of one type over a time, of all sources together: by days, and the latest one.
///
///     wanted ──▶ take(page) ──▶ wanted … ──▶ nil
///
/// A reading that two sources report for the same moment counts once.
public struct HealthReadings: Sendable {
  /// The number of readings, and their average and ends.
  public struct Figures: Sendable, Hashable {
    /// How many readings.
    public private(set) var count = 0
    private var sum = 0.0
    /// The least one; 0 without readings.
    public private(set) var least = 0.0
    /// The greatest one; 0 without readings.
    public private(set) var greatest = 0.0
    /// The average over time, of a type that has one.
    private var held: HeldAverage?

    /// Their average, over time if their type is measured more often when it is high; `nil` without
    /// readings.
    public var average: Double? {
      count == 0 ? nil : held.map(\.average) ?? sum / Double(count)
    }

    init(isHeld: Bool = false) { held = isHeld ? HeldAverage() : nil }

    /// Lets the last reading count until `time`.
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
    /// Its first moment on the wall clock.
    public var day: CivilTime
    /// The readings that began on it.
    public var figures: Figures
  }

  /// One reading.
  public struct Reading: Sendable, Hashable {
    /// In the unit that answers tell.
    public var value: Double
    /// When it began.
    public var at: Timestamp
  }

  /// What to read next; `nil` when all was read.
  public private(set) var wanted: HealthSampleQuery?
  /// The days that have readings, in order.
  public private(set) var days: [Day] = []
  /// All readings.
  public private(set) var figures: Figures
  /// The one that began last.
  public private(set) var latest: Reading?

  private let zone: ZoneRules
  /// What belongs to the last of the days.
  private var day: Range<Timestamp>?
  private let kind: HealthKind?
  /// The first moment that does not count.
  private let end: Timestamp
  private var same = SameReadings()

  /// Begins to read a type.
  ///
  /// - Parameters:
  ///   - type: HealthKit's identifier. Values of types that no question names keep their unit.
  ///   - to: The first moment that does not count.
  public init(_ type: String, from: Timestamp, to: Timestamp, zone: ZoneRules) {
    wanted = HealthSampleQuery(types: [type], from: from, to: to)
    self.zone = zone
    end = to
    kind = HealthValueType.allCases.lazy.flatMap(\.kinds).first { $0.identifier == type }
    figures = Figures(isHeld: kind?.isHeld == true)
  }

  /// Takes the page that was wanted.
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

/// The readings of one moment, by which one that several sources report is recognized: an app that
/// copies another one's counts once.
///
/// Samples must come in order of time.
struct SameReadings: Sendable, Hashable {
  private var time: Timestamp?
  private var values: Set<Double> = []

  /// Notes a reading; returns whether it is the first one of its value and moment.
  mutating func isFirst(_ value: Double, at time: Timestamp) -> Bool {
    if self.time != time { (self.time, values) = (time, []) }
    return values.insert(value).inserted
  }
}

/// The facts about a store that are known without reading samples.
public struct StoredHealth: Sendable, Hashable, Codable {
  /// The start of the latest sample of each type, by HealthKit's identifier.
  public var lastSamples: [String: Timestamp]
  /// When an import ended last; `nil` if none did.
  public var lastImport: Timestamp?

  /// Nothing is known by default.
  public init(lastSamples: [String: Timestamp] = [:], lastImport: Timestamp? = nil) {
    self.lastSamples = lastSamples
    self.lastImport = lastImport
  }
}

extension HealthFreshness {
  /// The zone and the moment of an answer; always with an offset, so that clocks can be compared.
  init(zone: ZoneRules, now: Timestamp) {
    let east = zone.secondsEast(at: now)
    self.init(
      zone: zone.title(at: now),
      answered: .instant(now, minutesEast: east % 60 == 0 ? east / 60 : nil), lastSamples: [])
  }
}
