public import HoldfastCore
public import HoldfastJSON

/// A message from a client in a session.
public enum SessionClientMessage: Sendable, Hashable, Codable {
  case connect(SessionConnect)
  case ping
  /// An acknowledgement that the client stored the server's message with this id.
  case messageAck(String)
  case prompt(SessionPrompt)
  /// A request for the messages of a conversation after the cursor, and for its future messages.
  case subscribe(SessionSubscription)
  /// A subscription to up to 100 conversations (`SessionFeature.batch`).
  case subscribeBatch([SessionSubscription])
  case unsubscribe(conversation: String)
  /// The maximum size of a message that the client accepts, in units of 1,024 bytes, from 1 to
  /// 16,384.
  case setMaxMessageSize(kilobytes: Int)
  /// A request to cancel the work in progress in a conversation.
  case killSession(conversation: String)
  /// A notice that the client is about to close the connection.
  case disconnect(reason: String)
  /// A message whose type is unknown to this version.
  case unknown(type: String)
}

/// The first message of a client.
///
/// The description does not contain the secrets.
public struct SessionConnect: Sendable, Hashable, Codable, CustomStringConvertible {
  /// The client's id, which it chooses itself: 1 to 128 bytes. The server keeps unacknowledged
  /// messages for this id.
  public var session: String
  /// The key itself, or `nil` if the client answers the challenge instead.
  public var key: Secret?
  /// The HMAC-SHA256 of `signedText(_:)` with the key, in lower-case hexadecimal digits.
  public var proof: Secret?
  /// The timestamp of `hello`, or the time of the client's clock. If the message contains a proof,
  /// the time is rejected if it differs from the server's clock by more than 30 s.
  public var timestamp: Timestamp?
  /// The newest version that the client supports, as it was sent, or `nil` if the client sends
  /// none.
  public var version: String?
  /// The number of conversations that the server should list.
  public var recentSessionsLimit: Int?
  /// The extensions of the original protocol that the client supports.
  public var features: Set<SessionFeature>
  /// The number of the last server message that the client stored (`SessionFeature.resume`).
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

  /// Returns the text that a client signs to answer a challenge.
  ///
  /// Without `SessionFeature.boundProof`, the text is the challenge alone. With it, the text also
  /// includes the client's id, its version and the time.
  ///
  /// The second form starts with 128 spaces, so that it is longer than any challenge. A signature
  /// of a challenge alone is therefore never valid for this form. The parts follow, each as
  /// `LENGTH:TEXT,` with its length in bytes: the challenge, `session_id`, `protocol_version`, and
  /// the time in whole milliseconds since 1970.
  public func signedText(_ challenge: String) -> String {
    guard features.contains(.boundProof) else { return challenge }
    let time = timestamp.map { String($0.nanoseconds / 1_000_000) } ?? ""
    let parts = [challenge, session, version ?? "", time]
    return String(repeating: " ", count: SessionBounds.id)
      + parts.map { "\($0.utf8.count):\($0)," }.joined()
  }
}

/// A prompt: a text for the program that the server runs.
public struct SessionPrompt: Sendable, Hashable, Codable {
  /// The text of the prompt.
  public var text: String
  /// The conversation's id, a lower-case UUID.
  public var conversation: String
  /// Whether this is the conversation's first prompt (`new_session_id`).
  public var isNew: Bool
  /// The idempotency key: 1 to 128 bytes, the same for each retry of this prompt. Plain clients
  /// send none.
  public var idempotencyKey: String?
  /// The number of the prompt among all prompts of this client, from 1 (`SessionFeature.resume`).
  public var number: UInt64?
  /// The working directory of the program. The server may ignore it.
  public var workingDirectory: String?
  /// The provider that the program should use. The server may ignore it.
  public var provider: String?
  /// The system prompt of the program. The server may ignore it.
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

/// A subscription to the messages of a conversation after a cursor.
public struct SessionSubscription: Sendable, Hashable, Codable {
  /// The conversation's id.
  public var conversation: String
  /// The cursor after which messages are requested.
  public var cursor: SessionCursor

  public init(conversation: String, cursor: SessionCursor) {
    (self.conversation, self.cursor) = (conversation, cursor)
  }
}

extension SessionClientMessage {
  /// The default maximum size of a message that a server accepts, in bytes.
  ///
  /// The limit is Holdfast's own. It is 5 times the size of the original client's longest message.
  public static let maxBytes = 1 << 20

  /// Reads a text frame. Unknown members are ignored.
  ///
  /// The type `message-ack` is also read as `message_ack`, because the original client and server
  /// spell it differently.
  public static func read(_ bytes: [UInt8]) throws(FieldFault) -> SessionClientMessage {
    let fields = JSONFields(bytes, keeping: names)
    try fields.check()
    let type = try fields.string("type", atMost: SessionBounds.name)
    switch type {
    case "connect": return .connect(try SessionConnect(fields))
    case "ping": return .ping
    case "message_ack", "message-ack": return .messageAck(try fields.sessionID("message_id"))
    case "prompt": return .prompt(try SessionPrompt(fields))
    case "subscribe": return .subscribe(try SessionSubscription(fields))
    case "subscribe_batch":
      var all: [SessionSubscription] = []
      for element in try fields.elements("sessions", atMost: SessionBounds.batch) {
        all.append(try SessionSubscription(JSONFields(element, keeping: names)))
      }
      return .subscribeBatch(all)
    case "unsubscribe": return .unsubscribe(conversation: try fields.sessionID("session_id"))
    case "set_max_message_size":
      return .setMaxMessageSize(kilobytes: try fields.int("size_kb", in: 1...16_384))
    case "kill_session": return .killSession(conversation: try fields.sessionID("session_id"))
    case "disconnect": return .disconnect(reason: try fields.note("reason") ?? "")
    case _: return .unknown(type: type)
    }
  }

