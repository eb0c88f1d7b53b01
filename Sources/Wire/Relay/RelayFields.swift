/// The members of one JSON object, each by the bytes of its value.
///
/// Members come in any order, and what was read before a fault still says whom to tell of it.
struct RelayFields {
  private let bytes: [UInt8]
  private var values: [String: Value] = [:]
  /// Where the text stops being JSON, or an object at all.
  private(set) var fault: JSONError?

  private struct Value {
    var kind: JSONReader.Kind
    var range: Range<Int>
  }

  /// Keeps the members of these names; of repeated ones the last counts.
  init(_ bytes: [UInt8], keeping names: [String]) {
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

  /// Throws what is wrong with the text itself.
  func check() throws(RelayWireError.Fault) {
    guard let fault else { return }
    throw .malformed(detail: "\(fault.detail) at byte \(fault.offset)")
  }

  /// Whether the member is there and not `null`.
  func has(_ name: String) -> Bool {
    values[name].map { $0.kind != .null } ?? false
  }

  /// The member's value; `nil` if it is absent or `null`.
  private func value(
    _ name: String, _ kind: JSONReader.Kind
  ) throws(RelayWireError.Fault) -> Value? {
    guard let value = values[name], value.kind != .null else { return nil }
    guard value.kind == kind else { throw .wrongType(field: name) }
    return value
  }

  /// The member's value, as it was checked when the object was read.
  private func read<Found>(
    _ value: Value, _ body: (inout JSONReader) throws(JSONError) -> Found
  ) throws(RelayWireError.Fault) -> Found {
    var reader = JSONReader(Array(bytes[value.range]))
    do throws(JSONError) {
      return try body(&reader)
    } catch {
      throw .malformed(detail: error.detail)
    }
  }

  func optionalString(_ name: String) throws(RelayWireError.Fault) -> String? {
    guard let value = try value(name, .string) else { return nil }
    return try read(value) { (reader) throws(JSONError) in try reader.string() }
  }

  /// A string of at least one byte.
  func string(_ name: String, atMost limit: Int) throws(RelayWireError.Fault) -> String {
    guard let text = try optionalString(name), !text.isEmpty else { throw .missing(field: name) }
    guard text.utf8.count <= limit else { throw .outOfBounds(field: name) }
    return text
  }

  func optionalBool(_ name: String) throws(RelayWireError.Fault) -> Bool? {
    guard let value = try value(name, .bool) else { return nil }
    return try read(value) { (reader) throws(JSONError) in try reader.bool() }
  }

  /// A whole number within bounds.
  func optionalInt(
    _ name: String, in bounds: ClosedRange<Int>
  ) throws(RelayWireError.Fault) -> Int? {
    guard let value = try value(name, .number) else { return nil }
    let found = try read(value) { (reader) throws(JSONError) in try reader.intIfWhole() }
    guard let found else { throw .wrongType(field: name) }
    guard let number = Int(exactly: found), bounds.contains(number) else {
      throw .outOfBounds(field: name)
    }
    return number
  }

  func int(_ name: String, in bounds: ClosedRange<Int>) throws(RelayWireError.Fault) -> Int {
    guard let number = try optionalInt(name, in: bounds) else { throw .missing(field: name) }
    return number
  }

  func optionalDouble(_ name: String) throws(RelayWireError.Fault) -> Double? {
    guard let value = try value(name, .number) else { return nil }
    return try read(value) { (reader) throws(JSONError) in try reader.double() }
  }

  /// The bytes of an object.
  func object(_ name: String) throws(RelayWireError.Fault) -> [UInt8] {
    guard let value = try value(name, .object) else { throw .missing(field: name) }
    return Array(bytes[value.range])
  }

  /// The bytes of each element of an array; none if it is absent.
  func elements(
    _ name: String, atMost limit: Int
  ) throws(RelayWireError.Fault) -> [[UInt8]] {
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

  /// A time in ISO 8601.
  func time(_ name: String) throws(RelayWireError.Fault) -> HealthTime {
    let text = try string(name, atMost: 64)
    guard let time = HealthTime(text) else { throw .badDate(field: name) }
    return time
  }

  /// A word of a closed list in either letter case; `nil` if it is absent or empty.
  func optionalWord<Word: RawRepresentable<String> & CaseIterable>(
    _ name: String, of: Word.Type = Word.self
  ) throws(RelayWireError.Fault) -> Word? {
    guard let text = try optionalString(name), !text.isEmpty else { return nil }
    guard let word = Word(rawValue: text) ?? Word(rawValue: text.uppercased()) else {
      throw .unknownWord(field: name, known: Word.allCases.map(\.rawValue))
    }
    return word
  }

  /// The id of a request, under any of the names that were ever used for it.
  func requestID() throws(RelayWireError.Fault) -> RelayRequestID? {
    for name in Self.idNames {
      guard let text = try optionalString(name), !text.isEmpty else { continue }
      guard let id = RelayRequestID(text) else { throw .outOfBounds(field: name) }
      return id
    }
    return nil
  }

  /// In the order in which they count.
  static let idNames = ["request_id", "requestId", "id"]
}

extension RelayWireError {
  /// Runs `body`, and says of its fault which request and which kind it belongs to.
  static func about<Value>(
    _ id: RelayRequestID?, _ kind: RelayQuestion.Kind? = nil,
    _ body: () throws(Fault) -> Value
  ) throws(RelayWireError) -> Value {
    do throws(Fault) {
      return try body()
    } catch {
      throw RelayWireError(error, id: id, kind: kind)
    }
  }
}
