import HoldfastCore
import HoldfastJSON
import HoldfastKeyedHashing
public import HoldfastServerSockets

/// The address for operators, and the token that they present there.
public struct AdminAddress: Sendable, Hashable {
  /// The address: a Unix domain socket, or a numeric address and a TCP port.
  public let listener: ListenerAddress
  /// The path of the file with the token; `nil` if none is needed. It is created with a random token
  /// if it is missing.
  public let tokenFile: String?

  /// Reads `unix:PATH`, `ADDRESS:PORT` or `[ADDRESS]:PORT`.
  ///
  /// - Throws: `.needsToken` for a TCP address without a file for the token, since each user of the
  ///   machine can connect to it.
  public init(_ text: String, tokenFile: String? = nil) throws(Fault) {
    guard let listener = ListenerAddress(operators: text) else { throw .invalid }
    if case .tcp = listener, tokenFile == nil { throw .needsToken }
    (self.listener, self.tokenFile) = (listener, tokenFile)
  }

  /// The reason why an address cannot be used.
  public enum Fault: Error, Sendable, Hashable {
    /// The text is not an address.
    case invalid
    /// A TCP address needs a token.
    case needsToken
  }

  /// Whether other machines can connect.
  var isExposed: Bool {
    guard case .tcp(let endpoint) = listener else { return false }
    return NetworkAddress(endpoint.host)?.isLoopback != true
  }
}

/// The token that operators present at a TCP address.
public struct AdminToken: Sendable, CustomStringConvertible {
  /// The bounds of the length, in bytes. A shorter token could be guessed.
  public static let lengths = 32...1_024

  private let text: [UInt8]
  /// A hash of the token that reveals nothing about it, for the log: 12 hexadecimal digits.
  let shortName: String

  /// Creates a token. Returns `nil` unless it consists of 32 to 1,024 visible ASCII characters.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard Self.lengths.contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    self.text = bytes
    shortName = String(Hex.text(of: ContentHash.of(bytes)).prefix(12))
  }

  /// Reads a token from a file. If the file is missing, it is created (0600) with a random token.
  ///
  /// - Throws: `.openToOthers` if users other than the owner can read or change the file, and
  ///   `.file` if the file contains anything other than a token.
  public static func open(at path: String) throws(BackendError) -> AdminToken {
    let fresh = Array((Hex.text(of: [UInt8].random(32)) + "\n").utf8)
    return try token(in: PrivateFile(secret: path).readOrCreate(fresh), of: path)
  }

  /// Reads a token from a file that exists.
  ///
  /// - Throws: As `open`, and `.file` if the file is missing.
  public static func find(at path: String) throws(BackendError) -> AdminToken {
    try token(in: PrivateFile(secret: path).readExisting(isSecret: true), of: path)
  }

  private static func token(
    in content: [UInt8], of path: String
  ) throws(BackendError) -> AdminToken {
    let words = String(decoding: content, as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.count == 1, let word = words.first, let token = AdminToken(String(word)) else {
      throw .file(
        path: path,
        detail: "the file must contain only a token: one word of 32 to 1,024 ASCII characters")
    }
    return token
  }

  /// Returns whether a client's token equals this token.
  ///
  /// The duration of the comparison does not reveal where the tokens differ.
  func isEqual(to other: String) -> Bool { KeyedHash.areEqual(Array(other.utf8), text) }

  /// The field `Authorization` of a request with the token.
  var authorization: String { "Bearer \(String(decoding: text, as: UTF8.self))" }

  /// A constant placeholder that does not contain the token.
  public var description: String { "[token]" }
}
