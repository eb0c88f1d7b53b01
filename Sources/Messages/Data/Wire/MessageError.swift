/// The limits of a message's size.
public struct MessageLimits: Sendable, Hashable {
  /// The maximum size of a stream's frame, in bytes. The contract requires that frames above 10 KB
  /// be rejected.
  public var maxFrameBytes: Int
  /// The maximum length of a text, in Unicode scalars. The contract allows 10,000 characters.
  public var maxCharacters: Int

  /// Creates limits. The defaults are those of the contract.
  public init(maxFrameBytes: Int = 10_240, maxCharacters: Int = 10_000) {
    self.maxFrameBytes = maxFrameBytes
    self.maxCharacters = maxCharacters
  }
}

/// The reason why received bytes are not a message, a page or a token.
public enum MessageError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// The bytes are not JSON, or do not have the expected form.
  case malformed(detail: String)
  /// A required member is absent, `null`, or empty although it must not be.
  case missing(field: String)
  /// A member has a different type from the one that the contract requires.
  case wrongType(field: String)
  /// A member is not a valid UUID, shop id, position or user id.
  case badIdentifier(field: String)
  /// A member is not an ISO 8601 time with an offset, or is outside the range of `Timestamp`.
  case badDate(field: String)
  /// The message belongs to a different shop from the requested one.
  case wrongShop(found: String)
  /// The frame is longer than `MessageLimits.maxFrameBytes`.
  case frameTooLong(bytes: Int)
  /// The text has more Unicode scalars than `MessageLimits.maxCharacters`.
  case textTooLong(characters: Int)

  /// A short, human-readable description of the error.
  public var description: String {
    switch self {
    case .malformed(let detail): detail
    case .missing(let field): "\(field) is missing"
    case .wrongType(let field): "\(field) is of another type"
    case .badIdentifier(let field): "\(field) is not an identifier"
    case .badDate(let field): "\(field) is not a date"
    case .wrongShop(let found): "it belongs to shop \(found)"
    case .frameTooLong(let bytes): "its frame has \(bytes) bytes"
    case .textTooLong(let characters): "its text has \(characters) characters"
    }
  }

  /// Returns the error with `change` applied to each of its texts.
  public func mapText(_ change: (String) -> String) -> MessageError {
    switch self {
    case .malformed(let detail): .malformed(detail: change(detail))
    case .missing(let field): .missing(field: change(field))
    case .wrongType(let field): .wrongType(field: change(field))
    case .badIdentifier(let field): .badIdentifier(field: change(field))
    case .badDate(let field): .badDate(field: change(field))
    case .wrongShop(let found): .wrongShop(found: change(found))
    case .frameTooLong, .textTooLong: self
    }
  }
}
