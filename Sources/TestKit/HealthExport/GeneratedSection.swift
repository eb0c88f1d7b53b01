import HoldfastCore

/// The sections of a generated export: one type after another, then the elements composed of
/// several types. The number of a section determines its data, so a new one has a number of its own.
enum GeneratedSection: Int, CaseIterable {
  case heartRate, steps, distance, activeEnergy, basalEnergy, exercise, flights
  case breathing, oxygen, variability, restingRate, walkingSpeed
  case weight, systolic, diastolic, glucose, temperature, water, carbohydrates
  case sleep, mindfulness, standing
  case fitness = 26, flow, headache
  case pressure = 22, food, workouts, summaries

  private static let quantity = "HKQuantityTypeIdentifier"

  /// Writes the elements that the section has on a day.
  func write(_ day: GeneratedDay, _ density: Double, to writer: inout ExportWriter) {
    var generator = day.generator(rawValue + 2)
    switch self {
    case .heartRate: Self.heartRate(day, density, &generator, &writer)
    case .steps: Self.moves("StepCount", "count", day, density, &generator, &writer)
    case .distance: Self.moves("DistanceWalkingRunning", "km", day, density, &generator, &writer)
    case .activeEnergy:
      Self.energy("ActiveEnergyBurned", every: 90, day, density, &generator, &writer)
    case .basalEnergy:
      Self.energy("BasalEnergyBurned", every: 600, day, density, &generator, &writer)
    case .exercise: Self.exercise(day, &writer)
    case .flights: Self.flights(day, &generator, &writer)
    case .breathing:
      Self.nightly("RespiratoryRate", "count/min", 900, density, day, &generator, &writer) {
        "\(11 + Double(Int($0.unit() * 12)) / 2)"
      }
    case .oxygen:
      Self.nightly("OxygenSaturation", "%", 1_800, density, day, &generator, &writer) {
        "0.\(93 + Int($0.unit() * 7))"
      }
    case .variability: Self.variability(day, &generator, &writer)
    case .restingRate:
      Self.once("RestingHeartRate", "count/min", .watch, day, &generator, &writer) {
        "\(52 + Int($0.unit() * 9))"
      }
    case .walkingSpeed: Self.walkingSpeed(day, &generator, &writer)
    case .weight, .systolic, .diastolic, .glucose, .temperature, .water, .carbohydrates:
      byHand(day, &generator, &writer)
    case .sleep: Self.sleep(day, &generator, &writer)
    case .mindfulness: Self.mindfulness(day, &generator, &writer)
    case .standing: Self.standing(day, &writer)
    case .fitness: Self.fitness(day, &generator, &writer)
    case .flow: Self.flow(day, &writer)
    case .headache: Self.headache(day, &generator, &writer)
    case .pressure: Self.pressure(day, &writer)
    case .food: Self.food(day, &writer)
    case .workouts: Self.workouts(day, &writer)
    case .summaries: Self.summary(day, &generator, &writer)
    }
  }

  /// Writes occasional readings that apps and instruments record.
  private func byHand(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    switch self {
    case .weight where day.number % 7 == 0:
      let grams = 68_000 + Int(generator.unit() * 2_000)
      Self.once("BodyMass", "kg", .scale, day, &generator, &writer) { _ in
        "\(Double(grams) / 1_000)"
      }
    case .systolic: Self.pressurePart(day, "Systolic", " ", &writer)
    case .diastolic: Self.pressurePart(day, "Diastolic", " ", &writer)
    case .glucose where day.number % 3 == 0:
      Self.once(
        "BloodGlucose", "mmol<180.1558800000541>/L", .meals, day, &generator, &writer
      ) { "\(4.5 + Double(Int($0.unit() * 30)) / 10)" }
    case .temperature where day.number % 29 == 0:
      Self.once("BodyTemperature", "degC", .phone, day, &generator, &writer) {
        "\(36.2 + Double(Int($0.unit() * 12)) / 10)"
      }
    case .water:
      Self.once("DietaryWater", "mL", .meals, day, &generator, &writer) {
        "\(250 * (1 + Int($0.unit() * 4)))"
      }
    case .carbohydrates: Self.meal(day, " ", &writer)
    case .heartRate, .steps, .distance, .activeEnergy, .basalEnergy, .exercise, .flights,
      .breathing, .oxygen, .variability, .restingRate, .walkingSpeed, .weight, .glucose,
      .temperature, .sleep, .mindfulness, .standing, .fitness, .flow, .headache, .pressure, .food,
      .workouts, .summaries:
      // There is no reading of this type on this day, or another function writes the type.
      break
    }
  }

  /// Writes one reading in the morning.
  private static func once(
    _ type: String, _ unit: String, _ source: GeneratedSource, _ day: GeneratedDay,
    _ generator: inout RandomSource, _ writer: inout ExportWriter,
    value: (inout RandomSource) -> String
  ) {
    let time = day.rise + Int(generator.unit() * 3_000)
    writer.record(
      quantity + type, .init(source: source, start: time, end: time), unit: unit,
      value: value(&generator))
  }

