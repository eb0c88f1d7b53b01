/// What a client did on a socket, as its server saw it.
public enum ClientAction: Sendable, Equatable {
  /// A whole text message.
  case text([UInt8])
  /// A whole binary message.
  case binary([UInt8])
  /// A ping; `id` is `nil` where the server cannot read it.
  case ping(id: UInt64?)
  /// A close frame.
  case closed(code: UInt16, reason: String)
  /// The connection ended without a close frame.
  case dropped
}

/// The server's end of one WebSocket, led by a test.
///
/// The far side answers pings and close frames by itself.
public protocol FarSocket: Sendable {
  /// Lets the upgrade succeed.
  func accept(headers: [String: String]) async
  /// Refuses the upgrade with an HTTP status.
  func reject(status: Int) async
  /// Sends a text message; the bytes are valid UTF-8.
  func send(text: [UInt8]) async
  /// Sends a binary message.
  func send(binary: [UInt8]) async
  /// Sends a ping.
  func ping() async
  /// Sends a close frame and ends.
  func close(code: UInt16, reason: String) async
  /// Ends the connection without a close frame.
  func drop() async
  /// What the client did next; `nil` when nothing more comes.
  func received() async -> ClientAction?
}
