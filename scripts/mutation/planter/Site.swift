/// A bug with its place in a source.
struct Site {
  var number: Int
  var mutant: Mutant
  /// The original expression or statement, in bytes.
  var range: Range<Int>
  /// Whether the code is there; a mutant that does not compile keeps its number.
  var isPlanted: Bool
}

/// One bug.
struct Mutant {
  /// The class of the bug.
  var kind: Kind
  var file: String
  /// The line in the repository, which is the line in the copy too.
  var line: Int
  /// The declarations around it, outermost first, separated by dots.
  var scope: String
  /// The text in the repository, and what it becomes.
  var before: String
  var after: String
  /// How many equal ones stand before it in the same declaration.
  var repetition: Int
  /// Whether it is evaluated at most once in a process.
  var isOnce: Bool

  /// What identifies it as long as its declaration stays as it is.
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

/// The text of a file with code around and in place of some of its parts.
struct Edits {
  private var opens: [Int: [String]] = [:]
  private var closes: [Int: [String]] = [:]
  private var replaced: [Int: (end: Int, text: String)] = [:]

  /// Puts text around a range; a range that was given earlier encloses those given later.
  mutating func wrap(_ range: Range<Int>, _ open: String, _ close: String) {
    opens[range.lowerBound, default: []].append(open)
    closes[range.upperBound, default: []].insert(close, at: 0)
  }

  /// Puts text behind what ends at a place.
  mutating func append(_ text: String, at place: Int) {
    closes[place, default: []].append(text)
  }

  /// Puts text before what begins at a place.
  mutating func prepend(_ text: String, at place: Int) {
    opens[place, default: []].append(text)
  }

  mutating func replace(_ range: Range<Int>, _ text: String) {
    replaced[range.lowerBound] = (range.upperBound, text)
  }

  /// Returns the new text, and where the bytes of the old one are in it.
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
