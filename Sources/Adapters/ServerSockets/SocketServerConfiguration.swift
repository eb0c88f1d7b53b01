public import LinkCore
public import LinkProtocols

/// The address and the limits of a server.
public struct SocketServerConfiguration: Sendable {
  /// A name or an address; `localhost` means both loopback families, `::` every address.
  public var host = "127.0.0.1"
  /// The TCP port; 0 lets the kernel pick one.
  public var port: UInt16 = 0
  /// The certificate to serve TLS with; `nil` serves plain TCP.
  public var tls: TLSFiles?
  /// The limits of one HTTP request.
  public var http = HTTPLimits()
  /// The limits of a client's WebSocket messages; a connection that exceeds them is closed with
  /// 1009.
  public var webSocket = WebSocketLimits(maxMessageBytes: 65_536, oversize: .close)
  /// Whether the server accepts permessage-deflate (RFC 7692) if a client offers it.
  public var allowsDeflate = false
  /// The maximum number of connections; further ones wait in the kernel's backlog.
  public var maxConnections = 10_000
  /// The maximum number of connections of one address (IPv6: a /64) that are not WebSockets;
  /// further ones are closed.
  public var maxConnectionsPerAddress = 256
  /// Whether connections of an address are exempt from that limit; none are by default.
  public var isUncounted: @Sendable (NetworkAddress) -> Bool = { _ in false }
  /// The bytes queued for one WebSocket before `overflow`; the default is 25 frames of 10 KiB.
  ///
  /// A streamed response that would exceed the bound because of unsent bytes is cut.
  public var maxQueuedBytes = 262_144
  /// The maximum duration of a TLS handshake.
  public var handshakeTimeout = Duration.seconds(10)
  /// The maximum duration of a request's head from its first byte (or from the start of the
  /// connection).
  public var headTimeout = Duration.seconds(10)
  /// The maximum duration of a request's body after its head.
  public var bodyTimeout = Duration.seconds(30)
  /// The maximum time for a client to read a response, or the queued part of a streamed one.
  public var answerTimeout = Duration.seconds(30)
  /// The maximum idle time of a connection between two requests.
  public var idleKeepAlive = Duration.seconds(75)
  /// The maximum time for a client to answer the server's close frame (RFC 6455 section 7.1.1).
  public var closeTimeout = Duration.seconds(5)
  /// The time for which the server reads after it shut down its writing side.
  ///
  /// It prevents a reset, which would destroy the last bytes sent.
  public var lingerTimeout = Duration.seconds(1)
  /// Creates the body of a refusal without a handler: invalid HTTP, an invalid handshake, a
  /// time-out.
  public var refusalBody: @Sendable (_ status: Int, _ detail: String) -> RefusalBody = {
    RefusalBody(contentType: "text/plain", bytes: Array("\($1)\n".utf8))
  }

  /// Creates a configuration for plain TCP on a port of 127.0.0.1 that the kernel picks.
  public init() {}

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

/// The bounds of one WebSocket that differ from the configured ones.
public struct SocketBounds: Sendable, Hashable {
  /// The maximum size of a client's message in bytes; a larger one closes the WebSocket with 1009.
  public var maxMessageBytes: Int?
  /// The bytes queued before `overflow`.
  public var maxQueuedBytes: Int?
  /// Whether the server accepts permessage-deflate (RFC 7692) if the client offers it.
  public var allowsDeflate: Bool?

  /// Creates bounds; a `nil` bound is the configured one.
  public init(
    maxMessageBytes: Int? = nil, maxQueuedBytes: Int? = nil, allowsDeflate: Bool? = nil
  ) {
    (self.maxMessageBytes, self.maxQueuedBytes) = (maxMessageBytes, maxQueuedBytes)
    self.allowsDeflate = allowsDeflate
  }
}

/// The two PEM files for TLS.
public struct TLSFiles: Sendable, Equatable {
  /// The certificate, followed by those of its chain.
  public var certificatePath: String
  /// The certificate's private key, without a passphrase.
  public var keyPath: String

  /// Creates a value with both paths; the files are read when the server is created.
  public init(certificatePath: String, keyPath: String) {
    self.certificatePath = certificatePath
    self.keyPath = keyPath
  }
}
