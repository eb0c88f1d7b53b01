import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealth
import HoldfastTestKit
import Testing

/// Tests that list, count and ask for every type of an export.
///
/// A script counts the types independently in the text of the export.
@Suite(.enabled(if: CountingScript.canRun, "needs \(CountingScript.python) on Linux"))
struct StoredTypesTests {
  /// The path in `HOLDFAST_EXPORT`, or the path of an export next to the checkout.
  private static let realExport: String? = {
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL.path
    let named = ProcessInfo.processInfo.environment["HOLDFAST_EXPORT"]
    let path = named ?? root + "/shared/data/apple-health/export.xml"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()

  @Test(.enabled(if: realExport != nil, "no real export; set HOLDFAST_EXPORT to its path"))
  func `each type of a real export can be listed, asked for and counted`() async throws {
    let types = try await ImportedTypes(try #require(Self.realExport))
    try await types.checkList()
    try await types.checkEach()
    await types.store.close()
  }

  @Test func `each type of a generated export can be listed, asked for and counted`() async throws {
    let scratch = try Scratch()
    try scratch.write(Self.export(), to: "export.xml")
    let types = try await ImportedTypes(scratch("export.xml"))
    #expect(types.counted.contains { $0.type == "HKQuantityTypeIdentifierNewThing" })
    try await types.checkList()
    try await types.checkEach()
    await types.store.close()
  }

  @Test func `a known word without data has no points and says so, and an unknown word is refused`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Self.export(), to: "export.xml")
    let types = try await ImportedTypes(scratch("export.xml"))
    var query = try types.query("PREGNANCY_TEST")
    let none = try await types.answer(query)
    #expect(none.success)
    #expect(none.health_data?.isEmpty == true)
    #expect(none.notes?.first?.hasPrefix("PREGNANCY_TEST has no data at all") == true)
    query = try types.query("RESTING_HEART")
    let refused = try await types.answer(query)
    #expect(!refused.success)
    #expect(refused.error_message?.contains("RESTING_HEART_RATE") == true)
    await types.store.close()
  }

