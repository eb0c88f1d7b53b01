package import HoldfastHealth

/// The tools for assistants, as in the original app, and a list of the stored types.
package enum MCPTool: String, Sendable, Hashable, Codable, CaseIterable {
  case directLogin = "direct_login"
  case listHealthTypes = "list_health_types"
  case getHealthMetrics = "get_health_metrics"
  case getSummary = "get_summary"
  case logout

  /// A short title for a list.
  package var title: String {
    switch self {
    case .directLogin: "Pair with a phone"
    case .listHealthTypes: "List the kinds of health data"
    case .getHealthMetrics: "Get health data of one kind"
    case .getSummary: "Get a summary of several kinds"
    case .logout: "End the pairing"
    }
  }

  /// The kind of the question that the tool asks, or `nil` if it asks none.
  package var questionKind: HealthQuestion.Kind? {
    switch self {
    case .getHealthMetrics: .healthData
    case .getSummary: .summary
    case .listHealthTypes: .types
    case .directLogin, .logout: nil
    }
  }

  /// A description for the assistant of what the tool does and when to use it.
  package var summary: String {
    switch self {
    case .directLogin:
      "Pairs with the user's phone. Ask the user for the two words and the six-digit code that the "
        + "app shows, and call this once before any other tool."
    case .listHealthTypes: Self.typesSummary
    case .getHealthMetrics: Self.metricsSummary
    case .getSummary:
      "Reads several kinds of health data for a span of time at once, by the rules of "
        + "get_health_metrics. Without metrics it covers steps, calories, distance, workouts and "
        + "sleep; without group_by it chooses days, weeks or months by the length of the span; "
        + "with compare_with TOTAL. A "
        + "metric that cannot be answered fails by itself: its success is false."
    case .logout: "Ends the pairing with the phone. Its access token is invalid afterwards."
    }
  }

  /// The description of `listHealthTypes`. It explains the members of a type.
  private static let typesSummary =
    "Lists every kind of health data that has samples, without reading them: value_type is the "
    + "word for get_health_metrics, what says what it holds, unit is that of its numbers (null: "
    + "events or several numbers), values are the names that an event can have, count is the "
    + "number of samples (null: not known without reading them), first and last are the starts of "
    + "the first and the last sample, sources the apps and devices, statistics those that apply, "
    + "the usual one first. Ask this once when unsure what there is; a kind that is not listed has "
    + "no data."

  /// The description of `value_type`: what the usual words hold, and in which unit.
  private static var valueType: MCPSchema {
    .text(
      "The kind of data. Usual words: "
        + HealthValueType.usual.map { "\($0.rawValue) (\($0.summary))" }.joined(separator: ", ")
        + ". Every other quantity and category of HealthKit has its own word too, such as "
        + "DIETARY_IRON, CYCLING_POWER, HEADACHE or PREGNANCY_TEST: list_health_types names those "
        + "with data. An unknown word is refused with the nearest ones.")
  }

  var input: MCPSchema {
    let (start, end, maxBytes) = Self.spanArguments
    let options = Self.optionArguments
    let token = MCPSchema.text(
      "What direct_login gave; needed only where no session or header carries it")
    switch self {
    case .directLogin:
      return .object([
        .required("word", .text("The two words that the app shows")),
        .required("code", .text("The six digits that the app shows")),
      ])
    case .listHealthTypes: return .object([.optional("access_token", token)])
    case .getHealthMetrics:
      return .object(
        [
          .required("value_type", Self.valueType),
          .required("start_time", start), .required("end_time", end),
          .optional("group_by", Self.groupBySchema), .optional("statistic", Self.statisticSchema),
        ] + options + Self.singleArguments + [
          .optional("max_bytes", maxBytes), .optional("access_token", token),
        ])
    case .getSummary:
      let same = "As in get_health_metrics"
      let statistics: [MCPSchema.Member] = [
        .optional("group_by", Self.groupBySchema), .optional("statistic", Self.statisticSchema),
      ]
      let metric = MCPSchema.object(
        [.required("value_type", .text(same))] + statistics.map { $0.described(same) })
      return .object(
        [
          .required("start_time", start), .required("end_time", end),
          .optional("metrics", .list(of: metric)),
        ] + (options + [.optional("max_bytes", maxBytes)]).map { $0.described(same) } + [
          .optional("access_token", token)
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
    case .listHealthTypes:
      return .object(
        refusal + [
          .optional("error_message", .text("What is wrong with the question")),
          .optional("count", .count), .optional("types", .list(of: Self.storedType)),
        ] + Self.freshness, isOpen: true)
    case .getHealthMetrics:
      return .object(
        refusal + [.optional("error_message", .text("What is wrong with the question"))]
          + Self.metrics, isOpen: true)
    case .getSummary:
      let result = MCPSchema.object(
        [
          .required("value_type", .text("")), .required("success", .truth),
          .optional(
            "data",
            .described(
              .object([], isOpen: true),
              "As the answer of get_health_metrics, with its points in health_data")),
          .optional("error", .text("")), .optional("message", .text("")),
          .optional("error_message", .orNull(.text(""))),
        ], isOpen: true)
      return .object(
        refusal + [
          .optional("error_message", .orNull(.text("What is wrong with the question"))),
          .optional("start_time", .text("")), .optional("end_time", .text("")),
          .optional("results", .list(of: result)),
        ] + Self.freshness, isOpen: true)
    case .logout: return .object(refusal)
    }
  }

  private static var freshness: [MCPSchema.Member] {
    [
      .optional("time_zone", .text("The time zone of the days")),
      .optional("answered_at", .text("The clock of what answered")),
      .optional("last_import", .orNull(.text("When health data were imported last"))),
      .optional("clock_difference_seconds", .number),
      .optional("clock_warning", .text("The phone's clock is wrong")),
      .optional("source", .text("synced: the phone was away, and had uploaded this by as_of")),
      .optional("as_of", .orNull(.text("When the newest of these data were uploaded"))),
      .optional("note", .text("")),
    ]
  }
  private static var storedType: MCPSchema {
    .object(
      [
        .required("value_type", .text("")), .optional("what", .text("")),
        .optional("unit", .orNull(.text(""))), .optional("values", .list(of: .text(""))),
        .optional("count", .orNull(.count)), .optional("first", .text("")),
        .optional("last", .text("")), .optional("sources", .list(of: .text(""))),
        .optional("more_sources", .count), .optional("statistics", .list(of: .text(""))),
      ], isOpen: true)
  }

  private static var metrics: [MCPSchema.Member] {
    let point = MCPSchema.object(
      [
        .required("type", .text("")),
        .required("value", .any("A number, a text for events, or an object")),
        .optional("unit", .orNull(.text(""))), .required("date_from", .text("")),
        .required("date_to", .text("")),
        .optional(
          "source_id", .orNull(.text("The device or app; merged or all for all of them"))),
        .optional("statistic", .text("What the number is, such as sum or average_per_day")),
        .optional("merged", .truth), .optional("partial", .truth),
        .optional("sleep", .object([], isOpen: true)),
        .optional("workout_type", .text("Of a number of workouts: their kind")),
      ] + optionMembers, isOpen: true)
    return [
      .optional("healthData", .list(of: point)), .optional("count", .count),
      .optional("value_type", .text("")), .optional("start_time", .text("")),
      .optional("end_time", .text("")), .optional("group_by", .orNull(.text(""))),
      .optional("is_aggregated", .truth), .optional("statistic_type", .orNull(.text(""))),
      .optional("truncated", .truth),
      .optional("next_start_time", .orNull(.text("Where to continue when truncated"))),
      .optional("notes", .list(of: .text(""))),
    ] + optionResults + freshness
      + [
        .optional(
          "last_samples",
          .list(
            of: .object(
              [.required("type", .text("")), .optional("at", .orNull(.text("")))], isOpen: true)))
      ]
  }
}
