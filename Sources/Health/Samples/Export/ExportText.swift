/// The text of an attribute's value.
struct ExportText {
  /// The decoded text.
  var text: String
  /// Whether control bytes were removed or invalid UTF-8 was replaced.
  var isRepaired: Bool

  /// Decodes bytes and resolves references (XML 1.0, sections 4.1 and 4.6). Invalid references stay
  /// unchanged.
  init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(range.count)
    var dropped = false
    var position = range.lowerBound
    while position < range.upperBound {
      let byte = bytes[position]
      if byte == UInt8(ascii: "&"),
        let (scalar, next) = Self.reference(bytes, position..<range.upperBound)
      {
        decoded += Array(String(scalar).utf8)
        position = next
        continue
      }
      if byte >= 0x20, byte != 0x7F { decoded.append(byte) } else { dropped = true }
      position += 1
    }
    let valid = String(validating: decoded, as: UTF8.self)
    text = valid ?? String(decoding: decoded, as: UTF8.self)
    isRepaired = dropped || valid == nil
  }

  /// Returns the description of a device without its memory address in the exporting process.
  ///
  /// `<<HKDevice: 0x28>, name:Apple Watch, model:Watch>` becomes `name:Apple Watch, model:Watch`.
  static func device(_ text: String) -> String {
    guard text.hasPrefix("<<HKDevice: "), let close = text.firstIndex(of: ">") else { return text }
    var rest = text[text.index(after: close)...]
    if rest.hasSuffix(">") { rest.removeLast() }
    while let first = rest.first, first == "," || first == " " { rest.removeFirst() }
    return String(rest)
  }

  private static func reference(
    _ bytes: Span<UInt8>, _ range: Range<Int>
  ) -> (Unicode.Scalar, next: Int)? {
    var name: [UInt8] = []
    var position = range.lowerBound + 1
    while position < range.upperBound, bytes[position] != UInt8(ascii: ";"), name.count < 10 {
      name.append(bytes[position])
      position += 1
    }
    guard position < range.upperBound, bytes[position] == UInt8(ascii: ";") else { return nil }
    guard let scalar = scalar(String(decoding: name, as: UTF8.self)) else { return nil }
    return (scalar, position + 1)
  }

  private static func scalar(_ name: String) -> Unicode.Scalar? {
    switch name {
    case "lt": return "<"
    case "gt": return ">"
    case "amp": return "&"
    case "quot": return "\""
    case "apos": return "'"
    case _: break
    }
    // Only digits may follow. `UInt32.init(_:radix:)` would also accept a sign.
    guard name.hasPrefix("#"), !name.contains("+") else { return nil }
    let digits = name.dropFirst()
    let number =
      digits.first == "x" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits, radix: 10)
    // A reference to a control character is invalid, because control characters are removed
    // elsewhere.
    guard let number, number >= 0x20, number != 0x7F else { return nil }
    return Unicode.Scalar(number)
  }
}
