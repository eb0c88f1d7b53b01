import HoldfastCore
import HoldfastHealth
import HoldfastHealthSamples

/// The form in which answers contain the values of samples.
enum ReferenceValue {
  static func number(_ number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static func orNull(_ number: Double?) -> String { number.map(Self.number) ?? "null" }

  static func meal(_ numbers: [Double?]) -> String {
    JSONText.object([
      "calories": orNull(numbers[0]), "protein": orNull(numbers[1]), "carbs": orNull(numbers[2]),
      "fat": orNull(numbers[3]), "energy_unit": "\"kilocalorie\"", "mass_unit": "\"gram\"",
    ])
  }

  static func workout(_ type: String, _ numbers: [Double?], _ sessions: Int) -> String {
    JSONText.object([
      "workout_type": JSONText.text(type), "total_distance": orNull(numbers[0]),
      "total_energy_burned": orNull(numbers[1]), "total_steps": orNull(numbers[2]),
      "session_count": "\(sessions)",
      "distance_unit": numbers[0] == nil ? nil : "\"meter\"",
      "energy_unit": numbers[1] == nil ? nil : "\"kilocalorie\"",
      "duration_minutes": numbers[3].map(number),
    ])
  }

  /// The activities of workouts and their names in answers.
  static let activities = [
    "HKWorkoutActivityTypeRunning": "RUNNING", "HKWorkoutActivityTypeCycling": "BIKING",
    "HKWorkoutActivityTypeCrossTraining": "CROSS_TRAINING", "Cycling": "BIKING",
    "HKWorkoutActivityType": "OTHER", "": "OTHER", "yoga": "YOGA", "eSports": "E_SPORTS",
  ]

  /// The stages of sleep and their names in answers.
  static let stages = [
    "InBed": "SLEEP_IN_BED", "Asleep": "SLEEP_ASLEEP", "AsleepUnspecified": "SLEEP_ASLEEP",
    "AsleepCore": "SLEEP_LIGHT", "AsleepDeep": "SLEEP_DEEP", "AsleepREM": "SLEEP_REM",
    "Awake": "SLEEP_AWAKE",
  ]
  static let prefix = "HKCategoryValueSleepAnalysis"

  /// Returns the name of a stage of sleep in answers, or `nil` if the stage is unknown.
  static func stage(_ name: String) -> String? {
    stages.first { name == $0.key || name == prefix + $0.key }?.value
  }

  /// Returns the duration of a sample in minutes.
  static func minutes(_ sample: HealthSample) -> Double {
    Double(max(0, sample.end.nanoseconds - sample.start.nanoseconds)) / 60_000_000_000
  }

  /// Returns up to four numbers of a sample, or `nil` if they cannot be converted.
  static func numbers(_ sample: HealthSample, _ kind: ReferenceType) -> [Double?]? {
    switch (kind.form, sample.value) {
    case (.spread, .quantity(let value)), (.reading, .quantity(let value)),
      (.nutrient, .quantity(let value)):
      guard let value = kind.measure.converted(value, in: sample.unit) else { return nil }
      var numbers: [Double?] = [nil, nil, nil, nil]
      numbers[kind.index] = value
      return numbers
    case (.minutes, _), (.sleep, .category): return [minutes(sample), nil, nil, nil]
    case (.workout, .workout(let workout)):
      let known = workout.duration.map { Double($0.components.seconds) / 60 }
      let numbers = [workout.distance, workout.energy, workout.steps, known ?? minutes(sample)]
      return numbers.contains { $0?.isFinite == false } ? nil : numbers
    case (.spread, _), (.reading, _), (.nutrient, _), (.sleep, _), (.workout, _): return nil
    }
  }
}

extension ReferenceAnswers {
  /// Reads the samples of a type, batch by batch and page by page.
  ///
  /// The closure can change the end of the interval during the reading.
  mutating func readAll(
    _ kind: ReferenceType, _ window: ReferenceWindow, upTo to: inout Int64,
    _ take: (HealthSample, inout Int64) -> Void
  ) throws(ReferenceRefusal) {
    let batch = max(limits.batch, .seconds(3_600))
    let first = window.from - window.margin
    var from = first
    while from < to {
      let end = Timestamp(nanoseconds: from).advanced(by: batch).nanoseconds
      var query = HealthSampleQuery(
        types: [kind.id], from: Timestamp(nanoseconds: from), to: Timestamp(nanoseconds: to),
        limit: max(1, limits.pageLimit))
      repeat {
        query.to = Timestamp(nanoseconds: min(end, to))
        let page = try page(query)
        for sample in page.samples {
          let start = sample.start.nanoseconds
          if start < query.to.nanoseconds, from == first || start >= from { take(sample, &to) }
        }
        query.after = page.next
      } while query.after != nil && from < to
      from = end
    }
  }

  /// Returns the samples as points. Reading ends before the first moment whose points do not all
  /// fit.
  mutating func samples(
    _ window: ReferenceWindow, _ kinds: [ReferenceType], room: Int
  ) throws(ReferenceRefusal) -> Lines {
    var lines = Lines()
    var to = window.to
    for kind in kinds {
      guard !kind.isSession || window.query.options.bySource else {
        try sessions(window, kind, into: &lines)
        continue
      }
      var left = room
      try readAll(kind, window, upTo: &to) { sample, to in
        let start = sample.start.nanoseconds
        guard start >= window.from, start < to else { return }
        guard let line = Self.line(sample, kind, window) else { return lines.skipped += 1 }
        lines.all.append(line)
        left -= line.text.utf8.count + 1
        if left < 0 { to = start }
      }
    }
    return lines
  }

  /// Adds the sessions that count. All of them are read, even if they do not all fit.
  private mutating func sessions(
    _ window: ReferenceWindow, _ kind: ReferenceType, into lines: inout Lines
  ) throws(ReferenceRefusal) {
    var aggregator = ReferenceAggregator(window: window, kind: kind, statistic: "", type: 0)
    var (to, skipped) = (window.to, 0)
    func isListed(_ sample: HealthSample) -> Bool {
      (window.from..<window.to).contains(sample.start.nanoseconds)
    }
    try readAll(kind, window, upTo: &to) { sample, _ in
      if let numbers = ReferenceValue.numbers(sample, kind) {
        aggregator.samples.append((sample, numbers))
      } else if isListed(sample) {
        skipped += 1
      }
    }
    lines.skipped += skipped
    for (sample, _) in aggregator.countedSessions where isListed(sample) {
      if let line = Self.line(sample, kind, window) { lines.all.append(line) }
    }
  }

  private static func line(
    _ sample: HealthSample, _ kind: ReferenceType, _ window: ReferenceWindow
  ) -> ReferencePoint? {
    guard let numbers = ReferenceValue.numbers(sample, kind) else { return nil }
    var (type, value) = (kind.type, ReferenceValue.number(numbers[0] ?? 0))
    switch sample.value {
    case .quantity: if kind.form == .nutrient { value = ReferenceValue.meal(numbers) }
    case .category(let name):
      if kind.form == .sleep { type = ReferenceValue.stage(name) ?? "SLEEP_UNKNOWN" }
    case .workout(let workout):
      if kind.form == .workout {
        let name = ReferenceValue.activities[workout.activity] ?? ""
        value = ReferenceValue.workout(name, numbers, 1)
      }
    }
    let (start, end) = (sample.start.nanoseconds, sample.end.nanoseconds)
    let label = PointLabel(
      type: type, unit: kind.measure.unit, from: start, to: max(start, end),
      source: ReferenceSource.of(sample).name)
    return window.line(label, value, at: start)
  }
}
