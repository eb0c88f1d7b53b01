import HoldfastCore
import HoldfastServerSockets

/// The sockets that the service manager has passed, by the purpose that their names tell.
struct InheritedSockets: Sendable, Hashable {
  /// The sockets for clients, which replace the configured address.
  private(set) var clients: [Int32] = []
  /// The sockets with another purpose, which replace the configured address of that purpose.
  private(set) var others: [ListenerKind: Int32] = [:]

  var isEmpty: Bool { clients.isEmpty && others.isEmpty }

  /// The numbers of sockets, as the log tells them.
  var summary: String {
    var parts = others.keys.map { "1 for \($0)" }.sorted()
    if !clients.isEmpty { parts.insert("\(clients.count) for clients", at: 0) }
    return "sockets of the service manager in place of addresses of its own: "
      + parts.joined(separator: ", ")
  }

  /// Adds a socket.
  ///
  /// - Throws: `.inherited` if the name has no meaning, or if the purpose has one socket already.
  mutating func add(_ descriptor: Int32, named name: String) throws(BackendError) {
    switch Self.purpose(of: name) {
    case .clients?: clients.append(descriptor)
    case .metrics?, .admin?, .nodes?:
      guard let kind = Self.purpose(of: name), others[kind] == nil else {
        throw .inherited(detail: "two sockets with the name \(name), which may have one")
      }
      others[kind] = descriptor
    case nil:
      throw .inherited(
        detail: "a socket with the name \"\(name)\"; the names are clients, metrics and admin")
    }
  }

  /// Returns the purpose that a name tells.
  ///
  /// A socket without a name has that of its unit, or the word `unknown` (sd_listen_fds(3)). It is
  /// for clients.
  private static func purpose(of name: String) -> ListenerKind? {
    switch name {
    case "clients", "unknown", "": .clients
    case "metrics": .metrics
    case "admin": .admin
    case _: name.hasSuffix(".socket") ? .clients : nil
    }
  }
}

extension BackendConfiguration {
  /// A listening socket that the service manager has passed.
  public struct PassedSocket: Sendable, Hashable {
    /// The descriptor of the socket.
    public var descriptor: Int32
    /// The name, which tells the purpose: `clients`, `metrics` or `admin`.
    public var name: String

    /// Creates a value for a descriptor that is open.
    public init(descriptor: Int32, name: String) {
      (self.descriptor, self.name) = (descriptor, name)
    }
  }

  /// Uses a listening socket that the service manager has passed, in place of the address for the
  /// same purpose.
  ///
  /// With a socket for clients, `host` and `port` become its address. With several of them, `host`
  /// is a loopback address only if all are.
  ///
  /// Set `admin` before, which tells whether operators need a token.
  ///
  /// - Throws: `.inherited` if the name has no meaning, if a socket for clients is not one of TCP,
  ///   if there are two sockets for metrics or for administration, or if operators may not connect
  ///   to such a socket.
  public mutating func inherit(_ socket: PassedSocket) throws(BackendError) {
    let isFirst = inherited.clients.isEmpty
    try inherited.add(socket.descriptor, named: socket.name)
    if inherited.others[.admin] == socket.descriptor { try demandAdmin(socket) }
    guard inherited.clients.last == socket.descriptor else { return }
    guard let endpoint = BoundPort.endpoint(of: socket.descriptor) else {
      throw .inherited(detail: "a socket for clients that is not one of TCP")
    }
    guard isFirst || NetworkAddress.isLoopback(host: host) else { return }
    (host, port) = (endpoint.host, endpoint.port)
  }

  /// Throws an error if there is no address for operators, or if each user of the machine could
  /// act at its socket.
  private func demandAdmin(_ socket: PassedSocket) throws(BackendError) {
    guard let admin else {
      throw .inherited(
        detail: "a socket with the name admin, which needs --admin-listen, such as unix:PATH")
    }
    guard admin.tokenFile != nil || BoundPort.endpoint(of: socket.descriptor) == nil else {
      throw .inherited(
        detail: "a socket of TCP with the name admin, which needs --admin-token-file")
    }
  }
}
