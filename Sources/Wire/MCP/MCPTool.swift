import LinkHealth

/// The tools that an assistant finds here (contract 1.7).
public enum MCPTool: String, Sendable, Hashable, Codable, CaseIterable {
  case directLogin = "direct_login"
  case getHealthMetrics = "get_health_metrics"
  case getSummary = "get_summary"
  case logout

  /// A few words for a list.
  public var title: String {
    switch self {
    case .directLogin: "Pair with a phone"
    case .getHealthMetrics: "Get health data of one kind"
    case .getSummary: "Get a summary of several kinds"
    case .logout: "End the pairing"
    }
  }

  /// What it does and when to use it, for the assistant.
  public var summary: String {
    switch self {
    case .directLogin:
      "Pairs with the user's phone. Ask the user for the word and the six-digit code that the app "
        + "shows, and call this once before any other tool."
    case .getHealthMetrics:
      "Reads one kind of health data for a span of time. Give group_by together with statistic to "
        + "get one number for each hour, day, week or month. Several sources may report the same "
        + "span: never add values of different source_id, use the one with the most points."
    case .getSummary:
      "Reads several kinds of health data for a span of time at once. Without metrics it covers "
        + "steps, calories, distance, workouts and sleep."
    case .logout: "Ends the pairing with the phone. Its access token is worth nothing afterwards."
    }
  }

  var input: MCPSchema {
    let start = MCPSchema.text("ISO 8601; without a zone it is the phone's local time")
    let end = MCPSchema.text(
      "As start_time, not included; a date alone is its first moment: ask for one day by the next"
    )
    let token = MCPSchema.text(
      "What direct_login gave; needed only where no session or header carries it")
    switch self {
    case .directLogin:
      return .object([
        .required("word", .text("The word that the app shows")),
        .required("code", .text("The six digits that the app shows")),
      ])
    case .getHealthMetrics:
      return .object([
        .required("value_type", .word(Self.valueTypes, "The kind of data")),
        .required("start_time", start), .required("end_time", end),
        .optional("group_by", .word(Self.groupings, "Needs statistic")),
        .optional("statistic", .word(Self.statistics, "Used with group_by")),
        .optional("access_token", token),
      ])
    case .getSummary:
      let metric = MCPSchema.object([
        .required("value_type", .word(Self.valueTypes, "The kind of data")),
        .optional("group_by", .word(Self.groupings, "")),
        .optional("statistic", .word(Self.statistics, "")),
      ])
      return .object([
        .required("start_time", start), .required("end_time", end),
        .optional("metrics", .list(of: metric)), .optional("access_token", token),
      ])
    case .logout: return .object([.optional("access_token", token)])
    }
  }

  /// What `structuredContent` holds, refusals included: then `success` is false.
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
          .optional("error_message", .orNull(.text(""))),
        ], isOpen: true)
      return .object(
        refusal + [
          .optional("error_message", .orNull(.text("What the phone says is wrong"))),
          .optional("start_time", .text("")), .optional("end_time", .text("")),
          .optional("results", .list(of: result)),
        ], isOpen: true)
    case .logout: return .object(refusal)
    }
  }

  private static let valueTypes = HealthValueType.allCases.map(\.rawValue)
  private static let groupings = HealthGrouping.allCases.map(\.rawValue)
  private static let statistics = HealthStatistic.allCases.map(\.rawValue)

  private static func metrics(named points: String) -> [MCPSchema.Member] {
    let point = MCPSchema.object(
      [
        .required("type", .text("")),
        .required("value", .any("A number, or an object for workouts")),
        .optional("unit", .orNull(.text(""))), .required("date_from", .text("")),
        .required("date_to", .text("")), .optional("source_id", .orNull(.text(""))),
      ], isOpen: true)
    return [
      .optional(points, .list(of: point)), .optional("count", .count),
      .optional("value_type", .text("")), .optional("start_time", .text("")),
      .optional("end_time", .text("")), .optional("group_by", .orNull(.text(""))),
      .optional("is_aggregated", .truth), .optional("statistic_type", .orNull(.text(""))),
      .optional("truncated", .truth),
      .optional("next_start_time", .orNull(.text("Where to ask on when truncated"))),
    ]
  }
}
