import HoldfastCore

/// The refusal of a credential: the status, the reason and what the client can do.
public struct CredentialFault: Error, Sendable, Hashable, Codable {
  /// The HTTP status: 401, or 503 if no key is known that could check the token.
  public var status: Int
  /// The reason, in one human-readable sentence in ASCII without quotation marks.
  public var detail: String
  /// The time after which the client may retry, for status 503.
  public var retryAfter: Duration?
  /// Whether the request has a token.
  public var hasToken: Bool

  /// Creates a refusal with the status 401.
  public init(_ detail: String, hasToken: Bool) {
    (status, self.detail, self.hasToken) = (401, detail, hasToken)
  }

  /// Creates the refusal of a token that no key can check now.
  public init(retryAfter: Duration) {
    (status, hasToken, self.retryAfter) = (503, true, retryAfter)
    detail = "the keys of the identity provider are not known yet"
  }

  /// The value of `WWW-Authenticate` for a request with a token (RFC 6750 section 3.1); `nil` for one
  /// without, and for another status.
  public var challenge: String? {
    guard status == 401, hasToken else { return nil }
    return "\(HTTPFields.bearer) error=\"invalid_token\", error_description=\"\(detail)\""
  }
}
