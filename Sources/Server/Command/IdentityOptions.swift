import HoldfastBackend
import HoldfastCommandKit
import HoldfastIdentity

/// The options of `serve` for tokens of an identity provider.
enum IdentityOptions {
  static let url = Parameter.optional(
    "jwks-url", .outgoingURL("https://id.example/realms/main/protocol/openid-connect/certs"),
    usual: "no identity provider",
    "also accept tokens that an identity provider signed with RS256, PS256, ES256 or EdDSA, for "
      + "shop messages, health sync and sessions; its public keys (RFC 7517) are fetched here, and "
      + "again as its Cache-Control says, after 5m to 24h")
  static let file = Parameter.optional(
    "jwks-file", .text("FILE"), usual: "no identity provider",
    "as --jwks-url, with the public keys of this file, which SIGHUP reloads")
  static let issuer = Parameter.optional(
    "token-issuer", .text("ISSUER"),
    "the identity provider's name in its tokens (iss), exactly as written there")
  static let audience = Parameter.optional(
    "token-audience", .text("AUDIENCE"),
    "the name of this backend in the identity provider's tokens (aud)")
  static let claims = Parameter.optional(
    "token-claims", .claims, usual: "\(ClaimNames())",
    "the claims with a user's id, name and shops (and admin: those of them in which it may delete "
      + "the messages of others); dots lead into objects, and a beginning in brackets is removed: "
      + "shops=realm_access.roles[shop-] reads the role shop-bakery as the shop bakery")

  /// Stores the values of the options.
  ///
  /// - Throws: A failure if an option is missing, or two exclude each other.
  static func read(
    _ call: Invocation, into configuration: inout BackendConfiguration
  ) throws(CommandFailure) {
    guard let keys = try keys(call) else {
      for (name, isThere) in [
        ("--token-issuer", call[issuer] != nil), ("--token-audience", call[audience] != nil),
        ("--token-claims", call[claims] != nil),
      ] where isThere {
        throw CommandFailure(
          .usage, "\(name) needs the public keys of an identity provider",
          remedy: "add --jwks-url or --jwks-file, or leave \(name) out")
      }
      return
    }
    guard let issuer = call[issuer], let audience = call[audience] else {
      throw CommandFailure(
        .usage, "tokens of an identity provider need an issuer and an audience",
        remedy: "use --token-issuer and --token-audience with the values of iss and aud in its "
          + "tokens; without them, tokens for other services would be accepted")
    }
    configuration.identity = IdentityConfiguration(
      keys: keys,
      provider: IdentityProvider(
        issuer: issuer, audience: audience, names: call[claims] ?? ClaimNames()))
  }

  private static func keys(
    _ call: Invocation
  ) throws(CommandFailure) -> IdentityConfiguration.Keys? {
    switch (call[url], call[file]) {
    case (nil, nil): return nil
    case (let url?, nil): return .url(url)
    case (nil, let file?):
      try TextFile.mustBeFile(file, option: "--jwks-file", .usage)
      return .file(file)
    case (_?, _?):
      throw CommandFailure(
        .usage, "--jwks-url and --jwks-file exclude each other", remedy: "use one of them")
    }
  }
}

extension Format<ClaimNames> {
  /// The format for the names of claims.
  fileprivate static let claims = Format(
    placeholder: "NAMES",
    expectation: "user, name, shops or admin, each at most once, with the path of its claim, such "
      + "as user=sub,name=preferred_username,shops=realm_access.roles[shop-]"
  ) {
    ClaimNames($0)
  }
}
