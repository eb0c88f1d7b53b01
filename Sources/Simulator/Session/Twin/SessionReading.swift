import LinkCore
import LinkWire

/// What clients and servers of sessions must read, told a second time (contract 4.3 and the
/// protocol of sessions).
enum SessionReading {
  typealias Fault = SessionMembers.Fault

  /// Reads what a client wrote.
  static func client(_ bytes: [UInt8]) throws(Fault) -> SessionClientMessage {
    let members = try SessionMembers(SessionTree(bytes))
    let type = try members.must(try members.text("type", upTo: 64), "type")
    switch type {
    case "": throw Fault(field: "type")
    case "connect": return .connect(try connect(members))
    case "ping": return .ping
    case "message_ack", "message-ack": return .messageAck(try members.mustID("message_id"))
    case "prompt": return .prompt(try prompt(members))
    case "subscribe": return .subscribe(try subscription(members))
    case "subscribe_batch":
      var all: [SessionSubscription] = []
      for tree in try members.list("sessions", upTo: 100) {
        all.append(try subscription(SessionMembers(tree)))
      }
      return .subscribeBatch(all)
    case "unsubscribe": return .unsubscribe(conversation: try members.mustID("session_id"))
    case "set_max_message_size":
      return .setMaxMessageSize(kilobytes: Int(try members.mustNumber("size_kb", 1...16_384)))
    case "kill_session": return .killSession(conversation: try members.mustID("session_id"))
    case "disconnect": return .disconnect(reason: try members.note("reason") ?? "")
    case _: return .unknown(type: type)
    }
  }

  /// Reads what a server wrote, up to 4 MiB.
  static func server(_ bytes: [UInt8]) throws(Fault) -> SessionServerMessage {
    guard bytes.count <= 4_194_304 else { throw Fault(field: nil) }
    let members = try SessionMembers(SessionTree(bytes))
    let type = try members.must(try members.text("type", upTo: 64), "type")
    switch type {
    case "": throw Fault(field: "type")
    case "hello": return .hello(try hello(members))
    case "connected": return .connected(try connected(members))
    case "pong": return .pong
    case "ack":
      let words = try members.note("message") ?? ""
      return .ack(message: words, idempotencyKey: try members.id("idempotency_key"))
    case "response": return .response(try response(members))
    case "error": return .error(try error(members))
    case "auth_error": return .authError(message: try members.note("message") ?? "")
    case "session_history": return .history(try window(members))
    case "session_history_batch":
      var all: [SessionHistory] = []
      for tree in try members.list("histories", upTo: 100) {
        all.append(try window(SessionMembers(tree)))
      }
      return .historyBatch(all)
    case _: return try sign(type, members)
    }
  }

  private static func sign(
    _ type: String, _ members: SessionMembers
  ) throws(Fault) -> SessionServerMessage {
    switch type {
    case "response_part":
      return .responsePart(
        conversation: try members.mustID("session_id"),
        idempotencyKey: try members.mustID("idempotency_key"),
        index: Int(try members.mustNumber("index")), text: try members.text("text") ?? "")
    case "replay":
      let inner = try members.object("message")
      let id = try members.mustID("message_id")
      return .replay(id: id, try entry(inner, id), number: try members.number("number"))
    case "turn_complete":
      return .turnComplete(
        conversation: try members.mustID("session_id"),
        isAborted: try members.flag("aborted") ?? false)
    case "heartbeat": return .heartbeat(hint(members))
    case "draining":
      let words = try members.note("message") ?? ""
      let retry = try members.number("retry_after_ms", 0...86_400_000) ?? 5_000
      let window = try members.number("window_ms", 0...86_400_000)
      return .draining(
        message: words, retryAfter: .milliseconds(retry),
        window: window.map { .milliseconds($0) })
    case "session_killed": return .sessionKilled(conversation: try members.mustID("session_id"))
    case _: return .unknown(type: type)
    }
  }

  // What clients say.

  private static func connect(_ members: SessionMembers) throws(Fault) -> SessionConnect {
    var connect = SessionConnect(session: try members.mustID("session_id"))
    connect.key = try members.note("api_key").map { Secret($0) }
    connect.proof = try members.note("challenge_response").map { Secret($0) }
    connect.timestamp = try time(members)
    do { connect.version = try members.note("protocol_version") } catch { connect.version = nil }
    connect.recentSessionsLimit = try members.number("recent_sessions_limit", 0...1_000).map {
      Int($0)
    }
    connect.features = try features(members)
    connect.received = try members.number("received")
    return connect
  }

  private static func prompt(_ members: SessionMembers) throws(Fault) -> SessionPrompt {
    let new = try members.id("new_session_id")
    let old = try members.id("resume_session_id")
    if new != nil, old != nil { throw Fault(field: nil) }
    let conversation = try members.must(new ?? old, "new_session_id")
    let text = try members.must(try members.text("text"), "text")
    return SessionPrompt(
      text: text, conversation: conversation, isNew: new != nil,
      idempotencyKey: try members.id("idempotency_key"), number: try members.number("number"),
      workingDirectory: try members.note("working_directory"),
      provider: try members.text("provider", upTo: 64),
      systemPrompt: try members.text("system_prompt"))
  }

  private static func subscription(
    _ members: SessionMembers
  ) throws(Fault) -> SessionSubscription {
    var cursor = SessionCursor.sequence(0)
    if let offset = try members.number("from_offset") {
      cursor = .offset(offset, signature: try members.note("file_signature_seen"))
    } else if let last = try members.number("last_seq") {
      cursor = .sequence(last)
    }
    return SessionSubscription(conversation: try members.mustID("session_id"), cursor: cursor)
  }

