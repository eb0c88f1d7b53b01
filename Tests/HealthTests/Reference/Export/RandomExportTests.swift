import HoldfastCore
import Testing

/// Tests that compare readings of random exports with a reference implementation.
@Suite struct RandomExportTests {
  @Test(arguments: randomSeeds)
  func `random exports are read like the reference implementation in pieces of any length`(
    seed: UInt64
  ) {
    var random = RandomExport(generator: RandomSource(seed: seed))
    for kind in random.kinds() {
      let draft = random.draft(kind)
      let expected = ReferenceExport(draft).outcome
      guard let difference = firstDifference(random.read(draft), expected) else { continue }
      let text = String(decoding: draft.bytes, as: UTF8.self).debugDescription
      Issue.record("seed \(seed), \(kind): \(difference) in \(text.prefix(9_000))")
      return
    }
  }
}
