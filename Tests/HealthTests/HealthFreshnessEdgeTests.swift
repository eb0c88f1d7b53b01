import Testing

@testable import HoldfastHealth

/// Tests of replies that contain only some of the members that describe their freshness.
@Suite struct HealthFreshnessEdgeTests {
  @Test(arguments: [
    #""time_zone":"Europe/Berlin""#, #""answered_at":"2026-01-05T12:00:00Z""#,
    #""last_import":"2026-01-05T12:00:00Z","last_samples":[]"#,
  ])
  func `an answer without a zone or a time has no freshness`(
    members: String
  ) throws {
    let text =
      #"{"success":true,"value_type":"STEPS","start_time":"2026-01-03","#
      + #""end_time":"2026-01-04","health_data":[],\#(members)}"#
    let query = ask(.steps, "2026-01-03", "2026-01-04", options: HealthOptions())
    #expect(try HealthReply.read(Array(text.utf8)) == HealthReply(query: query, points: []))
  }
}
