/// A header field. The name of a received field is in lower case.
public struct HTTPField: Equatable, Sendable {
  /// The field name (RFC 9110 section 5.1).
  public var name: String
  /// The field value without surrounding white space (RFC 9110 section 5.5).
  public var value: String

  /// Creates a field without validation.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// A decoded `name=value` item of a query.
public struct HTTPQueryItem: Equatable, Sendable {
  /// The text before the first `=`.
  public var name: String
  /// The text after the first `=`; empty if there is no `=`.
  public var value: String
}

extension [HTTPField] {
  /// Returns the value of the first field with the given name, which must be in lower case.
  func first(_ name: String) -> String? {
    first { $0.name == name }?.value
  }

  func values(_ name: String) -> [String] {
    compactMap { $0.name == name ? $0.value : nil }
  }

  /// Returns the comma-separated members of all fields with the given name. They are trimmed and in
  /// lower case.
  func tokens(_ name: String) -> [String] {
    guard contains(where: { $0.name == name }) else { return [] }
    return values(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
      .map { Text.trimmed(Substring($0)).lowercased() }
      .filter { !$0.isEmpty }
  }
}

/// Parsing and encoding of header fields as lines (RFC 9112 section 5).
enum FieldLines {
  /// Parses one line without its CRLF.
  static func parse(_ line: ArraySlice<UInt8>) throws(HTTPError) -> HTTPField {
    guard let first = line.first, !Text.isBlank(first) else { throw .bad("a folded field") }
    guard let colon = line.firstIndex(of: Text.colon) else { throw .bad("a field without a colon") }
    let name = line[..<colon]
    guard Text.isToken(name) else { throw .bad("a field name that is not a token") }
    let value = Text.trimmed(line[(colon + 1)...])
    guard value.allSatisfy(Text.isFieldContent) else {
      throw .bad("a control byte in a field value")
    }
    return HTTPField(
      name: String(decoding: name.map(Text.lowercased), as: UTF8.self),
      value: String(decoding: value, as: UTF8.self))
  }

  /// Appends the fields. A field whose name is not a token is omitted, and line ends are removed.
  static func append(_ fields: [(String, String)], to out: inout [UInt8]) {
    for (name, value) in fields where Text.isFieldName(name) {
      out.append(contentsOf: name.utf8)
      out.append(Text.colon)
      out.append(Text.space)
      out.append(contentsOf: Text.fieldValue(value).utf8)
      out.append(Text.cr)
      out.append(Text.lf)
    }
  }
}
