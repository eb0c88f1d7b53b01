import HoldfastCore
import HoldfastJSON
import HoldfastSessionData
import HoldfastTestKit
import Testing

/// Tests of the limits of members in session messages, at and above each limit.
@Suite struct SessionBoundTests {
  /// A member with the start and the end of its message, and with its maximum length or value.
  private typealias Member = (head: String, name: String, tail: String, most: Int)

  private static let ofClients: [Member] = [
    (#"{"type":"connect","session_id":"s","#, "api_key", "}", 4_096),
    (#"{"type":"connect","session_id":"s","#, "challenge_response", "}", 4_096),
    (#"{"type":"connect","#, "session_id", "}", 128),
    (#"{"type":"message_ack","#, "message_id", "}", 128),
    (#"{"type":"prompt","text":"t","new_session_id":"c","#, "idempotency_key", "}", 128),
    (#"{"type":"prompt","text":"t","new_session_id":"c","#, "provider", "}", 64),
    (#"{"type":"prompt","text":"t","new_session_id":"c","#, "working_directory", "}", 4_096),
    (#"{"type":"prompt","text":"t","#, "new_session_id", "}", 128),
    (#"{"type":"prompt","text":"t","#, "resume_session_id", "}", 128),
    (
      #"{"type":"subscribe","session_id":"c","from_offset":1,"#, "file_signature_seen", "}", 4_096
    ),
    (#"{"type":"disconnect","#, "reason", "}", 4_096),
    (#"{"#, "type", "}", 64),
  ]

  private static let ofServers: [Member] = [
    (#"{"type":"hello","#, "message", "}", 4_096), (#"{"type":"ack","#, "message", "}", 4_096),
    (#"{"type":"error","#, "message", "}", 4_096), (#"{"type":"error","#, "code", "}", 4_096),
    (#"{"type":"error","#, "session_id", "}", 128),
    (#"{"type":"auth_error","#, "message", "}", 4_096),
    (#"{"type":"draining","#, "message", "}", 4_096),
    (#"{"type":"response","text":"","#, "message_id", "}", 128),
    (#"{"type":"response","text":"","#, "idempotency_key", "}", 128),
    (#"{"type":"turn_complete","#, "session_id", "}", 128),
    (#"{"type":"session_history","session_id":"c","next_offset":1,"#, "file_signature", "}", 4_096),
    (
      #"{"type":"replay","message_id":"m","message":{"session_id":"c","#, "role", "}}", 64
    ),
    (
      #"{"type":"session_history","session_id":"c","next_seq":1,"messages":[{"session_id":"c","#,
      "uuid", "}]}", 128
    ),
    (#"{"#, "type", "}", 64),
  ]

  private func text(_ member: Member, _ count: Int) -> [UInt8] {
    let value = String(repeating: "x", count: count)
    return Array("\(member.head)\"\(member.name)\":\"\(value)\"\(member.tail)".utf8)
  }

  @Test func `a client sends 1 MiB at most, and a server 4 MiB`() {
    #expect(SessionClientMessage.maxBytes == 1_048_576)
    #expect(SessionServerMessage.maxBytes == 4_194_304)
  }

  @Test func `texts of clients are limited`() {
    for member in Self.ofClients {
      #expect(throws: Never.self, "\(member.name)") {
        try SessionClientMessage.read(text(member, member.most))
      }
      #expect(throws: FieldFault.outOfBounds(field: member.name), "\(member.head)") {
        try SessionClientMessage.read(text(member, member.most + 1))
      }
    }
  }

  @Test func `texts of servers are limited`() {
    for member in Self.ofServers {
      #expect(throws: Never.self, "\(member.name)") {
        try SessionServerMessage.read(text(member, member.most))
      }
      #expect(throws: FieldFault.outOfBounds(field: member.name), "\(member.head)") {
        try SessionServerMessage.read(text(member, member.most + 1))
      }
    }
  }

  /// The numeric members of server messages, with their maximum values.
  private static let numbers: [Member] = [
    (#"{"type":"response","text":"","#, "number", "}", (1 << 53) - 1),
    (#"{"type":"response","text":"","#, "parts", "}", (1 << 53) - 1),
    (
      #"{"type":"response_part","session_id":"c","idempotency_key":"k","#, "index", "}",
      (1 << 53) - 1
    ),
    (#"{"type":"hello","#, "auth_version", "}", 1_000_000),
    (#"{"type":"draining","#, "retry_after_ms", "}", 86_400_000),
    (#"{"type":"draining","#, "window_ms", "}", 86_400_000),
    (#"{"type":"connected","session_id":"s","#, "received", "}", (1 << 53) - 1),
    (#"{"type":"session_history","session_id":"c","#, "next_seq", "}", (1 << 53) - 1),
    (#"{"type":"session_history","session_id":"c","#, "next_offset", "}", (1 << 53) - 1),
  ]

  @Test func `numbers of servers are limited`() {
    for member in Self.numbers {
      func message(_ number: Int) -> [UInt8] {
        Array("\(member.head)\"\(member.name)\":\(number)\(member.tail)".utf8)
      }
      for number in [0, member.most] {
        #expect(throws: Never.self, "\(member.name)") {
          try SessionServerMessage.read(message(number))
        }
      }
      for number in [-1, member.most + 1] {
        #expect(throws: FieldFault.outOfBounds(field: member.name)) {
          try SessionServerMessage.read(message(number))
        }
      }
    }
  }

  @Test(arguments: [(100, true), (101, false)])
  func `up to 100 features and 100 windows are read`(count: Int, isRead: Bool) {
    func isFine(_ text: String) -> Bool {
      (try? SessionServerMessage.read(Array(text.utf8))) != nil
    }
    let elements = Array(repeating: "\"x\"", count: count).joined(separator: ",")
    #expect(isFine(#"{"type":"hello","features":[\#(elements)]}"#) == isRead)
    let window = #"{"session_id":"c","next_seq":1}"#
    let windows = Array(repeating: window, count: count).joined(separator: ",")
    #expect(isFine(#"{"type":"session_history_batch","histories":[\#(windows)]}"#) == isRead)
  }

  private static let results: [(String, SessionResponse.Result)] = [
    (#""success":false,"text":"t""#, .failure(error: "")),
    (#""success":true,"text":"t","error":"e""#, .success(text: "t")),
    (#""text":"t""#, .success(text: "t")), (#""error":"e","text":"t""#, .failure(error: "e")),
    (#""success":false,"error":"e""#, .failure(error: "e")),
  ]

  @Test(arguments: results)
  func `success decides whether a response is a failure, or else the error does`(
    members: String, result: SessionResponse.Result
  ) throws {
    let message = try SessionServerMessage.read(Array(#"{"type":"response",\#(members)}"#.utf8))
    #expect(message == .response(SessionResponse(id: nil, conversation: nil, result: result)))
  }

  @Test func `a window is complete and of the same file by default`() throws {
    let numbered = #"{"type":"session_history","session_id":"c","next_seq":4}"#
    #expect(
      try SessionServerMessage.read(Array(numbered.utf8))
        == .history(
          SessionHistory(
            conversation: "c", entries: [], extent: .sequence(first: nil, last: nil, next: 4),
            isComplete: true)))
    let filed = #"{"type":"session_history","session_id":"c","next_offset":4}"#
    #expect(
      try SessionServerMessage.read(Array(filed.utf8))
        == .history(
          SessionHistory(
            conversation: "c", entries: [],
            extent: .offset(next: 4, signature: "", isReplaced: false), isComplete: true)))
  }

  @Test func `a time in milliseconds lies in the years 1970 to 2255`() throws {
    func connect(_ milliseconds: Int) -> [UInt8] {
      Array(#"{"type":"connect","session_id":"s","timestamp":\#(milliseconds)}"#.utf8)
    }
    for milliseconds in [0, 1, 9_000_000_000_000] {
      let time = Timestamp(nanoseconds: Int64(milliseconds) * 1_000_000)
      #expect(
        try SessionClientMessage.read(connect(milliseconds))
          == .connect(SessionConnect(session: "s", timestamp: time, version: nil)))
    }
    for milliseconds in [-1, 9_000_000_000_001] {
      #expect(throws: FieldFault.outOfBounds(field: "timestamp")) {
        try SessionClientMessage.read(connect(milliseconds))
      }
    }
  }

  @Test func `a window of a batch that is not an object is malformed`() {
    let text = #"{"type":"session_history_batch","histories":[7]}"#
    #expect(throws: FieldFault.malformed(detail: "expected '{' at byte 0")) {
      try SessionServerMessage.read(Array(text.utf8))
    }
  }

  @Test(arguments: [-1_500, -1_000, -500, -1, 0, 1, 1_500])
  func `a time below 0 is written as 0`(milliseconds: Int) throws {
    let retryAfter = Duration.milliseconds(milliseconds)
    let message = SessionServerMessage.draining(
      message: "m", retryAfter: retryAfter, window: retryAfter)
    let read = Duration.milliseconds(max(0, milliseconds))
    #expect(
      try SessionServerMessage.read(message.bytes)
        == .draining(message: "m", retryAfter: read, window: read))
  }
}
