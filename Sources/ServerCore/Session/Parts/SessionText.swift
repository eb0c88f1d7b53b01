/// Texts that must fit into a message of a bounded length.
package enum SessionText {
  /// Bytes of a message besides its text.
  static let envelope = 700

  /// The bytes of a character in JSON (RFC 8259 section 7).
  private static func cost(of scalar: Unicode.Scalar) -> Int {
    switch scalar.value {
    case 0x22, 0x5C: 2
    case 0..<0x20: 6
    case _: UTF8.width(scalar)
    }
  }

  /// The bytes of a text in JSON.
  static func length(_ text: String) -> Int {
    text.utf8.reduce(0) { $0 + ($1 < 0x20 ? 6 : $1 == 0x22 || $1 == 0x5C ? 2 : 1) }
  }

  /// Whether a text fits into a message of at most `limit` bytes.
  static func fits(_ text: String, in limit: Int) -> Bool {
    let count = text.utf8.count
    guard count + envelope <= limit else { return false }
    return count * 6 + envelope <= limit || length(text) + envelope <= limit
  }

  /// Returns a text that fits into a message of at most `limit` bytes: the text itself, or its
  /// beginning and its end around a note of how much was left out.
  static func cut(_ text: String, toFit limit: Int) -> String {
    guard !fits(text, in: limit) else { return text }
    let half = max(0, limit - envelope - 80) / 2
    let head = prefix(of: text.unicodeScalars, atMost: half)
    let tail = prefix(of: text.unicodeScalars.reversed(), atMost: half)
    let scalars = text.unicodeScalars
    let end = scalars.index(scalars.startIndex, offsetBy: head)
    let start = scalars.index(scalars.endIndex, offsetBy: -tail)
    guard end <= start else { return text }
    let left = text.utf8.distance(from: end, to: start)
    return String(scalars[..<end]) + "\n\n[... \(left) bytes left out ...]\n\n"
      + String(scalars[start...])
  }

  /// How many characters from the start fit.
  private static func prefix(of scalars: some Sequence<Unicode.Scalar>, atMost limit: Int) -> Int {
    var (count, cost) = (0, 0)
    for scalar in scalars {
      cost += self.cost(of: scalar)
      guard cost <= limit else { break }
      count += 1
    }
    return count
  }

  /// Returns the bytes of a text from `start` on, at most `limit` and no part of a character.
  static func slice(_ text: String, from start: Int, atMost limit: Int) -> Substring {
    let bytes = text.utf8
    let begin = bytes.index(bytes.startIndex, offsetBy: min(start, bytes.count))
    let end = bytes.index(begin, offsetBy: limit, limitedBy: bytes.endIndex) ?? bytes.endIndex
    // A text is cut before a scalar whose bytes do not all fit (SE-0180).
    return text[begin..<end]
  }

  /// A text without the line end at its end, if there is one.
  package static func withoutLineEnd(_ text: String) -> String {
    guard text.utf8.last == UInt8(ascii: "\n") else { return text }
    let line = text.utf8.dropLast()
    return String(Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line))
  }
}
