import CHoldfastOpenSSL
import HoldfastIdentity

/// The check of signatures with public keys, which OpenSSL does.
enum TokenSignature {
  /// Returns whether `signature` is the signature of `input` by the owner of the key. It is not if
  /// the key does not fit the algorithm.
  @Sendable static func isValid(
    _ key: IssuerKey, _ algorithm: SignatureAlgorithm, _ input: [UInt8], _ signature: [UInt8]
  ) -> Bool {
    // Failed checks leave errors in a queue of the thread, which other users of OpenSSL read.
    defer { ERR_clear_error() }
    switch (key.material, algorithm) {
    case (.rsa(let modulus, let exponent), .rs256), (.rsa(let modulus, let exponent), .ps256):
      guard let rsa = unsafe rsa(modulus, exponent) else { return false }
      defer { unsafe EVP_PKEY_free(rsa) }
      return unsafe verify(
        rsa, EVP_sha256(), input, signature, usesPSS: algorithm == .ps256)
    case (.p256(let x, let y), .es256):
      guard let signature = der(signature), let point = unsafe p256(x, y) else { return false }
      defer { unsafe EVP_PKEY_free(point) }
      return unsafe verify(point, EVP_sha256(), input, signature)
    case (.ed25519(let bytes), .edDSA):
      let made = unsafe EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
      guard let key = unsafe made else { return false }
      defer { unsafe EVP_PKEY_free(key) }
      return unsafe verify(key, nil, input, signature)
    case (.rsa, _), (.p256, _), (.ed25519, _): return false
    }
  }

  /// Checks a signature. Ed25519 has a hash function of its own, for which `hash` is `nil`.
  private static func verify(
    _ key: OpaquePointer, _ hash: OpaquePointer?, _ input: [UInt8], _ signature: [UInt8],
    usesPSS: Bool = false
  ) -> Bool {
    guard let context = unsafe EVP_MD_CTX_new() else { return false }
    defer { unsafe EVP_MD_CTX_free(context) }
    var parameters: OpaquePointer?
    guard unsafe EVP_DigestVerifyInit(context, &parameters, hash, nil, key) == 1 else {
      return false
    }
    if usesPSS {
      // The salt is as long as the hash (RFC 7518 section 3.5).
      guard unsafe EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1,
        unsafe EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
      else { return false }
    }
    return unsafe EVP_DigestVerify(context, signature, signature.count, input, input.count) == 1
  }

  private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8]) -> OpaquePointer? {
    let n = unsafe BN_bin2bn(modulus, Int32(modulus.count), nil)
    let e = unsafe BN_bin2bn(exponent, Int32(exponent.count), nil)
    defer {
      unsafe BN_free(n)
      unsafe BN_free(e)
    }
    return unsafe key("RSA") { build in unsafe holdfast_push_rsa(build, n, e) == 1 }
  }

  /// Returns a key of P-256, or `nil` if the point is not on the curve.
  private static func p256(_ x: [UInt8], _ y: [UInt8]) -> OpaquePointer? {
    // The uncompressed form of a point (SEC 1 section 2.3.3).
    let point = [4] + x + y
    return unsafe point.withUnsafeBytes { bytes in
      unsafe key("EC") { build in
        unsafe holdfast_push_p256(build, bytes.baseAddress, bytes.count) == 1
      }
    }
  }

  /// Returns a public key from the parameters that `push` adds.
  private static func key(
    _ type: String, _ push: (OpaquePointer) -> Bool
  ) -> OpaquePointer? {
    guard let build = unsafe OSSL_PARAM_BLD_new() else { return nil }
    defer { unsafe OSSL_PARAM_BLD_free(build) }
    guard unsafe push(build), let parameters = unsafe OSSL_PARAM_BLD_to_param(build) else {
      return nil
    }
    defer { unsafe OSSL_PARAM_free(parameters) }
    guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
    defer { unsafe EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard unsafe EVP_PKEY_fromdata_init(context) == 1,
      unsafe EVP_PKEY_fromdata(context, &key, holdfast_public_key(), parameters) == 1
    else {
      unsafe EVP_PKEY_free(key)
      return nil
    }
    return unsafe key
  }

  /// Returns the DER form of r followed by s (RFC 7518 section 3.4); `nil` if they do not have 32
  /// bytes each.
  private static func der(_ raw: [UInt8]) -> [UInt8]? {
    guard raw.count == 64, let pair = unsafe ECDSA_SIG_new() else { return nil }
    defer { unsafe ECDSA_SIG_free(pair) }
    let r = unsafe BN_bin2bn(Array(raw[..<32]), 32, nil)
    let s = unsafe BN_bin2bn(Array(raw[32...]), 32, nil)
    guard unsafe ECDSA_SIG_set0(pair, r, s) == 1 else {
      unsafe BN_free(r)
      unsafe BN_free(s)
      return nil
    }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = unsafe i2d_ECDSA_SIG(pair, &bytes)
    defer { unsafe holdfast_free(bytes) }
    guard count > 0, let bytes = unsafe bytes else { return nil }
    return unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }
}
