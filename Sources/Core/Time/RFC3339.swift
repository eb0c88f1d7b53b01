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
    var digits = TimeDigits(bytes)
    guard let days = digits.day(), digits.take("T") || digits.take("t"),
      let hour = digits.number(2), hour <= 23, digits.take(":"),
      let minute = digits.number(2), minute <= 59, digits.take(":"),
      let second = digits.number(2), second <= 60,
      let fraction = digits.part(), let offset = digits.offset(), digits.isAtEnd
    else { return nil }
    let minutes = days * 1440 + hour * 60 + minute - offset
    // A leap second is the last of a UTC day, whatever the offset says (RFC 3339 appendix D).
    if second == 60, (minutes + 1) % 1440 != 0 { return nil }
    return timestamp(seconds: Int64(minutes * 60 + second), nanoseconds: fraction)
  }

  /// Writes a time in UTC with `Z`, its fraction only as long as needed.
  public static func format(_ time: Timestamp) -> String {
    String(decoding: bytes(of: time), as: UTF8.self)
  }

  /// Writes the same as UTF-8.
  package static func bytes(of time: Timestamp) -> [UInt8] {
    let (second, nanoseconds) = Gregorian.floorDivide(time.nanoseconds, by: 1_000_000_000)
    let (dayNumber, secondOfDay) = Gregorian.floorDivide(second, by: 86_400)
    let (year, month, day) = Gregorian.civil(dayNumber: Int(dayNumber))
    var text: [UInt8] = []
    text.reserveCapacity(30)
    append(year, unit: 1000, to: &text)
    text.append(UInt8(ascii: "-"))
    append(month, unit: 10, to: &text)
    text.append(UInt8(ascii: "-"))
    append(day, unit: 10, to: &text)
    text.append(UInt8(ascii: "T"))
    append(Int(secondOfDay) / 3600, unit: 10, to: &text)
    text.append(UInt8(ascii: ":"))
    append(Int(secondOfDay) / 60 % 60, unit: 10, to: &text)
    text.append(UInt8(ascii: ":"))
    append(Int(secondOfDay) % 60, unit: 10, to: &text)
    if nanoseconds != 0 {
      text.append(UInt8(ascii: "."))
      append(Int(nanoseconds), unit: 100_000_000, to: &text)
      while text.last == UInt8(ascii: "0") { text.removeLast() }
    }
    text.append(UInt8(ascii: "Z"))
    return text
  }

  /// Appends decimal digits down from that of `unit`, a power of ten.
  private static func append(_ number: Int, unit: Int, to text: inout [UInt8]) {
    var (rest, unit) = (UInt32(number), UInt32(unit))
    while unit > 0 {
      text.append(UInt8(ascii: "0") + UInt8(rest / unit))
      rest %= unit
      unit /= 10
    }
  }
}

extension RFC3339 {
  private static func timestamp(seconds: Int64, nanoseconds: Int64) -> Timestamp? {
    // Before 1970 the fraction counts back from the next second: the edge of the range then fits.
    let (whole, part) =
      seconds < 0 ? (seconds + 1, nanoseconds - 1_000_000_000) : (seconds, nanoseconds)
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = scaled.addingReportingOverflow(part)
    return overflow || carried ? nil : Timestamp(nanoseconds: sum)
  }
}

extension TimeDigits {
  /// Nanoseconds of an optional fraction; `nil` for a point without digits.
  fileprivate mutating func part() -> Int64? {
    take(".") ? fraction() : 0
  }

  /// Minutes east of UTC.
  fileprivate mutating func offset() -> Int? {
    if take("Z") || take("z") { return 0 }
    let isWest = take("-")
    guard isWest || take("+"), let hours = number(2), hours <= 23, take(":"),
      let minutes = number(2), minutes <= 59
    else { return nil }
    return isWest ? -(hours * 60 + minutes) : hours * 60 + minutes
  }
}
