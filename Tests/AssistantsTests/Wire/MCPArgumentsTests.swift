import HoldfastCore
import HoldfastHealth
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

@Suite struct MCPArgumentsTests {
  private func arguments(_ text: String) throws -> MCPArguments {
    try #require(MCPArguments([UInt8](text: text)))
  }

  private func fault(_ text: String, _ read: (MCPArguments) throws -> Void) throws -> String? {
    let arguments = try arguments(text)
    return #expect(throws: MCPArguments.Fault.self) { try read(arguments) }?.message
  }

  @Test func `names are read in any case, and null or an empty text counts as left out`() throws {
    let query = try arguments(
      #"{"value_type":"steps","start_time":"2026-03-01","end_time":"2026-03-02","#
        + #""group_by":null,"statistic":"","access_token":""}"#
    ).healthDataQuery()
    #expect(query.valueType == .steps)
    #expect(query.groupBy == nil)
    #expect(query.statistic == nil)
  }

  @Test func `URL parameters form the same query, and the first of a repeated name counts`() throws
  {
    let query = try MCPArguments([
      ("value_type", "SLEEP"), ("start_time", "2026-03-01"), ("end_time", "2026-03-02"),
      ("value_type", "STEPS"),
    ]).healthDataQuery()
    #expect(query.valueType == .sleep)
  }

