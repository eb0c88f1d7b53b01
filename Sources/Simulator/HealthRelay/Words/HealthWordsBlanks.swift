import LinkHealth
import LinkJSON

/// Answers without content, whose parts are set one by one: only what is read has all parts.
struct HealthWordsBlanks {
  let reply: HealthReply
  let point: HealthPoint
  let workout: WorkoutTotals
  let nutrition: NutritionTotals
  let sleep: SleepTimes
  let freshness: HealthFreshness
  let sample: HealthFreshness.LastSample
  let summary: SummaryReply
  let result: SummaryResult

  private static let span = #""start_time":"2026-01-03","end_time":"2026-01-04""#
  private static let fresh =
    #""time_zone":"z","answered_at":"2026-01-03","last_samples":[{"type":"t"}]"#

  /// Returns the text of a point with this value.
  private static func point(_ value: String) -> String {
    #"{"type":"t","value":\#(value),"date_from":"2026-01-03","date_to":"2026-01-03","sleep":{}}"#
  }

  private static var replyText: String {
    let points = ["1", #"{"workout_type":""}"#, "{}"].map { point($0) }
    return #"{"success":true,"value_type":"STEPS",\#(span),\#(fresh),"health_data":["#
      + points.joined(separator: ",") + "]}"
  }

  private static var summaryText: String {
    #"{"success":true,\#(span),\#(fresh),"results":["#
      + #"{"value_type":"STEPS","success":true,"data":{}}]}"#
  }

  init?() {
    guard let reply = try? HealthReply.read(Array(Self.replyText.utf8)),
      let summary = try? SummaryReply.read(Array(Self.summaryText.utf8)),
      let freshness = reply.freshness, let sample = freshness.lastSamples.first,
      let result = summary.results.first, reply.points.count == 3,
      case .workout(let workout) = reply.points[1].value,
      case .nutrition(let nutrition) = reply.points[2].value, let sleep = reply.points[0].sleep
    else { return nil }
    (self.reply, self.summary, self.freshness) = (reply, summary, freshness)
    (self.sample, self.result, self.point) = (sample, result, reply.points[0])
    (self.workout, self.nutrition, self.sleep) = (workout, nutrition, sleep)
  }
}
