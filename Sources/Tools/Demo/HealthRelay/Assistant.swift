import Foundation
import HoldfastPorts

/// An assistant that uses MCP over streamable HTTP and whose connection bypasses the injected
/// faults.
///
/// Answers are decoded with Foundation's decoder, as in a client that is independent of this
/// package.
actor Assistant {
  /// The outcome of a question.
  enum Answer: Sendable, Hashable {
    /// The answers that arrived for one question.
    case answered([Set<DaySteps>])
    case refused(String)
  }

  /// The latest protocol version that has sessions (MCP, "Lifecycle").
  private static let version = "2025-11-25"
  /// The time-out of a request. It is longer than the 45 s for which a question may wait for its
  /// phone.
  private static let timeout = Duration.seconds(50)

  private let http: any HTTPClient
  private let url: String
  private var session: String?
  private var lastCall = 0

  init(http: any HTTPClient, server: String) {
    self.http = http
    url = server + "/mcp"
  }

  /// Opens a session. Returns the reason for a failure; `nil` if it succeeds.
  func open() async -> String? {
    let hello = Hello(protocolVersion: Self.version)
    guard let answer = await post(Call(id: 1, method: "initialize", params: hello)) else {
      return "no answer"
    }
    lastCall = 1
    session = answer.headers["mcp-session-id"]
    guard answer.status == 200, session != nil else { return "status \(answer.status)" }
    let ready = Call(method: "notifications/initialized", params: [String: String]())
    let status = await post(ready)?.status
    return status == 202 ? nil : "status \(status.map(String.init) ?? "none")"
  }

  /// Pairs with the phone that shows this word and code. Returns the reason for a failure; `nil` if
  /// it succeeds.
  func signIn(word: String, code: String) async -> String? {
    let results = await call("direct_login", ["word": .text(word), "code": .text(code)])
    guard results.count == 1, let result = results.first else { return "\(results.count) answers" }
    return result.refusal
  }

  /// Requests the number of steps on each day, in the phone's time zone.
  func steps(from start: String, to end: String) async -> Answer {
    let results = await call(
      "get_health_metrics",
      [
        "value_type": "STEPS", "start_time": .text(start), "end_time": .text(end),
        "group_by": "DAY",
        "statistic": "SUM", "by_source": true,
      ])
    guard !results.isEmpty else { return .refused("no answer") }
    if let refusal = results.lazy.compactMap(\.refusal).first { return .refused(refusal) }
    // The ledger compares the values of sources. The merged value does not belong to a source.
    return .answered(
      results.map { result in
        Set((result.structuredContent?.healthData ?? []).filter { $0.source != "merged" })
      })
  }

  /// An argument of a tool.
  private enum Argument: Encodable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    case text(String)
    case truth(Bool)

    init(stringLiteral text: String) { self = .text(text) }

    init(booleanLiteral truth: Bool) { self = .truth(truth) }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .truth(let truth): try container.encode(truth)
      }
    }
  }

  /// Calls a tool. Returns every result that belongs to this call.
  private func call(_ tool: String, _ arguments: [String: Argument]) async -> [Result] {
    lastCall += 1
    let id = lastCall
    let params = Tool(name: tool, arguments: arguments)
    guard let answer = await post(Call(id: id, method: "tools/call", params: params)) else {
      return []
    }
    return Self.messages(in: answer).filter { $0.id == id }.map {
      $0.result ?? Result(isError: true, structuredContent: nil)
    }
  }

  private func post(_ call: Call<some Encodable>) async -> HTTPAnswer? {
    guard let body = try? JSONEncoder().encode(call) else { return nil }
    var headers = [
      ("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"),
    ]
    if let session {
      headers += [("Mcp-Session-Id", session), ("MCP-Protocol-Version", Self.version)]
    }
    return try? await http.send(
      HTTPCall(
        method: "POST", url: url, headers: headers, body: [UInt8](body), timeout: Self.timeout,
        maxBodyBytes: 1 << 20))
  }

  /// Returns the messages in an answer. They are the JSON body, or the data lines of an event
  /// stream.
  private static func messages(in answer: HTTPAnswer) -> [Message] {
    let bodies =
      answer.headers["content-type"]?.hasPrefix("text/event-stream") == true
      ? String(decoding: answer.body, as: UTF8.self).split(whereSeparator: \.isNewline)
        .filter { $0.hasPrefix("data:") }.map { Data($0.dropFirst(5).utf8) }
      : [Data(answer.body)]
    return bodies.compactMap { try? JSONDecoder().decode(Message.self, from: $0) }
  }
}

/// The messages that an assistant sends.
extension Assistant {
  private struct Call<Params: Encodable>: Encodable {
    var jsonrpc = "2.0"
    var id: Int?
    var method: String
    var params: Params
  }

  private struct Hello: Encodable {
    var protocolVersion: String
    var capabilities: [String: String] = [:]
    var clientInfo = ["name": "demo", "version": "1"]
  }

  private struct Tool: Encodable {
    var name: String
    var arguments: [String: Argument]
  }
}

/// The messages that an assistant receives.
extension Assistant {
  private struct Message: Decodable {
    var id: Int?
    var result: Result?
  }

  private struct Result: Decodable {
    var isError: Bool?
    var structuredContent: Content?

    /// The reason why there is no content; `nil` if there is content.
    var refusal: String? {
      guard isError == true || structuredContent == nil else { return nil }
      return structuredContent?.message ?? structuredContent?.reason ?? "an error"
    }
  }

  private struct Content: Decodable {
    var message: String?
    var reason: String?
    var healthData: [DaySteps]?

    private enum CodingKeys: String, CodingKey {
      case message, healthData
      case reason = "error_message"
    }
  }
}

/// Counts of an assistant's questions, by outcome.
struct Questions: Sendable, Hashable {
  /// The number of questions.
  var asked = 0
  /// The number of questions with exactly one answer.
  var answeredOnce = 0
  /// The number of questions that were refused or not answered.
  var unanswered = 0
  /// The number of questions with an answer that does not match the phone's data.
  var wrong = 0

  /// Counts a question by comparing its answer with the correct answer.
  mutating func note(_ answer: Assistant.Answer, expecting right: Set<DaySteps>) {
    asked += 1
    switch answer {
    case .refused: unanswered += 1
    case .answered(let answers):
      if answers.count == 1 { answeredOnce += 1 }
      if !answers.allSatisfy({ $0 == right }) || right.isEmpty { wrong += 1 }
    }
  }

  /// The ledger's section about questions.
  var section: LedgerSection {
    LedgerSection(
      "questions",
      [
        .init("asked", asked, isGood: asked > 0),
        .init("answered once", key: "answeredOnce", answeredOnce, isGood: answeredOnce == asked),
        .init("unanswered", unanswered, isGood: unanswered == 0),
        .init("wrong", wrong, isGood: wrong == 0),
      ])
  }
}