  private static func heartRate(
    _ day: GeneratedDay, _ density: Double, _ generator: inout RandomSource,
    _ writer: inout ExportWriter
  ) {
    let end = day.number * 86_400 + 82_800
    var time = end - 86_400
    while time < end {
      let isMoving = day.activity(at: time) != nil
      let isAsleep = time < day.rise || time > day.rest
      let rate = (isMoving ? 120 : isAsleep ? 50 : 65) + Int(generator.unit() * 25)
      writer.record(
        quantity + "HeartRate", .init(source: .watch, start: time, end: time), unit: "count/min",
        value: "\(rate)", isOpen: true)
      writer.metadata("HKMetadataKeyHeartRateMotionContext", isMoving ? "2" : isAsleep ? "0" : "1")
      writer.close("Record")
      time += step(isMoving ? 6 : 290, density, &generator)
    }
  }

  /// Returns the time to the next reading.
  private static func step(_ usual: Double, _ density: Double, _ generator: inout RandomSource)
    -> Int
  {
    max(1, Int(usual / density * (0.5 + generator.unit())))
  }

  /// Writes steps or meters that the watch and the phone count in different intervals.
  private static func moves(
    _ type: String, _ unit: String, _ day: GeneratedDay, _ density: Double,
    _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    for (source, usual) in [(GeneratedSource.watch, 380.0), (.phone, 560.0)] {
      var time = day.rise + Int(generator.unit() * 600)
      while time < day.rest {
        let length = step(usual, density, &generator)
        let end = min(time + length, day.rest)
        let paces = 1 + Int(generator.unit() * Double(end - time) * 0.5)
        let value =
          unit == "count"
          ? "\(paces)" : decimal(Double(paces) * (0.0007 + 0.0002 * generator.unit()))
        writer.record(
          quantity + type, .init(source: source, start: time, end: end), unit: unit, value: value)
        time = end + step(usual * 0.6, density, &generator)
      }
    }
  }

  /// Returns a number with at most six decimals, as phones write most numbers.
  private static func decimal(_ value: Double) -> String {
    "\((value * 1_000_000).rounded() / 1_000_000)"
  }

  private static func energy(
    _ type: String, every usual: Double, _ day: GeneratedDay, _ density: Double,
    _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    var time = day.rise
    while time < day.rest {
      let end = time + step(usual, density, &generator)
      let rate = day.activity(at: time) == nil ? 0.0004 : 0.002
      // One value in eight is written with all its digits, like the sums that a phone computes.
      let value = (0.5 + generator.unit()) * rate * Double(end - time) * 60
      let text = generator.next() & 7 == 0 ? "\(value)" : decimal(value)
      writer.record(
        quantity + type, .init(source: .watch, start: time, end: end), unit: "kcal", value: text)
      time = end
    }
  }

  private static func exercise(_ day: GeneratedDay, _ writer: inout ExportWriter) {
    for activity in day.activities {
      for start in stride(from: activity.start, to: activity.end - 59, by: 60) {
        writer.record(
          quantity + "AppleExerciseTime", .init(source: .watch, start: start, end: start + 60),
          unit: "min", value: "1")
      }
    }
  }

  private static func flights(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    for _ in 0..<Int(generator.unit() * 8) {
      let start = day.rise + Int(generator.unit() * Double(day.rest - day.rise - 120))
      writer.record(
        quantity + "FlightsClimbed", .init(source: .phone, start: start, end: start + 60),
        unit: "count", value: "\(1 + Int(generator.unit() * 3))")
    }
  }

  private static func nightly(
    _ type: String, _ unit: String, _ usual: Double, _ density: Double, _ day: GeneratedDay,
    _ generator: inout RandomSource, _ writer: inout ExportWriter,
    value: (inout RandomSource) -> String
  ) {
    var time = day.lastRest + 1_200
    while time < day.rise {
      writer.record(
        quantity + type, .init(source: .watch, start: time, end: time), unit: unit,
        value: value(&generator), isOpen: true)
      writer.metadata("HKTimeZone", "Europe/Zurich")
      writer.close("Record")
      time += step(usual, density, &generator)
    }
  }

  private static func variability(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    for part in 0..<5 {
      let start = day.rise + part * 9_000 + Int(generator.unit() * 600)
      writer.record(
        quantity + "HeartRateVariabilitySDNN", .init(source: .watch, start: start, end: start + 59),
        unit: "ms", value: decimal(20 + 80 * generator.unit()), isOpen: true)
      writer.text("  <HeartRateVariabilityMetadataList>\n")
      for beat in 0..<20 {
        // The phone writes a local time with a comma and without a date.
        let second = 10 + beat * 2
        writer.text("   <InstantaneousBeatsPerMinute bpm=\"\(60 + Int(generator.unit() * 25))\"")
        writer.text(" time=\"9:41:\(second),\(10 + Int(generator.unit() * 90))\"/>\n")
      }
      writer.close("HeartRateVariabilityMetadataList", indent: "  ")
      writer.close("Record")
    }
  }

  private static func walkingSpeed(
    _ day: GeneratedDay, _ generator: inout RandomSource, _ writer: inout ExportWriter
  ) {
    for part in 0..<6 {
      let start = day.rise + 1_800 + part * 8_000 + Int(generator.unit() * 900)
      writer.record(
        quantity + "WalkingSpeed", .init(source: .phone, start: start, end: start + 40),
        unit: "km/hr", value: decimal(3.5 + 2 * generator.unit()))
    }
  }
}
