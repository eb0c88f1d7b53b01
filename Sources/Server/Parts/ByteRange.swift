/// The part of a content that a request asks for (RFC 9110 section 14).
package enum ByteRange: Sendable, Hashable {
  /// The whole content, since no range, or several, or an invalid one were asked for.
  case whole
  /// A part.
  case part(Range<Int>)
  /// The range begins after the end.
  case unsatisfiable

  /// Reads the value of `Range`.
  ///
  /// - Parameter size: The number of bytes of the content.
  package init(_ field: String?, of size: Int) {
    guard let field, field.lowercased().hasPrefix("bytes=") else { self = .whole; return }
    let parts = field.dropFirst("bytes=".count).split(
      separator: "-", maxSplits: 1, omittingEmptySubsequences: false
    ).map { $0.filter { $0 != " " && $0 != "\t" } }
    guard parts.count == 2 else { self = .whole; return }
    switch (Self.number(parts[0]), Self.number(parts[1])) {
    case (let first?, let last?) where first <= last:
      self = first < size ? .part(first..<min(size, last + 1)) : .unsatisfiable
    case (let first?, nil) where parts[1].isEmpty:
      self = first < size ? .part(first..<size) : .unsatisfiable
    case (nil, let count?) where parts[0].isEmpty:
      self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
    case _: self = .whole
    }
  }

  /// Returns a number of at most 15 digits.
  private static func number(_ text: String) -> Int? {
    guard (1...15).contains(text.utf8.count),
      text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(text)
  }
}
