public import HoldfastCore
public import HoldfastProtocols

/// The address and the limits of a server.
public struct SocketServerConfiguration: Sendable {
  /// A name or an address. `localhost` stands for both loopback addresses, and `::` for all
  /// addresses.
  public var host = "127.0.0.1"
  /// The TCP port; 0 if the kernel selects one.
  public var port: UInt16 = 0
  /// The sockets for clients that listen already; empty if the server binds `host` and `port`.
  public var inherited: [Int32] = []
  /// The further addresses of the server, each with one purpose. Their connections are not
  /// encrypted.
  public var furtherListeners: [ListenerKind: ListenerAddress] = [:]
  /// The certificate and key for TLS; `nil` for plain TCP.
  public var tls: TLSFiles?
  /// The limits of an HTTP request.
  public var http = HTTPLimits()
  /// The limits of the WebSocket messages that clients send. A connection that exceeds them is
  /// closed with code 1009.
  public var webSocket = WebSocketLimits(maxMessageBytes: 65_536, oversize: .close)
  /// Whether the server accepts permessage-deflate (RFC 7692) if a client offers it.
  public var allowsDeflate = false
  /// The maximum number of connections. Further connections wait in the kernel's backlog.
  public var maxConnections = 10_000
  /// The maximum number of connections from an address (for IPv6, from a /64), without WebSockets.
  /// Further connections are closed.
  public var maxConnectionsPerAddress = 256
  /// A function that returns whether an address is exempt from that limit. By default, none is.
  public var isUncounted: @Sendable (NetworkAddress) -> Bool = { _ in false }
  /// The maximum number of bytes queued for a WebSocket before `overflow`. The default is 25 frames
  /// of 10 KiB.
  ///
  /// A streamed response that would exceed the bound is ended if the client does not read fast
  /// enough.
  public var maxQueuedBytes = 262_144
  /// The maximum duration of a TLS handshake.
  public var handshakeTimeout = Duration.seconds(10)
  /// The maximum time to receive a request's head, from its first byte or from the start of the
  /// connection.
  public var headTimeout = Duration.seconds(10)
  /// The maximum time to receive a request's body after its head.
  public var bodyTimeout = Duration.seconds(30)
  /// The maximum time in which a client must accept a response, the queued part of a streamed one,
  /// or a piece of a file.
  public var answerTimeout = Duration.seconds(30)
  /// The maximum idle time of a connection between two requests.
  public var idleKeepAlive = Duration.seconds(75)
  /// The maximum time in which a client must reply to the server's close frame (RFC 6455 section
  /// 7.1.1).
  public var closeTimeout = Duration.seconds(5)
  /// The time for which the server continues to read after it has shut down its writing side.
  ///
  /// Reading prevents a reset, which would destroy the last bytes sent.
  public var lingerTimeout = Duration.seconds(1)
  /// A function that creates the body of a refusal that does not involve the handler, such as for
  /// invalid HTTP, an invalid handshake, or a time-out.
  public var refusalBody: @Sendable (_ status: Int, _ detail: String) -> RefusalBody = {
    RefusalBody(contentType: "text/plain", bytes: Array("\($1)\n".utf8))
  }

  /// Creates a configuration for plain TCP on 127.0.0.1 and a port that the kernel selects.
  public init() {}

  /// Sets the time limit of each step of a connection: its handshake, a request, an answer and the
  /// wait for another request.
  package mutating func limitSteps(to limit: Duration) {
    (handshakeTimeout, headTimeout, bodyTimeout) = (limit, limit, limit)
    (answerTimeout, idleKeepAlive) = (limit, limit)
  }

  /// The body of a response and its `Content-Type`.
  public struct RefusalBody: Sendable, Equatable {
    /// The media type of the body.
    public var contentType: String
    /// The bytes of the body.
    public var bytes: [UInt8]

    /// Creates a body with a media type.
    public init(contentType: String, bytes: [UInt8]) {
      self.contentType = contentType
      self.bytes = bytes
    }
  }
}

/// The purpose of an address on which a server listens.
public enum ListenerKind: Sendable, Hashable, CaseIterable {
  /// The address for clients. Only there, TLS and the limits by address apply.
  case clients
  /// The address for requests that other nodes pass on.
  case nodes
  /// The address for metrics and probes.
  case metrics
  /// The address for administration.
  case admin

  /// Whether the connections count towards the maximum of the server.
  var isLimited: Bool {
    switch self {
    case .clients, .nodes: true
    case .metrics, .admin: false
    }
  }
}

/// A further address on which a server listens.
public enum ListenerAddress: Sendable, Hashable {
  /// A numeric address and a TCP port.
  case tcp(SocketEndpoint)
  /// The path of a Unix domain socket, which only the user of the server may use.
  case unix(path: String)
  /// A socket that listens already.
  case inherited(descriptor: Int32)
}

/// The bounds of a WebSocket, which replace the configured ones.
public struct SocketBounds: Sendable, Hashable {
  /// The maximum size of a client's message in bytes. A larger message closes the WebSocket with
  /// code 1009.
  public var maxMessageBytes: Int?
  /// The maximum number of queued bytes before `overflow`.
  public var maxQueuedBytes: Int?
  /// Whether the server accepts permessage-deflate (RFC 7692) if the client offers it.
  public var allowsDeflate: Bool?

  /// Creates bounds. Where a bound is `nil`, the configured one applies.
  public init(
    maxMessageBytes: Int? = nil, maxQueuedBytes: Int? = nil, allowsDeflate: Bool? = nil
  ) {
    (self.maxMessageBytes, self.maxQueuedBytes) = (maxMessageBytes, maxQueuedBytes)
    self.allowsDeflate = allowsDeflate
  }
}

/// The two PEM files that TLS needs.
public struct TLSFiles: Sendable, Equatable {
  /// The path of the certificate, which is followed by the certificates of its chain.
  public var certificatePath: String
  /// The path of the certificate's private key, which must not have a passphrase.
  public var keyPath: String

  /// Creates a value with both paths. The files are read when the server is created.
  public init(certificatePath: String, keyPath: String) {
    self.certificatePath = certificatePath
    self.keyPath = keyPath
  }
}
