public import HoldfastCore
public import HoldfastJSON

/// A message from a server in a session.
public enum SessionServerMessage: Sendable, Hashable, Codable {
  case hello(SessionHello)
  case connected(SessionConnected)
  case pong
  /// A notice that a message was accepted. The key is that of the prompt, if the server includes
  /// it.
  case ack(message: String, idempotencyKey: String?)
  case response(SessionResponse)
  /// A part of a response that is still being created (`SessionFeature.parts`). Indexes start at 0.
  case responsePart(conversation: String, idempotencyKey: String, index: Int, text: String)
  case error(SessionError)
  /// A notice that the key is wrong or missing. The server then closes the connection.
  case authError(message: String)
  /// A message that the client has not acknowledged, with its number and the id to acknowledge.
  case replay(id: String, SessionEntry, number: UInt64?)
  case turnComplete(conversation: String, isAborted: Bool)
  case history(SessionHistory)
  /// The windows of several conversations (`SessionFeature.batch`).
  case historyBatch([SessionHistory])
  /// A heartbeat. It requires no answer.
  case heartbeat(Timestamp?)
  /// A notice that the server is about to stop. Clients wait for `retryAfter` and then reconnect
  /// within `window`.
  case draining(message: String, retryAfter: Duration, window: Duration?)
  case sessionKilled(conversation: String)
  /// A message whose type is unknown to this version, such as `session_list`.
  case unknown(type: String)
}

/// The first message of a server.
public struct SessionHello: Sendable, Hashable, Codable {
  /// A human-readable message.
  public var message: String
  /// The newest version that the server supports, as it was sent.
  public var version: String?
  /// The version of the authentication method. It is 1.
  public var authVersion: Int?
  /// Human-readable instructions for the next message.
  public var instructions: String?
  /// The challenge, which the client can sign instead of sending its key. It is valid only once.
  public var challenge: String?
  /// The time of the server's clock, which the client signs together with the challenge.
  public var timestamp: Timestamp?
  /// The extensions of the original protocol that the server supports.
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
  /// A human-readable message.
  public var message: String
  /// The client's id, as the client sent it.
  public var session: String
  /// The version of the session, or the oldest version if the server sends none.
  public var version: SessionVersion
  /// The extensions of the original protocol that both ends support.
  public var features: Set<SessionFeature>
  /// The number of the client's last prompt that the server received (`SessionFeature.resume`).
  public var received: UInt64?
  /// Whether the server still has all messages that the client has not acknowledged, or `nil` if
  /// this is unknown.
  public var isRecovered: Bool?

  public init(
    message: String, session: String, version: SessionVersion,
    features: Set<SessionFeature> = [], received: UInt64? = nil, isRecovered: Bool? = nil
  ) {
    (self.message, self.session, self.version) = (message, session, version)
    (self.features, self.received, self.isRecovered) = (features, received, isRecovered)
  }
}

/// The response to a prompt.
public struct SessionResponse: Sendable, Hashable, Codable {
  /// The id to acknowledge, or `nil` if the server is a plain server, which stores nothing.
  public var id: String?
  /// The number among all messages to this client (`SessionFeature.resume`).
  public var number: UInt64?
  /// The conversation's id (`session_id`).
  public var conversation: String?
  /// The idempotency key of the prompt, if it had one.
  public var idempotencyKey: String?
  /// The result of the prompt.
  public var result: Result
  /// The number of parts, from index 0 on, that make up the complete text (`SessionFeature.parts`).
  ///
  /// If it is not `nil`, `result` contains only the beginning and the end of the text. Otherwise,
  /// `result` contains the complete text.
  public var parts: Int?

  /// The result of a prompt.
  public enum Result: Sendable, Hashable, Codable {
    case success(text: String)
    /// A failure with its description. The description is "interrupted" if a crash ended the work.
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

/// A refusal of a message or of the session.
public struct SessionError: Sendable, Hashable, Codable {
  /// A human-readable message.
  public var message: String
  /// A code for programs, such as `unsupported_protocol_version`.
  public var code: String?
  /// The id of the conversation that the refusal concerns.
  public var conversation: String?
  /// The idempotency key of the rejected prompt.
  public var idempotencyKey: String?
  /// The oldest version that the server supports, if the code is `unsupportedVersion`.
  public var required: SessionVersion?
  /// The version that the client sent, if the code is `unsupportedVersion`.
  public var received: String?

