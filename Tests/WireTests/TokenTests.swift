import Foundation
import HoldfastCore
import HoldfastJSON
import HoldfastTestKit
import Testing

@testable import HoldfastIdentity
@testable import HoldfastMessageData

@Suite struct Base64URLTests {
  // These are the vectors of RFC 4648 section 10 without padding, and vectors with the two
  // characters that differ.
  @Test(arguments: [
    ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
    ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("??>", "Pz8-"), ("???", "Pz8_"),
  ])
  func `writes and reads the known vectors`(plain: String, text: String) {
    #expect(Base64URL.encode(Array(text: plain)) == text)
    #expect(Base64URL.decode(text) == Array(text: plain))
  }

  @Test(arguments: [
    "Z", "Zm9vZ", "Zg==", "Zm8=", "Zm9v=", "Zh", "Zm9", "Pz8+", "Pz8/", " Zg", "Zg\n", "Z g", "Zé",
    "Zg.", "A", "Zm9vA",
  ])
  func `refuses padding, other letters and unused bits`(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test func `matches Foundation's base64, except for two letters and the padding`() {
    var generator = RandomSource(seed: 14)
    for count in 0..<100 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let text = Data(bytes).base64EncodedString().replacing("+", with: "-")
        .replacing("/", with: "_").replacing("=", with: "")
      #expect(Base64URL.encode(bytes) == text)
      #expect(Base64URL.decode(text) == bytes)
    }
  }
}

@Suite struct ClaimsTests {
  private let claims = Claims(
    user: "uid-7", name: "Ada \"L\"", shops: [Sample.shop, Sample.otherShop],
    expiresAt: Sample.time)

  private func decode(_ text: String) throws(MessageError) -> Claims {
    try Claims.decode(json: Array(text: text))
  }

  @Test func `writes and reads`() throws {
    let text =
      #"{"sub":"uid-7","name":"Ada \"L\"","shops":["123e4567-e89b-12d3-a456-426614174000","#
      + #""123e4567-e89b-12d3-a456-426614174001"],"exp":1767454200}"#
    #expect(claims.encode().text == text)
    #expect(try decode(text) == claims)
  }

  @Test func `writes whole seconds, rounded down`() throws {
    for (nanoseconds, seconds) in [(1_999_999_999, 1), (0, 0), (-1, -1)] as [(Int64, Int64)] {
      var claims = claims
      claims.expiresAt = Timestamp(nanoseconds: nanoseconds)
      #expect(claims.encode().text.hasSuffix("\"exp\":\(seconds)}"))
    }
  }

