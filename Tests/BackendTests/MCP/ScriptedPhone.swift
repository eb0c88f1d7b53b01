import HoldfastBackend
import HoldfastHealth
import HoldfastRelayData

/// A phone that the test controls, connected to the backend's real socket.
struct ScriptedPhone {
  let client: BackendClient
  let code: ConnectionCode

  struct Unexpected: Error {
    var what: String
  }

  static let device = "0f8fad5b-d9cb-469f-a165-70867728950e"

  /// Connects, and waits for the connection code.
  static func connect(
    to rig: BackendRig, device: String? = nil, resume: String? = nil
  ) async throws -> ScriptedPhone {
    let client = try rig.client()
    let fields =
      (device.map { "Holdfast-Device: \($0)\r\n" } ?? "")
      + (resume.map { "Holdfast-Resume: \($0)\r\n" } ?? "")
    let answer = try await client.upgrade("/ws/phone", fields)
    guard answer.status == 101 else { throw Unexpected(what: "status \(answer.status)") }
    guard case .connectionCode(let code) = try await message(on: client) else {
      throw Unexpected(what: "no connection code")
    }
    return ScriptedPhone(client: client, code: code)
  }

  static func message(on client: BackendClient) async throws -> BackendMessage {
    let frame = try await client.frame()
    guard frame.opcode == 1 else { throw Unexpected(what: "opcode \(frame.opcode)") }
    return try BackendMessage.read(frame.payload)
  }

  /// Returns the next message other than a new connection code.
  func message() async throws -> BackendMessage {
    while true {
      let message = try await Self.message(on: client)
      if case .connectionCode = message { continue }
      return message
    }
  }

  /// Waits for the next question.
  func question() async throws -> (RelayRequestID, HealthQuestion) {
    guard case .question(let id, let question) = try await message() else {
      throw Unexpected(what: "no question")
    }
    return (id, question)
  }

  /// Waits for the next question, and answers it.
  @discardableResult
  func answer() async throws -> HealthQuestion {
    let (id, question) = try await question()
    try await say(Self.answer(id, question))
    return question
  }

  func say(_ message: PhoneMessage) async throws {
    try await client.say(String(decoding: message.bytes, as: UTF8.self))
  }

  /// Returns the answer of this phone, which contains the value 42 for each requested type.
  static func answer(_ id: RelayRequestID, _ question: HealthQuestion) -> PhoneMessage {
    switch question {
    case .healthData(let query):
      .healthData(id, HealthObject(succeeded: true, bytes: Array(data(query.valueType).utf8)))
    case .summary(let query):
      .summary(id, HealthObject(succeeded: true, bytes: Array(summary(query).utf8)))
    case .types:
      .types(
        id, HealthObject(succeeded: true, bytes: Array(#"{"success":true,"types":[]}"#.utf8)))
    }
  }

  private static func data(_ type: HealthValueType) -> String {
    #"{"success":true,"count":1,"health_data":[{"type":"\#(type.rawValue)","value":42,"#
      + #""unit":"COUNT","date_from":"2026-03-01T08:00:00","date_to":"2026-03-01T08:05:00","#
      + #""source_id":null}],"value_type":"\#(type.rawValue)","#
      + #""start_time":"2026-03-01T00:00:00","end_time":"2026-03-02T00:00:00","group_by":null,"#
      + #""is_aggregated":false,"statistic_type":null}"#
  }

  private static func summary(_ query: SummaryQuery) -> String {
    let lines = query.metrics.map { metric in
      #"{"value_type":"\#(metric.valueType.rawValue)","success":true,"#
        + #""data":\#(data(metric.valueType)),"error_message":null}"#
    }
    return #"{"success":true,"start_time":"2026-03-01T00:00:00","#
      + #""end_time":"2026-03-02T00:00:00","results":[\#(lines.joined(separator: ","))],"#
      + #""error_message":null}"#
  }
}
