/// Base64 with the URL-safe alphabet and without padding (RFC 4648 section 5, RFC 7515 section 2).
package enum Base64URL {
  /// Encodes bytes: every three become four letters, and a remainder of one or two becomes two or
  /// three.
  package static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var buffer: UInt32 = 0
    var bits = 0
    for byte in bytes {
      buffer = buffer << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(letter(of: UInt8(truncatingIfNeeded: buffer >> UInt32(bits)) & 0x3F))
      }
    }
    if bits > 0 {
      text.append(letter(of: UInt8(truncatingIfNeeded: buffer << UInt32(6 - bits)) & 0x3F))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes a string that `encode` can return.
  ///
  /// Returns `nil` if the string contains padding or other characters, has an impossible length, or
  /// ends with unused bits that are not zero.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    decode(letters: text.utf8)
  }

  /// Decodes the UTF-8 bytes of such a string.
  package static func decode(letters: some Collection<UInt8>) -> [UInt8]? {
    guard letters.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(letters.count * 3 / 4)
    var buffer: UInt32 = 0
    var bits = 0
    for letter in letters {
      guard let value = value(of: letter) else { return nil }
      buffer = buffer << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
      }
    }
    return buffer & (1 << UInt32(bits) - 1) == 0 ? bytes : nil
  }

  private static func letter(of value: UInt8) -> UInt8 {
    switch value {
    case 0..<26: UInt8(ascii: "A") + value
    case 26..<52: UInt8(ascii: "a") + value - 26
    case 52..<62: UInt8(ascii: "0") + value - 52
    case 62: UInt8(ascii: "-")
    case _: UInt8(ascii: "_")
    }
  }

  private static func value(of letter: UInt8) -> UInt8? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): letter - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    case _: nil
    }
  }
}
