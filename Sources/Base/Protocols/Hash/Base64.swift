/// Base64 with padding (RFC 4648 section 4).
package enum Base64 {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// Encodes bytes.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var word = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      word <<= UInt32(8 * (3 - group.count))
      for index in 0..<4 {
        let digit = Int(word >> UInt32(18 - 6 * index) & 0x3F)
        text.append(index <= group.count ? alphabet[digit] : 0x3D)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes Base64 in its canonical form. Returns `nil` for any other text.
  static func decode(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    let padding = digits.reversed().prefix(2).prefix { $0 == 0x3D }.count
    var bytes: [UInt8] = []
    var word: UInt32 = 0
    for (index, digit) in digits.dropLast(padding).enumerated() {
      guard let value = value(digit) else { return nil }
      word = word << 6 | value
      let bits = (index + 1) * 6 % 8
      if bits < 6 { bytes.append(UInt8(truncatingIfNeeded: word >> UInt32(bits))) }
    }
    return encode(bytes) == text ? bytes : nil
  }

  private static func value(_ digit: UInt8) -> UInt32? {
    switch digit {
    case 0x41...0x5A: UInt32(digit - 0x41)
    case 0x61...0x7A: UInt32(digit - 0x61) + 26
    case 0x30...0x39: UInt32(digit - 0x30) + 52
    case 0x2B: 62
    case 0x2F: 63
    case _: nil
    }
  }
}
