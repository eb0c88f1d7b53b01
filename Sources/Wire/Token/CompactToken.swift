/// A JWT in its compact form (RFC 7515 section 7.1), split but not yet verified.
public struct CompactToken: Sendable, Hashable {
  /// The bytes that the signature covers: header, dot, payload, as they came.
  public var signingInput: [UInt8]
  /// Decoded; `Claims.decode(json:)` reads it once the signature is verified.
  public var payload: [UInt8]
  /// HMAC with SHA-256: 32 bytes.
  public var signature: [UInt8]

  public static func parse(_ token: String) throws(MessageError) -> CompactToken {
    throw .malformed(detail: "")
  }

  /// What must be signed to make a token of these claims.
  public static func signingInput(claims: Claims) -> [UInt8] { [] }

  /// The whole token: the signing input, a dot, the signature.
  public static func text(signingInput: [UInt8], signature: [UInt8]) -> String { "" }
}
