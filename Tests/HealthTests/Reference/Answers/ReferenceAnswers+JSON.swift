import HoldfastCore
import HoldfastHealth

/// A point of an answer as JSON.
struct ReferencePoint {
  /// The time at which the answer ends if this point does not fit.
  var moment: Int64
  var text: String
}

/// Functions that write JSON as text.
enum JSONText {
  static func text(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted += "\\" }
      quoted.unicodeScalars.append(scalar)
    }
    return quoted + "\""
  }

  static func object(_ members: KeyValuePairs<String, String?>) -> String {
    let all = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
    return "{" + all.joined(separator: ",") + "}"
  }

  static func list(_ elements: [String]) -> String {
    "[" + elements.joined(separator: ",") + "]"
  }

  /// Returns `true` if the flag is set. Otherwise returns `nil`, which omits the member.
  static func only(_ flag: Bool) -> String? { flag ? "true" : nil }
}

/// The members of a point other than its value.
struct PointLabel {
  var type: String
  var unit: String
  var from: Int64
  var to: Int64
  var source: String?
  var statistic: String?
  var isMerged = false
  var isPartial = false
  var sleep: String?
  var activity: String?
}

extension ReferenceWindow {
  func line(_ label: PointLabel, _ value: String, at moment: Int64) -> ReferencePoint {
    let text = JSONText.object([
      "type": JSONText.text(label.type), "value": value, "unit": JSONText.text(label.unit),
      "date_from": JSONText.text(format(label.from)),
      "date_to": JSONText.text(format(label.to)),
      "source_id": label.source.map(JSONText.text) ?? "null",
      "statistic": label.statistic.map(JSONText.text), "merged": JSONText.only(label.isMerged),
      "partial": JSONText.only(label.isPartial),
      "workout_type": label.activity.map(JSONText.text), "sleep": label.sleep,
    ])
    return ReferencePoint(moment: moment, text: text)
  }
}

extension ReferenceAnswers {
  func reply(
    _ points: [String], _ next: Int64?, _ skipped: Int, _ window: ReferenceWindow,
    _ figures: ReferenceFigures
  ) -> String {
    let (query, statistics) = (window.query, figures.statistics)
    let common = statistics.count == 1 ? statistics.first : nil
    let empty =
      "end_time is not included, and is start_time here, so no time is asked for. For one day, "
      + "end_time is the next day."
    let isEmpty = window.start == window.end
    let notes = (figures.notes + (isEmpty ? [empty] : [])).map(JSONText.text)
    let last = lastSamples(query.valueType).map { type, at in
      JSONText.object([
        "type": JSONText.text(type),
        "at": at.map { JSONText.text(window.format($0)) } ?? "null",
      ])
    }
    return JSONText.object([
      "success": "true", "count": "\(points.count)", "health_data": JSONText.list(points),
      "value_type": JSONText.text(query.valueType.rawValue),
      "start_time": JSONText.text(query.start.description),
      "end_time": JSONText.text(query.end.description), "group_by": name(query.groupBy?.rawValue),
      "is_aggregated": "\(query.groupBy != nil)", "statistic_type": name(common?.rawValue),
      "applied": query.options.bySource ? JSONText.list([JSONText.text("by_source")]) : nil,
      "truncated": JSONText.only(next != nil),
      "next_start_time": next.map { JSONText.text(window.format($0)) },
      "skipped": skipped > 0 ? "\(skipped)" : nil,
      "notes": notes.isEmpty ? nil : JSONText.list(notes),
      "time_zone": JSONText.text(clock.name(now)),
      "answered_at": JSONText.text(clock.zoned(now).description),
      "last_import": imported,
      "last_samples": JSONText.list(last),
    ])
  }

  /// The time of the last import with the offset of the zone.
  private var imported: String {
    stored.lastImport.map { JSONText.text(clock.zoned($0.nanoseconds).description) } ?? "null"
  }

  private func name(_ name: String?) -> String {
    name.map { JSONText.text($0.lowercased()) } ?? "null"
  }

  /// Returns each type of a value type once, with the start of its last sample.
  private func lastSamples(_ valueType: HealthValueType) -> [(type: String, at: Int64?)] {
    let kinds = ReferenceType.all(valueType)
    let types = kinds.enumerated().filter { index, kind in
      !kinds.prefix(index).contains { $0.type == kind.type }
    }
    return types.map { _, first in
      let all = kinds.filter { $0.type == first.type }
      return (first.type, all.compactMap { stored.lastSamples[$0.id]?.nanoseconds }.max())
    }
  }

  func summary(
    _ query: SummaryQuery, _ results: [(type: String, text: String, reason: String?)]
  ) -> String {
    let all = results.map { result in
      JSONText.object([
        "value_type": JSONText.text(result.type), "success": "\(result.reason == nil)",
        "data": result.reason == nil ? result.text : nil,
        "error_message": result.reason.map(JSONText.text),
      ])
    }
    let failed = results.filter { $0.reason != nil }.map(\.type).joined(separator: ", ")
    let hasFailed = results.contains { $0.reason != nil }
    return JSONText.object([
      "success": "\(!hasFailed)", "start_time": JSONText.text(query.start.description),
      "end_time": JSONText.text(query.end.description), "results": JSONText.list(all),
      "error_message": hasFailed ? JSONText.text("no answer for " + failed) : nil,
      "time_zone": JSONText.text(clock.name(now)),
      "answered_at": JSONText.text(clock.zoned(now).description),
      "last_import": imported,
    ])
  }
}
