public import HoldfastCore
public import HoldfastProtocols

/// An event for a handler. Events are delivered in the order in which they occurred.
public enum SocketEvent: Sendable, Equatable {
  /// A complete request was received. Reading pauses until `respond`.
  case request(RequestID, HTTPRequestHead, body: [UInt8])
  /// The head of a request on an announced path was received, and its body is being read. Exactly
  /// one `request` or `cut` with the same ID follows.
  case announced(RequestID, HTTPRequestHead)
  /// An announced request ended before its body was complete. The body is the part that arrived.
  case cut(RequestID, HTTPRequestHead, body: [UInt8])
  /// A valid WebSocket handshake was received. `accept` accepts it, and `respond` refuses it.
  case upgrade(RequestID, HTTPRequestHead)
  /// The client left or was disconnected before its request was completely answered.
  case abandoned(RequestID)
  /// A request that was passed on to another server has ended. If the server did not respond, the
  /// client has received the refusal or the failure.
  case passed(RequestID, wasAnswered: Bool)
  /// A WebSocket is open. The event follows `accept` in the same turn.
  case opened(ConnectionID)
  /// A WebSocket received bytes. The event occurs at most once in a turn, before the events of
  /// these bytes.
  case received(ConnectionID)
  /// A complete text message was received.
  case text(ConnectionID, [UInt8])
  /// A complete binary message was received.
  case binary(ConnectionID, [UInt8])
  /// A pong with this payload was received.
  case pong(ConnectionID, [UInt8])
  /// The queue exceeded its bound. Later messages are discarded. The handler should close or drop
  /// the WebSocket.
  case overflow(ConnectionID)
  /// The socket has accepted all queued bytes, after it was backed up or after a call of
  /// `noticeDrain`.
  case drained(ConnectionID)
  /// A WebSocket ended. The event occurs exactly once for each `opened`.
  case closed(ConnectionID, SocketEnding)
  /// There are no more descriptors, or there is no memory. New connections wait for a second, or
  /// until a connection ends.
  case starved(errno: Int32)
  /// An address has the maximum number of connections. A further connection was closed.
  case crowded(address: String)
  /// The time that was passed to `wake(at:)` has been reached.
  case woke
}

/// The reason why a WebSocket ended.
public enum SocketEnding: Sendable, Equatable {
  /// The client sent a close frame. The code is 1005 if the frame contained none.
  case peerClosed(code: UInt16, reason: String)
  /// The server sent a close frame with this code. The client replied, or the connection ended
  /// first.
  case closed(code: UInt16, reason: String)
  /// The client violated RFC 6455 or a limit. The server sent a close frame with this code.
  case violation(code: UInt16, detail: String)
  /// The stream ended without a close frame.
  case ended
  /// The connection was reset, or TLS failed.
  case reset(detail: String)
  /// The handler called `drop`.
  case dropped
  /// The server stopped.
  case stopped
}

/// A handler that implements the rules of a server. The server's loop calls it, so it must never
/// block.
public protocol SocketHandler: SendableMetatype {
  /// Handles an event. It responds with commands to the hub, immediately or later.
  mutating func handle(_ event: SocketEvent, on hub: SocketHub)
}
