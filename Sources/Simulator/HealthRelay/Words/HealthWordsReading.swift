import LinkHealth
import LinkJSON

/// A reader of questions and answers, told a second time (`docs/seeds`, contracts 1.3 to 1.5).
struct HealthWordsReading {
  typealias Words = HealthWordsTable

  let blanks: HealthWordsBlanks

  // Questions.

  static func question(_ bytes: [UInt8]) throws(FieldFault) -> HealthDataQuery {
    let fields = try HealthWordsFields(whole: bytes)
    let type = try valueType(fields)
    let (start, end) = (try fields.time("start_time"), try fields.time("end_time"))
    let (group, statistic) = try manner(fields, "statistic")
    return HealthDataQuery(
      valueType: type, start: start, end: end, groupBy: group, statistic: statistic,
      maxBytes: try fields.plain.number("max_bytes", from: 2_000, to: 8_388_608))
  }

  private static func valueType(_ fields: HealthWordsFields) throws(FieldFault) -> HealthValueType {
    guard let place = try fields.place("value_type", in: Words.types) else {
      throw .missing(field: "value_type")
    }
    return HealthValueType.allCases[place]
  }

  private static func manner(
    _ fields: HealthWordsFields, _ name: String
  ) throws(FieldFault) -> (HealthGrouping?, HealthStatistic?) {
    let group = try fields.place("group_by", in: Words.groups)
    let statistic = try fields.place(name, in: Words.statistics)
    return (
      group.map { HealthGrouping.allCases[$0] }, statistic.map { HealthStatistic.allCases[$0] }
    )
  }

  static func summary(_ bytes: [UInt8]) throws(FieldFault) -> SummaryQuery {
    let fields = try HealthWordsFields(whole: bytes)
    var query = SummaryQuery(
      start: try fields.time("start_time"), end: try fields.time("end_time"))
    query.maxBytes = try fields.plain.number("max_bytes", from: 2_000, to: 8_388_608)
    for (place, line) in try fields.plain.list("metrics", upTo: 64).enumerated() {
      try add(line, place, to: &query)
    }
    for line in try fields.plain.list("rejected", upTo: 64) {
      let own = try HealthWordsFields(element: line, of: "rejected")
      let place = try own.plain.mustNumber("place", from: 0, to: 64)
      let (type, reason) = (try own.short("value_type"), try own.short("error_message"))
      query.rejected.append(
        RejectedMetric(place: place, valueType: type ?? "", reason: reason ?? ""))
    }
    if query.rejected.count > 64 { throw .outOfBounds(field: "rejected") }
    return query
  }

  /// Adds a metric, or what is wrong with it.
  private static func add(
    _ line: [UInt8], _ place: Int, to query: inout SummaryQuery
  ) throws(FieldFault) {
    let own = try HealthWordsFields(element: line, of: "metrics")
    do throws(FieldFault) {
      let type = try valueType(own)
      let (group, statistic) = try manner(own, "statistic")
      query.metrics.append(
        SummaryMetric(valueType: type, groupBy: group, statistic: statistic))
    } catch {
      var name: String?
      do throws(FieldFault) { name = try own.short("value_type") } catch {}
      let reason = HealthWordsFields.short(error.description)
      query.rejected.append(RejectedMetric(place: place, valueType: name ?? "", reason: reason))
    }
  }

  // Answers.

  func reply(_ bytes: [UInt8]) throws(FieldFault) -> HealthReply {
    let fields = try HealthWordsFields(whole: bytes)
    var reply = blanks.reply
    guard try fields.plain.flag("success") == true else { throw .missing(field: "success") }
    reply.query.valueType = try Self.valueType(fields)
    reply.query.start = try fields.time("start_time")
    reply.query.end = try fields.time("end_time")
    (reply.query.groupBy, reply.query.statistic) = try Self.manner(fields, "statistic_type")
    reply.points = []
    if !fields.has("health_data") { throw .missing(field: "health_data") }
    for element in try fields.plain.list("health_data", upTo: 524_288) {
      reply.points.append(try point(element))
    }
    reply.nextStart = try fields.timeIfAny("next_start_time")
    reply.skipped = try fields.count("skipped")
    reply.notes = []
    for note in try fields.plain.list("notes", upTo: 16) {
      guard case .text(let text)? = SessionTree(note) else { throw .wrongType(field: "notes") }
      reply.notes.append(HealthWordsFields.short(text))
    }
    reply.freshness = try freshness(fields)
    return reply
  }

