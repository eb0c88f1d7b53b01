import Foundation
import Holdfast
import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of imports from a file into a store, including interruptions and failures.
@Suite struct HealthImportTests {
  /// Returns a generated export with more than a thousand samples.
  private static func export(days: Int = 5) -> [UInt8] {
    var generator = HealthExportGenerator(
      .init(seed: 3, firstDay: 20_000, days: days, density: 0.3))
    var bytes: [UInt8] = []
    while let chunk = generator.next() { bytes += chunk }
    return bytes
  }

  @Test func `an import stores each sample of an export once, and a second import adds nothing`()
    async throws
  {
    let scratch = try Scratch()
    let export = Self.export()
    try scratch.write(export, to: "export.xml")
    let store = MemoryHealthStore()
    let first = try await HealthImport.run(scratch("export.xml"), into: store)
    #expect(first.ending == .complete)
    #expect(first.addition.added + first.addition.known == first.counts.total)
    // The parts of correlations occur twice in the export.
    let parts = String(decoding: export, as: UTF8.self).components(separatedBy: "<Correlation")
      .dropFirst().map { $0.components(separatedBy: "</Correlation>")[0] }
      .joined(separator: "\n").split(separator: "\n").filter { $0.contains("<Record") }
    #expect(first.addition.known == parts.count)
    #expect(!parts.isEmpty)
    let again = try await HealthImport.run(scratch("export.xml"), into: store)
    #expect(again.addition == HealthAddition(known: first.counts.total))
  }

