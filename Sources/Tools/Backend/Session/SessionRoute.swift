import LinkServerCore
import LinkWire
import ServerSockets

/// The one route of sessions.
enum SessionRoute: ServiceRoute {
  case session

  /// The route of a decoded path.
  init?(path: String) {
    guard path == "/session" else { return nil }
    self = .session
  }

  var name: String { "session" }

  var opensSocket: Bool { true }

  /// What is queued has room for a message of the longest kind behind those that are on their way.
  var bounds: SocketBounds {
    SocketBounds(
      maxMessageBytes: SessionClientMessage.maxBytes, maxQueuedBytes: 4 << 20, allowsDeflate: true)
  }
}
