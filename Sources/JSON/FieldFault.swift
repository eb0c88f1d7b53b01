/// A fault in a member of a message. Members are named as on the wire, without their values.
public enum FieldFault: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The message is not JSON, or does not have the expected form.
  case malformed(detail: String)
  /// A required member is absent, `null` or empty.
  case missing(field: String)
  /// A member has another kind of JSON value than specified.
  case wrongType(field: String)
  /// A member has a value outside of its fixed set.
  case unknownValue(field: String, known: [String])
  /// A member is not an ISO 8601 time, or is outside the years 1677 to 2262.
  case badDate(field: String)
  /// A member exceeds one of its bounds.
  case outOfBounds(field: String)
  /// The whole message is too long.
  case tooLong(bytes: Int)

  /// A short description of the fault for people.
  public var description: String {
    switch self {
    case .malformed(let detail): detail
    case .missing(let field): "\(field) is missing"
    case .wrongType(let field): "\(field) is of another type"
    case .unknownValue(let field, let known):
      "\(field) must be one of \(known.joined(separator: ", "))"
    case .badDate(let field): "\(field) is not an ISO 8601 date"
    case .outOfBounds(let field): "\(field) is out of bounds"
    case .tooLong(let bytes): "the message has \(bytes) bytes"
    }
  }

  /// The member with the fault, if there is a single one.
  package var field: String? {
    switch self {
    case .malformed, .tooLong: nil
    case .missing(let field), .wrongType(let field), .unknownValue(let field, _),
      .badDate(let field), .outOfBounds(let field):
      field
    }
  }
}

/// A fault in a JSON text (RFC 8259) with its position.
public struct JSONError: Error, Sendable, Hashable {
  /// A short description of the fault for people, without any part of the text.
  public var detail: String
  /// The position in bytes, from 0.
  public var offset: Int

  /// Creates a fault at `offset`.
  public init(_ detail: String, at offset: Int) {
    self.detail = detail
    self.offset = offset
  }
}
