import HoldfastJSON
import Testing

@testable import HoldfastHealth

/// Tests of the required members of questions and replies, and of their upper bounds.
@Suite struct HealthBoundsTests {
  private static let span = #""start_time":"2026-01-03","end_time":"2026-01-04""#
  private static let query = ask(.steps, "2026-01-03", "2026-01-04", options: HealthOptions())

  /// Returns a reply with the given members in addition to those of its question.
  private static func reply(_ members: String) -> [UInt8] {
    Array(#"{"success":true,"value_type":"STEPS",\#(span),\#(members)}"#.utf8)
  }

  /// Returns a summary question with unknown metrics and with metrics that were already rejected.
  private static func summary(unknown: Int, rejected: Int) -> [UInt8] {
    func list(_ element: String, _ count: Int) -> String {
      Array(repeating: element, count: count).joined(separator: ",")
    }
    let metrics = list(#"{"value_type":"no word!"}"#, unknown)
    let lines = list(#"{"place":1}"#, rejected)
    return Array(#"{"metrics":[\#(metrics)],"rejected":[\#(lines)],\#(span)}"#.utf8)
  }

  @Test(arguments: [(0, 64), (1, 63), (64, 0)])
  func `a summary may have up to 64 rejected metrics`(unknown: Int, rejected: Int) throws {
    let query = try SummaryQuery.read(Self.summary(unknown: unknown, rejected: rejected))
    #expect(query.rejected.count == 64)
  }

  @Test(arguments: [(1, 64), (64, 1)])
  func `a summary with more than 64 rejected metrics is refused`(unknown: Int, rejected: Int) {
    #expect(throws: FieldFault.outOfBounds(field: "rejected")) {
      try SummaryQuery.read(Self.summary(unknown: unknown, rejected: rejected))
    }
  }

  @Test(arguments: ["5", "\"STEPS\"", "[]", "null"])
  func `a rejected metric that is not an object is a type error`(metric: String) {
    let text = "{\"rejected\":[\(metric)],\(Self.span)}"
    #expect(throws: FieldFault.wrongType(field: "rejected")) {
      try SummaryQuery.read(Array(text.utf8))
    }
  }

  @Test func `a time has at most 64 bytes`() throws {
    func payload(_ length: Int) -> [UInt8] {
      let day = "2026-01-03T00:00:00."
      let start = day + String(repeating: "0", count: length - day.utf8.count)
      let times = #""start_time":"\#(start)","end_time":"2026-01-04""#
      return Array(#"{"value_type":"STEPS",\#(times)}"#.utf8)
    }
    #expect(try HealthDataQuery.read(payload(64)) == Self.query)
    #expect(throws: FieldFault.outOfBounds(field: "start_time")) {
      try HealthDataQuery.read(payload(65))
    }
  }

  private static let fresh = #""health_data":[],"answered_at":"2026-01-05T12:00:00Z""#
  private static let dates = #""date_from":"2026-01-03","date_to":"2026-01-04""#
  /// Reply members, each with a placeholder `@` for a name.
  private static let named: [(String, String)] = [
    ("time_zone", #"\#(fresh),"time_zone":"@""#),
    ("type", #"\#(fresh),"time_zone":"UTC","last_samples":[{"type":"@"}]"#),
    ("type", #""health_data":[{"type":"@","value":1,\#(dates)}]"#),
  ]

  @Test(arguments: named)
  func `a type and a zone of a reply have at most 256 bytes`(
    field: String, members: String
  ) throws {
    func reply(_ length: Int) -> [UInt8] {
      let name = String(repeating: "x", count: length)
      return Self.reply(members.split(separator: "@").joined(separator: name))
    }
    #expect(try HealthReply.read(reply(256)).query == Self.query)
    #expect(throws: FieldFault.outOfBounds(field: field)) { try HealthReply.read(reply(257)) }
  }

  @Test(arguments: ["x", "{}", ","])
  func `a reply with trailing data is malformed`(rest: String) throws {
    let reply = Self.reply(#""health_data":[]"#)
    #expect(try HealthReply.read(reply) == HealthReply(query: Self.query, points: []))
    #expect(throws: FieldFault.self) { try HealthReply.read(reply + Array(rest.utf8)) }
    let summary = Array("{\"results\":[],\(Self.span)}".utf8)
    #expect(try SummaryReply.read(summary).results.isEmpty)
    #expect(throws: FieldFault.self) { try SummaryReply.read(summary + Array(rest.utf8)) }
  }

  @Test func `a reply without data and a summary without results report the missing member`() {
    #expect(throws: FieldFault.missing(field: "health_data")) {
      try HealthReply.read(Self.reply(#""count":0"#))
    }
    #expect(throws: FieldFault.missing(field: "results")) {
      try SummaryReply.read(Array("{\"success\":true,\(Self.span)}".utf8))
    }
  }

  @Test func `a reply may report that zero samples were skipped`() throws {
    let reply = Self.reply(#""health_data":[],"skipped":0"#)
    #expect(try HealthReply.read(reply) == HealthReply(query: Self.query, points: []))
  }

  @Test(arguments: ["{}", #"{"nights":0,"naps":0}"#])
  func `sleep times may have zero nights and naps, given or omitted`(sleep: String) throws {
    let point = #"{"type":"SLEEP_SESSION","value":1,\#(Self.dates),"sleep":\#(sleep)}"#
    let reply = try HealthReply.read(Self.reply(#""health_data":[\#(point)]"#))
    #expect(reply.points.map(\.sleep) == [SleepTimes(nights: 0, naps: 0)])
  }

  @Test func `totals are empty by default`() {
    #expect(SleepTimes() == SleepTimes(nights: 0, naps: 0))
    #expect(
      WorkoutTotals(type: "RUNNING")
        == WorkoutTotals(type: "RUNNING", distance: nil, energy: nil, steps: nil, sessions: 0))
    #expect(
      NutritionTotals() == NutritionTotals(calories: nil, protein: nil, carbs: nil, fat: nil))
  }

  @Test func `a reply has at most 16 notes`() throws {
    func reply(_ count: Int) -> [UInt8] {
      let notes = Array(repeating: "\"x\"", count: count).joined(separator: ",")
      return Self.reply(#""health_data":[],"notes":[\#(notes)]"#)
    }
    #expect(try HealthReply.read(reply(16)).notes.count == 16)
    #expect(throws: FieldFault.outOfBounds(field: "notes")) { try HealthReply.read(reply(17)) }
  }
}
