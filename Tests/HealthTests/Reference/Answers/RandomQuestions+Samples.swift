import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

// Generators of the samples of a scenario.
extension RandomQuestions {
  /// Adds samples of the types that a query covers to a scenario.
  mutating func fill(_ scenario: inout AnswerScenario, _ query: HealthDataQuery) {
    let kinds = ReferenceType.all(query.valueType)
    let sources = sources(query)
    let hasInvalid = happens(3)
    guard query.valueType != .sleep else {
      return fillNights(&scenario, sources, hasInvalid: hasInvalid)
    }
    for _ in 0..<number(1...4) * 4 + (kinds.count > 2 ? 12 : 4) {
      let kind = one(kinds)
      var sample = sample(kind, one(sources), scenario, isRaw: query.groupBy == nil)
      if hasInvalid, happens(4) { invalidate(&sample, kind, isRaw: query.groupBy == nil) }
      scenario.samples.append(sample)
    }
    if happens(6), let kind = kinds.last, kind.form != .minutes, kind.form != .workout {
      for index in 0..<number(1...3) {
        var sample = sample(kind, sources[0], scenario, isRaw: false)
        (sample.value, sample.unit) = (.quantity(1.2e308 - Double(index) * 1e307), nil)
        let later = ReferenceClock.day * one([0, Int64(index)])
        sample.start = Timestamp(nanoseconds: scenario.from + AnswerScenario.unit + later)
        sample.end = sample.start
        scenario.samples.append(sample)
      }
    }
  }

  /// Draws samples of one type. Many of them have the same start.
  ///
  /// - Returns: The scenario with the samples, their type, and the `ReferenceType` if the unit of
  ///   the type is known.
  mutating func readings() -> (scenario: AnswerScenario, type: String, known: ReferenceType?) {
    var scenario = scenario(.day, isExact: happens(2))
    let valueType: HealthValueType = one([.heartRate, .heartRate, .steps, .bodyTemperature, .sleep])
    let query = HealthDataQuery(
      valueType: valueType, start: scenario.start, end: scenario.end, groupBy: .day)
    for _ in 0..<2 { fill(&scenario, query) }
    let (kind, isOther) = (one(ReferenceType.all(valueType)), happens(4))
    let type = isOther ? "HKQuantityTypeIdentifierNewThing" : kind.id
    for index in scenario.samples.indices {
      if happens(2) { scenario.samples[index].start = scenario.samples[0].start }
      if isOther { scenario.samples[index].type = type }
    }
    return (scenario, type, isOther || kind.form == .sleep ? nil : kind)
  }

  private mutating func sources(_ query: HealthDataQuery) -> [ReferenceSource] {
    if happens(query.groupBy == nil ? 5 : 16) { return [ReferenceSource.long] }
    if happens(3) { return ReferenceSource.pods }
    return (0..<one([1, 1, 2, 2, 3])).map { _ in one(ReferenceSource.all) }
  }

