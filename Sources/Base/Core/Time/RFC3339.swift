/// Conversions between timestamps and RFC 3339 text.
public enum RFC3339 {
  /// Parses a date and time with `Z` or a numeric offset, in either letter case.
  ///
  /// Digits of the fraction beyond the ninth are dropped. A leap second (23:59:60 UTC) is the first
  /// second of the next day. Returns `nil` for any other text, or for a time outside `Timestamp`'s
  /// range.
  public static func parse(_ text: some StringProtocol) -> Timestamp? {
    parse(ArraySlice(text.utf8))
  }

  /// Parses a date and time from UTF-8.
  public static func parse(_ bytes: ArraySlice<UInt8>) -> Timestamp? {
    var digits = TimeDigits(bytes)
    guard let days = digits.day(), digits.take("T") || digits.take("t"),
      let minute = digits.minute(), digits.take(":"), let second = digits.number(2), second <= 60,
      let fraction = digits.part("."), let offset = digits.offset(needsMinutes: true),
      digits.isAtEnd
    else { return nil }
    return timestamp(minutes: days * 1440 + minute - offset, second, fraction)
  }

  /// Parses a time in the RFC 3339 and ISO 8601 forms that third-party servers use.
  ///
  /// These forms may have a space instead of `T` (RFC 3339 section 5.6), no seconds, a comma before
  /// the fraction, and an offset of hours alone or without a colon. Returns `nil` for a text
  /// without an offset, since its time is ambiguous.
  package static func parseISO8601(_ bytes: ArraySlice<UInt8>) -> Timestamp? {
    var digits = TimeDigits(bytes)
    guard let days = digits.day(), digits.take("T") || digits.take("t") || digits.take(" "),
      let minute = digits.minute()
    else { return nil }
    var (second, fraction): (Int, Int64) = (0, 0)
    if digits.take(":") {
      guard let found = digits.number(2), found <= 60, let part = digits.part(".", ",") else {
        return nil
      }
      (second, fraction) = (found, part)
    }
    guard let offset = digits.offset(needsMinutes: false), digits.isAtEnd else { return nil }
    return timestamp(minutes: days * 1440 + minute - offset, second, fraction)
  }

  /// Returns a time in UTC with `Z` and the shortest exact fraction.
  public static func format(_ time: Timestamp) -> String {
    unsafe String(unsafeUninitializedCapacity: mostBytes) { unsafe write(time, to: $0) }
  }

  /// The length of the longest text in bytes, such as `2027-01-15T08:00:00.123456789Z`.
  package static let mostBytes = 30

  /// Writes a time as UTF-8 at the start of a buffer, which must have room for `mostBytes`.
  ///
  /// - Returns: The number of bytes written.
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

  /// Writes `width` decimal digits followed by a character at offset `count`.
  private static func write(
    _ number: Int, _ width: Int, to text: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int,
    then end: Unicode.Scalar
  ) {
    var rest = UInt32(number)
    for index in (count..<count + width).reversed() {
      unsafe text[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    unsafe text[count + width] = UInt8(ascii: end)
    count += width + 1
  }
}

extension RFC3339 {
  /// Returns the timestamp of a second and its fraction in the given minute since 1970.
  private static func timestamp(
    minutes: Int, _ second: Int, _ fraction: Int64
  ) -> Timestamp? {
    // A leap second is the last second of a UTC day, regardless of the offset (RFC 3339 appendix
    // D).
    if second == 60, (minutes + 1) % 1440 != 0 { return nil }
    return timestamp(seconds: Int64(minutes * 60 + second), nanoseconds: fraction)
  }

  private static func timestamp(seconds: Int64, nanoseconds: Int64) -> Timestamp? {
    // Before 1970 the fraction is counted back from the next second, so that the range's limit is
    // accepted.
    let (whole, part) =
      seconds < 0 ? (seconds + 1, nanoseconds - 1_000_000_000) : (seconds, nanoseconds)
    let (scaled, overflow) = whole.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carried) = scaled.addingReportingOverflow(part)
    return overflow || carried ? nil : Timestamp(nanoseconds: sum)
  }
}

extension TimeDigits {
  /// Parses `hh:mm` as minutes of the day.
  fileprivate mutating func minute() -> Int? {
    guard let hour = number(2), hour <= 23, take(":"), let minute = number(2), minute <= 59 else {
      return nil
    }
    return hour * 60 + minute
  }

  /// Parses an optional fraction that follows one of these signs, in nanoseconds. Returns `nil` for
  /// a sign without digits.
  fileprivate mutating func part(_ points: Unicode.Scalar...) -> Int64? {
    points.contains { take($0) } ? fraction() : 0
  }

  /// Parses an offset as minutes east of UTC.
  ///
  /// - Parameter needsMinutes: Whether only `+hh:mm` is accepted. If not, `+hhmm` and `+hh` are
  ///   accepted too.
  fileprivate mutating func offset(needsMinutes: Bool) -> Int? {
    if take("Z") || take("z") { return 0 }
    let isWest = take("-")
    guard isWest || take("+"), let hours = number(2), hours <= 23 else { return nil }
    var minutes = 0
    if take(":") || !needsMinutes && !isAtEnd {
      guard let found = number(2), found <= 59 else { return nil }
      minutes = found
    } else if needsMinutes {
      return nil
    }
    return (isWest ? -1 : 1) * (hours * 60 + minutes)
  }
}
