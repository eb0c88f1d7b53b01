import Foundation
import Holdfast
import HoldfastCore
import HoldfastTestKit
import Testing

/// Tests of importing an export that is older than the samples of a store.
@Suite struct OlderExportTests {
  private typealias Export = SmallExport

  private static func steps(_ minutes: [Int], day: Int) -> [UInt8] {
    Export.xml(minutes.map { (Export.steps, $0, "1") }, day: day)
  }

  private func counts(
    added: Int = 0, kept: Int = 0, repeated: Int = 0, outdated: Int = 0, removed: Int = 0,
    stored: Int
  ) -> HealthImport.TypeReport {
    var counts = HealthImport.TypeReport(type: Export.steps)
    (counts.added, counts.kept, counts.repeated) = (added, kept, repeated)
    (counts.outdated, counts.removed, counts.stored) = (outdated, removed, stored)
    return counts
  }

  @Test func `an older export does not restore samples that a newer export removed`() async throws {
    let scratch = try Scratch()
    try scratch.write(Self.steps([0, 1, 2, 3, 4, 5, 2, 3], day: 2), to: "old.xml")
    try scratch.write(Self.steps([1, 3, 4, 9], day: 3), to: "new.xml")
    for store in try await Export.stores(scratch) {
      for file in ["old.xml", "new.xml"] {
        _ = try await HealthImport.run(scratch(file), into: store)
      }
      for _ in 0..<2 {
        let again = try await HealthImport.run(scratch("old.xml"), into: store)
        #expect(again.removal == .older)
        #expect(again.types == [counts(kept: 3, repeated: 1, outdated: 4, stored: 4)])
        #expect(try await Export.starts(store, Export.steps) == [1, 3, 4, 9])
      }
      // This includes samples before the first and after the last sample of the newer export.
      try scratch.write(Self.steps([0, 2, 10], day: 2), to: "other.xml")
      let other = try await HealthImport.run(scratch("other.xml"), into: store)
      #expect(other.types == [counts(outdated: 3, stored: 4)])
      await store.close()
    }
  }

  @Test func `an older export imported as a replacement becomes the reference for later imports`()
    async throws
  {
    let scratch = try Scratch()
    try scratch.write(Self.steps([0, 1, 2, 3, 4, 5], day: 2), to: "old.xml")
    try scratch.write(Self.steps([0, 3, 4, 9], day: 3), to: "new.xml")
    for store in try await Export.stores(scratch) {
      for file in ["old.xml", "new.xml"] {
        _ = try await HealthImport.run(scratch(file), into: store)
      }
      let old = try await HealthImport.run(scratch("old.xml"), into: store, replaces: true)
      #expect(old.types == [counts(added: 3, kept: 3, removed: 1, stored: 6)])
      let again = try await HealthImport.run(scratch("old.xml"), into: store)
      #expect(again.types == [counts(kept: 6, stored: 6)])
      let new = try await HealthImport.run(scratch("new.xml"), into: store)
      #expect(new.types == [counts(added: 1, kept: 3, removed: 3, stored: 4)])
      await store.close()
    }
  }

  @Test func `an older export removes no samples of a newer truncated export`()
    async throws
  {
    let scratch = try Scratch()
    let steps = [0, 1, 2, 3].map { (Export.steps, $0, "1") }
    try scratch.write(Export.xml(steps, day: 3, isWhole: false), to: "cut.xml")
    try scratch.write(Self.steps([0, 3], day: 2), to: "old.xml")
    for store in try await Export.stores(scratch) {
      _ = try await HealthImport.run(scratch("cut.xml"), into: store)
      #expect(try await HealthImport.run(scratch("old.xml"), into: store).removal == .older)
      #expect(try await Export.starts(store, Export.steps) == [0, 1, 2, 3])
      await store.close()
    }
  }
}
