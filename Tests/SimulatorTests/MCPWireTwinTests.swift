import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of what assistants post to a server, and of what it answers.
@Suite struct MCPWireTwinTests {
  private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private func arguments(_ text: String) throws -> MCPWireArguments {
    guard case .object(let members)? = SessionTree(bytes(text)) else {
      throw MCPWireFault("no object")
    }
    return MCPWireArguments(members)
  }

  @Test func `the account tells a request from a notification`() throws {
    var reading = MCPWireReading()
    let request = try reading.message(bytes(#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#))
    guard case .request(.number(7), "ping", []) = request else {
      Issue.record("\(request)")
      return
    }
    var other = MCPWireReading()
    let notice = try other.message(bytes(#"{"jsonrpc":"2.0","method":"ping"}"#))
    guard case .notification("ping", []) = notice else {
      Issue.record("\(notice)")
      return
    }
  }

  @Test(arguments: [
    ("[]", "a batch; send one message at a time"), ("7", "no JSON-RPC message"),
    ("{}", "jsonrpc must be \"2.0\""), (#"{"jsonrpc":"2.0"}"#, "method is missing"),
    (#"{"jsonrpc":"2.0","id":null}"#, "id must be a string or a whole number"),
  ])
  func `the account says why a text is no message`(text: String, detail: String) {
    let error = RPCError(.invalidRequest, "Invalid request: \(detail)")
    var reading = MCPWireReading()
    #expect(throws: error) { try reading.message(bytes(text)) }
  }

  @Test func `the account reads the arguments of tools`() throws {
    #expect(try arguments(#"{"word":"w","code":123456}"#).pair() == ["w", "123456"])
    let span = #""start_time":"2026-03-01","end_time":"2026-03-02""#
    let query = try arguments(#"{"metrics":[{"value_type":"steps"},{}],\#(span)}"#).summaryQuery()
    #expect(query.metrics == [SummaryMetric(valueType: .steps)])
    #expect(
      query.rejected
        == [RejectedMetric(place: 1, valueType: "", reason: "value_type is missing")])
    #expect(throws: MCPWireFault("a does not apply: there are no arguments here")) {
      try arguments(#"{"a":1}"#).nothing()
    }
  }

  @Test func `the account puts rejected lines at their places, and the rest behind`() {
    let object = #"{"success":true,"results":[1,2]}"#
    let lines = [9, 1].map { RejectedMetric(place: $0, valueType: "\($0)", reason: "no") }
    let told = MCPWireCopy.result(
      HealthObject(succeeded: true, bytes: bytes(object)), .summary, lines, nil)
    #expect(
      told.text
        == #"{"success":false,"results":[1,"#
        + #"{"value_type":"1","success":false,"error_message":"no"},2,"#
        + #"{"value_type":"9","success":false,"error_message":"no"}],"#
        + #""error_message":"no answer for 1, 9"}"#)
    #expect(told.brief == "The results of the summary are in structuredContent.")
  }

  @Test func `the account names a clock that is wrong`() {
    let object = #"{"success":true,"answered_at":"1970-01-01T00:00:31Z"}"#
    let start = Timestamp(nanoseconds: 0)
    let told = MCPWireCopy.result(
      HealthObject(succeeded: true, bytes: bytes(object)), .healthData, [], start...start)
    #expect(told.text.contains(#""clock_difference_seconds":31,"clock_warning":"The phone's"#))
  }

  @Test func `the walk returns the first difference that it finds`() {
    var walk = MCPWireWalk(Chance(seed: 1))
    #expect(walk.walk(10) == nil)
    walk.compare("a message", 1, 2)
    walk.compare("a result", 3, 4)
    #expect(walk.walk(10) == "a message is 1, and must be 2")
  }
}
