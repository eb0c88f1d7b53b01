/// The character classes of RFC 9110 section 5.6 and RFC 3986.
enum Text {
  static let cr: UInt8 = 0x0D
  static let lf: UInt8 = 0x0A
  static let space: UInt8 = 0x20
  static let tab: UInt8 = 0x09
  static let colon: UInt8 = 0x3A

  /// Returns whether a byte is a `tchar` of RFC 9110 section 5.6.2.
  static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
    case _: false
    }
  }

  static func isToken(_ bytes: some Sequence<UInt8>) -> Bool {
    var empty = true
    for byte in bytes {
      guard isToken(byte) else { return false }
      empty = false
    }
    return !empty
  }

  /// Returns whether a byte may be part of a field value: a visible character, obs-text, a space or
  /// a tab (RFC 9110 section 5.5).
  static func isFieldContent(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F || byte == tab
  }

  static func lowercased(_ byte: UInt8) -> UInt8 {
    byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
  }

  static func isDigit(_ byte: UInt8) -> Bool {
    byte >= 0x30 && byte <= 0x39
  }

  static func isVisible(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F
  }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x41 + 10
    case 0x61...0x66: byte - 0x61 + 10
    case _: nil
    }
  }

  static func isBlank(_ byte: UInt8) -> Bool {
    byte == space || byte == tab
  }

  /// Returns the text without leading and trailing spaces and tabs.
  static func trimmed(_ text: some StringProtocol) -> String {
    let bytes = Array(text.utf8)
    return String(decoding: trimmed(bytes[...]), as: UTF8.self)
  }

  static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    let head = bytes.drop(while: isBlank)
    guard let last = head.lastIndex(where: { !isBlank($0) }) else { return head.prefix(0) }
    return head[...last]
  }

  /// Returns whether the text may be sent as a field name.
  static func isFieldName(_ name: String) -> Bool {
    isToken(name.utf8)
  }

  /// Returns the text without any byte that could end or split a field.
  static func fieldValue(_ value: String) -> String {
    if value.utf8.allSatisfy(isFieldContent) { return trimmed(value) }
    let content = value.utf8.filter(isFieldContent)
    return trimmed(String(decoding: content, as: UTF8.self))
  }
}

extension StringProtocol {
  /// Whether the text is a token (RFC 9110 section 5.6.2).
  package var isToken: Bool { Text.isToken(utf8) }

  /// Whether the text may be sent as a field value (RFC 9110 section 5.5).
  package var isFieldValue: Bool { utf8.allSatisfy(Text.isFieldContent) }
}
