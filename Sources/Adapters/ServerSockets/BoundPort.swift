import Glibc
public import LinkCore

/// A port that is taken. A client that connects to it waits until a server starts on it.
///
/// Made before anything else that a server needs, so that nothing is begun if it cannot listen.
public struct BoundPort: ~Copyable, Sendable {
  let listeners: [Listener]

  /// Reads the certificate, if there is one, and takes the port; it is free again when this goes.
  ///
  /// Blocks while a host name is resolved.
  public init(_ configuration: SocketServerConfiguration) throws(SocketServerError) {
    if let files = configuration.tls { _ = try TLSContext(files) }
    listeners = try Self.listen(configuration)
  }

  /// The port, also when the kernel picked it.
  public var number: UInt16 { listeners.first?.port ?? 0 }

  /// The addresses that it listens on.
  public var addresses: [NetworkAddress] {
    listeners.compactMap { SocketAddress.local(of: $0.descriptor)?.address }
  }

  /// A port that the kernel picked for one family may be taken in the other: then it picks again.
  private static func listen(
    _ configuration: SocketServerConfiguration
  ) throws(SocketServerError) -> [Listener] {
    let host = configuration.host
    let addresses = try SocketAddress.resolve(host, port: configuration.port)
    for _ in 0..<8 where configuration.port == 0 {
      do throws(SocketServerError) { return try Listener.all(addresses, host: host) } catch {
        guard case .bind(_, _, EADDRINUSE) = error else { throw error }
      }
    }
    return try Listener.all(addresses, host: host)
  }
}
