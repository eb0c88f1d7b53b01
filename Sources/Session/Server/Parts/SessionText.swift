/// A namespace for functions that fit texts into messages of bounded size.
package enum SessionText {
  /// The maximum size of a message without its text, in bytes.
  static let envelope = 700

  /// Returns the size that one byte of a text takes in JSON (RFC 8259 section 7), in bytes.
  private static func cost(of byte: UInt8) -> Int {
    byte < 0x20 ? 6 : byte == 0x22 || byte == 0x5C ? 2 : 1
  }

  /// Returns the size that a text takes in JSON, in bytes.
  static func length(_ text: String) -> Int {
    text.utf8.reduce(0) { $0 + cost(of: $1) }
  }

  /// Returns whether a text fits into a message of at most `limit` bytes.
  static func fits(_ text: String, in limit: Int) -> Bool {
    let count = text.utf8.count
    guard count + envelope <= limit else { return false }
    return count * 6 + envelope <= limit || length(text) + envelope <= limit
  }

  /// Returns a text that fits into a message of at most `limit` bytes.
  ///
  /// If the text is too long, the result is its beginning and its end, with a note in between that
  /// states how much was left out.
  static func cut(_ text: String, toFit limit: Int) -> String {
    guard !fits(text, in: limit) else { return text }
    let half = max(0, limit - envelope - 80) / 2
    // One additional byte on each side shows whether a character is divided.
    let (head, tail) = (Array(text.utf8.prefix(half + 1)), Array(text.utf8.suffix(half + 1)))
    var end = count(of: head, thatFit: half)
    while end > 0, end < head.count, UTF8.isContinuation(head[end]) { end -= 1 }
    var start = tail.count - count(of: tail.reversed(), thatFit: half)
    while start < tail.count, UTF8.isContinuation(tail[start]) { start += 1 }
    let left = text.utf8.count - end - (tail.count - start)
    return String(decoding: head[..<end], as: UTF8.self)
      + "\n\n[... \(left) bytes left out ...]\n\n"
      + String(decoding: tail[start...], as: UTF8.self)
  }

  /// Returns how many leading bytes take at most `limit` bytes in JSON.
  private static func count(of bytes: some Sequence<UInt8>, thatFit limit: Int) -> Int {
    var (count, cost) = (0, 0)
    for byte in bytes {
      cost += self.cost(of: byte)
      guard cost <= limit else { break }
      count += 1
    }
    return count
  }

  /// Returns at most `limit` bytes of a text, starting at `start`, without dividing a character.
  static func slice(_ text: String, from start: Int, atMost limit: Int) -> Substring {
    let bytes = text.utf8
    let begin = bytes.index(bytes.startIndex, offsetBy: min(start, bytes.count))
    let end = bytes.index(begin, offsetBy: limit, limitedBy: bytes.endIndex) ?? bytes.endIndex
    // `Substring` omits a scalar whose bytes are not all within the range (SE-0180).
    return text[begin..<end]
  }

  /// Returns a text without its trailing line break, if it has one.
  package static func withoutLineEnd(_ text: String) -> String {
    guard text.utf8.last == UInt8(ascii: "\n") else { return text }
    let line = text.utf8.dropLast()
    return String(Substring(line.last == UInt8(ascii: "\r") ? line.dropLast() : line))
  }
}
