public import LinkCore
public import LinkProtocols

/// Where a server listens and every bound it keeps.
public struct SocketServerConfiguration: Sendable {
  /// A name or an address; `localhost` means both loopback families, `::` every address.
  public var host = "127.0.0.1"
  /// The TCP port; 0 lets the kernel pick one.
  public var port: UInt16 = 0
  /// The certificate to serve TLS with; `nil` serves plain TCP.
  public var tls: TLSFiles?
  /// The bounds of one HTTP request.
  public var http = HTTPLimits()
  /// The bounds of what a client may send over a WebSocket; beyond them it is closed with 1009.
  public var webSocket = WebSocketLimits(maxMessageBytes: 65_536, oversize: .close)
  /// Whether permessage-deflate (RFC 7692) is agreed to when a client offers it.
  public var allowsDeflate = false
  /// Connections held at once; further ones wait in the kernel's backlog.
  public var maxConnections = 10_000
  /// Connections of one address (of IPv6, a /64) that are no WebSockets; further ones are closed.
  public var maxConnectionsPerAddress = 256
  /// Whether connections of this address are not counted for that; none by default.
  public var isUncounted: @Sendable (NetworkAddress) -> Bool = { _ in false }
  /// Bytes queued for one WebSocket before it is told apart as overflowing: 25 frames of 10 KiB.
  ///
  /// A streamed answer that would pass it on top of what still waits is cut.
  public var maxQueuedBytes = 262_144
  /// How long a TLS handshake may take.
  public var handshakeTimeout = Duration.seconds(10)
  /// How long a request's head may take from its first byte (or the connection's beginning).
  public var headTimeout = Duration.seconds(10)
  /// How long a request's body may take after its head.
  public var bodyTimeout = Duration.seconds(30)
  /// How long a client may take to read an HTTP answer, or what was queued of a streamed one.
  public var answerTimeout = Duration.seconds(30)
  /// How long a connection may stay idle between two requests.
  public var idleKeepAlive = Duration.seconds(75)
  /// How long a client may take to answer our close frame (RFC 6455 section 7.1.1).
  public var closeTimeout = Duration.seconds(5)
  /// How long we read on after our side is shut, so that a reset does not eat our last bytes.
  public var lingerTimeout = Duration.seconds(1)
  /// Writes the body of a refusal that no handler sees: bad HTTP, a bad handshake, a time-out.
  public var refusalBody: @Sendable (_ status: Int, _ detail: String) -> RefusalBody = {
    RefusalBody(contentType: "text/plain", bytes: Array("\($1)\n".utf8))
  }

  /// Plain TCP on a port of 127.0.0.1 that the kernel picks.
  public init() {}

  /// The body of an answer and its `Content-Type`.
  public struct RefusalBody: Sendable, Equatable {
    /// The media type of the body.
    public var contentType: String
    /// The body itself.
    public var bytes: [UInt8]

    /// A body of a media type.
    public init(contentType: String, bytes: [UInt8]) {
      self.contentType = contentType
      self.bytes = bytes
    }
  }
}

/// The bounds of one WebSocket, where they differ from the configured ones.
public struct SocketBounds: Sendable, Hashable {
  /// The longest message of the client, in bytes; beyond it is closed with 1009.
  public var maxMessageBytes: Int?
  /// Bytes queued before it is told apart as overflowing.
  public var maxQueuedBytes: Int?
  /// Whether permessage-deflate (RFC 7692) is agreed to if the client offers it.
  public var allowsDeflate: Bool?

  /// The configured bounds, unless others are given.
  public init(
    maxMessageBytes: Int? = nil, maxQueuedBytes: Int? = nil, allowsDeflate: Bool? = nil
  ) {
    (self.maxMessageBytes, self.maxQueuedBytes) = (maxMessageBytes, maxQueuedBytes)
    self.allowsDeflate = allowsDeflate
  }
}

/// The two PEM files that TLS is served with.
public struct TLSFiles: Sendable, Equatable {
  /// The certificate, followed by those of its chain.
  public var certificatePath: String
  /// The certificate's private key, without a passphrase.
  public var keyPath: String

  /// Names both files; they are read when the server is made.
  public init(certificatePath: String, keyPath: String) {
    self.certificatePath = certificatePath
    self.keyPath = keyPath
  }
}
