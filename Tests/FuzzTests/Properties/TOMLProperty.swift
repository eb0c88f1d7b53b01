import HoldfastCommandKit

/// The properties of configuration files.
enum TOMLProperty {
  static func check(_ bytes: [UInt8]) throws(Broken) {
    let document: TOMLDocument
    do throws(TOMLFault) {
      document = try TOMLDocument(bytes)
    } catch {
      return try hold(isInside(error.place, bytes), "a fault has a place in the text")
    }
    for entry in document.entries {
      try hold(isInside(entry.keyPlace, bytes), "a key has a place in the text")
      try hold(
        isInside(entry.place, bytes) && entry.place.line == entry.keyPlace.line
          && entry.place.column > entry.keyPlace.column, "a value follows its key in its line")
    }
    let keys = document.entries.map(\.key)
    try hold(Set(keys).count == keys.count, "no two entries have the same key")
    let again = try? TOMLDocument(Array(text(of: document).utf8))
    try hold(
      again?.entries.map(\.key) == keys
        && again?.entries.map(\.value.scalars) == document.entries.map(\.value.scalars),
      "a document that was read can be written")
  }

  /// Returns whether a place is that of a character or of the end of the text. Lines are counted
  /// generously, since only a valid text has scalars.
  private static func isInside(_ place: TextPlace, _ bytes: [UInt8]) -> Bool {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return lines.indices.contains(place.line - 1)
      && 1...lines[place.line - 1].count + 1 ~= place.column
  }

  private static func text(of document: TOMLDocument) -> String {
    document.entries.map { entry in
      let value =
        switch entry.value {
        case .single(let scalar): text(of: scalar)
        case .list(let elements):
          "[" + elements.map { text(of: $0.scalar) }.joined(separator: ",") + "]"
        }
      return "\(quoted(entry.key)) = \(value)\n"
    }.joined()
  }

  private static func text(of scalar: TOMLDocument.Scalar) -> String {
    switch scalar {
    case .text(let text): quoted(text)
    case .integer(let number): "\(number)"
    case .truth(let value): "\(value)"
    }
  }

  /// Returns a string in quotation marks. Each character that is not plain ASCII is escaped.
  private static func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      let isPlain = 0x20..<0x7F ~= scalar.value && scalar != "\"" && scalar != "\\"
      let digits = String(scalar.value, radix: 16)
      let zeros = String(repeating: "0", count: 8 - digits.count)
      return isPlain ? String(scalar) : "\\U\(zeros)\(digits)"
    }
    return "\"\(escaped.joined())\""
  }
}

extension TOMLDocument.Value {
  /// The values without their places.
  fileprivate var scalars: [TOMLDocument.Scalar] {
    switch self {
    case .single(let scalar): [scalar]
    case .list(let elements): elements.map(\.scalar)
    }
  }
}
