import HoldfastHealth

// The description and the arguments of questions about health data.
extension MCPTool {
  /// The description of `getHealthMetrics`. It explains the numbers, the choice of a statistic,
  /// comparisons, sources and sleep.
  static let metricsSummary =
    "Reads one kind of health data for a span of time. Never add, average or compare points "
    + "yourself: ask so that a point is the answer. With group_by each point is one number for "
    + "an hour, day, week (from Monday), month or year; with TOTAL for the whole span; with "
    + "WEEKDAY for all Mondays, all Tuesdays and so on, with WEEKPART for WEEKDAYS (Monday to "
    + "Friday) and WEEKEND, with HOUR_OF_DAY for each hour 00 to 23 of all days (group says "
    + "which). Without group_by it lists single samples. compare_with gives each point its "
    + "change from another span, trend the slope of the points, nearest the last value before "
    + "end_time however old, workout_type one kind of workout. Leave out statistic to get what "
    + "fits: the sum of what adds up (STEPS, CALORIES, DISTANCE, EXERCISE_TIME, MINDFULNESS, "
    + "WORKOUT, water, nutrition), on weekdays and at hours of the day its average a day, except "
    + "of MINDFULNESS and WORKOUT; the average of what does not (HEART_RATE, over time, HRV, "
    + "BLOOD_PRESSURE, BLOOD_OXYGEN, GLUCOSE, weight, temperature, speed); nights for SLEEP. "
    + "SUM of what does not add up is refused. AVERAGE, MIN and MAX of what adds up compare "
    + "days that have data, whole days if there are any, and a point says so: average_per_day. "
    + "MIN and MAX of WORKOUT are the shortest and the longest single workout of a kind, by "
    + "distance, with its own times. COUNT counts samples; a reading that "
    + "several devices hold for one moment counts once, so it can be less than single samples "
    + "or the count of list_health_types. LATEST is the last value with its own time. Several devices often measure the same: a point "
    + "has source_id merged where each moment or workout counts once, by the watch before the "
    + "phone, and all where it is that of all devices; by_source adds those of each one. "
    + "WORKOUT has a point for each workout_type. null means not recorded. SLEEP is minutes "
    + "asleep; in bed, awake, light, deep and REM are beside it. Its AVERAGE, MIN and MAX are "
    + "of nights without naps, for the day on which the night ends; SUM includes naps. For the "
    + "night to Monday ask from Monday 00:00 to Tuesday 00:00. A point with partial true "
    + "covers only a part of its span. No point means no data, not zero: last_samples says "
    + "when each type was measured last, last_import when data came last, time_zone the zone "
    + "of the days. For more than about 30 points ask with format table. With truncated true, "
    + "continue from next_start_time."

  /// The arguments that every question about health data has.
  static var spanArguments: (start: MCPSchema, end: MCPSchema, maxBytes: MCPSchema) {
    let bounds = HealthDataQuery.byteBounds
    return (
      .text("ISO 8601; without a zone it is local time, in the time_zone of answers"),
      .text(
        "As start_time, not included; a date alone is its first moment: ask for one day by the next"
      ),
      .countBetween(
        bounds.lowerBound, bounds.upperBound,
        "The longest answer in bytes; if left out, \(AnswerLimits.usualBytes), which is about 150 "
          + "points or 400 to 1,200 rows of a table")
    )
  }

  static var groupBySchema: MCPSchema {
    .oneOf(
      HealthGrouping.allCases.map(\.rawValue),
      "One point for each; TOTAL is one point for the whole span, WEEKDAY 7, WEEKPART 2, "
        + "HOUR_OF_DAY 24")
  }
  static var statisticSchema: MCPSchema {
    .oneOf(
      HealthStatistic.allCases.map(\.rawValue),
      "Only with group_by; left out, it is the one that fits")
  }

  /// The options of questions about health data.
  static var optionArguments: [MCPSchema.Member] {
    let compared = MCPSchema.object([
      .required("start_time", .text("As start_time")), .required("end_time", .text("As end_time")),
    ])
    return [
      .optional(
        "compare_with",
        .described(
          compared,
          "Another span, for each point's previous value, change and change_percent; needs "
            + "group_by. TOTAL compares the whole spans. If points differ in length, the change of "
            + "a sum or count is that of a day: change_of, per_day, previous_per_day; it is "
            + "missing if one has no whole day. Compare today with yesterday up to the same time. "
            + "Last week and the month before: TOTAL. HOUR to YEAR compare the first with the "
            + "first, the "
            + "second with the second; WEEKDAY, WEEKPART and HOUR_OF_DAY the same part. previous "
            + "is null where the other span has no data; what only that has is in notes")),
      .optional(
        "trend",
        .flag(
          "Adds the straight line through the points: slope_per_week, change_over_span and the "
            + "span; of months and years per day; needs group_by HOUR, DAY, WEEK, MONTH or YEAR")),
      .optional(
        "format",
        .oneOf(
          HealthFormat.allCases.map { $0.rawValue.lowercased() },
          "table is a third to an eighth as long: columns, rows, and in common what is the same "
            + "in all rows"
        )),
      .optional(
        "by_source", .flag("Adds the points of each device and app, to explain the number")),
    ]
  }

  /// The options that a summary does not have.
  static var singleArguments: [MCPSchema.Member] {
    [
      .optional(
        "nearest",
        .flag(
          "The last value before end_time, even if it is older than start_time; leave out "
            + "group_by and statistic. For the weight on a day: start_time that day, end_time "
            + "the next")),
      .optional(
        "workout_type",
        .text(
          "Only for value_type WORKOUT: the one kind that counts, such as RUNNING, WALKING or "
            + "BIKING. My longest run: group_by TOTAL, statistic MAX")),
    ]
  }

  /// The members of an answer that options add.
  static var optionResults: [MCPSchema.Member] {
    [
      .optional(
        "columns",
        .list(
          of: .text(
            "The name of a column; date is a day, week, month or year by its first day"))),
      .optional("rows", .list(of: .list(of: .any("A value for each column; null: not recorded")))),
      .optional("common", .object([], isOpen: true)),
      .optional("partial_rows", .list(of: .any("The index, from 0, of a row with partial true"))),
      .optional("trend", .list(of: .object([], isOpen: true))),
      .optional("applied", .list(of: .text("The options that the answer used"))),
    ]
  }

  /// The members of a point that options and recurring groups add.
  static var optionMembers: [MCPSchema.Member] {
    [
      .optional("group", .text("MONDAY to SUNDAY, WEEKDAYS, WEEKEND, or the hour of the day")),
      .optional("previous", .any("The value in compare_with; null: no data there")),
      .optional("change", .any("value less previous, or as change_of says")),
      .optional("change_percent", .any("The change in percent of previous")),
      .optional("change_of", .text("The statistic whose change it is")),
    ]
  }
}
