import KeyedHashing
import LinkCore
import LinkServerCore
import LinkWire
import OwnerFiles

/// The key that clients of sessions show: a prefix and 32 lower-case hexadecimal digits.
public struct SessionKey: Sendable, CustomStringConvertible {
  /// The prefix of keys that are made here.
  public static let prefix = "holdfast-"
  private static let digits = 32

  private let text: [UInt8]

  /// Takes a key: a prefix of lower-case letters, digits and hyphens that ends with a hyphen, and
  /// 32 lower-case hexadecimal digits; `nil` for anything else.
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

  /// Reads the key of a file, which is made (0600) with a random key if it is missing.
  ///
  /// Throws `.openToOthers` if others than the owner can read or change the file, and `.key` if it
  /// holds anything but a key.
  public static func open(at path: String) throws(BackendError) -> SessionKey {
    let fresh = prefix + Hex.text(of: [UInt8].random(digits / 2))
    let content: [UInt8]
    do throws(OwnerFileError) {
      content = try OwnerFile(path, maxBytes: 4_096, isSecret: true)
        .readOrCreate(Array(fresh.utf8))
    } catch {
      if error == .openToOthers { throw .openToOthers(path: path) }
      throw .file(path: path, detail: error.description)
    }
    let text = String(decoding: content, as: UTF8.self)
    guard let key = SessionKey(SessionText.withoutLineEnd(text)) else {
      throw .key(
        path: path,
        detail: "the file holds no session key; a key is \(prefix) and \(digits) lower-case "
          + "hexadecimal digits, alone in the file")
    }
    return key
  }

  /// Whether a client shows this key; takes the same time wherever they differ.
  func isEqual(to other: Secret) -> Bool { KeyedHash.areEqual(Array(other.text.utf8), text) }

  /// Whether a client signed a text with this key.
  func signs(_ signed: String, as proof: Secret) -> Bool {
    KeyedHash.areEqual(Array(proof.text.utf8), Array(sign(signed).utf8))
  }

  /// The lower-case hexadecimal digits of HMAC-SHA256 (RFC 2104) with the key over a text.
  func sign(_ signed: String) -> String {
    Hex.text(of: KeyedHash.sha256(key: text, over: Array(signed.utf8)))
  }

  /// Never the key.
  public var description: String { "[key]" }
}

extension [UInt8] {
  /// A challenge of 32 random lower-case hexadecimal digits.
  static func challenge() -> String { Hex.text(of: random(16)) }
}
