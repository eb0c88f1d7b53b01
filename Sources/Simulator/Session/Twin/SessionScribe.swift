import LinkCore
import LinkWire

/// What clients and servers of sessions must write, put together from text (contract 4.3 and the
/// protocol of sessions).
enum SessionScribe {
  /// The text of a client's message.
  static func text(_ message: SessionClientMessage) -> String {
    switch message {
    case .connect(let connect): object("connect", members(connect))
    case .ping: object("ping", [])
    case .messageAck(let id): object("message_ack", word("message_id", id))
    case .prompt(let prompt): object("prompt", members(prompt))
    case .subscribe(let one): object("subscribe", members(one))
    case .subscribeBatch(let all):
      object("subscribe_batch", [list("sessions", all.map { braced(members($0)) })])
    case .unsubscribe(let id): object("unsubscribe", word("session_id", id))
    case .setMaxMessageSize(let size): object("set_max_message_size", number("size_kb", size))
    case .killSession(let id): object("kill_session", word("session_id", id))
    case .disconnect(let reason): object("disconnect", word("reason", reason))
    case .unknown(let type): object(type, [])
    }
  }

  /// The text of a server's message.
  static func text(_ message: SessionServerMessage) -> String {
    switch message {
    case .hello(let hello): object("hello", members(hello))
    case .connected(let connected): object("connected", members(connected))
    case .pong: object("pong", [])
    case .ack(let words, let key):
      object("ack", word("message", words) + word("idempotency_key", key))
    case .response(let response): object("response", members(response))
    case .responsePart(let conversation, let key, let index, let text):
      object(
        "response_part",
        word("session_id", conversation) + word("idempotency_key", key) + number("index", index)
          + word("text", text))
    case .error(let error): object("error", members(error))
    case .authError(let words): object("auth_error", word("message", words))
    case .replay(let id, let entry, let place):
      object(
        "replay",
        word("message_id", id) + number("number", place)
          + ["\"message\":" + braced(said(entry))])
    case .turnComplete(let id, let isAborted):
      object("turn_complete", word("session_id", id) + (isAborted ? flag("aborted", true) : []))
    case .history(let window): object("session_history", members(window))
    case .historyBatch(let all):
      object("session_history_batch", [list("histories", all.map { braced(members($0)) })])
    case .heartbeat(let time): object("heartbeat", self.time(time))
    case .draining(let words, let retry, let window):
      object(
        "draining",
        word("message", words) + number("retry_after_ms", milliseconds(retry))
          + number("window_ms", window.map(milliseconds)))
    case .sessionKilled(let id): object("session_killed", word("session_id", id))
    case .unknown(let type): object(type, [])
    }
  }

  // What clients say.

  private static func members(_ connect: SessionConnect) -> [String] {
    word("session_id", connect.session) + word("api_key", connect.key?.text)
      + word("challenge_response", connect.proof?.text) + time(connect.timestamp)
      + word("protocol_version", connect.version)
      + number("recent_sessions_limit", connect.recentSessionsLimit)
      + features(connect.features) + number("received", connect.received)
  }

  private static func members(_ prompt: SessionPrompt) -> [String] {
    let place = prompt.isNew ? "new_session_id" : "resume_session_id"
    return word("text", prompt.text) + word(place, prompt.conversation)
      + word("idempotency_key", prompt.idempotencyKey) + number("number", prompt.number)
      + word("working_directory", prompt.workingDirectory) + word("provider", prompt.provider)
      + word("system_prompt", prompt.systemPrompt)
  }

  private static func members(_ one: SessionSubscription) -> [String] {
    let id = word("session_id", one.conversation)
    switch one.cursor {
    case .sequence(let last): return id + number("last_seq", last)
    case .offset(let offset, let signature):
      return id + number("from_offset", offset) + word("file_signature_seen", signature)
    }
  }

  // What servers say.

  private static func members(_ hello: SessionHello) -> [String] {
    word("message", hello.message) + word("version", hello.version)
      + number("auth_version", hello.authVersion) + word("instructions", hello.instructions)
      + word("challenge", hello.challenge) + time(hello.timestamp) + features(hello.features)
  }

