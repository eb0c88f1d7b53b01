/// A fault in a member of a message. It contains the names of members, but never their values.
public enum FieldFault: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The message is not JSON, or does not have the expected form.
  case malformed(detail: String)
  /// A required member is absent, `null` or empty.
  case missing(field: String)
  /// A member has a different kind of JSON value than specified.
  case wrongType(field: String)
  /// A member has a value that is not in its fixed set.
  case unknownValue(field: String, known: [String])
  /// A member is not an ISO 8601 time, or is outside the years 1677 to 2262.
  case badDate(field: String)
  /// A member exceeds one of its bounds.
  case outOfBounds(field: String)
  /// The whole message is too long.
  case tooLong(bytes: Int)

  /// A short human-readable description of the fault.
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

  /// The name of the member with the fault; `nil` if the fault concerns the whole message.
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
  /// A short human-readable description of the fault, without any part of the text.
  public var detail: String
  /// The position of the fault in bytes, counted from 0.
  public var offset: Int

  /// Creates a fault at `offset`.
  public init(_ detail: String, at offset: Int) {
    self.detail = detail
    self.offset = offset
  }
}
