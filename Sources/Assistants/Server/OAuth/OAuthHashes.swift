public import HoldfastCore
import HoldfastJSON

/// The hash functions that the rules of OAuth need. A library of the system computes them.
public struct OAuthHashes: Sendable {
  private let code: @Sendable ([UInt8]) -> [UInt8]
  private let hash: @Sendable ([UInt8]) -> [UInt8]
  private let comparison: @Sendable ([UInt8], [UInt8]) -> Bool

  /// Takes the functions.
  ///
  /// - Parameters:
  ///   - code: HMAC with SHA-256 (RFC 2104) with the backend's key. It returns 32 bytes.
  ///   - hash: SHA-256 (FIPS 180-4). It returns 32 bytes.
  ///   - areEqual: Compares two values in a time that does not depend on where they differ.
  public init(
    code: @escaping @Sendable ([UInt8]) -> [UInt8], hash: @escaping @Sendable ([UInt8]) -> [UInt8],
    areEqual: @escaping @Sendable ([UInt8], [UInt8]) -> Bool
  ) {
    self.code = code
    self.hash = hash
    comparison = areEqual
  }

  /// The purpose of a signature. A signature for one purpose is not valid for another.
  enum Purpose: String {
    case access, refresh, client, grant
  }

  /// Returns the signature of `bytes`.
  ///
  /// The first byte keeps signatures apart from those of other tokens of the same key, which sign
  /// text.
  func sign(_ bytes: [UInt8], for purpose: Purpose, at place: String = "") -> [UInt8] {
    code([0] + Array("oauth \(purpose.rawValue) \(place)".utf8) + [0] + bytes)
  }

  func digest(_ bytes: some Sequence<UInt8>) -> [UInt8] { hash(Array(bytes)) }

  /// Returns the hash under which a grant is stored.
  ///
  /// It is no hash of a text, so the secret of a grant is no bearer token.
  public func grant(_ secret: [UInt8]) -> TokenHash {
    guard let hash = TokenHash(sign(secret, for: .grant)) else {
      preconditionFailure("HMAC with SHA-256 makes 32 bytes")
    }
    return hash
  }

  /// Returns the hash by which a code is found.
  func key(of code: String) -> TokenHash {
    guard let hash = TokenHash(digest(code.utf8)) else {
      preconditionFailure("SHA-256 makes 32 bytes")
    }
    return hash
  }

  /// Compares two values in a time that does not depend on where they differ.
  func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool { comparison(left, right) }

  /// Returns the source expression of a style for a content security policy.
  func policySource(of style: String) -> String {
    let text = Base64URL.encode(digest(style.utf8)).map { letter in
      letter == "-" ? "+" : letter == "_" ? "/" : letter
    }
    return "'sha256-\(String(text))='"
  }
}
