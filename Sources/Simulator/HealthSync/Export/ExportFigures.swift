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

  // Days, counted year by year.

  static func isLeap(_ year: Int) -> Bool {
    year % 400 == 0 || (year % 4 == 0 && year % 100 != 0)
  }

  static func months(_ year: Int) -> [Int] {
    [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  }

  /// Returns the seconds from 1970 to the beginning of a day.
  static func seconds(_ year: Int, _ month: Int, _ day: Int) -> Int {
    var days = day - 1
    for past in stride(from: 1970, to: year, by: 1) { days += isLeap(past) ? 366 : 365 }
    for later in stride(from: 1969, through: year, by: -1) { days -= isLeap(later) ? 366 : 365 }
    return (days + months(year).prefix(month - 1).reduce(0, +)) * 86_400
  }

  /// Returns year, month, day, hour, minute and second of so many seconds from 1970.
  static func fields(_ seconds: Int) -> [Int] {
    var year = 1970
    var left = seconds
    while left < 0 {
      year -= 1
      left += (isLeap(year) ? 366 : 365) * 86_400
    }
    while left >= (isLeap(year) ? 366 : 365) * 86_400 {
      left -= (isLeap(year) ? 366 : 365) * 86_400
      year += 1
    }
    var month = 1
    while left >= months(year)[month - 1] * 86_400 {
      left -= months(year)[month - 1] * 86_400
      month += 1
    }
    return [year, month, left / 86_400 + 1, left / 3_600 % 24, left / 60 % 60, left % 60]
  }

  // Stretches of samples.

  /// A stretch ends with a key whose lowest ten bits are zero, or with the 8,192nd sample.
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

  /// Returns the digest of a stretch: MurmurHash3 (x64, 128 bits) of its keys, low halves first.
  static func digest(_ keys: [HealthSampleKey]) -> HealthSampleKey {
    var (one, two): (UInt64, UInt64) = (0, 0)
    for key in keys {
      one ^= turn(key.low &* 0x87C3_7B91_1142_53D5, by: 31) &* 0x4CF5_AD43_2745_937F
      one = (turn(one, by: 27) &+ two) &* 5 &+ 0x52DC_E729
      two ^= turn(key.high &* 0x4CF5_AD43_2745_937F, by: 33) &* 0x87C3_7B91_1142_53D5
      two = (turn(two, by: 31) &+ one) &* 5 &+ 0x3849_5AB5
    }
    one ^= UInt64(keys.count * 16)
    two ^= UInt64(keys.count * 16)
    one &+= two
    two = mix(two &+ one)
    one = mix(one) &+ two
    return HealthSampleKey(high: one, low: two &+ one)
  }

  private static func turn(_ word: UInt64, by bits: Int) -> UInt64 {
    word << bits | word >> (64 - bits)
  }

  private static func mix(_ word: UInt64) -> UInt64 {
    let once = (word ^ word >> 33) &* 0xFF51_AFD7_ED55_8CCD
    let twice = (once ^ once >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return twice ^ twice >> 33
  }
}
