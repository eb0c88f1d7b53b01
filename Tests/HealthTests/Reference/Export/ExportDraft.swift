import HoldfastCore

/// The value of an attribute: its bytes, and the expected results of reading them.
struct WrittenValue {
  var raw: [UInt8]
  /// The text of the value.
  var text: String
  /// The name of the device if it differs from the text.
  var device: String?
  /// Whether the reader has to repair the text.
  var isRepaired = false
  /// The moment, if the value is a date.
  var moment: Timestamp?

  init(raw: [UInt8], text: String) { (self.raw, self.text) = (raw, text) }

  /// Creates a value whose bytes are the UTF-8 encoding of its text.
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
  /// The attributes in order, with the names that current versions of iOS write.
  var attributes: [(name: String, value: WrittenValue)] = []
  /// Whether the tag also ends the element.
  var isEmpty = false

  /// The value of the last attribute with the given name.
  subscript(name: String) -> WrittenValue? {
    attributes.last { $0.name == name }?.value
  }
}

/// A part of an export, classified by its meaning.
enum WrittenPart {
  case start(WrittenTag)
  case end(String)
  /// Text or markup that has no meaning, with the number of bytes that identify it.
  case skipped(shown: Int)
  /// A document type definition, with its version.
  case definition(version: Int?)
  /// Broken markup, with the reason why it is skipped.
  case broken(String)
}

/// An export as a list of parts, each with its meaning and its bytes.
struct ExportDraft {
  private(set) var parts: [WrittenPart] = []
  private(set) var pieces: [[UInt8]] = []
  /// The positions at which the input is split. If there are none, the input is split at random
  /// positions.
  var cuts: [Int] = []

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length(of: pieces.count))
    for piece in pieces { bytes += piece }
    return bytes
  }

  /// Returns the number of bytes in the first `count` parts.
  func length(of count: Int) -> Int { pieces.prefix(count).reduce(0) { $0 + $1.count } }

  mutating func add(_ part: WrittenPart, _ bytes: [UInt8]) {
    parts.append(part)
    pieces.append(bytes)
  }

  mutating func add(_ part: WrittenPart, _ text: String) { add(part, Array(text.utf8)) }

  /// Returns the number of bytes that identify a part, or `nil` if the result of a cut within it is
  /// not defined.
  func shown(_ index: Int) -> Int? {
    // Broken markup is recognized only with the help of the bytes after it.
    let isNearBroken = parts[max(0, index - 2)..<index].contains {
      if case .broken = $0 { true } else { false }
    }
    if isNearBroken { return nil }
    switch parts[index] {
    case .start, .end:
      // After a cut, the reader takes a bracket in a value for the beginning of a tag.
      let hasBracket = pieces[index].dropFirst().contains(UInt8(ascii: "<"))
      return hasBracket ? nil : pieces[index].count
    case .skipped(let shown): return shown
    case .definition, .broken: return nil
    }
  }

  /// Cuts off the export within a part.
  mutating func cut(_ index: Int, behind count: Int, isShown: Bool) {
    let rest = Array(pieces[index].prefix(count))
    parts.removeSubrange(index...)
    pieces.removeSubrange(index...)
    add(isShown ? .skipped(shown: 0) : .broken("cutOff"), rest)
  }
}
