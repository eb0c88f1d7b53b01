/// The pieces of responses that are not complete.
///
/// The response that follows them may hold only the beginning and the end of the text.
struct ResponsePieces: Sendable, Hashable {
  /// Bytes of all pieces together; a response whose pieces do not fit is shown as it comes.
  static let limit = 16 << 20
  private var texts: [String: [String]] = [:]
  private(set) var bytes = 0

  /// Notes a piece; one that is not the next ends the row.
  mutating func add(_ text: String, at index: Int, of key: String) {
    let row = texts[key] ?? []
    guard index == row.count, index == 0 || texts[key] != nil else { return drop(key) }
    guard bytes + text.utf8.count <= Self.limit else { return drop(key) }
    bytes += text.utf8.count
    texts[key, default: []].append(text)
  }

  /// Returns the text of so many pieces if all of them came, and forgets them.
  mutating func take(_ count: Int?, of key: String?) -> String? {
    guard let key, let row = texts[key] else { return nil }
    drop(key)
    return row.count == count ? row.joined() : nil
  }

  private mutating func drop(_ key: String) {
    bytes -= texts.removeValue(forKey: key)?.reduce(0) { $0 + $1.utf8.count } ?? 0
  }
}
