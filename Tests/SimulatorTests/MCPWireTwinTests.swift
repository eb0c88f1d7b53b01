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

  @Test func `a message that is read as another one is found`() throws {
    let text = bytes(#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)
    let found = try RPCMessage.read(text)
    var reading = MCPWireReading()
    let good = try reading.message(text)
    let name = SessionBranch(name: "name", value: .text("x"))
    try MCPWireWalk.expect(each: [
      (nil, { $0.compareMessage("a message", found, good) }),
      ("a message", { $0.compareMessage("a message", found, .request(.number(8), "ping", [])) }),
      ("a message", { $0.compareMessage("a message", found, .request(.number(7), "pong", [])) }),
      ("a message", { $0.compareMessage("a message", found, .notification("ping", [])) }),
      (
        "the tool of a message",
        { $0.compareMessage("a message", found, .request(.number(7), "ping", [name])) }
      ),
    ])
  }

  @Test func `arguments or a batch that are read otherwise are found`() throws {
    let one = bytes("[{}]")
    func arguments(_ word: String) -> MCPArguments {
      MCPArguments([(name: "word", value: word), (name: "code", value: "123456")])
    }
    let must = MCPWireArguments(pairs: [("word", "w"), ("code", "123456")])
    try MCPWireWalk.expect(each: [
      (nil, { $0.compareArguments("a query", arguments("w"), must) }),
      ("a query", { $0.compareArguments("a query", nil, must) }),
      ("a query as a pair", { $0.compareArguments("a query", arguments("x"), must) }),
      (nil, { $0.compareBatch(.success([Array("{}".utf8)]), of: one, 1) }),
      ("[{}], read as a batch,", { $0.compareBatch(.success([]), of: one, 1) }),
    ])
  }

  @Test func `a result that is told otherwise is found`() throws {
    let object = bytes(#"{"success":true}"#)
    let good = MCPCallResult(
      HealthObject(succeeded: true, bytes: object), of: .healthData, rejected: [], window: nil)
    let what = #"{"success":true} for an assistant, without [], is "#
    let changes: [(String, (inout MCPCallResult) -> Void)] = [
      (what, { $0.text += " " }), (what, { $0.structured = [] }), (what, { $0.brief = "odd" }),
      (what, { $0.isError.toggle() }),
    ]
    try MCPWireWalk.expect(good, changes) { walk, found in
      let answer = HealthObject(succeeded: true, bytes: object)
      let must = MCPWireCopy.result(answer, .healthData, [], nil)
      walk.compareCopy(found, must, of: object, [])
    }
  }

  @Test func `a response or an event that is written otherwise is found`() throws {
    let (id, error) = (RPCID.number(7), RPCError(.invalidRequest, "no"))
    let (pong, event) = (MCPResult.pong, MCPEvents.message(bytes("{}")))
    let response = pong.response(to: id, in: MCPVersion.allCases[0])
    try MCPWireWalk.expect(each: [
      (nil, { $0.compareResponse(response, to: pong, id, 0) }),
      ("the response to \(pong)", { $0.compareResponse([], to: pong, id, 0) }),
      ("the tools", { $0.compareResponse([], to: .tools, id, 0) }),
      (nil, { $0.compareResponse(error.response(to: id), to: error, id) }),
      ("the response to \(error)", { $0.compareResponse([], to: error, id) }),
      (nil, { $0.compareEvent(event, of: "{}") }),
      ("an event", { $0.compareEvent([], of: "{}") }),
    ])
  }
}
