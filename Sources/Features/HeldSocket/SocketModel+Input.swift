public import LinkCore

extension SocketModel.Input: LinkInput {
  public init(_ event: LinkEvent, at wall: Timestamp) { self = .link(event) }
  public var event: LinkEvent? { if case .link(let event) = self { event } else { nil } }
}

extension SocketModel {
  /// Everything that can happen to a held socket.
  public enum Input: Sendable, Equatable, Codable {
    // The app.
    /// Connect; also after an error, and without waiting for the next try.
    case start
    /// Close with 1000 when all accepted messages have arrived, or after 2 s. Without a connection
    /// only messages in memory are waited for.
    case stop
    case send(SocketMessage)

    case link(LinkEvent)
    case credentials(HeldLink.CredentialsEvent)
    /// What the socket of an attempt said beside.
    case socket(AttemptID, News)

    // The durable outbox.
    /// What an earlier run left; the first input.
    case restored([ProvenQueue.Entry])
    case stored(UInt64)
    case storeFailed(UInt64, detail: String)
  }

  /// What a socket can say beside the events of any link.
  public enum News: Sendable, Equatable, Codable {
    case opened(subprotocol: String?)
    case message(SocketMessage, SocketMarks)
    /// The socket is not read while the app leaves too much unread; or is read again.
    case reading(isPaused: Bool)
    /// The socket did not take what was to be sent.
    case unsent
  }

  /// Everything a held socket can ask for; carried out in order.
  public enum Effect: Sendable, Equatable, Codable {
    case open(AttemptID)
    /// Close the socket with a code of RFC 6455 section 7.4.
    case close(AttemptID, code: UInt16)
    /// Send the app's greeting, if it has one, as the first message.
    case greet(AttemptID, subprotocol: String?, after: Secret?)
    /// Send the app's resume message, if it has one.
    case resume(AttemptID, after: Secret)
    case send(AttemptID, SocketMessage)
    /// Send a WebSocket ping.
    case ping(AttemptID, UInt64)
    /// Send the app's own ping message.
    case ask(AttemptID)
    case refreshCredentials
    /// Store a message, then say `.stored` or `.storeFailed`.
    case store(ProvenQueue.Entry)
    /// Remove stored messages.
    case remove([UInt64])
    case update(Update)
  }

  /// What the app sees happen, in order.
  public enum Update: Sendable, Hashable, Codable {
    case status(LinkStatus)
    /// How well the server answers, when that changes; good at first.
    case quality(LinkQuality)
    case message(SocketMessage)
    /// How many messages were handed to a socket since the start.
    case sent(UInt64)
    case notice(SocketNotice)
  }
}

/// What deserves a line in a log, and changes nothing by itself.
public enum SocketNotice: Sendable, Hashable, Codable {
  /// A message was not accepted: there is no connection, and the outbox is off.
  case notConnected
  /// A message was not accepted by the outbox.
  case refused(ProvenQueue.Refusal)
  /// A message was not accepted: it could not be stored.
  case notStored(detail: String)
  /// A connection was lost with messages handed to it, or their pong did not come in time; whether
  /// they arrived is unknown. They are sent again if `isRepeated`.
  case unproven(count: Int, isRepeated: Bool)
  /// The socket was stopped before so many accepted messages were sent and proven.
  ///
  /// A durable outbox keeps them for the next run, others until the socket is started again.
  case unsent(count: Int)
  /// A message over the limit came in and was dropped unread.
  case oversized(bytes: UInt64)
}
