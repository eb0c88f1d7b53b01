public import LinkCore

/// What a server says in a session.
public enum SessionServerMessage: Sendable, Hashable, Codable {
  case hello(SessionHello)
  case connected(SessionConnected)
  case pong
  /// Something was taken; with the key of the prompt if it was one and the server names it.
  case ack(message: String, idempotencyKey: String?)
  case response(SessionResponse)
  /// A piece of a response that is still being made, from 0; `SessionFeature.parts`.
  case responsePart(conversation: String, idempotencyKey: String, index: Int, text: String)
  case error(SessionError)
  /// The key is wrong or missing; the server closes next.
  case authError(message: String)
  /// A message that was not acknowledged before, with the id to acknowledge and its number.
  case replay(id: String, SessionEntry, number: UInt64?)
  case turnComplete(conversation: String, isAborted: Bool)
  case history(SessionHistory)
  /// Windows of several conversations; `SessionFeature.batch`.
  case historyBatch([SessionHistory])
  /// Sign of life; no answer.
  case heartbeat(Timestamp?)
  /// The server stops soon; return within `window` after `retryAfter`.
  case draining(message: String, retryAfter: Duration, window: Duration?)
  case sessionKilled(conversation: String)
  /// A message of a type that this version does not know, such as `session_list`.
  case unknown(type: String)
}

/// The first message of a server.
public struct SessionHello: Sendable, Hashable, Codable {
  /// For people.
  public var message: String
  /// The server's newest version as it was sent.
  public var version: String?
  /// The version of the authentication; 1.
  public var authVersion: Int?
  /// What to send next, for people.
  public var instructions: String?
  /// What the client may sign instead of sending its key; used once.
  public var challenge: String?
  /// The server's clock: the time to sign with the challenge.
  public var timestamp: Timestamp?
  /// What the server knows beside the original's protocol.
  public var features: Set<SessionFeature>

  public init(
    message: String, version: String? = SessionVersion.newest.description, authVersion: Int? = 1,
    instructions: String? = nil, challenge: String? = nil, timestamp: Timestamp? = nil,
    features: Set<SessionFeature> = []
  ) {
    (self.message, self.version, self.authVersion) = (message, version, authVersion)
    (self.instructions, self.challenge, self.features) = (instructions, challenge, features)
    self.timestamp = timestamp
  }
}

/// The server's answer to `connect`.
public struct SessionConnected: Sendable, Hashable, Codable {
  /// For people.
  public var message: String
  /// The client's id, as it named itself.
  public var session: String
  /// What both ends speak; the oldest version if the server names none.
  public var version: SessionVersion
  /// What both ends know beside the original's protocol.
  public var features: Set<SessionFeature>
  /// The number of the client's last prompt that the server has; `SessionFeature.resume`.
  public var received: UInt64?
  /// Whether the server still has all that the client did not acknowledge; `nil` if unknown.
  public var isRecovered: Bool?

  public init(
    message: String, session: String, version: SessionVersion,
    features: Set<SessionFeature> = [], received: UInt64? = nil, isRecovered: Bool? = nil
  ) {
    (self.message, self.session, self.version) = (message, session, version)
    (self.features, self.received, self.isRecovered) = (features, received, isRecovered)
  }
}

/// The end of a prompt.
public struct SessionResponse: Sendable, Hashable, Codable {
  /// The id to acknowledge; `nil` from a plain server that keeps nothing.
  public var id: String?
  /// The number among all messages to this client; `SessionFeature.resume`.
  public var number: UInt64?
  /// The conversation (`session_id`).
  public var conversation: String?
  /// The key of the prompt, if it had one.
  public var idempotencyKey: String?
  /// How the prompt ended.
  public var result: Result
  /// How many parts, from 0 on, make up the whole text, of which `result` has the beginning and the
  /// end; `nil` if `result` has all of it. `SessionFeature.parts`.
  public var parts: Int?

  /// The end of a prompt.
  public enum Result: Sendable, Hashable, Codable {
    case success(text: String)
    /// `error` in words; "interrupted" if a crash ended the work.
    case failure(error: String)
  }

  public init(
    id: String?, number: UInt64? = nil, conversation: String?, idempotencyKey: String? = nil,
    result: Result, parts: Int? = nil
  ) {
    (self.id, self.number, self.conversation) = (id, number, conversation)
    (self.idempotencyKey, self.result, self.parts) = (idempotencyKey, result, parts)
  }
}

/// A refusal of one message, or of the session.
public struct SessionError: Sendable, Hashable, Codable {
  /// For people.
  public var message: String
  /// A word for programs, such as `unsupported_protocol_version`.
  public var code: String?
  /// The conversation that it is about.
  public var conversation: String?
  /// The prompt that was refused.
  public var idempotencyKey: String?
  /// The oldest version that the server speaks, with `unsupportedVersion`.
  public var required: SessionVersion?
  /// The version that the client named, with `unsupportedVersion`.
  public var received: String?

  public init(
    message: String, code: String? = nil, conversation: String? = nil,
    idempotencyKey: String? = nil, required: SessionVersion? = nil, received: String? = nil
  ) {
    (self.message, self.code) = (message, code)
    (self.conversation, self.idempotencyKey) = (conversation, idempotencyKey)
    (self.required, self.received) = (required, received)
  }

  /// The code of a version that is too old; the server closes next.
  public static let unsupportedVersion = "unsupported_protocol_version"
}
