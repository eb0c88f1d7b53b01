import HoldfastCore
import HoldfastJSON
import HoldfastTestKit
import Testing

@testable import HoldfastHealth

@Suite struct HealthReplyTests {
  private static let summary = SummaryReply(
    start: ReplySample.local, end: ReplySample.utc,
    results: [
      SummaryResult(valueType: "HEART_RATE", data: ReplySample.reply.object),
      SummaryResult(valueType: "SLEEP", data: .failure("asleep")),
    ])

  @Test func `a reply is written with the members of the contract`() {
    var reply = ReplySample.reply
    reply.points.removeSubrange(2...)
    let span = #""start_time":"2026-01-03T15:30:00","end_time":"2026-01-03T15:30:00Z""#
    let dates = #""date_from":"2026-01-03T15:30:00","date_to":"#
    #expect(
      reply.object.bytes.text == #"{"success":true,"count":2,"health_data":["#
        + #"{"type":"HEART_RATE","value":61.5,"unit":"beatsPerMinute","#
        + #"\#(dates)"2026-01-03T15:30:00Z","source_id":"Ada's Watch"},"#
        + #"{"type":"WORKOUT","value":{"workout_type":"RUNNING","total_distance":5000,"#
        + #""total_energy_burned":300,"total_steps":6200,"session_count":1,"#
        + #""distance_unit":"meter","energy_unit":"kilocalorie","duration_minutes":31.5,"#
        + #""average_heart_rate":142},"unit":"noUnit","#
        + #"\#(dates)"2026-01-03T12:00:00-03:30","source_id":null}],"value_type":"HEART_RATE","#
        + #"\#(span),"group_by":"week","is_aggregated":true,"statistic_type":"average","#
        + #""truncated":true,"next_start_time":"2026-01-03T15:30:00","skipped":2,"#
        + #""notes":["Left out: a type."],"time_zone":"Europe/Berlin","#
        + #""answered_at":"2026-01-03T12:00:00-03:30","last_import":"2026-01-03T15:30:00Z","#
        + #""last_samples":[{"type":"HEART_RATE","at":"2026-01-03T15:30:00"},"#
        + #"{"type":"RESTING_HEART_RATE","at":null}]}"#)
    let raw = HealthReply(
      query: HealthDataQuery(valueType: .steps, start: ReplySample.local, end: ReplySample.utc),
      points: [])
    #expect(
      raw.object.bytes.text == #"{"success":true,"count":0,"health_data":[],"value_type":"STEPS","#
        + #"\#(span),"group_by":null,"is_aggregated":false,"statistic_type":null}"#)
  }

  @Test func `a written reply and summary are read back unchanged`() throws {
    #expect(try HealthReply.read(ReplySample.reply.object.bytes) == ReplySample.reply)
    #expect(try SummaryReply.read(Self.summary.object.bytes) == Self.summary)
    #expect(!Self.summary.object.succeeded)
    #expect(Self.summary.object.reason == "no answer for SLEEP")
  }

