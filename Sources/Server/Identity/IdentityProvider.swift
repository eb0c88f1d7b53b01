public import HoldfastCore
import HoldfastJSON

/// The rules for tokens of an identity provider (RFC 7519, RFC 8725).
public struct IdentityProvider: Sendable, Hashable, Codable {
  /// The only issuer that is accepted (`iss`).
  public var issuer: String
  /// The audience that a token must name (`aud`), alone or among others.
  public var audience: String
  /// The claims from which the user and the shops are read.
  public var names: ClaimNames

  /// The difference by which the provider's clock may be ahead (RFC 7519 section 4.1.5).
  public static let leeway = Duration.seconds(60)
  /// The types of tokens (`typ`), without `application/`. The second one is that of RFC 9068.
  static let types = ["jwt", "at+jwt"]
  /// The maximum number of audiences in one token. The limit is Holdfast's own.
  static let maxAudiences = 64

  /// Creates the rules.
  public init(issuer: String, audience: String, names: ClaimNames = ClaimNames()) {
    (self.issuer, self.audience, self.names) = (issuer, audience, names)
  }

  /// A function that checks a signature over bytes.
  public typealias SignatureCheck =
    @Sendable (
      _ key: IssuerKey, _ algorithm: SignatureAlgorithm, _ input: [UInt8], _ signature: [UInt8]
    ) -> Bool

  /// Returns the algorithm of a token that a provider may have signed. It is never HS256, since a
  /// public key is no secret, and never `none`.
  ///
  /// - Throws: The reason why the token cannot be accepted.
  package static func algorithm(
    of header: TokenHeader
  ) throws(TokenFault) -> SignatureAlgorithm {
    guard let algorithm = SignatureAlgorithm(rawValue: header.algorithm) else {
      throw TokenFault("its algorithm is not accepted")
    }
    var type = header.type.lowercased()
    if type.hasPrefix("application/") { type.removeFirst("application/".count) }
    guard types.contains(type) else { throw TokenFault("it is of another type") }
    guard !header.isCritical else { throw TokenFault("it has critical extensions") }
    return algorithm
  }

  /// Verifies the signature and the claims of a token, except its times.
  ///
  /// - Throws: The reason why the token is not accepted.
  package func verify(
    _ token: CompactToken, _ header: TokenHeader, with keys: [IssuerKey],
    by isSigned: SignatureCheck
  ) throws(TokenFault) -> VerifiedToken {
    let algorithm = try Self.algorithm(of: header)
    switch keys.choice(of: header.keyID, for: algorithm) {
    case .unknown: throw TokenFault("its key is unknown")
    case .unfit(let reason): throw TokenFault(reason)
    case .key(let key):
      guard isSigned(key, algorithm, token.signingInput, token.signature) else {
        throw TokenFault("wrong signature")
      }
    }
    return try claims(of: token.payload)
  }

  /// Reads the payload of a token whose signature has been verified.
  func claims(of payload: [UInt8]) throws(TokenFault) -> VerifiedToken {
    let registered: RegisteredClaims
    do throws(FieldFault) {
      registered = try RegisteredClaims(payload)
    } catch {
      throw TokenFault(error.field.map { "\($0) is of another type" } ?? "malformed")
    }
    guard registered.issuer == issuer else { throw TokenFault("wrong issuer") }
    guard registered.audiences.contains(audience) else { throw TokenFault("wrong audience") }
    guard let end = registered.end else { throw TokenFault("it has no exp") }
    let begins = registered.begins.map { $0.advanced(by: .zero - Self.leeway) }
    return VerifiedToken(try claims(in: payload, until: end), begins: begins)
  }

  private func claims(
    in payload: [UInt8], until end: Timestamp
  ) throws(TokenFault) -> Claims {
    do throws(JSONError) {
      guard let user = try names.user.text(in: payload), Self.isUser(user) else {
        throw JSONError("no user", at: 0)
      }
      return Claims(
        user: user, name: try names.name.text(in: payload) ?? "",
        namedShops: try names.shops.texts(in: payload),
        namedAdmin: try names.admin?.texts(in: payload) ?? [], expiresAt: end)
    } catch {
      throw TokenFault("it has no user in the claim \(names.user.path)")
    }
  }

  /// Returns whether a text can be the id of a user. Stores and logs keep no control characters.
  package static func isUser(_ text: String) -> Bool {
    (1...Claims.maxUserBytes).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}

/// The claims of RFC 7519 section 4.1 that decide whether a token is valid.
private struct RegisteredClaims {
  var issuer: String?
  var audiences: [String]
  var end: Timestamp?
  /// The later one of `nbf` and `iat`, rounded up, so that no token is valid too early.
  var begins: Timestamp?

  init(_ payload: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(payload, keeping: ["iss", "aud", "exp", "nbf", "iat"])
    try fields.check()
    issuer = try fields.optionalString("iss")
    audiences = try Self.audiences(fields)
    end = try fields.optionalDouble("exp").map { Timestamp(tokenSeconds: $0) }
    begins = [try fields.optionalDouble("nbf"), try fields.optionalDouble("iat")]
      .compactMap(\.self).map { Timestamp(tokenSeconds: $0.rounded(.up)) }.max()
  }

  /// Returns the audiences, which are a text or a list of texts.
  private static func audiences(_ fields: JSONFields) throws(FieldFault) -> [String] {
    if let single = try? fields.optionalString("aud") { return [single] }
    return try fields.elements("aud", atMost: IdentityProvider.maxAudiences).compactMap { element in
      var reader = JSONReader(element)
      return try? reader.string()
    }
  }
}

/// A token whose signature was verified, with its claims.
public struct VerifiedToken: Sendable, Hashable, Codable {
  /// The claims of the token. Its beginning is not among them if a provider signed it.
  public var claims: Claims
  /// The time before which the token of a provider is invalid, with the leeway.
  public var begins: Timestamp?
  /// Whether the token is one of the identity provider. Others are signed with the backend's secret.
  public var isProvided: Bool

  /// Creates a value from its parts.
  public init(_ claims: Claims, begins: Timestamp? = nil, isProvided: Bool = true) {
    (self.claims, self.begins, self.isProvided) = (claims, begins, isProvided)
  }

  /// Returns the credential at a time.
  public func credential(at wall: Timestamp) -> Credential {
    if let begins, wall < begins { return .invalid(reason: "it is not valid yet") }
    return .valid(claims)
  }
}

/// The reason why a token is not accepted. It contains no part of the token.
package struct TokenFault: Error, Sendable, Hashable {
  /// A part of a sentence for people, in ASCII without quotation marks (RFC 6750 section 3).
  package var reason: String

  package init(_ reason: String) { self.reason = reason }
}
