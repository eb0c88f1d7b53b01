import HoldfastCore
import Testing

@testable import HoldfastIdentity
@testable import HoldfastMessageData
@testable import HoldfastServerParts

/// Tests of the rules for tokens of an identity provider.
struct IdentityProviderTests {
  private static let provider = IdentityProvider(issuer: "https://id.example", audience: "api")
  private static let key = IssuerKeyTests.rsa("a", .rs256)
  private static let usual =
    #""iss":"https://id.example","aud":"api","sub":"ann","exp":2000000000"#

  private static func claims(_ members: String) throws(TokenFault) -> VerifiedToken {
    try provider.claims(of: Array("{\(members)}".utf8))
  }

  private static func reason(_ members: String) -> String? {
    do throws(TokenFault) {
      _ = try claims(members)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func `reads the claims`() throws {
    let token = try Self.claims(Self.usual + #","name":"Ann","shops":["bakery","no shop"]"#)
    let end = Timestamp(nanoseconds: 2_000_000_000_000_000_000)
    let shop = try #require(ShopID("bakery"))
    #expect(
      token == VerifiedToken(Claims(user: "ann", name: "Ann", shops: [shop], expiresAt: end)))
  }

  @Test func `nobody is an admin unless a claim is named`() throws {
    let members = Self.usual + #","shops":["bakery"],"admin":["bakery"]"#
    #expect(try Self.claims(members).claims.admin == [])
    var provider = Self.provider
    provider.names.admin = ClaimNames.Place("admin")
    let token = try provider.claims(of: Array("{\(members)}".utf8))
    #expect(token.claims.admin == token.claims.shops && token.claims.admin.count == 1)
  }

  @Test(arguments: [
    (#""aud":"api","sub":"ann","exp":1"#, "wrong issuer"),
    (#""iss":"https://id.example/","aud":"api","sub":"ann","exp":1"#, "wrong issuer"),
    (#""iss":1,"aud":"api","sub":"ann","exp":1"#, "iss is of another type"),
    (#""iss":"https://id.example","sub":"ann","exp":1"#, "wrong audience"),
    (#""iss":"https://id.example","aud":["x"],"sub":"ann","exp":1"#, "wrong audience"),
    (#""iss":"https://id.example","aud":1,"sub":"ann","exp":1"#, "aud is of another type"),
    (#""iss":"https://id.example","aud":"api","sub":"ann""#, "it has no exp"),
    (#""iss":"https://id.example","aud":"api","sub":"ann","exp":"1""#, "exp is of another type"),
    (usual + #","nbf":"1""#, "nbf is of another type"),
    (#""iss":"https://id.example","aud":"api","exp":1"#, "it has no user in the claim sub"),
    (usual + #","sub":"""#, "it has no user in the claim sub"),
    (usual + #","sub":"a\nb""#, "it has no user in the claim sub"),
    (usual + #","sub":["ann"]"#, "it has no user in the claim sub"), ("", "wrong issuer"),
  ]) func `refuses other claims`(members: String, reason: String) {
    #expect(Self.reason(members) == reason)
  }

  @Test(arguments: [(1, true), (255, true), (256, true), (257, false)])
  func `a user has 1 to 256 bytes`(count: Int, isAccepted: Bool) {
    let name = String(repeating: "u", count: count)
    #expect((Self.reason(Self.usual + #","sub":"\#(name)""#) == nil) == isAccepted)
  }

  @Test(arguments: [(63, true), (64, true), (65, false)])
  func `a token has at most 64 audiences`(count: Int, isAccepted: Bool) {
    let others = [String](repeating: "\"x\"", count: count - 1)
    let all = (others + ["\"api\""]).joined(separator: ",")
    #expect((Self.reason(Self.usual + #","aud":[\#(all)]"#) == nil) == isAccepted)
  }

  @Test(arguments: [#""nbf":1000"#, #""iat":1000"#, #""nbf":1000,"iat":900"#, #""nbf":999.5"#])
  func `a token begins with the later one of nbf and iat, less a minute`(
    members: String
  ) throws {
    let token = try Self.claims("\(Self.usual),\(members)")
    #expect(token.begins == Timestamp(nanoseconds: 940_000_000_000))
    let begin = Timestamp(nanoseconds: 940_000_000_000)
    #expect(token.credential(at: begin) == .valid(token.claims))
    #expect(
      token.credential(at: begin.advanced(by: .nanoseconds(-1)))
        == .invalid(reason: "it is not valid yet"))
  }

  @Test(arguments: [
    (TokenHeader("RS256"), true), (TokenHeader("PS256", type: "at+jwt"), true),
    (TokenHeader("ES256", type: "application/at+JWT"), true), (TokenHeader("EdDSA"), true),
    (TokenHeader("HS256"), false), (TokenHeader("none"), false), (TokenHeader("rs256"), false),
    (TokenHeader("RS512"), false), (TokenHeader("RS256", type: "logout+jwt"), false),
    (TokenHeader("RS256", type: ""), false), (TokenHeader("RS256", isCritical: true), false),
  ]) func `accepts four algorithms and two types`(header: TokenHeader, isAccepted: Bool) {
    #expect(((try? IdentityProvider.algorithm(of: header)) != nil) == isAccepted)
  }

  /// Returns the reason for the refusal of a token with a header, or `nil` if it is accepted.
  private static func refusal(
    _ header: TokenHeader, isSigned: Bool = true
  ) -> String? {
    let token = CompactToken(
      signingInput: [1], payload: Array("{\(usual)}".utf8), signature: [2])
    do throws(TokenFault) {
      _ = try provider.verify(token, header, with: [key]) { key, algorithm, input, signature in
        isSigned && key == Self.key && algorithm == .rs256 && input == [1] && signature == [2]
      }
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func `checks the signature with the key of its header`() {
    #expect(Self.refusal(TokenHeader("RS256", keyID: "a")) == nil)
    #expect(Self.refusal(TokenHeader("RS256")) == nil)
    #expect(Self.refusal(TokenHeader("RS256", keyID: "b")) == "its key is unknown")
    #expect(
      Self.refusal(TokenHeader("PS256", keyID: "a")) == "its algorithm is not that of its key")
    #expect(Self.refusal(TokenHeader("HS256", keyID: "a")) == "its algorithm is not accepted")
    #expect(Self.refusal(TokenHeader("RS256", keyID: "a"), isSigned: false) == "wrong signature")
  }

  @Test func `a refusal has a challenge if there is a token (RFC 6750 section 3.1)`() {
    let now = Timestamp(nanoseconds: 0)
    func fault(_ credential: Credential) -> CredentialFault? {
      guard case .failure(let fault) = credential.checked(at: now, leeway: .zero) else {
        return nil
      }
      return fault
    }
    #expect(fault(.missing) == CredentialFault("no token", hasToken: false))
    #expect(fault(.missing)?.challenge == nil)
    #expect(
      fault(.invalid(reason: "wrong issuer"))?.challenge
        == #"Bearer error="invalid_token", error_description="invalid token: wrong issuer""#)
    let wait = fault(.unchecked(retryAfter: .seconds(9)))
    #expect(wait?.status == 503 && wait?.retryAfter == .seconds(9) && wait?.challenge == nil)
    let fields = HTTPRefusal(CredentialFault("x", hasToken: true)).headers
    #expect(
      fields.contains {
        $0 == (
          "WWW-Authenticate", #"Bearer error="invalid_token", error_description="x""#
        )
      })
  }
}
