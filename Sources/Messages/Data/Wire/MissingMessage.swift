package import HoldfastCore

/// The reason why a server does not have a message, with the sentence of its answer.
///
/// A 404 with another text can come from a gateway, and proves nothing about a message.
public enum MissingMessage: String, Sendable, Hashable, CaseIterable {
  /// The server has no message with this id.
  case unknown = "no such message"
  /// The message was deleted.
  case deleted = "the message was deleted"
}

extension LinkFailure {
  /// The reason why the server does not have the message of a request; `nil` if the failure does
  /// not prove that.
  package var missingMessage: MissingMessage? {
    guard case .http(let status, _, let detail) = self else { return nil }
    switch status {
    case 404: return MissingMessage(rawValue: detail)
    case 410: return .deleted
    case _: return nil
    }
  }
}
