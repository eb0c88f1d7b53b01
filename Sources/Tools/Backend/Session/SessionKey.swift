import COpenSSL
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
    let fresh = prefix + [UInt8].random(digits / 2).hexadecimal
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
  func isEqual(to other: Secret) -> Bool { Self.areEqual(Array(other.text.utf8), text) }

  /// Whether a client signed a challenge with this key.
  func signs(_ challenge: String, as proof: Secret) -> Bool {
    Self.areEqual(Array(proof.text.utf8), Array(sign(challenge).utf8))
  }

  /// The lower-case hexadecimal digits of HMAC-SHA256 (RFC 2104) with the key over a challenge.
  func sign(_ challenge: String) -> String {
    let input = Array(challenge.utf8)
    var code = [UInt8](repeating: 0, count: 32)
    var length: UInt32 = 0
    let made = unsafe HMAC(
      EVP_sha256(), text, Int32(text.count), input, input.count, &code, &length)
    // HMAC fails only without memory or with a hash it does not know.
    precondition(unsafe made != nil && length == 32, "HMAC with SHA-256 makes 32 bytes")
    return code.hexadecimal
  }

  private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    unsafe left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }

  /// Never the key.
  public var description: String { "[key]" }
}

extension [UInt8] {
  /// Two lower-case digits for each byte.
  fileprivate var hexadecimal: String {
    map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
  }

  /// A challenge of 32 random lower-case hexadecimal digits.
  static func challenge() -> String { random(16).hexadecimal }
}
