import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastTestKit
import Testing

/// Tests of importing an export that lacks samples of an earlier export.
@Suite struct ImportRemovalTests {
  private typealias Export = SmallExport
  private static let (steps, heart) = (Export.steps, Export.heart)

  private static let full = (0..<6).map { (steps, $0, "1") } + [(heart, 3, "60")]

  @Test func `a newer export removes stored samples of every type that it lacks up to its date`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full), to: "old.xml")
    // The newer export lacks the first step sample, the last one, another one, and all heart rates.
    // It contains one new sample.
    let newer = [1, 3, 4, 9].map { (Self.steps, $0, "1") }
    try scratch.write(Export.xml(newer, day: 3), to: "new.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let report = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(report.removal == .done)
      var steps = HealthImport.TypeReport(type: Self.steps)
      (steps.added, steps.kept, steps.removed, steps.stored) = (1, 3, 3, 4)
      var heart = HealthImport.TypeReport(type: Self.heart)
      heart.removed = 1
      #expect(report.types == [heart, steps])
      #expect(try await Export.starts(store, Self.steps) == [1, 3, 4, 9])
      #expect(try await Export.starts(store, Self.heart) == [])
      // Importing the same export again changes nothing, and whole spans are recognized.
      let again = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(again.removal == .done)
      #expect(again.types.map(\.removed) == [0])
      // The older export does not restore a type that the newer export lacks.
      let older = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(older.types.map(\.outdated) == [1, 3])
      #expect(try await Export.starts(store, Self.heart) == [])
      await store.close()
    }
  }

  @Test func `an older export removes nothing unless the import is set to replace`() async throws {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full, day: 5), to: "new.xml")
    try scratch.write(Export.xml([(Self.steps, 0, "1"), (Self.steps, 5, "1")]), to: "old.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("new.xml"), into: store)
      let older = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(older.removal == .older)
      #expect(try await Export.starts(store, Self.steps) == [0, 1, 2, 3, 4, 5])
      let replaced = try await HealthImport.run(scratch("old.xml"), into: store, replaces: true)
      #expect(replaced.removal == .done)
      // The only heart rate sample is removed, and all step samples except two.
      #expect(replaced.types.map(\.removed) == [1, 4])
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

  /// The kinds of damage to the record of minute 2, and whether its type can still be read.
  private static let damages: [(String, Bool, @Sendable (String) -> String)] = [
    ("the end of the tag is missing", false, { $0.replacingOccurrences(of: "/>", with: "") }),
    ("the beginning of the tag is missing", false, { String($0.dropFirst()) }),
    (
      "a quote is missing", false,
      { $0.replacingOccurrences(of: "sourceName=\"w\"", with: "sourceName=\"w") }
    ),
    ("its type is missing", false, { $0.replacingOccurrences(of: " type=", with: " tipe=") }),
    ("its name is unknown", true, { $0.replacingOccurrences(of: "<Record", with: "<Recorf") }),
    ("its value is no number", true, { $0.replacingOccurrences(of: "\"2\"", with: "\"2x\"") }),
    (
      "its date is invalid", true,
      { $0.replacingOccurrences(of: "startDate=\"2026", with: "startDate=\"2O26") }
    ),
    (
      "its date of creation is invalid", true,
      { $0.replacingOccurrences(of: " startDate", with: " creationDate=\"?\" startDate") }
    ),
    (
      "it ends before it begins", true,
      { $0.replacingOccurrences(of: "endDate=\"2026", with: "endDate=\"2025") }
    ),
    ("a block is lost", false, { String(repeating: "\0", count: $0.utf8.count) }),
    (
      "a block is lost within values", false,
      { record in
        let half = record.utf8.count / 2
        return String(record.prefix(half / 2)) + String(repeating: "\0", count: half)
          + String(record.suffix(half / 2))
      }
    ),
  ]

  @Test(arguments: 0..<11)
  func `unreadable samples of a newer export are not removed and do not become outdated`(
    index: Int
  ) async throws {
    let (name, hasType, damage) = Self.damages[index]
    let scratch = try Scratch()
    let all = (0..<6).map { (Self.steps, $0, "\($0)") } + [(Self.heart, 3, "60")]
    try scratch.write(Export.xml(all), to: "old.xml")
    // The heart rate was deleted on the phone. One line with steps is damaged in the file.
    var lines = String(decoding: Export.xml(Array(all.dropLast()), day: 3), as: UTF8.self)
      .split(separator: "\n").map(String.init)
    let line = try #require(lines.firstIndex { $0.contains("00:02:00") })
    lines[line] = damage(lines[line])
    try scratch.write(Array(lines.joined(separator: "\n").utf8), to: "bad.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let report = try await HealthImport.run(scratch("bad.xml"), into: store)
      #expect(report.ending == .complete, "\(name)")
      #expect(report.removal == .incomplete, "\(name)")
      #expect(report.counts.unread == (hasType ? [Self.steps] : nil), "\(name)")
      #expect(try await Export.starts(store, Self.steps) == [0, 1, 2, 3, 4, 5], "\(name)")
      #expect(try await Export.starts(store, Self.heart) == (hasType ? [] : [3]), "\(name)")
      // If a type of the damaged export is unreadable, samples of an older export do not become
      // outdated either.
      let older = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(older.types.map(\.outdated) == [hasType ? 1 : 0, 0], "\(name)")
      await store.close()
    }
  }

  @Test func `an export without samples removes nothing unless the import is set to replace`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full), to: "old.xml")
    try scratch.write(Export.xml([], day: 3), to: "empty.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(try await HealthImport.run(scratch("empty.xml"), into: store).removal == .incomplete)
      #expect(try await Export.starts(store, Self.heart) == [3])
      let replaced = try await HealthImport.run(scratch("empty.xml"), into: store, replaces: true)
      #expect(replaced.removal == .done)
      #expect(try await store.summary().isEmpty)
      await store.close()
    }
  }

  @Test func `an undated export imported as a replacement leaves only its own samples`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Export.xml(Self.full), to: "old.xml")
    try scratch.write(Export.xml([(Self.steps, 1, "1")], day: nil), to: "undated.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let report = try await HealthImport.run(scratch("undated.xml"), into: store, replaces: true)
      #expect(report.removal == .done)
      #expect(try await Export.starts(store, Self.steps) == [1])
      #expect(try await store.summary().map(\.type) == [Self.steps])
      await store.close()
    }
  }

  @Test func `a workout whose start was corrected is stored once`() async throws {
    func export(_ start: String, day: Int) -> [UInt8] {
      Array(
        """
        <HealthData><ExportDate value="2026-03-\(day) 08:00:00 +0200"/>
        <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="App" duration="30"
        durationUnit="min" startDate="2026-03-27 \(start):00 +0100"
        endDate="2026-03-27 19:00:00 +0100"/></HealthData>
        """.utf8)
    }
    for start in ["18:28", "18:32"] {
      let scratch = try Scratch()
      try scratch.write(export("18:30", day: 29), to: "old.xml")
      try scratch.write(export(start, day: 30), to: "new.xml")
      for store in try await Export.stores(scratch) {
        _ = try await HealthImport.run(scratch("old.xml"), into: store)
        let report = try await HealthImport.run(scratch("new.xml"), into: store)
        #expect(report.types.map { [$0.added, $0.removed, $0.stored] } == [[1, 1, 1]])
        await store.close()
      }
    }
  }

  @Test func `a store without an import date recognizes an older export by its newest sample`()
    async throws
  {
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

  @Test func `an import that removes a sample still recognizes whole spans and counts exactly`()
    async throws
  {
    let scratch = try Scratch()
    let plan = HealthExportGenerator.Plan(seed: 3, firstDay: 20_000, days: 5, density: 0.3)
    var generator = HealthExportGenerator(plan)
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    var lines = String(decoding: bytes, as: UTF8.self).split(
      separator: "\n", omittingEmptySubsequences: false)
    try scratch.write(bytes, to: "old.xml")
    let matches = lines.indices.filter {
      lines[$0].contains("<Record type=\"\(Self.steps)\"") && lines[$0].hasSuffix("/>")
    }
    lines.remove(at: matches[matches.count / 2])
    try scratch.write(Array(lines.joined(separator: "\n").utf8), to: "new.xml")
    let store = try await HoldfastPlatform.healthStore(in: scratch("data"))
    _ = try await HealthImport.run(scratch("old.xml"), into: store)
    let report = try await HealthImport.run(scratch("new.xml"), into: store)
    #expect(report.types.reduce(0) { $0 + $1.removed } == 1)
    for type in report.types {
      let read = type.added + type.kept + type.repeated
      #expect(read == report.counts.samples[type.type] ?? 0)
    }
    #expect(report.types.reduce(0) { $0 + $1.repeated } > 0)
    let left = try await store.summary().reduce(0) { $0 + ($1.count ?? 0) }
    #expect(report.types.reduce(0) { $0 + $1.stored } == left)
    await store.close()
  }
}