  private static func members(_ connected: SessionConnected) -> [String] {
    word("message", connected.message) + word("session_id", connected.session)
      + word("negotiated_protocol_version", version(connected.version))
      + features(connected.features) + number("received", connected.received)
      + flag("recovered", connected.isRecovered)
  }

  private static func members(_ response: SessionResponse) -> [String] {
    let outcome =
      switch response.result {
      case .success(let text): flag("success", true) + word("text", text)
      case .failure(let error): flag("success", false) + word("error", error)
      }
    return word("message_id", response.id) + number("number", response.number) + outcome
      + word("session_id", response.conversation)
      + word("idempotency_key", response.idempotencyKey) + number("parts", response.parts)
  }

  private static func members(_ error: SessionError) -> [String] {
    word("message", error.message) + word("code", error.code)
      + word("session_id", error.conversation) + word("idempotency_key", error.idempotencyKey)
      + word("required", error.required.map(version)) + word("received", error.received)
  }

  private static func members(_ window: SessionHistory) -> [String] {
    var all = word("session_id", window.conversation)
    var place = "offset"
    switch window.place {
    case .sequence(let first, let last, let next):
      place = "seq"
      all += number("first_seq", first) + number("last_seq", last) + number("next_seq", next)
      all += flag("is_complete", window.isComplete)
    case .offset(let next, let signature, let isReplaced):
      all += number("next_offset", next) + flag("end_of_file", window.isComplete)
      all += word("file_signature", signature)
      if isReplaced { all += flag("file_replaced", true) }
    }
    let entries = window.entries.map { entry in
      braced(word("uuid", entry.id) + number(place, entry.place) + said(entry))
    }
    all.append(list("messages", entries))
    guard let gap = window.gap else { return all }
    let reason = gap.reason == .pruned ? "pruned" : "client_ahead"
    let members =
      number("requested_last_seq", gap.requested) + number("min_available_seq", gap.oldest)
      + word("reason", reason)
    return all + ["\"gap\":" + braced(members)]
  }

  private static func said(_ entry: SessionEntry) -> [String] {
    let role =
      switch entry.role {
      case .user: "user"
      case .assistant: "assistant"
      case .system: "system"
      }
    return word("role", role) + word("text", entry.text) + word("session_id", entry.conversation)
      + time(entry.timestamp)
  }

  // Members.

  private static func object(_ type: String, _ members: [String]) -> String {
    braced(word("type", type) + members)
  }

  private static func braced(_ members: [String]) -> String {
    "{" + members.joined(separator: ",") + "}"
  }

  private static func list(_ name: String, _ all: [String]) -> String {
    "\"\(name)\":[\(all.joined(separator: ","))]"
  }

  private static func word(_ name: String, _ text: String?) -> [String] {
    text.map { ["\"\(name)\":" + SyncScribe.quoted($0)] } ?? []
  }

  private static func number(_ name: String, _ number: (some BinaryInteger)?) -> [String] {
    number.map { ["\"\(name)\":\($0)"] } ?? []
  }

  private static func flag(_ name: String, _ flag: Bool?) -> [String] {
    flag.map { ["\"\(name)\":\($0)"] } ?? []
  }

  private static func time(_ time: Timestamp?) -> [String] {
    word("timestamp", time.map { RFC3339.format($0) })
  }

  private static func milliseconds(_ time: Duration) -> Int64 {
    max(time.nanoseconds / 1_000_000, 0)
  }

  static func version(_ version: SessionVersion) -> String {
    [version.major, version.minor, version.patch].map { "\($0)" }.joined(separator: ".")
  }

  /// The words for what a peer knows, in the order of the protocol.
  static let words: [(SessionFeature, String)] = [
    (.idempotency, "idempotency"), (.resume, "resume"), (.batch, "subscribe_batch"),
    (.parts, "response_parts"), (.heartbeat, "heartbeat"), (.draining, "draining"),
    (.boundProof, "bound_proof"),
  ]

  private static func features(_ features: Set<SessionFeature>) -> [String] {
    guard !features.isEmpty else { return [] }
    let known = words.filter { features.contains($0.0) }
    return [list("features", known.map { "\"\($0.1)\"" })]
  }
}
