/// A start tag, with its element and the ranges of its attribute values.
struct ExportTag {
  /// The result of reading a tag or an attribute.
  enum Outcome {
    /// The tag or attribute was read. It ends before `next`.
    case read(next: Int)
    /// The end of the tag or attribute has not arrived yet.
    case cut
    /// The bytes are not a tag or an attribute.
    case malformed
  }

  /// The maximum size of an attribute's name, in bytes. It limits the search for the end of a name.
  private static let longestName = 64

  private(set) var element = ExportElement.unknown
  /// Whether the tag ends in `/>`.
  private(set) var isEmpty = false
  private var found: UInt32 = 0
  private var values = [Range<Int>](repeating: 0..<0, count: ExportAttribute.allCases.count)
  private let elements = ExportKeywords.elements
  private let attributes = ExportKeywords.attributes

  /// The range of an attribute's value between its quotes, or `nil` if the tag does not have the
  /// attribute.
  @inline(__always)
  subscript(attribute: ExportAttribute) -> Range<Int>? {
    guard found & 1 &<< UInt32(attribute.rawValue) != 0 else { return nil }
    return values[Int(attribute.rawValue)]
  }

  /// Reads the tag whose `<` is at `start`.
  mutating func read(_ bytes: Span<UInt8>, at start: Int) -> Outcome {
    found = 0
    isEmpty = false
    var position = start &+ 1
    while position < bytes.count, Self.isName(bytes[position]) { position &+= 1 }
    element =
      ExportElement(rawValue: elements.meaning(of: bytes, from: start &+ 1, to: position))
      ?? .unknown
    while true {
      while position < bytes.count, isBlank(bytes[position]) { position &+= 1 }
      guard position < bytes.count else { return .cut }
      switch bytes[position] {
      case UInt8(ascii: ">"): return .read(next: position &+ 1)
      case UInt8(ascii: "/"):
        guard position &+ 1 < bytes.count else { return .cut }
        guard bytes[position &+ 1] == UInt8(ascii: ">") else { return .malformed }
        isEmpty = true
        return .read(next: position &+ 2)
      case _: break
      }
      switch readAttribute(bytes, at: position) {
      case .read(let next): position = next
      case .cut: return .cut
      case .malformed: return .malformed
      }
    }
  }

  /// Reads one attribute, `name="value"`. In exports of iOS 8, names contain spaces.
  @inline(__always)
  private mutating func readAttribute(_ bytes: Span<UInt8>, at start: Int) -> Outcome {
    let equals = bytes.next(UInt8(ascii: "="), from: start)
    guard equals < bytes.count else {
      return bytes.count &- start > Self.longestName ? .malformed : .cut
    }
    guard equals > start, equals &- start <= Self.longestName else { return .malformed }
    var meaning = attributes.meaning(of: bytes, from: start, to: equals)
    if meaning == 0 {
      guard let other = oddName(bytes, start..<equals) else { return .malformed }
      meaning = other
    }
    var position = equals &+ 1
    while position < bytes.count, isBlank(bytes[position]) { position &+= 1 }
    guard position < bytes.count else { return .cut }
    let quote = bytes[position]
    guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return .malformed }
    let end = bytes.next(quote, from: position &+ 1)
    guard end < bytes.count else { return .cut }
    values[Int(meaning)] = position &+ 1..<end
    found |= 1 &<< UInt32(meaning)
    return .read(next: end &+ 1)
  }

  /// Returns the meaning of a name that may contain spaces, or `nil` if it is not a name. A name
  /// must not begin with a space.
  private func oddName(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt8? {
    var name: ArraySlice<UInt8> = []
    for position in range {
      let byte = bytes[position]
      if isBlank(byte) { continue }
      guard Self.isName(byte) else { return nil }
      // `start date` is `startDate`.
      let startsWord = !name.isEmpty && isBlank(bytes[position - 1])
      name.append(startsWord && 0x61...0x7A ~= byte ? byte & ~0x20 : byte)
    }
    return attributes.meaning(of: name.span, from: 0, to: name.count)
  }

  @inline(__always)
  private static func isName(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/")
      && byte != UInt8(ascii: "<") && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
  }
}
