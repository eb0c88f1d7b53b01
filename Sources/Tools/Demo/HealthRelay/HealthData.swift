import Foundation
import Holdfast
import HoldfastFeaturePorts
import HoldfastTestKit

/// The number of steps that one source counted on one day.
struct DaySteps: Sendable, Hashable, Decodable {
  /// The date, such as `2025-10-26`.
  var day: String
  var source: String
  var steps: Double

  init(day: String, source: String, steps: Double) {
    (self.day, self.source, self.steps) = (day, source, steps)
  }

  private enum CodingKeys: String, CodingKey {
    case day = "date_from"
    case source = "source_id"
    case steps = "value"
  }

  /// Decodes a value in the format that an assistant receives.
  init(from decoder: any Decoder) throws {
    let point = try decoder.container(keyedBy: CodingKeys.self)
    day = String(try point.decode(String.self, forKey: .day).prefix(10))
    source = try point.decode(String.self, forKey: .source)
    steps = try point.decode(Double.self, forKey: .steps)
  }
}

/// The health data of a generated person over two weeks. The data is an export that is imported
/// into the phone's store.
struct HealthData: Sendable {
  /// The number of samples in the phone's store.
  let samples: Int
  private let steps: Set<DaySteps>

  /// The time zone of the person and of the generated days.
  static let zone = "Europe/Zurich"
  /// The two weeks to which the questions refer. The first one ends with 2025-10-26, a day of 25
  /// hours.
  ///
  /// `end` is the first day that is not part of the question.
  static let weeks = [
    (start: "2025-10-20", end: "2025-10-27"), (start: "2025-10-27", end: "2025-11-03"),
  ]
  /// The number of days from 1970-01-01 to 2025-10-20.
  private static let firstDay = 20_381
  /// The share of a real watch's readings that is generated. A small share keeps the import short.
  private static let density = 0.2

  /// Creates an export in `directory` and imports it into the data directory `phone`.
  init(seed: UInt64, in directory: String, phone: String) async throws(DemoFailure) {
    let path = "\(directory)/export.xml"
    var generator = HealthExportGenerator(
      HealthExportGenerator.Plan(
        seed: seed, firstDay: Self.firstDay, days: 14, density: Self.density))
    var export: [UInt8] = []
    while let chunk = generator.next() { export += chunk }
    do {
      try Data(export).write(to: URL(fileURLWithPath: path))
    } catch {
      throw .setup("export.xml could not be written in \(directory)")
    }
    do throws(HealthImport.Failure) {
      samples = try await Self.bring(path, into: phone)
    } catch {
      throw .setup("the health data could not be imported: \(error)")
    }
    steps = Self.steps(in: String(decoding: export, as: UTF8.self))
  }

  private static func bring(
    _ path: String, into phone: String
  ) async throws(HealthImport.Failure) -> Int {
    let store: any HealthStore
    do {
      store = try await HoldfastPlatform.healthStore(in: phone)
    } catch {
      throw .store(error)
    }
    let report = try await HealthImport.run(path, into: store)
    await store.close()
    return report.addition.added
  }

  /// Returns the correct answer for a week.
  func steps(of week: (start: String, end: String)) -> Set<DaySteps> {
    steps.filter { week.start <= $0.day && $0.day < week.end }
  }

  /// Adds up the steps in the text of an export without using the code under test.
  static func steps(in export: String) -> Set<DaySteps> {
    struct Key: Hashable {
      var day: String
      var source: String
    }
    var sums: [Key: Double] = [:]
    for line in export.utf8.split(separator: UInt8(ascii: "\n")) {
      let line = String(Substring(line))
      guard attribute("type", of: line) == "HKQuantityTypeIdentifierStepCount",
        let day = attribute("startDate", of: line)?.prefix(10),
        let source = attribute("sourceName", of: line),
        let count = attribute("value", of: line).flatMap(Double.init)
      else { continue }
      sums[Key(day: String(day), source: source), default: 0] += count
    }
    return Set(sums.map { DaySteps(day: $0.key.day, source: $0.key.source, steps: $0.value) })
  }

  private static func attribute(_ name: String, of line: String) -> String? {
    guard let start = line.range(of: " \(name)=\"")?.upperBound else { return nil }
    return line[start...].split(separator: "\"", maxSplits: 1, omittingEmptySubsequences: false)
      .first.map(String.init)
  }
}
