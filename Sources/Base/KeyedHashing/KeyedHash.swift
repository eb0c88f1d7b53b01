#if canImport(CryptoKit)
  import CryptoKit
#else
  import CHoldfastOpenSSL
#endif

/// The authentication code HMAC with SHA-256 (RFC 2104, FIPS 180-4), which a system library
/// computes.
public enum KeyedHash {
  /// Returns the authentication code of `bytes`. It has 32 bytes.
  public static func sha256(key: [UInt8], over bytes: [UInt8]) -> [UInt8] {
    #if canImport(CryptoKit)
      return Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    #else
      var hash = [UInt8](repeating: 0, count: 32)
      var length: UInt32 = 0
      let made = unsafe HMAC(
        EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &hash, &length)
      // HMAC fails only if memory is exhausted or the hash function is unknown.
      precondition(unsafe made != nil && length == 32, "HMAC with SHA-256 makes 32 bytes")
      return hash
    #endif
  }

  /// Compares two secrets in a time that does not depend on where they differ.
  ///
  /// The time could otherwise reveal a secret byte by byte.
  public static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    #if canImport(CryptoKit)
      return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    #else
      return unsafe CRYPTO_memcmp(left, right, left.count) == 0
    #endif
  }
}
