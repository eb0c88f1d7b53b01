import HoldfastJSON

/// An algorithm of an identity provider's signatures.
public enum SignatureAlgorithm: String, Sendable, Hashable, Codable, CaseIterable {
  // RFC 7518 section 3.1.
  /// RSA with PKCS #1 padding and SHA-256.
  case rs256 = "RS256"
  /// RSA with PSS padding and SHA-256.
  case ps256 = "PS256"
  /// ECDSA with P-256 and SHA-256.
  case es256 = "ES256"
  /// Ed25519 (RFC 8037 section 3.1).
  case edDSA = "EdDSA"
}

/// A public key with which an identity provider signs tokens (RFC 7517).
public struct IssuerKey: Sendable, Hashable, Codable {
  /// The numbers of a public key, as unsigned bytes in network order.
  public enum Material: Sendable, Hashable, Codable {
    /// An RSA key (RFC 7518 section 6.3.1).
    case rsa(modulus: [UInt8], exponent: [UInt8])
    /// A point on the curve P-256 (RFC 7518 section 6.2.1), with 32 bytes for each coordinate.
    case p256(x: [UInt8], y: [UInt8])
    /// An Ed25519 key with 32 bytes (RFC 8037 section 2).
    case ed25519([UInt8])
  }

  /// The id by which a token names the key (`kid`); `nil` if it has none.
  public var id: String?
  /// The only algorithm of the key (`alg`); `nil` for each that fits its type.
  public var algorithm: SignatureAlgorithm?
  /// The key itself.
  public var material: Material

  /// The sizes of accepted RSA keys in bits. RFC 7518 section 3.3 demands the lower one. The upper
  /// one is Holdfast's own, since a larger key only makes checks slow.
  public static let rsaBits = 2_048...8_192

  /// Creates a key from its parts.
  public init(id: String?, algorithm: SignatureAlgorithm? = nil, _ material: Material) {
    (self.id, self.algorithm, self.material) = (id, algorithm, material)
  }

  /// Returns whether a signature of the algorithm may be checked with this key (RFC 8725 section
  /// 3.1).
  func fits(_ algorithm: SignatureAlgorithm) -> Bool {
    guard self.algorithm == nil || self.algorithm == algorithm else { return false }
    switch (material, algorithm) {
    case (.rsa, .rs256), (.rsa, .ps256), (.p256, .es256), (.ed25519, .edDSA): return true
    case (.rsa, _), (.p256, _), (.ed25519, _): return false
    }
  }
}

/// The reason why a document is no usable key set. It contains no part of the document.
public struct KeySetFault: Error, Sendable, Hashable, Codable, CustomStringConvertible {
  /// A human-readable description of the fault.
  public var description: String

  /// Creates a fault from its description.
  public init(_ description: String) { self.description = description }
}

extension IssuerKey {
  /// The maximum number of keys of a key set. The limit is Holdfast's own.
  public static let maxKeys = 100
  /// The maximum size of a key set, in bytes. The limit is Holdfast's own.
  public static let maxSetBytes = 1 << 20

  /// Reads a key set (RFC 7517 section 5). Keys of other types and for other uses are left out, such
  /// as those for encryption, symmetric keys and RSA keys that are too short.
  ///
  /// - Throws: A fault if the document is no key set, is too large, or has no usable key.
  public static func readSet(_ document: [UInt8]) throws(KeySetFault) -> [IssuerKey] {
    guard document.count <= maxSetBytes else {
      throw KeySetFault("the key set has more than \(maxSetBytes) bytes")
    }
    let elements: [[UInt8]]
    do throws(FieldFault) {
      let fields = JSONFields(document, keeping: ["keys"])
      try fields.check()
      guard fields.has("keys") else { throw .missing(field: "keys") }
      elements = try fields.elements("keys", atMost: maxKeys)
    } catch {
      if case .outOfBounds = error {
        throw KeySetFault("the key set has more than \(maxKeys) keys")
      }
      throw KeySetFault("the document is no key set: \(error)")
    }
    let keys = elements.compactMap { IssuerKey($0) }
    guard !keys.isEmpty else {
      throw KeySetFault("the key set has no key for RS256, PS256, ES256 or EdDSA signatures")
    }
    return keys
  }

