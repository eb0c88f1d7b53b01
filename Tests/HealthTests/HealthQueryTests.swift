import HoldfastHealth
import HoldfastJSON
import HoldfastTestKit
import Testing

/// Tests of the members of a question's payload, and of malformed payloads.
@Suite struct HealthQueryTests {
  private static let time = "\"start_time\":\"2026-01-01\",\"end_time\":\"2026-01-02\""
  private static let data = "{\"value_type\":\"\(HealthValueType.allCases[0].rawValue)\",\(time)}"
  private static let summary = "{\"metrics\":[],\(time)}"

  private func isMalformed(_ read: () throws(FieldFault) -> Void) -> Bool {
    do throws(FieldFault) {
      try read()
    } catch {
      if case .malformed = error { return true }
    }
    return false
  }

  @Test(arguments: ["x", "{}", ",", "\u{0}"])
  func `a payload with trailing data is malformed`(rest: String) throws {
    _ = try HealthDataQuery.read(Array(Self.data.utf8))
    let (data, summary) = (Array((Self.data + rest).utf8), Array((Self.summary + rest).utf8))
    #expect(isMalformed { () throws(FieldFault) in _ = try HealthDataQuery.read(data) })
    #expect(isMalformed { () throws(FieldFault) in _ = try SummaryQuery.read(summary) })
  }

  @Test func `a payload omits the options that are not set`() {
    let span = #""start_time":"2026-01-03T15:30:00","end_time":"2026-01-03T15:30:00Z""#
    let query = HealthDataQuery(
      valueType: .steps, start: ReplySample.local, end: ReplySample.utc)
    #expect(query.payload.text == #"{"value_type":"STEPS",\#(span)}"#)
    let summary = SummaryQuery(start: ReplySample.local, end: ReplySample.utc)
    #expect(summary.payload.text == "{\(span)}")
  }

  @Test(arguments: ["5", "\"STEPS\"", "[]", "null"])
  func `a metric that is not an object is a type error`(metric: String) {
    let text = "{\"metrics\":[\(metric)],\(Self.time)}"
    #expect(throws: FieldFault.wrongType(field: "metrics")) {
      try SummaryQuery.read(Array(text.utf8))
    }
  }

  @Test func `a truncated payload is malformed`() {
    let (data, summary) = (Array(Self.data.utf8.dropLast()), Array(Self.summary.utf8.dropLast()))
    #expect(isMalformed { () throws(FieldFault) in _ = try HealthDataQuery.read(data) })
    #expect(isMalformed { () throws(FieldFault) in _ = try SummaryQuery.read(summary) })
  }
}
