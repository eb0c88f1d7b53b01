/// A filter that removes tokens from a server's texts before they are shown, logged or journaled.
package struct Redaction: Sendable {
  /// The maximum length of a redacted text, in characters. It equals the codec's limit for error
  /// bodies.
  private static let limit = 300
  /// The minimum length of a token's prefix that is removed from the end of a text.
  ///
  /// A text may be cut off within a token. Shorter prefixes do not help to guess the token. It is
  /// also the minimum length of a part of a token that contains spaces; shorter parts are likely to
  /// be ordinary words.
  private static let shortest = 8
  private static let mark = Array("[token]".utf8)

  private let secrets: [[UInt8]]

  package init(_ tokens: [String]) {
    // A server may read a token only up to a space, and repeat a part of it.
    let parts = tokens.flatMap { $0.split { $0.isWhitespace }.map(String.init) }
    let long = Set(parts).subtracting(tokens).filter { $0.utf8.count >= Self.shortest }
    secrets = (tokens.filter { !$0.isEmpty } + long).map { Array($0.utf8) }
  }

  /// Returns the text as one line of at most 300 characters.
  ///
  /// Tokens are replaced, whether percent-encoded or not.
  package func clean(_ text: String) -> String {
    // Control characters are removed first, because one could be in the middle of a token.
    let visible = String(String.UnicodeScalarView(text.unicodeScalars.filter(Self.isVisible)))
    let bytes = Array(visible.utf8)
    var output: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if let end = secrets.compactMap({ Self.end(of: $0, in: bytes[index...]) }).max() {
        output += Self.mark
        index = end
      } else {
        output.append(bytes[index])
        index += 1
      }
    }
    return String(String(decoding: output, as: UTF8.self).unicodeScalars.prefix(Self.limit))
  }

  /// Returns the failure with its text redacted.
  package func clean(_ failure: LinkFailure) -> LinkFailure {
    failure.mapText { clean($0) }
  }

  /// Returns the index after a secret at the start of `bytes`; `nil` if there is none.
  ///
  /// The text may end within the secret.
  private static func end(of secret: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
    var index = bytes.startIndex
    for (count, byte) in secret.enumerated() {
      let encoded = bytes[index...].prefix(3)
      if encoded.first == byte {
        index += 1
      } else if encoded.first == UInt8(ascii: "%"), encoded.count == 3,
        UInt8(String(decoding: encoded.dropFirst(), as: UTF8.self), radix: 16) == byte
      {
        index += 3
      } else {
        let isCut = encoded.isEmpty || encoded.first == UInt8(ascii: "%") && encoded.count < 3
        return isCut && count >= shortest ? bytes.endIndex : nil
      }
    }
    return index
  }

  private static let invisible: [Unicode.GeneralCategory] = [
    .control, .format, .lineSeparator, .paragraphSeparator,
  ]

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    !invisible.contains(scalar.properties.generalCategory)
  }
}
