import HoldfastJSON
package import HoldfastMessageData

/// A JWT in its compact form (RFC 7515 section 7.1), split into parts but not verified.
package struct CompactToken: Sendable, Hashable {
  /// The bytes that the signature covers: the header, a dot and the payload, as they were received.
  package var signingInput: [UInt8]
  /// The decoded payload. It is read with `Claims.decode(json:)` after the signature has been
  /// verified.
  package var payload: [UInt8]
  /// The signature. With HS256, it is an HMAC with SHA-256 and has 32 bytes.
  package var signature: [UInt8]

  /// The maximum size of a token, in bytes. The limit is Holdfast's own. Common servers accept
  /// header fields of this size.
  package static let maxBytes = 8192

  /// Splits a token and checks its header. The algorithm must be HS256, there must be no critical
  /// extensions, and `typ` must be `JWT` or absent.
  ///
  /// A thrown error contains no part of the token.
  package static func parse(_ token: String) throws(MessageError) -> CompactToken {
    let (header, token) = try split(token)
    guard header.algorithm == hs256 else { throw .malformed(detail: "alg is not HS256") }
    guard header.type.lowercased() == "jwt" else { throw .malformed(detail: "typ is not JWT") }
    guard !header.isCritical else { throw .malformed(detail: "critical extensions") }
    guard token.signature.count == 32 else {
      throw .malformed(detail: "the signature is not 32 bytes long")
    }
    return token
  }

  /// The algorithm of tokens that a backend signs itself (RFC 7518 section 3.2).
  package static let hs256 = "HS256"

  /// Splits a token of any algorithm and reads its header, which the caller has to check.
  ///
  /// A thrown error contains no part of the token.
  package static func split(
    _ token: String
  ) throws(MessageError) -> (header: TokenHeader, token: CompactToken) {
    let letters = Array(token.utf8)
    guard letters.count <= maxBytes else { throw .malformed(detail: "token too long") }
    let parts = letters.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3 else { throw .malformed(detail: "a token has three parts") }
    guard let header = Base64URL.decode(letters: parts[0]),
      let payload = Base64URL.decode(letters: parts[1]),
      let signature = Base64URL.decode(letters: parts[2])
    else { throw .malformed(detail: "a part of the token is not base64url") }
    return (
      try TokenHeader(header),
      CompactToken(
        signingInput: Array(letters[..<parts[1].endIndex]), payload: payload, signature: signature)
    )
  }

  /// Returns the bytes to sign for a token with these claims.
  package static func signingInput(claims: Claims) -> [UInt8] {
    let header = Base64URL.encode(Array(#"{"alg":"HS256","typ":"JWT"}"#.utf8))
    return Array("\(header).\(Base64URL.encode(claims.encode()))".utf8)
  }

  /// Returns the complete token: the signing input, a dot and the signature.
  package static func text(signingInput: [UInt8], signature: [UInt8]) -> String {
    String(decoding: signingInput, as: UTF8.self) + "." + Base64URL.encode(signature)
  }
}

/// The header of a token (RFC 7515 section 4.1), which is not trustworthy before the signature has
/// been verified.
package struct TokenHeader: Sendable, Hashable {
  /// The algorithm of the signature (`alg`).
  package var algorithm: String
  /// The id of the key that made the signature (`kid`); `nil` if the token names none.
  package var keyID: String?
  /// The type of the token (`typ`); `JWT` if the token names none.
  package var type: String
  /// Whether the token has extensions that its reader must understand (`crit`).
  package var isCritical: Bool

  /// Creates a header from its parts.
  package init(
    _ algorithm: String, keyID: String? = nil, type: String = "JWT", isCritical: Bool = false
  ) {
    (self.algorithm, self.keyID) = (algorithm, keyID)
    (self.type, self.isCritical) = (type, isCritical)
  }

  /// Reads a decoded header. If a member is repeated, the last one is used.
  fileprivate init(_ json: [UInt8]) throws(MessageError) {
    self = try JSONReader.read(json) { (reader) throws(JSONError) in
      var header = TokenHeader("")
      try reader.beginObject()
      while let key = try reader.nextKey() {
        let name = reader.text(of: key)
        let text = try reader.peek() == .string ? reader.string() : nil
        if text == nil { try reader.skipValue() }
        switch name {
        case "alg": header.algorithm = text ?? ""
        case "kid": header.keyID = text
        case "typ": header.type = text ?? ""
        case "crit": header.isCritical = true
        case _: break
        }
      }
      return header
    }
    guard !algorithm.isEmpty else { throw .missing(field: "alg") }
  }
}
