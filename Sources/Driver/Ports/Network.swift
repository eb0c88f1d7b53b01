public import LinkCore

/// A WebSocket to be opened.
public struct SocketRequest: Sendable {
  /// `ws` or `wss`, without the token.
  public var url: String
  /// Sent with the upgrade, in this order; may hold the token.
  public var headers: [(name: String, value: String)]
  /// Appended to the URL's query, percent-encoded by the adapter; may hold the token.
  public var query: [(name: String, value: String)]
  /// Offered in this order (RFC 6455 section 4.1): tokens of RFC 9110, each once. A server that
  /// chooses another one fails the upgrade; its choice stands in the headers of `.opened`.
  public var subprotocols: [String]
  /// Whether `permessage-deflate` (RFC 7692) may be offered, by an adapter that knows it.
  public var allowsCompression = true
  /// Time for name, connection, TLS and upgrade together.
  public var openTimeout: Duration
  /// A frame or message over this many bytes is dropped unread and reported as `.oversized`.
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

/// What happens on a socket, in order. `failed` is the last event, and comes exactly once.
public enum SocketEvent: Sendable, Equatable {
  /// The upgrade succeeded; `headers` are the server's, names in lower case.
  case opened(headers: [String: String])
  /// A whole text message, valid UTF-8.
  case text([UInt8])
  /// A whole binary message.
  case binary([UInt8])
  /// A ping came in and was answered.
  case ping
  /// The answer to a ping of ours.
  case pong(id: UInt64)
  /// The system says that nothing passes for now, without giving the connection up.
  case stalled
  /// A message of `bytes` bytes passed the limit and was dropped; the socket stays open.
  case oversized(bytes: UInt64)
  /// It never opened, or it is over, and why.
  case failed(LinkFailure)
}

/// The outcome of giving a socket a message.
public enum SocketSending: Sendable, Hashable {
  /// The socket has queued the message, which is sent unless the connection ends before.
  case queued
  /// The queue of the socket is full, and nothing was queued.
  case full
  /// The socket is not open. If it failed, what arrived before its failure may not have been
  /// delivered yet, and the failure follows.
  case closed
}

/// A socket that was asked for. Dropping it closes it.
public protocol SocketHandle: Sendable {
  /// Sends a text message.
  @discardableResult func send(text: [UInt8]) async -> SocketSending
  /// Sends a binary message.
  @discardableResult func send(binary: [UInt8]) async -> SocketSending
  /// Sends a ping whose pong comes back as `.pong(id:)`.
  func ping(id: UInt64) async
  /// Sends a close frame with `code`, waits for the peer's at most a second, then ends.
  func close(code: UInt16, reason: String) async
}

/// A socket that also shows the frames: to see how a peer takes those that are not valid, and which
/// ones it sends.
package protocol RawSocketHandle: SocketHandle {
  /// Sends bytes behind what is queued, without a frame around them.
  @discardableResult func send(raw: [UInt8]) async -> SocketSending
  /// Takes how many messages came compressed (RFC 7692) since the last call.
  func takeCompressedMessages() async -> Int
}

/// Opens WebSockets.
///
/// Contract: `deliver` is called once at a time and awaited before it is called again, so a slow
/// reader slows the socket and nothing piles up. After `close` or `failed` nothing follows.
public protocol SocketDialer: Sendable {
  /// Opens a socket that hands over one event at a time.
  func open(
    _ request: SocketRequest, deliver: @escaping @Sendable (SocketEvent) async -> Void
  ) async -> any SocketHandle

  /// Opens a socket that hands over in one call, in order, what came in together; never nothing.
  func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle
}

extension SocketDialer {
  /// A dialer that knows no turns makes one of each event.
  public func openInTurns(
    _ request: SocketRequest, deliver: @escaping @Sendable ([SocketEvent]) async -> Void
  ) async -> any SocketHandle {
    await open(request) { event in await deliver([event]) }
  }
}

/// One HTTP exchange to be made.
public struct HTTPCall: Sendable {
  /// An RFC 9110 method, in capitals.
  public var method: String
  /// `http` or `https`, without the token.
  public var url: String
  /// Sent in this order; may hold the token.
  public var headers: [(name: String, value: String)]
  /// Appended to the URL's query, percent-encoded by the adapter; may hold the token.
  public var query: [(name: String, value: String)]
  /// Sent as it is; empty for none.
  public var body: [UInt8]
  /// Time for the whole exchange.
  public var timeout: Duration
  /// A longer body fails with `.protocolError`.
  public var maxBodyBytes: Int
  /// Whether only HTTP/2 (RFC 9113) will do; anything else fails with `.protocolError`.
  ///
  /// Such requests share one connection that is kept, and one which that connection lost before any
  /// answer may be sent again by the adapter, whatever its method.
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

/// A whole HTTP answer of any status.
public struct HTTPAnswer: Sendable, Equatable {
  /// The RFC 9110 status code, 100 to 599.
  public var status: Int
  /// Names in lower case; repeated fields joined by `, `.
  public var headers: [String: String]
  /// The whole body, decoded from its transfer coding.
  public var body: [UInt8]
  /// What `Retry-After` asks for, as seconds or as a date counted from the answer's own `Date`.
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

/// Speaks HTTP. An answer of any status is a success; a failure means that no answer came.
public protocol HTTPClient: Sendable {
  func send(_ request: HTTPCall) async throws(LinkFailure) -> HTTPAnswer

  /// Makes the next requests open new connections: the way of the old ones may be gone.
  ///
  /// Call it when the network changed or the device woke; requests under way are left alone.
  func forgetConnections() async
}
