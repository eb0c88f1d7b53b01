import CHoldfastOpenSSL
import HoldfastOwnerFiles

/// A team's private key for Apple's push service: a P-256 key in PKCS#8 without a passphrase.
///
/// Printing a value never reveals the key.
public struct ProviderKey: Sendable {
  /// The PEM text. It is parsed again for each signature, about once in 50 minutes.
  private let pem: [UInt8]

  /// Reads the key from a `.p8` file.
  ///
  /// - Throws: An error if the file is missing, accessible to others, or not a usable key.
  public init(path: String) throws(ProviderKeyError) {
    try self.init(pem: Self.content(of: path))
  }

  /// Creates a key from the content of a file.
  ///
  /// - Throws: `.unusable` unless the content is an unencrypted P-256 key.
  public init(pem: [UInt8]) throws(ProviderKeyError) {
    self.pem = pem
    guard sign([]) != nil else { throw .unusable }
  }

  /// Returns the ES256 signature of the bytes (RFC 7518 section 3.4), which uses SHA-256. It
  /// consists of r and s, with 32 bytes each.
  func sign(_ bytes: [UInt8]) -> [UInt8]? {
    unsafe withKey { key in
      guard let context = unsafe EVP_MD_CTX_new() else { return nil }
      defer { unsafe EVP_MD_CTX_free(context) }
      var code = [UInt8](repeating: 0, count: Int(unsafe EVP_PKEY_get_size(key)))
      var length = code.count
      guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
        unsafe EVP_DigestSign(context, &code, &length, bytes, bytes.count) == 1
      else { return nil }
      return Self.raw(Array(code[..<length]))
    }
  }

  /// Converts a DER signature from OpenSSL to r followed by s.
  private static func raw(_ code: [UInt8]) -> [UInt8]? {
    unsafe code.withUnsafeBufferPointer { bytes in
      var start = bytes.baseAddress
      guard let pair = unsafe d2i_ECDSA_SIG(nil, &start, bytes.count) else { return nil }
      defer { unsafe ECDSA_SIG_free(pair) }
      var raw = [UInt8](repeating: 0, count: 64)
      let isWhole = unsafe raw.withUnsafeMutableBufferPointer { raw in
        guard let base = raw.baseAddress else { return false }
        return unsafe BN_bn2binpad(ECDSA_SIG_get0_r(pair), base, 32) == 32
          && BN_bn2binpad(ECDSA_SIG_get0_s(pair), base + 32, 32) == 32
      }
      return isWhole ? raw : nil
    }
  }

  private func withKey(_ body: (OpaquePointer) -> [UInt8]?) -> [UInt8]? {
    unsafe pem.withUnsafeBytes { bytes -> [UInt8]? in
      guard let source = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else {
        return nil
      }
      defer { unsafe BIO_free(source) }
      // Without a callback, OpenSSL would prompt for the passphrase of an encrypted key on the
      // terminal.
      let key = unsafe PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in 0 }, nil)
      ERR_clear_error()
      guard let key = unsafe key else { return nil }
      defer { unsafe EVP_PKEY_free(key) }
      return unsafe Self.isP256(key) ? body(key) : nil
    }
  }

  private static func isP256(_ key: OpaquePointer) -> Bool {
    var name = [CChar](repeating: 0, count: 32)
    var length = 0
    guard unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC,
      unsafe EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1
    else { return false }
    let group = name.prefix(length).map { UInt8(bitPattern: $0) }
    return String(decoding: group, as: UTF8.self) == "prime256v1"
  }

  /// The maximum size of a key file. Apple's key files have about 260 bytes.
  private static let maxBytes = 8_192

  private static func content(of path: String) throws(ProviderKeyError) -> [UInt8] {
    let bytes: [UInt8]?
    do {
      bytes = try OwnerFile(path, maxBytes: maxBytes, isSecret: true).read()
    } catch {
      switch error {
      case .openToOthers: throw .openToOthers(path: path)
      case .tooLarge: throw .unusable
      case .noFile, .noDirectory, .refused: throw .unreadable(path: path, detail: error.description)
      }
    }
    guard let bytes else { throw .unreadable(path: path, detail: "No such file or directory") }
    return bytes
  }
}

extension ProviderKey: CustomStringConvertible, CustomReflectable {
  /// The name of the type, without the key.
  public var description: String { "ProviderKey" }
  /// A mirror without children, so that the key is not revealed.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why a key of the push service cannot be used, without any part of the key.
public enum ProviderKeyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The file does not exist or cannot be read.
  case unreadable(path: String, detail: String)
  /// Users other than the owner can read or change the file.
  case openToOthers(path: String)
  /// The file is not a private P-256 key in PEM, or the key is encrypted with a passphrase.
  case unusable

  /// A human-readable description of the cause.
  public var description: String {
    switch self {
    case .unreadable(let path, let detail): "\(path): \(detail)"
    case .openToOthers(let path):
      "\(path): users other than its owner can read or change this secret"
    case .unusable: "the key is not a P-256 key in PKCS#8 without a passphrase"
    }
  }
}
