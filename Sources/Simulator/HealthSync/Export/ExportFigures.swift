import LinkCore
import LinkHealth

/// Numbers, units and days of exports, in the simplest way.
enum ExportFigures {
  static let seconds: [String: Double] = [
    "s": 1, "sec": 1, "min": 60, "hr": 3_600, "h": 3_600,
  ]
  static let metres: [String: Double] = [
    "mi": 1_609.344, "yd": 0.914_4, "ft": 0.304_8, "km": 1_000, "m": 1, "cm": 0.01,
  ]
  /// A thermochemical calorie is 4.184 J.
  static let kilocalories: [String: Double] = [
    "J": 1 / 4_184.0, "kJ": 1 / 4.184, "cal": 0.001, "Cal": 1, "kcal": 1,
  ]

  /// Returns the nearest double to a decimal text of at most 400 characters, if it is finite.
  static func number(_ value: ExportWritten?) -> Double? {
    guard let raw = value?.raw, raw.count <= 400 else { return nil }
    let letters = Array("0123456789+-.eE".utf8)
    guard raw.allSatisfy({ letters.contains($0) }) else { return nil }
    return Double(String(decoding: raw, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
  }

  static func amount(
    _ value: ExportWritten?, _ unit: ExportWritten?, _ factors: [String: Double]
  ) -> Double? {
    guard let number = number(value), let factor = factors[unit?.text ?? ""] else { return nil }
    return number * factor
  }

  // Days.

  /// Returns year, month, day, hour, minute and second of so many seconds from 1970.
  static func fields(_ seconds: Int) -> [Int] {
    let second = (seconds % 86_400 + 86_400) % 86_400
    let day = TimeAccount.date((seconds - second) / 86_400)
    return day + [second / 3_600, second / 60 % 60, second % 60]
  }

  // Stretches of samples.

  /// Cuts keys behind one whose lowest ten bits are zero, and behind 8,192 of a stretch.
  static func spans(_ keys: [HealthSampleKey]) -> [[HealthSampleKey]] {
    var spans: [[HealthSampleKey]] = []
    var open: [HealthSampleKey] = []
    for key in keys {
      open.append(key)
      guard key.low % 1_024 == 0 || open.count == 8_192 else { continue }
      spans.append(open)
      open = []
    }
    return open.isEmpty ? spans : spans + [open]
  }
}
