import LinkCore
import LinkHealth

/// The parts that answers do not reach.
extension HealthAnswerWalk {
  mutating func tryParts() {
    tryReadings()
    tryZone()
    for _ in 0..<4 { tryUnits() }
  }

  // MARK: - Readings

  private mutating func tryReadings() {
    var scene = scene(.day, isExact: happens(2))
    let word: HealthValueType = one([.heartRate, .heartRate, .steps, .bodyTemperature, .sleep])
    let query = HealthDataQuery(
      valueType: word, start: scene.start, end: scene.end, groupBy: .day, statistic: .max)
    fill(&scene, query)
    fill(&scene, query)
    var type = one(AnswerKind.all(word)).id
    let isOther = happens(4)
    for place in scene.samples.indices {
      // Close together, so that several tell the same.
      if happens(2) { scene.samples[place].start = scene.samples[0].start }
      if isOther { scene.samples[place].type = "HKQuantityTypeIdentifierVO2Max" }
    }
    if isOther { type = "HKQuantityTypeIdentifierVO2Max" }
    let store = AnswerStore(scene.samples, isLoose: happens(2), most: number(1...9))
    let span = (from: Timestamp(nanoseconds: scene.from), to: Timestamp(nanoseconds: scene.to))
    var readings = HealthReadings(type, from: span.from, to: span.to, zone: scene.zone)
    var asked = HealthSampleQuery(types: [type], from: span.from, to: span.to)
    var found: [(sample: HealthSample, told: Double)] = []
    while stray == nil {
      compareWanted(readings, asked)
      let page = store.page(asked)
      readings.take(page)
      for sample in page.samples where sample.start >= span.from {
        guard let told = Self.told(sample, isOther ? nil : word) else { continue }
        if !found.contains(where: { $0.sample.start == sample.start && $0.told == told }) {
          found.append((sample, told))
        }
      }
      guard let next = page.next else { break }
      asked.after = next
    }
    compareWanted(readings, nil)
    readings.take(HealthSamplePage(samples: scene.samples))
    compareReadings(readings, found, scene)
  }

  /// Compares what readings ask for next; at their end that is nothing.
  mutating func compareWanted(_ readings: HealthReadings, _ must: HealthSampleQuery?) {
    let end = must == nil ? " at their end" : ""
    compare("what readings want\(end)", readings.wanted, must)
  }

  /// Returns the number of a reading, in the unit of its type if that is known.
  private static func told(_ sample: HealthSample, _ word: HealthValueType?) -> Double? {
    guard case .quantity(let value) = sample.value else { return nil }
    guard let kind = word.map(AnswerKind.all)?.first, kind.form != .sleep else {
      return value.isFinite ? value : nil
    }
    return kind.measured.told(value, in: sample.unit)
  }

  /// Compares readings with the samples that count, each with the number that is told.
  mutating func compareReadings(
    _ readings: HealthReadings, _ found: [(sample: HealthSample, told: Double)],
    _ scene: AnswerScene
  ) {
    func words(_ what: String) -> String {
      "\(what) of \(scene.samples) in \(scene.zone) from \(scene.start)"
    }
    compareFigures(words("all"), readings.figures, found.map(\.told))
    compare(words("the latest"), readings.latest?.value, found.last?.told)
    compare(words("the latest time"), readings.latest?.at, found.last?.sample.start)
    // What clocks show again after midnight belongs to the day that has begun.
    func day(_ sample: HealthSample) -> Int64 {
      scene.clock.dayShown(scene.clock.span(sample.start.nanoseconds, .day).start)
    }
    var days: [Int64] = []
    for one in found {
      if days.last != day(one.sample) { days.append(day(one.sample)) }
    }
    compare(
      words("the days"), readings.days.map(\.day.nanoseconds), days.map { $0 * AnswerClock.day })
    for (number, known) in zip(days, readings.days) {
      let own = found.filter { day($0.sample) == number }
      compareFigures(words("a day"), known.figures, own.map(\.told))
    }
  }

