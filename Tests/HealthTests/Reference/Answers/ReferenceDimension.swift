/// The dimension of a quantity, with its units.
struct ReferenceDimension {
  var name = ""
  /// The name of the unit in answers.
  var unit = ""
  /// An amount in that unit, and the same amount in all units.
  private var base = 0.0
  private var parts: [(unit: String, amount: Double)] = []

  /// Creates a dimension from the words of a line: its name, its unit, an amount, and the same
  /// amount in all units.
  init(_ line: [String]) {
    guard line.count > 2 else { return }
    (name, unit) = (line[0], line[1])
    base = Double(line[2]) ?? 0
    for part in line.dropFirst(3) {
      let unit = String(part.prefix { $0 != "=" })
      parts.append((unit, Double(part.dropFirst(unit.count + 1)) ?? 0))
    }
  }

  static let all: [String: ReferenceDimension] = Dictionary(
    lines(
      """
      count count 8 count=8
      beats beatsPerMinute 60 count/min=60 count/s=1 Hz=1
      breaths respirationsPerMinute 60 count/min=60 count/s=1 Hz=1
      interval millisecond 1000 ms=1000 s=1
      energy kilocalorie 100 kcal=100 Cal=100 cal=100000 kJ=418.4 J=418400
      share percentage 57 %=0.57
      pressure millimeterOfMercury 200 mmHg=200 kPa=26.664477483
      temperature degreeCelsius 10 degC=0 degF=0 K=0
      length meter 201168 m=201168 km=201.168 cm=20116800 mm=201168000 mi=125 \
      yd=220000 ft=660000 in=7920000
      speed meterPerSecond 4191 m/s=4191 km/hr=15087.6 km/h=15087.6 \
      mi/hr=9375 ft/s=13750
      mass kilogram 45359237 kg=45359237 g=45359237000 lb=100000000 \
      st=7142857.142857143
      nutrient noUnit 1000 g=1000 kg=1 mg=1000000 kcal=1000 Cal=1000 kJ=4184
      volume liter 2 L=2 mL=2000 fl_oz_us=67.628045403686 fl_oz_imp=70.3901594557081
      glucose milligramPerDeciliter 90 mg/dL=90 g/L=0.9 \
      mmol/L=4.995673746534001 mmol<180.1558800000541>/L=4.995673746534001
      time minute 30 min=30 s=1800 hr=0.5
      """
    ).map { ($0[0], ReferenceDimension($0)) }, uniquingKeysWith: { $1 })

  /// Values with their expected results, which must be exact or rounded to the known digits.
  static let exact: [(dimension: String, unit: String?, value: Double, converted: Double)] = [
    ("beats", "count/min", 0.30000000000000004, 0.30000000000000004),
    ("beats", nil, 0.1 + 0.7, 0.1 + 0.7), ("beats", "Hz", 1e306, 6e307),
    ("share", "%", 0.28999999999999998, 29), ("mass", "g", 0.1, 0.0001),
    ("length", "km", 1.0 / 3, 333.333333333333), ("length", "cm", 110, 1.1),
    ("temperature", "K", 273.25, 0.1), ("temperature", "degF", 32.1, 0.0555555555556),
    ("temperature", "degF", 98.6, 37), ("temperature", "K", 310.15, 37),
    ("nutrient", "mg", 0.00003, 0.00000003), ("nutrient", "mg", 0.000009, 9.000000000000001e-09),
  ]

  static func lines(_ table: String) -> [[String]] {
    table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
  }

  /// The known units, and `nil` for a missing unit.
  var units: [String?] { parts.map(\.unit) + [nil] }

  /// Returns a multiple of the dimension's amount in a unit.
  func amount(_ times: Double, in unit: String?) -> Double {
    switch unit {
    case "degC": return base * times
    case "degF": return base * times * 1.8 + 32
    case "K": return base * times + 273.15
    case _:
      let part = parts.first { $0.unit == unit }?.amount ?? base
      return part * times
    }
  }

  /// Converts a value to the unit of the dimension. Returns `nil` if the value is not finite or its
  /// unit is unknown.
  func converted(_ value: Double, in unit: String?) -> Double? {
    guard value.isFinite else { return nil }
    let exact = Self.exact.first { $0.dimension == name && $0.unit == unit && $0.value == value }
    if let exact { return exact.converted }
    guard let unit else { return value }
    guard let part = parts.first(where: { $0.unit == unit })?.amount else { return nil }
    switch unit {
    case "degC": return value
    case "degF": return ((value - 32) / 1.8).rounded()
    case "K": return (value - 273.15).rounded()
    case _: return part == base ? value : (value / part * base).rounded()
    }
  }
}
