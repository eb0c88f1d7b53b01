/// A reader of one JSON text (RFC 8259) that reads piece by piece and builds no tree.
///
/// Strict: no byte order mark, no trailing bytes, valid UTF-8, escaped surrogates in pairs, at most
/// 64 levels deep. Repeated keys are passed on; the caller decides which one counts.
public struct JSONReader: Sendable {
  /// Deepest nesting of objects and arrays; the contracts need five, the bound is ours.
  public static let maxDepth = 64

  /// The text.
  package let bytes: [UInt8]
  /// How many bytes were read.
  public package(set) var position = 0
  private var depth = 0
  /// Whether the innermost container has shown no member yet.
  private var isFirst = false

  /// Creates a reader before the one value of a text.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The kind of a value, as its first byte tells it.
  public enum Kind: Sendable, Hashable {
    case object, array, string, number, bool, null
  }

  /// Returns the kind of the next value without taking it; throws if none can begin here.
  public mutating func peek() throws(JSONError) -> Kind {
    switch try nextByte() {
    case UInt8(ascii: "\""): return .string
    case UInt8(ascii: "{"): return .object
    case UInt8(ascii: "["): return .array
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
    case UInt8(ascii: "n"): return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
    case 0xEF where position == 0: throw JSONError("byte order mark", at: 0)
    case _: throw JSONError("no value", at: position)
    }
  }

  /// Takes `{`; `nextKey()` takes the rest.
  public mutating func beginObject() throws(JSONError) {
    try open(UInt8(ascii: "{"))
  }

  /// The next member's name, with the reader before its value; `nil` at the end of the object.
  public mutating func nextKey() throws(JSONError) -> JSONString? {
    guard try hasNext(before: UInt8(ascii: "}")) else { return nil }
    let key = try scanString()
    try take(UInt8(ascii: ":"))
    return key
  }

  /// Takes `[`; `nextElement()` takes the rest.
  public mutating func beginArray() throws(JSONError) {
    try open(UInt8(ascii: "["))
  }

  /// Whether another element follows, with the reader before it; false at the end of the array.
  public mutating func nextElement() throws(JSONError) -> Bool {
    try hasNext(before: UInt8(ascii: "]"))
  }

  /// Takes a string.
  public mutating func string() throws(JSONError) -> String {
    text(of: try scanString())
  }

  /// Takes `true` or `false`.
  public mutating func bool() throws(JSONError) -> Bool {
    guard try nextByte() == UInt8(ascii: "t") else {
      try take(word: "false")
      return false
    }
    try take(word: "true")
    return true
  }

  /// Takes `null`.
  public mutating func null() throws(JSONError) {
    try take(word: "null")
  }

  /// Takes a value of any kind and forgets it; its grammar is checked all the same.
  public mutating func skipValue() throws(JSONError) {
    switch try peek() {
    case .string: _ = try scanString()
    case .number: _ = try scanNumber()
    case .bool: _ = try bool()
    case .null: try null()
    case .array:
      try beginArray()
      while try nextElement() { try skipValue() }
    case .object:
      try beginObject()
      while try nextKey() != nil { try skipValue() }
    }
  }

  /// Checks that nothing but white space follows the one value.
  public mutating func finish() throws(JSONError) {
    skipWhiteSpace()
    guard position == bytes.count else { throw JSONError("trailing bytes", at: position) }
  }

  // MARK: - Parts

  /// The next byte that is no white space, not taken.
  @inline(__always)
  mutating func nextByte() throws(JSONError) -> UInt8 {
    // Most texts have no white space.
    if position < bytes.count, bytes[position] > 0x20 { return bytes[position] }
    skipWhiteSpace()
    guard position < bytes.count else { throw JSONError("the text ends too early", at: position) }
    return bytes[position]
  }

  @inline(__always)
  mutating func take(_ expected: UInt8) throws(JSONError) {
    guard try nextByte() == expected else {
      throw JSONError("expected '\(Unicode.Scalar(expected))'", at: position)
    }
    position += 1
  }

  private mutating func take(word: String) throws(JSONError) {
    _ = try nextByte()
    let end = position + word.utf8.count
    guard end <= bytes.count, holds(word, at: position) else {
      throw JSONError("expected '\(word)'", at: position)
    }
    position = end
  }

  private mutating func skipWhiteSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      case _: return
      }
    }
  }

  private mutating func open(_ bracket: UInt8) throws(JSONError) {
    try take(bracket)
    depth += 1
    guard depth <= Self.maxDepth else { throw JSONError("nested too deep", at: position - 1) }
    isFirst = true
  }

  private mutating func hasNext(before end: UInt8) throws(JSONError) -> Bool {
    if try nextByte() == end {
      position += 1
      depth -= 1
      isFirst = false
      return false
    }
    if !isFirst { try take(UInt8(ascii: ",")) }
    isFirst = false
    return true
  }
}
