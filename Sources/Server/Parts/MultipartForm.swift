/// The fields of a form that was sent as `multipart/form-data` (RFC 7578, RFC 2046 section 5.1).
///
/// Header fields other than `Content-Disposition` are ignored, since the content of a field is not
/// decoded. Text before the first delimiter and after the last one is ignored, too.
package struct MultipartForm: Sendable, Hashable {
  /// A field of the form.
  package struct Field: Sendable, Hashable {
    /// The name of the field.
    var name: String
    /// The content.
    var content: ArraySlice<UInt8>
  }

  /// The reason why a body is not a form.
  package enum Fault: Error, Sendable, Hashable {
    /// The media type has no valid boundary.
    case noBoundary
    /// The body has no delimiter, or ends before the last one.
    case incomplete
    /// A field has no valid header.
    case badHeader
    /// A field has no name.
    case noName
    /// The form has too many fields.
    case tooMany

    /// A human-readable description.
    package var detail: String {
      switch self {
      case .noBoundary: "the Content-Type has no valid boundary"
      case .incomplete: "the multipart body is incomplete"
      case .badHeader: "a part of the multipart body has an invalid header"
      case .noName: "a part of the multipart body has no name"
      case .tooMany: "the form has more than \(MultipartForm.mostFields) fields"
      }
    }
  }

  /// The maximum number of fields.
  package static let mostFields = 16
  /// The maximum size of a field's header, in bytes.
  package static let mostHeaderBytes = 4_096

  /// The fields in the order of the body.
  private(set) var fields: [Field] = []

  /// Returns the content of the first field with a name.
  package func content(of name: String) -> ArraySlice<UInt8>? {
    fields.first { $0.name == name }?.content
  }

  /// Returns whether a media type is that of a form.
  package static func isForm(_ mediaType: String) -> Bool {
    let type = mediaType.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
    return type.lowercased() == "multipart/form-data"
  }

  /// Reads a body.
  ///
  /// - Parameter mediaType: The value of `Content-Type`, which contains the boundary.
  package init(_ body: [UInt8], mediaType: String) throws(Fault) {
    let boundary = HeaderParameters(mediaType)["boundary"] ?? ""
    guard (1...70).contains(boundary.utf8.count), boundary.utf8.last != UInt8(ascii: " "),
      boundary.utf8.allSatisfy({ (0x20..<0x7f).contains($0) })
    else { throw .noBoundary }
    let delimiter = Array("\r\n--\(boundary)".utf8)
    // The delimiter at the start of the body needs no line break before it.
    var position: Int
    if body.starts(with: delimiter.dropFirst(2)) {
      position = delimiter.count - 2
    } else {
      guard let first = Self.find(delimiter, in: body, from: 0) else { throw .incomplete }
      position = first + delimiter.count
    }
    while true {
      if body[position...].starts(with: "--".utf8) { return }
      guard fields.count < Self.mostFields else { throw .tooMany }
      let start = try Self.endOfLine(in: body, from: position)
      let (header, content) = try Self.header(in: body, from: start)
      guard let end = Self.find(delimiter, in: body, from: content) else { throw .incomplete }
      // The empty line after the header may be the line break of the delimiter.
      let name = try Self.name(in: header)
      fields.append(Field(name: name, content: body[min(content + 2, end)..<end]))
      position = end + delimiter.count
    }
  }

  /// Returns the index after the line break of a delimiter, which may have blanks before it.
  private static func endOfLine(in body: [UInt8], from start: Int) throws(Fault) -> Int {
    var index = start
    while index < body.count, index - start < mostHeaderBytes,
      body[index] == 0x20 || body[index] == 0x09
    {
      index += 1
    }
    guard body[index...].starts(with: [0x0d, 0x0a]) else { throw .incomplete }
    return index
  }

  /// Returns the header that begins after the line break at `start`, and the index of the line break
  /// that ends its empty line.
  private static func header(
    in body: [UInt8], from start: Int
  ) throws(Fault) -> (header: ArraySlice<UInt8>, content: Int) {
    let limit = min(body.count, start + mostHeaderBytes)
    let empty: [UInt8] = [0x0d, 0x0a, 0x0d, 0x0a]
    guard let end = find(empty, in: body, from: start, upTo: limit) else { throw .badHeader }
    return (body[start..<end], end + 2)
  }

  /// Returns the name in the field `Content-Disposition` of a header.
  private static func name(in header: ArraySlice<UInt8>) throws(Fault) -> String {
    var name: String?
    for line in header.split(whereSeparator: { $0 == 0x0d || $0 == 0x0a }) {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { throw .badHeader }
      let field = String(decoding: line[..<colon], as: UTF8.self).lowercased()
      guard field == "content-disposition" else { continue }
      let value = String(decoding: line[line.index(after: colon)...], as: UTF8.self)
      let type = value.prefix { $0 != ";" }.filter { $0 != " " && $0 != "\t" }
      guard type.lowercased() == "form-data" else { throw .badHeader }
      name = HeaderParameters(value)["name"]
    }
    guard let name, !name.isEmpty else { throw .noName }
    return name
  }

  /// Returns the index of the first occurrence of `pattern`, whose first byte is a carriage return.
  private static func find(
    _ pattern: [UInt8], in body: [UInt8], from start: Int, upTo limit: Int? = nil
  ) -> Int? {
    let last = (limit ?? body.count) - pattern.count
    var index = start
    while index <= last {
      guard let next = body[index...last].firstIndex(of: 0x0d) else { return nil }
      if body[next...].starts(with: pattern) { return next }
      index = next + 1
    }
    return nil
  }
}

/// The parameters of a header field's value, such as `form-data; name="file"` (RFC 9110 section
/// 5.6.6). In a quoted value, a backslash quotes the next character.
package struct HeaderParameters: Sendable, Hashable {
  private var values: [String: String] = [:]

  /// Reads the parameters after the first semicolon. The first of several with one name is used.
  /// Reading ends at the first that is malformed.
  package init(_ text: String) {
    var rest = text.unicodeScalars.drop { $0 != ";" }
    while rest.first == ";" {
      rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" || $0 == ";" }
      let name = String(String.UnicodeScalarView(rest.prefix { $0 != "=" && $0 != ";" }))
      rest = rest.dropFirst(name.unicodeScalars.count)
      guard rest.first == "=" else { return }
      rest = rest.dropFirst()
      guard let value = Self.value(&rest) else { return }
      let key = name.lowercased().filter { $0 != " " && $0 != "\t" }
      values[key] = values[key] ?? value
      rest = rest.drop { $0 == " " || $0 == "\t" }
    }
  }

  /// Returns the value of a parameter, given its name in lower case.
  package subscript(name: String) -> String? { values[name] }

  private static func value(_ rest: inout Substring.UnicodeScalarView) -> String? {
    guard rest.first == "\"" else {
      let value = rest.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
      rest = rest.dropFirst(value.count)
      return String(String.UnicodeScalarView(value))
    }
    rest = rest.dropFirst()
    var value = String.UnicodeScalarView()
    while let next = rest.popFirst() {
      switch next {
      case "\"": return String(value)
      case "\\":
        guard let quoted = rest.popFirst() else { return nil }
        value.append(quoted)
      case _: value.append(next)
      }
    }
    return nil
  }
}
