/// The dimension of a quantity. Answers use one unit and one name for each dimension, regardless of
/// the stored unit.
enum Dimension: Sendable, Hashable, CaseIterable {
  case count, beats, breaths, interval, energy, share, pressure, temperature, length, speed, mass
  case nutrient, volume, glucose, time
  case number, gram, milligram, microgram, power, cadence, oxygenUptake, effort, score, conductance
  case insulin, flow, sound
  /// The dimension of a type that is unknown to this version. Its unit is that of its samples.
  case own

  /// The unit's name. Except for energy, it is the name that the original app uses in statistics.
  var unit: String {
    switch self {
    case .count: "count"
    case .beats: "beatsPerMinute"
    case .breaths: "respirationsPerMinute"
    case .interval: "millisecond"
    case .energy: "kilocalorie"
    case .share: "percentage"
    case .pressure: "millimeterOfMercury"
    case .temperature: "degreeCelsius"
    case .length: "meter"
    case .speed: "meterPerSecond"
    case .mass: "kilogram"
    case .nutrient: "noUnit"
    case .volume: "liter"
    case .glucose: "milligramPerDeciliter"
    case .time: "minute"
    case .number, .own: "noUnit"
    case .gram: "gram"
    case .milligram: "milligram"
    case .microgram: "microgram"
    case .power: "watt"
    case .cadence: "revolutionsPerMinute"
    case .oxygenUptake: "milliliterPerKilogramPerMinute"
    case .effort: "kilocaloriePerKilogramPerHour"
    case .score: "score"
    case .conductance: "microsiemens"
    case .insulin: "internationalUnit"
    case .flow: "literPerMinute"
    case .sound: "decibel"
    }
  }

  /// Returns the number as answers report it. Counts are whole numbers. Other numbers are rounded.
  func rounded(_ number: Double) -> Double {
    self == .count ? number.rounded() : number.roundedForAnswer
  }

  /// Returns the conversion from a unit in HealthKit's spelling, or `nil` if the unit has a
  /// different dimension.
  ///
  /// A missing unit is assumed to be the unit of answers.
  func scale(from unit: String?) -> Scale? {
    guard let unit else { return Scale() }
    switch self {
    case .temperature:
      switch unit {
      case "degC": return Scale()
      case "degF": return Scale(factor: 5.0 / 9, offset: -32)
      case "K": return Scale(offset: -273.15)
      case _: return nil
      }
    // A millimole of glucose weighs 180.1558800000541 mg (HKUnitMolarMassBloodGlucose).
    case .glucose where unit.hasPrefix("mmol") && unit.hasSuffix("/L"):
      return Scale(factor: 18.01558800000541)
    // HealthKit stores a fraction of one.
    case .own: return Scale(factor: unit == "%" ? 100 : 1)
    case .count, .beats, .breaths, .interval, .energy, .share, .pressure, .length, .speed, .mass,
      .nutrient, .volume, .glucose, .time, .number, .gram, .milligram, .microgram, .power, .cadence,
      .oxygenUptake, .effort, .score, .conductance, .insulin, .flow, .sound:
      return factors.first { $0.unit == unit }.map { Scale(factor: $0.factor) }
    }
  }

  /// The factor of each unit, as defined in NIST Special Publication 811, appendix B.
  var factors: [(unit: String, factor: Double)] {
    switch self {
    case .count: [("count", 1)]
    case .beats, .breaths: [("count/min", 1), ("count/s", 60), ("Hz", 60)]
    case .interval: [("ms", 1), ("s", 1_000)]
    case .energy: [("kcal", 1), ("Cal", 1), ("cal", 0.001), ("kJ", 1 / 4.184), ("J", 1 / 4_184)]
    // HealthKit stores a fraction of one.
    case .share: [("%", 100)]
    case .pressure: [("mmHg", 1), ("kPa", 1_000 / 133.322387415)]
    case .length: Self.lengths
    case .speed:
      [("m/s", 1), ("km/hr", 1 / 3.6), ("km/h", 1 / 3.6), ("mi/hr", 0.44704), ("ft/s", 0.3048)]
    case .mass: [("kg", 1), ("g", 0.001), ("lb", 0.45359237), ("st", 6.35029318)]
    case .nutrient:
      [("g", 1), ("kg", 1_000), ("mg", 0.001), ("kcal", 1), ("Cal", 1), ("kJ", 1 / 4.184)]
    case .volume:
      [("L", 1), ("mL", 0.001), ("fl_oz_us", 0.0295735295625), ("fl_oz_imp", 0.0284130625)]
    case .glucose: [("mg/dL", 1), ("g/L", 100)]
    case .time: [("min", 1), ("s", 1 / 60.0), ("hr", 60)]
    case .number: [("count", 1)]
    case .gram: [("g", 1), ("mg", 1e-3), ("mcg", 1e-6), ("kg", 1e3)]
    case .milligram: [("mg", 1), ("mcg", 1e-3), ("g", 1e3)]
    case .microgram: [("mcg", 1), ("mg", 1e3), ("g", 1e6)]
    case .power: [("W", 1), ("kW", 1e3)]
    case .cadence: [("count/min", 1), ("count/s", 60)]
    case .oxygenUptake: Self.uptakes
    case .effort: [("kcal/hr·kg", 1), ("kcal/kg·hr", 1), ("kcal/(kg*hr)", 1)]
    case .score: [("appleEffortScore", 1), ("count", 1)]
    case .conductance: [("mcS", 1), ("S", 1e6)]
    case .insulin: [("IU", 1)]
    case .flow: [("L/min", 1), ("L/s", 60), ("mL/min", 1e-3)]
    case .sound: [("dBASPL", 1)]
    case .temperature, .own: []
    }
  }

