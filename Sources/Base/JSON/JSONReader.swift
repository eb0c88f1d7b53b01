/// A streaming reader of one JSON text (RFC 8259). It does not build a tree.
///
/// The reader is strict: it rejects a byte order mark, trailing bytes, invalid UTF-8, unpaired
/// escaped surrogates, and nesting deeper than 64 levels. It returns repeated keys, and the caller
/// decides which one to use.
public struct JSONReader: Sendable {
  /// The maximum nesting of objects and arrays. The limit is Holdfast's own; messages need five
  /// levels.
  public static let maxDepth = 64

  /// The bytes of the text.
  package let bytes: [UInt8]
  /// The number of bytes read so far.
  public package(set) var position = 0
  private var depth = 0
  /// Whether no member of the innermost container has been read yet.
  private var isFirst = false

  /// Creates a reader at the start of a text.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The kind of a value, determined by its first byte.
  public enum Kind: Sendable, Hashable {
    case object, array, string, number, bool, null
  }

  /// Returns the kind of the next value without reading it. Throws an error if no value can begin
  /// here.
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

  /// Reads `{`. `nextKey()` reads the members.
  public mutating func beginObject() throws(JSONError) {
    try open(UInt8(ascii: "{"))
  }

  /// Reads the next member's name and the colon; returns `nil` at the end of the object.
  public mutating func nextKey() throws(JSONError) -> JSONString? {
    guard try hasNext(before: UInt8(ascii: "}")) else { return nil }
    let key = try scanString()
    try take(UInt8(ascii: ":"))
    return key
  }

  /// Reads `[`. `nextElement()` advances to each element.
  public mutating func beginArray() throws(JSONError) {
    try open(UInt8(ascii: "["))
  }

  /// Advances to the next element. Returns false at the end of the array.
  public mutating func nextElement() throws(JSONError) -> Bool {
    try hasNext(before: UInt8(ascii: "]"))
  }

  /// Reads a string.
  public mutating func string() throws(JSONError) -> String {
    text(of: try scanString())
  }

  /// Reads `true` or `false`.
  public mutating func bool() throws(JSONError) -> Bool {
    guard try nextByte() == UInt8(ascii: "t") else {
      try take(literal: "false")
      return false
    }
    try take(literal: "true")
    return true
  }

  /// Reads `null`.
  public mutating func null() throws(JSONError) {
    try take(literal: "null")
  }

  /// Reads and discards a value of any kind, after checking its grammar.
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

  /// Checks that only white space follows the value.
  public mutating func finish() throws(JSONError) {
    skipWhiteSpace()
    guard position == bytes.count else { throw JSONError("trailing bytes", at: position) }
  }

  // MARK: - Parts

  /// Returns the next byte that is not white space, without reading it.
  @inline(__always)
  mutating func nextByte() throws(JSONError) -> UInt8 {
    // This is the fast path: most texts contain no white space.
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

  private mutating func take(literal: String) throws(JSONError) {
    _ = try nextByte()
    let end = position + literal.utf8.count
    guard end <= bytes.count, holds(literal, at: position) else {
      throw JSONError("expected '\(literal)'", at: position)
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