  public init(
    message: String, code: String? = nil, conversation: String? = nil,
    idempotencyKey: String? = nil, required: SessionVersion? = nil, received: String? = nil
  ) {
    (self.message, self.code) = (message, code)
    (self.conversation, self.idempotencyKey) = (conversation, idempotencyKey)
    (self.required, self.received) = (required, received)
  }

  /// The code for a version that is too old. The server then closes the connection.
  public static let unsupportedVersion = "unsupported_protocol_version"
}

extension SessionServerMessage {
  /// The maximum size of a message that a client accepts, in bytes. The limit is Holdfast's own.
  public static let maxBytes = 4 << 20

  /// Reads a text frame. Unknown members are ignored.
  ///
  /// Deviations of the original server are accepted: times as milliseconds or text, missing
  /// informative members, and undocumented types.
  public static func read(_ bytes: [UInt8]) throws(FieldFault) -> SessionServerMessage {
    guard bytes.count <= maxBytes else { throw .tooLong(bytes: bytes.count) }
    let fields = JSONFields(bytes, keeping: names)
    try fields.check()
    let type = try fields.string("type", atMost: SessionBounds.name)
    switch type {
    case "hello": return .hello(try SessionHello(fields))
    case "connected": return .connected(try SessionConnected(fields))
    case "pong": return .pong
    case "ack":
      return .ack(
        message: try fields.note("message") ?? "",
        idempotencyKey: try fields.optionalSessionID("idempotency_key"))
    case "response": return .response(try SessionResponse(fields))
    case "error": return .error(try SessionError(fields))
    case "auth_error": return .authError(message: try fields.note("message") ?? "")
    case "session_history": return .history(try SessionHistory(fields))
    case _: return try readRest(type, fields)
    }
  }

  private static func readRest(
    _ type: String, _ fields: JSONFields
  ) throws(FieldFault) -> SessionServerMessage {
    switch type {
    case "response_part":
      return .responsePart(
        conversation: try fields.sessionID("session_id"),
        idempotencyKey: try fields.sessionID("idempotency_key"),
        index: try fields.int("index", in: SessionBounds.count),
        text: try fields.optionalString("text") ?? "")
    case "replay":
      let message = JSONFields(try fields.object("message"), keeping: names)
      let id = try fields.sessionID("message_id")
      return .replay(
        id: id, try SessionEntry(message, id: id), number: try fields.optionalNumber("number"))
    case "turn_complete":
      return .turnComplete(
        conversation: try fields.sessionID("session_id"),
        isAborted: try fields.optionalBool("aborted") ?? false)
    case "session_history_batch":
      var all: [SessionHistory] = []
      for element in try fields.elements("histories", atMost: SessionBounds.batch) {
        all.append(try SessionHistory(JSONFields(element, keeping: names)))
      }
      return .historyBatch(all)
    case "heartbeat": return .heartbeat((try? fields.time("timestamp")) ?? nil)
    case "draining":
      return .draining(
        message: try fields.note("message") ?? "",
        retryAfter: .milliseconds(try fields.optionalInt("retry_after_ms", in: longest) ?? 5_000),
        window: try fields.optionalInt("window_ms", in: longest).map { .milliseconds($0) })
    case "session_killed":
      return .sessionKilled(conversation: try fields.sessionID("session_id"))
    case _: return .unknown(type: type)
    }
  }

