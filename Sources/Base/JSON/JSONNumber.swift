extension JSONReader {
  /// Reads a whole number that fits into 64 bits.
  ///
  /// Every form is accepted: `5000`, `5000.0` and `5e3` are the same number (RFC 8259 section 6).
  public mutating func int() throws(JSONError) -> Int64 {
    let start = position
    guard let value = try intIfWhole() else {
      throw JSONError("not a 64-bit whole number", at: start)
    }
    return value
  }

  /// Reads any number. Returns `nil` if it is not whole or does not fit into 64 bits.
  public mutating func intIfWhole() throws(JSONError) -> Int64? {
    let number = try scanNumber()
    return Int64(literal(number)) ?? whole(number)
  }

  /// Returns the number if it is whole and fits into 64 bits. A `Double` cannot represent all such
  /// numbers exactly.
  private func whole(_ number: Range<Int>) -> Int64? {
    let text = bytes[number]
    let isNegative = text.first == UInt8(ascii: "-")
    let mantissa = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    let fraction = mantissa.drop { $0 != UInt8(ascii: ".") }.dropFirst()
    // The digits without the decimal point; the exponent accounts for its position.
    let digits = mantissa.filter { (0x30...0x39).contains($0) }
    let zeros = digits.reversed().prefix { $0 == 0x30 }.count
    guard zeros < digits.count else { return 0 }
    guard let exponent = exponent(after: mantissa, in: text) else { return nil }
    let power = exponent - fraction.count + zeros
    // 2^63 has 19 digits.
    guard (0...18).contains(power) else { return nil }
    let significant = digits.dropLast(zeros).drop { $0 == 0x30 }
    return Int64(
      (isNegative ? "-" : "") + String(decoding: significant, as: UTF8.self)
        + String(repeating: "0", count: power))
  }

  /// Returns the exponent of a number; `nil` if it is so large that the digits cannot compensate
  /// for it.
  private func exponent(after mantissa: ArraySlice<UInt8>, in text: ArraySlice<UInt8>) -> Int? {
    guard mantissa.endIndex < text.endIndex else { return 0 }
    let exponent = Int(String(decoding: text[(mantissa.endIndex + 1)...], as: UTF8.self))
    let limit = bytes.count + 18
    return exponent.flatMap { (-limit...limit).contains($0) ? $0 : nil }
  }

  /// Reads any number in the finite range of a `Double`.
  public mutating func double() throws(JSONError) -> Double {
    let number = try scanNumber()
    guard let value = Double(literal(number)), value.isFinite else {
      throw JSONError("number out of range", at: number.lowerBound)
    }
    return value
  }

  private func literal(_ number: Range<Int>) -> String {
    String(decoding: bytes[number], as: UTF8.self)
  }

  /// Reads a number (RFC 8259 section 6), which has no leading zero, no plus sign, and digits on
  /// both sides of a decimal point.
  mutating func scanNumber() throws(JSONError) -> Range<Int> {
    let first = try nextByte()
    let start = position
    if first == UInt8(ascii: "-") { position += 1 }
    if take(ifAny: UInt8(ascii: "0")) {
      guard !isAtDigit else { throw JSONError("leading zero", at: position - 1) }
    } else {
      try scanDigits()
    }
    if take(ifAny: UInt8(ascii: ".")) { try scanDigits() }
    if take(ifAny: UInt8(ascii: "e")) || take(ifAny: UInt8(ascii: "E")) {
      if !take(ifAny: UInt8(ascii: "-")) { _ = take(ifAny: UInt8(ascii: "+")) }
      try scanDigits()
    }
    return start..<position
  }

  private var isAtDigit: Bool {
    position < bytes.count && (0x30...0x39).contains(bytes[position])
  }

  private mutating func scanDigits() throws(JSONError) {
    guard isAtDigit else { throw JSONError("expected a digit", at: position) }
    while isAtDigit { position += 1 }
  }

  private mutating func take(ifAny byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }
}
