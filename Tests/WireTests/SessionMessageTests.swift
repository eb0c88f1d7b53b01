import HoldfastCore
import HoldfastJSON
import HoldfastSessionData
import HoldfastTestKit
import Testing

private func read(_ text: String) throws(FieldFault) -> SessionServerMessage {
  try SessionServerMessage.read(Array(text.utf8))
}

private func readClient(_ text: String) throws(FieldFault) -> SessionClientMessage {
  try SessionClientMessage.read(Array(text.utf8))
}

private func ids(_ count: Int) -> String { String(repeating: "i", count: count) }

@Suite struct SessionMessageTests {
  @Test func `an acknowledgement is read in both spellings`() throws {
    let hyphen = try readClient(#"{"type":"message-ack","message_id":"m"}"#)
    #expect(hyphen == .messageAck("m"))
  }

  @Test func `the forms that the original server omits or writes differently are read`() throws {
    #expect(
      try read(#"{"type":"hello"}"#)
        == .hello(
          SessionHello(
            message: "", version: nil, authVersion: nil)))
    #expect(
      try read(#"{"type":"connected","session_id":"s","more":[{}]}"#)
        == .connected(SessionConnected(message: "", session: "s", version: .oldest)))
    #expect(
      try read(#"{"type":"response","success":true,"text":"t","session_id":"c"}"#)
        == .response(SessionResponse(id: nil, conversation: "c", result: .success(text: "t"))))
    #expect(
      try read(#"{"type":"response","error":"e"}"#)
        == .response(SessionResponse(id: nil, conversation: nil, result: .failure(error: "e"))))
    #expect(try read(#"{"type":"session_list","sessions":[]}"#) == .unknown(type: "session_list"))
    let milliseconds =
      #"{"type":"replay","message_id":"m","message":{"role":"tool","text":"t","session_id":"c","#
      + #""timestamp":1500}}"#
    let entry = SessionEntry(
      id: "m", role: .system, text: "t", conversation: "c",
      timestamp: Timestamp(nanoseconds: 1_500_000_000))
    #expect(try read(milliseconds) == .replay(id: "m", entry, number: nil))
    #expect(try read(#"{"type":"heartbeat","timestamp":"soon"}"#) == .heartbeat(nil))
    for time in ["2026-01-03 15:30:00+00", "2026-01-03T17:30+0200"] {
      let text = #"{"type":"heartbeat","timestamp":"\#(time)"}"#
      #expect(try read(text) == .heartbeat(Sample.time))
    }
    #expect(
      try read(#"{"type":"draining"}"#)
        == .draining(message: "", retryAfter: .seconds(5), window: nil))
  }

  private static let faults: [(String, FieldFault)] = [
    (#"{"message_id":"m"}"#, .missing(field: "type")),
    (#"{"type":"message_ack"}"#, .missing(field: "message_id")),
    (#"{"type":"message_ack","message_id":""}"#, .missing(field: "message_id")),
    (#"{"type":"message_ack","message_id":1}"#, .wrongType(field: "message_id")),
    (#"{"type":"connect"}"#, .missing(field: "session_id")),
    (#"{"type":"connect","session_id":"s","timestamp":"x"}"#, .badDate(field: "timestamp")),
    (#"{"type":"connect","session_id":"s","features":[1]}"#, .wrongType(field: "features")),
    (#"{"type":"prompt","text":"t"}"#, .missing(field: "new_session_id")),
    (#"{"type":"prompt","new_session_id":"c"}"#, .missing(field: "text")),
    (
      #"{"type":"prompt","text":"t","new_session_id":"c","resume_session_id":"c"}"#,
      .malformed(detail: "new_session_id and resume_session_id exclude each other")
    ),
    (#"{"type":"subscribe","session_id":"c","last_seq":-1}"#, .outOfBounds(field: "last_seq")),
    (#"{"type":"subscribe","session_id":"c","last_seq":"1"}"#, .wrongType(field: "last_seq")),
    (#"{"type":"subscribe_batch","sessions":[{}]}"#, .missing(field: "session_id")),
  ]

  @Test(arguments: faults)
  func `reports what is wrong with a message`(text: String, fault: FieldFault) {
    #expect(throws: fault) { try readClient(text) }
  }

  @Test func `a response without a result is refused`() {
    #expect(throws: FieldFault.missing(field: "success")) {
      try read(#"{"type":"response","message_id":"m","session_id":"c"}"#)
    }
  }

  @Test func `ids have 1 to 128 bytes`() throws {
    func ack(_ id: String) -> String { #"{"type":"message_ack","message_id":"\#(id)"}"# }
    #expect(try readClient(ack("i")) == .messageAck("i"))
    #expect(try readClient(ack(ids(128))) == .messageAck(ids(128)))
    #expect(throws: FieldFault.outOfBounds(field: "message_id")) { try readClient(ack(ids(129))) }
    func key(_ id: String) -> String {
      #"{"type":"ack","message":"","idempotency_key":"\#(id)"}"#
    }
    #expect(try read(key("")) == .ack(message: "", idempotencyKey: nil))
    #expect(try read(key(ids(128))) == .ack(message: "", idempotencyKey: ids(128)))
    #expect(throws: FieldFault.outOfBounds(field: "idempotency_key")) { try read(key(ids(129))) }
  }

  @Test func `sizes, positions and batches are limited`() throws {
    func size(_ kilobytes: Int) -> String {
      #"{"type":"set_max_message_size","size_kb":\#(kilobytes)}"#
    }
    for kilobytes in [1, 16_384] {
      #expect(try readClient(size(kilobytes)) == .setMaxMessageSize(kilobytes: kilobytes))
    }
    for kilobytes in [0, 16_385] {
      #expect(throws: FieldFault.outOfBounds(field: "size_kb")) {
        try readClient(size(kilobytes))
      }
    }
    func batch(_ count: Int) -> [UInt8] {
      let one = SessionSubscription(conversation: "c", cursor: .sequence(0))
      return SessionClientMessage.subscribeBatch(Array(repeating: one, count: count)).bytes
    }
    #expect(throws: Never.self) { try SessionClientMessage.read(batch(100)) }
    #expect(throws: FieldFault.outOfBounds(field: "sessions")) {
      try SessionClientMessage.read(batch(101))
    }
    func subscribe(_ number: UInt64) -> String {
      #"{"type":"subscribe","session_id":"c","last_seq":\#(number)}"#
    }
    #expect(throws: Never.self) { try readClient(subscribe((1 << 53) - 1)) }
    #expect(throws: FieldFault.outOfBounds(field: "last_seq")) {
      try readClient(subscribe(1 << 53))
    }
  }

  @Test(arguments: [(-1, false), (0, true), (1_000, true), (1_001, false)])
  func `a client may request a list of up to 1,000 conversations`(count: Int, isRead: Bool) {
    let text = #"{"type":"connect","session_id":"s","recent_sessions_limit":\#(count)}"#
    let isTaken = (try? readClient(text)) != nil
    #expect(isTaken == isRead)
  }

  @Test func `a window has up to 1,000 messages`() throws {
    func window(_ count: Int) -> [UInt8] {
      let entries = Array(repeating: SessionSample.entry, count: count)
      return SessionServerMessage.history(
        SessionHistory(
          conversation: "c", entries: entries, extent: .sequence(first: nil, last: nil, next: 1),
          isComplete: true)
      ).bytes
    }
    #expect(throws: Never.self) { try SessionServerMessage.read(window(1_000)) }
    #expect(throws: FieldFault.outOfBounds(field: "messages")) {
      try SessionServerMessage.read(window(1_001))
    }
  }

  @Test func `a message of a server has up to 4 MiB`() throws {
    func message(_ count: Int) -> [UInt8] {
      let frame = SessionServerMessage.unknown(type: "x").bytes
      return frame + Array(repeating: UInt8(ascii: " "), count: count - frame.count)
    }
    #expect(try SessionServerMessage.read(message(4 << 20)) == .unknown(type: "x"))
    #expect(throws: FieldFault.tooLong(bytes: (4 << 20) + 1)) {
      try SessionServerMessage.read(message((4 << 20) + 1))
    }
  }

  @Test func `a challenge is signed alone, or with the session, the version and the time`() {
    let time = Timestamp(nanoseconds: 1_700_000_000_123_999_999)
    var connect = SessionConnect(session: "s\u{E9}", timestamp: time)
    #expect(connect.signedText("c") == "c")
    connect.features = [.boundProof]
    let spaces = String(repeating: " ", count: 128)
    #expect(connect.signedText("c") == spaces + "1:c,3:s\u{E9},5:0.5.0,13:1700000000123,")
    (connect.version, connect.timestamp) = (nil, nil)
    #expect(connect.signedText("") == spaces + "0:,3:s\u{E9},0:,0:,")
  }

  @Test func `keys and proofs do not appear in descriptions`() throws {
    let connect = SessionConnect(session: "s", key: Secret("hush"), proof: Secret("hush"))
    #expect(!"\(SessionClientMessage.connect(connect))".contains("hush"))
  }
}

@Suite struct SessionVersionTests {
  @Test func `three numbers of up to six digits are a version`() {
    #expect(SessionVersion("0.5.0") == SessionVersion(0, 5, 0))
    #expect(SessionVersion("999999.0.10")?.description == "999999.0.10")
    for text in [
      "", "1", "1.2", "1.2.3.4", "1..2", "1.2.x", "-1.2.3", "+1.2.3", "1000000.0.0", "1.2.3.",
      ".1.2.3", "1..2.3",
    ] {
      #expect(SessionVersion(text) == nil, "\(text)")
    }
  }

  @Test func `versions are ordered by their numbers`() {
    let versions = ["0.3.9", "0.4.0", "0.4.10", "0.10.0", "1.0.0"].compactMap { SessionVersion($0) }
    #expect(versions == versions.sorted() && versions.count == 5)
  }

  private static let offers: [(String?, SessionVersion?)] = [
    (nil, .oldest), ("", .oldest), ("soon", .oldest), ("0.3.99", nil), ("0.4.0", .oldest),
    ("0.4.7", SessionVersion(0, 4, 7)), ("0.5.0", .newest), ("9.0.0", .newest),
  ]

  @Test(arguments: offers)
  func `the older of the two versions is used, but none below 0.4.0`(
    text: String?, version: SessionVersion?
  ) {
    #expect(SessionVersion.negotiated(text) == version)
  }

  @Test func `a server that supports only 0.4.0 is followed`() {
    #expect(SessionVersion.negotiated("0.5.0", newest: .oldest) == .oldest)
  }
}

/// Tests of a protocol version that is not a string.
struct SessionVersionFieldTests {
  @Test(arguments: ["5", "null", "true", "[]"])
  func `a version that is not a string counts as missing`(version: String) throws {
    let text = #"{"type":"connect","session_id":"s","protocol_version":\#(version)}"#
    let message = try SessionClientMessage.read(Array(text.utf8))
    #expect(message == .connect(SessionConnect(session: "s", version: nil)))
  }
}
