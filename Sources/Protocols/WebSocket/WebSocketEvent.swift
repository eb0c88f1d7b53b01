/// What received bytes meant.
public enum WebSocketEvent: Equatable, Sendable {
  /// A whole text message, valid UTF-8.
  case text([UInt8])
  /// A whole binary message.
  case binary([UInt8])
  /// A ping of 0 to 125 bytes; while the connection is open its pong is already in the output.
  case ping([UInt8])
  /// A pong of 0 to 125 bytes, asked for or not (RFC 6455 section 5.5.3).
  case pong([UInt8])
  /// A message beyond the limits was skipped; `bytes` is its payload as it crossed the wire.
  case oversized(bytes: UInt64)
  /// The peer's close frame; 1005 when it carried no code (RFC 6455 section 7.1.5).
  case closed(code: UInt16, reason: String)
  /// The peer broke the protocol or a limit; the close that says so is in the output.
  case failed(WebSocketError)
  /// The transport ended before a close frame came.
  case ended
}

/// How the peer broke the protocol.
public struct WebSocketError: Error, Equatable, Sendable {
  /// The close code of RFC 6455 section 7.4.1: 1002, 1007, 1009, or 1011 without memory to inflate.
  public var code: UInt16
  /// What was wrong, for people; never holds payload bytes.
  public var detail: String

  static func violation(_ detail: String) -> WebSocketError {
    WebSocketError(code: 1002, detail: detail)
  }

  static func inconsistent(_ detail: String) -> WebSocketError {
    WebSocketError(code: 1007, detail: detail)
  }

  static func tooBig(_ detail: String) -> WebSocketError {
    WebSocketError(code: 1009, detail: detail)
  }
}
