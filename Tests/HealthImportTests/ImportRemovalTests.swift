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
  private typealias Export = SmallExport
  private static let (steps, heart) = (Export.steps, Export.heart)

  private static let full = (0..<6).map { (steps, $0, "1") } + [(heart, 3, "60")]

  @Test func `a newer export wins: what it lacks in the time it covers is removed`() async throws {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full), to: "old.xml")
    // Without minute 2, and with a new one; the edges and other types are not covered.
    let newer = [1, 3, 4, 9].map { (Self.steps, $0, "1") }
    try scratch.write(Export.xml(newer + [(Self.steps, 3, "x")], day: 3), to: "new.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let report = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(report.removal == .done)
      var counts = HealthImport.TypeReport(type: Self.steps)
      (counts.added, counts.kept, counts.removed) = (1, 3, 2)
      (counts.skipped, counts.stored) = (1, 5)
      #expect(report.types == [counts])
      #expect(try await Export.starts(store, Self.steps) == [0, 1, 3, 4, 9])
      #expect(try await Export.starts(store, Self.heart) == [3])
      // A second import of the same changes nothing, and knows its spans again.
      let again = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(again.removal == .done)
      #expect(again.types.map(\.removed) == [0])
      await store.close()
    }
  }

  @Test func `an older export removes nothing, unless it is told to replace`() async throws {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full, day: 5), to: "new.xml")
    try scratch.write(Export.xml([(Self.steps, 0, "1"), (Self.steps, 5, "1")]), to: "old.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("new.xml"), into: store)
      let kept = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(kept.removal == .older)
      #expect(try await Export.starts(store, Self.steps) == [0, 1, 2, 3, 4, 5])
      let replaced = try await HealthImport.run(scratch("old.xml"), into: store, replaces: true)
      #expect(replaced.removal == .done)
      #expect(replaced.types.map(\.removed) == [4])
      #expect(try await Export.starts(store, Self.steps) == [0, 5])
      await store.close()
    }
  }

  @Test func `an export without its end, or without a date, removes nothing`() async throws {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full), to: "old.xml")
    let few = [(Self.steps, 0, "1"), (Self.steps, 5, "1")]
    try scratch.write(Export.xml(few, day: 3, isWhole: false), to: "cut.xml")
    try scratch.write(Export.xml(few, day: nil), to: "undated.xml")
    let store = MemoryHealthStore()
    _ = try await HealthImport.run(scratch("old.xml"), into: store)
    for (file, removal) in [
      ("cut.xml", HealthImport.Removal.incomplete), ("undated.xml", .undated),
    ] {
      #expect(try await HealthImport.run(scratch(file), into: store).removal == removal)
    }
    let cut = try await HealthImport.run(scratch("cut.xml"), into: store, replaces: true)
    #expect(cut.removal == .incomplete)
    #expect(try await Export.starts(store, Self.steps) == [0, 1, 2, 3, 4, 5])
  }

  @Test func `a store of before knows an older export by its newest sample`() async throws {
    let scratch = try Scratch()
    let store = MemoryHealthStore()
    let late = Timestamp(nanoseconds: 1_767_700_000_000_000_000)
    try await store.add([
      HealthSample(
        type: Self.steps, value: .quantity(1), unit: "count", start: late, end: late, source: "w")
    ])
    try scratch.write(Export.xml(Self.full), to: "old.xml")
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
