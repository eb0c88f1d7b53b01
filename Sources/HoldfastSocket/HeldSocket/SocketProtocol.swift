public import HoldfastCore
public import HoldfastHeldSocket

/// A description of the app's protocol as a set of optional pure functions.
///
/// The functions run outside the model, which receives only their results. Each function must
/// always return the same result for the same message. It must return quickly, because the sockets
/// of the network wait for it.
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
  /// Returns the ID by which the server acknowledges a message that the app sends; `nil` for a
  /// message that the server does not acknowledge.
  ///
  /// With this function, a message counts as arrived when the server's program acknowledged its ID,
  /// instead of when the server's WebSocket answered a ping. Until then, the outbox keeps the message
  /// and sends it again on the next connection. At most 64 messages are sent without an
  /// acknowledgement, so a server must acknowledge a message that it refuses, too. A message without
  /// an ID counts as arrived when it was passed to the connection. No two messages that wait may have
  /// the same ID. This function requires `acknowledgedID` or `read`, and the outbox `memory` or
  /// `durable`.
  public var messageID: (@Sendable (SocketMessage) -> String?)?
  /// Returns the ID of the sent message that the server acknowledges in a message; `nil` if the
  /// message acknowledges nothing.
  public var acknowledgedID: (@Sendable (SocketMessage) -> String?)?
  /// Returns everything that the socket needs to know about a message, so that the message is
  /// decoded once.
  ///
  /// If this function is set, it replaces `confirms`, `refuses`, `position`, `answersPing`,
  /// `provesLife` and `acknowledgedID`, which are not called.
  public var read: (@Sendable (SocketMessage) -> SocketReading)?
  /// Whether a link counts as connected only after a message that `read` marks as a confirmation.
  public var awaitsConfirmation = false

  /// Creates a description without functions.
  public init() {}

  var needsConfirmation: Bool { read == nil ? confirms != nil : awaitsConfirmation }

  func reading(of message: SocketMessage) -> SocketReading {
    if let read { return read(message) }
    return SocketReading(
      position: position?(message), confirms: confirms?(message) ?? false,
      answersPing: answersPing?(message) ?? false, provesLife: provesLife?(message) ?? true,
      refusal: refuses?(message), acknowledgedID: acknowledgedID?(message))
  }

  /// Returns the reason, with the remedy, why the functions do not fit together or do not fit the
  /// outbox; `nil` if they do.
  func problem(with outbox: SocketSettings.Outbox) -> String? {
    if read != nil, confirms != nil, !awaitsConfirmation {
      return
        "`messages.read` replaces `confirms`, which is not called; set `awaitsConfirmation` and "
        + "`confirms` in the reading, or remove `messages.confirms`"
    }
    if awaitsConfirmation, read == nil {
      return "`messages.awaitsConfirmation` needs `messages.read`, which recognizes the "
        + "confirmation; use `messages.confirms` instead"
    }
    if ping != nil, answersPing == nil, read == nil {
      return
        "`messages.ping` needs `messages.answersPing`, which recognizes the answer; without it, "
        + "every connection would count as lost"
    }
    if messageID == nil, acknowledgedID != nil {
      return
        "`messages.acknowledgedID` needs `messages.messageID`, which returns the ID of a message "
        + "that is sent"
    }
    guard messageID != nil else { return nil }
    if acknowledgedID == nil, read == nil {
      return "`messages.messageID` needs `messages.acknowledgedID`, which recognizes the "
        + "acknowledgement; without it, no message would count as arrived"
    }
    if !outbox.repeats {
      return
        "`messages.messageID` needs the outbox `memory` or `durable`, which keeps messages until "
        + "they are acknowledged"
    }
    return nil
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
