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
    unsafe String(unsafeUninitializedCapacity: mostBytes) { unsafe write(time, to: $0) }
  }

  /// The longest text: `2027-01-15T08:00:00.123456789Z`.
  package static let mostBytes = 30

  /// Writes the same as UTF-8 at the beginning of a buffer, which has room for `mostBytes`.
  ///
  /// - Returns: The number of bytes.
  package static func write(_ time: Timestamp, to text: UnsafeMutableBufferPointer<UInt8>) -> Int {
    let (second, nanoseconds) = Gregorian.floorDivide(time.nanoseconds, by: 1_000_000_000)
    let (dayNumber, secondOfDay) = Gregorian.floorDivide(second, by: 86_400)
    let (year, month, day) = Gregorian.civil(dayNumber: Int(dayNumber))
    let time = Int(secondOfDay)
    var count = 0
    unsafe write(year, 4, to: text, &count, then: "-")
    unsafe write(month, 2, to: text, &count, then: "-")
    unsafe write(day, 2, to: text, &count, then: "T")
    unsafe write(time / 3600, 2, to: text, &count, then: ":")
    unsafe write(time / 60 % 60, 2, to: text, &count, then: ":")
    unsafe write(time % 60, 2, to: text, &count, then: nanoseconds == 0 ? "Z" : ".")
    guard nanoseconds != 0 else { return count }
    var (fraction, width) = (Int(nanoseconds), 9)
    while fraction % 10 == 0 { (fraction, width) = (fraction / 10, width - 1) }
    unsafe write(fraction, width, to: text, &count, then: "Z")
    return count
  }

  /// Writes so many decimal digits and a character behind `count` bytes.
  private static func write(
    _ number: Int, _ width: Int, to text: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int,
    then end: Unicode.Scalar
  ) {
    var rest = UInt32(number)
    for place in (count..<count + width).reversed() {
      unsafe text[place] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    unsafe text[count + width] = UInt8(ascii: end)
    count += width + 1
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
