import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import Testing

/// A test harness that drives a server of lines, with a store that the test controls.
struct MCPLineStage {
  private(set) var server: MCPLineServer
  private(set) var now = Instant.zero
  /// The lines that the server wrote and the test has not taken.
  private(set) var lines: [String] = []
  /// The questions that have no outcome yet, in order.
  private(set) var asks: [RequestID] = []
  private(set) var cancelled: [RequestID] = []
  private(set) var isFinished = false

  init(_ configure: (inout MCPLineServer.Policy) -> Void = { _ in }) {
    var policy = MCPLineServer.Policy()
    configure(&policy)
    server = MCPLineServer(policy, seed: 0)
  }

  /// A stage after a handshake of a version.
  static func greeted(
    _ version: String = "2025-11-25",
    _ configure: (inout MCPLineServer.Policy) -> Void = { _ in }
  ) -> MCPLineStage {
    var stage = MCPLineStage(configure)
    stage.say(request(0, "initialize", #"{"protocolVersion":"\#(version)"}"#))
    _ = stage.take()
    return stage
  }

  static func request(_ id: Int, _ method: String, _ params: String = "{}") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"\#(method)","params":\#(params)}"#
  }

  /// A call of a tool that asks for the steps of a day.
  static func steps(_ id: Int, token: Int? = nil) -> String {
    let span = #""start_time":"2026-03-01","end_time":"2026-03-02""#
    let meta = token.map { #","_meta":{"progressToken":\#($0)}"# } ?? ""
    return request(
      id, "tools/call",
      #"{"name":"get_health_metrics","arguments":{"value_type":"STEPS",\#(span)}\#(meta)}"#)
  }

  static func cancel(_ id: Int) -> String {
    #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(id)}}"#
  }

  mutating func say(_ lines: String...) {
    for line in lines { give(.line(Array(line.utf8))) }
  }

  mutating func give(_ input: MCPLineServer.Input) { note(server.handle(input, at: now)) }

  mutating func pass(_ time: Duration) {
    now = now.advanced(by: time)
    note(server.tick(at: now))
  }

  /// Answers the oldest question.
  mutating func answer(_ members: String = #""success":true,"health_data":[]"#) {
    guard !asks.isEmpty else {
      Issue.record("no question is open")
      return
    }
    give(.outcome(asks.removeFirst(), .data(Self.object(members))))
  }

  /// Returns an object with these members.
  static func object(_ members: String) -> HealthObject {
    HealthObject(
      succeeded: members.contains(#""success":true"#), bytes: Array("{\(members)}".utf8))
  }

  mutating func take() -> [String] {
    defer { lines = [] }
    return lines
  }

  private mutating func note(_ effects: [MCPLineServer.Effect]) {
    for effect in effects {
      switch effect {
      case .write(let line): lines.append(String(decoding: line, as: UTF8.self))
      case .ask(let id, _): asks.append(id)
      case .cancel(let id):
        cancelled.append(id)
        asks.removeAll { $0 == id }
      case .finish: isFinished = true
      }
    }
    #expect(server.brokenInvariants(.thorough) == [])
  }
}