  @Test(arguments: [
    ("{}", "value_type is missing"),
    (#"{"value_type":5}"#, "value_type must be a string"),
    (#"{"value_type":"STEPS"}"#, "start_time is missing"),
    (
      #"{"value_type":"STEPS","start_time":"today"}"#,
      "start_time must be an ISO 8601 date or time, such as 2026-03-01T00:00:00"
    ),
    (
      #"{"value_type":"STEPS","group_by":"DECADE"}"#,
      "group_by must be one of HOUR, DAY, WEEK, MONTH, YEAR, TOTAL, WEEKDAY, WEEKPART, HOUR_OF_DAY"
    ),
    (
      #"{"value_type":"STEPS","statistic":"MEDIAN"}"#,
      "statistic must be one of SUM, AVERAGE, MIN, MAX, COUNT, LATEST"
    ),
    (
      #"{"value_type":"STEPS","metrics":[]}"#,
      "metrics does not apply; the arguments here are by_source, compare_with, end_time, format, "
        + "group_by, max_bytes, nearest, start_time, statistic, trend, value_type, workout_type"
    ),
    (#"{"value_type":"STEPS","start_time":"9999-12-31"}"#, range),
    (#"{"value_type":"STEPS","start_time":"0001-01-01T00:00:00Z"}"#, range),
    (#"{"value_type":"STEPS","start_time":"12026-01-01"}"#, range),
    (#"{"value_type":"STEPS","start_time":"2026-02-29"}"#, noDay),
    (#"{"value_type":"STEPS","start_time":"2026-13-01T00:00:00"}"#, noDay),
    (#"{"value_type":"STEPS","start_time":"2026-03-01T25:00:00"}"#, noDay),
    (
      #"{"value_type":"STEPS","start_time":"2026-03-01Tnoon"}"#,
      "start_time must be an ISO 8601 date or time, such as 2026-03-01T00:00:00"
    ),
  ])
  func `reports what is wrong with a question`(text: String, message: String) throws {
    #expect(try fault(text) { _ = try $0.healthDataQuery() } == message)
  }

  private static let range = "start_time is out of range: years 1900 to 2199 can be asked for"
  private static let noDay = "start_time names a day or a time of day that does not exist"

  @Test(arguments: [
    ("1999", nil), ("2000", 2_000), (#""32768""#, 32_768), ("8388608", 8_388_608),
    ("5000.0", 5_000), ("5e3", 5_000), (#""5e3""#, 5_000), (#""5000 ""#, 5_000),
    ("8388609", nil), ("2000.5", nil), ("true", nil), (#""many""#, nil), (#""5000,""#, nil),
  ])
  func `the length of an answer is limited`(text: String, expected: Int?) throws {
    let arguments = try arguments(
      #"{"value_type":"STEPS","start_time":"2026-03-01","end_time":"2026-03-02","#
        + #""max_bytes":\#(text)}"#)
    guard expected == nil else {
      #expect(try arguments.healthDataQuery().maxBytes == expected)
      return
    }
    let fault = #expect(throws: MCPArguments.Fault.self) { try arguments.healthDataQuery() }
    #expect(fault?.message == "max_bytes must be a whole number from 2000 to 8388608")
  }

  @Test func `unknown arguments are refused in JSON and ignored in a URL`() throws {
    let refused = try fault(#"{"access_token":"t","force":true}"#) { try $0.nothing() }
    #expect(refused == "force does not apply: there are no arguments here")
    try MCPArguments([("utm_source", "x")]).nothing()
    try arguments(#"{"access_token":"t"}"#).nothing()
  }

  @Test func `a pair is a word and a code, which may be a number`() throws {
    for code in [#""123456""#, "123456"] {
      let pair = try arguments(#"{"word":"river","code":\#(code)}"#).pair()
      #expect(pair == (word: "river", code: "123456"))
    }
    #expect(try fault(#"{"word":"river"}"#) { _ = try $0.pair() } == "code is missing")
  }

  @Test(arguments: [(511, true), (512, true), (513, false)])
  func `the length of an argument is limited`(count: Int, isTaken: Bool) throws {
    let word = String(repeating: "w", count: count)
    let pair = try? arguments(#"{"word":"\#(word)","code":"1"}"#).pair()
    #expect((pair != nil) == isTaken)
  }

  @Test(arguments: [(0, true), (1, true), (31, true), (32, true), (33, false)])
  func `the number of metrics in a summary is limited`(count: Int, isTaken: Bool) throws {
    let lines = [String](repeating: #"{"value_type":"HRV","statistic":"AVERAGE"}"#, count: count)
    let query = try? arguments(
      #"{"start_time":"2026-03-01","end_time":"2026-03-02","#
        + #""metrics":[\#(lines.joined(separator: ","))]}"#
    ).summaryQuery()
    #expect((query != nil) == isTaken)
    #expect(query.map(\.metrics.count) == (isTaken ? count : nil))
  }

  @Test(arguments: [63, 64, 65, 500])
  func `an unknown value type is reported with at most 64 characters`(count: Int) throws {
    let name = String(repeating: "!", count: count)
    let query = try arguments(
      #"{"start_time":"2026-03-01","end_time":"2026-03-02","#
        + #""metrics":[{"value_type":"HRV"},{"value_type":"\#(name)"}]}"#
    ).summaryQuery()
    #expect(query.rejected.map(\.valueType) == [String(repeating: "!", count: min(count, 64))])
  }

  @Test func `of a summary that is too long, only one metric beyond the limit is kept`() throws {
    func lines(_ count: Int) throws -> MCPArguments {
      let all = [String](repeating: #"{"value_type":"HRV"}"#, count: count)
      return try arguments(#"{"metrics":[\#(all.joined(separator: ","))]}"#)
    }
    #expect(try lines(34) == lines(33))
  }

  @Test(arguments: [
    #"{"metrics":{}}"#, #"{"metrics":[5]}"#, #"{"metrics":"STEPS"}"#, #"{"metrics":[{}]}"#,
    #"{"metrics":[{"value_type":[]}]}"#,
  ])
  func `a summary with invalid metrics is refused`(text: String) throws {
    let whole = #"{"start_time":"2026-03-01","end_time":"2026-03-02","# + text.dropFirst()
    #expect(try fault(whole) { _ = try $0.summaryQuery() }?.isEmpty == false)
  }

  @Test(arguments: [
    #"{"method":"call_tool","params":{"name":"logout","arguments":{"access_token":"t"}}}"#,
    #"{"name":"logout","arguments":{"access_token":"t"}}"#,
    #"{"method":"tools/call","params":{"clientVersion":"1","name":"logout","#
      + #""arguments":{"access_token":"t"}}}"#,
  ])
  func `a plain call is read in both of its forms`(text: String) throws {
    #expect(
      try PlainToolCall.read([UInt8](text: text))
        == .tool(name: "logout", try arguments(#"{"access_token":"t"}"#)))
    #expect(try arguments(#"{"access_token":"t"}"#).accessToken == "t")
  }

  @Test func `a proxy may only send initialize`() throws {
    let text = #"{"method":"initialize","params":{"clientVersion":"1.2.3"}}"#
    #expect(try PlainToolCall.read([UInt8](text: text)) == .initialize)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"method":"x"}"#, #"{"name":"logout","arguments":7}"#,
    #"{"name":"logout"} x"#,
  ])
  func `any other body is refused`(text: String) {
    #expect(throws: MCPArguments.Fault.self) { try PlainToolCall.read([UInt8](text: text)) }
  }
}
