/// A namespace for the conversion of numbers to text as in JavaScript (ECMA-262,
/// `Number::toString`, radix 10).
package enum SyncNumber {
  /// Returns the shortest text that is read back as the same number. Magnitudes from 1e21 on and
  /// below 1e-6 are written with an exponent.
  package static func text(_ number: Double) -> [UInt8] {
    guard number != 0 else { return [UInt8(ascii: "0")] }
    guard !number.isNaN else { return Array("NaN".utf8) }
    let sign = number.sign == .minus ? [UInt8(ascii: "-")] : []
    guard number.isFinite else { return sign + Array("Infinity".utf8) }
    // Swift returns the same digits, but uses an exponent for a different range of numbers.
    var plain = Array(number.magnitude.description.utf8)
    guard let mark = plain.firstIndex(of: UInt8(ascii: "e")),
      let exponent = Int(String(decoding: plain[(mark + 1)...], as: UTF8.self))
    else {
      if plain.suffix(2).elementsEqual(".0".utf8) { plain.removeLast(2) }
      return sign + plain
    }
    let digits = plain[..<mark].filter { $0 != UInt8(ascii: ".") }
    return sign + text(digits, exponent: exponent, plain[mark + 1])
  }

  /// Returns the text of digits with an exponent.
  ///
  /// - Parameters:
  ///   - exponent: The exponent of the first digit. Swift writes exponents from 15 on and below -4.
  ///   - sign: The sign of the exponent.
  private static func text(_ digits: [UInt8], exponent: Int, _ sign: UInt8) -> [UInt8] {
    let (zero, point) = (UInt8(ascii: "0"), UInt8(ascii: "."))
    func zeros(_ count: Int) -> [UInt8] { Array(repeating: zero, count: count) }
    // From 2^53 on, there are no digits after the decimal point.
    if (15..<21).contains(exponent) { return digits + zeros(exponent + 1 - digits.count) }
    if (-6 ... -5).contains(exponent) { return [zero, point] + zeros(-exponent - 1) + digits }
    let rest = digits.count > 1 ? [point] + digits[1...] : []
    return [digits[0]] + rest + [UInt8(ascii: "e"), sign] + Array("\(abs(exponent))".utf8)
  }
}
