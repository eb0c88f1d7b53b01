import LinkCore

/// The value of an attribute: its bytes, and the expected results of reading them.
struct WrittenValue {
  var raw: [UInt8]
  /// The text of the value.
  var text: String
  /// The name of the device, where it differs from the text.
  var device: String?
  /// Whether reading removes bytes from the text.
  var isRepaired = false
  /// The moment, if the value is a date.
  var moment: Timestamp?

  init(raw: [UInt8], text: String) { (self.raw, self.text) = (raw, text) }

  /// Creates a value whose bytes are those of its text.
  init(_ text: String) { self.init(raw: Array(text.utf8), text: text) }

  /// Concatenates two values.
  static func + (left: Self, right: Self) -> Self {
    var sum = WrittenValue(raw: left.raw + right.raw, text: left.text + right.text)
    sum.isRepaired = left.isRepaired || right.isRepaired
    return sum
  }
}

/// A start tag.
struct WrittenTag {
  var name: String
  /// The attributes in order, under the names that iOS writes today.
  var attributes: [(name: String, value: WrittenValue)] = []
  /// Whether the tag ends the element too.
  var isEmpty = false

  /// The last value with a name.
  subscript(name: String) -> WrittenValue? {
    attributes.last { $0.name == name }?.value
  }
}

/// A part of an export, by its meaning.
enum WrittenPart {
  case start(WrittenTag)
  case end(String)
  /// Text or markup without a meaning, and the number of bytes that identify it.
  case skipped(shown: Int)
  /// A type definition and its version.
  case definition(version: Int?)
  /// A part that is skipped, with the reason.
  case broken(String)
}

/// An export in parts, each with its meaning and its bytes.
struct ExportDraft {
  private(set) var parts: [WrittenPart] = []
  private(set) var pieces: [[UInt8]] = []
  /// The positions at which pieces of the input end; anywhere if empty.
  var cuts: [Int] = []

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length(of: pieces.count))
    for piece in pieces { bytes += piece }
    return bytes
  }

  /// Returns the number of bytes of the first parts.
  func length(of count: Int) -> Int { pieces.prefix(count).reduce(0) { $0 + $1.count } }

  mutating func add(_ part: WrittenPart, _ bytes: [UInt8]) {
    parts.append(part)
    pieces.append(bytes)
  }

  mutating func add(_ part: WrittenPart, _ text: String) { add(part, Array(text.utf8)) }

  /// Returns the number of bytes that identify a part, or `nil` if a cut in it has no clear result.
  func shown(_ index: Int) -> Int? {
    // Broken markup is recognized only by the bytes after it.
    let isNearBroken = parts[max(0, index - 2)..<index].contains {
      if case .broken = $0 { true } else { false }
    }
    if isNearBroken { return nil }
    switch parts[index] {
    case .start, .end:
      // A bracket in a value would be taken for the beginning of a tag.
      let hasBracket = pieces[index].dropFirst().contains(UInt8(ascii: "<"))
      return hasBracket ? nil : pieces[index].count
    case .skipped(let shown): return shown
    case .definition, .broken: return nil
    }
  }

  /// Cuts the export off within a part.
  mutating func cut(_ index: Int, behind count: Int, isShown: Bool) {
    let rest = Array(pieces[index].prefix(count))
    parts.removeSubrange(index...)
    pieces.removeSubrange(index...)
    add(isShown ? .skipped(shown: 0) : .broken("cutOff"), rest)
  }
}
