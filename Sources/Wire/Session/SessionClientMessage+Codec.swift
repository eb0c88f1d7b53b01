public import LinkJSON
import LinkCore

extension SessionClientMessage {
  /// The longest message in bytes that a server takes by default; the bound is ours: 5 times what
  /// the original's client sends at most.
  public static let maxBytes = 1 << 20

  /// Reads one text frame; unknown members are ignored.
  ///
  /// Members of another spelling that the original's ends disagree about are read as well: the
  /// type `message-ack` is `message_ack`.
  public static func read(_ bytes: [UInt8]) throws(FieldFault) -> SessionClientMessage {
    let fields = JSONFields(bytes, keeping: names)
    try fields.check()
    let type = try fields.string("type", atMost: SessionBounds.word)
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

  /// The message as one text frame.
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
  /// A message of a type with its members, as one text frame.
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

  /// A version that is no text counts as none: the contract has such a client speak the oldest one.
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
      provider: try fields.note("provider", atMost: SessionBounds.word),
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
