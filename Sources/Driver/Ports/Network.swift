public import LinkCore

/// A request to open a WebSocket.
public struct SocketRequest: Sendable {
  /// The URL, `ws` or `wss`, without the token.
  public var url: String
  /// The headers of the upgrade request, in order; may contain the token.
  public var headers: [(name: String, value: String)]
  /// The items appended to the URL's query, percent-encoded by the adapter; may contain the token.
  public var query: [(name: String, value: String)]
  /// The subprotocols offered, in order (RFC 6455 section 4.1): distinct tokens of RFC 9110.
  ///
  /// The upgrade fails if the server chooses any other. Its choice is in the headers of `.opened`.
  public var subprotocols: [String]
  /// Whether `permessage-deflate` (RFC 7692) may be offered by an adapter that supports it.
  public var allowsCompression = true
  /// The time-out for name resolution, connection, TLS and upgrade together.
  public var openTimeout: Duration
  /// The most bytes of a frame or message. A longer one is dropped unread and reported as
  /// `.oversized`.
  public var maxMessageBytes: Int

  public init(
    url: String, headers: [(name: String, value: String)] = [],
    query: [(name: String, value: String)] = [], subprotocols: [String] = [],
    openTimeout: Duration, maxMessageBytes: Int
  ) {
    self.url = url
    self.headers = headers
    self.query = query
    self.subprotocols = subprotocols
    self.openTimeout = openTimeout
    self.maxMessageBytes = maxMessageBytes
  }
}

/// An event of a socket. Events arrive in order; `failed` is the last and occurs exactly once.
public enum SocketEvent: Sendable, Equatable {
  /// The upgrade succeeded; `headers` are the server's, with names in lower case.
  case opened(headers: [String: String])
  /// A complete text message in valid UTF-8.
  case text([UInt8])
  /// A complete binary message.
  case binary([UInt8])
  /// A ping was received and answered.
  case ping
  /// The pong for a ping of this end.
  case pong(id: UInt64)
  /// The system reports that no data passes for now, but keeps the connection.
  case stalled
  /// A message of `bytes` bytes exceeded the limit and was dropped; the socket stays open.
  case oversized(bytes: UInt64)
  /// The socket could not be opened or has ended, for this reason.
  case failed(LinkFailure)
}

/// The result of passing a message to a socket.
public enum SocketSending: Sendable, Hashable {
  /// The socket has queued the message, which is sent unless the connection ends first.
  case queued
  /// The queue of the socket is full; the message was not queued.
  case full
  /// The socket is not open. After a failure, events received before it and the failure itself may
  /// still be delivered.
  case closed
}

/// A handle of a requested socket. Releasing the handle closes the socket.
public protocol SocketHandle: Sendable {
  /// Sends a text message.
  @discardableResult func send(text: [UInt8]) async -> SocketSending
  /// Sends a binary message.
  @discardableResult func send(binary: [UInt8]) async -> SocketSending
  /// Sends a ping, whose pong is reported as `.pong(id:)`.
  func ping(id: UInt64) async
  /// Sends a close frame with `code`, waits at most a second for the peer's, and ends.
  func close(code: UInt16, reason: String) async
}

/// A socket with access to raw frames, to test a peer's handling of invalid frames and the frames
/// it sends.
package protocol RawSocketHandle: SocketHandle {
  /// Sends bytes after the queued ones, without a frame.
  @discardableResult func send(raw: [UInt8]) async -> SocketSending
  /// Returns the number of compressed messages (RFC 7692) received since the last call.
  func takeCompressedMessages() async -> Int
}

/// A type that opens WebSockets.
///
/// Contract: `deliver` is called once at a time and awaited before the next call, so a slow reader
/// slows the socket and no events accumulate. No event follows `close` or `failed`.
public protocol SocketDialer: Sendable {
  /// Opens a socket that delivers one event at a time.
  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle

  /// Opens a socket that delivers events received together in one call, in order; never an empty
  /// array.
  func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle
}

extension SocketDialer {
  /// Opens a socket that delivers each event in its own call, for dialers without batches.
  public func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle {
    await open(request) { event in await deliver([event]) }
  }
}

/// A request for one HTTP exchange.
public struct HTTPCall: Sendable {
  /// The RFC 9110 method, in capitals.
  public var method: String
  /// The URL, `http` or `https`, without the token.
  public var url: String
  /// The headers, in order; may contain the token.
  public var headers: [(name: String, value: String)]
  /// The items appended to the URL's query, percent-encoded by the adapter; may contain the token.
  public var query: [(name: String, value: String)]
  /// The body; empty for none.
  public var body: [UInt8]
  /// The time-out of the whole exchange.
  public var timeout: Duration
  /// The most bytes of the response's body. A longer body fails with `.protocolError`.
  public var maxBodyBytes: Int
  /// Whether HTTP/2 (RFC 9113) is required; any other version fails with `.protocolError`.
  ///
  /// Requests over HTTP/2 share one persistent connection. If the connection is lost before a
  /// response begins, the adapter may resend the request, even if its method is not idempotent.
  public var requiresHTTP2: Bool

  public init(
    method: String, url: String, headers: [(name: String, value: String)] = [],
    query: [(name: String, value: String)] = [], body: [UInt8] = [], timeout: Duration,
    maxBodyBytes: Int, requiresHTTP2: Bool = false
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.query = query
    self.body = body
    self.timeout = timeout
    self.maxBodyBytes = maxBodyBytes
    self.requiresHTTP2 = requiresHTTP2
  }
}

/// A complete HTTP response with any status.
public struct HTTPAnswer: Sendable, Equatable {
  /// The RFC 9110 status code, 100 to 599.
  public var status: Int
  /// The headers, with names in lower case and repeated fields joined by `, `.
  public var headers: [String: String]
  /// The complete body without its transfer coding.
  public var body: [UInt8]
  /// The time that `Retry-After` specifies, in seconds or as a date relative to the response's
  /// `Date`.
  public var retryAfter: Duration?

  public init(
    status: Int, headers: [String: String], body: [UInt8], retryAfter: Duration? = nil
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.retryAfter = retryAfter
  }
}

/// An HTTP client. A response with any status is a success; a failure means that no response
/// arrived.
public protocol HTTPClient: Sendable {
  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer

  /// Makes later requests open new connections, since the path of the old ones may be gone.
  ///
  /// Call this when the network changed or the device woke. Running requests are not affected.
  func forgetConnections() async
}
