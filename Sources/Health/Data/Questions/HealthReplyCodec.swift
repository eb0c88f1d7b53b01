public import HoldfastJSON

extension HealthReply {
  /// The JSON object of the reply.
  public var object: HealthObject {
    var writer = JSONWriter(capacity: 300 + 150 * points.count)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("count", points.count)
    if let table {
      table.write(to: &writer)
    } else {
      writer.key("health_data")
      writer.beginArray()
      for point in points { writer.point(point) }
      writer.endArray()
    }
    trends.write(to: &writer)
    writeTail(to: &writer)
    writer.endObject()
    return HealthObject(succeeded: true, bytes: writer.bytes)
  }

  private func writeTail(to writer: inout JSONWriter) {
    writer.entry("value_type", query.valueType.rawValue)
    writer.span(from: query.start, to: query.end)
    writer.entry("group_by", query.groupBy?.rawValue.lowercased())
    if table == nil {
      writer.entry("is_aggregated", query.groupBy != nil)
      writer.key("statistic_type")
      writer.string(query.groupBy == nil ? nil : query.statistic?.rawValue.lowercased())
    }
    if !isTableOfSummary { query.options.writeApplied(to: &writer) }
    if let nextStart {
      writer.entry("truncated", true)
      writer.entry("next_start_time", nextStart.description)
    }
    if skipped > 0 {
      writer.entry("skipped", skipped)
    }
    if !notes.isEmpty { writer.entry("notes", notes) }
    if isTableOfSummary {
      freshness?.writeLastSamples(to: &writer)
    } else {
      freshness?.write(to: &writer)
    }
  }

  /// Reads the object of a successful answer. Unknown members are ignored.
  ///
  /// A statistic without a grouping is ignored, and so are comparisons and trends. Also throws an
  /// error if the object is that of an error or has a table.
  public static func read(_ object: [UInt8]) throws(FieldFault) -> HealthReply {
    let fields = JSONFields(object, keeping: names)
    try fields.check()
    guard try fields.optionalBool("success") == true else { throw .missing(field: "success") }
    guard let valueType: HealthValueType = try fields.optionalValue("value_type") else {
      throw .missing(field: "value_type")
    }
    var query = HealthDataQuery(
      valueType: valueType, start: try fields.time("start_time"),
      end: try fields.time("end_time"), groupBy: try fields.optionalValue("group_by"),
      statistic: try fields.optionalValue("statistic_type"))
    query.options = try HealthOptions(applied: fields)
    guard fields.has("health_data") else { throw .missing(field: "health_data") }
    var reply = HealthReply(query: query, points: [])
    for element in try fields.elements("health_data", atMost: maxPoints) {
      reply.points.append(try HealthPoint(element))
    }
    if fields.has("next_start_time") { reply.nextStart = try fields.time("next_start_time") }
    reply.skipped = try fields.optionalInt("skipped", in: 0...Int.max) ?? 0
    reply.notes = try fields.texts("notes", atMost: maxNotes)
    reply.freshness = try HealthFreshness(fields)
    return reply
  }

  /// The maximum number of points. It is higher than the number that fits into an answer.
  private static let maxPoints = HealthObject.maxBytes / 16
  private static let names =
    [
      "success", "health_data", "value_type", "start_time", "end_time", "group_by",
      "statistic_type", "next_start_time", "skipped", "notes",
    ]
    + HealthFreshness.names + HealthOptions.appliedNames
  /// The maximum number of notes. The limit is Holdfast's own. There are fewer kinds of notes.
  private static let maxNotes = 16
}

extension SummaryReply {
  /// The JSON object of the reply. It is successful if all of its results are.
  public var object: HealthObject {
    let failed = results.filter { !$0.data.succeeded }
    var writer = JSONWriter(capacity: results.reduce(300) { $0 + $1.data.bytes.count + 80 })
    writer.beginObject()
    writer.entry("success", failed.isEmpty)
    writer.span(from: start, to: end)
    writer.key("results")
    writer.beginArray()
    for result in results { writer.result(result) }
    writer.endArray()
    if !failed.isEmpty {
      writer.key("error_message")
      writer.string("no answer for " + failed.map(\.valueType).joined(separator: ", "))
    }
    options.writeApplied(to: &writer)
    freshness?.write(to: &writer)
    writer.endObject()
    return HealthObject(succeeded: failed.isEmpty, bytes: writer.bytes)
  }

  /// Reads an object, even if some of its results are failures. Unknown members are ignored.
  public static func read(_ object: [UInt8]) throws(FieldFault) -> SummaryReply {
    let names = ["start_time", "end_time", "results"] + HealthFreshness.names
    let fields = JSONFields(object, keeping: names)
    try fields.check()
    var reply = SummaryReply(
      start: try fields.time("start_time"), end: try fields.time("end_time"), results: [])
    guard fields.has("results") else { throw .missing(field: "results") }
    for element in try fields.elements("results", atMost: SummaryQuery.maxMetrics) {
      reply.results.append(try SummaryResult(element))
    }
    reply.freshness = try HealthFreshness(fields)
    return reply
  }
}

extension SummaryResult {
  fileprivate init(_ element: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(element, keeping: ["value_type", "success", "data", "error_message"])
    guard fields.fault == nil else { throw .wrongType(field: "results") }
    guard let valueType = try fields.optionalString("value_type")?.bounded else {
      throw .missing(field: "value_type")
    }
    guard let succeeded = try fields.optionalBool("success") else {
      throw .missing(field: "success")
    }
    let reason = try fields.optionalString("error_message") ?? ""
    let data =
      succeeded
      ? HealthObject(succeeded: true, bytes: try fields.object("data")) : .failure(reason.bounded)
    self.init(valueType: valueType, data: data)
  }
}

