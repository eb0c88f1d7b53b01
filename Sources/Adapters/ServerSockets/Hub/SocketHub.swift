public import LinkCore

/// The connections of one server, and what can be asked of them; lives on the server's loop.
public final class SocketHub {
  /// The moment of this turn of the loop.
  public internal(set) var now = Instant.zero
  /// How many connections are held.
  public var connectionCount: Int { 0 }

  init() {}

  /// Answers a request, or refuses an upgrade.
  public func respond(
    to request: RequestID, status: Int, headers: [(String, String)], body: [UInt8]
  ) {}
  /// Turns the connection into a WebSocket; the headers go into the 101 answer.
  public func accept(_ request: RequestID, headers: [(String, String)] = []) {}
  /// Queues the same frame for many WebSockets.
  public func send(frame: [UInt8], to connections: [ConnectionID]) {}
  /// Queues a text message for one WebSocket, deflated when that was agreed.
  public func send(text: [UInt8], to connection: ConnectionID) {}
  /// Queues a ping.
  public func ping(_ connection: ConnectionID, payload: [UInt8] = []) {}
  /// Starts the closing handshake; only `closed` follows.
  public func close(_ connection: ConnectionID, code: UInt16, reason: String) {}
  /// Cuts a connection at once.
  public func drop(_ connection: ConnectionID) {}
  /// Sets the handler's one alarm, in the place of the former.
  public func wake(at instant: Instant?) {}
  /// How many bytes wait to be taken by the client.
  public func queuedBytes(of connection: ConnectionID) -> Int { 0 }
  /// The client's address, without its port.
  public func peerAddress(of connection: ConnectionID) -> String? { nil }
}
