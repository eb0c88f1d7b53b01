extension JSONWriter {
  /// The text with the control characters U+007F to U+009F escaped.
  ///
  /// Some terminals act on them, and RFC 8259 does not ask for the escape.
  package var terminalBytes: [UInt8] {
    guard bytes.indices.contains(where: { length(ofControlAt: $0) > 0 }) else { return bytes }
    var escaped: [UInt8] = []
    escaped.reserveCapacity(bytes.count + 16)
    var index = 0
    while index < bytes.count {
      let length = length(ofControlAt: index)
      if length > 0 {
        escaped += "\\u00\(String(bytes[index + length - 1], radix: 16))".utf8
      } else {
        escaped.append(bytes[index])
      }
      index += max(length, 1)
    }
    return escaped
  }

  /// Returns the number of bytes of such a character in UTF-8; 0 for any other.
  private func length(ofControlAt index: Int) -> Int {
    if bytes[index] == 0x7F { return 1 }
    guard bytes[index] == 0xC2, index + 1 < bytes.count else { return 0 }
    return (0x80...0x9F).contains(bytes[index + 1]) ? 2 : 0
  }
}
