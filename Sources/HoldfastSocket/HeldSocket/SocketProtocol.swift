public import HoldfastCore
import HoldfastHeldSocket

/// A description of the app's protocol as a set of optional pure functions.
///
/// The functions run outside the model, which receives only their results. Each function must
/// always return the same result for the same message.
public struct SocketProtocol: Sendable {
  /// Returns the first message of every connection, such as a greeting, a login or a subscription.
  public var hello: (@Sendable (SocketGreeting) -> SocketMessage?)?
  /// Returns whether a message confirms the greeting.
  ///
  /// If this function is set, a link counts as connected only after the confirmation, which must
  /// arrive within the policy's `establish.timeout`.
  public var confirms: (@Sendable (SocketMessage) -> Bool)?
  /// Returns the position of a message in the server's sequence, so that a later connection can
  /// resume after it.
  public var position: (@Sendable (SocketMessage) -> String?)?
  /// Returns the message that requests everything after the last recorded position.
  ///
  /// The message is sent when a connection is established, before any messages of the app.
  public var resume: (@Sendable (String) -> SocketMessage?)?
  /// The app's own ping. It is sent instead of a WebSocket ping whenever the policy requires a
  /// ping.
  public var ping: SocketMessage?
  /// Returns whether a message answers `ping`. The round-trip time is measured up to this answer.
  public var answersPing: (@Sendable (SocketMessage) -> Bool)?
  /// Returns whether a message proves that the server is alive.
  ///
  /// If this function is not set, every message counts as proof.
  public var provesLife: (@Sendable (SocketMessage) -> Bool)?

  /// Creates a description without functions.
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

/// The information from which the first message of a connection is created.
public struct SocketGreeting: Sendable, Hashable {
  /// The current token, if the socket has a source of tokens.
  public var token: String?
  /// The last recorded position; `nil` if none has been recorded.
  public var position: String?
  /// The subprotocol that the server selected, if any.
  public var subprotocol: String?
}
