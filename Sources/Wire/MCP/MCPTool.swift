import HoldfastHealth

/// The tools for assistants, as in the original app.
package enum MCPTool: String, Sendable, Hashable, Codable, CaseIterable {
  case directLogin = "direct_login"
  case getHealthMetrics = "get_health_metrics"
  case getSummary = "get_summary"
  case logout

  /// A short title for a list.
  package var title: String {
    switch self {
    case .directLogin: "Pair with a phone"
    case .getHealthMetrics: "Get health data of one kind"
    case .getSummary: "Get a summary of several kinds"
    case .logout: "End the pairing"
    }
  }

  /// A description for the assistant of what the tool does and when to use it.
  package var summary: String {
    switch self {
    case .directLogin:
      "Pairs with the user's phone. Ask the user for the two words and the six-digit code that the "
        + "app shows, and call this once before any other tool."
    case .getHealthMetrics: Self.metricsSummary
    case .getSummary:
      "Reads several kinds of health data for a span of time at once, by the rules of "
        + "get_health_metrics. Without metrics it covers steps, calories, distance, workouts and "
        + "sleep; without group_by it chooses days, weeks or months by the length of the span. A "
        + "metric that cannot be answered fails by itself: its success is false."
    case .logout: "Ends the pairing with the phone. Its access token is invalid afterwards."
    }
  }

  /// The description of `getHealthMetrics`. It explains the numbers, the choice of a statistic,
  /// merged values and sleep.
  private static let metricsSummary =
    "Reads one kind of health data for a span of time. For totals and averages always give "
    + "group_by: each point is then one number for an hour, day, week (from Monday), month, or "
    + "with TOTAL for the whole span. Never add or average points yourself: ask with a larger "
    + "group_by. Leave out statistic to get what fits: the sum of what adds up (STEPS, "
    + "CALORIES, DISTANCE, EXERCISE_TIME, MINDFULNESS, WORKOUT, water, nutrition), the average "
    + "of what does not (HEART_RATE, over time, HRV, BLOOD_PRESSURE, BLOOD_OXYGEN, GLUCOSE, "
    + "weight, temperature, speed), nights for SLEEP. SUM of what does not add up is refused. "
    + "AVERAGE, MIN and MAX of what adds up compare days that have data, and a point says so: "
    + "average_per_day. COUNT counts samples, LATEST is the last value with its own time. "
    + "Several devices often measure the same: of what adds up and of sleep the point with merged "
    + "true counts each moment once, by the watch before the phone; of other values the point with "
    + "source_id all is that of all devices. Use it, and take those of each source_id only to "
    + "explain it. WORKOUT has a point for each workout_type. null means not recorded. SLEEP "
    + "is minutes asleep; in bed, awake, light, deep and REM are listed in sleep. Its "
    + "AVERAGE, MIN and MAX are of nights without naps, reported "
    + "for the day on which the night ends; SUM includes naps. For the night to Monday ask from "
    + "Monday 00:00 to Tuesday 00:00. A point with partial true covers only a part of its span. "
    + "No point means no data, not zero: last_samples says when each type was measured last, "
    + "last_import when data came last, time_zone the zone of the days. Without group_by it lists "
    + "single samples: with truncated true, continue from next_start_time."

  var input: MCPSchema {
    let start = MCPSchema.text("ISO 8601; without a zone it is the phone's local time")
    let end = MCPSchema.text(
      "As start_time, not included; a date alone is its first moment: ask for one day by the next"
    )
    let token = MCPSchema.text(
      "What direct_login gave; needed only where no session or header carries it")
    let groupBy = "One point for each; TOTAL is one point for the whole span"
    let statistic = "Only with group_by; left out, it is the one that fits"
    let bounds = HealthDataQuery.byteBounds
    let maxBytes = MCPSchema.countBetween(
      bounds.lowerBound, bounds.upperBound,
      "The longest answer in bytes; if left out, \(AnswerLimits.rawBytes) for single samples and "
        + "\(AnswerLimits.groupedBytes) for all others")
    switch self {
    case .directLogin:
      return .object([
        .required("word", .text("The two words that the app shows")),
        .required("code", .text("The six digits that the app shows")),
      ])
    case .getHealthMetrics:
      return .object([
        .required("value_type", .oneOf(Self.valueTypes, "The kind of data")),
        .required("start_time", start), .required("end_time", end),
        .optional("group_by", .oneOf(Self.groupings, groupBy)),
        .optional("statistic", .oneOf(Self.statistics, statistic)),
        .optional("max_bytes", maxBytes), .optional("access_token", token),
      ])
    case .getSummary:
      let metric = MCPSchema.object([
        .required("value_type", .oneOf(Self.valueTypes, "The kind of data")),
        .optional("group_by", .oneOf(Self.groupings, groupBy)),
        .optional("statistic", .oneOf(Self.statistics, statistic)),
      ])
      return .object([
        .required("start_time", start), .required("end_time", end),
        .optional("metrics", .list(of: metric)), .optional("max_bytes", maxBytes),
        .optional("access_token", token),
      ])
    case .logout: return .object([.optional("access_token", token)])
    }
  }

  /// The schema of `structuredContent`. It includes refusals, for which `success` is false.
  var output: MCPSchema {
    let refusal: [MCPSchema.Member] = [
      .required("success", .truth), .optional("error", .text("Why not, in a word")),
      .optional("message", .text("For people")),
    ]
    switch self {
    case .directLogin:
      return .object(
        refusal + [
          .optional("access_token", .text("A secret that stands for this pairing")),
          .optional("token_type", .text("Bearer")),
          .optional("expires_in", .count), .optional("user_id", .text("")),
        ])
    case .getHealthMetrics:
      return .object(
        refusal + [.optional("error_message", .text("What the phone says is wrong"))]
          + Self.metrics(named: "healthData"), isOpen: true)
    case .getSummary:
      let result = MCPSchema.object(
        [
          .required("value_type", .text("")), .required("success", .truth),
          .optional("data", .object(Self.metrics(named: "health_data"), isOpen: true)),
          .optional("error", .text("")), .optional("message", .text("")),
          .optional("error_message", .orNull(.text(""))),
        ], isOpen: true)
      return .object(
        refusal + [
          .optional("error_message", .orNull(.text("What the phone says is wrong"))),
          .optional("start_time", .text("")), .optional("end_time", .text("")),
          .optional("results", .list(of: result)),
        ] + Self.freshness, isOpen: true)
    case .logout: return .object(refusal)
    }
  }

  private static var freshness: [MCPSchema.Member] {
    [
      .optional("time_zone", .text("The time zone of the days")),
      .optional("answered_at", .text("The phone's clock")),
      .optional("last_import", .orNull(.text("When health data came to the phone last"))),
      .optional("clock_difference_seconds", .number),
      .optional("clock_warning", .text("The phone's clock is wrong")),
    ]
  }
  private static let valueTypes = HealthValueType.allCases.map(\.rawValue)
  private static let groupings = HealthGrouping.allCases.map(\.rawValue)
  private static let statistics = HealthStatistic.allCases.map(\.rawValue)

  private static func metrics(named points: String) -> [MCPSchema.Member] {
    let point = MCPSchema.object(
      [
        .required("type", .text("")),
        .required("value", .any("A number, or an object for workouts and nutrition")),
        .optional("unit", .orNull(.text(""))), .required("date_from", .text("")),
        .required("date_to", .text("")),
        .optional(
          "source_id", .orNull(.text("The device or app; merged or all for all of them"))),
        .optional("statistic", .text("What the number is, such as sum or average_per_day")),
        .optional("merged", .truth), .optional("partial", .truth),
        .optional("sleep", .object([], isOpen: true)),
        .optional("workout_type", .text("Of a number of workouts: their kind")),
      ], isOpen: true)
    return [
      .optional(points, .list(of: point)), .optional("count", .count),
      .optional("value_type", .text("")), .optional("start_time", .text("")),
      .optional("end_time", .text("")), .optional("group_by", .orNull(.text(""))),
      .optional("is_aggregated", .truth), .optional("statistic_type", .orNull(.text(""))),
      .optional("truncated", .truth),
      .optional("next_start_time", .orNull(.text("Where to continue when truncated"))),
      .optional("notes", .list(of: .text(""))),
    ] + freshness
      + [
        .optional(
          "last_samples",
          .list(
            of: .object(
              [.required("type", .text("")), .optional("at", .orNull(.text("")))], isOpen: true)))
      ]
  }
}
