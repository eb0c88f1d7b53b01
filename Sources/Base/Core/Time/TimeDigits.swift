/// A parser of the digits and signs of a date or a time.
package struct TimeDigits {
  private var rest: ArraySlice<UInt8>

  /// Creates a parser at the first byte.
  package init(_ bytes: ArraySlice<UInt8>) {
    rest = bytes
  }

  /// Whether no byte is left.
  package var isAtEnd: Bool { rest.isEmpty }

  /// Consumes `sign` if it is the next byte. Returns whether it was consumed.
  package mutating func take(_ sign: Unicode.Scalar) -> Bool {
    guard let byte = rest.first, byte == UInt8(ascii: sign) else { return false }
    rest.removeFirst()
    return true
  }

  /// Parses exactly `width` digits.
  package mutating func number(_ width: Int) -> Int? {
    var value = 0
    for _ in 0..<width {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// Parses `yyyy-mm-dd` as the number of days since 1970-01-01.
  package mutating func day() -> Int? {
    guard let year = number(4), year >= 1, take("-"), let month = number(2),
      (1...12).contains(month), take("-"), let day = number(2), day >= 1,
      day <= Gregorian.length(ofMonth: month, year: year)
    else { return nil }
    return Gregorian.days(year: year, month: month, day: day)
  }

  /// Parses the digits of a fraction as nanoseconds. Digits beyond the ninth are dropped.
  package mutating func fraction() -> Int64? {
    guard var value = digit() else { return nil }
    var count = 1
    while let digit = digit() {
      guard count < 9 else { continue }
      value = value * 10 + digit
      count += 1
    }
    for _ in count..<9 { value *= 10 }
    return Int64(value)
  }

  private mutating func digit() -> Int? {
    guard let byte = rest.first, (0x30...0x39).contains(byte) else { return nil }
    rest.removeFirst()
    return Int(byte - 0x30)
  }
}
