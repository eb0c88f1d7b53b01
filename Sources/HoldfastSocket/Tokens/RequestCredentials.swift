package import HoldfastCore
package import HoldfastPorts

/// The location of the token with which a held socket signs in.
public enum TokenPlacement: String, Sendable, Hashable, CaseIterable {
  /// The header `Authorization: Bearer …`.
  case header
  /// The query `?token=…`, for libraries and proxies that drop the header.
  case query
  /// Only the greeting that the app's function `hello` creates. The request contains no token.
  case greeting
}

/// The source of a request's token, and the location of the token in the request.
package enum RequestCredentials: Sendable {
  /// No token.
  case none
  /// A single token that is not renewed, sent in the header.
  case fixed(String)
  /// Tokens from a vault, which renews them when they expire or are refused.
  case vault(TokenVault, TokenPlacement)

  /// The current token, if there is one. Reading it does not call the token source.
  package var present: String? {
    get async {
      switch self {
      case .none: nil
      case .fixed(let token): token
      case .vault(let vault, _): await vault.token
      }
    }
  }

  /// Returns the current token, or requests the first one from the source.
  ///
  /// - Throws: `.http` with status 401, or `.local`, if the source supplies no token.
  package func first() async throws(LinkFailure) -> String? {
    switch self {
    case .none, .fixed: await present
    case .vault(let vault, _): try await vault.first()
    }
  }

  /// Returns whether the server refused a token, which must not be sent again.
  package func hasRefused(_ token: String?) async -> Bool {
    switch self {
    case .none, .fixed: false
    case .vault(let vault, _): await vault.hasRefused(token)
    }
  }

  /// Records that the server refused a token.
  package func refused(_ token: String?) async {
    switch self {
    case .none, .fixed: return
    case .vault(let vault, _): await vault.refused(token)
    }
  }

  /// Returns the headers and query items that carry a token.
  package func fields(_ token: String?) -> TokenFields {
    guard let token else { return ([], []) }
    switch self {
    case .none, .vault(_, .greeting): return ([], [])
    case .fixed, .vault(_, .header):
      return ([(Authorization.name, Authorization.field(token))], [])
    case .vault(_, .query): return ([], [("token", token)])
    }
  }
}
