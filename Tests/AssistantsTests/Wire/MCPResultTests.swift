import Foundation
import HoldfastHealth
import HoldfastJSON
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

@Suite struct MCPResultTests {
  private func result(
    _ object: String, _ kind: HealthQuestion.Kind = .healthData, succeeded: Bool = true
  ) -> MCPCallResult {
    MCPCallResult(HealthObject(succeeded: succeeded, bytes: [UInt8](text: object)), of: kind)
  }

  @Test func `a phone's answer is renamed for assistants, and nothing is lost`() {
    let answer = #"{"success":true,"health_data":[{"value":1e2}],"count":1,"truncated":true}"#
    let text = #"{"success":true,"healthData":[{"value":1e2}],"count":1,"truncated":true}"#
    #expect(result(answer) == MCPCallResult(text: text, structured: [UInt8](text: text)))
  }

  @Test func `a summary is passed on unchanged, and is no error while it has results`() {
    let line = #"{"value_type":"HRV","success":false,"error_message":"no"#
    let partial = #"{"success":false,"results":[\#(line)"}],"error_message":"no answer for HRV"}"#
    let text =
      #"{"success":false,"results":[\#(line)","error":"phone_refused","message":"no"}],"#
      + #""error_message":"no answer for HRV","error":"partly_answered","#
      + #""message":"no answer for HRV"}"#
    #expect(
      result(partial, .summary, succeeded: false)
        == MCPCallResult(text: text, structured: [UInt8](text: text)))
    let failed = #"{"success":false,"error_message":"no"}"#
    #expect(result(failed, .summary, succeeded: false).isError)
    #expect(result(failed, succeeded: false).isError)
  }

  @Test(arguments: HealthQuestion.Kind.allCases)
  func `white space between values is removed, and that in texts is kept`(kind: HealthQuestion.Kind)
  {
    let answer =
      #"{ "success" :true, "results":[ {"a": [1 , 2]} ,\#n {"b":"x \" { y\\"}, 7 ],"c" : { } }"#
    let text = #"{"success":true,"results":[{"a":[1,2]},{"b":"x \" { y\\"},7],"c":{}}"#
    #expect(
      result(answer, kind) == MCPCallResult(text: text, structured: [UInt8](text: text)))
  }

  @Test(arguments: [
    (#"{"success":false,"error_message":"no"}"#, #""error":"phone_refused","message":"no"}"#),
    (
      #"{"success":false}"#,
      #""error":"phone_refused","message":"The question was not answered."}"#
    ),
    (
      #"{"success":false,"error_message":""}"#,
      #""error":"phone_refused","message":"The question was not answered."}"#
    ),
    // The phone's own error and message are kept if they are strings.
    (#"{"success":false,"error":"locked","message":"Unlock it."}"#, #""message":"Unlock it."}"#),
    (
      #"{"success":false,"error":{"code":3},"message":null,"error_message":"no"}"#,
      #"{"success":false,"error_message":"no","error":"phone_refused","message":"no"}"#
    ),
  ])
  func `a phone's refusal has an error and a message like every refusal`(
    answer: String, end: String
  ) {
    let failure = result(answer, succeeded: false)
    #expect(failure.text.hasSuffix(end) && failure.isError)
    #expect(failure.text.ranges(of: #""error":"#).count == 1)
  }

  @Test func `rejected metrics beyond the results of a short answer follow them`() {
    let answer = HealthObject(
      succeeded: true, bytes: [UInt8](text: #"{"success":true,"results":[{"a":1}]}"#))
    let rejected = [
      RejectedMetric(index: 5, valueType: "Y", reason: "none"),
      RejectedMetric(index: 1, valueType: "X", reason: "no"),
      RejectedMetric(index: 3, valueType: "Z", reason: "never"),
    ]
    let text =
      #"{"success":false,"results":[{"a":1},"#
      + #"{"value_type":"X","success":false,"error_message":"no","#
      + #""error":"invalid_arguments","message":"no"},"#
      + #"{"value_type":"Z","success":false,"error_message":"never","#
      + #""error":"invalid_arguments","message":"never"},"#
      + #"{"value_type":"Y","success":false,"error_message":"none","#
      + #""error":"invalid_arguments","message":"none"}],"#
      + #""error_message":"no answer for X, Z, Y","error":"partly_answered","#
      + #""message":"no answer for X, Z, Y"}"#
    #expect(MCPCallResult(answer, of: .summary, rejected: rejected).text == text)
  }

  @Test(arguments: ["", "[]", "{", #"{"a":1} x"#])
  func `an answer that cannot be read is refused`(text: String) {
    #expect(
      result(text)
        == .refused("malformed", "The answer cannot be read. Ask again."))
  }

  @Test func `the text of an object is the object itself, or a notice if it is sent only once`()
    throws
  {
    let object = [UInt8](text: #"{"success":true,"healthData":[]}"#)
    let result = MCPCallResult(object: object)
    #expect([UInt8](result.text.utf8) == object && result.structured == object)
    let once = try #require(result.once(in: .june2025))
    #expect(once.structured == object && once.text.contains("too long"))
    // Clients of older versions only read the text.
    #expect(result.once(in: .march2025) == nil)
    #expect(MCPCallResult(text: "x", isError: true).once(in: .november2025) == nil)
  }

  @Test func `a refusal is an object with an error and a message`() {
    let refusal = MCPCallResult.refused("phone_away", "Open the app.")
    #expect(
      MCPResult.called(refusal).response(to: .number(1), in: .november2025).text
        == #"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"#
        + #""{\"success\":false,\"error\":\"phone_away\",\"message\":\"Open the app.\"}"}],"#
        + #""structuredContent":{"success":false,"error":"phone_away","message":"Open the app."},"#
        + #""isError":true}}"#)
  }

  @Test(arguments: [
    ("2024-11-05", MCPVersion.november2024), ("2025-11-25", .november2025),
    ("2026-07-28", .november2025), ("2030-01-01", .november2025), ("", .november2025),
  ])
  func `agrees on the offered version, or offers the newest`(offer: String, version: MCPVersion) {
    #expect(MCPVersion.agreed(on: offer) == version)
  }

  @Test func `an event is one line, whatever separates the values`() {
    #expect(
      MCPEvents.message([UInt8](text: "{\n \"a\":\r\n1}")).text
        == "event: message\r\ndata: {  \"a\":  1}\r\n\r\n")
    #expect(MCPEvents.comment.text == ": wait\r\n\r\n")
    #expect(
      MCPEvents.progress(.number(4), waited: 5, of: 45, message: "w").text
        == #"event: message\#r\#ndata: {"jsonrpc":"2.0","method":"notifications/progress","#
        + #""params":{"progressToken":4,"progress":5,"total":45,"message":"w"}}"# + "\r\n\r\n")
  }

  @Test(arguments: [
    ("logout", "logout"), ("=?base64?bG9nb3V0?=", "logout"), ("=?base64?w6TDtg==?=", "äö"),
    ("=?base64?Pz8/Pj4+?=", "???>>>"), ("=?base64??=", ""),
    ("=?BASE64?bG9nb3V0?=", "=?BASE64?bG9nb3V0?="),
    ("=?base64?=", "=?base64?="), ("=?base64?bG9nb3V0", "=?base64?bG9nb3V0"),
    ("=?base64?bG9nb3V?=", nil), ("=?base64?bG9n_3V0?=", nil), ("=?base64?/w==?=", nil),
    ("=?base64?w6TDt===?=", nil), ("=?base64?w6TDth==?=", nil),
  ])
  func `the value of a header field may be Base64 text`(value: String, text: String?) {
    // The encoded values were created with `base64` of GNU coreutils.
    #expect(MCPFieldValue.text(of: value) == text)
  }

  @Test func `the icon of the server is a PNG of 32 by 32 pixels`() throws {
    let bytes = [UInt8](try #require(Data(base64Encoded: MCPResult.icon)))
    // These are the signature, and the width and height in IHDR (PNG, third edition, sections 5.2
    // and 11.2.1).
    #expect(bytes.prefix(8) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    #expect(bytes[16..<24].elementsEqual([0, 0, 0, 32, 0, 0, 0, 32]))
  }

  @Test func `the schema states that the end of a span is excluded`() {
    let tools = MCPTool.plainList().text
    let said = #""end_time":{"type":"string","description":"As start_time, not included;"#
    #expect(tools.ranges(of: said).count == 2)
  }

  @Test func `the schema states how long an answer may be`() {
    let bounds = #""minimum":2000,"maximum":8388608}"#
    #expect(MCPTool.plainList().text.ranges(of: bounds).count == 2)
  }

  @Test func `a schema describes each kind of value`() {
    let schema = MCPSchema.object([
      .required("a", .oneOf(["x", "y"], "one")), .optional("b", .countBetween(1, 9, "some")),
      .optional("c", .list(of: .number)), .required("d", .orNull(.truth)),
      .optional("e", .any("else")), .optional("f", .object([.optional("g", .count)], isOpen: true)),
      .optional("h", .text("")),
    ])
    var writer = JSONWriter()
    schema.write(to: &writer)
    let expected =
      #"{"type":"object","properties":{"a":{"type":"string","description":"one","#
      + #""enum":["x","y"]},"b":{"type":"integer","description":"some","minimum":1,"maximum":9},"#
      + #""c":{"type":"array","items":{"type":"number"}},"#
      + #""d":{"anyOf":[{"type":"boolean"},{"type":"null"}]},"e":{"description":"else"},"#
      + #""f":{"type":"object","properties":{"g":{"type":"integer"}}},"h":{"type":"string"}},"#
      + #""required":["a","d"],"additionalProperties":false}"#
    #expect(writer.bytes.text == expected)
  }

  @Test(arguments: [MCPTool.getHealthMetrics, .getSummary])
  func `a phone's answer may have more members than the schema declares`(tool: MCPTool) {
    var writer = JSONWriter()
    tool.output.write(to: &writer)
    #expect(!writer.bytes.text.contains("additionalProperties"))
  }

  @Test func `the login tool states whom to ask for the words of a pairing, and when`() {
    let text = """
      Pairs with the user's phone. Ask the user for the two words and the six-digit code that the \
      app shows, and call this once before any other tool.
      """
    #expect(MCPTool.directLogin.summary == text)
  }

  @Test func `the summary tool states what a summary covers and how its metrics fail`() {
    let text = """
      Reads several kinds of health data for a span of time at once, by the rules of \
      get_health_metrics. Without metrics it covers steps, calories, distance, workouts and \
      sleep; without group_by it chooses days, weeks or months by the length of the span; with \
      compare_with TOTAL. A metric that cannot be answered fails by itself: its success is false.
      """
    #expect(MCPTool.getSummary.summary == text)
  }

  @Test func `the tools and their schemas are valid JSON and name their required arguments`() throws
  {
    for text in [
      MCPResult.tools.response(to: .number(1), in: .july2026), MCPTool.plainList(),
      PlainToolCall.welcome(), PlainToolCall.detail("a", "b"),
      PlainToolCall.answer(.refused("a", "b"), refusal: "a"),
    ] {
      var reader = JSONReader(text)
      try reader.skipValue()
      try reader.finish()
    }
    let tools = MCPTool.plainList().text
    for tool in MCPTool.allCases { #expect(tools.contains(#""name":"\#(tool.rawValue)""#)) }
    #expect(tools.contains(#""required":["value_type","start_time","end_time"]"#))
  }
}
