import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// The statistics of the readings of one type, in total and by day.
struct ReadingsOutcome: Equatable {
  /// The count, minimum, maximum and average of all readings.
  private var all: [Double?]
  private var latest: Double?
  private var latestTime: Timestamp?
  private var days: [Int64]
  private var ofDays: [[Double?]]

  private static func query(_ scenario: AnswerScenario, _ type: String) -> HealthSampleQuery {
    HealthSampleQuery(
      types: [type], from: Timestamp(nanoseconds: scenario.from),
      to: Timestamp(nanoseconds: scenario.to))
  }

  /// Rounds a number to nine decimals.
  private static func withoutLastBits(_ number: Double) -> Double {
    (number * 1e9).rounded() / 1e9
  }

  /// Creates the outcome of `HealthReadings`, which reads pages of three samples.
  ///
  /// Returns `nil` if `HealthReadings` requests a page other than the next one.
  init?(found scenario: AnswerScenario, _ type: String, isLoose: Bool) {
    let store = ReferenceStore(scenario.samples, isLoose: isLoose, most: 3)
    var query = Self.query(scenario, type)
    var readings = HealthReadings(type, from: query.from, to: query.to, zone: scenario.zone)
    repeat {
      guard readings.wanted == query else { return nil }
      let page = store.page(query)
      readings.take(page)
      query.after = page.next
    } while query.after != nil
    guard readings.wanted == nil else { return nil }
    // A page that was not requested changes nothing.
    readings.take(HealthSamplePage(samples: scenario.samples))
    func figures(_ figures: HealthReadings.Figures) -> [Double?] {
      [
        Double(figures.count), figures.least, figures.greatest,
        figures.average.map(Self.withoutLastBits),
      ]
    }
    all = figures(readings.figures)
    (latest, latestTime) = (readings.latest?.value, readings.latest?.at)
    days = readings.days.map(\.day.nanoseconds)
    ofDays = readings.days.map { figures($0.figures) }
  }

  /// Creates the expected outcome.
  ///
  /// Equal values at the same moment count once. Values are converted if the type is known.
  init(expected scenario: AnswerScenario, _ type: String, _ known: ReferenceType?, isLoose: Bool) {
    let (query, clock) = (Self.query(scenario, type), scenario.clock)
    var readings: [(start: Timestamp, value: Double)] = []
    let page = ReferenceStore(scenario.samples, isLoose: isLoose).page(query)
    for sample in page.samples where sample.start >= query.from {
      guard case .quantity(let quantity) = sample.value else { continue }
      let finite = quantity.isFinite ? quantity : nil
      let converted = known.map { $0.measure.converted(quantity, in: sample.unit) } ?? finite
      guard let value = converted else { continue }
      if !readings.contains(where: { $0 == (sample.start, value) }) {
        readings.append((sample.start, value))
      }
    }
    // A time that clocks repeat after midnight belongs to the day that has already begun.
    func day(_ start: Timestamp) -> Int64 {
      clock.localDay(clock.span(start.nanoseconds, .day).start) * ReferenceClock.day
    }
    let isHeld = known?.isHeld == true
    all = Self.figures(readings, until: scenario.to, isHeld)
    (latest, latestTime) = (readings.last?.value, readings.last?.start)
    days = []
    for reading in readings where days.last != day(reading.start) {
      days.append(day(reading.start))
    }
    ofDays = days.map { number in
      let found = readings.filter { day($0.start) == number }
      let end = found.first.map { clock.span($0.start.nanoseconds, .day).upper } ?? 0
      return Self.figures(found, until: min(end, scenario.to), isHeld)
    }
  }

  /// Returns the number of readings, the minimum, the maximum and the average.
  private static func figures(
    _ readings: [(start: Timestamp, value: Double)], until end: Int64, _ isHeld: Bool
  ) -> [Double?] {
    var counts = ReferenceCounts()
    for reading in readings {
      counts.add([reading.value], from: reading.start.nanoseconds, to: reading.start.nanoseconds)
    }
    let values = readings.map(\.value)
    let average =
      isHeld ? counts.overTime(until: end) : values.reduce(0, +) / Double(values.count)
    return [
      Double(values.count), values.min() ?? 0, values.max() ?? 0,
      values.isEmpty ? nil : withoutLastBits(average),
    ]
  }
}
