/// The members of one JSON object, with the bytes of each value.
///
/// Members may be in any order. Members that were read before a fault stay available, so that an
/// error can identify its request.
package struct JSONFields: Sendable {
  private let bytes: [UInt8]
  private var values: [String: Value] = [:]
  /// The fault of the text if it is not a JSON object; otherwise `nil`.
  package private(set) var fault: JSONError?

  private struct Value {
    var kind: JSONReader.Kind
    var range: Range<Int>
  }

  /// Reads an object, and keeps only the members with these names. If a name is repeated, the last
  /// member is used.
  package init(_ bytes: [UInt8], keeping names: [String]) {
    self.bytes = bytes
    var reader = JSONReader(bytes)
    do throws(JSONError) {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = names.first { reader.matches(key, $0) }
        let kind = try reader.peek()
        let start = reader.position
        try reader.skipValue()
        if let name { values[name] = Value(kind: kind, range: start..<reader.position) }
      }
      try reader.finish()
    } catch {
      fault = error
    }
  }

  /// Throws an error if the text is not a JSON object.
  package func check() throws(FieldFault) {
    guard let fault else { return }
    throw .malformed(detail: "\(fault.detail) at byte \(fault.offset)")
  }

  /// Returns whether the member is present and not `null`.
  package func has(_ name: String) -> Bool {
    values[name].map { $0.kind != .null } ?? false
  }

  /// Returns the value of a member if it has the kind; `nil` if the member is absent or `null`.
  private func value(
    _ name: String, _ kind: JSONReader.Kind
  ) throws(FieldFault) -> Value? {
    guard let value = values[name], value.kind != .null else { return nil }
    guard value.kind == kind else { throw .wrongType(field: name) }
    return value
  }

  /// Decodes a value, which was validated when the object was read.
  private func read<Found>(
    _ value: Value, _ body: (inout JSONReader) throws(JSONError) -> Found
  ) throws(FieldFault) -> Found {
    var reader = JSONReader(bytes)
    reader.position = value.range.lowerBound
    do throws(JSONError) {
      return try body(&reader)
    } catch {
      throw .malformed(detail: error.detail)
    }
  }

  package func optionalString(_ name: String) throws(FieldFault) -> String? {
    guard let value = try value(name, .string) else { return nil }
    return try read(value) { (reader) throws(JSONError) in try reader.string() }
  }

  /// Returns a required string of 1 to `limit` bytes.
  package func string(_ name: String, atMost limit: Int) throws(FieldFault) -> String {
    guard let text = try optionalString(name), !text.isEmpty else { throw .missing(field: name) }
    guard text.utf8.count <= limit else { throw .outOfBounds(field: name) }
    return text
  }

  package func optionalBool(_ name: String) throws(FieldFault) -> Bool? {
    guard let value = try value(name, .bool) else { return nil }
    return try read(value) { (reader) throws(JSONError) in try reader.bool() }
  }

  /// Returns a whole number within the bounds; `nil` if the member is absent or `null`.
  package func optionalInt<Number: FixedWidthInteger>(
    _ name: String, in bounds: ClosedRange<Number>
  ) throws(FieldFault) -> Number? {
    guard let value = try value(name, .number) else { return nil }
    let found = try read(value) { (reader) throws(JSONError) in try reader.intIfWhole() }
    guard let found else { throw .wrongType(field: name) }
    guard let number = Number(exactly: found), bounds.contains(number) else {
      throw .outOfBounds(field: name)
    }
    return number
  }

  package func int<Number: FixedWidthInteger>(
    _ name: String, in bounds: ClosedRange<Number>
  ) throws(FieldFault) -> Number {
    guard let number = try optionalInt(name, in: bounds) else { throw .missing(field: name) }
    return number
  }

  package func optionalDouble(_ name: String) throws(FieldFault) -> Double? {
    guard let value = try value(name, .number) else { return nil }
    return try read(value) { (reader) throws(JSONError) in try reader.double() }
  }

  /// Returns the bytes of a required object.
  package func object(_ name: String) throws(FieldFault) -> [UInt8] {
    guard let value = try value(name, .object) else { throw .missing(field: name) }
    return Array(bytes[value.range])
  }

  /// Returns the bytes of each element of an array; an empty array if the member is absent.
  package func elements(
    _ name: String, atMost limit: Int
  ) throws(FieldFault) -> [[UInt8]] {
    guard let value = try value(name, .array) else { return [] }
    let elements = try read(value) { (reader) throws(JSONError) in
      var elements: [[UInt8]] = []
      try reader.beginArray()
      while try reader.nextElement() {
        _ = try reader.peek()
        let start = reader.position
        try reader.skipValue()
        if elements.count <= limit { elements.append(Array(reader.bytes[start..<reader.position])) }
      }
      return elements
    }
    guard elements.count <= limit else { throw .outOfBounds(field: name) }
    return elements
  }

  /// Returns one of a fixed set of labels, in any letter case; `nil` if the member is absent or
  /// empty.
  package func optionalValue<Label: RawRepresentable<String> & CaseIterable>(
    _ name: String, of: Label.Type = Label.self
  ) throws(FieldFault) -> Label? {
    guard let text = try optionalString(name), !text.isEmpty else { return nil }
    guard let label = Label(rawValue: text) ?? Label(rawValue: text.uppercased()) else {
      throw .unknownValue(field: name, known: Label.allCases.map(\.rawValue))
    }
    return label
  }
}