  /// The ways in which versions of iOS and apps write the unit of VO2 max.
  private static let uptakes: [(unit: String, factor: Double)] = [
    ("mL/min·kg", 1), ("mL/kg·min", 1), ("mL/(kg*min)", 1), ("ml/(kg*min)", 1), ("mL/kg*min", 1),
    ("mL/min*kg", 1),
  ]

  private static let lengths: [(unit: String, factor: Double)] = [
    ("m", 1), ("km", 1_000), ("cm", 0.01), ("mm", 0.001), ("mi", 1_609.344), ("yd", 0.9144),
    ("ft", 0.3048), ("in", 0.0254),
  ]
}

extension Dimension {
  /// The units in HealthKit's spelling, the unit of answers first.
  var healthKitUnits: [String] {
    switch self {
    case .temperature: ["degC", "degF", "K"]
    case .glucose: ["mg/dL", "mmol<180.1558800000541>/L"]
    // The other factors are spellings of the same unit.
    case .oxygenUptake, .effort, .score: factors.prefix(1).map(\.unit)
    case .speed: factors.map(\.unit).filter { $0 != "km/h" }
    case .count, .beats, .breaths, .interval, .energy, .share, .pressure, .length, .mass,
      .nutrient, .volume, .time, .number, .gram, .milligram, .microgram, .power, .cadence,
      .conductance, .insulin, .flow, .sound, .own:
      factors.map(\.unit)
    }
  }
}

/// A conversion from one unit to another.
struct Scale: Sendable, Hashable {
  var factor = 1.0
  /// The number that is added before the multiplication, in the original unit.
  var offset = 0.0

  /// Returns the number in the target unit, rounded to 15 digits, which every `Double` can
  /// represent.
  ///
  /// Without rounding, 0.57 * 100 would be 56.99999999999999.
  func callAsFunction(_ value: Double) -> Double {
    guard self != Scale() else { return value }
    let result = (value + offset) * factor
    // The result of an addition has no more exact decimal places than the larger of its operands.
    return result.rounded(toDigitsOf: max(abs(result), abs(offset)))
  }

  /// Returns the number in the original unit, rounded to 15 digits.
  func inverse(_ value: Double) -> Double {
    let result = value / factor - offset
    return result.rounded(toDigitsOf: max(abs(result), abs(offset)))
  }
}

extension Double {
  /// The number rounded to four decimal places, or to four significant digits if it is below 1.
  ///
  /// No measurement is more precise, and each digit adds to the text that a language model has to
  /// read.
  var roundedForAnswer: Double {
    var unit = 1e4
    // Powers of ten up to 1e22 are exact.
    while abs(self) * unit < 1_000, unit < 1e22 { unit *= 10 }
    let scaled = self * unit
    // From 2^53 on, a `Double` has no decimal places.
    guard (1_000..<0x1p53).contains(abs(scaled)) else { return self }
    return scaled.rounded() / unit
  }

  /// Returns the number rounded at the 15th decimal digit of another number.
  fileprivate func rounded(toDigitsOf other: Double) -> Double {
    var unit = 1.0
    // Powers of ten up to 1e22 are exact.
    while other * unit < 1e14, unit < 1e22 { unit *= 10 }
    return other * unit < 1e14 ? self : (self * unit).rounded() / unit
  }
}
