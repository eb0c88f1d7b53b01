public import LinkCore
import HeldSocket

/// What an app's protocol needs of a connection, as pure functions; all are optional.
///
/// They run outside of the model, which learns their results only: the same message must always
/// give the same result.
public struct SocketProtocol: Sendable {
  /// Makes the first message of every connection: a greeting, a login, a subscription.
  public var hello: (@Sendable (SocketGreeting) -> SocketMessage?)?
  /// Whether a message confirms the greeting. With this function "connected" means confirmed,
  /// within the policy's `establish.timeout`.
  public var confirms: (@Sendable (SocketMessage) -> Bool)?
  /// The position of a message in the server's sequence, to be resumed behind.
  public var position: (@Sendable (SocketMessage) -> String?)?
  /// Makes the message that asks for what lies behind the last position noted; sent when a
  /// connection stands, before messages of the app.
  public var resume: (@Sendable (String) -> SocketMessage?)?
  /// A ping of the app's own, sent instead of WebSocket's whenever the policy asks for one.
  public var ping: SocketMessage?
  /// Whether a message answers that ping, which measures the round trip; any message proves life.
  public var answersPing: (@Sendable (SocketMessage) -> Bool)?
  /// Whether a message proves that the server works; every message does without this function.
  public var provesLife: (@Sendable (SocketMessage) -> Bool)?

  /// A protocol that needs nothing.
  public init() {}

  func marks(of message: SocketMessage) -> SocketMarks {
    var marks = SocketMarks()
    marks.confirms = confirms?(message) ?? false
    marks.answersPing = answersPing?(message) ?? false
    marks.provesLife = provesLife?(message) ?? true
    marks.position = position?(message).map { Secret($0) }
    return marks
  }
}

/// What is known when a connection opens, for its first message.
public struct SocketGreeting: Sendable, Hashable {
  /// The present token, if the socket has a source of tokens.
  public var token: String?
  /// The last position noted; `nil` before the first.
  public var position: String?
  /// The subprotocol that the server chose, if any.
  public var subprotocol: String?
}
