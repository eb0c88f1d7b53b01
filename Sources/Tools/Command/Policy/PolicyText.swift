import HoldfastCommandKit
import HoldfastCore
import HoldfastJSON

/// The output of policies, as tables for people and as members of JSON objects.
enum PolicyText {
  /// The number of attempts that are listed for an endless schedule.
  private static let mostTries = 20

  static func numbers(of policy: LinkPolicy) -> Table {
    var table = Table("KEY", "VALUE", "MEANING")
    for (key, value) in policy.values where !key.hasPrefix("failure.") {
      let meaning = PolicyKey.all.first { $0.name == key }?.meaning ?? ""
      table.row(key, value, meaning)
    }
    return table
  }

  static func actions(of policy: LinkPolicy) -> Table {
    var table = Table("KEY", "VERDICT", "MEANING")
    for row in FailureClass.allCases {
      let action = policy.actions[row] ?? .retry
      table.row("failure.\(row.rawValue)", action.rawValue, meaning(of: action))
    }
    return table
  }

  /// Returns the lines of a schedule's table, or a sentence if the schedule has no attempts.
  static func lines(of schedule: Schedule, _ style: Style) -> [String] {
    let tries = tries(of: schedule)
    guard !tries.isEmpty else { return ["no attempts: standby immediately"] }
    var table = Table("ATTEMPT", "WAIT", "TOTAL WAIT")
    for (index, step) in tries.enumerated() {
      table.row(String(index + 1), text(of: step.wait), text(of: step.since))
    }
    let end = schedule.attempts == nil ? ["and so on without end"] : []
    return table.lines(style) + end
  }

  /// Writes the members `name` and `values`.
  static func values(of policy: LinkPolicy, to writer: inout JSONWriter) {
    writer.entry("name", policy.name)
    writer.object("values") { for (key, value) in policy.values { $0.entry(key, value) } }
  }

  /// Writes the member `schedule`. Its arrays `first` and `reconnect` list at most 20 attempts of
  /// an endless schedule.
  static func schedules(of policy: LinkPolicy, to writer: inout JSONWriter) {
    writer.object("schedule") { writer in
      for (name, schedule) in [
        ("first", policy.retry.first), ("reconnect", policy.retry.reconnect),
      ] {
        writer.array(name) { writer in
          for (index, step) in tries(of: schedule).enumerated() {
            writer.object { write(step, number: index + 1, to: &$0) }
          }
        }
      }
    }
  }

  private static func write(_ step: Step, number: Int, to writer: inout JSONWriter) {
    writer.entry("try", number)
    writer.entry("waitMin", text(of: step.wait.lowerBound))
    writer.entry("waitMax", text(of: step.wait.upperBound))
    writer.entry("sinceMin", text(of: step.since.lowerBound))
    writer.entry("sinceMax", text(of: step.since.upperBound))
  }

  /// The wait before an attempt, and the total of all waits so far. Both are ranges because of
  /// jitter.
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

  /// Returns a duration, rounded to milliseconds. From one second onward, it is written as a
  /// decimal such as `1.25s`.
  ///
  /// Rounding is needed because jitter leads to longer fractions.
  private static func text(of duration: Duration) -> String {
    guard duration >= .milliseconds(1) else { return duration.text }
    // The sum of long waits in nanoseconds would not fit into 64 bits.
    let (seconds, attoseconds) = duration.components
    let milliseconds = seconds * 1_000 + (attoseconds + 500_000_000_000_000) / 1_000_000_000_000_000
    guard milliseconds > 1_000, milliseconds % 1_000 != 0 else {
      return Duration.milliseconds(milliseconds).text
    }
    return "\(Double(milliseconds) / 1_000)s"
  }

  private static func meaning(of action: FailureAction) -> String {
    switch action {
    case .retry: "retry by the schedule"
    case .retryJittered: "retry by the schedule, spread over the server's window"
    case .refresh: "refresh the credentials once and retry immediately, then ask for a sign-in"
    case .standby: "standby; the next sign of life or probe retries"
    case .standbySlow: "standby; only the slow probe retries"
    case .stop: "stop, and report the reason"
    }
  }
}
