/// Numbers as JavaScript turns them into strings (ECMA-262, `Number::toString` with radix 10).
package enum SyncNumber {
  /// The shortest digits that read back as the same number; an exponent from 1e21 and below 1e-6.
  package static func text(_ number: Double) -> [UInt8] {
    guard number != 0 else { return [UInt8(ascii: "0")] }
    guard !number.isNaN else { return Array("NaN".utf8) }
    guard number.isFinite else { return Array((number < 0 ? "-Infinity" : "Infinity").utf8) }
    // The digits are the same in Swift; what differs is where the exponent begins.
    var plain = Array(number.description.utf8)
    guard let mark = plain.firstIndex(of: UInt8(ascii: "e")) else {
      if plain.suffix(2).elementsEqual(".0".utf8) { plain.removeLast(2) }
      return plain
    }
    let exponent = Int(String(decoding: plain[(mark + 1)...], as: UTF8.self)) ?? 0
    let sign = number < 0 ? [UInt8(ascii: "-")] : []
    var digits = plain[..<mark].filter { (0x30...0x39).contains($0) }
    while digits.count > 1, digits.last == UInt8(ascii: "0") { digits.removeLast() }
    return sign + text(digits, exponent: exponent)
  }

  /// - Parameter exponent: That of the first digit.
  private static func text(_ digits: [UInt8], exponent: Int) -> [UInt8] {
    let (zero, point) = (UInt8(ascii: "0"), UInt8(ascii: "."))
    func zeros(_ count: Int) -> [UInt8] { Array(repeating: zero, count: count) }
    // From 2^54 on, where Swift begins to write exponents, no digits stand behind the point.
    if (0..<21).contains(exponent) { return digits + zeros(exponent + 1 - digits.count) }
    if (-6..<0).contains(exponent) { return [zero, point] + zeros(-exponent - 1) + digits }
    let rest = digits.count > 1 ? [point] + digits[1...] : []
    let sign = exponent < 0 ? "-" : "+"
    return [digits[0]] + rest + Array("e\(sign)\(abs(exponent))".utf8)
  }
}
