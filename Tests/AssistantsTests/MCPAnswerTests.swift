import HoldfastAssistants
import HoldfastCore
import HoldfastHealth
import HoldfastRelayServer
import Testing

/// Tests for what the server adds to a phone's answer before an assistant receives it.
@Suite struct MCPAnswerTests {
  private static let answer =
    #"{"success":true,"count":2,"health_data":[],"value_type":"STEPS","#
    + #""answered_at":"2026-02-25T06:13:20Z"}"#

  /// Returns the result of a tool call whose answer arrives after `wait`, from a phone whose clock
  /// is ahead of the backend's clock by `ahead`.
  private func result(
    _ version: String = "2025-11-25", wait: Duration = .seconds(4),
    ahead: Duration = .zero, answer: String = answer
  ) -> String {
    var stage = MCPStage()
    let session = stage.initialize(version)
    let id = stage.call("get_health_metrics", MCPStage.metrics, session: session)
    stage.pass(wait)
    // The answer's `answered_at` is the time of the call.
    let asked = Timestamp(nanoseconds: 1_772_000_000_000_000_000)
    stage.wall = asked.advanced(by: wait - ahead)
    stage.complete(.data(answer))
    return stage[id].body + stage[id].events
  }

  @Test(arguments: [
    (Duration.zero, nil), (.seconds(34), nil), (.milliseconds(34_001), "is 30 s ahead of"),
    (.seconds(35), "is 31 s ahead of"), (.seconds(3_600), "is 3596 s ahead of"),
    (.seconds(-30), nil), (.seconds(-31), "is 31 s behind"),
  ])
  func `warns about clocks that differ by more than 30 s`(ahead: Duration, text: String?) {
    let body = result(ahead: ahead)
    #expect(body.contains("clock_warning") == (text != nil))
    if let text { #expect(body.contains("The phone's clock \(text) the server's")) }
  }

  @Test(arguments: ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
  func `the text is the JSON of the structured content in every version`(version: String) {
    let body = result(version)
    #expect(body.contains(#""structuredContent":{"success":true,"count":2,"healthData":[],"#))
    #expect(
      body.contains(#""text":"{\"success\":true,\"count\":2,\"healthData\":[],"#), "\(body)")
  }

  @Test func `a phone's refusal is reported with the phone's message`() {
    let body = result(answer: #"{"success":false,"error_message":"start_time is in the future"}"#)
    #expect(
      body.contains(
        #""error":"phone_refused","message":"start_time is in the future"},"isError":true"#))
  }

  private static let span = #""start_time":"2026-03-01","end_time":"2026-03-02""#

  /// Returns the result line of a metric that was rejected before the phone was asked.
  private func line(_ valueType: String, _ reason: String) -> String {
    #"{"value_type":"\#(valueType)","success":false,"error_message":"\#(reason)","#
      + #""error":"invalid_arguments","message":"\#(reason)"}"#
  }

  @Test func `an invalid line of a summary fails alone`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let metrics =
      #"[{"value_type":"STEPS"},{"value_type":"SHOES!"},{"value_type":"SLEEP"},"#
      + #"{"value_type":"HRV","statistic":5},{"value_type":"HRV","colour":"red"}]"#
    let id = stage.call(
      "get_summary", #"{\#(Self.span),"metrics":\#(metrics)}"#, session: session)
    guard case .question(.summary(let query)) = stage.asks.first?.ask else {
      Issue.record("no summary is requested")
      return
    }
    #expect(query.metrics.map(\.valueType) == [.steps, .sleep])
    #expect(query.rejected.isEmpty)
    stage.complete(
      .data(
        #"{"success":true,"results":[{"value_type":"STEPS","success":true,"data":{}},"#
          + #"{"value_type":"SLEEP","success":true,"data":{}}],"error_message":null}"#))
    let result =
      #""structuredContent":{"success":false,"results":["#
      + #"{"value_type":"STEPS","success":true,"data":{}},"#
      + line(
        "SHOES!",
        "value_type must be a word such as STEPS or RESTING_HEART_RATE; list_health_types names "
          + "those with data")
      + #",{"value_type":"SLEEP","success":true,"data":{}},"#
      + line("HRV", "statistic must be a string") + ","
      + line(
        "HRV",
        "colour does not apply; the arguments here are group_by, statistic, value_type")
      + #"],"error_message":"no answer for SHOES!, HRV, HRV","error":"partly_answered","#
      + #""message":"no answer for SHOES!, HRV, HRV"},"isError":false"#
    #expect(stage[id].body.contains(result))
  }

  @Test func `lines rejected before the call follow those of a phone that left some out`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let metrics =
      #"[{"value_type":"STEPS"},{"value_type":"SLEEP"},{"value_type":"HRV","statistic":5}]"#
    let id = stage.call(
      "get_summary", #"{\#(Self.span),"metrics":\#(metrics)}"#, session: session)
    stage.complete(.data(#"{"success":true,"results":[]}"#))
    let result =
      #""results":["# + line("HRV", "statistic must be a string")
      + #"],"error_message":"no answer for HRV""#
    #expect(stage[id].body.contains(result))
  }

  @Test func `a summary without a valid line is not sent to the phone`() {
    var stage = MCPStage()
    let session = stage.initialize()
    let id = stage.call(
      "get_summary",
      #"{\#(Self.span),"metrics":[{"value_type":"SHOES!"},{"value_type":"HRV","statistic":5}]}"#,
      session: session)
    #expect(stage.asks.isEmpty)
    #expect(stage[id].body.contains(#""error":"invalid_arguments""#))
    // The error names only the first invalid line.
    #expect(stage[id].body.contains("value_type must be a word"))
    #expect(!stage[id].body.contains("statistic must be a string"))
  }
}
