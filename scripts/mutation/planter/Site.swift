/// A mutant with its place in a source file.
struct Site {
  var number: Int
  var mutant: Mutant
  /// The byte range of the original expression or statement.
  var range: Range<Int>
  /// Whether the mutant is in the copy. A mutant that does not compile keeps its number.
  var isPlanted: Bool
}

/// A planted change of the code.
struct Mutant {
  /// The class of the mutant.
  var kind: Kind
  var file: String
  /// The line in the repository, which is also the line in the copy.
  var line: Int
  /// The enclosing declarations, outermost first, separated by dots.
  var scope: String
  /// The text in the repository, and the text that replaces it.
  var before: String
  var after: String
  /// The number of equal mutants before this one in the same declaration.
  var repetition: Int
  /// Whether the code is evaluated at most once in a process.
  var isOnce: Bool

  /// A key that identifies the mutant as long as its declaration does not change.
  var key: String {
    let text = "\(file) | \(scope) | \(kind.rawValue) | \(before) => \(after)"
    return repetition == 0 ? text : "\(text) | \(repetition + 1)"
  }

  enum Kind: String {
    case boundary
    case negation
    case condition
    case guardSkipped = "skipped guard"
    case operand = "dropped operand"
    case removed = "removed statement"
    case arithmetic
    case extremes = "min and max"
    case ends = "first and last"
    case arguments = "swapped arguments"
    case constant = "changed constant"
    case result = "changed result"
  }
}

/// Insertions into and replacements in the text of a file.
struct Edits {
  private var opens: [Int: [String]] = [:]
  private var closes: [Int: [String]] = [:]
  private var replaced: [Int: (end: Int, text: String)] = [:]

  /// Puts text around a range. An earlier range encloses later ones.
  mutating func wrap(_ range: Range<Int>, _ open: String, _ close: String) {
    opens[range.lowerBound, default: []].append(open)
    closes[range.upperBound, default: []].insert(close, at: 0)
  }

  /// Inserts text after the parts that end at a place.
  mutating func append(_ text: String, at place: Int) {
    closes[place, default: []].append(text)
  }

  /// Inserts text before the parts that begin at a place.
  mutating func prepend(_ text: String, at place: Int) {
    opens[place, default: []].append(text)
  }

  mutating func replace(_ range: Range<Int>, _ text: String) {
    replaced[range.lowerBound] = (range.upperBound, text)
  }

  /// Returns the new text, and the offset in it of each byte of the old text.
  func apply(to source: [UInt8]) -> (text: [UInt8], places: [Int]) {
    var text: [UInt8] = []
    var places: [Int] = []
    var skipped = 0
    for index in 0...source.count {
      for close in closes[index] ?? [] { text += close.utf8 }
      places.append(text.count)
      for open in opens[index] ?? [] { text += open.utf8 }
      if let (end, new) = replaced[index] {
        text += new.utf8
        skipped = end
      }
      if index >= skipped, index < source.count { text.append(source[index]) }
    }
    return (text, places)
  }
}
