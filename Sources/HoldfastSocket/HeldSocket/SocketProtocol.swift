public import LinkCore
import HeldSocket

/// A description of the app's protocol as optional pure functions.
///
/// The functions run outside of the model, which receives only their results. The same message must
/// always give the same result.
public struct SocketProtocol: Sendable {
  /// Returns the first message of every connection, such as a greeting, a login or a subscription.
  public var hello: (@Sendable (SocketGreeting) -> SocketMessage?)?
  /// Returns whether a message confirms the greeting.
  ///
  /// With this function, a link is connected only after the confirmation, within the policy's
  /// `establish.timeout`.
  public var confirms: (@Sendable (SocketMessage) -> Bool)?
  /// Returns the position of a message in the server's sequence, for resuming after it.
  public var position: (@Sendable (SocketMessage) -> String?)?
  /// Returns the message that requests everything after the last recorded position.
  ///
  /// It is sent when a connection is established, before messages of the app.
  public var resume: (@Sendable (String) -> SocketMessage?)?
  /// The app's own ping, sent instead of a WebSocket ping whenever the policy requires one.
  public var ping: SocketMessage?
  /// Returns whether a message answers that ping, which measures the round trip.
  ///
  /// Any message proves that the server works.
  public var answersPing: (@Sendable (SocketMessage) -> Bool)?
  /// Returns whether a message proves that the server works.
  ///
  /// Without this function every message does.
  public var provesLife: (@Sendable (SocketMessage) -> Bool)?

  /// Creates a description without any functions.
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

/// The information available for the first message of a connection.
public struct SocketGreeting: Sendable, Hashable {
  /// The current token, if the socket has a source of tokens.
  public var token: String?
  /// The last recorded position; `nil` before the first.
  public var position: String?
  /// The subprotocol that the server selected, if any.
  public var subprotocol: String?
}
