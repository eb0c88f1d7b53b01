public import HoldfastHeldSocket
public import HoldfastCore

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
  /// Returns the reason for which the server refuses the client in a message; `nil` if it does not.
  ///
  /// The connection is then closed. After `.token`, the token is renewed once, as after a 401
  /// response. After `.forbidden`, no further attempt is made, as after a 403 response.
  public var refuses: (@Sendable (SocketMessage) -> SocketRefusal?)?
  /// Returns the position of a message in the server's sequence, so that a later connection can
  /// resume after it.
  public var position: (@Sendable (SocketMessage) -> String?)?
  /// Returns the message that requests everything after the last recorded position, which is `nil`
  /// if none has been recorded.
  ///
  /// The message is sent when a connection is established, before any other message of the app.
  public var resume: (@Sendable (String?) -> SocketMessage?)?
  /// The app's own ping. It is sent instead of a WebSocket ping whenever the policy requires a
  /// ping.
  public var ping: SocketMessage?
  /// Returns whether a message answers `ping`. The round-trip time is measured up to this answer.
  public var answersPing: (@Sendable (SocketMessage) -> Bool)?
  /// Returns whether a message proves that the server is alive.
  ///
  /// If this function is not set, every message counts as proof.
  public var provesLife: (@Sendable (SocketMessage) -> Bool)?
  /// Returns everything that the socket needs to know about a message, so that the message is
  /// decoded once.
  ///
  /// If this function is set, it replaces `confirms`, `refuses`, `position`, `answersPing` and
  /// `provesLife`, which are not called.
  public var read: (@Sendable (SocketMessage) -> SocketReading)?
  /// Whether a link counts as connected only after a message that `read` marks as a confirmation.
  ///
  /// The value has no effect without `read`.
  public var awaitsConfirmation = false

  /// Creates a description without functions.
  public init() {}

  var needsConfirmation: Bool { read == nil ? confirms != nil : awaitsConfirmation }

  func reading(of message: SocketMessage) -> SocketReading {
    if let read { return read(message) }
    return SocketReading(
      position: position?(message), confirms: confirms?(message) ?? false,
      answersPing: answersPing?(message) ?? false, provesLife: provesLife?(message) ?? true,
      refusal: refuses?(message))
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
