import Foundation
import HoldfastCore
import HoldfastHealthSamples
import HoldfastTestKit

/// The result of reading an export.
struct Export: Equatable {
  var samples: [HealthSample] = []
  var keys: [HealthSampleKey] = []
  var digests: [HealthSampleKey] = []
  var counts: ExportCounts

  /// Reads bytes in pieces of the given size.
  init(_ bytes: some Collection<UInt8>, pieces: Int = 64 << 10) throws(HealthExportError) {
    let bytes = Array(bytes)[...]
    var reader = HealthExportReader()
    var position = 0
    counts = reader.counts
    while position < bytes.count {
      let end = min(position + pieces, bytes.count)
      reader.append(bytes.span.extracting(position..<end))
      try take(&reader)
      position = end
    }
    reader.finish()
    try take(&reader)
    counts = reader.counts
  }

  /// Reads an export with the given content in its root element.
  init(body: String, pieces: Int = 64 << 10) throws(HealthExportError) {
    try self.init(
      "<?xml version=\"1.0\"?>\n<HealthData>\n\(body)\n</HealthData>\n".utf8, pieces: pieces)
  }

  private mutating func take(_ reader: inout HealthExportReader) throws(HealthExportError) {
    while let batch = try reader.next() {
      samples += batch.rows.map { batch[$0] }
      keys += batch.rows.map(\.key)
      digests += batch.spans.map(\.digest)
    }
  }

  /// The number of skipped elements for each reason.
  var skipped: [HealthExportSkip: Int] {
    Dictionary(uniqueKeysWithValues: counts.skipped.map { ($0.reason, $0.count) })
  }

  static func time(_ text: String) -> Timestamp {
    RFC3339.parse(text) ?? Timestamp(nanoseconds: .min)
  }

  /// Returns a record with the given attributes in addition to the default type, source and dates.
  static func record(_ more: String = "value=\"1\"", body: String? = nil) -> String {
    let tag =
      "<Record type=\"HKQuantityTypeIdentifierStepCount\" sourceName=\"Phone\" "
      + "startDate=\"2026-01-05 08:00:00 +0100\" endDate=\"2026-01-05 08:10:00 +0100\" \(more)"
    return body.map { "\(tag)>\($0)</Record>" } ?? "\(tag)/>"
  }

  /// Returns the sample that `record` describes.
  static func sample(_ value: Double = 1, unit: String? = nil) -> HealthSample {
    HealthSample(
      type: "HKQuantityTypeIdentifierStepCount", value: .quantity(value), unit: unit,
      start: time("2026-01-05T07:00:00Z"), end: time("2026-01-05T07:10:00Z"), source: "Phone")
  }

  /// Returns the bytes of a generated export.
  static func generated(
    seed: UInt64 = 1, firstDay: Int = 20_540, days: Int = 3, density: Double = 0.2
  ) -> [UInt8] {
    var generator = HealthExportGenerator(
      .init(seed: seed, firstDay: firstDay, days: days, density: density))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    return bytes
  }
}

/// A real export, if one exists. `HOLDFAST_EXPORT` may contain its path. By default it is a file
/// next to the checkout.
enum RealExport {
  static let path: String? = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let named = ProcessInfo.processInfo.environment["HOLDFAST_EXPORT"]
    let path = named ?? root.path + "/../shared/data/apple-health/export.xml"
    return FileManager.default.fileExists(atPath: path) ? path : nil
  }()
}

extension HealthExportReader {
  /// Appends bytes of a file. `Array.span` needs a newer system than `ArraySlice.span`.
  mutating func append(_ bytes: some Sequence<UInt8>) {
    let bytes = Array(bytes)[...]
    append(bytes.span)
  }
}