  // What servers say.

  private static func hello(_ members: SessionMembers) throws(Fault) -> SessionHello {
    SessionHello(
      message: try members.note("message") ?? "", version: try members.note("version"),
      authVersion: try members.number("auth_version", 0...1_000_000).map { Int($0) },
      instructions: try members.note("instructions"), challenge: try members.id("challenge"),
      timestamp: hint(members), features: try features(members))
  }

  private static func connected(_ members: SessionMembers) throws(Fault) -> SessionConnected {
    let named = try members.note("negotiated_protocol_version")
    return SessionConnected(
      message: try members.note("message") ?? "", session: try members.id("session_id") ?? "",
      version: version(named) ?? SessionVersion(0, 4, 0), features: try features(members),
      received: try members.number("received"), isRecovered: try members.flag("recovered"))
  }

  private static func response(_ members: SessionMembers) throws(Fault) -> SessionResponse {
    let said = try members.flag("success")
    let result: SessionResponse.Result
    if said ?? (members["error"] == nil) {
      result = .success(text: try members.text("text") ?? "")
    } else {
      result = .failure(error: try members.text("error") ?? "")
    }
    return SessionResponse(
      id: try members.id("message_id"), number: try members.number("number"),
      conversation: try members.id("session_id"),
      idempotencyKey: try members.id("idempotency_key"), result: result,
      parts: try members.number("parts").map { Int($0) })
  }

  private static func error(_ members: SessionMembers) throws(Fault) -> SessionError {
    var error = SessionError(message: try members.note("message") ?? "")
    error.code = try members.note("code")
    error.conversation = try members.id("session_id")
    error.idempotencyKey = try members.id("idempotency_key")
    error.required = version(try members.note("required"))
    if error.code == "unsupported_protocol_version" {
      error.received = try members.note("received")
    }
    return error
  }

  private static func window(_ members: SessionMembers) throws(Fault) -> SessionHistory {
    var entries: [SessionEntry] = []
    for tree in try members.list("messages", upTo: 1_000) {
      entries.append(try entry(SessionMembers(tree), nil))
    }
    var place: SessionHistory.Place
    var isComplete: Bool?
    if let next = try members.number("next_offset") {
      place = .offset(
        next: next, signature: try members.note("file_signature") ?? "",
        isReplaced: try members.flag("file_replaced") ?? false)
      isComplete = try members.flag("end_of_file")
    } else {
      place = .sequence(
        first: try members.number("first_seq"), last: try members.number("last_seq"),
        next: try members.mustNumber("next_seq"))
      isComplete = try members.flag("is_complete")
    }
    let gap = members["gap"] == nil ? nil : try self.gap(members.object("gap"))
    return SessionHistory(
      conversation: try members.mustID("session_id"), entries: entries, place: place,
      isComplete: isComplete ?? true, gap: gap)
  }

  private static func gap(_ members: SessionMembers) throws(Fault) -> SessionHistory.Gap {
    var reason = SessionHistory.Gap.Reason.pruned
    switch try members.text("reason") {
    case "pruned": break
    case "client_ahead": reason = .clientAhead
    case _: throw Fault(field: "reason")
    }
    return SessionHistory.Gap(
      requested: try members.mustNumber("requested_last_seq"),
      oldest: try members.mustNumber("min_available_seq"), reason: reason)
  }

  private static func entry(
    _ members: SessionMembers, _ outer: String?
  ) throws(Fault) -> SessionEntry {
    var role = SessionRole.system
    if let word = try members.text("role", upTo: 64) {
      if word == "user" { role = .user }
      if word == "assistant" { role = .assistant }
    }
    var place = try members.number("seq")
    if place == nil { place = try members.number("offset") }
    var id = outer
    if id == nil { id = try members.mustID("uuid") }
    return SessionEntry(
      id: id ?? "", role: role, text: try members.text("text") ?? "",
      conversation: try members.mustID("session_id"), timestamp: hint(members), place: place)
  }

  // Members.

  /// A time as text, or in milliseconds since 1970.
  private static func time(_ members: SessionMembers) throws(Fault) -> Timestamp? {
    if case .text(let text)? = members["timestamp"] {
      return try members.must(RFC3339.parse(text), "timestamp")
    }
    let milliseconds = try members.number("timestamp", 0...9_000_000_000_000)
    return milliseconds.map { Timestamp(nanoseconds: Int64($0) * 1_000_000) }
  }

  private static func hint(_ members: SessionMembers) -> Timestamp? {
    do { return try time(members) } catch { return nil }
  }

  private static func features(_ members: SessionMembers) throws(Fault) -> Set<SessionFeature> {
    var found: Set<SessionFeature> = []
    for tree in try members.list("features", upTo: 100) {
      guard case .text(let word) = tree else { throw Fault(field: "features") }
      if let known = SessionScribe.words.first(where: { $0.1 == word }) { found.insert(known.0) }
    }
    return found
  }

  /// Three numbers of one to six digits, between points.
  static func version(_ text: String?) -> SessionVersion? {
    guard let text else { return nil }
    var numbers = [0]
    var digits = 0
    for byte in text.utf8 {
      switch byte {
      case 0x2E:
        guard digits > 0 else { return nil }
        numbers.append(0)
        digits = 0
      case 0x30...0x39:
        digits += 1
        guard digits < 7 else { return nil }
        numbers[numbers.count - 1] = numbers[numbers.count - 1] * 10 + Int(byte - 0x30)
      case _: return nil
      }
    }
    guard numbers.count == 3, digits > 0 else { return nil }
    return SessionVersion(numbers[0], numbers[1], numbers[2])
  }
}
