/// Conversions of hexadecimal digits.
package enum Hex {
  /// Returns the value of a digit in either letter case, or `nil` for another byte.
  @inline(__always)
  package static func value(of byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case _: nil
    }
  }

  /// Returns two lower-case digits for each byte.
  package static func text(of bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// The 64-bit FNV-1a hash, which detects accidental changes but not deliberate ones.
package enum FNV1a {
  /// Returns the hash of the bytes.
  package static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

/// Loads of eight bytes at a time.
extension Span<UInt8> {
  /// Returns the eight bytes from `index` as a number, with the first byte as the lowest. All eight
  /// bytes must exist.
  @inlinable @inline(__always)
  package func word(at index: Int) -> UInt64 {
    unsafe UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
  }
}
