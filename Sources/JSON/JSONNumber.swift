extension JSONReader {
  /// Takes a whole number that fits 64 bits, written without fraction or exponent.
  public mutating func int() throws(JSONError) -> Int64 {
    let start = position
    guard let value = try intIfWhole() else {
      throw JSONError("no 64-bit whole number", at: start)
    }
    return value
  }

  /// Takes any number; `nil` unless it is one that `int()` would give.
  public mutating func intIfWhole() throws(JSONError) -> Int64? {
    Int64(literal(try scanNumber()))
  }

  /// Takes any number whose magnitude a `Double` can hold.
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

  /// Takes a number (RFC 8259 section 6): no leading zero, no plus, digits around a point.
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
