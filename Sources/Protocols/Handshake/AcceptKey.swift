/// The proof that a server understood the handshake (RFC 6455 section 4.2.2).
enum AcceptKey {
  static let unique = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  static func answer(to key: String) -> String {
    Base64.encode(SHA1.digest(Array((key + unique).utf8)))
  }

  /// Whether this is base 64 of 16 bytes (RFC 6455 section 4.1).
  static func isKey(_ key: String) -> Bool {
    Base64.decode(key)?.count == 16
  }
}