  @Test(arguments: [
    (#","admin":["a","b"]"#, ["a", "b"]), (#","admin":[]"#, []), (#","admin":null"#, []), ("", []),
    (#","admin":true"#, []), (#","admin":["a","b/c"]"#, []), (#","admin":["a",1]"#, []),
  ])
  func `a token may state the shops that its user administers`(member: String, shops: [String])
    throws
  {
    let claims = try decode(#"{"sub":"u","shops":["a"],"exp":9\#(member)}"#)
    #expect(claims.admin.map(\.text) == shops)
    #expect(try decode(claims.encode().text) == claims)
  }

  @Test(arguments: [
    (#","nbf":7"#, Int64(7_000_000_000)), (#","nbf":6.5"#, 7_000_000_000), ("", nil),
    (#","nbf":1e300"#, .max),
  ])
  func `a token may state the time from which it is valid`(member: String, nanoseconds: Int64?)
    throws
  {
    let claims = try decode(#"{"sub":"u","shops":[],"exp":9\#(member)}"#)
    #expect(claims.notBefore == nanoseconds.map { Timestamp(nanoseconds: $0) })
    guard nanoseconds != .max else { return }
    #expect(try decode(claims.encode().text) == claims)
  }

  @Test func `a not-before time that is not a number is refused`() {
    #expect(throws: MessageError.wrongType(field: "nbf")) {
      try decode(#"{"sub":"u","shops":[],"exp":9,"nbf":"soon"}"#)
    }
  }

  private static let expiries: [(String, Int64)] = [
    ("1767454200.9", 1_767_454_200_000_000_000), ("1.767454200e9", 1_767_454_200_000_000_000),
    ("0", 0), ("9223372036", 9_223_372_036_000_000_000), ("9223372037", .max),
    ("253402300799", .max), ("1e300", .max), ("-1e300", .min),
  ]

  @Test(arguments: expiries)
  func `reads any number as a time, limited to the range`(
    text: String, nanoseconds: Int64
  ) throws {
    let found = try decode(#"{"sub":"u","shops":[],"exp":\#(text),"iat":1,"aud":["x"]}"#)
    let expiresAt = Timestamp(nanoseconds: nanoseconds)
    #expect(found == Claims(user: "u", name: "", shops: [], expiresAt: expiresAt))
  }

  private static let badClaims: [(String, MessageError)] = [
    (#"{"shops":[],"exp":1}"#, .missing(field: "sub")),
    (#"{"sub":"","shops":[],"exp":1}"#, .missing(field: "sub")),
    (#"{"sub":1,"shops":[],"exp":1}"#, .wrongType(field: "sub")),
    (#"{"sub":"u","exp":1}"#, .missing(field: "shops")),
    (#"{"sub":"u","shops":"s","exp":1}"#, .wrongType(field: "shops")),
    (#"{"sub":"u","shops":[1],"exp":1}"#, .wrongType(field: "shops")),
    (#"{"sub":"u","shops":["a/b"],"exp":1}"#, .badIdentifier(field: "shops")),
    (#"{"sub":"u","shops":[]}"#, .missing(field: "exp")),
    (#"{"sub":"u","shops":[],"exp":null}"#, .missing(field: "exp")),
    (#"{"sub":"u","shops":[],"exp":"1"}"#, .wrongType(field: "exp")),
    (#"{"sub":"u","name":{},"shops":[],"exp":1}"#, .wrongType(field: "name")),
    (
      #"{"sub":"u","shops":[],"exp":1e999}"#,
      .malformed(detail: "number out of range at byte 28")
    ),
    ("", .malformed(detail: "the text ends too early at byte 0")),
  ]

  @Test(arguments: badClaims)
  func `refuses invalid claims`(text: String, error: MessageError) {
    #expect(throws: error) { try decode(text) }
  }

  @Test func `limits the user to 256 bytes`() throws {
    for count in [1, 255, 256, 257] {
      let user = String(repeating: "u", count: count)
      let text = #"{"sub":"\#(user)","shops":[],"exp":0}"#
      if count <= 256 {
        #expect(try decode(text).user == user)
      } else {
        #expect(throws: MessageError.badIdentifier(field: "sub")) { try decode(text) }
      }
    }
  }
}

@Suite struct CompactTokenTests {
  private let signature = Array(repeating: UInt8(0xAB), count: 32)
  private let claims = Claims(
    user: "u", name: "Ada", shops: [Sample.shop], expiresAt: Sample.time)

  private func token(header: String, signature: [UInt8]? = nil) -> String {
    let parts = [Array(text: header), Array(text: "{}"), signature ?? self.signature]
    return parts.map(Base64URL.encode).joined(separator: ".")
  }

  @Test func `splits the example of RFC 7515`() throws {
    let head = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
    let body =
      "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt"
      + "cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    let signature = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    let token = try CompactToken.parse("\(head).\(body).\(signature)")
    #expect(token.signingInput == Array(text: "\(head).\(body)"))
    #expect(token.payload == Base64URL.decode(body))
    #expect(token.signature.prefix(4) == [116, 24, 223, 180])
    #expect(token.signature.count == 32)
  }

  @Test func `splits a token into the parts from which it was joined`() throws {
    let input = CompactToken.signingInput(claims: claims)
    #expect(input.text.hasPrefix("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."))
    let text = CompactToken.text(signingInput: input, signature: signature)
    let token = try CompactToken.parse(text)
    let expected = CompactToken(
      signingInput: input, payload: claims.encode(), signature: signature)
    #expect(token == expected)
    #expect(try Claims.decode(json: token.payload) == claims)
  }

  @Test(arguments: [
    #"{"alg":"HS256"}"#, #"{"alg":"HS256","typ":"jwt","kid":"1"}"#, #"{"typ":"JWT","alg":"HS256"}"#,
  ])
  func `accepts HS256`(header: String) throws {
    #expect(try CompactToken.parse(token(header: header)).payload == Array(text: "{}"))
  }

  private static let badHeaders: [(String, MessageError)] = [
    (#"{"alg":"none"}"#, .malformed(detail: "alg is not HS256")),
    (#"{"alg":"None"}"#, .malformed(detail: "alg is not HS256")),
    (#"{"alg":"RS256"}"#, .malformed(detail: "alg is not HS256")),
    (#"{"alg":"HS384"}"#, .malformed(detail: "alg is not HS256")),
    (#"{"alg":"hs256"}"#, .malformed(detail: "alg is not HS256")),
    (#"{"alg":"HS256","alg":"none"}"#, .malformed(detail: "alg is not HS256")),
    (#"{"alg":null}"#, .missing(field: "alg")), ("{}", .missing(field: "alg")),
    (#"{"alg":"HS256","typ":"JWE"}"#, .malformed(detail: "typ is not JWT")),
    (#"{"alg":"HS256","typ":1}"#, .malformed(detail: "typ is not JWT")),
    (#"{"alg":"HS256","crit":["exp"]}"#, .malformed(detail: "critical extensions")),
    ("[]", .malformed(detail: "expected '{' at byte 0")),
  ]

  @Test(arguments: badHeaders)
  func `refuses other headers`(header: String, error: MessageError) {
    #expect(throws: error) { try CompactToken.parse(token(header: header)) }
  }

  @Test func `splits a token of any algorithm`() throws {
    let (header, split) = try CompactToken.split(
      token(header: #"{"alg":"RS256","kid":"a","typ":"at+jwt"}"#, signature: [1, 2, 3]))
    #expect(header == TokenHeader("RS256", keyID: "a", type: "at+jwt"))
    #expect(split.signature == [1, 2, 3])
    let plain = try CompactToken.split(token(header: #"{"alg":"none","kid":1}"#, signature: []))
    #expect(plain.header == TokenHeader("none"))
    let critical = try CompactToken.split(token(header: #"{"alg":"ES256","crit":[]}"#))
    #expect(critical.header == TokenHeader("ES256", isCritical: true))
  }

  @Test func `refuses other forms`() {
    let good = token(header: #"{"alg":"HS256"}"#)
    let parts = good.split(separator: ".")
    for text in ["", ".", "..", "...", "\(parts[0]).\(parts[1])", good + ".", good + ".x"] {
      #expect(throws: MessageError.self) { try CompactToken.parse(text) }
    }
    for text in [good + "=", good + " ", "=" + good, parts.joined(separator: "=.")] {
      #expect(throws: MessageError.malformed(detail: "a part of the token is not base64url")) {
        try CompactToken.parse(text)
      }
    }
    for count in [0, 31, 33, 64] {
      let token = token(
        header: #"{"alg":"HS256"}"#, signature: Array(repeating: 1, count: count))
      #expect(throws: MessageError.malformed(detail: "the signature is not 32 bytes long")) {
        try CompactToken.parse(token)
      }
    }
  }

  @Test func `limits a token to 8192 bytes`() throws {
    let empty = token(header: #"{"alg":"HS256","kid":""}"#).utf8.count
    // Base64 produces four characters for every three bytes.
    let fitting = (8192 - empty) / 4 * 3
    let kid = String(repeating: "k", count: fitting)
    #expect(throws: Never.self) {
      try CompactToken.parse(token(header: #"{"alg":"HS256","kid":"\#(kid)"}"#))
    }
    #expect(throws: MessageError.malformed(detail: "token too long")) {
      try CompactToken.parse(token(header: #"{"alg":"HS256","kid":"\#(kid)kkkk"}"#))
    }
  }
}