  @Test(arguments: ["1", "\"x\"", "[]", "null"])
  func `a result that is not an object is a type error`(result: String) {
    let text = """
      {"success":true,"start_time":"2026-01-05","end_time":"2026-01-06","results":[\(result)]}
      """
    #expect(throws: FieldFault.wrongType(field: "results")) {
      try SummaryReply.read(Array(text.utf8))
    }
  }

  @Test(arguments: ["1", "\"x\"", "[]", "null"])
  func `a last sample that is not an object is a type error`(sample: String) {
    let text =
      #"{"success":true,"value_type":"STEPS","start_time":"2026-01-03","#
      + #""end_time":"2026-01-04","health_data":[],"time_zone":"UTC","#
      + #""answered_at":"2026-01-05T00:00:00Z","last_samples":[\#(sample)]}"#
    #expect(throws: FieldFault.wrongType(field: "last_samples")) {
      try HealthReply.read(Array(text.utf8))
    }
  }

  @Test(arguments: [
    (524_288, FieldFault.wrongType(field: "health_data")),
    (524_289, FieldFault.outOfBounds(field: "health_data")),
  ])
  func `a reply has at most one point for each 16 bytes of the longest answer`(
    count: Int, fault: FieldFault
  ) {
    let zeros = Array(repeating: "0", count: count).joined(separator: ",")
    let text =
      #"{"success":true,"value_type":"STEPS","start_time":"2026-01-03","#
      + #""end_time":"2026-01-04","health_data":[\#(zeros)]}"#
    #expect(throws: fault) { try HealthReply.read(Array(text.utf8)) }
  }

  @Test func `values that were not recorded are null, and whole numbers have no fraction`() {
    func text(_ value: HealthPointValue) -> String {
      var reply = ReplySample.reply
      reply.points = [
        HealthPoint(
          type: "T", value: value, unit: "", start: ReplySample.local, end: ReplySample.local)
      ]
      let text = reply.object.bytes.text
      return String(text.split(separator: #""value":"#)[1].split(separator: #","unit""#)[0])
    }
    #expect(
      text(.nutrition(NutritionTotals(carbs: 12.5)))
        == #"{"calories":null,"protein":null,"carbs":12.5,"fat":null,"#
        + #""energy_unit":"kilocalorie","mass_unit":"gram"}"#)
    #expect(
      text(.workout(WorkoutTotals(type: "YOGA", sessions: 1)))
        == #"{"workout_type":"YOGA","total_distance":null,"total_energy_burned":null,"#
        + #""total_steps":null,"session_count":1}"#)
    #expect(text(.number(6_000)) == "6000")
    #expect(text(.number(-0.5)) == "-0.5")
    // Every integer up to 2^53 - 1 has its own `Double`.
    #expect(text(.number(0x1p53 - 1)) == "9007199254740991")
    #expect(text(.number(1e300)) == "1e+300")
  }

  @Test func `an error object is not read as a reply`() {
    #expect(throws: FieldFault.missing(field: "success")) {
      try HealthReply.read(HealthObject.failure("x").bytes)
    }
  }

  @Test func `a reply with the original's extra members is read`() throws {
    let text =
      #"{"success":true,"count":1,"value_type":"STEPS","start_time":"2026-01-03","end_time":"#
      + #""2026-01-04","group_by":"day","is_aggregated":true,"statistic_type":"sum","health_data":"#
      + #"[{"runtimeType":"aggregated","type":"STEPS","value":12,"unit":"count","date_from":"#
      + #""2026-01-03T00:00:00.000","date_to":"2026-01-04T00:00:00.000"}]}"#
    let reply = try HealthReply.read(Array(text: text))
    #expect(reply.query.groupBy == .day)
    #expect(reply.query.statistic == .sum)
    #expect(reply.points.map(\.value) == [.number(12)])
    #expect(reply.points.map(\.source) == [nil])
  }

  @Test(arguments: [
    ("-1", 0), ("0", 0), ("0.9", 0), ("3.5", 3), ("9007199254740992", 9_007_199_254_740_992),
    ("9007199254740994", 9_007_199_254_740_992), ("1e300", 9_007_199_254_740_992),
  ])
  func `a session count is a whole number clamped to the range from 0 to 2 to the power of 53`(
    count: String, sessions: Int
  ) throws {
    let text =
      #"{"success":true,"value_type":"WORKOUT","start_time":"2026-01-03","#
      + #""end_time":"2026-01-04","health_data":[{"type":"WORKOUT","#
      + #""value":{"workout_type":"RUNNING","session_count":\#(count)},"#
      + #""date_from":"2026-01-03","date_to":"2026-01-04"}]}"#
    let totals = WorkoutTotals(type: "RUNNING", sessions: sessions)
    let reply = try HealthReply.read(Array(text.utf8))
    #expect(reply.points.map(\.value) == [.workout(totals)])
  }
}
