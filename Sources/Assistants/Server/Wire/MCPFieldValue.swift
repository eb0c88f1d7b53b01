import HoldfastJSON

/// A namespace for values of header fields that repeat a part of the body.
///
/// See MCP 2026-07-28, Streamable HTTP, "Value Encoding".
package enum MCPFieldValue {
  private static let start = "=?base64?"
  private static let end = "?="

  /// Returns the decoded text of a value that is Base64 between `=?base64?` and `?=`. All other
  /// values are returned unchanged.
  ///
  /// Returns `nil` if the encoded content is not Base64 (RFC 4648 section 4) or not UTF-8.
  package static func text(of value: String) -> String? {
    guard value.hasPrefix(start), value.hasSuffix(end),
      value.utf8.count >= start.utf8.count + end.utf8.count
    else { return value }
    let letters = value.utf8.dropFirst(start.utf8.count).dropLast(end.utf8.count)
    return bytes(Array(letters)).flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Decodes padded Base64.
  private static func bytes(_ letters: [UInt8]) -> [UInt8]? {
    guard letters.count % 4 == 0 else { return nil }
    let padding = letters.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
    // The alphabets of Base64 and its URL-safe variant differ in two characters.
    var safe: [UInt8] = []
    for letter in letters.dropLast(padding) {
      switch letter {
      case UInt8(ascii: "+"): safe.append(UInt8(ascii: "-"))
      case UInt8(ascii: "/"): safe.append(UInt8(ascii: "_"))
      case UInt8(ascii: "-"), UInt8(ascii: "_"): return nil
      case _: safe.append(letter)
      }
    }
    return Base64URL.decode(letters: safe)
  }
}
