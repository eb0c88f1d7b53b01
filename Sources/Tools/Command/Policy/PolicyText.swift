import CommandKit
import LinkCore
import LinkWire

/// Policies as tables for people and as members of JSON objects.
enum PolicyText {
  /// Tries that are listed of a schedule without end.
  private static let mostTries = 20

  static func numbers(of policy: LinkPolicy) -> Table {
    var table = Table("KEY", "VALUE", "MEANING")
    for (key, value) in policy.values where !key.hasPrefix("failure.") {
      let meaning = PolicyKey.all.first { $0.name == key }?.meaning ?? ""
      table.row(key, value, meaning)
    }
    return table
  }

  static func verdicts(of policy: LinkPolicy) -> Table {
    var table = Table("KEY", "VERDICT", "MEANING")
    for row in FailureClass.allCases {
      let verdict = policy.verdicts[row] ?? .retry
      table.row("failure.\(row.rawValue)", verdict.rawValue, meaning(of: verdict))
    }
    return table
  }

  /// The table of a schedule, or the sentence that there is none.
  static func lines(of schedule: Schedule, _ style: Style) -> [String] {
    let tries = tries(of: schedule)
    guard !tries.isEmpty else { return ["no tries: standby at once"] }
    var table = Table("TRY", "WAIT", "ALL WAITS")
    for (index, step) in tries.enumerated() {
      table.row(String(index + 1), text(of: step.wait), text(of: step.since))
    }
    let end = schedule.attempts == nil ? ["and so on, without end"] : []
    return table.lines(style) + end
  }

  /// Members `name` and `values`.
  static func values(of policy: LinkPolicy, to writer: inout JSONWriter) {
    writer.key("name")
    writer.string(policy.name)
    writer.key("values")
    writer.beginObject()
    for (key, value) in policy.values {
      writer.key(key)
      writer.string(value)
    }
    writer.endObject()
  }

  /// Member `schedule`, with the arrays `first` and `reconnect`; at most 20 tries each.
  static func schedules(of policy: LinkPolicy, to writer: inout JSONWriter) {
    writer.key("schedule")
    writer.beginObject()
    for (name, schedule) in [
      ("first", policy.retry.first), ("reconnect", policy.retry.reconnect),
    ] {
      writer.key(name)
      writer.beginArray()
      for (index, step) in tries(of: schedule).enumerated() {
        write(step, number: index + 1, to: &writer)
      }
      writer.endArray()
    }
    writer.endObject()
  }

  private static func write(_ step: Step, number: Int, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.key("try")
    writer.int(number)
    for (name, duration) in [
      ("waitMin", step.wait.lowerBound), ("waitMax", step.wait.upperBound),
      ("sinceMin", step.since.lowerBound), ("sinceMax", step.since.upperBound),
    ] {
      writer.key(name)
      writer.string(text(of: duration))
    }
    writer.endObject()
  }

  /// The waits before one try and the sum of all waits up to it, as chance may have them.
  private struct Step {
    var wait: ClosedRange<Duration>
    var since: ClosedRange<Duration>
  }

  private static func tries(of schedule: Schedule) -> [Step] {
    var steps: [Step] = []
    var since = Duration.zero...Duration.zero
    while steps.count < schedule.attempts ?? mostTries,
      let wait = schedule.bounds(before: steps.count)
    {
      since = (since.lowerBound + wait.lowerBound)...(since.upperBound + wait.upperBound)
      steps.append(Step(wait: wait, since: since))
    }
    return steps
  }

  private static func text(of range: ClosedRange<Duration>) -> String {
    let (least, most) = (text(of: range.lowerBound), text(of: range.upperBound))
    return least == most ? least : "\(least) to \(most)"
  }

  /// Jitter makes fractions that nobody reads: whole milliseconds, and from a second on `1.25s`.
  private static func text(of duration: Duration) -> String {
    guard duration >= .milliseconds(1) else { return duration.text }
    let milliseconds = (duration.nanoseconds + 500_000) / 1_000_000
    guard milliseconds > 1_000, milliseconds % 1_000 != 0 else {
      return Duration.milliseconds(milliseconds).text
    }
    return "\(Double(milliseconds) / 1_000)s"
  }

  private static func meaning(of verdict: Verdict) -> String {
    switch verdict {
    case .retry: "try again by the schedule"
    case .retrySpread: "try again by the schedule, spread over the server's window"
    case .refresh: "refresh the credentials once, then try at once; then sign in"
    case .standby: "standby; the next sign of life or probe tries again"
    case .standbySlow: "standby; only the slow probe tries again"
    case .stop: "end it; the user sees why"
    }
  }
}
