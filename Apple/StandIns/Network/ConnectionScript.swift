import Synchronization

/// The script of connections: TLS handshakes by port, and the incorrect uses so far.
@_spi(Script) public enum ConnectionScript {
  /// The result of a TLS handshake.
  public enum Handshake: Sendable {
    case succeeds
    case fails(OSStatus)
    case hangs
  }

  private struct State {
    var handshakes: [UInt16: Handshake] = [:]
    var connections: [NWConnection] = []
    var misuses: [String] = []
  }

  private static let state = Mutex(State())

  /// Sets the result of handshakes with a port.
  public static func set(_ handshake: Handshake, port: UInt16) {
    state.withLock { $0.handshakes[port] = handshake }
  }

  /// Returns the connections to a port that were started and not cancelled.
  public static func connections(to port: UInt16) -> [NWConnection] {
    state.withLock { state in state.connections.filter { $0.endpoint.port == port } }
  }

  /// The incorrect uses so far.
  public static var misuses: [String] { state.withLock(\.misuses) }

  static func handshake(with endpoint: NWEndpoint) -> Handshake {
    state.withLock { state in endpoint.port.flatMap { state.handshakes[$0] } ?? .succeeds }
  }

  static func note(_ misuse: String) { state.withLock { $0.misuses.append(misuse) } }

  static func add(_ connection: NWConnection) {
    state.withLock { $0.connections.append(connection) }
  }

  static func remove(_ connection: NWConnection) {
    state.withLock { state in state.connections.removeAll { $0 === connection } }
  }
}

extension NWEndpoint {
  var port: UInt16? {
    if case .hostPort(_, let port) = self { port.rawValue } else { nil }
  }
}
