/// A namespace for references to images in texts: `[IMAGE:URL]`.
///
/// The URL begins with `http://` or `https://` and contains no space, no control character and no
/// `]`, except for the one of an IPv6 address. It has at most `mostBytes` bytes. Anything else is text.
public enum ImageReference {
  /// A part of a text.
  public enum Part: Sendable, Hashable {
    /// Text without references.
    case text(Substring)
    /// The URL of a reference.
    case image(url: Substring)
  }

  /// The maximum size of a URL, in bytes.
  public static let mostBytes = 2_048

  private static let opening = "[IMAGE:"

  /// Returns the reference to an image.
  public static func text(for url: String) -> String { "\(opening)\(url)]" }

  /// Returns whether a URL can be part of a reference.
  public static func isAddress(_ url: String) -> Bool {
    parts(of: text(for: url)) == [.image(url: url[...])]
  }

  /// Returns the parts of a text in order. Together they are the text. No part of text is empty.
  public static func parts(of text: String) -> [Part] {
    let bytes = text.utf8
    var parts: [Part] = []
    var start = bytes.startIndex
    var next = start
    while let bracket = bytes[next...].firstIndex(of: UInt8(ascii: "[")) {
      next = bytes.index(after: bracket)
      guard bytes[bracket...].starts(with: opening.utf8) else { continue }
      let address = bytes.index(bracket, offsetBy: opening.utf8.count)
      guard let end = end(of: bytes[address...]) else { continue }
      if start < bracket { parts.append(.text(text[start..<bracket])) }
      parts.append(.image(url: text[address..<end]))
      next = bytes.index(after: end)
      start = next
    }
    if start < bytes.endIndex { parts.append(.text(text[start...])) }
    return parts
  }

  /// Returns the URLs of all references in a text, in order.
  public static func urls(in text: String) -> [Substring] {
    // Most texts contain no reference.
    guard text.utf8.contains(UInt8(ascii: "[")) else { return [] }
    return parts(of: text).compactMap {
      if case .image(let url) = $0 { url } else { nil }
    }
  }

  /// Returns a new text of a message with the references of its earlier text, each on a line of its
  /// own. A new text that has a reference itself is returned as it is.
  package static func text(_ text: String, keepingThoseOf earlier: String) -> String {
    guard urls(in: text).isEmpty else { return text }
    var kept: [String] = []
    for url in urls(in: earlier) where !kept.contains(Self.text(for: String(url))) {
      kept.append(Self.text(for: String(url)))
    }
    return ((text.isEmpty ? [] : [text]) + kept).joined(separator: "\n")
  }

  /// Returns the index of the bracket after the URL at the start of some bytes, or `nil` if they do
  /// not begin with a URL and a bracket.
  private static func end(of bytes: Substring.UTF8View) -> Substring.UTF8View.Index? {
    guard let scheme = ["http://", "https://"].first(where: { bytes.starts(with: $0.utf8) }) else {
      return nil
    }
    let host = bytes.index(bytes.startIndex, offsetBy: scheme.utf8.count)
    var isInAddress = host < bytes.endIndex && bytes[host] == UInt8(ascii: "[")
    var index = host
    for _ in scheme.utf8.count...mostBytes {
      guard index < bytes.endIndex, bytes[index] > 0x20, bytes[index] != 0x7f else { return nil }
      if bytes[index] == UInt8(ascii: "]") {
        guard isInAddress else { return index == host ? nil : index }
        isInAddress = false
      }
      index = bytes.index(after: index)
    }
    return nil
  }
}