  /// Returns a generated export with more types, one of which no version knows.
  private static func export() -> [UInt8] {
    var generator = HealthExportGenerator(
      .init(seed: 3, firstDay: 20_000, days: 5, density: 0.3))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    let events = [
      ("HKCategoryTypeIdentifierMenstrualFlow", #"value="HKCategoryValueMenstrualFlowLight""#),
      ("HKCategoryTypeIdentifierHeadache", #"value="HKCategoryValueSeveritySevere""#),
      ("HKCategoryTypeIdentifierNewEvent", #"value="HKCategoryValueNewEventBlue""#),
      ("HKQuantityTypeIdentifierNewThing", #"unit="xyz" value="3.5""#),
      ("HKQuantityTypeIdentifierVO2Max", #"unit="mL/min·kg" value="41.5""#),
    ].map { type, value in
      """
       <Record type="\(type)" sourceName="Diary" startDate="2024-10-05 07:00:00 +0100" \
      endDate="2024-10-05 07:30:00 +0100" \(value)/>

      """
    }
    let text = String(decoding: bytes, as: UTF8.self)
      .replacing("</HealthData>", with: events.joined() + "</HealthData>")
    return Array(text.utf8)
  }
}

/// An imported export, and the script's count of its types.
private struct ImportedTypes {
  private static let zone = "Europe/Berlin"

  /// A line of the script.
  struct Counted: Decodable {
    var type: String
    var count: Int
    /// The number of readings that differ in start, value or unit.
    var readings: Int
    var first: String
    var last: String
    var sources: [String]
  }

  /// The list of types in an answer.
  private struct Listed: Decodable {
    struct Line: Decodable, Equatable {
      var value_type: String
      var count: Int?
      var first: String
      var last: String
      var sources: [String]
      var more_sources: Int?
    }

    var success: Bool
    var count: Int
    var types: [Line]
  }

  /// The points of an answer.
  struct Answered: Decodable {
    struct Point: Decodable {
      var value: Value
      var source_id: String?
      var type: String
    }

    /// A number, or another value.
    struct Value: Decodable {
      var number: Double?

      init(from decoder: any Decoder) throws {
        number = try? decoder.singleValueContainer().decode(Double.self)
      }
    }

    var success: Bool
    var error_message: String?
    var health_data: [Point]?
    var next_start_time: String?
    var notes: [String]?
  }

  let store: any HealthStore
  let counted: [Counted]
  private let scratch: Scratch

  /// Imports an export into a SQLite store, and counts it with the script.
  init(_ path: String) async throws {
    scratch = try Scratch()
    store = try await HoldfastPlatform.healthStore(in: scratch("data"))
    let report = try await HealthImport.run(path, into: store)
    #expect(report.ending == .complete)
    let outcome = try await CountingScript.run("Types/count_types.py", [path, Self.zone])
    #expect(outcome.status == 0, "\(outcome.errors)")
    counted = try outcome.output.map {
      try JSONDecoder().decode(Counted.self, from: Data($0.utf8))
    }
  }

  private func ask(_ question: HealthQuestion) async throws -> [UInt8] {
    let zone = ZoneRules(try #require(TimeZone(identifier: Self.zone)))
    let now = try #require(RFC3339.parse("2026-06-01T00:00:00Z"))
    return await store.answer(question, zone: zone, now: now).bytes
  }

  func answer(_ query: HealthDataQuery) async throws -> Answered {
    try JSONDecoder().decode(Answered.self, from: Data(try await ask(.healthData(query))))
  }

  func query(_ word: String, from start: String = "2000-01-01") throws -> HealthDataQuery {
    HealthDataQuery(
      valueType: try #require(HealthValueType(rawValue: word)),
      start: try #require(HealthTime(start)), end: try #require(HealthTime("2026-06-01")))
  }

  /// Compares the list with the script's lines.
  func checkList() async throws {
    let list = try JSONDecoder().decode(Listed.self, from: Data(try await ask(.types)))
    #expect(list.success)
    #expect(list.count == counted.count)
    let lines = Dictionary(uniqueKeysWithValues: list.types.map { ($0.value_type, $0) })
    for type in counted {
      let word = HealthType.word(of: type.type)
      let more = type.sources.count > 8 ? type.sources.count - 8 : nil
      #expect(
        lines[word]
          == Listed.Line(
            value_type: word, count: type.count, first: type.first, last: type.last,
            sources: Array(type.sources.prefix(8)), more_sources: more), "\(type.type)")
    }
  }

  /// Asks for each type by its word, and compares the numbers of samples.
  func checkEach() async throws {
    for type in counted {
      let word = HealthType.word(of: type.type)
      #expect(try await samples(word, of: type) == type.count, "\(type.type)")
      guard type.type.hasPrefix("HKQuantityTypeIdentifier") else { continue }
      var total = try query(word)
      (total.groupBy, total.statistic) = (.total, .count)
      let points = try await answer(total).health_data ?? []
      let name = HealthDays.style(of: type.type) == .reading ? type.readings : type.count
      let all = points.first { $0.source_id == "all" }
      #expect(all?.value.number == Double(name), "\(type.type)")
    }
  }

  /// Returns the number of samples in the pages of an answer.
  private func samples(_ word: String, of type: Counted) async throws -> Int {
    var (number, start) = (0, Optional("2000-01-01"))
    while let from = start {
      var page = try query(word, from: from)
      page.maxBytes = 2_000_000
      let found = try await answer(page)
      #expect(found.success, "\(word): \(found.error_message ?? "")")
      let own = found.health_data?.filter {
        type.type != "HKQuantityTypeIdentifierHeartRate" || $0.type == "HEART_RATE"
      }
      number += own?.count ?? 0
      start = found.next_start_time
    }
    return number
  }
}
