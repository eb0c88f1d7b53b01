/// A document in the part of TOML 1.0 that options need: keys with strings on one line, decimal
/// whole numbers, booleans, and lists of these.
///
/// The reader is strict. It reads nothing differently than a complete reader of TOML would, and
/// rejects the rest of TOML by an error: tables, dotted keys, fractions, times, strings of several
/// lines and nested lists.
package struct TOMLDocument: Sendable, Hashable {
  /// A value that is not a list.
  package enum Scalar: Sendable, Hashable {
    case text(String)
    case integer(Int64)
    case truth(Bool)
  }

  /// A value of a list, and the place where it begins.
  package struct Element: Sendable, Hashable {
    package var scalar: Scalar
    package var place: TextPlace
  }

  /// The value of a key.
  package enum Value: Sendable, Hashable {
    case single(Scalar)
    case list([Element])
  }

  /// A key and its value, and the places where they begin.
  package struct Entry: Sendable, Hashable {
    package var key: String
    package var keyPlace: TextPlace
    package var value: Value
    package var place: TextPlace
  }

  /// The entries in the order of the text. No two have the same key.
  package let entries: [Entry]

  /// Reads a document, which must be UTF-8.
  ///
  /// - Throws: The first fault. It contains no value of the document.
  package init(_ bytes: [UInt8]) throws(TOMLFault) {
    var reader = try TOMLReader(bytes)
    entries = try reader.readEntries()
  }
}

/// A place in a text of several lines.
public struct TextPlace: Sendable, Hashable {
  /// The number of the line. The first line has the number 1.
  public var line: Int
  /// The number of the Unicode scalar in the line. The first one has the number 1.
  public var column: Int

  /// Creates a place without checking the numbers.
  public init(line: Int, column: Int) {
    (self.line, self.column) = (line, column)
  }
}

/// A fault in a document, and what to write instead. It contains no value of the document.
package struct TOMLFault: Error, Sendable, Hashable {
  package var place: TextPlace
  package var cause: String
  package var remedy: String
}