  private static let names = ["kty", "kid", "use", "key_ops", "alg", "crv", "n", "e", "x", "y"]

  /// Reads a key (RFC 7517 section 4). Returns `nil` if it is not a usable one.
  private init?(_ json: [UInt8]) {
    let fields = JSONFields(json, keeping: Self.names)
    guard let key = try? Self.read(fields) else { return nil }
    self = key
  }

  private static func read(_ fields: JSONFields) throws(FieldFault) -> IssuerKey? {
    try fields.check()
    guard try fields.optionalString("use") ?? "sig" == "sig" else { return nil }
    let operations = try fields.elements("key_ops", atMost: 16)
    guard operations.isEmpty || operations.contains(Array("\"verify\"".utf8)) else { return nil }
    var algorithm: SignatureAlgorithm?
    if let name = try fields.optionalString("alg") {
      guard let known = SignatureAlgorithm(rawValue: name) else { return nil }
      algorithm = known
    }
    guard let material = try material(fields) else { return nil }
    let key = IssuerKey(
      id: try fields.optionalString("kid"), algorithm: algorithm, material)
    return algorithm.map(key.fits) ?? true ? key : nil
  }

  private static func material(_ fields: JSONFields) throws(FieldFault) -> Material? {
    func number(_ name: String) throws(FieldFault) -> [UInt8]? {
      try fields.optionalString(name).flatMap { Base64URL.decode($0) }
    }
    switch (try fields.optionalString("kty"), try fields.optionalString("crv")) {
    case ("RSA", _):
      // Some providers write a leading zero, which RFC 7518 section 6.3.1.1 forbids.
      guard let modulus = try number("n")?.drop(while: { $0 == 0 }),
        let exponent = try number("e")?.drop(while: { $0 == 0 })
      else { return nil }
      return rsa(Array(modulus), Array(exponent))
    case ("EC", "P-256"):
      guard let x = try number("x"), let y = try number("y"), x.count == 32, y.count == 32 else {
        return nil
      }
      return .p256(x: x, y: y)
    case ("OKP", "Ed25519"):
      guard let x = try number("x"), x.count == 32 else { return nil }
      return .ed25519(x)
    case (_, _): return nil
    }
  }

  private static func rsa(_ modulus: [UInt8], _ exponent: [UInt8]) -> Material? {
    guard let first = modulus.first, let last = exponent.last else { return nil }
    let bits = modulus.count * 8 - first.leadingZeroBitCount
    // An even exponent and 1 are no exponents of RSA. Common ones have three bytes.
    guard rsaBits.contains(bits), exponent.count <= 8, last & 1 == 1, exponent != [1] else {
      return nil
    }
    return .rsa(modulus: modulus, exponent: exponent)
  }
}

/// The result of a search for the key of a signature.
public enum IssuerKeyChoice: Sendable, Hashable {
  /// The key that fits the signature.
  case key(IssuerKey)
  /// There is no such key. A newer key set may have it.
  case unknown
  /// The key does not fit the algorithm, or several may have signed.
  case unfit(reason: String)
}

extension [IssuerKey] {
  /// Returns the key for a signature. A token without a key's id needs a key set in which only one
  /// key fits its algorithm.
  public func choice(of id: String?, for algorithm: SignatureAlgorithm) -> IssuerKeyChoice {
    guard let id else {
      let fitting = filter { $0.fits(algorithm) }
      guard let only = fitting.first else { return .unknown }
      return fitting.count == 1 ? .key(only) : .unfit(reason: "it names none of several keys")
    }
    let named = filter { $0.id == id }
    guard !named.isEmpty else { return .unknown }
    return named.first { $0.fits(algorithm) }.map { .key($0) }
      ?? .unfit(reason: "its algorithm is not that of its key")
  }
}
