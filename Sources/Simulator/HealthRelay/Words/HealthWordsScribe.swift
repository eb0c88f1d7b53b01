import LinkHealth

/// The words of questions and answers, in the order of their contract.
enum HealthWordsTable {
  static let types = [
    "STEPS", "HEART_RATE", "HRV", "CALORIES", "BLOOD_OXYGEN", "BLOOD_PRESSURE",
    "BODY_TEMPERATURE", "BODY_METRICS", "GLUCOSE", "EXERCISE_TIME", "RESPIRATORY_RATE",
    "WALKING_SPEED", "SLEEP", "MINDFULNESS", "WORKOUT", "DISTANCE",
  ]
  static let groups = ["HOUR", "DAY", "WEEK", "MONTH", "TOTAL"]
  static let statistics = ["SUM", "AVERAGE", "MIN", "MAX", "COUNT", "LATEST"]

  static func word(_ type: HealthValueType) -> String { word(type, types) }

  /// Returns the word of a case, by its place among all.
  static func word<Case: CaseIterable & Equatable>(_ one: Case, _ words: [String]) -> String {
    for (place, other) in Case.allCases.enumerated() where other == one { return words[place] }
    return ""
  }
}

/// What questions and answers are written as, told a second time.
enum HealthWordsScribe {
  typealias Member = RelayWireScribe.Member
  typealias Words = HealthWordsTable

  // Questions.

  static func tree(_ query: HealthDataQuery) -> SessionTree {
    RelayWireScribe.object(
      [("value_type", .text(Words.word(query.valueType)))] + span(query.start, query.end)
        + manner(query.groupBy, query.statistic) + most(query.maxBytes))
  }

  private static func time(_ time: HealthTime) -> SessionTree {
    .text(HealthWordsTimes.text(time))
  }

  private static func span(_ start: HealthTime, _ end: HealthTime) -> [Member] {
    [("start_time", time(start)), ("end_time", time(end))]
  }

  private static func manner(
    _ group: HealthGrouping?, _ statistic: HealthStatistic?
  ) -> [Member] {
    [
      ("group_by", group.map { .text(Words.word($0, Words.groups)) }),
      ("statistic", statistic.map { .text(Words.word($0, Words.statistics)) }),
    ]
  }

  private static func most(_ bytes: Int?) -> [Member] {
    [("max_bytes", bytes.map { RelayWireScribe.whole($0) })]
  }

  /// Returns a list, unless it is empty.
  private static func list(_ all: [SessionTree]) -> SessionTree? { all.isEmpty ? nil : .list(all) }

  static func tree(_ query: SummaryQuery) -> SessionTree {
    let metrics = query.metrics.map { metric in
      RelayWireScribe.object(
        [("value_type", .text(Words.word(metric.valueType)))]
          + manner(metric.groupBy, metric.statistic))
    }
    let rejected = query.rejected.map { line in
      RelayWireScribe.object([
        ("place", RelayWireScribe.whole(line.place)), ("value_type", .text(line.valueType)),
        ("error_message", .text(line.reason)),
      ])
    }
    return RelayWireScribe.object(
      span(query.start, query.end) + [("metrics", list(metrics))] + most(query.maxBytes)
        + [("rejected", list(rejected))])
  }

  // Answers.

  static func failure(_ reason: String) -> HealthObject {
    let members: [Member] = [("success", .flag(false)), ("error_message", .text(reason))]
    let text = RelayWireScribe.object(members).json
    return HealthObject(succeeded: false, bytes: Array(text.utf8))
  }

  static func tree(_ reply: HealthReply) -> SessionTree {
    let group = reply.query.groupBy.map { Words.word($0, Words.groups).lowercased() }
    var statistic: String?
    if group != nil, let asked = reply.query.statistic {
      statistic = Words.word(asked, Words.statistics).lowercased()
    }
    let isCut = reply.nextStart != nil
    let head: [Member] = [
      ("success", .flag(true)), ("count", RelayWireScribe.whole(reply.points.count)),
      ("health_data", .list(reply.points.map { tree($0) })),
      ("value_type", .text(Words.word(reply.query.valueType))),
    ]
    let tail: [Member] = [
      ("group_by", known(group)), ("is_aggregated", .flag(group != nil)),
      ("statistic_type", known(statistic)), ("truncated", isCut ? .flag(true) : nil),
      ("next_start_time", reply.nextStart.map { time($0) }),
      ("skipped", reply.skipped > 0 ? RelayWireScribe.whole(reply.skipped) : nil),
      ("notes", list(reply.notes.map { .text($0) })),
    ]
    return RelayWireScribe.object(
      head + span(reply.query.start, reply.query.end) + tail + members(reply.freshness))
  }