  /// The message as a text frame.
  public var bytes: [UInt8] {
    switch self {
    case .hello(let hello): .session("hello", capacity: 500, hello.write)
    case .connected(let connected): .session("connected", capacity: 400, connected.write)
    case .pong: .session("pong")
    case .ack(let message, let key): .ack(message, key)
    case .response(let response): .session("response", capacity: response.size, response.write)
    case .responsePart(let conversation, let key, let index, let text):
      .part(conversation, key, index, text)
    case .error(let error): .session("error", error.write)
    case .authError(let message): .session("auth_error") { $0.entry("message", message) }
    case .replay(let id, let entry, let number): .replay(id, entry, number)
    case .turnComplete(let id, let isAborted):
      .session("turn_complete") { writer in
        writer.entry("session_id", id)
        if isAborted { writer.entry("aborted", true) }
      }
    case .history(let history):
      .session("session_history", capacity: history.size, history.write)
    case .historyBatch(let all): .batch(all)
    case .heartbeat(let time): .session("heartbeat") { $0.some("timestamp", time) }
    case .draining(let message, let retryAfter, let window):
      .session("draining") { writer in
        writer.entry("message", message)
        writer.entry("retry_after_ms", retryAfter.milliseconds)
        writer.some("window_ms", window?.milliseconds)
      }
    case .sessionKilled(let id): .session("session_killed") { $0.entry("session_id", id) }
    case .unknown(let type): .session(type)
    }
  }

  /// The range of accepted durations, in milliseconds: up to a day. The limit is Holdfast's own.
  private static let longest = 0...86_400_000
  fileprivate static let names = [
    "type", "message", "version", "auth_version", "instructions", "challenge", "features",
    "session_id", "negotiated_protocol_version", "received", "recovered", "idempotency_key",
    "message_id", "number", "success", "text", "error", "code", "uuid", "role", "timestamp", "seq",
    "offset", "messages", "first_seq", "last_seq", "next_seq", "is_complete", "gap", "next_offset",
    "end_of_file", "file_signature", "file_replaced", "histories", "aborted", "index",
    "retry_after_ms", "window_ms", "requested_last_seq", "min_available_seq", "reason", "required",
    "parts",
  ]
}

extension [UInt8] {
  fileprivate static func ack(_ message: String, _ key: String?) -> [UInt8] {
    session("ack") { writer in
      writer.entry("message", message)
      writer.some("idempotency_key", key)
    }
  }

  fileprivate static func part(
    _ conversation: String, _ key: String, _ index: Int, _ text: String
  ) -> [UInt8] {
    session("response_part", capacity: text.utf8.count * 9 / 8 + 200) { writer in
      writer.entry("session_id", conversation)
      writer.entry("idempotency_key", key)
      writer.entry("index", index)
      writer.entry("text", text)
    }
  }

  fileprivate static func replay(
    _ id: String, _ entry: SessionEntry, _ number: UInt64?
  ) -> [UInt8] {
    session("replay", capacity: entry.size) { writer in
      writer.entry("message_id", id)
      writer.some("number", number)
      writer.object("message") { entry.write(to: &$0, position: nil) }
    }
  }

  fileprivate static func batch(_ all: [SessionHistory]) -> [UInt8] {
    session("session_history_batch", capacity: all.reduce(100) { $0 + $1.size }) { writer in
      writer.array("histories") { writer in
        for history in all { writer.object(history.write) }
      }
    }
  }
}

extension Duration {
  /// The duration in whole milliseconds, or 0 if it is negative.
  fileprivate var milliseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    return UInt64(seconds) * 1_000 + UInt64(attoseconds / 1_000_000_000_000_000)
  }
}

extension SessionHello {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    self.init(
      message: try fields.note("message") ?? "", version: try fields.note("version"),
      authVersion: try fields.optionalInt("auth_version", in: 0...1_000_000),
      instructions: try fields.note("instructions"),
      challenge: try fields.optionalSessionID("challenge"),
      timestamp: (try? fields.time("timestamp")) ?? nil, features: try fields.features())
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("message", message)
    writer.some("version", version)
    if let authVersion { writer.entry("auth_version", authVersion) }
    writer.some("instructions", instructions)
    writer.some("challenge", challenge)
    writer.some("timestamp", timestamp)
    writer.features(features)
  }
}

extension SessionConnected {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    let version = try fields.note("negotiated_protocol_version").flatMap { SessionVersion($0) }
    self.init(
      message: try fields.note("message") ?? "",
      session: try fields.optionalSessionID("session_id") ?? "",
      version: version ?? .oldest, features: try fields.features(),
      received: try fields.optionalNumber("received"),
      isRecovered: try fields.optionalBool("recovered"))
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.entry("message", message)
    writer.entry("session_id", session)
    writer.entry("negotiated_protocol_version", version.description)
    writer.features(features)
    writer.some("received", received)
    if let isRecovered { writer.entry("recovered", isRecovered) }
  }
}
