import HoldfastCore

/// A parser of dates such as `2017-11-07 10:05:13 +0200`, or `20141013181700+0100` in iOS 8.
struct ExportTime {
  /// The bytes of the most recently read day. `dayNumber` is its number of days since 1970-01-01.
  private var knownDay: (UInt64, UInt64) = (.max, .max)
  private var dayNumber: Int64 = 0

  /// Returns the time that a range of bytes represents, or `nil` if the range is not a date.
  @inline(__always)
  mutating func read(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Timestamp? {
    guard range.count == 25 else { return readSlowly(bytes, range) }
    let start = range.lowerBound
    // After the exclusive-or, each digit's byte is its value, and each separator's byte is zero.
    let first = bytes.word(at: start) ^ 0x2D30_302D_3030_3030  // 0000-00-
    let second = bytes.word(at: start &+ 8) ^ 0x3030_3A30_3020_3030  // 00 00:00
    let third = bytes.word(at: start &+ 16) ^ 0x3030_3000_2030_303A  // :00 s000
    let last = UInt64(bytes[start &+ 24] ^ 0x30)
    let sign = third &>> 32 & 0xFF
    let others = third & ~(0xFF &<< 32)
    let separators =
      first & 0xFF00_00FF_0000_0000 | second & 0x0000_FF00_00FF_0000 | others
      & 0x0000_0000_FF00_00FF
    let digits = Self.tooLarge(first) | Self.tooLarge(second) | Self.tooLarge(others)
    guard separators == 0, digits == 0, last <= 9, sign == 0x2B || sign == 0x2D else {
      return readSlowly(bytes, range)
    }
    let day = (first, second & 0xFFFF)
    if day != knownDay {
      let year = Self.pair(first, 0) * 100 + Self.pair(first, 16)
      guard
        let number = Self.dayNumber(
          year: year, month: Self.pair(first, 40), day: Self.pair(second, 0))
      else { return nil }
      (knownDay, dayNumber) = (day, number)
    }
    let offset = Self.pair(others, 40) * 60 + Int64(others &>> 56) * 10 + Int64(last)
    return Self.moment(
      day: dayNumber, hour: Self.pair(second, 24), minute: Self.pair(second, 48),
      second: Self.pair(others, 8), fraction: 0, east: sign == 0x2B ? offset : -offset,
      zoneMinute: Int64(others &>> 56) * 10 + Int64(last))
  }

  /// Returns a word in which the highest bit of each byte is set if that byte of `word` exceeds 9.
  @inline(__always)
  private static func tooLarge(_ word: UInt64) -> UInt64 {
    (word &+ 0x7676_7676_7676_7676 | word) & 0x8080_8080_8080_8080
  }

  /// Returns the number that two digits form, the first of which starts at bit `shift`.
  @inline(__always)
  private static func pair(_ word: UInt64, _ shift: UInt64) -> Int64 {
    Int64(word &>> shift & 0xF) * 10 + Int64(word &>> (shift &+ 8) & 0xF)
  }

  /// Reads fourteen digits with optional separators, a fraction, and an offset or `Z`.
  private func readSlowly(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Timestamp? {
    guard range.count <= 40 else { return nil }
    var digits: [Int64] = []
    var fraction: Int64 = 0
    var position = range.lowerBound
    while position < range.upperBound, digits.count < 14 {
      switch bytes[position] {
      case 0x30...0x39: digits.append(Int64(bytes[position] - 0x30))
      case UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "T"):
        guard digits.count >= 4 else { return nil }
      case _: return nil
      }
      position += 1
    }
    guard digits.count == 14 else { return nil }
    if position < range.upperBound, bytes[position] == UInt8(ascii: ".") {
      position += 1
      var unit: Int64 = 100_000_000
      while position < range.upperBound, 0x30...0x39 ~= bytes[position] {
        fraction += Int64(bytes[position] - 0x30) * unit
        unit /= 10
        position += 1
      }
    }
    guard let (east, minute) = Self.offset(bytes, position..<range.upperBound) else { return nil }
    func pair(_ index: Int) -> Int64 { digits[index] * 10 + digits[index + 1] }
    guard
      let day = Self.dayNumber(year: pair(0) * 100 + pair(2), month: pair(4), day: pair(6))
    else { return nil }
    return Self.moment(
      day: day, hour: pair(8), minute: pair(10), second: pair(12), fraction: fraction, east: east,
      zoneMinute: minute)
  }

  /// Reads an offset in minutes east of UTC: `Z`, `+0200` or `+02:00`, with or without a space
  /// before it.
  private static func offset(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) -> (east: Int64, minute: Int64)? {
    var text: [UInt8] = []
    for position in range where bytes[position] != UInt8(ascii: " ") {
      text.append(bytes[position])
    }
    if text == [UInt8(ascii: "Z")] { return (0, 0) }
    if text.count == 6, text[3] == UInt8(ascii: ":") { text.remove(at: 3) }
    guard text.count == 5, text[0] == 0x2B || text[0] == 0x2D,
      text[1...].allSatisfy({ 0x30...0x39 ~= $0 })
    else { return nil }
    let digits = text[1...].map { Int64($0 - 0x30) }
    let minute = digits[2] * 10 + digits[3]
    let east = (digits[0] * 10 + digits[1]) * 60 + minute
    return (text[0] == 0x2B ? east : -east, minute)
  }

  /// Returns the time with the given components, or `nil` if one is out of range. Offsets of up to
  /// 18 hours are accepted, as in ISO 8601 tools.
  @inline(__always)
  private static func moment(
    day: Int64, hour: Int64, minute: Int64, second: Int64, fraction: Int64, east: Int64,
    zoneMinute: Int64
  ) -> Timestamp? {
    guard hour < 24, minute < 60, second <= 60, zoneMinute < 60, -1_080...1_080 ~= east else {
      return nil
    }
    let seconds = day &* 86_400 &+ (hour &* 60 &+ minute &- east) &* 60 &+ second
    return Timestamp(nanoseconds: seconds &* 1_000_000_000 &+ fraction)
  }

  /// Returns the number of days since 1970-01-01, or `nil` if the date does not exist or
  /// `Timestamp` does not cover its whole year.
  private static func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64? {
    guard 1_678...2_261 ~= year, 1...12 ~= month, day >= 1 else { return nil }
    guard day <= Gregorian.length(ofMonth: Int(month), year: Int(year)) else { return nil }
    return Int64(Gregorian.days(year: Int(year), month: Int(month), day: Int(day)))
  }
}
