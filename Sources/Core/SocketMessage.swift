/// A message of a WebSocket: a text or bytes (RFC 6455 section 5.6).
///
/// Its coded form states the kind and the byte count only, so that a journal of any protocol holds
/// no content. A replay meets messages without content on both sides, which compare equal.
public struct SocketMessage: Sendable, Hashable, Codable {
  /// Whether it is a text, or binary.
  public let isText: Bool
  /// How many bytes it has.
  public let count: Int
  /// The content, UTF-8 for a text; `nil` in a message that was read from a journal.
  public let bytes: [UInt8]?

  /// A text whose bytes are valid UTF-8.
  public init(text bytes: [UInt8]) {
    (isText, self.bytes, count) = (true, bytes, bytes.count)
  }

  /// A binary message.
  public init(binary bytes: [UInt8]) {
    (isText, self.bytes, count) = (false, bytes, bytes.count)
  }

  /// A text.
  public static func text(_ text: String) -> SocketMessage { SocketMessage(text: Array(text.utf8)) }

  /// The content of a text; `nil` for a binary message.
  public var text: String? {
    isText ? bytes.map { String(decoding: $0, as: UTF8.self) } : nil
  }
}
