/// The sizes that a message may have.
public struct MessageLimits: Sendable, Hashable {
  /// Largest stream frame in bytes; the contract rejects what is over 10 KB.
  public var maxFrameBytes: Int
  /// Longest text in Unicode scalars; the contract allows 10,000 characters.
  public var maxCharacters: Int

  /// The contract's limits, or others.
  public init(maxFrameBytes: Int = 10_240, maxCharacters: Int = 10_000) {
    self.maxFrameBytes = maxFrameBytes
    self.maxCharacters = maxCharacters
  }
}

/// Why bytes from the other side are no message, page or token.
public enum MessageError: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// No JSON, or not of the expected form.
  case malformed(detail: String)
  /// A required member is absent, `null` or, where that says nothing, empty.
  case missing(field: String)
  /// A member holds another kind of JSON value than the contract says.
  case wrongType(field: String)
  /// No UUID, shop id, position or user id where one must stand.
  case badIdentifier(field: String)
  /// No time of ISO 8601 with an offset, or one outside the range of `Timestamp`.
  case badDate(field: String)
  /// Belongs to another shop than the one asked for.
  case wrongShop(found: String)
  /// Over `MessageLimits.maxFrameBytes`.
  case frameTooLong(bytes: Int)
  /// Over `MessageLimits.maxCharacters`, in Unicode scalars.
  case textTooLong(characters: Int)

  /// The error in a few words for people.
  public var description: String {
    switch self {
    case .malformed(let detail): detail
    case .missing(let field): "\(field) is missing"
    case .wrongType(let field): "\(field) is of another type"
    case .badIdentifier(let field): "\(field) is no identifier"
    case .badDate(let field): "\(field) is no date"
    case .wrongShop(let found): "it belongs to shop \(found)"
    case .frameTooLong(let bytes): "its frame has \(bytes) bytes"
    case .textTooLong(let characters): "its text has \(characters) characters"
    }
  }

  /// The same error with each text that stands in it changed.
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
