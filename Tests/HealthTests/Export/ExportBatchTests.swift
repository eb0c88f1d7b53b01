import Testing

@testable import HoldfastHealthSamples

/// Tests of the packing of samples into batches and spans.
@Suite struct ExportBatchTests {
  private static let dates =
    "startDate=\"2026-01-05 08:00:00 +0000\" endDate=\"2026-01-05 08:30:00 +0000\""

  @Test func `many names are split into batches, each with its own spans and at most 32,768 names`()
    throws
  {
    let records = (0..<40_000).map {
      "<Record type=\"t\" sourceName=\"s\($0)\" value=\"1\" \(Self.dates)/>"
    }
    var reader = HealthExportReader()
    reader.append("<HealthData>\(records.joined())</HealthData>".utf8)
    reader.finish()
    var rows: [Int] = []
    while let batch = try reader.next() {
      rows.append(batch.rows.count)
      #expect(batch.spans.reduce(0) { $0 + $1.count } == batch.rows.count)
      // A batch holds at most 32,768 names.
      #expect(batch.names.count <= 32_768)
      guard rows.count < 10 else { break }
    }
    #expect(rows.reduce(0, +) == 40_000)
  }

  @Test func `a repaired text counts once even if several batches contain it`() throws {
    let record = Export.record("value=\"1\" device=\"d\u{01}\"")
    let export = try Export(body: String(repeating: record, count: 20_000))
    #expect(export.samples.count == 20_000)
    #expect(export.counts.repaired == 1)
  }

  @Test func `an open workout keeps its strings even if many others follow before its end tag`()
    throws
  {
    let zones = (0..<70_000).map { "<MetadataEntry key=\"HKTimeZone\" value=\"z\($0)\"/>" }
    let attributes = "workoutActivityType=\"a\" sourceName=\"s\" device=\"d\" \(Self.dates)"
    let export = try Export(body: "<Workout \(attributes)>\(zones.joined())</Workout>")
    let workout = HealthSample(
      type: HealthSample.workoutType, value: .workout(WorkoutValue(activity: "a")),
      start: Export.time("2026-01-05T08:00:00Z"), end: Export.time("2026-01-05T08:30:00Z"),
      source: "s", device: "d", zone: "z69999")
    #expect(export.samples == [workout])
  }

  @Test func `no empty span follows a span that ends with the last sample`() throws {
    // A key whose lowest ten bits are zero ends a span.
    let last = try #require((0..<50_000).first { Export.sample(Double($0)).key.low & 1_023 == 0 })
    let export = try Export(body: Export.record("value=\"\(last)\""))
    #expect(export.samples == [Export.sample(Double(last))])
    #expect(export.digests.count == 1)
  }

  @Test(arguments: [nil, ""] as [String?])
  func `each batch updates the counts of bytes read and strings repaired`(body: String?) throws {
    let record = Export.record("value=\"1\" device=\"d\u{01}\"", body: body)
    let first = "<HealthData>" + String(repeating: record, count: 8_192)
    var reader = HealthExportReader()
    reader.append("\(first)\(record)</HealthData>".utf8)
    let batch = try #require(try reader.next())
    #expect(batch.rows.count == 8_192)
    #expect(reader.counts.bytes == first.utf8.count)
    #expect(reader.counts.repaired == 1)
  }
}
