public import LinkJSON

extension HealthDataQuery {
  /// Reads the payload of `health_data_request`: words in either letter case, `null` as absent.
  public static func read(_ payload: [UInt8]) throws(FieldFault) -> HealthDataQuery {
    let names = ["value_type", "start_time", "end_time", "group_by", "statistic"]
    let fields = JSONFields(payload, keeping: names)
    try fields.check()
    guard let valueType: HealthValueType = try fields.optionalWord("value_type") else {
      throw .missing(field: "value_type")
    }
    return HealthDataQuery(
      valueType: valueType, start: try fields.time("start_time"), end: try fields.time("end_time"),
      groupBy: try fields.optionalWord("group_by"), statistic: try fields.optionalWord("statistic"))
  }

  /// The payload; what was not asked is left out.
  public var payload: [UInt8] {
    var writer = JSONWriter(capacity: 200)
    writer.beginObject()
    writer.entry("value_type", valueType.rawValue)
    writer.span(from: start, to: end)
    writer.manner(groupBy, statistic)
    writer.endObject()
    return writer.bytes
  }
}

extension SummaryQuery {
  /// The most metrics of one summary; there are 16 kinds, and the bound is ours.
  public static let maxMetrics = 64

  /// Reads the payload of `summary_request`: words in either letter case, `null` as absent.
  public static func read(_ payload: [UInt8]) throws(FieldFault) -> SummaryQuery {
    let fields = JSONFields(payload, keeping: ["start_time", "end_time", "metrics"])
    try fields.check()
    let start = try fields.time("start_time")
    let end = try fields.time("end_time")
    var metrics: [SummaryMetric] = []
    for element in try fields.elements("metrics", atMost: maxMetrics) {
      let line = JSONFields(element, keeping: ["value_type", "group_by", "statistic"])
      guard line.fault == nil else { throw .wrongType(field: "metrics") }
      guard let valueType: HealthValueType = try line.optionalWord("value_type") else {
        throw .missing(field: "value_type")
      }
      metrics.append(
        SummaryMetric(
          valueType: valueType, groupBy: try line.optionalWord("group_by"),
          statistic: try line.optionalWord("statistic")))
    }
    return SummaryQuery(start: start, end: end, metrics: metrics)
  }

  /// The payload; what was not asked is left out.
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
        writer.manner(metric.groupBy, metric.statistic)
        writer.endObject()
      }
      writer.endArray()
    }
    writer.endObject()
    return writer.bytes
  }
}

extension JSONWriter {
  /// Writes the members that say from when to when.
  package mutating func span(from start: HealthTime, to end: HealthTime) {
    entry("start_time", start.description)
    entry("end_time", end.description)
  }

  /// Writes the members that say how samples are put together, where that was asked.
  mutating func manner(_ groupBy: HealthGrouping?, _ statistic: HealthStatistic?) {
    if let groupBy {
      entry("group_by", groupBy.rawValue)
    }
    if let statistic {
      entry("statistic", statistic.rawValue)
    }
  }
}
