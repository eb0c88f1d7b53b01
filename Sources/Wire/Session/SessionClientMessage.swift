public import LinkCore

/// What a client says in a session.
public enum SessionClientMessage: Sendable, Hashable, Codable {
  case connect(SessionConnect)
  case ping
  /// A message of the server was stored; its id.
  case messageAck(String)
  case prompt(SessionPrompt)
  /// Send what a conversation has behind the cursor, and what it gets from now on.
  case subscribe(SessionSubscription)
  /// The same for up to 100 conversations; `SessionFeature.batch`.
  case subscribeBatch([SessionSubscription])
  case unsubscribe(conversation: String)
  /// The longest message that the client takes, in units of 1,024 bytes, 1 to 16,384.
  case setMaxMessageSize(kilobytes: Int)
  /// Cancel what runs in a conversation.
  case killSession(conversation: String)
  /// The client closes next.
  case disconnect(reason: String)
  /// A message of a type that this version does not know.
  case unknown(type: String)
}

/// The first message of a client.
///
/// The description does not show the secrets.
public struct SessionConnect: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The client's own id, 1 to 128 bytes: what it did not acknowledge belongs to it.
  public var session: String
  /// The key itself; `nil` if the challenge is answered instead.
  public var key: Secret?
  /// The lower-case hex digits of HMAC-SHA256 with the key over `signedText(_:)`.
  public var proof: Secret?
  /// The time of `hello`, or the client's clock; refused with a proof if it differs by more than
  /// 30 s from the server's.
  public var timestamp: Timestamp?
  /// The client's newest version as it was sent; `nil` for none.
  public var version: String?
  /// How many conversations the client wants listed.
  public var recentSessionsLimit: Int?
  /// What the client knows beside the original's protocol.
  public var features: Set<SessionFeature>
  /// The number of the last message of the server that the client stored; `SessionFeature.resume`.
  public var received: UInt64?

  public init(
    session: String, key: Secret? = nil, proof: Secret? = nil, timestamp: Timestamp? = nil,
    version: String? = SessionVersion.newest.description, recentSessionsLimit: Int? = nil,
    features: Set<SessionFeature> = [], received: UInt64? = nil
  ) {
    (self.session, self.key, self.proof, self.timestamp) = (session, key, proof, timestamp)
    (self.version, self.recentSessionsLimit) = (version, recentSessionsLimit)
    (self.features, self.received) = (features, received)
  }

  public var description: String { "connect of \(session)" }

  /// Returns what a client signs to answer a challenge: the challenge, or with
  /// `SessionFeature.boundProof` also who enters, in which version and when.
  ///
  /// The parts stand behind 128 spaces, each as `LENGTH:TEXT,` with its length in bytes: challenge,
  /// `session_id`, `protocol_version`, and the time in whole milliseconds since 1970. So the text
  /// is longer than any challenge, and no answer to a challenge alone is an answer of this form.
  public func signedText(_ challenge: String) -> String {
    guard features.contains(.boundProof) else { return challenge }
    let time = timestamp.map { String($0.nanoseconds / 1_000_000) } ?? ""
    let parts = [challenge, session, version ?? "", time]
    return String(repeating: " ", count: SessionBounds.id)
      + parts.map { "\($0.utf8.count):\($0)," }.joined()
  }
}

/// A prompt: a text for the program behind the server.
public struct SessionPrompt: Sendable, Hashable, Codable {
  /// What is asked.
  public var text: String
  /// A lower-case UUID.
  public var conversation: String
  /// Whether this is the conversation's first prompt (`new_session_id`).
  public var isNew: Bool
  /// The same for each try of this prompt, 1 to 128 bytes; `nil` from a plain client.
  public var idempotencyKey: String?
  /// The number of the prompt among all of this client, from 1; `SessionFeature.resume`.
  public var number: UInt64?
  /// The directory in which the program works; the server may ignore it.
  public var workingDirectory: String?
  /// The program's provider; the server may ignore it.
  public var provider: String?
  /// What the program is told before; the server may ignore it.
  public var systemPrompt: String?

  public init(
    text: String, conversation: String, isNew: Bool, idempotencyKey: String?,
    number: UInt64? = nil, workingDirectory: String? = nil, provider: String? = nil,
    systemPrompt: String? = nil
  ) {
    (self.text, self.conversation, self.isNew) = (text, conversation, isNew)
    (self.idempotencyKey, self.number) = (idempotencyKey, number)
    (self.workingDirectory, self.provider) = (workingDirectory, provider)
    self.systemPrompt = systemPrompt
  }
}

/// A conversation and the place from where it is wanted.
public struct SessionSubscription: Sendable, Hashable, Codable {
  /// The conversation's id.
  public var conversation: String
  /// The place behind which it is wanted.
  public var cursor: SessionCursor

  public init(conversation: String, cursor: SessionCursor) {
    (self.conversation, self.cursor) = (conversation, cursor)
  }
}
