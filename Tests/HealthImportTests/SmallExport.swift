import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastTestKit

/// Functions that create exports of a few records, and read the samples of stores.
enum SmallExport {
  static let steps = "HKQuantityTypeIdentifierStepCount"
  static let heart = "HKQuantityTypeIdentifierHeartRate"

  /// Returns an export of records, each given as its type, minute of the day, and value.
  static func xml(
    _ records: [(String, Int, String)], day: Int? = 2, isWhole: Bool = true
  ) -> [UInt8] {
    xml(seconds: records.map { ($0, $1 * 60, $2) }, day: day, isWhole: isWhole)
  }

  /// Returns an export of records, each given as its type, second of the day, and value.
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

  /// Returns an in-memory store and a SQLite store.
  static func stores(_ scratch: Scratch) async throws -> [any HealthStore] {
    [MemoryHealthStore(), try await HoldfastPlatform.healthStore(in: scratch("data"))]
  }
}
