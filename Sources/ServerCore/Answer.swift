import LinkCore
public import LinkWire

/// What a REST request, or a refused upgrade, is answered with.
public struct Answer: Sendable, Hashable, Codable {
  public var status: Int
  public var body: Body
  /// When to come back; sent as whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?
  /// The methods that the route knows; with 405.
  public var allow: String?

  public init(_ status: Int, _ body: Body, retryAfter: Duration? = nil, allow: String? = nil) {
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
public enum Body: Sendable, Hashable, Codable {
  case error(String)
  case message(Message, note: String)
  case messages([Message])
  /// `total` counts the messages that the query covers, as far as that is known.
  case page(Page, PageQuery, total: UInt64)
  case health(isServing: Bool)
  case streamHealth(StreamHealth)
  case metrics(String)
}

/// What `GET /api/v1/health/websocket` states.
public struct StreamHealth: Sendable, Hashable, Codable {
  public var isServing: Bool
  public var connections: Int
  public var shops: Int
  public var uptime: Duration

  public init(isServing: Bool, connections: Int, shops: Int, uptime: Duration) {
    self.isServing = isServing
    self.connections = connections
    self.shops = shops
    self.uptime = uptime
  }
}

/// A text frame that goes to one or many sockets.
public enum Frame: Sendable, Hashable, Codable {
  case message(Message)
  case draining(within: Duration)
}

/// A close frame (RFC 6455 section 7.4).
public struct Closure: Sendable, Hashable, Codable {
  public var code: UInt16
  public var reason: String

  public init(_ code: UInt16, _ reason: String) {
    self.code = code
    self.reason = reason
  }

  /// The token's time is over.
  public static let expired = Closure(4401, "token expired")
  /// The user is no longer a member of the shop.
  public static let removed = Closure(4403, "removed from the shop")
  /// The client reads more slowly than its shop talks; only it is cut.
  public static let slowReader = Closure(1013, "slow reader")
  /// The log jumped: what this socket would be sent has a hole that only a catch-up closes.
  public static let discontinuity = Closure(1011, "log discontinuity")

  /// The server goes away; clients spread their return over the window.
  public static func draining(within window: Duration) -> Closure {
    Closure(1001, "draining within_ms=\(window.nanoseconds / 1_000_000)")
  }
}