  /// The message as a text frame.
  public var bytes: [UInt8] {
    switch self {
    case .connect(let connect): .session("connect", connect.write)
    case .ping: .session("ping")
    case .messageAck(let id): .session("message_ack") { $0.entry("message_id", id) }
    case .prompt(let prompt):
      .session("prompt", capacity: prompt.text.utf8.count * 9 / 8 + 300, prompt.write)
    case .subscribe(let subscription): .session("subscribe", subscription.write)
    case .subscribeBatch(let all):
      .session("subscribe_batch", capacity: 100 + 120 * all.count) { writer in
        writer.array("sessions") { writer in
          for subscription in all { writer.object(subscription.write) }
        }
      }
    case .unsubscribe(let id): .session("unsubscribe") { $0.entry("session_id", id) }
    case .setMaxMessageSize(let kilobytes):
      .session("set_max_message_size") { $0.entry("size_kb", kilobytes) }
    case .killSession(let id): .session("kill_session") { $0.entry("session_id", id) }
    case .disconnect(let reason): .session("disconnect") { $0.entry("reason", reason) }
    case .unknown(let type): .session(type)
    }
  }

  fileprivate static let names = [
    "type", "session_id", "api_key", "challenge_response", "timestamp", "protocol_version",
    "recent_sessions_limit", "features", "received", "message_id", "text", "new_session_id",
    "resume_session_id", "idempotency_key", "number", "working_directory", "provider",
    "system_prompt", "last_seq", "from_offset", "file_signature_seen", "sessions", "size_kb",
    "reason",
  ]
}

extension [UInt8] {
  /// Returns a message with a type and members, as a text frame.
  static func session(
    _ type: String, capacity: Int = 200, _ members: (inout JSONWriter) -> Void = { _ in }
  ) -> [UInt8] {
    JSONWriter.session(type, capacity: capacity, members)
  }
}

extension SessionConnect {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    self.init(
      session: try fields.sessionID("session_id"),
      key: try fields.note("api_key").map { Secret($0) },
      proof: try fields.note("challenge_response").map { Secret($0) },
      timestamp: try fields.time("timestamp"), version: Self.version(fields),
      recentSessionsLimit: try fields.optionalInt("recent_sessions_limit", in: 0...1_000),
      features: try fields.features(), received: try fields.optionalNumber("received"))
  }

  /// Returns the version, or `nil` if it is not a string. The contract treats such a client as a
  /// client of the oldest version.
  private static func version(_ fields: JSONFields) -> String? {
    do { return try fields.note("protocol_version") } catch { return nil }
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("session_id", session)
    writer.some("api_key", key?.text)
    writer.some("challenge_response", proof?.text)
    writer.some("timestamp", timestamp)
    writer.some("protocol_version", version)
    writer.some("recent_sessions_limit", recentSessionsLimit.map { UInt64($0) })
    writer.features(features)
    writer.some("received", received)
  }
}

extension SessionPrompt {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    let new = try fields.optionalSessionID("new_session_id")
    let resumed = try fields.optionalSessionID("resume_session_id")
    guard let conversation = new ?? resumed else { throw .missing(field: "new_session_id") }
    guard new == nil || resumed == nil else {
      throw .malformed(detail: "new_session_id and resume_session_id exclude each other")
    }
    guard let text = try fields.optionalString("text") else { throw .missing(field: "text") }
    self.init(
      text: text, conversation: conversation, isNew: new != nil,
      idempotencyKey: try fields.optionalSessionID("idempotency_key"),
      number: try fields.optionalNumber("number"),
      workingDirectory: try fields.note("working_directory"),
      provider: try fields.note("provider", atMost: SessionBounds.name),
      systemPrompt: try fields.optionalString("system_prompt"))
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("text", text)
    writer.entry(isNew ? "new_session_id" : "resume_session_id", conversation)
    writer.some("idempotency_key", idempotencyKey)
    writer.some("number", number)
    writer.some("working_directory", workingDirectory)
    writer.some("provider", provider)
    writer.some("system_prompt", systemPrompt)
  }
}

extension SessionSubscription {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    try fields.check()
    let cursor: SessionCursor
    if let offset = try fields.optionalNumber("from_offset") {
      cursor = .offset(offset, signature: try fields.note("file_signature_seen"))
    } else {
      cursor = .sequence(try fields.optionalNumber("last_seq") ?? 0)
    }
    self.init(conversation: try fields.sessionID("session_id"), cursor: cursor)
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("session_id", conversation)
    switch cursor {
    case .sequence(let last): writer.entry("last_seq", last)
    case .offset(let offset, let signature):
      writer.entry("from_offset", offset)
      writer.some("file_signature_seen", signature)
    }
  }
}
