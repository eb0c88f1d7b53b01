import LinkCore
import LinkWire

/// What phones and servers of sessions can say to each other, in forms that no end writes too.
struct SessionWireWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many messages of each end; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times {
      let asked = clientMessage()
      tryBytes(asked.bytes, of: asked)
      let said = serverMessage()
      tryBytes(said.bytes, of: said)
      note(SessionWire.strayVersion(one(Self.versions)))
    }
    return stray
  }

  mutating func tryBytes(_ bytes: [UInt8], of asked: SessionClientMessage) {
    note(SessionWire.stray(bytes, of: asked))
    tryForms(of: bytes) { SessionWire.strayOfServer(reading: $0) }
  }

  mutating func tryBytes(_ bytes: [UInt8], of said: SessionServerMessage) {
    note(SessionWire.stray(bytes, of: said))
    tryForms(of: bytes) { SessionWire.strayOfClient(reading: $0) }
  }

  private mutating func note(_ what: String?) { stray = stray ?? what }

  private mutating func tryForms(of bytes: [UInt8], _ read: ([UInt8]) -> String?) {
    note(read(bytes))
    note(read(bytes.dropLast() + [0]))
    guard let tree = SessionTree(bytes) else { return note("a message is no JSON") }
    for _ in 0..<6 { note(read(Array(changed(tree).json.utf8))) }
  }

  // Values.

  private static let versions: [String?] = [
    nil, "0.5.0", "0.4.0", "0.4.7", "0.3.9", "0.5.1", "0.6.0", "1.0.0", "0.4", "0.4.", "a.b.c",
    "0.4.999999", "0.4.1000000", "00.04.00", "0..1", "", "0.4.0.1", "-1.5.0", "0.5.0 ",
  ]

  private mutating func word() -> String {
    let length = one([0, 1, 5, 36, 64, 65, 128, 129, 4_096, 4_097])
    let text = String(of: "a", count: length)
    return happens(4) ? one(["é\"\\\n", "\u{1}\u{1F}\u{7F}\r\t/", "𝄞 ", "0.5.0", "user"]) : text
  }

  private mutating func id() -> String { "id-\(number(0...9))" }

  private mutating func size() -> UInt64 {
    one([0, 1, 2, 1_000, 1_001, 1_000_001, 9_007_199_254_740_991])
  }

  private mutating func time() -> Timestamp {
    let part = one([0, 1, 500_000_000, 120_000] as [Int64])
    return Timestamp(nanoseconds: Int64(number(0...4_000_000_000)) * 1_000_000_000 + part)
  }

  private mutating func features() -> Set<SessionFeature> {
    Set(SessionScribe.words.map(\.0).filter { _ in happens(2) })
  }

  // Messages.

  private mutating func clientMessage() -> SessionClientMessage {
    switch number(0...11) {
    case 0, 1:
      var connect = SessionConnect(session: id(), key: maybe(Secret(word())))
      (connect.proof, connect.timestamp) = (maybe(Secret(word())), maybe(time()))
      (connect.version, connect.recentSessionsLimit) = (one(Self.versions), maybe(number(0...9)))
      (connect.features, connect.received) = (features(), maybe(size()))
      return .connect(connect)
    case 2: return .ping
    case 3: return .messageAck(word())
    case 4, 5:
      return .prompt(
        SessionPrompt(
          text: word(), conversation: id(), isNew: happens(2), idempotencyKey: maybe(id()),
          number: maybe(size()), workingDirectory: maybe(word()), provider: maybe(word()),
          systemPrompt: maybe(word())))
    case 6: return .subscribe(subscription())
    case 7: return .subscribeBatch((0..<number(0...3)).map { _ in subscription() })
    case 8: return happens(2) ? .unsubscribe(conversation: id()) : .unknown(type: id())
    case 9: return .setMaxMessageSize(kilobytes: one([1, 2, 200, 16_383, 16_384]))
    case 10: return .killSession(conversation: word())
    case _: return .disconnect(reason: word())
    }
  }

  private mutating func subscription() -> SessionSubscription {
    SessionSubscription(
      conversation: id(),
      cursor: happens(2) ? .sequence(size()) : .offset(size(), signature: maybe(word())))
  }

  private mutating func serverMessage() -> SessionServerMessage {
    switch number(0...15) {
    case 0:
      return .hello(
        SessionHello(
          message: word(), version: maybe(word()), authVersion: maybe(number(0...9)),
          instructions: maybe(word()), challenge: maybe(id()), timestamp: maybe(time()),
          features: features()))
    case 1:
      let version = SessionVersion(number(0...1), number(0...9), number(0...999_999))
      return .connected(
        SessionConnected(
          message: word(), session: id(), version: version, features: features(),
          received: maybe(size()), isRecovered: maybe(happens(2))))
    case 2: return .pong
    case 3: return .ack(message: word(), idempotencyKey: maybe(id()))
    case 4, 5: return .response(response())
    case 6:
      return .responsePart(
        conversation: id(), idempotencyKey: id(), index: number(0...9), text: word())
    case 7: return .error(error())
    case 8: return happens(2) ? .authError(message: word()) : .unknown(type: id())
    case 9: return .replay(id: id(), entry(), number: maybe(size()))
    case 10: return .turnComplete(conversation: id(), isAborted: happens(2))
    case 11, 12: return .history(window())
    case 13: return .historyBatch((0..<number(0...2)).map { _ in window() })
    case 14: return happens(2) ? .heartbeat(maybe(time())) : .sessionKilled(conversation: id())
    case _:
      let spans: [Duration] = [.zero, .milliseconds(1), .seconds(5), .seconds(86_400)]
      return .draining(
        message: word(), retryAfter: happens(9) ? .seconds(-1) : one(spans),
        window: maybe(one(spans)))
    }
  }

  private mutating func response() -> SessionResponse {
    SessionResponse(
      id: maybe(id()), number: maybe(size()), conversation: maybe(id()),
      idempotencyKey: maybe(id()),
      result: happens(2) ? .success(text: word()) : .failure(error: word()),
      parts: maybe(number(0...9)))
  }

  private mutating func error() -> SessionError {
    var error = SessionError(message: word(), code: maybe(word()), conversation: maybe(id()))
    if happens(2) { error.code = SessionError.unsupportedVersion }
    error.idempotencyKey = maybe(id())
    error.required = maybe(SessionVersion(0, number(0...9), 0))
    error.received = maybe(word())
    return error
  }

  private mutating func entry() -> SessionEntry {
    SessionEntry(
      id: id(), role: one([.user, .assistant, .system]), text: word(), conversation: id(),
      timestamp: maybe(time()), place: maybe(size()))
  }

  private mutating func window() -> SessionHistory {
    let place: SessionHistory.Place =
      happens(2)
      ? .sequence(first: maybe(size()), last: maybe(size()), next: size())
      : .offset(next: size(), signature: word(), isReplaced: happens(2))
    var window = SessionHistory(
      conversation: id(), entries: (0..<number(0...2)).map { _ in entry() }, place: place,
      isComplete: happens(2))
    if happens(3) {
      window.gap = SessionHistory.Gap(
        requested: size(), oldest: size(), reason: one([.pruned, .clientAhead]))
    }
    return window
  }

  // Changes.

  /// Names of members that any message has.
  private static let names = [
    "type", "session_id", "api_key", "timestamp", "features", "received", "message_id", "text",
    "new_session_id", "resume_session_id", "idempotency_key", "number", "last_seq", "from_offset",
    "file_signature_seen", "sessions", "size_kb", "message", "version", "challenge", "recovered",
    "success", "error", "code", "required", "uuid", "role", "seq", "offset", "messages",
    "first_seq", "next_seq", "is_complete", "gap", "next_offset", "end_of_file", "file_signature",
    "file_replaced", "histories", "aborted", "index", "retry_after_ms", "window_ms", "reason",
    "requested_last_seq", "min_available_seq", "parts", "odd", "protocol_version",
  ]
  private static let numbers = [
    "0", "1", "-1", "1.5", "1.0", "2e3", "16384", "16385", "1000", "1001", "1000000", "1000001",
    "86400000", "86400001", "9007199254740991", "9007199254740992", "9000000000000",
    "9000000000001", "1e300",
  ]
  private static let texts = [
    "2026-01-31T08:30:00.5Z", "2026-01-31", "user", "assistant", "pruned", "client_ahead",
    "PRUNED", "message-ack", "idempotency", "subscribe_batch", "interrupted",
  ]

  /// The tree with another value in one place.
  private mutating func changed(_ tree: SessionTree) -> SessionTree {
    switch tree {
    case .object(var members) where !members.isEmpty && !happens(7):
      let place = number(0...members.count - 1)
      if happens(8) {
        members.remove(at: place)
      } else if happens(6) {
        members.append(SessionBranch(name: one(Self.names), value: value()))
      } else if members[place].name != "type" || happens(9) {
        members[place].value = changed(members[place].value)
      }
      return .object(members)
    case .list(var all) where !all.isEmpty && !happens(4):
      let place = number(0...all.count - 1)
      if happens(3) { return .list(Array(repeating: all[place], count: one([99, 100, 101]))) }
      if happens(40) { return .list(Array(repeating: all[place], count: one([1_000, 1_001]))) }
      all[place] = changed(all[place])
      return .list(all)
    case .object, .list, .text, .number, .flag, .null: return value()
    }
  }

  private mutating func value() -> SessionTree {
    switch number(0...7) {
    case 0, 1: .number(one(Self.numbers))
    case 2: .text(word())
    case 3: .text(one(Self.texts))
    case 4: .flag(happens(2))
    case 5: .null
    case 6: .list([.text(one(Self.texts)), .text("idempotency")])
    case _: happens(2) ? .object([]) : .list([])
    }
  }
}
