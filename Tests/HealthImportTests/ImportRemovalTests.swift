import Foundation
import Holdfast
import HoldfastTestKit
import LinkCore
import LinkHealth
import LinkRuntime
import LinkWire
import Testing

/// Exports that do not hold any more what an earlier one held.
@Suite struct ImportRemovalTests {
  private static let steps = "HKQuantityTypeIdentifierStepCount"
  private static let heart = "HKQuantityTypeIdentifierHeartRate"

  /// An export of records: (type, minute of the day, value).
  private static func export(
    _ records: [(String, Int, String)], day: Int? = 2, isWhole: Bool = true
  ) -> [UInt8] {
    var text = "<?xml version=\"1.0\"?>\n<HealthData locale=\"de\">\n"
    if let day { text += "<ExportDate value=\"2026-01-0\(day) 12:00:00 +0000\"/>\n" }
    for (type, minute, value) in records {
      let time = "2026-01-01 00:\(minute < 10 ? "0" : "")\(minute):00 +0000"
      text +=
        "<Record type=\"\(type)\" sourceName=\"w\" unit=\"count\" startDate=\"\(time)\" "
        + "endDate=\"\(time)\" value=\"\(value)\"/>\n"
    }
    return Array((text + (isWhole ? "</HealthData>\n" : "")).utf8)
  }

  private static let full = (0..<6).map { (steps, $0, "1") } + [(heart, 3, "60")]

  private func starts(_ store: any HealthStore, _ type: String) async throws -> [Int] {
    let query = HealthSampleQuery(
      types: [type], from: Timestamp(nanoseconds: .min), to: Timestamp(nanoseconds: .max))
    return try await store.samples(query).samples.map {
      Int($0.start.nanoseconds / 60_000_000_000 % 1_440)
    }
  }

  private func stores(_ scratch: Scratch) async throws -> [any HealthStore] {
    [MemoryHealthStore(), try await Platform.healthStore(in: scratch("data"))]
  }

  @Test func `a newer export wins: what it lacks in the time it covers is removed`() async throws {
    let scratch = try Scratch()
    try scratch.write(Self.export(Self.full), to: "old.xml")
    // Without minute 2, and with a new one; the edges and other types are not covered.
    let newer = [1, 3, 4, 9].map { (Self.steps, $0, "1") }
    try scratch.write(Self.export(newer + [(Self.steps, 3, "x")], day: 3), to: "new.xml")
    for store in try await stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let report = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(report.removal == .done)
      var counts = HealthImport.TypeReport(type: Self.steps)
      (counts.added, counts.kept, counts.removed) = (1, 3, 2)
      (counts.skipped, counts.stored) = (1, 5)
      #expect(report.types == [counts])
      #expect(try await starts(store, Self.steps) == [0, 1, 3, 4, 9])
      #expect(try await starts(store, Self.heart) == [3])
      // A second import of the same changes nothing, and knows its spans again.
      let again = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(again.removal == .done)
      #expect(again.types.map(\.removed) == [0])
      await store.close()
    }
  }

  @Test func `an older export removes nothing, unless it is told to replace`() async throws {
    let scratch = try Scratch()
    try scratch.write(Self.export(Self.full, day: 5), to: "new.xml")
    try scratch.write(Self.export([(Self.steps, 0, "1"), (Self.steps, 5, "1")]), to: "old.xml")
    for store in try await stores(scratch) {
      _ = try await HealthImport.run(scratch("new.xml"), into: store)
      let kept = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(kept.removal == .older)
      #expect(try await starts(store, Self.steps) == [0, 1, 2, 3, 4, 5])
      let replaced = try await HealthImport.run(scratch("old.xml"), into: store, replaces: true)
      #expect(replaced.removal == .done)
      #expect(replaced.types.map(\.removed) == [4])
      #expect(try await starts(store, Self.steps) == [0, 5])
      await store.close()
    }
  }

  @Test func `an export without its end, or without a date, removes nothing`() async throws {
    let scratch = try Scratch()
    try scratch.write(Self.export(Self.full), to: "old.xml")
    let few = [(Self.steps, 0, "1"), (Self.steps, 5, "1")]
    try scratch.write(Self.export(few, day: 3, isWhole: false), to: "cut.xml")
    try scratch.write(Self.export(few, day: nil), to: "undated.xml")
    let store = MemoryHealthStore()
    _ = try await HealthImport.run(scratch("old.xml"), into: store)
    for (file, removal) in [
      ("cut.xml", HealthImport.Removal.incomplete), ("undated.xml", .undated),
    ] {
      #expect(try await HealthImport.run(scratch(file), into: store).removal == removal)
    }
    let cut = try await HealthImport.run(scratch("cut.xml"), into: store, replaces: true)
    #expect(cut.removal == .incomplete)
    #expect(try await starts(store, Self.steps) == [0, 1, 2, 3, 4, 5])
  }

  @Test func `a store of before knows an older export by its newest sample`() async throws {
    let scratch = try Scratch()
    let store = MemoryHealthStore()
    let late = Timestamp(nanoseconds: 1_767_700_000_000_000_000)
    try await store.add([
      HealthSample(
        type: Self.steps, value: .quantity(1), unit: "count", start: late, end: late, source: "w")
    ])
    try scratch.write(Self.export(Self.full), to: "old.xml")
    #expect(try await HealthImport.run(scratch("old.xml"), into: store).removal == .older)
  }

  @Test func `after a removal whole spans are known again`() async throws {
    let scratch = try Scratch()
    let plan = HealthExportGenerator.Plan(seed: 3, firstDay: 20_000, days: 5, density: 0.3)
    var generator = HealthExportGenerator(plan)
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    var lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    try scratch.write(bytes, to: "old.xml")
    let gone = lines.indices.filter {
      lines[$0].contains("<Record type=\"\(Self.steps)\"") && lines[$0].hasSuffix("/>")
    }
    lines.remove(at: gone[gone.count / 2])
    try scratch.write(Array(lines.joined(separator: "\n").utf8), to: "new.xml")
    let store = try await Platform.healthStore(in: scratch("data"))
    _ = try await HealthImport.run(scratch("old.xml"), into: store)
    let report = try await HealthImport.run(scratch("new.xml"), into: store)
    #expect(report.types.reduce(0) { $0 + $1.removed } == 1)
    for type in report.types {
      let read = type.added + type.kept + type.repeated
      #expect(read == report.tally.samples[type.type] ?? 0)
    }
    #expect(report.types.reduce(0) { $0 + $1.repeated } > 0)
    let left = try await store.summary().reduce(0) { $0 + $1.count }
    #expect(report.types.reduce(0) { $0 + $1.stored } == left)
    await store.close()
  }
}
