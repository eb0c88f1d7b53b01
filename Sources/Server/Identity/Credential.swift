public import HoldfastCore
public import HoldfastServerParts

/// The credential of a request.
///
/// The signature is verified before the rules are applied. The rules check the token's times and
/// shops.
public enum Credential: Sendable, Hashable, Codable {
  /// The request has no token.
  case missing
  /// A token that is unreadable, uses a foreign algorithm, or has a wrong signature.
  ///
  /// The reason never quotes the token.
  case invalid(reason: String)
  /// A token with a valid signature.
  case valid(Claims)
  /// A token of an identity provider whose keys are not known yet.
  case unchecked(retryAfter: Duration)
}

extension Credential {
  /// Returns the claims of a token that is valid at a time.
  public func checked(
    at wall: Timestamp, leeway: Duration
  ) -> Result<Claims, CredentialFault> {
    func invalid(_ detail: String) -> Result<Claims, CredentialFault> {
      .failure(CredentialFault(detail, hasToken: true))
    }
    switch self {
    case .valid(let claims) where wall >= claims.expiresAt: return invalid("the token has expired")
    case .valid(let claims) where !claims.hasBegun(by: wall, within: leeway):
      return invalid("the token is not valid yet")
    case .valid(let claims): return .success(claims)
    case .missing: return .failure(CredentialFault("no token", hasToken: false))
    case .invalid(let detail): return invalid("invalid token: \(detail)")
    case .unchecked(let wait): return .failure(CredentialFault(retryAfter: wait))
    }
  }
}
