public import HoldfastCore

/// A request to open a WebSocket.
public struct SocketRequest: Sendable {
  /// The URL without the token. Its scheme is `ws` or `wss`.
  public var url: String
  /// The headers of the upgrade request, in order. They may contain the token.
  public var headers: [(name: String, value: String)]
  /// The items that are appended to the URL's query. They may contain the token, and the adapter
  /// percent-encodes them.
  public var query: [(name: String, value: String)]
  /// The offered subprotocols, in order of preference (RFC 6455 section 4.1). They must be distinct
  /// tokens of RFC 9110.
  ///
  /// The upgrade fails if the server selects any other subprotocol. Its selection is in the headers
  /// of `.opened`.
  public var subprotocols: [String]
  /// Whether `permessage-deflate` (RFC 7692) may be offered by an adapter that supports it.
  public var allowsCompression = true
  /// The time-out that covers name resolution, connection, TLS and upgrade.
  public var openTimeout: Duration
  /// The maximum size of a frame or message, in bytes. A larger one is discarded unread and
  /// reported as `.oversized`.
  public var maxMessageBytes: Int
  /// A function that receives notes for the journal of a run, such as how long each phase of the
  /// opening took; `nil` if no journal is written.
  ///
  /// A dialer may call it from any thread, and may leave notes out. The function does not block.
  public var note: (@Sendable (ConnectionNote) -> Void)?

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

/// An event of a socket. Events arrive in order. `failed` is the last event and occurs exactly
/// once.
public enum SocketEvent: Sendable, Equatable {
  /// The upgrade succeeded. `headers` are the server's, with names in lower case.
  case opened(headers: [String: String])
  /// A complete text message, which is valid UTF-8.
  case text([UInt8])
  /// A complete binary message.
  case binary([UInt8])
  /// A ping was received, and a pong was sent.
  case ping
  /// The pong that answers a ping from this end.
  case pong(id: UInt64)
  /// The system reports that data cannot be transferred for now, but the connection remains.
  case stalled
  /// A message with this number of bytes exceeded the limit and was discarded. The socket stays
  /// open.
  case oversized(bytes: UInt64)
  /// The socket could not be opened or has ended, for this reason.
  case failed(LinkFailure)
}

/// The result of passing a message to a socket.
public enum SocketSending: Sendable, Hashable {
  /// The socket has queued the message. It sends the message unless the connection ends first.
  case queued
  /// The socket's queue is full. The message was not queued.
  case full
  /// The socket is not open. After a failure, earlier events and the failure itself may still be
  /// delivered.
  case closed
}

/// A handle of a socket that was requested. Releasing the handle closes the socket.
public protocol SocketHandle: Sendable {
  /// Sends a text message.
  @discardableResult func send(text: [UInt8]) async -> SocketSending
  /// Sends a binary message.
  @discardableResult func send(binary: [UInt8]) async -> SocketSending
  /// Sends a ping. The pong is reported as `.pong(id:)`.
  func ping(id: UInt64) async
  /// Sends a close frame with `code`, waits at most one second for the peer's close frame, and
  /// ends.
  func close(code: UInt16, reason: String) async
}

/// A socket with access to raw frames. It serves to test which frames a peer sends, and how the
/// peer handles invalid frames.
package protocol RawSocketHandle: SocketHandle {
  /// Sends bytes after the queued ones, without wrapping them in a frame.
  @discardableResult func send(raw: [UInt8]) async -> SocketSending
  /// Returns the number of compressed messages (RFC 7692) that were received since the last call.
  func takeCompressedMessages() async -> Int
}

/// A type that opens WebSockets.
///
/// Contract: each call of `deliver` is awaited before the next one, so a slow reader slows down the
/// socket and events do not accumulate. No event follows `close` or `failed`.
public protocol SocketDialer: Sendable {
  /// Opens a socket that delivers one event at a time.
  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle

  /// Opens a socket that delivers events that were received together in one call, in order. The
  /// array is never empty.
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
  /// The method (RFC 9110), in capital letters.
  public var method: String
  /// The URL without the token. Its scheme is `http` or `https`.
  public var url: String
  /// The headers, in order. They may contain the token.
  public var headers: [(name: String, value: String)]
  /// The items that are appended to the URL's query. They may contain the token, and the adapter
  /// percent-encodes them.
  public var query: [(name: String, value: String)]
  /// The body; empty if there is none.
  public var body: [UInt8]
  /// The time-out of the whole exchange.
  public var timeout: Duration
  /// The maximum size of the response's body, in bytes. A larger body fails with `.protocolError`.
  public var maxBodyBytes: Int
  /// Whether HTTP/2 (RFC 9113) is required. Any other version then fails with `.protocolError`.
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
  /// The status code (RFC 9110), from 100 to 599.
  public var status: Int
  /// The headers, with names in lower case and repeated fields joined by `, `.
  public var headers: [String: String]
  /// The complete body, with its transfer coding removed.
  public var body: [UInt8]
  /// The delay that `Retry-After` specifies, in seconds or as a date relative to the response's
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

/// An HTTP client. A response with any status is a success. An error means that no response was
/// received.
public protocol HTTPClient: Sendable {
  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer

  /// Makes later requests open new connections, because the network path of old ones may no longer
  /// exist.
  ///
  /// This is called when the network has changed or the device woke up. Running requests are not
  /// affected.
  func forgetConnections() async
}
