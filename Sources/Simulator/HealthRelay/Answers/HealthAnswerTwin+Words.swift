import LinkCore
import LinkHealth

/// A point of an answer, as it is written.
struct AnswerLine {
  /// Its time, by which answers are cut.
  var moment: Int64
  var text: String
}

/// JSON as plain texts.
enum JSONTexts {
  static func text(_ text: String) -> String { SyncScribe.quoted(text) }

  static func object(_ members: KeyValuePairs<String, String?>) -> String {
    let told = members.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
    return "{" + told.joined(separator: ",") + "}"
  }

  static func list(_ elements: [String]) -> String {
    "[" + elements.joined(separator: ",") + "]"
  }

  /// Returns true, or nothing.
  static func only(_ flag: Bool) -> String? { flag ? "true" : nil }
}

/// The parts of a point besides its value.
struct AnswerLabel {
  var type: String
  var unit: String
  var from: Int64
  var to: Int64
  var source: String?
  var word: String?
  var isMerged = false
  var isPartial = false
  var sleep: String?
}

extension AnswerFrame {
  func line(_ label: AnswerLabel, _ value: String, at moment: Int64) -> AnswerLine {
    let text = JSONTexts.object([
      "type": JSONTexts.text(label.type), "value": value, "unit": JSONTexts.text(label.unit),
      "date_from": JSONTexts.text(written(label.from)),
      "date_to": JSONTexts.text(written(label.to)),
      "source_id": label.source.map(JSONTexts.text) ?? "null",
      "statistic": label.word.map(JSONTexts.text), "merged": JSONTexts.only(label.isMerged),
      "partial": JSONTexts.only(label.isPartial), "sleep": label.sleep,
    ])
    return AnswerLine(moment: moment, text: text)
  }
}

extension HealthAnswerTwin {
  func reply(
    _ points: [String], _ next: Int64?, _ skipped: Int, _ frame: AnswerFrame,
    _ figures: AnswerFigures
  ) -> String {
    let (query, statistics) = (frame.query, figures.statistics)
    let common = statistics.count == 1 ? statistics.first : nil
    let notes = figures.notes.map(JSONTexts.text)
    let last = lastSamples(query.valueType).map { type, at in
      JSONTexts.object([
        "type": JSONTexts.text(type),
        "at": at.map { JSONTexts.text(frame.written($0)) } ?? "null",
      ])
    }
    return JSONTexts.object([
      "success": "true", "count": "\(points.count)", "health_data": JSONTexts.list(points),
      "value_type": JSONTexts.text(query.valueType.rawValue),
      "start_time": JSONTexts.text(query.start.description),
      "end_time": JSONTexts.text(query.end.description), "group_by": word(query.groupBy?.rawValue),
      "is_aggregated": "\(query.groupBy != nil)", "statistic_type": word(common?.rawValue),
      "truncated": JSONTexts.only(next != nil),
      "next_start_time": next.map { JSONTexts.text(frame.written($0)) },
      "skipped": skipped > 0 ? "\(skipped)" : nil,
      "notes": notes.isEmpty ? nil : JSONTexts.list(notes),
      "time_zone": JSONTexts.text(clock.title(now)),
      "answered_at": JSONTexts.text(clock.zoned(now).description),
      "last_import": stored.lastImport.map { JSONTexts.text(frame.written($0.nanoseconds)) }
        ?? "null",
      "last_samples": JSONTexts.list(last),
    ])
  }

  private func word(_ word: String?) -> String {
    word.map { JSONTexts.text($0.lowercased()) } ?? "null"
  }

  /// Returns the types of a word, each once, and when the last sample of each began.
  private func lastSamples(_ word: HealthValueType) -> [(type: String, at: Int64?)] {
    let kinds = AnswerKind.all(word)
    let types = kinds.enumerated().filter { place, kind in
      !kinds.prefix(place).contains { $0.type == kind.type }
    }
    return types.map { _, first in
      let all = kinds.filter { $0.type == first.type }
      return (first.type, all.compactMap { stored.lastSamples[$0.id]?.nanoseconds }.max())
    }
  }

  func summary(
    _ query: SummaryQuery, _ results: [(word: String, text: String, reason: String?)]
  ) -> String {
    let told = results.map { result in
      JSONTexts.object([
        "value_type": JSONTexts.text(result.word), "success": "\(result.reason == nil)",
        "data": result.reason == nil ? result.text : nil,
        "error_message": result.reason.map(JSONTexts.text),
      ])
    }
    let failed = results.filter { $0.reason != nil }.map(\.word).joined(separator: ", ")
    let hasFailed = results.contains { $0.reason != nil }
    return JSONTexts.object([
      "success": "\(!hasFailed)", "start_time": JSONTexts.text(query.start.description),
      "end_time": JSONTexts.text(query.end.description), "results": JSONTexts.list(told),
      "error_message": hasFailed ? JSONTexts.text("no answer for " + failed) : nil,
      "time_zone": JSONTexts.text(clock.title(now)),
      "answered_at": JSONTexts.text(clock.zoned(now).description),
      "last_import": stored.lastImport.map { JSONTexts.text(RFC3339.format($0)) } ?? "null",
    ])
  }
}
