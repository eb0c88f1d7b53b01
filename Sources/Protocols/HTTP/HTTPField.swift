/// One header field; the name of a received one is lowercased.
public struct HTTPField: Equatable, Sendable {
  /// The field name (RFC 9110 section 5.1).
  public var name: String
  /// The field value without the white space around it (RFC 9110 section 5.5).
  public var value: String

  /// A field as given; nothing is checked here.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

/// One `name=value` of a query, decoded.
public struct HTTPQueryItem: Equatable, Sendable {
  /// What stands before the first `=`.
  public var name: String
  /// What stands behind it; empty when there is no `=`.
  public var value: String
}

extension [HTTPField] {
  /// The value of the first field of that lowercased name.
  func first(_ name: String) -> String? {
    first { $0.name == name }?.value
  }

  func values(_ name: String) -> [String] {
    compactMap { $0.name == name ? $0.value : nil }
  }

  /// The comma-separated members of all fields of that name, trimmed, lowercased.
  func tokens(_ name: String) -> [String] {
    guard contains(where: { $0.name == name }) else { return [] }
    return values(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
      .map { Text.trimmed(Substring($0)).lowercased() }
      .filter { !$0.isEmpty }
  }
}

/// Header fields as lines (RFC 9112 section 5), read strictly and written safely.
enum FieldLines {
  /// One line without its CRLF.
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

  /// Appends the fields; one whose name is not a token is left out, line ends are taken out.
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
