import LinkCore
import LinkHealth

extension HealthAnswerWalk {
  /// Fills a scene with samples of what is asked for.
  mutating func fill(_ scene: inout AnswerScene, _ query: HealthDataQuery) {
    let kinds = AnswerKind.all(query.valueType)
    let sources = sources(query)
    let isOdd = happens(3)
    guard query.valueType != .sleep else { return fillNights(&scene, sources, isOdd: isOdd) }
    for _ in 0..<number(1...4) * 4 + (kinds.count > 2 ? 12 : 4) {
      let kind = one(kinds)
      var sample = sample(kind, one(sources), scene, isRaw: query.groupBy == nil)
      if isOdd, happens(4) { spoil(&sample, kind, isRaw: query.groupBy == nil) }
      scene.samples.append(sample)
    }
    if happens(6), let kind = kinds.last, kind.form != .minutes, kind.form != .workout {
      for place in 0..<number(1...3) {
        var sample = sample(kind, sources[0], scene, isRaw: false)
        (sample.value, sample.unit) = (.quantity(1.2e308 - Double(place) * 1e307), nil)
        let later = AnswerClock.day * one([0, Int64(place)])
        sample.start = Timestamp(nanoseconds: scene.from + AnswerScene.unit + later)
        sample.end = sample.start
        scene.samples.append(sample)
      }
    }
  }

  private mutating func sources(_ query: HealthDataQuery) -> [AnswerSource] {
    if happens(query.groupBy == nil ? 5 : 16) { return [AnswerSource.long] }
    if happens(3) { return AnswerSource.pods }
    return (0..<one([1, 1, 2, 2, 3])).map { _ in one(AnswerSource.all) }
  }

  /// Draws a sample near one of the moments at which something changes.
  private mutating func sample(
    _ kind: AnswerKind, _ source: AnswerSource, _ scene: AnswerScene, isRaw: Bool
  ) -> HealthSample {
    let unit = AnswerScene.unit
    let length = self.length(kind, scene)
    var start = one(scene.edges) + Int64(one([0, 0, 0, 1, -1, 2, -2, 4, -4, 8, -8, -16])) * unit
    if happens(4), scene.to > scene.from {
      let units = Int((scene.to - scene.from) / unit)
      start = scene.edges[0] + Int64(number(-8...units + 8)) * unit
    }
    switch kind.form {
    case .minutes, .workout: start += happens(2) ? -length / 2 : 0
    case .spread, .nutrient: if happens(4) { start -= max(0, length) }
    case .reading, .sleep: break
    }
    if length == 0 || !kind.isSpread, happens(3) { start += one([1, -1, AnswerClock.second]) }
    let value = self.value(kind, isRaw: isRaw)
    return HealthSample(
      type: kind.id, value: value.value, unit: value.unit, start: Timestamp(nanoseconds: start),
      end: Timestamp(nanoseconds: start + length), source: source.source, device: source.device)
  }

  private mutating func length(_ kind: AnswerKind, _ scene: AnswerScene) -> Int64 {
    switch kind.form {
    case .spread, .nutrient:
      let isLong = scene.to - scene.from > 3 * AnswerClock.day
      let lengths = [0, 0, 0, 1, 2, 4, 8, 8, 16, 32] + (isLong ? [256, 1_024] : [64])
      return Int64(happens(16) ? -1 : one(lengths)) * AnswerScene.unit
    case .reading, .sleep: return happens(4) ? AnswerScene.unit * one([1, 8]) : 0
    case .minutes, .workout:
      let second = AnswerClock.second
      return one([0, 2, 60, 1_800, 3_600, 7_200, 14_400, 14_400, 90_000, -60]) * second
    }
  }

  private mutating func value(
    _ kind: AnswerKind, isRaw: Bool
  ) -> (value: HealthSampleValue, unit: String?) {
    switch kind.form {
    case .spread, .reading, .nutrient:
      let measured = kind.measured
      let odd = isRaw ? AnswerDimension.odd.filter { $0.dimension == measured.name } : []
      if !odd.isEmpty, happens(2) {
        let odd = one(odd)
        return (.quantity(odd.value), odd.unit)
      }
      let unit = one(measured.units)
      return (.quantity(measured.amount(Double(one([0, 1, 2, 3, 5])), in: unit)), unit)
    case .minutes, .sleep: return (.category("HKCategoryValueNotApplicable"), nil)
    case .workout:
      let activity = one(AnswerValue.activities.keys.sorted())
      let number = Double(number(1...9))
      return (
        .workout(
          WorkoutValue(
            activity: activity, distance: maybe(number * 1_000), energy: maybe(number * 10),
            steps: maybe(number))), nil
      )
    }
  }

  /// Makes a sample of which nothing can be known.
  private mutating func spoil(_ sample: inout HealthSample, _ kind: AnswerKind, isRaw: Bool) {
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
      // Those of other dimensions.
      case _:
        let units = ["s", "g", "kg", "count", "km", "K", "%", "L", "mmol/L", "kcal", "count/min"]
        sample.unit = one(units.filter { !kind.measured.units.contains($0) })
      }
    }
  }

  // MARK: - Sleep

  private mutating func fillNights(
    _ scene: inout AnswerScene, _ sources: [AnswerSource], isOdd: Bool
  ) {
    let second = AnswerClock.second
    let half = AnswerClock.day / 2
    let nights =
      [scene.from, scene.to].flatMap { moment in
        let night = scene.clock.span(moment, .day, lead: AnswerClock.day / 8)
        return [moment, night.lower, night.lower, night.upper, night.lower - half]
      } + scene.zone.transitions.map(\.at.nanoseconds)
    for _ in 0..<number(1...6) {
      var session = stages(sources, isOdd: isOdd)
      let first = scene.clock.dayShown(scene.from) + Int64(number(-1...2))
      var start = scene.clock.moment(
        of: first * AnswerClock.day + Int64(number(12...42)) * AnswerClock.hour / 2)
      if happens(2), let end = session.map(\.end.nanoseconds).max() {
        let edge = one(nights)
        start = edge - end + one([0, 0, 1, -1, 2, -2, 60 * second, -60 * second])
      } else if happens(2), let end = session.map(\.end.nanoseconds).max() {
        // Its middle at the bounds of a night.
        let clock = (first * 24 + Int64(one([21, 21, 9, 13]))) * AnswerClock.hour
        start = scene.clock.moment(of: clock) - end / 2 + one([0, 0, 1, -1, 2, -2])
      } else if happens(6) {
        start = scene.to + AnswerClock.day / 2 - AnswerClock.hour
      }
      for place in session.indices {
        session[place].start.nanoseconds += start
        session[place].end.nanoseconds += start
      }
      scene.samples += session
    }
  }

  /// Draws the stages of a session, from the moment 0 on.
  private mutating func stages(_ sources: [AnswerSource], isOdd: Bool) -> [HealthSample] {
    let second = AnswerClock.second
    var stages: [HealthSample] = []
    var moment: Int64 = 0
    let names =
      happens(4) ? ["InBed"] : AnswerValue.stages.keys.sorted() + ["Awake", "AsleepCore"]
    for _ in 0..<one([1, 1, 1, 2, 3, 5]) {
      let source = one(sources)
      let length = one([0, 60, 600, 1_800, 3_600, 7_200, 10_800, 10_800, -60]) * second
      var name = one(names)
      if happens(2) { name = AnswerValue.prefix + name }
      if isOdd, happens(4) { name = one(["", "Dozing", AnswerValue.prefix, "inbed"]) }
      var value = HealthSampleValue.category(name)
      if isOdd, happens(16) { value = .quantity(3) }
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
