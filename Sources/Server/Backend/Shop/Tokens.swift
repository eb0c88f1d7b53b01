public import HoldfastCore
public import HoldfastIdentity
import HoldfastKeyedHashing
public import HoldfastMessageData
import HoldfastMessageServer
import HoldfastPorts

/// A signer and verifier of a backend's tokens, which are JWTs with HMAC-SHA256 (RFC 7518 section
/// 3.2).
public struct Tokens: Sendable {
  /// The minimum length of a key in bytes, which is the length of the hash (RFC 7518 section 3.2).
  public static let leastSecretBytes = 32

  private let secret: [UInt8]

  /// Creates a signer with a key of at least 32 bytes. Returns `nil` if the key is shorter.
  public init?(secret: [UInt8]) {
    guard secret.count >= Self.leastSecretBytes else { return nil }
    self.secret = secret
  }

  /// Returns a signer with the key in the file `DIRECTORY/secret`.
  ///
  /// If the file is missing, it is created (0600) with 32 random bytes.
  ///
  /// - Throws: `.file` if the file cannot be read or written or is too short, and `.openToOthers`
  ///   if the file's mode gives other users access.
  public static func open(in directory: String) throws(BackendError) -> Tokens {
    let file = secretFile(in: directory)
    return try Tokens(file.readOrCreate(.random(leastSecretBytes)), of: file)
  }

  /// Returns a signer with the key in the configuration or, if that is `nil`, in the data
  /// directory.
  static func open(for configuration: BackendConfiguration) throws(BackendError) -> Tokens {
    guard let secret = configuration.secret else {
      return try open(in: configuration.dataDirectory)
    }
    guard let tokens = Tokens(secret: secret) else {
      throw .file(path: "the given secret", detail: "has less than 32 bytes")
    }
    return tokens
  }

  /// Returns a signer with the key that a backend created in a directory; `nil` if there is no key.
  ///
  /// - Throws: The same errors as `open`.
  public static func find(in directory: String) throws(BackendError) -> Tokens? {
    let file = secretFile(in: directory)
    guard let secret = try file.read(isSecret: true) else { return nil }
    return try Tokens(secret, of: file)
  }

  private static func secretFile(in directory: String) -> PrivateFile {
    PrivateFile(directory: directory, name: "secret")
  }

  private init(_ secret: [UInt8], of file: PrivateFile) throws(BackendError) {
    guard let tokens = Tokens(secret: secret) else {
      throw .file(path: file.path, detail: "the secret has less than 32 bytes")
    }
    self = tokens
  }

  /// Returns a token that is valid until `expiry`, rounded down to a second. In the shops of
  /// `admin` its user may delete the messages of others.
  public func issue(
    user: String, name: String, shops: [ShopID], admin: [ShopID] = [], until expiry: Timestamp
  ) -> String {
    let claims = Claims(user: user, name: name, shops: shops, admin: admin, expiresAt: expiry)
    let input = CompactToken.signingInput(claims: claims)
    return CompactToken.text(signingInput: input, signature: sign(input))
  }

  /// Returns a token that is valid for `ttl` from now.
  public func issue(
    user: String, name: String, shops: [ShopID], admin: [ShopID] = [], ttl: Duration
  ) -> String {
    issue(
      user: user, name: name, shops: shops, admin: admin,
      until: BootClock().wall.advanced(by: ttl))
  }

  /// Verifies the format and the signature of a token. The rules check the token's expiry and its
  /// shops.
  public func verify(_ token: String) -> Credential {
    do throws(MessageError) {
      let parts = try CompactToken.parse(token)
      guard KeyedHash.areEqual(parts.signature, sign(parts.signingInput)) else {
        return .invalid(reason: "wrong signature")
      }
      return .valid(try Claims.decode(json: parts.payload))
    } catch {
      return .invalid(reason: "malformed")
    }
  }

  func sign(_ input: [UInt8]) -> [UInt8] {
    KeyedHash.sha256(key: secret, over: input)
  }
}

extension Claims {
  /// Whether the user is the one in whose name operators act.
  var isOfOperator: Bool { user == ShopServer.operatorUser }
}
