#if canImport(CryptoKit)
  import CryptoKit
#else
  import CHoldfastOpenSSL
#endif

/// The hash SHA-256 (FIPS 180-4) of contents that are added piece by piece, one content after
/// another. A system library computes it.
@safe package struct ContentHash: ~Copyable {
  #if canImport(CryptoKit)
    private var hash = SHA256()

    /// Creates the hash of an empty content.
    package init() {}

    /// Adds bytes to the end of the content.
    package mutating func add(_ bytes: ArraySlice<UInt8>) {
      unsafe bytes.withUnsafeBytes { bytes in unsafe hash.update(bufferPointer: bytes) }
    }

    /// Returns the hash, which has 32 bytes. The next content begins empty.
    package mutating func finish() -> [UInt8] {
      defer { hash = SHA256() }
      return Array(hash.finalize())
    }
  #else
    private let context: OpaquePointer

    /// Creates the hash of an empty content. OpenSSL fails only if memory is exhausted.
    package init() {
      guard let context = unsafe EVP_MD_CTX_new(),
        unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
      else { preconditionFailure("SHA-256 belongs to every OpenSSL 3") }
      unsafe self.context = unsafe context
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds bytes to the end of the content.
    package mutating func add(_ bytes: ArraySlice<UInt8>) {
      let isAdded = unsafe bytes.withUnsafeBytes { bytes in
        unsafe EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
      }
      precondition(isAdded, "SHA-256 takes any bytes")
    }

    /// Returns the hash, which has 32 bytes. The next content begins empty.
    ///
    /// The context is kept, since its creation costs more than the hash of a short text.
    package mutating func finish() -> [UInt8] {
      var hash = [UInt8](repeating: 0, count: 32)
      let isMade =
        unsafe EVP_DigestFinal_ex(context, &hash, nil) == 1
        && EVP_DigestInit_ex(context, nil, nil) == 1
      precondition(isMade, "SHA-256 makes 32 bytes")
      return hash
    }
  #endif

  /// Returns the hash of one content, which has 32 bytes.
  package static func of(_ content: [UInt8]) -> [UInt8] {
    var hash = ContentHash()
    hash.add(content[...])
    return hash.finish()
  }
}
