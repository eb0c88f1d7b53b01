import HoldfastTestKit
import LinkWire
import Testing

/// The samples that phones have synced as a value, batch by batch.
@Suite struct KeptSyncTests {
  @Test(arguments: [[100, 200], [200, 100]] as [[Int64]])
  func `of several deletions of a sample the latest one counts`(times: [Int64]) throws {
    var kept = KeptSync()
    for made in times { _ = kept.apply(try SyncSamples.delivery(deleted: [1], made: made)) }
    for (made, tally) in [
      (199, SyncTally(skippedDuplicates: 1)), (200, SyncTally(records: 1)),
    ] as [(Int64, SyncTally)] {
      let late = try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made)
      #expect(kept.apply(late) == tally)
    }
  }
}
