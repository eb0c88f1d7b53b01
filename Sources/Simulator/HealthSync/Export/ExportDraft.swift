import LinkCore

/// The value of an attribute of an export: how it is written, and what it says.
struct ExportWritten {
  var raw: [UInt8]
  /// What it says as a text.
  var text: String
  /// What it says as a device, where that is not the text.
  var device: String?
  /// Whether something is taken out of the text.
  var isRepaired = false
  /// What it says as a date.
  var moment: Timestamp?

  init(raw: [UInt8], text: String) { (self.raw, self.text) = (raw, text) }

  /// A value that is written as it is.
  init(_ text: String) { self.init(raw: Array(text.utf8), text: text) }

  /// Returns a value with another one behind it.
  static func + (left: Self, right: Self) -> Self {
    var sum = ExportWritten(raw: left.raw + right.raw, text: left.text + right.text)
    sum.isRepaired = left.isRepaired || right.isRepaired
    return sum
  }
}

/// A start tag, by what it means.
struct ExportStart {
  var name: String
  /// By the names that iOS writes today, in the order in which they are written.
  var attributes: [(name: String, value: ExportWritten)] = []
  /// Whether it is an end tag as well.
  var isEmpty = false

  /// The value that counts of a name: the last one.
  subscript(name: String) -> ExportWritten? {
    attributes.last { $0.name == name }?.value
  }
}

/// A part of an export.
enum ExportThing {
  case start(ExportStart)
  case end(String)
  /// Text, or markup that means nothing. So many of its bytes show what it is.
  case skipped(shown: Int)
  /// A type definition, with the version that it tells.
  case definition(version: Int?)
  /// What is left out, for this reason.
  case broken(String)
}

/// An export in parts, each with its bytes.
struct ExportDraft {
  private(set) var things: [ExportThing] = []
  private(set) var pieces: [[UInt8]] = []

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(length(of: pieces.count))
    for piece in pieces { bytes += piece }
    return bytes
  }

  /// Returns how many bytes so many of the first parts have.
  func length(of count: Int) -> Int { pieces.prefix(count).reduce(0) { $0 + $1.count } }

  mutating func add(_ thing: ExportThing, _ bytes: [UInt8]) {
    things.append(thing)
    pieces.append(bytes)
  }

  mutating func add(_ thing: ExportThing, _ text: String) { add(thing, Array(text.utf8)) }

  /// Returns how many bytes of a part show what it is; `nil` where a cut in it is not told.
  func shown(_ place: Int) -> Int? {
    // What follows shows that something is broken.
    let isNearBroken = things[max(0, place - 2)..<place].contains {
      if case .broken = $0 { true } else { false }
    }
    if isNearBroken { return nil }
    switch things[place] {
    case .start, .end:
      // A bracket in a value would be looked at as the beginning of a tag.
      let hasBracket = pieces[place].dropFirst().contains(UInt8(ascii: "<"))
      return hasBracket ? nil : pieces[place].count
    case .skipped(let shown): return shown
    case .definition, .broken: return nil
    }
  }

  /// Ends it within a part, behind so many of its bytes.
  mutating func cut(_ place: Int, behind count: Int, isShown: Bool) {
    let rest = Array(pieces[place].prefix(count))
    things.removeSubrange(place...)
    pieces.removeSubrange(place...)
    add(isShown ? .skipped(shown: 0) : .broken("cutOff"), rest)
  }
}
