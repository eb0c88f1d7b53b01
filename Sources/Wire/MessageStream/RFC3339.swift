public import LinkCore

/// Times as RFC 3339 text <-> timestamps.
public enum RFC3339 {
  /// Reads a date and time with `Z` or a numeric offset, either letter case.
  ///
  /// Digits of the fraction beyond the ninth are dropped. A leap second (23:59:60 UTC) is the first
  /// second of the next day. `nil` for anything else and outside `Timestamp`'s range.
  public static func parse(_ text: some StringProtocol) -> Timestamp? {
    parse(ArraySlice(text.utf8))
  }

  /// Reads the same from bytes.
  public static func parse(_ bytes: ArraySlice<UInt8>) -> Timestamp? {
    var digits = Digits(bytes)
    guard let year = digits.number(4), year >= 1, digits.take("-"),
      let month = digits.number(2), (1...12).contains(month), digits.take("-"),
      let day = digits.number(2), day >= 1, day <= length(ofMonth: month, year: year),
      digits.take("T") || digits.take("t"),
      let hour = digits.number(2), hour <= 23, digits.take(":"),
      let minute = digits.number(2), minute <= 59, digits.take(":"),
      let second = digits.number(2), second <= 60,
      let fraction = digits.fraction(), let offset = digits.offset(), digits.isAtEnd
    else { return nil }
    let minutes = days(year: year, month: month, day: day) * 1440 + hour * 60 + minute - offset
    // A leap second is the last of a UTC day, whatever the offset says (RFC 3339 appendix D).
    if second == 60, (minutes + 1) % 1440 != 0 { return nil }
    return timestamp(seconds: Int64(minutes * 60 + second), nanoseconds: fraction)
  }

  /// Writes a time in UTC with `Z`, its fraction only as long as needed.
  public static func format(_ time: Timestamp) -> String {
    String(decoding: bytes(of: time), as: UTF8.self)
  }

  static func bytes(of time: Timestamp) -> [UInt8] {
    let (second, nanoseconds) = floorDivide(time.nanoseconds, by: 1_000_000_000)
    let (dayNumber, secondOfDay) = floorDivide(second, by: 86_400)
    let (year, month, day) = civil(dayNumber: Int(dayNumber))
    var text: [UInt8] = []
    text.reserveCapacity(30)
    append(year, width: 4, to: &text)
    text.append(UInt8(ascii: "-"))
    append(month, width: 2, to: &text)
    text.append(UInt8(ascii: "-"))
    append(day, width: 2, to: &text)
    text.append(UInt8(ascii: "T"))
    append(Int(secondOfDay) / 3600, width: 2, to: &text)
    text.append(UInt8(ascii: ":"))
    append(Int(secondOfDay) / 60 % 60, width: 2, to: &text)
    text.append(UInt8(ascii: ":"))
    append(Int(secondOfDay) % 60, width: 2, to: &text)
    if nanoseconds != 0 {
      text.append(UInt8(ascii: "."))
      append(Int(nanoseconds), width: 9, to: &text)
      while text.last == UInt8(ascii: "0") { text.removeLast() }
    }
    text.append(UInt8(ascii: "Z"))
    return text
  }

  private static func append(_ number: Int, width: Int, to text: inout [UInt8]) {
    let start = text.count
    var rest = number
    for _ in 0..<width {
      text.append(UInt8(ascii: "0") + UInt8(rest % 10))
      rest /= 10
    }
    text[start...].reverse()
  }
}

// MARK: - The proleptic Gregorian calendar

extension RFC3339 {
  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: isLeap(year) ? 29 : 28
    case 4, 6, 9, 11: 30
    case _: 31
    }
  }

  /// Days from 1970-01-01. Years are counted from March, so that a leap day ends one.
  static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month > 2 ? year : year - 1
    let monthFromMarch = (month + 9) % 12
    let leapDays = shifted / 4 - shifted / 100 + shifted / 400
    // 153 days in every five months from March on; 719,469 from 0000-03-01's eve to 1970-01-01.
    return shifted * 365 + leapDays + (153 * monthFromMarch + 2) / 5 + day - 719_469
  }

  static func civil(dayNumber: Int) -> (year: Int, month: Int, day: Int) {
    // An estimate that is never late and at most one year early: 400 years have 146,097 days.
    var year = (dayNumber + 719_162) * 400 / 146_097
    while days(year: year + 1, month: 1, day: 1) <= dayNumber { year += 1 }
    var month = 1
    var day = dayNumber - days(year: year, month: 1, day: 1) + 1
    while day > length(ofMonth: month, year: year) {
      day -= length(ofMonth: month, year: year)
      month += 1
    }
    return (year, month, day)
  }

  private static func floorDivide(_ value: Int64, by divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func timestamp(seconds: Int64, nanoseconds: Int64) -> Timestamp? {
    // Before 1970 the fraction counts back from the next second: the edge of the range then fits.
    let (whole, part) =
      seconds < 0 ? (seconds + 1, nanoseconds - 1_000_000_000) : (seconds, nanoseconds)
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = scaled.addingReportingOverflow(part)
    return overflow || carried ? nil : Timestamp(nanoseconds: sum)
  }
}

/// A walk over the digits and signs of a date.
private struct Digits {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ sign: Unicode.Scalar) -> Bool {
    guard let byte = rest.first, byte == UInt8(ascii: sign) else { return false }
    rest.removeFirst()
    return true
  }

  /// Exactly `width` digits.
  mutating func number(_ width: Int) -> Int? {
    guard rest.count >= width else { return nil }
    var value = 0
    for _ in 0..<width {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// Nanoseconds of an optional fraction; `nil` for a point without digits.
  mutating func fraction() -> Int64? {
    guard take(".") else { return 0 }
    guard var value = digit() else { return nil }
    var count = 1
    while let digit = digit() {
      if count < 9 {
        value = value * 10 + digit
        count += 1
      }
    }
    while count < 9 {
      value *= 10
      count += 1
    }
    return Int64(value)
  }

  /// Minutes east of UTC.
  mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let isWest = take("-")
    guard isWest || take("+"), let hours = number(2), hours <= 23, take(":"),
      let minutes = number(2), minutes <= 59
    else { return nil }
    return isWest ? -(hours * 60 + minutes) : hours * 60 + minutes
  }

  private mutating func digit() -> Int? {
    guard let byte = rest.first, (0x30...0x39).contains(byte) else { return nil }
    rest.removeFirst()
    return Int(byte - 0x30)
  }
}