  /// Draws a sample that begins near one of the scenario's edges.
  private mutating func sample(
    _ kind: ReferenceType, _ source: ReferenceSource, _ scenario: AnswerScenario, isRaw: Bool
  ) -> HealthSample {
    let unit = AnswerScenario.unit
    let length = self.length(kind, scenario)
    var start = one(scenario.edges) + Int64(one([0, 0, 0, 1, -1, 2, -2, 4, -4, 8, -8, -16])) * unit
    if happens(4), scenario.to > scenario.from {
      let units = Int((scenario.to - scenario.from) / unit)
      start = scenario.edges[0] + Int64(number(-8...units + 8)) * unit
    }
    switch kind.form {
    case .minutes, .workout: start += happens(2) ? -length / 2 : 0
    case .spread, .nutrient: if happens(4) { start -= max(0, length) }
    case .reading, .sleep: break
    }
    if length == 0 || !kind.isSpread, happens(3) { start += one([1, -1, ReferenceClock.second]) }
    let value = self.value(kind, isRaw: isRaw)
    return HealthSample(
      type: kind.id, value: value.value, unit: value.unit, start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: start + length), source: source.source, device: source.device)
  }

  private mutating func length(_ kind: ReferenceType, _ scenario: AnswerScenario) -> Int64 {
    switch kind.form {
    case .spread, .nutrient:
      let isLong = scenario.to - scenario.from > 3 * ReferenceClock.day
      let lengths = [0, 0, 0, 1, 2, 4, 8, 8, 16, 32] + (isLong ? [256, 1_024] : [64])
      return Int64(happens(16) ? -1 : one(lengths)) * AnswerScenario.unit
    case .reading, .sleep: return happens(4) ? AnswerScenario.unit * one([1, 8]) : 0
    case .minutes, .workout:
      let second = ReferenceClock.second
      return one([0, 2, 60, 1_800, 3_600, 7_200, 14_400, 14_400, 90_000, -60]) * second
    }
  }

  private mutating func value(
    _ kind: ReferenceType, isRaw: Bool
  ) -> (value: HealthSampleValue, unit: String?) {
    switch kind.form {
    case .spread, .reading, .nutrient:
      let measure = kind.measure
      let exact = isRaw ? ReferenceDimension.exact.filter { $0.dimension == measure.name } : []
      if !exact.isEmpty, happens(2) {
        let exact = one(exact)
        return (.quantity(exact.value), exact.unit)
      }
      let unit = one(measure.units)
      return (.quantity(measure.amount(Double(one([0, 1, 2, 3, 5])), in: unit)), unit)
    case .minutes, .sleep: return (.category("HKCategoryValueNotApplicable"), nil)
    case .workout:
      let activity = one(ReferenceValue.activities.keys.sorted())
      let number = Double(number(1...9))
      return (
        .workout(
          WorkoutValue(
            activity: activity, distance: maybe(number * 1_000), energy: maybe(number * 10),
            steps: maybe(number))), nil
      )
    }
  }

  /// Replaces a sample's value or unit with one that cannot be converted.
  private mutating func invalidate(_ sample: inout HealthSample, _ kind: ReferenceType, isRaw: Bool)
  {
    switch kind.form {
    case .workout:
      let none = one([Double.infinity, .nan])
      var value = WorkoutValue(activity: "")
      switch number(0...3) {
      case 0: value.distance = none
      case 1: value.energy = none
      case 2: value.steps = none
      case _: return sample.value = .quantity(1)
      }
      sample.value = .workout(value)
    case .minutes: sample.value = .quantity(1)
    case .spread, .reading, .nutrient, .sleep:
      switch number(0...3) {
      case 0: sample.unit = one(["furlong", "%%", "", "xmmol/L", "mmol/dL", "mol/L"])
      case 1: sample.value = .quantity(one([.infinity, .nan, -.infinity]))
      case 2: sample.value = .category("HKCategoryValueNotApplicable")
      // A unit of another dimension.
      case _:
        let units = ["s", "g", "kg", "count", "km", "K", "%", "L", "mmol/L", "kcal", "count/min"]
        sample.unit = one(units.filter { !kind.measure.units.contains($0) })
      }
    }
  }

  // MARK: - Sleep

  private mutating func fillNights(
    _ scenario: inout AnswerScenario, _ sources: [ReferenceSource], hasInvalid: Bool
  ) {
    let second = ReferenceClock.second
    let half = ReferenceClock.day / 2
    let nights =
      [scenario.from, scenario.to].flatMap { moment in
        let night = scenario.clock.span(moment, .day, lead: ReferenceClock.day / 8)
        return [moment, night.lower, night.lower, night.upper, night.lower - half]
      } + scenario.zone.transitions.map(\.at.nanoseconds)
    for _ in 0..<number(1...6) {
      var session = stages(sources, hasInvalid: hasInvalid)
      let first = scenario.clock.localDay(scenario.from) + Int64(number(-1...2))
      var start = scenario.clock.moment(
        of: first * ReferenceClock.day + Int64(number(12...42)) * ReferenceClock.hour / 2)
      if happens(2), let end = session.map(\.end.nanoseconds).max() {
        let edge = one(nights)
        start = edge - end + one([0, 0, 1, -1, 2, -2, 60 * second, -60 * second])
      } else if happens(2), let end = session.map(\.end.nanoseconds).max() {
        // The middle of the session is near 09:00, 13:00 or 21:00.
        let clock = (first * 24 + Int64(one([21, 21, 9, 13]))) * ReferenceClock.hour
        start = scenario.clock.moment(of: clock) - end / 2 + one([0, 0, 1, -1, 2, -2])
      } else if happens(6) {
        start = scenario.to + ReferenceClock.day / 2 - ReferenceClock.hour
      }
      for index in session.indices {
        session[index].start.nanoseconds += start
        session[index].end.nanoseconds += start
      }
      scenario.samples += session
    }
  }

  /// Draws the stages of a session that begins at the moment 0.
  private mutating func stages(_ sources: [ReferenceSource], hasInvalid: Bool) -> [HealthSample] {
    let second = ReferenceClock.second
    var stages: [HealthSample] = []
    var moment: Int64 = 0
    let names =
      happens(4) ? ["InBed"] : ReferenceValue.stages.keys.sorted() + ["Awake", "AsleepCore"]
    for _ in 0..<one([1, 1, 1, 2, 3, 5]) {
      let source = one(sources)
      let length = one([0, 60, 600, 1_800, 3_600, 7_200, 10_800, 10_800, -60]) * second
      var name = one(names)
      if happens(2) { name = ReferenceValue.prefix + name }
      if hasInvalid, happens(4) { name = one(["", "Dozing", ReferenceValue.prefix, "inbed"]) }
      var value = HealthSampleValue.category(name)
      if hasInvalid, happens(16) { value = .quantity(3) }
      stages.append(
        HealthSample(
          type: "HKCategoryTypeIdentifierSleepAnalysis", value: value,
          start: Timestamp(nanoseconds: moment), end: Timestamp(nanoseconds: moment + length),
          source: source.source, device: source.device))
      let end = max(moment, moment + length)
      let gap = one([0, 60, 299, 300, 300, 300, 301, 900]) * second
      moment = happens(3) ? moment + max(0, length / 2) : end + gap + one([0, 0, 1, 2])
    }
    return stages
  }
}
