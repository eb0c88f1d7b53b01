import HoldfastCore
import HoldfastJSON

extension SessionResponse {
  init(_ fields: JSONFields) throws(FieldFault) {
    let result: Result
    guard ["success", "text", "error"].contains(where: fields.has) else {
      throw .missing(field: "success")
    }
    if try fields.optionalBool("success") ?? !fields.has("error") {
      result = .success(text: try fields.optionalString("text") ?? "")
    } else {
      result = .failure(error: try fields.optionalString("error") ?? "")
    }
    self.init(
      id: try fields.optionalSessionID("message_id"), number: try fields.optionalNumber("number"),
      conversation: try fields.optionalSessionID("session_id"),
      idempotencyKey: try fields.optionalSessionID("idempotency_key"), result: result,
      parts: try fields.optionalInt("parts", in: SessionBounds.count))
  }

  func write(to writer: inout JSONWriter) {
    writer.some("message_id", id)
    writer.some("number", number)
    switch result {
    case .success(let text):
      writer.entry("success", true)
      writer.entry("text", text)
    case .failure(let error):
      writer.entry("success", false)
      writer.entry("error", error)
    }
    writer.some("session_id", conversation)
    writer.some("idempotency_key", idempotencyKey)
    if let parts { writer.entry("parts", parts) }
  }

  /// The approximate size of the response, in bytes.
  var size: Int {
    switch result {
    case .success(let text), .failure(let text): text.utf8.count * 9 / 8 + 300
    }
  }
}

extension SessionError {
  init(_ fields: JSONFields) throws(FieldFault) {
    self.init(
      message: try fields.note("message") ?? "", code: try fields.note("code"),
      conversation: try fields.optionalSessionID("session_id"),
      idempotencyKey: try fields.optionalSessionID("idempotency_key"))
    required = try fields.note("required").flatMap { SessionVersion($0) }
    received = code == Self.unsupportedVersion ? try fields.note("received") : nil
  }

  func write(to writer: inout JSONWriter) {
    writer.entry("message", message)
    writer.some("code", code)
    writer.some("session_id", conversation)
    writer.some("idempotency_key", idempotencyKey)
    writer.some("required", required?.description)
    writer.some("received", received)
  }
}

extension SessionEntry {
  /// Reads a message of a conversation.
  ///
  /// - Parameter id: The id, if it is not a member of the message itself.
  init(_ fields: JSONFields, id: String? = nil) throws(FieldFault) {
    try fields.check()
    let role = try fields.note("role", atMost: SessionBounds.name) ?? ""
    var position = try fields.optionalNumber("seq")
    if position == nil { position = try fields.optionalNumber("offset") }
    var own = id
    if own == nil { own = try fields.sessionID("uuid") }
    self.init(
      id: own ?? "",
      // An unknown role is treated as that of the system.
      role: SessionRole(rawValue: role) ?? .system, text: try fields.optionalString("text") ?? "",
      conversation: try fields.sessionID("session_id"),
      // The time is only informative, so an unreadable time counts as absent.
      timestamp: (try? fields.time("timestamp")) ?? nil, position: position)
  }

  /// Writes the members of the message.
  ///
  /// - Parameter name: The name of the member that contains the position. It is `nil` in a replay,
  ///   where the id is not a member of the message.
  func write(to writer: inout JSONWriter, position name: String?) {
    if let name {
      writer.entry("uuid", id)
      writer.some(name, position)
    }
    writer.entry("role", role.rawValue)
    writer.entry("text", text)
    writer.entry("session_id", conversation)
    writer.some("timestamp", timestamp)
  }

  /// The approximate size of the entry, in bytes.
  var size: Int { text.utf8.count * 9 / 8 + 300 }
}

extension SessionHistory {
  init(_ fields: JSONFields) throws(FieldFault) {
    try fields.check()
    var entries: [SessionEntry] = []
    for element in try fields.elements("messages", atMost: SessionBounds.entries) {
      entries.append(try SessionEntry(JSONFields(element, keeping: Self.names)))
    }
    let extent: Extent
    let isComplete: Bool?
    if let next = try fields.optionalNumber("next_offset") {
      extent = .offset(
        next: next, signature: try fields.note("file_signature") ?? "",
        isReplaced: try fields.optionalBool("file_replaced") ?? false)
      isComplete = try fields.optionalBool("end_of_file")
    } else {
      extent = .sequence(
        first: try fields.optionalNumber("first_seq"), last: try fields.optionalNumber("last_seq"),
        next: try fields.number("next_seq"))
      isComplete = try fields.optionalBool("is_complete")
    }
    let gap =
      fields.has("gap")
      ? try Gap(JSONFields(fields.object("gap"), keeping: Self.names)) : nil
    self.init(
      conversation: try fields.sessionID("session_id"), entries: entries, extent: extent,
      isComplete: isComplete ?? true, gap: gap)
  }

  func write(to writer: inout JSONWriter) {
    writer.entry("session_id", conversation)
    let name: String
    switch extent {
    case .sequence(let first, let last, let next):
      name = "seq"
      writer.some("first_seq", first)
      writer.some("last_seq", last)
      writer.entry("next_seq", next)
      writer.entry("is_complete", isComplete)
    case .offset(let next, let signature, let isReplaced):
      name = "offset"
      writer.entry("next_offset", next)
      writer.entry("end_of_file", isComplete)
      writer.entry("file_signature", signature)
      if isReplaced { writer.entry("file_replaced", true) }
    }
    writer.array("messages") { writer in
      for entry in entries { writer.object { entry.write(to: &$0, position: name) } }
    }
    guard let gap else { return }
    writer.object("gap") { writer in
      writer.entry("requested_last_seq", gap.requested)
      writer.entry("min_available_seq", gap.oldest)
      writer.entry("reason", gap.reason.rawValue)
    }
  }

  /// The approximate size of the history, in bytes.
  var size: Int { entries.reduce(300) { $0 + $1.size } }

  private static let names = [
    "uuid", "role", "text", "timestamp", "session_id", "seq", "offset", "requested_last_seq",
    "min_available_seq", "reason",
  ]
}

extension SessionHistory.Gap {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    try fields.check()
    guard let reason = try fields.optionalValue("reason", of: Reason.self) else {
      throw .missing(field: "reason")
    }
    self.init(
      requested: try fields.number("requested_last_seq"),
      oldest: try fields.number("min_available_seq"), reason: reason)
  }
}
