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
