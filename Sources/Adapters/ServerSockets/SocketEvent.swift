public import LinkCore
public import LinkProtocols

/// An event for a handler, delivered in the order in which the events happened.
public enum SocketEvent: Sendable, Equatable {
  /// A complete request; reading pauses until `respond`.
  case request(RequestID, HTTPRequestHead, body: [UInt8])
  /// The head of a request on an announced path, while the body is being read. Exactly one
  /// `request` or `cut` with the same ID follows.
  case announced(RequestID, HTTPRequestHead)
  /// An announced request that ended before its body was complete, with the part that arrived.
  case cut(RequestID, HTTPRequestHead, body: [UInt8])
  /// A valid WebSocket handshake, to be answered with `accept` or refused with `respond`.
  case upgrade(RequestID, HTTPRequestHead)
  /// The client left, or was cut, before its request was completely answered.
  case abandoned(RequestID)
  /// A WebSocket is open; follows `accept` within the same turn.
  case opened(ConnectionID)
  /// A WebSocket received bytes; at most once in a turn, before the events of these bytes.
  case received(ConnectionID)
  /// A complete text message.
  case text(ConnectionID, [UInt8])
  /// A complete binary message.
  case binary(ConnectionID, [UInt8])
  /// A pong and its payload.
  case pong(ConnectionID, [UInt8])
  /// The queue exceeded its bound. Later messages are discarded; close or drop the WebSocket.
  case overflow(ConnectionID)
  /// A queue that was backed up is empty again.
  case drained(ConnectionID)
  /// A WebSocket ended; exactly once for each `opened`.
  case closed(ConnectionID, SocketEnding)
  /// Descriptors or memory ran out. New connections wait until a connection ends, or for a second.
  case starved(errno: Int32)
  /// An address has the maximum number of connections, so a further one was closed.
  case crowded(address: String)
  /// The time passed to `wake(at:)` is reached.
  case woke
}

/// The reason why a WebSocket ended.
public enum SocketEnding: Sendable, Equatable {
  /// The client sent a close frame; the code is 1005 if the frame had none.
  case peerClosed(code: UInt16, reason: String)
  /// The server closed, and the client answered or its time ran out.
  case closed(code: UInt16, reason: String)
  /// The client violated RFC 6455 or a limit; the server sent this code.
  case violation(code: UInt16, detail: String)
  /// The stream ended without a close frame.
  case ended
  /// The connection was reset, or TLS broke.
  case reset(detail: String)
  /// The handler called `drop`.
  case dropped
  /// The server stopped.
  case stopped
}

/// A handler with the rules of a server. The server's loop calls it, so it must never block.
public protocol SocketHandler: SendableMetatype {
  /// Handles one event. It responds with commands to the hub, immediately or later.
  mutating func handle(_ event: SocketEvent, on hub: SocketHub)
}
