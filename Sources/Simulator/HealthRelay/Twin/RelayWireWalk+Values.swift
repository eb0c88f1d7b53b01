import LinkCore
import LinkHealth
import LinkWire

// What is tried.
extension RelayWireWalk {
  static func long(_ count: Int) -> String { String(of: "a", count: count) }

  static let tokens = [
    "", "a", "aB", "abc", "0g", "0G", "09afAF", "/0", ":0", "@A", "`a", "é", long(199), long(200),
    long(201), long(202),
  ]
  static let topics = [
    "", "a", "Z", "0", ".", "-", "a_b", "a/b", "@", "[", "`", "{", ":", ",", "é", "z9", "AZaz09.-",
    long(255), long(256),
  ]
  static let names = [
    "type", "id", "requestId", "request_id", "payload", "code", "word", "message", "expires_in",
    "resume_token", "resumed", "accepts_parts", "success", "error_message", "health_data",
    "summary_data", "kind", "index", "count", "text", "max", "requests", "lease",
    "lease_expires_in", "end", "limit", "assistants", "name", "version", "since", "last_question",
    "expires_at", "address", "topic", "environment", "odd",
  ]

  mutating func values(of name: String) -> [SessionTree] {
    switch name {
    case "type": Self.types.map { .text($0) }
    case "id", "requestId", "request_id", "code", "word", "end":
      Self.texts(64) + [.text("é"), .text("all")]
    case "lease": Self.texts(128)
    case "resume_token": Self.texts(512)
    case "message": Self.texts(4_096)
    case "name", "version": Self.texts(1_024) + Self.names(2).map { .text($0) }
    case "error_message": Self.texts(1_000) + [.text(String(repeating: "é", count: 501))]
    case "expires_in": Self.numbers(0, 31_536_000)
    case "lease_expires_in": Self.numbers(0, 86_400)
    case "max": Self.numbers(1, 100)
    case "limit": Self.numbers(1, 1_000_000)
    case "count": Self.numbers(1, 8_388_608)
    case "index": Self.numbers(0, 1)
    case "kind": ["health_data", "summary_data", "apns", "hook", "healthData"].map { .text($0) }
    case "environment": ["production", "sandbox", "Sandbox", "x"].map { .text($0) }
    case "address":
      Self.tokens.map { .text($0) } + Self.texts(1_024)
        + ["\u{1F}", " ", "~", "\u{7F}", "\u{80}"].map { .text($0) }
    case "topic": Self.topics.map { .text($0) }
    case "since", "last_question", "expires_at": Self.times.map { .text($0) }
    case "resumed", "accepts_parts", "success": [.flag(true), .flag(false)]
    case "payload": [SessionTree(question().payload) ?? .null, .object([])]
    case "health_data", "summary_data": [SessionTree(object().bytes) ?? .null, .object([])]
    case _: []
    }
  }

  private static let types =
    [
      "connection_code", "cancel_request", "health_data_request", "summary_request",
      "health_data_response", "summary_response", "answer_part", "later", long(64), long(65),
    ]
  private static let times = [
    "2026-01-31T08:30:00Z", "2026-01-31T08:30:00.5Z", "2026-02-30T00:00:00Z", "yesterday", "",
  ]

  /// Texts at a bound.
  private static func texts(_ most: Int) -> [SessionTree] {
    [.text("a\""), .text(long(most)), .text(long(most + 1)), .text("")]
  }

  private static func numbers(_ least: Int, _ most: Int) -> [SessionTree] {
    [least - 1, least, most, most + 1].map { RelayWireScribe.whole($0) }
      + [.number("1.0"), .number("9223372036854775808")]
  }

  private static func names(_ count: Int) -> [String] {
    [" ", "\u{7}a", "claude", "1.4.2", String(repeating: " ", count: count)]
  }

  // Values.

  static let ids = ["q", "\"1\"", long(63), long(64), "é"].compactMap { RelayRequestID($0) }

  mutating func id() -> RelayRequestID { one(Self.ids) }

  mutating func time() -> Timestamp {
    Timestamp(nanoseconds: Int64(number(0...4_000_000_000)) * 1_000_000_000 + one([0, 5_000]))
  }

  mutating func question() -> HealthQuestion {
    let start = HealthTime.instant(time(), minutesEast: nil)
    let end = HealthTime.instant(time(), minutesEast: one([nil, 60]))
    if happens(2) {
      return .healthData(
        HealthDataQuery(
          valueType: one([.steps, .sleep]), start: start, end: end, groupBy: maybe(.day),
          statistic: maybe(.sum), maxBytes: maybe(2_000)))
    }
    return .summary(
      SummaryQuery(start: start, end: end, metrics: happens(2) ? [] : [.init(valueType: .steps)]))
  }

  mutating func object() -> HealthObject {
    let succeeded = happens(2)
    let rest = one(["", #","count":1"#, #", "error_message": "é\"\n""#])
    return HealthObject(
      succeeded: succeeded, bytes: Array("{\"success\":\(succeeded)\(rest)}".utf8))
  }

  mutating func backend() -> BackendMessage {
    switch number(0...5) {
    case 0, 1: .connectionCode(code())
    case 2, 3: .question(id(), question())
    case 4: .cancel(id())
    case _: .unknown(type: one(["later", Self.long(64)]), id: maybe(id()))
    }
  }

  private mutating func code() -> ConnectionCode {
    let time = Duration.milliseconds(one([-1_500, -1, 0, 999, 1_000, 31_536_000_000]))
    return ConnectionCode(
      code: one(["123456", Self.long(64)]), word: one(["tiger \"", Self.long(64)]),
      message: one(["", "Say it.", Self.long(4_096)]), expiresIn: maybe(time),
      resumeToken: maybe(one(["t", Self.long(512)])), resumed: happens(2), acceptsParts: happens(2))
  }

  mutating func phone() -> PhoneMessage {
    let id = id()
    switch number(0...5) {
    case 0: return .healthData(id, object())
    case 1: return .summary(id, object())
    case 2, 3:
      let count = one([1, 2, 3, 8_388_608])
      let index = number(0...min(count, 3) - 1)
      let part = HealthPart(
        kind: one([.healthData, .summary]), index: index, count: count,
        text: one(["{\"a\":", "é", "x"]))
      return .part(id, part)
    case 4: return .failure(maybe(id), reason: one(["", "No \"data\"."]))
    case _: return .unknown(type: "later", id: maybe(id))
    }
  }

  mutating func assistant() -> PairedAssistants.Assistant {
    PairedAssistants.Assistant(
      id: one(["a", Self.long(64)]),
      name: AssistantName(maybe("claude-ai"), version: maybe("1.4.2")), since: maybe(time()),
      lastQuestion: maybe(time()), expiresAt: time())
  }
}
