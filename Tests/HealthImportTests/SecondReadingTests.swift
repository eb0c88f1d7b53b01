import Foundation
import Holdfast
import HoldfastCore
import HoldfastTestKit
import Synchronization
import Testing

/// Tests of the second reading of a file, which finds the stored samples that the export lacks.
@Suite struct SecondReadingTests {
  private typealias Export = SmallExport

  private static func steps(_ minutes: [Int], day: Int) -> [UInt8] {
    Export.xml(minutes.map { (Export.steps, $0, "1") }, day: day)
  }

  /// An action that runs once the first reading of the file has ended.
  private final class Between: Sendable {
    private let notes = Mutex(0)
    private let act: @Sendable () -> Void

    init(_ act: @escaping @Sendable () -> Void) { self.act = act }

    /// Counts a progress note. The first note follows the only piece of the file, and the second
    /// note follows the end of the file.
    func note() {
      if notes.withLock({
        $0 += 1; return $0 == 2
      }) {
        act()
      }
    }
  }

  @Test func `a file that is overwritten between the readings removes nothing`() async throws {
    let scratch = try Scratch()
    for store in try await Export.stores(scratch) {
      try scratch.write(Self.steps([0, 1, 2, 3, 4, 5], day: 2), to: "old.xml")
      try scratch.write(Self.steps([0, 1, 3, 4, 5], day: 3), to: "new.xml")
      let other = Self.steps([0, 10, 11, 12, 13], day: 3)
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let between = Between { try? scratch.write(other, to: "new.xml") }
      let report = try await HealthImport.run(
        scratch("new.xml"), into: store, note: { _ in between.note() })
      #expect(report.removal == .unrepeatable)
      #expect(try await Export.starts(store, Export.steps) == [0, 1, 2, 3, 4, 5])
      // No sample of the new file is considered stored.
      let added = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(added.types.map(\.added) == [4])
      await store.close()
    }
  }

  /// Whether an export is in a zip, which a Mac does not read.
  #if os(Linux)
    private static let zips = [false, true]
  #else
    private static let zips = [false]
  #endif

  @Test(arguments: zips)
  func `a file that is replaced by another between its two readings is read to its end`(
    _ isZip: Bool
  ) async throws {
    let scratch = try Scratch()
    for store in try await Export.stores(scratch) {
      try scratch.write(Self.steps([0, 1, 2, 3, 4, 5], day: 2), to: "old.xml")
      let new = Self.steps([0, 1, 3, 4, 5], day: 3)
      try scratch.write(isZip ? Zip([("export.xml", new)]).bytes : new, to: "new")
      try scratch.write(Self.steps([0, 10, 11, 12, 5], day: 3), to: "other")
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let between = Between {
        try? FileManager.default.removeItem(atPath: scratch("new"))
        try? FileManager.default.moveItem(atPath: scratch("other"), toPath: scratch("new"))
      }
      let report = try await HealthImport.run(
        scratch("new"), into: store, note: { _ in between.note() })
      #expect(report.removal == .done)
      #expect(try await Export.starts(store, Export.steps) == [0, 1, 3, 4, 5])
      let added = try await HealthImport.run(scratch("new"), into: store)
      #expect(added.types.map(\.added) == [3])
      await store.close()
    }
  }

  @Test func `an import that is stopped during its second reading removes nothing`() async throws {
    let scratch = try Scratch()
    try scratch.write(Self.steps([0, 1, 2, 3, 4, 5], day: 2), to: "old.xml")
    try scratch.write(Self.steps([0, 1, 3, 4, 5], day: 3), to: "new.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("old.xml"), into: store)
      let isStopped = Mutex(false)
      let between = Between { isStopped.withLock { $0 = true } }
      let report = try await HealthImport.run(
        scratch("new.xml"), into: store, isStopped: { isStopped.withLock { $0 } },
        note: { _ in between.note() })
      #expect(report.ending == .stopped)
      #expect(report.removal == .incomplete)
      #expect(report.types.map(\.removed) == [0])
      #expect(try await Export.starts(store, Export.steps) == [0, 1, 2, 3, 4, 5])
      // The interrupted second reading does not affect the next import.
      let again = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(again.types.map(\.removed) == [1])
      await store.close()
    }
  }

  @Test func `a repeated sample of a large type does not hide a missing sample`()
    async throws
  {
    let scratch = try Scratch()
    let old = (0..<65_540).map { (Export.heart, $0, "60") }
    var new = old
    // One sample is missing. Another one is repeated at the end of the file.
    new.remove(at: 65_000)
    new.append(old[100])
    try scratch.write(Export.xml(seconds: old, day: 2), to: "old.xml")
    try scratch.write(Export.xml(seconds: new, day: 3), to: "new.xml")
    let store = try await HoldfastPlatform.healthStore(in: scratch("data"))
    _ = try await HealthImport.run(scratch("old.xml"), into: store)
    let report = try await HealthImport.run(scratch("new.xml"), into: store)
    #expect(report.types.map(\.removed) == [1])
    #expect(report.types.map(\.stored) == [65_539])
    await store.close()
  }
}