  private func point(_ bytes: [UInt8]) throws(FieldFault) -> HealthPoint {
    let own = try HealthWordsFields(element: bytes, of: "health_data")
    var point = blanks.point
    point.type = try own.plain.word("type", upTo: 256)
    point.value = try value(own)
    point.unit = try own.plain.text("unit") ?? ""
    point.start = try own.time("date_from")
    point.end = try own.time("date_to")
    point.source = try own.plain.text("source_id")
    point.statistic = try own.short("statistic")
    point.isMerged = try own.plain.flag("merged") == true
    point.isPartial = try own.plain.flag("partial") == true
    point.sleep = own.has("sleep") ? try sleep(own.plain.object("sleep")) : nil
    return point
  }

  private func value(_ own: HealthWordsFields) throws(FieldFault) -> HealthPointValue {
    if let figure = (try? own.figure("value")) ?? nil { return .number(figure) }
    if let text = (try? own.plain.text("value")) ?? nil { return .text(text) }
    let parts = HealthWordsFields(try own.plain.object("value"))
    guard let type = try parts.plain.text("workout_type") else {
      var totals = blanks.nutrition
      totals.calories = try parts.figure("calories") ?? 0
      totals.protein = try parts.figure("protein") ?? 0
      totals.carbs = try parts.figure("carbs") ?? 0
      totals.fat = try parts.figure("fat") ?? 0
      return .nutrition(totals)
    }
    var totals = blanks.workout
    totals.type = type
    totals.distance = try parts.figure("total_distance") ?? 0
    totals.energy = try parts.figure("total_energy_burned") ?? 0
    totals.steps = try parts.figure("total_steps") ?? 0
    let count = try parts.figure("session_count") ?? 0
    totals.sessions = count < 0 ? 0 : count > 0x1p53 ? 1 << 53 : Int(count)
    return .workout(totals)
  }

  private func sleep(_ bytes: [UInt8]) throws(FieldFault) -> SleepTimes {
    let own = HealthWordsFields(bytes)
    var sleep = blanks.sleep
    sleep.inBed = try own.figure("in_bed")
    sleep.awake = try own.figure("awake")
    sleep.light = try own.figure("light")
    sleep.deep = try own.figure("deep")
    sleep.rem = try own.figure("rem")
    sleep.unspecified = try own.figure("unspecified")
    sleep.nights = try own.count("nights")
    sleep.naps = try own.count("naps")
    sleep.napMinutes = try own.figure("nap_minutes")
    return sleep
  }

  private func freshness(_ fields: HealthWordsFields) throws(FieldFault) -> HealthFreshness? {
    if !fields.has("time_zone") || !fields.has("answered_at") { return nil }
    var fresh = blanks.freshness
    fresh.zone = try fields.plain.word("time_zone", upTo: 256)
    fresh.answered = try fields.time("answered_at")
    fresh.imported = try fields.timeIfAny("last_import")
    fresh.lastSamples = []
    for element in try fields.plain.list("last_samples", upTo: 64) {
      let own = try HealthWordsFields(element: element, of: "last_samples")
      var sample = blanks.sample
      sample.type = try own.plain.word("type", upTo: 256)
      sample.at = try own.timeIfAny("at")
      fresh.lastSamples.append(sample)
    }
    return fresh
  }

  func summary(_ bytes: [UInt8]) throws(FieldFault) -> SummaryReply {
    let fields = try HealthWordsFields(whole: bytes)
    var reply = blanks.summary
    reply.start = try fields.time("start_time")
    reply.end = try fields.time("end_time")
    reply.results = []
    if !fields.has("results") { throw .missing(field: "results") }
    for element in try fields.plain.list("results", upTo: 64) {
      reply.results.append(try result(element))
    }
    reply.freshness = try freshness(fields)
    return reply
  }

  private func result(_ bytes: [UInt8]) throws(FieldFault) -> SummaryResult {
    let own = try HealthWordsFields(element: bytes, of: "results")
    var result = blanks.result
    guard let type = try own.short("value_type") else { throw .missing(field: "value_type") }
    guard let succeeded = try own.plain.flag("success") else { throw .missing(field: "success") }
    result.valueType = type
    let reason = try own.short("error_message") ?? ""
    result.data =
      succeeded
      ? HealthObject(succeeded: true, bytes: try own.plain.object("data"))
      : HealthWordsScribe.failure(reason)
    return result
  }

  /// Returns the reason that an object tells, also one that is cut off behind it.
  static func reason(_ bytes: [UInt8]) -> String? {
    do throws(FieldFault) {
      return try RelayWireFields(bytes).text("error_message").map { HealthWordsFields.short($0) }
    } catch { return nil }
  }
}