  @Test func `importing a newer export over an older one equals importing the newer one alone`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Self.export(days: 5), to: "older.xml")
    try scratch.write(Self.export(days: 6), to: "newer.xml")
    let (both, alone) = (MemoryHealthStore(), MemoryHealthStore())
    _ = try await HealthImport.run(scratch("older.xml"), into: both)
    _ = try await HealthImport.run(scratch("newer.xml"), into: both)
    _ = try await HealthImport.run(scratch("newer.xml"), into: alone)
    #expect(try await both.summary() == (try await alone.summary()))
  }

  @Test func `the SQLite store and the in-memory store hold the same samples after an import`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Self.export(), to: "export.xml")
    let memory = MemoryHealthStore()
    let disk = try await HoldfastPlatform.healthStore(in: scratch("data"))
    for _ in 0..<2 {
      let left = try await HealthImport.run(scratch("export.xml"), into: memory)
      let right = try await HealthImport.run(scratch("export.xml"), into: disk)
      #expect(left == right)
    }
    let types = try await memory.summary()
    #expect(try await disk.summary() == types)
    let query = HealthSampleQuery(
      types: types.map(\.type), from: Timestamp(nanoseconds: .min),
      to: Timestamp(nanoseconds: .max), limit: 100_000)
    #expect(try await disk.samples(query) == (try await memory.samples(query)))
    await disk.close()
  }

  @Test func `types that differ only in the form of an accent are imported`() async throws {
    let scratch = try Scratch()
    let export = SmallExport.xml([("HKCaf\u{E9}", 1, "1"), ("HKCafe\u{301}", 2, "2")])
    try scratch.write(export, to: "export.xml")
    for store in try await SmallExport.stores(scratch) {
      let first = try await HealthImport.run(scratch("export.xml"), into: store)
      #expect(first.ending == .complete && first.addition.added == 2)
      let again = try await HealthImport.run(scratch("export.xml"), into: store)
      #expect(again.ending == .complete && again.addition.added == 0)
    }
  }

  @Test func `a truncated export is reported as truncated and its readable samples are stored`()
    async throws
  {
    let scratch = try Scratch()
    let bytes = Self.export()
    try scratch.write(bytes.prefix(bytes.count / 2), to: "export.xml")
    let store = MemoryHealthStore()
    let report = try await HealthImport.run(scratch("export.xml"), into: store)
    #expect(report.ending == .truncated)
    #expect(report.addition.added == report.counts.total)
    #expect(report.addition.added > 500)
  }

  @Test func `a stopped import ends early and leaves the samples added so far in the store`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Self.export(days: 60), to: "export.xml")
    let store = MemoryHealthStore()
    let isStopped = Mutex(false)
    let report = try await HealthImport.run(scratch("export.xml"), into: store) {
      isStopped.withLock { $0 }
    } note: { progress in
      isStopped.withLock { $0 = progress.addition.added > 0 }
    }
    #expect(report.ending == .stopped)
    let stored = try await store.summary().compactMap(\.count).reduce(0, +)
    #expect(stored == report.addition.added)
    #expect(stored > 0)
  }

  @Test func `a store says that an import has not ended until one reaches the end of its export`()
    async throws
  {
    let scratch = try Scratch()
    let bytes = Self.export()
    try scratch.write(bytes, to: "whole.xml")
    try scratch.write(bytes.prefix(bytes.count / 2), to: "half.xml")
    try scratch.write(Array("<ClinicalDocument/>".utf8), to: "cda.xml")
    let store = MemoryHealthStore()
    func unfinished() async throws -> Bool { try await store.stored().unfinished != nil }

    _ = try? await HealthImport.run(scratch("cda.xml"), into: store)
    #expect(try await !unfinished())
    let stopped = try await HealthImport.run(scratch("whole.xml"), into: store) { true }
    #expect(stopped.ending == .stopped)
    #expect(try await unfinished())
    _ = try? await HealthImport.run(scratch("cda.xml"), into: store)
    #expect(try await unfinished())
    _ = try await HealthImport.run(scratch("whole.xml"), into: store)
    #expect(try await !unfinished())
    _ = try await HealthImport.run(scratch("half.xml"), into: store)
    #expect(try await unfinished())
  }

  @Test func `import progress never decreases and ends at the size of the file`() async throws {
    let scratch = try Scratch()
    let bytes = Self.export()
    try scratch.write(bytes, to: "export.xml")
    let seen = Mutex<[HealthImport.Progress]>([])
    _ = try await HealthImport.run(
      scratch("export.xml"), into: MemoryHealthStore(),
      note: { progress in seen.withLock { $0.append(progress) } })
    let steps = seen.withLock { $0 }
    #expect(steps.allSatisfy { $0.total == bytes.count })
    #expect(steps.map(\.bytes) == steps.map(\.bytes).sorted())
    #expect(steps.last?.bytes == bytes.count)
  }

  @Test func `an import fails with the reason if the file is not an export or the store is full`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Array("<ClinicalDocument/>".utf8), to: "cda.xml")
    try scratch.write(Self.export(), to: "export.xml")
    let store = MemoryHealthStore()
    let foreign = HealthImport.Failure.file(
      "it holds ClinicalDocument, not HealthData", remedy: HealthExportError.exportAgain)
    await #expect(throws: foreign) {
      try await HealthImport.run(scratch("cda.xml"), into: store)
    }
    let gzip = "it is packed with gzip; unpack it with gunzip first"
    try scratch.write([0x1F, 0x8B, 8, 0], to: "export.xml.gz")
    await #expect(throws: HealthImport.Failure.file(gzip, remedy: nil)) {
      try await HealthImport.run(scratch("export.xml.gz"), into: store)
    }
    let utf16 = "it is XML in UTF-16; convert it with iconv -f UTF-16 -t UTF-8 first"
    try scratch.write([0xFF, 0xFE, 0x3C, 0], to: "utf16.xml")
    await #expect(throws: HealthImport.Failure.file(utf16, remedy: nil)) {
      try await HealthImport.run(scratch("utf16.xml"), into: store)
    }
    let unreadable = HealthImport.Failure.file(
      "it cannot be read: No such file or directory", remedy: "check the path and its permissions")
    await #expect(throws: unreadable) {
      try await HealthImport.run(scratch("none"), into: store)
    }
    await store.failNext(with: .full(detail: "disk"))
    await #expect(throws: HealthImport.Failure.store(.full(detail: "disk"))) {
      try await HealthImport.run(scratch("export.xml"), into: store)
    }
    #expect(try await store.summary().isEmpty)
  }
}
