/// A fault in a member of a message; members are named as on the wire, without their values.
public enum FieldFault: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// No JSON, or not of the expected form.
  case malformed(detail: String)
  /// A required member is absent, `null` or empty.
  case missing(field: String)
  /// A member holds another kind of JSON value than the contract says.
  case wrongType(field: String)
  /// None of the words that the contract has for this member.
  case unknownWord(field: String, known: [String])
  /// No ISO 8601 time, or one outside the years 1677 to 2262.
  case badDate(field: String)
  /// Beyond a bound of this member.
  case outOfBounds(field: String)
  /// The whole message is longer than allowed.
  case tooLong(bytes: Int)

  /// The fault in a few words for people.
  public var description: String {
    switch self {
    case .malformed(let detail): detail
    case .missing(let field): "\(field) is missing"
    case .wrongType(let field): "\(field) is of another type"
    case .unknownWord(let field, let known):
      "\(field) must be one of \(known.joined(separator: ", "))"
    case .badDate(let field): "\(field) is no ISO 8601 date"
    case .outOfBounds(let field): "\(field) is out of bounds"
    case .tooLong(let bytes): "the message has \(bytes) bytes"
    }
  }

  /// The member at fault, if it is a single one.
  package var field: String? {
    switch self {
    case .malformed, .tooLong: nil
    case .missing(let field), .wrongType(let field), .unknownWord(let field, _),
      .badDate(let field), .outOfBounds(let field):
      field
    }
  }
}

/// A fault in a JSON text (RFC 8259) and its place.
public struct JSONError: Error, Sendable, Hashable {
  /// The fault in a few words for people, without a part of the text.
  public var detail: String
  /// The place in bytes, from 0.
  public var offset: Int

  /// A fault at `offset`.
  public init(_ detail: String, at offset: Int) {
    self.detail = detail
    self.offset = offset
  }
}
