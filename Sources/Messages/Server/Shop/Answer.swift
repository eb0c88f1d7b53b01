import HoldfastCore
public import HoldfastMessageData
import HoldfastServerParts

/// The response to a REST request or a refused upgrade.
public struct Answer: Sendable, Hashable, Codable {
  /// The HTTP status code (RFC 9110 section 15).
  public var status: Int
  /// The content of the response.
  public var body: ShopBody
  /// The time after which the client may retry.
  ///
  /// It is sent in whole seconds, rounded up (RFC 9110 section 10.2.3).
  public var retryAfter: Duration?
  /// The methods that the route accepts, for status 405.
  public var allow: String?
  /// The value of `WWW-Authenticate` for status 401, if the request has a token.
  public var challenge: String?
  /// Whether the body describes edits and deletions, which the client has asked for.
  public var events: Bool

  /// Creates a response from its parts.
  public init(
    _ status: Int, _ body: ShopBody, retryAfter: Duration? = nil, allow: String? = nil,
    events: Bool = false
  ) {
    self.status = status
    self.body = body
    self.retryAfter = retryAfter
    self.allow = allow
    self.events = events
  }

  /// Returns a refusal with a human-readable message.
  public static func error(
    _ status: Int, _ message: String, retryAfter: Duration? = nil, allow: String? = nil
  ) -> Answer {
    Answer(status, .error(message), retryAfter: retryAfter, allow: allow)
  }

  /// Returns the refusal of a request because of its credential.
  static func refusal(_ fault: CredentialFault) -> Answer {
    var answer = Answer.error(fault.status, fault.detail, retryAfter: fault.retryAfter)
    answer.challenge = fault.challenge
    return answer
  }
}

/// The body of a response before it is encoded.
public enum ShopBody: Sendable, Hashable, Codable {
  /// A refusal, described by one human-readable sentence.
  case error(String)
  case message(ShopMessage, note: String)
  /// A message that was deleted.
  case deletion(ShopDeletion, note: String)
  /// A human-readable sentence without an envelope, as plain servers answer an edit or a deletion.
  case note(String)
  /// A complete history, oldest message first.
  case messages([ShopMessage])
  /// One page. `total` is the number of messages that the query covers, as far as it is known.
  case page(Page, PageQuery, total: UInt64)
  /// The state of the message stream.
  case streamHealth(ShopStreamHealth)
}

/// The content of `GET /api/v1/health/websocket`.
public struct ShopStreamHealth: Sendable, Hashable, Codable {
  /// A Boolean value that indicates whether the server is serving. It is false during a drain.
  public var isServing: Bool
  /// The number of open sockets.
  public var connections: Int
  /// The number of shops with an open socket.
  public var shops: Int
  /// The time since the server started.
  public var uptime: Duration

  /// Creates a state from its parts.
  public init(isServing: Bool, connections: Int, shops: Int, uptime: Duration) {
    self.isServing = isServing
    self.connections = connections
    self.shops = shops
    self.uptime = uptime
  }
}

/// A text frame for one or more sockets.
public enum Frame: Sendable, Hashable, Codable {
  /// A message, in the form that every socket of its shop receives.
  case message(ShopMessage)
  /// A message with its newest text, for sockets that receive events.
  case edited(ShopMessage)
  /// A deletion, for sockets that receive events.
  case deleted(ShopDeletion)
  case draining(within: Duration)
}