extension HealthPoint {
  /// The size of the encoded point, in bytes.
  package var length: Int {
    var writer = JSONWriter(capacity: 200)
    writer.point(self)
    return writer.bytes.count
  }

  fileprivate init(_ element: [UInt8]) throws(FieldFault) {
    let names = [
      "type", "value", "unit", "date_from", "date_to", "source_id", "statistic", "merged",
      "partial", "sleep", "workout_type", "group",
    ]
    let fields = JSONFields(element, keeping: names)
    guard fields.fault == nil else { throw .wrongType(field: "health_data") }
    self.init(
      type: try fields.string("type", atMost: 256), value: try HealthPointValue(fields),
      unit: try fields.optionalString("unit") ?? "", start: try fields.time("date_from"),
      end: try fields.time("date_to"), source: try fields.optionalString("source_id"),
      statistic: try fields.optionalString("statistic")?.bounded,
      isMerged: try fields.optionalBool("merged") ?? false,
      isPartial: try fields.optionalBool("partial") ?? false,
      sleep: fields.has("sleep") ? try SleepTimes(fields.object("sleep")) : nil,
      workoutType: try fields.optionalString("workout_type")?.bounded,
      part: try fields.optionalString("group")?.bounded)
  }
}

extension HealthPointValue {
  fileprivate init(_ fields: JSONFields) throws(FieldFault) {
    if let number = try? fields.optionalDouble("value") {
      self = .number(number)
    } else if let text = try? fields.optionalString("value") {
      self = .text(text)
    } else {
      self = try HealthPointValue(object: fields.object("value"))
    }
  }

  /// The maximum number of sessions. The limit is Holdfast's own. A `Double` represents every whole
  /// number up to 2^53 exactly.
  private static let mostSessions: Double = 0x1p53

  private init(object: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(
      object, keeping: ["workout_type"] + PointNumber.allCases.map(\.rawValue))
    func number(_ name: PointNumber) throws(FieldFault) -> Double? {
      try fields.optionalDouble(name.rawValue)
    }
    if let type = try fields.optionalString("workout_type") {
      self = .workout(
        WorkoutTotals(
          type: type, distance: try number(.distance), energy: try number(.energy),
          steps: try number(.steps),
          sessions: Int(
            clamping: Int64(max(0, min(try number(.sessions) ?? 0, Self.mostSessions)))),
          duration: try number(.duration), heartRate: try number(.heartRate)))
    } else {
      self = .nutrition(
        NutritionTotals(
          calories: try number(.calories), protein: try number(.protein),
          carbs: try number(.carbs), fat: try number(.fat)))
    }
  }
}

extension JSONWriter {
  mutating func point(_ point: HealthPoint) {
    beginObject()
    entry("type", point.type)
    key("value")
    value(point.value)
    entry("unit", point.unit)
    entry("date_from", point.start.description)
    entry("date_to", point.end.description)
    entry("source_id", point.source)
    if let statistic = point.statistic { entry("statistic", statistic) }
    if point.isMerged { entry("merged", true) }
    if point.isPartial { entry("partial", true) }
    if let type = point.workoutType { entry("workout_type", type) }
    if let part = point.part { entry("group", part) }
    point.sleep?.write(to: &self)
    point.comparison?.write(to: &self)
    endObject()
  }

  private mutating func number(_ name: PointNumber, _ number: Double?) {
    writeNumber(name.rawValue, number)
  }

  mutating func value(_ value: HealthPointValue) {
    switch value {
    case .number(let number): return writeNumber(number)
    case .text(let text): return string(text)
    case .workout(let totals):
      beginObject()
      entry("workout_type", totals.type)
      number(.distance, totals.distance)
      number(.energy, totals.energy)
      number(.steps, totals.steps)
      entry(PointNumber.sessions.rawValue, totals.sessions)
      if totals.distance != nil { entry("distance_unit", Dimension.length.unit) }
      if totals.energy != nil { entry("energy_unit", Dimension.energy.unit) }
      if let minutes = totals.duration { number(.duration, minutes) }
      if let rate = totals.heartRate { number(.heartRate, rate) }
    case .nutrition(let totals):
      beginObject()
      for (name, total) in totals.numbers { number(name, total) }
      entry("energy_unit", Dimension.energy.unit)
      entry("mass_unit", "gram")
    }
    endObject()
  }

  /// Writes a member whose value is a number, or `null` if the value was not recorded.
  mutating func writeNumber(_ name: String, _ number: Double?) {
    key(name)
    if let number { writeNumber(number) } else { null() }
  }

  /// Writes a number. Whole numbers have no fraction.
  mutating func writeNumber(_ number: Double) {
    // `Double` represents every whole number up to 2^53 exactly, and `Int` does if it has 64 bits.
    guard abs(number) < 0x1p53, let whole = Int(exactly: number) else { return double(number) }
    int(whole)
  }

  fileprivate mutating func result(_ result: SummaryResult) {
    beginObject()
    entry("value_type", result.valueType)
    if result.data.succeeded {
      entry("success", true)
      key("data")
      raw(result.data.bytes)
    } else {
      failure(result.data.reason ?? "")
    }
    endObject()
  }
}
