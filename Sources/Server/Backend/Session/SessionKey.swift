import HoldfastCore
import HoldfastKeyedHashing
import HoldfastSessionServer

/// The key that session clients present: a prefix and 32 lowercase hexadecimal digits.
public struct SessionKey: Sendable, CustomStringConvertible {
  /// The prefix of generated keys.
  public static let prefix = "holdfast-"
  private static let digits = 32

  let text: [UInt8]

  /// Creates a key from its text. Returns `nil` if the text is not a valid key.
  ///
  /// A key consists of a prefix and 32 lowercase hexadecimal digits. The prefix consists of
  /// lowercase letters, digits and hyphens, and ends with a hyphen.
  public init?(_ text: some StringProtocol) {
    let bytes = Array(text.utf8)
    let prefix = bytes.dropLast(Self.digits)
    let isHex = bytes.suffix(Self.digits).allSatisfy {
      (0x30...0x39).contains($0) || (0x61...0x66).contains($0)
    }
    let isPrefix = prefix.allSatisfy {
      (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2D
    }
    guard bytes.count > Self.digits, bytes.count <= 128, prefix.last == 0x2D, isHex, isPrefix
    else { return nil }
    self.text = bytes
  }

  /// Reads a key from a file. If the file is missing, it is created (0600) with a random key.
  ///
  /// - Throws: `.openToOthers` if users other than the owner can read or change the file, and
  ///   `.key` if the file contains anything other than a key.
  public static func open(at path: String) throws(BackendError) -> SessionKey {
    let fresh = prefix + Hex.text(of: [UInt8].random(digits / 2))
    return try key(in: PrivateFile(secret: path).readOrCreate(Array(fresh.utf8)), of: path)
  }

  /// Reads a key from a file; `nil` if the file is missing.
  ///
  /// - Throws: The same errors as `open`.
  static func find(at path: String) throws(BackendError) -> SessionKey? {
    guard let content = try PrivateFile(secret: path).read(isSecret: true) else { return nil }
    return try key(in: content, of: path)
  }

  /// Reads a key from a file, which must exist.
  ///
  /// - Throws: The errors of `open`, and `.file` if there is no file.
  static func read(at path: String) throws(BackendError) -> SessionKey {
    try key(in: PrivateFile(secret: path).readExisting(isSecret: true), of: path)
  }

  private static func key(
    in content: [UInt8], of path: String
  ) throws(BackendError) -> SessionKey {
    let text = String(decoding: content, as: UTF8.self)
    guard let key = SessionKey(SessionText.withoutLineEnd(text)) else {
      throw .key(
        path: path,
        detail: "the file must contain only a session key: \(prefix) and \(digits) lowercase "
          + "hexadecimal digits")
    }
    return key
  }

  /// Returns whether a client's key equals this key.
  ///
  /// The duration of the comparison does not reveal where the keys differ.
  func isEqual(to other: Secret) -> Bool { KeyedHash.areEqual(Array(other.text.utf8), text) }

  /// Returns whether `proof` is the signature of a text with this key.
  func signs(_ signed: String, as proof: Secret) -> Bool {
    KeyedHash.areEqual(Array(proof.text.utf8), Array(sign(signed).utf8))
  }

  /// Returns the HMAC-SHA256 of a text with this key (RFC 2104), in lowercase hexadecimal digits.
  func sign(_ signed: String) -> String {
    Hex.text(of: KeyedHash.sha256(key: text, over: Array(signed.utf8)))
  }

  /// A constant placeholder that does not contain the key.
  public var description: String { "[key]" }
}

extension [UInt8] {
  /// Returns a challenge: 32 random lowercase hexadecimal digits.
  static func challenge() -> String { Hex.text(of: random(16)) }
}
