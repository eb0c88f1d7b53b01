import HoldfastCore
import HoldfastHealthSamples
import HoldfastJSON

/// The answer to the question which types are stored.
struct HealthTypesReply: Sendable {
  private let types: [HealthTypeSummary]
  private let zone: ZoneRules
  private let freshness: HealthFreshness
  /// A sentence about an import that has not ended.
  private let note: String?

  /// The maximum number of names of sources for each type. Further sources are only counted. The
  /// limit is Holdfast's own.
  static let mostSources = 8
  /// The maximum length of a source's name, in characters. The limit is Holdfast's own.
  static let longestSource = 64

  init(_ types: [HealthTypeSummary], zone: ZoneRules, now: Timestamp, stored: StoredHealth) {
    self.types = types.sorted { Self.order($0.type) < Self.order($1.type) }
    self.zone = zone
    note = stored.importNote(in: zone)
    freshness = HealthFreshness(zone: zone, now: now, imported: stored.lastImport)
  }

  /// Returns the position of a type in the list. Known types come first, by topic.
  private static func order(_ type: String) -> (Int, String) { (positions[type] ?? .max, type) }

  private static let positions = Dictionary(
    HealthType.all.enumerated().map { ($1.identifier, $0) }, uniquingKeysWith: { first, _ in first }
  )

  /// Returns the JSON object of the answer. If it would be longer than `AnswerLimits.usualBytes`, it
  /// has no sources. If it is still longer than `limit`, it is a failure.
  func object(atMost limit: Int) -> HealthObject {
    let whole = object(sources: Self.mostSources)
    if whole.bytes.count <= min(limit, AnswerLimits.usualBytes) { return whole }
    let short = object(sources: 0)
    return short.bytes.count <= limit
      ? short : .failure("more types than an answer can hold; ask for one with get_health_metrics")
  }

  private func object(sources: Int) -> HealthObject {
    var writer = JSONWriter(capacity: 300 + 400 * types.count)
    writer.beginObject()
    writer.entry("success", true)
    writer.entry("count", types.count)
    writer.key("types")
    writer.beginArray()
    for type in types { write(type, sources: sources, to: &writer) }
    writer.endArray()
    freshness.write(to: &writer)
    if let note { writer.entry("note", note) }
    writer.endObject()
    return HealthObject(succeeded: true, bytes: writer.bytes)
  }

  private func write(_ type: HealthTypeSummary, sources: Int, to writer: inout JSONWriter) {
    let known = HealthType.named(type.type)
    let kind = known?.kind ?? HealthType.unknownKind(type.type)
    writer.beginObject()
    writer.entry("value_type", HealthType.word(of: type.type))
    writer.entry("what", HealthType.meaning(of: type.type))
    writer.entry("unit", known?.unit)
    if case .event(let values) = kind.measure, values.hasMeaning, !values.words.isEmpty {
      writer.entry("values", values.words)
    }
    writer.key("count")
    if let count = type.count { writer.int(count) } else { writer.null() }
    writer.entry("first", HealthTime.local(zone.local(at: type.first)).description)
    writer.entry("last", HealthTime.local(zone.local(at: type.last)).description)
    if let names = type.sources, sources > 0 {
      writer.entry("sources", names.prefix(sources).map { String($0.prefix(Self.longestSource)) })
      if names.count > sources { writer.entry("more_sources", names.count - sources) }
    }
    writer.entry("statistics", kind.statistics.map(\.rawValue))
    writer.endObject()
  }
}

extension HealthKind {
  /// The statistics that apply to the kind, the usual one first.
  fileprivate var statistics: [HealthStatistic] {
    let all = HealthStatistic.allCases.filter { statistic in
      (try? figure(statistic, by: .day)) != nil
    }
    guard let usual = try? figure(nil, by: .day).statistic else { return all }
    return [usual] + all.filter { $0 != usual }
  }
}