  private mutating func compareFigures(
    _ words: @autoclosure () -> String, _ figures: HealthReadings.Figures, _ values: [Double]
  ) {
    compare("the count of \(words())", figures.count, values.count)
    compare("the least of \(words())", figures.least, values.min() ?? 0)
    compare("the greatest of \(words())", figures.greatest, values.max() ?? 0)
    let average = values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    compare("the average of \(words())", figures.average, average)
  }

  // MARK: - Zones

  private mutating func tryZone() {
    let zone = one(AnswerScene.zones)
    let clock = AnswerClock(zone)
    let hour = AnswerClock.hour
    for _ in 0..<6 {
      let edges = zone.transitions.map(\.at.nanoseconds) + [AnswerScene.day * AnswerClock.day]
      let near = one([-25, -14, -2, -1, -1, 0, 0, 0, 1, 1, 2, 11, 14, 24]) * hour
      let moment = one(edges) + near + one([-1_800_000_000_000, -1, 0, 0, 1])
      let readings = [moment, clock.shown(moment), clock.shown(moment) + one([-1, 1])]
      let east = maybe(90)
      compareZone(
        AnswerZone(zone, moment, readings, minutesEast: east), AnswerZone(clock, moment, readings)
      ) { "\($0) of \(moment) in \(zone)" }
    }
  }

  /// Compares what is known of a moment in a zone.
  mutating func compareZone(
    _ found: AnswerZone, _ must: AnswerZone, _ words: (String) -> String
  ) {
    compare(words("the offset"), found.east, must.east)
    compare(words("the reading"), found.shown, must.shown)
    compare(words("the moments of readings"), found.moments, must.moments)
    compare(words("the moments of times"), found.times, must.times)
    compare(words("the moment of an instant"), found.instant, must.instant)
  }

  // MARK: - Units

  private mutating func tryUnits() {
    let dimension = one(Self.known)
    let other = happens(4) ? one(Self.known) : dimension
    let units = dimension.units.compactMap(\.self)
    let from = one(units + [happens(3) ? "ms" : "K"].filter { _ in happens(9) })
    let to = one(other.units.compactMap(\.self) + ["degC"].filter { _ in happens(9) })
    let value = one([1, 2.5, 0.1])
    compareUnits(HealthUnits.convert(value, from: from, to: to), value, from, to)
  }

  private static let known = ["mass", "energy", "count", "beats", "length", "time"].compactMap {
    AnswerDimension.all[$0]
  }

  /// Compares a number in one unit with what was found for it in another one.
  mutating func compareUnits(_ found: Double?, _ value: Double, _ from: String, _ to: String) {
    let words = "\(value) \(from) in \(to)"
    guard from != to else { return compare(words, found, value) }
    guard let both = Self.known.first(where: { $0.units.contains(from) && $0.units.contains(to) })
    else {
      return compare(words, found, nil)
    }
    let (one, two) = (both.amount(1, in: from), both.amount(1, in: to))
    guard one != two else { return compare(words, found, value) }
    let must = value / one * two
    if abs((found ?? 0) - must) > 1e-12 * must { compare(words, found, must) }
  }
}

/// What is known of a moment in a zone, and of readings of its clocks.
struct AnswerZone {
  /// Seconds east of UTC.
  var east: Int
  /// What clocks show.
  var shown: Int64
  /// The moments at which clocks show these readings, and the same by times of questions.
  var moments: [Int64]
  var times: [Int64]
  /// The moment of a time that is an instant itself.
  var instant: Int64

  init(_ zone: ZoneRules, _ moment: Int64, _ readings: [Int64], minutesEast: Int?) {
    let time = Timestamp(nanoseconds: moment)
    east = zone.secondsEast(at: time)
    shown = zone.local(at: time).nanoseconds
    let locals = readings.map { CivilTime(nanoseconds: $0) }
    moments = locals.map { zone.instant(of: $0).nanoseconds }
    times = locals.map { zone.instant(of: .local($0)).nanoseconds }
    instant = zone.instant(of: .instant(time, minutesEast: minutesEast)).nanoseconds
  }

  init(_ clock: AnswerClock, _ moment: Int64, _ readings: [Int64]) {
    (east, shown, instant) = (clock.secondsEast(moment), clock.shown(moment), moment)
    moments = readings.map { clock.moment(of: $0) }
    times = moments
  }
}
