package import HoldfastCore

/// A writer of one JSON text (RFC 8259). Members keep the order of the calls, and there is no white
/// space.
///
/// The caller must follow the grammar: write a key before each member's value, and call an `end`
/// method for every `begin`.
public struct JSONWriter: Sendable {
  /// The bytes written so far.
  public private(set) var bytes: [UInt8] = []
  /// Whether no comma is needed next: at the start of a container, or after a key.
  private var isFirst = true

  /// Creates a writer with an empty text. `capacity` is the expected number of bytes.
  public init(capacity: Int = 0) {
    bytes.reserveCapacity(capacity)
  }

  /// Writes `{`. The members follow.
  public mutating func beginObject() { open(UInt8(ascii: "{")) }
  /// Writes `}`.
  public mutating func endObject() { close(UInt8(ascii: "}")) }
  /// Writes `[`. The elements follow.
  public mutating func beginArray() { open(UInt8(ascii: "[")) }
  /// Writes `]`.
  public mutating func endArray() { close(UInt8(ascii: "]")) }

  /// Writes a member's name. The value follows.
  public mutating func key(_ name: String) {
    separate()
    quote(name)
    bytes.append(UInt8(ascii: ":"))
    isFirst = true
  }

  /// Writes the name of a member, which must be a literal that needs no escapes. The value follows.
  package mutating func member(_ name: StaticString) {
    let (start, count) = (isFirst ? 0 : 1, name.utf8CodeUnitCount)
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count + 4) { text in
      unsafe text[0] = UInt8(ascii: ",")
      unsafe text[start] = UInt8(ascii: "\"")
      for offset in 0..<count { unsafe text[start + 1 + offset] = name.utf8Start[offset] }
      unsafe text[start + 1 + count] = UInt8(ascii: "\"")
      unsafe text[start + 2 + count] = UInt8(ascii: ":")
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[..<(start + 3 + count)]))
    }
    isFirst = true
  }

  /// Writes a string with only the required escapes.
  public mutating func string(_ text: String) {
    separate()
    quote(text)
  }

  /// Writes a string, or `null` if `text` is `nil`.
  public mutating func string(_ text: String?) {
    if let text { string(text) } else { null() }
  }

  /// Writes a whole number in decimal.
  public mutating func int(_ number: some BinaryInteger) { self.number(String(number)) }
  // The generic method is not specialized outside this module.
  /// Writes a whole number in decimal.
  public mutating func int(_ number: Int) { self.number(String(number)) }

  private mutating func number(_ text: String) {
    separate()
    bytes.append(contentsOf: text.utf8)
  }

  /// Writes `true` or `false`.
  public mutating func bool(_ value: Bool) {
    separate()
    bytes.append(contentsOf: (value ? "true" : "false").utf8)
  }

  /// Writes `null`.
  public mutating func null() {
    separate()
    bytes.append(contentsOf: "null".utf8)
  }

  /// Writes the shortest decimal that parses as the same number, or `null` if the number is not
  /// finite.
  public mutating func double(_ number: Double) {
    guard number.isFinite else { return null() }
    self.number(number.description)
  }

  /// Writes an identifier.
  package mutating func id(_ id: UUID128) {
    separate()
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 38) { text in
      unsafe text[0] = UInt8(ascii: "\"")
      unsafe id.write(to: UnsafeMutableBufferPointer(rebasing: text[1..<37]))
      unsafe text[37] = UInt8(ascii: "\"")
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(text))
    }
  }

  /// Writes a time in RFC 3339 form.
  package mutating func time(_ time: Timestamp) {
    separate()
    let most = RFC3339.mostBytes + 2
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: most) { text in
      unsafe text[0] = UInt8(ascii: "\"")
      let count = unsafe RFC3339.write(time, to: UnsafeMutableBufferPointer(rebasing: text[1...]))
      let length = count + 2
      precondition(length <= most, "a time is longer than its buffer")
      unsafe text[length - 1] = UInt8(ascii: "\"")
      unsafe bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[..<length]))
    }
  }

  /// Writes a value that is already JSON.
  package mutating func raw(_ json: some Sequence<UInt8>) {
    separate()
    bytes.append(contentsOf: json)
  }

  private mutating func open(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    isFirst = true
  }

  private mutating func close(_ bracket: UInt8) {
    bytes.append(bracket)
    isFirst = false
  }

  private mutating func separate() {
    if !isFirst { bytes.append(UInt8(ascii: ",")) }
    isFirst = false
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    let start = bytes.count
    // Copying the text first and searching the array is faster than searching the string's UTF-8
    // view.
    bytes.append(contentsOf: text.utf8)
    let first = unsafe bytes.withUnsafeBufferPointer {
      unsafe PlainText.end(of: Span(_unsafeElements: $0), from: start, isASCII: false)
    }
    if first < bytes.count {
      let rest = Array(bytes[first...])
      bytes.removeSubrange(first...)
      for byte in rest { append(escaping: byte) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends a byte, escaped if necessary: with a short escape of RFC 8259 section 7, or as
  /// `\u00xx` for other control characters.
  private mutating func append(escaping byte: UInt8) {
    switch byte {
    case 0x22, 0x5C: appendEscape(byte)
    case 0x08: appendEscape(UInt8(ascii: "b"))
    case 0x09: appendEscape(UInt8(ascii: "t"))
    case 0x0A: appendEscape(UInt8(ascii: "n"))
    case 0x0C: appendEscape(UInt8(ascii: "f"))
    case 0x0D: appendEscape(UInt8(ascii: "r"))
    case 0..<0x20:
      let low = byte & 0xF
      appendEscape(UInt8(ascii: "u"))
      bytes.append(0x30)
      bytes.append(0x30)
      bytes.append(0x30 + byte >> 4)
      bytes.append(low < 10 ? 0x30 + low : UInt8(ascii: "a") - 10 + low)
    case _: bytes.append(byte)
    }
  }

  /// Appends a backslash and a letter. Two calls avoid an array, which would be allocated for each
  /// escape.
  private mutating func appendEscape(_ letter: UInt8) {
    bytes.append(0x5C)
    bytes.append(letter)
  }
}

extension JSONWriter {
  /// The text with the control characters U+007F to U+009F also escaped.
  ///
  /// Some terminals interpret these characters, and RFC 8259 does not require escaping them.
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

  /// Returns the number of UTF-8 bytes of a control character from U+007F to U+009F; 0 for any
  /// other character.
  private func length(ofControlAt index: Int) -> Int {
    if bytes[index] == 0x7F { return 1 }
    guard bytes[index] == 0xC2, index + 1 < bytes.count else { return 0 }
    return (0x80...0x9F).contains(bytes[index + 1]) ? 2 : 0
  }
}
