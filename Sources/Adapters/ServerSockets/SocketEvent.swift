public import LinkCore
public import LinkProtocols

/// What a handler is told, in the order in which it happened.
public enum SocketEvent: Sendable, Equatable {
  /// A whole request; reading pauses until `respond`.
  case request(RequestID, HTTPRequestHead, body: [UInt8])
  /// The head of a request on a path that is announced, while its body is read. Exactly one
  /// `request` or `cut` of the same name follows.
  case announced(RequestID, HTTPRequestHead)
  /// A request that was announced ended before its body was whole; so much of it came.
  case cut(RequestID, HTTPRequestHead, body: [UInt8])
  /// A valid WebSocket handshake, to be answered with `accept`, or refused with `respond`.
  case upgrade(RequestID, HTTPRequestHead)
  /// The client left, or was cut, before its request was answered to the end.
  case abandoned(RequestID)
  /// A WebSocket is open; follows `accept` within the same turn.
  case opened(ConnectionID)
  /// Bytes came on a WebSocket; at most once a turn, ahead of what the bytes meant.
  case heard(ConnectionID)
  /// A whole text message.
  case text(ConnectionID, [UInt8])
  /// A whole binary message.
  case binary(ConnectionID, [UInt8])
  /// A pong and its payload.
  case pong(ConnectionID, [UInt8])
  /// The queue passed its bound: what is sent from now on is discarded; close or drop it.
  case overflow(ConnectionID)
  /// A queue that the client had let back up is empty again.
  case drained(ConnectionID)
  /// A WebSocket ended; exactly once for each `opened`.
  case closed(ConnectionID, SocketEnding)
  /// Descriptors or memory ran out: who comes waits until a connection goes, or for a second.
  case starved(errno: Int32)
  /// An address holds as many connections as it may, so a further one was closed.
  case crowded(address: String)
  /// The instant given to `wake(at:)` has come.
  case woke
}

/// Why a WebSocket ended.
public enum SocketEnding: Sendable, Equatable {
  /// The client sent a close frame; 1005 when it named no code.
  case peerClosed(code: UInt16, reason: String)
  /// We closed, and the client answered or its time ran out.
  case closed(code: UInt16, reason: String)
  /// The client broke RFC 6455 or a limit; it was sent this code.
  case violation(code: UInt16, detail: String)
  /// The stream ended without a close frame.
  case ended
  /// The connection was reset, or TLS broke.
  case reset(detail: String)
  /// Cut by `drop`.
  case dropped
  /// The server stopped.
  case stopped
}

/// Decides what a server answers; called on the server's loop, so it must never block.
public protocol SocketHandler: SendableMetatype {
  /// Takes one event; the answers are commands to the hub, now or later.
  mutating func handle(_ event: SocketEvent, on hub: SocketHub)
}
