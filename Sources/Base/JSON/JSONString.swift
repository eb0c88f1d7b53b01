import HoldfastCore

/// A validated string in the reader's text, with escapes that are not resolved yet.
public struct JSONString: Sendable, Hashable {
  /// The range of the bytes between the quotation marks.
  var range: Range<Int>
  var isEscaped: Bool
}

extension JSONReader {
  /// Reads and validates a string; `text(of:)` returns its characters.
  public mutating func scanString() throws(JSONError) -> JSONString {
    try take(UInt8(ascii: "\""))
    let start = position
    var (index, isEscaped) = (start, false)
    while true {
      index = unsafe bytes.withUnsafeBufferPointer {
        unsafe PlainText.end(of: Span(_unsafeElements: $0), from: index, isASCII: true)
      }
      guard index < bytes.count else {
        throw JSONError("the text ends inside a string", at: index)
      }
      switch bytes[index] {
      case UInt8(ascii: "\""):
        position = index + 1
        return JSONString(range: start..<index, isEscaped: isEscaped)
      case UInt8(ascii: "\\"):
        (isEscaped, position) = (true, index)
        _ = try scanEscape()
        index = position
      case 0x80...: index = try endOfScalar(at: index)
      case _: throw JSONError("control character in a string", at: index)
      }
    }
  }

  /// Returns the characters of a string that `scanString()` returned.
  public func text(of string: JSONString) -> String {
    guard string.isEscaped else {
      return String(decoding: bytes[string.range], as: UTF8.self)
    }
    var unescaped: [UInt8] = []
    unescaped.reserveCapacity(string.range.count)
    var reader = self
    reader.position = string.range.lowerBound
    while reader.position < string.range.upperBound {
      if bytes[reader.position] != UInt8(ascii: "\\") {
        unescaped.append(bytes[reader.position])
        reader.position += 1
      } else if let scalar = try? reader.scanEscape() {
        unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
    return String(decoding: unescaped, as: UTF8.self)
  }

  /// Returns whether a string equals `name`.
  public func matches(_ string: JSONString, _ name: String) -> Bool {
    guard !string.isEscaped else { return text(of: string).utf8.elementsEqual(name.utf8) }
    return string.range.count == name.utf8.count && holds(name, at: string.range.lowerBound)
  }

  /// Returns whether the bytes that begin at `start` equal a text. At least as many bytes must
  /// exist.
  func holds(_ text: String, at start: Int) -> Bool {
    // Comparing the text's contiguous storage is faster than comparing its UTF-8 view.
    let found = unsafe text.utf8.withContiguousStorageIfAvailable { other in
      unsafe bytes.withUnsafeBufferPointer { own in
        unsafe Self.isSame(Span(_unsafeElements: own), Span(_unsafeElements: other), from: start)
      }
    }
    return found ?? bytes[start..<start + text.utf8.count].elementsEqual(text.utf8)
  }

  /// Returns whether the bytes that begin at `start` equal another span. Compares eight bytes at a
  /// time.
  @inline(__always)
  private static func isSame(
    _ own: Span<UInt8>, _ other: Span<UInt8>, from start: Int
  ) -> Bool {
    var index = 0
    while index &+ 8 <= other.count {
      guard own.word(at: start &+ index) == other.word(at: index) else { return false }
      index &+= 8
    }
    while index < other.count {
      guard own[start &+ index] == other[index] else { return false }
      index &+= 1
    }
    return true
  }

  /// Returns the bytes of a string with its escapes resolved.
  package func utf8(of string: JSONString) -> ArraySlice<UInt8> {
    string.isEscaped ? ArraySlice(text(of: string).utf8) : bytes[string.range]
  }

  /// Reads an escape sequence, including both halves of a surrogate pair.
  private mutating func scanEscape() throws(JSONError) -> Unicode.Scalar {
    let start = position
    position += 1
    guard position < bytes.count else { throw JSONError("the text ends too early", at: position) }
    let letter = bytes[position]
    position += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    case _: throw JSONError("unknown escape", at: start)
    }
    let unit = try scanHex()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xDC00, position + 2 <= bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { throw JSONError("lone surrogate", at: start) }
    position += 2
    let low = try scanHex()
    guard (0xDC00...0xDFFF).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    else { throw JSONError("lone surrogate", at: start) }
    return scalar
  }

  /// Reads four hexadecimal digits.
  private mutating func scanHex() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard position < bytes.count, let digit = Hex.value(of: bytes[position]) else {
        throw JSONError("expected a hexadecimal digit", at: position)
      }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }

  /// Returns the end of a multibyte scalar. Overlong forms and surrogates are invalid (RFC 3629
  /// section 4).
  private func endOfScalar(at start: Int) throws(JSONError) -> Int {
    let (length, second): (Int, ClosedRange<UInt8>) =
      switch bytes[start] {
      case 0xC2...0xDF: (2, 0x80...0xBF)
      case 0xE0: (3, 0xA0...0xBF)
      case 0xED: (3, 0x80...0x9F)
      case 0xE1...0xEF: (3, 0x80...0xBF)
      case 0xF0: (4, 0x90...0xBF)
      case 0xF1...0xF3: (4, 0x80...0xBF)
      case 0xF4: (4, 0x80...0x8F)
      case _: throw JSONError("invalid UTF-8", at: start)
      }
    guard start + length <= bytes.count, second.contains(bytes[start + 1]) else {
      throw JSONError("invalid UTF-8", at: start)
    }
    for index in start + 2..<start + max(length, 2) where bytes[index] & 0xC0 != 0x80 {
      throw JSONError("invalid UTF-8", at: start)
    }
    return start + length
  }
}

/// A search for the characters of a JSON string that need an escape.
enum PlainText {
  /// Returns the index of the first byte that is not plain: a quotation mark, a backslash or a
  /// control character.
  ///
  /// If `isASCII` is true, the search also stops at a byte of a multibyte scalar. Returns the count
  /// of the text if there is no such byte.
  @inline(__always)
  static func end(
    of text: Span<UInt8>, from start: Int, isASCII: Bool
  ) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    var index = start
    while index &+ 8 <= text.count {
      let word = text.word(at: index)
      // The highest bit of each byte is set if the byte is 0, or below 0x20, and its highest bit
      // was not set before. The lowest such bit is correct. Higher ones may result from a borrow.
      let quote = word ^ ones &* UInt64(UInt8(ascii: "\""))
      let escape = word ^ ones &* UInt64(UInt8(ascii: "\\"))
      let special =
        (quote &- ones) & ~quote | (escape &- ones) & ~escape | (word &- ones &* 0x20) & ~word
      let marks = (isASCII ? special | word : special) & ones &<< 7
      if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
      index &+= 8
    }
    while index < text.count, isPlain(text[index], isASCII: isASCII) { index &+= 1 }
    return index
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8, isASCII: Bool) -> Bool {
    byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
      && !(isASCII && byte >= 0x80)
  }
}
