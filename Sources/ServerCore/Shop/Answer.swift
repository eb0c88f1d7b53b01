import LinkCore
public import LinkWire

/// What a REST request, or a refused upgrade, is answered with.
public struct Answer: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// What it says.
  public var body: ShopBody
  /// When to come back; sent as whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?
  /// The methods that the route knows; with 405.
  public var allow: String?

  /// An answer from its parts.
  public init(_ status: Int, _ body: ShopBody, retryAfter: Duration? = nil, allow: String? = nil) {
    self.status = status
    self.body = body
    self.retryAfter = retryAfter
    self.allow = allow
  }

  /// A refusal with a sentence for people.
  public static func error(
    _ status: Int, _ message: String, retryAfter: Duration? = nil, allow: String? = nil
  ) -> Answer {
    Answer(status, .error(message), retryAfter: retryAfter, allow: allow)
  }
}

/// The body of an answer before it is written as bytes.
public enum ShopBody: Sendable, Hashable, Codable {
  /// A refusal, in a sentence for people.
  case error(String)
  case message(Message, note: String)
  /// A whole history, oldest first.
  case messages([Message])
  /// `total` counts the messages that the query covers, as far as that is known.
  case page(Page, PageQuery, total: UInt64)
  /// How the stream is.
  case streamHealth(ShopStreamHealth)
}

/// What `GET /api/v1/health/websocket` states.
public struct ShopStreamHealth: Sendable, Hashable, Codable {
  /// False while the server drains.
  public var isServing: Bool
  /// Open sockets.
  public var connections: Int
  /// Shops with an open socket.
  public var shops: Int
  /// Time since the start.
  public var uptime: Duration

  /// A state of the stream.
  public init(isServing: Bool, connections: Int, shops: Int, uptime: Duration) {
    self.isServing = isServing
    self.connections = connections
    self.shops = shops
    self.uptime = uptime
  }
}

/// A text frame that goes to one or many sockets.
public enum Frame: Sendable, Hashable, Codable {
  /// A message, as every socket of its shop is sent it.
  case message(Message)
  case draining(within: Duration)
}
