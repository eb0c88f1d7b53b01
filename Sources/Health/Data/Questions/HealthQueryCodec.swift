public import HoldfastJSON

extension HealthDataQuery {
  /// Reads the payload of `health_data_request`. Names are case-insensitive, and `null` counts as
  /// absent.
  public static func read(_ payload: [UInt8]) throws(FieldFault) -> HealthDataQuery {
    let names = ["value_type", "start_time", "end_time", "group_by", "statistic", "max_bytes"]
    let fields = JSONFields(payload, keeping: names + HealthOptions.names)
    try fields.check()
    guard let valueType: HealthValueType = try fields.optionalValue("value_type") else {
      throw .missing(field: "value_type")
    }
    return HealthDataQuery(
      valueType: valueType, start: try fields.time("start_time"), end: try fields.time("end_time"),
      groupBy: try fields.optionalValue("group_by"),
      statistic: try fields.optionalValue("statistic"),
      maxBytes: try fields.optionalInt("max_bytes", in: byteBounds),
      options: try HealthOptions(fields))
  }

  /// The payload of the query. Values that are `nil` are omitted.
  public var payload: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("value_type", valueType.rawValue)
    writer.span(from: start, to: end)
    writer.grouping(groupBy, statistic)
    if let maxBytes { writer.entry("max_bytes", maxBytes) }
    options.write(to: &writer)
    writer.endObject()
    return writer.bytes
  }
}

extension SummaryQuery {
  /// The maximum number of metrics in one summary. The limit is Holdfast's own. There are 16 value
  /// types.
  public static let maxMetrics = 64

  /// Reads the payload of `summary_request`. Names are case-insensitive, and `null` counts as
  /// absent.
  ///
  /// Invalid metrics are added to `rejected`, so that they fail without affecting the others.
  public static func read(_ payload: [UInt8]) throws(FieldFault) -> SummaryQuery {
    let names = ["start_time", "end_time", "metrics", "max_bytes", "rejected"]
    let fields = JSONFields(payload, keeping: names + HealthOptions.names)
    try fields.check()
    var query = SummaryQuery(
      start: try fields.time("start_time"), end: try fields.time("end_time"),
      maxBytes: try fields.optionalInt("max_bytes", in: HealthDataQuery.byteBounds),
      options: try HealthOptions(fields))
    let elements = try fields.elements("metrics", atMost: maxMetrics)
    for (index, element) in elements.enumerated() {
      let line = JSONFields(element, keeping: ["value_type", "group_by", "statistic"])
      guard line.fault == nil else { throw .wrongType(field: "metrics") }
      do throws(FieldFault) {
        query.metrics.append(try SummaryMetric(line))
      } catch {
        let name = try? line.optionalString("value_type")
        query.rejected.append(
          RejectedMetric(
            index: index, valueType: (name.flatMap(\.self) ?? "").bounded,
            reason: error.description.bounded))
      }
    }
    for element in try fields.elements("rejected", atMost: maxMetrics) {
      query.rejected.append(try RejectedMetric(element))
    }
    guard query.rejected.count <= maxMetrics else { throw .outOfBounds(field: "rejected") }
    return query
  }

  /// The payload of the query. Values that are `nil` are omitted.
  public var payload: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.span(from: start, to: end)
    if !metrics.isEmpty {
      writer.key("metrics")
      writer.beginArray()
      for metric in metrics {
        writer.beginObject()
        writer.entry("value_type", metric.valueType.rawValue)
        writer.grouping(metric.groupBy, metric.statistic)
        writer.endObject()
      }
      writer.endArray()
    }
    if let maxBytes { writer.entry("max_bytes", maxBytes) }
    options.write(to: &writer)
    writeRejected(to: &writer)
    writer.endObject()
    return writer.bytes
  }

  private func writeRejected(to writer: inout JSONWriter) {
    guard !rejected.isEmpty else { return }
    writer.key("rejected")
    writer.beginArray()
    for line in rejected {
      writer.beginObject()
      writer.entry("place", line.index)
      writer.entry("value_type", line.valueType)
      writer.entry("error_message", line.reason)
      writer.endObject()
    }
    writer.endArray()
  }
}

extension RejectedMetric {
  fileprivate init(_ element: [UInt8]) throws(FieldFault) {
    let fields = JSONFields(element, keeping: ["place", "value_type", "error_message"])
    guard fields.fault == nil else { throw .wrongType(field: "rejected") }
    self.init(
      index: try fields.int("place", in: 0...SummaryQuery.maxMetrics),
      valueType: (try fields.optionalString("value_type") ?? "").bounded,
      reason: (try fields.optionalString("error_message") ?? "").bounded)
  }
}

extension SummaryMetric {
  fileprivate init(_ line: JSONFields) throws(FieldFault) {
    guard let valueType: HealthValueType = try line.optionalValue("value_type") else {
      throw .missing(field: "value_type")
    }
    self.init(
      valueType: valueType, groupBy: try line.optionalValue("group_by"),
      statistic: try line.optionalValue("statistic"))
  }
}

extension JSONWriter {
  /// Writes the members for the start and the end of a query.
  package mutating func span(from start: HealthTime, to end: HealthTime) {
    entry("start_time", start.description)
    entry("end_time", end.description)
  }

  /// Writes the members for the grouping and the statistic, unless they are `nil`.
  mutating func grouping(_ groupBy: HealthGrouping?, _ statistic: HealthStatistic?) {
    if let groupBy {
      entry("group_by", groupBy.rawValue)
    }
    if let statistic {
      entry("statistic", statistic.rawValue)
    }
  }
}
