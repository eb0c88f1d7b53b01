import LinkCore
import LinkHealth
import Testing

/// Random exports, compared with a reference implementation that is given their parts.
@Suite struct RandomExportTests {
  @Test(arguments: randomSeeds)
  func `an export is read as it was meant, in pieces of any length`(seed: UInt64) {
    var random = RandomExport(chance: Chance(seed: seed))
    for kind in random.kinds() {
      let draft = random.draft(kind)
      let expected = ReferenceExport(draft).outcome
      guard let difference = firstDifference(random.read(draft), expected) else { continue }
      let text = String(decoding: draft.bytes, as: UTF8.self).debugDescription
      Issue.record("seed \(seed), \(kind): \(difference) in \(text.prefix(9_000))")
      return
    }
  }

  private static let changes: [(String, @Sendable (inout ExportOutcome) -> Void)] = [
    ("error", { $0.error = .empty }), ("errorAgain", { $0.errorAgain = .empty }),
    ("samples", { $0.samples[0].zone = "UTC" }), ("keys", { $0.keys[0].low ^= 1 }),
    ("batches", { $0.batches[0][0].count += 1 }), ("skipped", { $0.skipped = ["noType 1"] }),
    ("skippedOfType", { $0.skippedOfType["t"] = 1 }),
    ("samplesOfType", { $0.samplesOfType["t"] = 99 }), ("version", { $0.version = 99 }),
    ("locale", { $0.locale = "xx" }), ("exported", { $0.exported = .init(nanoseconds: 1) }),
    ("isWhole", { $0.isWhole.toggle() }), ("bytes", { $0.bytes += 1 }),
    ("repaired", { $0.repaired += 1 }),
    ("holdsLittle", { $0.holdsLittle = false }), ("isCompact", { $0.isCompact = false }),
  ]

  @Test(arguments: changes.indices)
  func `a comparison of exports fails at each property`(place: Int) throws {
    var random = RandomExport(chance: Chance(seed: 1))
    let draft = random.draft(.manyStretches)
    let expected = ReferenceExport(draft).outcome
    var found = random.read(draft)
    #expect(firstDifference(found, expected) == nil)
    let (name, change) = Self.changes[place]
    change(&found)
    let difference = try #require(firstDifference(found, expected))
    #expect(difference.hasPrefix(name))
  }
}
