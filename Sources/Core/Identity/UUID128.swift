/// A UUID as two words: compared, hashed and stored without text.
///
/// Order is the order of the lower-case text form (RFC 9562 section 4).
public struct UUID128: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// The first 16 hexadecimal digits.
  public var high: UInt64
  /// The last 16 hexadecimal digits.
  public var low: UInt64

  /// The UUID of these digits.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// By the digits, first to last.
  public static func < (left: UUID128, right: UUID128) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }

  /// A random UUID (version 4, RFC 9562 section 5.4) from the caller's generator.
  public static func random(using generator: inout some RandomNumberGenerator) -> UUID128 {
    let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return UUID128(high: high, low: low)
  }

  /// Reads the 36-character form, either letter case; `nil` for anything else.
  public init?(_ text: some StringProtocol) {
    self.init(digits: text.utf8)
  }

  /// Reads the same from the text's UTF-8.
  package init?(utf8 bytes: ArraySlice<UInt8>) {
    self.init(digits: bytes)
  }

  private init?(digits text: some Sequence<UInt8>) {
    var words: (UInt64, UInt64) = (0, 0)
    var index = 0
    for byte in text {
      switch index {
      case 8, 13, 18, 23: guard byte == UInt8(ascii: "-") else { return nil }
      case 36...: return nil
      case _:
        guard let digit = Hex.value(of: byte) else { return nil }
        // All digits move up; the 16 last ones stay in the second word.
        words.0 = words.0 << 4 | words.1 >> 60
        words.1 = words.1 << 4 | UInt64(digit)
      }
      index += 1
    }
    guard index == 36 else { return nil }
    (high, low) = words
  }

  /// The 36-character lower-case form.
  public var description: String {
    unsafe String(unsafeUninitializedCapacity: 36) { unsafe write(to: $0) }
  }

  /// The same as UTF-8.
  package var utf8: [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: 36) { unsafe $1 = write(to: $0) }
  }

  /// Writes the 36 characters; returns their number.
  private func write(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var position = 0
    for digit in 0..<32 {
      if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
        unsafe buffer[position] = UInt8(ascii: "-")
        position += 1
      }
      let word = digit < 16 ? high : low
      let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - 4 * (digit % 16)) & 0xF)
      unsafe buffer[position] =
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
      position += 1
    }
    return position
  }
}
