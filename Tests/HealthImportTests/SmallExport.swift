import Foundation
import Holdfast
import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkRuntime

/// Exports of a few records, and the samples that a store has of them.
enum SmallExport {
  static let steps = "HKQuantityTypeIdentifierStepCount"
  static let heart = "HKQuantityTypeIdentifierHeartRate"

  /// Returns an export of records: (type, minute of the day, value).
  static func xml(
    _ records: [(String, Int, String)], day: Int? = 2, isWhole: Bool = true
  ) -> [UInt8] {
    xml(seconds: records.map { ($0, $1 * 60, $2) }, day: day, isWhole: isWhole)
  }

  /// Returns an export of records: (type, second of the day, value).
  static func xml(
    seconds records: [(String, Int, String)], day: Int? = 2, isWhole: Bool = true
  ) -> [UInt8] {
    var text = "<?xml version=\"1.0\"?>\n<HealthData locale=\"de\">\n"
    if let day { text += "<ExportDate value=\"2026-01-0\(day) 12:00:00 +0000\"/>\n" }
    for (type, second, value) in records {
      let parts = [second / 3_600, second / 60 % 60, second % 60]
      let clock = parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
      let time = "2026-01-01 \(clock) +0000"
      text +=
        "<Record type=\"\(type)\" sourceName=\"w\" unit=\"count\" startDate=\"\(time)\" "
        + "endDate=\"\(time)\" value=\"\(value)\"/>\n"
    }
    return Array((text + (isWhole ? "</HealthData>\n" : "")).utf8)
  }

  /// Returns the minutes of the day at which samples of a type begin.
  static func starts(_ store: any HealthStore, _ type: String) async throws -> [Int] {
    let query = HealthSampleQuery(
      types: [type], from: Timestamp(nanoseconds: .min), to: Timestamp(nanoseconds: .max))
    return try await store.samples(query).samples.map {
      Int($0.start.nanoseconds / 60_000_000_000 % 1_440)
    }
  }

  /// Returns a store in memory and one in SQLite.
  static func stores(_ scratch: Scratch) async throws -> [any HealthStore] {
    [MemoryHealthStore(), try await Platform.healthStore(in: scratch("data"))]
  }
}
