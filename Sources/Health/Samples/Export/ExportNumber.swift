/// A namespace for the parser of decimal numbers in exports.
enum ExportNumber {
  /// The powers of ten that are needed. A `Double` represents all of them exactly.
  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
    1e18, 1e19,
  ]

  /// Returns the `Double` nearest to a decimal text, or `nil` if the text is not a finite number.
  ///
  /// The division of an integer up to 2^53 by a power of ten up to 10^22 is rounded only once. The
  /// result is therefore the nearest `Double` (Clinger 1990). A `UInt64` holds 19 digits.
  @inline(__always)
  static func read(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
    var position = range.lowerBound
    let end = range.upperBound
    guard position < end else { return nil }
    let isNegative = bytes[position] == UInt8(ascii: "-")
    if isNegative { position &+= 1 }
    var digits: UInt64 = 0
    var count = 0
    var integerDigits = -1
    while position < end {
      let byte = bytes[position] &- 0x30
      if byte <= 9 {
        digits = digits &* 10 &+ UInt64(byte)
        count &+= 1
      } else if byte == UInt8(ascii: ".") &- 0x30, integerDigits < 0 {
        integerDigits = count
      } else {
        return readSlowly(bytes, range)
      }
      position &+= 1
    }
    guard count > 0 else { return nil }
    let divisor = integerDigits < 0 ? 0 : count &- integerDigits
    guard count <= 19, digits <= 1 &<< 53 else { return readSlowly(bytes, range) }
    let value = divisor == 0 ? Double(digits) : Double(digits) / powers[divisor]
    return isNegative ? -value : value
  }

  private static func readSlowly(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Double? {
    guard range.count <= 400 else { return nil }
    var text: [UInt8] = []
    for position in range {
      switch bytes[position] {
      case 0x30...0x39, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        text.append(bytes[position])
      case _: return nil
      }
    }
    guard let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
      return nil
    }
    return value
  }
}
