import HoldfastCore
import HoldfastHealth
import HoldfastJSON
import HoldfastTestKit
import Testing

@testable import HoldfastAssistants

/// Tests of the optional arguments of questions about health data.
@Suite struct MCPOptionsTests {
  private static let known =
    #"{"value_type":"STEPS","start_time":"2026-03-01","end_time":"2026-03-02","#

  private func query(_ members: String) throws -> HealthDataQuery {
    try #require(MCPArguments([UInt8](text: Self.known + members + "}"))).healthDataQuery()
  }

  private static func day(_ text: String) throws -> HealthTime { try #require(HealthTime(text)) }

  @Test func `every option is read, and names are read in any case`() throws {
    let options = try query(
      #""by_source":true,"format":"table","trend":true,"nearest":true,"workout_type":"Running","#
        + #""compare_with":{"start_time":"2026-02-01","end_time":"2026-03-01"}"#
    ).options
    #expect(
      options
        == HealthOptions(
          bySource: true, format: .table,
          compareWith: QuerySpan(
            start: try Self.day("2026-02-01"), end: try Self.day("2026-03-01")),
          trend: true, nearest: true, workoutType: "Running"))
  }

  @Test func `null, an empty text and false count as left out`() throws {
    let options = try query(
      #""by_source":null,"format":"","trend":false,"nearest":"false","workout_type":null,"#
        + #""compare_with":null"#
    ).options
    #expect(options == HealthOptions())
  }

  @Test func `options in a URL form the same question`() throws {
    let query = try MCPArguments([
      ("value_type", "STEPS"), ("start_time", "2026-03-01"), ("end_time", "2026-03-02"),
      ("by_source", "true"), ("trend", "1"), ("nearest", "0"), ("format", "TABLE"),
      ("compare_with", "2026-02-01/2026-03-01"),
    ]).healthDataQuery()
    #expect(
      query.options
        == HealthOptions(
          bySource: true, format: .table,
          compareWith: QuerySpan(
            start: try Self.day("2026-02-01"), end: try Self.day("2026-03-01")), trend: true))
  }

  private static let object =
    "compare_with must be an object with start_time and end_time, such as "
    + #"{"start_time":"2026-02-01","end_time":"2026-03-01"}"#

  @Test(arguments: [
    (#""by_source":1"#, "by_source must be true or false"),
    (#""trend":"maybe""#, "trend must be true or false"),
    (#""format":"csv""#, "format must be one of points, table"),
    (#""workout_type":5"#, "workout_type must be a string"),
    (#""compare_with":[]"#, object), (#""compare_with":"2026-02-01""#, object),
    (#""compare_with":5"#, object), (#""compare_with":"a/b/c""#, object),
    (#""compare_with":{}"#, "compare_with: start_time is missing"),
    (
      #""compare_with":{"start_time":"2026-02-01","end_time":"soon"}"#,
      "compare_with: end_time must be an ISO 8601 date or time, such as 2026-03-01T00:00:00"
    ),
    (
      #""compare_with":{"start_time":"2026-02-01","days":7}"#,
      "compare_with: days does not apply; the arguments here are end_time, start_time"
    ),
    (
      #""compare_with":"2026-02-30/2026-03-01""#,
      "compare_with: start_time names a day or a time of day that does not exist"
    ),
  ])
  func `reports what is wrong with an option`(members: String, message: String) {
    let fault = #expect(throws: MCPArguments.Fault.self) { try query(members) }
    #expect(fault?.message == message)
  }

  @Test(arguments: [(1, true), (63, true), (64, true), (65, false)])
  func `the length of a kind of workout is limited`(count: Int, isTaken: Bool) {
    let kind = String(repeating: "R", count: count)
    #expect(((try? query(#""workout_type":"\#(kind)""#)) != nil) == isTaken)
  }

  @Test func `a summary has the options of all metrics, and refuses those of one`() throws {
    func summary(_ members: String) throws -> SummaryQuery {
      let text = #"{"start_time":"2026-03-01","end_time":"2026-03-02",\#(members)}"#
      return try #require(MCPArguments([UInt8](text: text))).summaryQuery()
    }
    let options = try summary(#""format":"table","by_source":true,"trend":true"#).options
    #expect(options == HealthOptions(bySource: true, format: .table, trend: true))
    for member in [#""nearest":true"#, #""workout_type":"RUNNING""#] {
      let fault = #expect(throws: MCPArguments.Fault.self) { try summary(member) }
      #expect(fault?.message.contains("does not apply") == true)
    }
  }

  @Test func `schemas name every option, and say when it applies`() throws {
    func properties(_ tool: MCPTool) throws -> JSONFields {
      var writer = JSONWriter()
      tool.input.write(to: &writer)
      let schema = JSONFields(writer.bytes, keeping: ["properties"])
      return JSONFields(
        try schema.object("properties"), keeping: HealthOptions.Name.allCases.map(\.rawValue))
    }
    let metrics = try properties(.getHealthMetrics)
    for name in HealthOptions.Name.allCases {
      let schema = JSONFields(
        try metrics.object(name.rawValue), keeping: ["description", "type"])
      #expect(try schema.optionalString("description")?.isEmpty == false, "\(name)")
    }
    let summary = try properties(.getSummary)
    #expect(summary.has("compare_with") && summary.has("format"))
    #expect(!summary.has("nearest") && !summary.has("workout_type"))
  }
}