  /// Returns a text, or null.
  private static func known(_ text: String?) -> SessionTree { text.map { .text($0) } ?? .null }

  private static func members(_ fresh: HealthFreshness?) -> [Member] {
    guard let fresh else { return [] }
    let samples = fresh.lastSamples.map { sample in
      RelayWireScribe.object([
        ("type", .text(sample.type)), ("at", sample.at.map { time($0) } ?? .null),
      ])
    }
    return [
      ("time_zone", .text(fresh.zone)), ("answered_at", time(fresh.answered)),
      ("last_import", fresh.imported.map { time($0) } ?? .null), ("last_samples", list(samples)),
    ]
  }

  private static func figure(_ number: Double) -> SessionTree {
    number.isFinite ? .number(number.description) : .null
  }

  static func tree(_ point: HealthPoint) -> SessionTree {
    RelayWireScribe.object([
      ("type", .text(point.type)), ("value", tree(point.value)), ("unit", .text(point.unit)),
      ("date_from", time(point.start)), ("date_to", time(point.end)),
      ("source_id", known(point.source)), ("statistic", RelayWireScribe.text(point.statistic)),
      ("merged", point.isMerged ? .flag(true) : nil),
      ("partial", point.isPartial ? .flag(true) : nil), ("sleep", point.sleep.map { tree($0) }),
    ])
  }

  static func tree(_ sleep: SleepTimes) -> SessionTree {
    RelayWireScribe.object([
      ("in_bed", sleep.inBed.map { figure($0) }), ("awake", sleep.awake.map { figure($0) }),
      ("light", sleep.light.map { figure($0) }), ("deep", sleep.deep.map { figure($0) }),
      ("rem", sleep.rem.map { figure($0) }),
      ("unspecified", sleep.unspecified.map { figure($0) }),
      ("nights", RelayWireScribe.whole(sleep.nights)), ("naps", RelayWireScribe.whole(sleep.naps)),
      ("nap_minutes", sleep.napMinutes.map { figure($0) }),
    ])
  }

  private static func tree(_ value: HealthPointValue) -> SessionTree {
    switch value {
    case .number(let number): figure(number)
    case .text(let text): .text(text)
    case .workout(let totals):
      RelayWireScribe.object([
        ("workout_type", .text(totals.type)), ("total_distance", figure(totals.distance)),
        ("total_energy_burned", figure(totals.energy)), ("total_steps", figure(totals.steps)),
        ("session_count", RelayWireScribe.whole(totals.sessions)),
      ])
    case .nutrition(let totals):
      RelayWireScribe.object([
        ("calories", figure(totals.calories)), ("protein", figure(totals.protein)),
        ("carbs", figure(totals.carbs)), ("fat", figure(totals.fat)),
      ])
    }
  }

  static func tree(_ reply: SummaryReply) -> SessionTree {
    let failed = reply.results.filter { !$0.data.succeeded }.map(\.valueType)
    let results = reply.results.map { tree($0) }
    let members: [Member] = [("success", .flag(failed.isEmpty))] + span(reply.start, reply.end)
    let why = "no answer for " + failed.joined(separator: ", ")
    return RelayWireScribe.object(
      members + [
        ("results", .list(results)), ("error_message", failed.isEmpty ? nil : .text(why)),
      ] + Self.members(reply.freshness))
  }

  private static func tree(_ result: SummaryResult) -> SessionTree {
    let type: Member = ("value_type", .text(result.valueType))
    if result.data.succeeded {
      return RelayWireScribe.object([
        type, ("success", .flag(true)), ("data", RelayWireScribe.raw(result.data.bytes)),
      ])
    }
    let reason = HealthWordsReading.reason(result.data.bytes) ?? ""
    return RelayWireScribe.object([
      type, ("success", .flag(false)), ("error_message", .text(reason)),
    ])
  }
}
