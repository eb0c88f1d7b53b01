import HoldfastSyncData
import HoldfastTestKit
import Testing

/// Tests of the synced samples as a value, with batches applied one at a time.
@Suite struct StoredSyncTests {
  @Test(arguments: [[100, 200], [200, 100]] as [[Int64]])
  func `the latest of several deletions of a sample counts`(times: [Int64]) throws {
    var stored = StoredSync()
    for made in times { _ = stored.apply(try SyncSamples.delivery(deleted: [1], made: made)) }
    for (made, counts) in [
      (199, IngestCounts(refused: 1)), (200, IngestCounts(records: 1)),
    ] as [(Int64, IngestCounts)] {
      let late = try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made)
      #expect(stored.apply(late) == counts)
    }
  }

  @Test(arguments: [(200, 200), (nil, 100)] as [(Int64?, Int64)])
  func `a batch older than a deletion, or than the deleted sample, restores no sample`(
    deleted: Int64?, earliest: Int64
  ) throws {
    func batch(_ made: Int64) throws -> SyncDelivery {
      try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made)
    }
    var stored = StoredSync()
    _ = stored.apply(try batch(100))
    _ = stored.apply(try SyncSamples.delivery(deleted: [1], made: deleted))
    #expect(stored.apply(try batch(earliest - 1)) == IngestCounts(refused: 1))
    #expect(stored.apply(try batch(earliest)) == IngestCounts(records: 1))
  }

  @Test(arguments: [0, 1, 2]) func `a page of records has at least one`(limit: Int) throws {
    var stored = StoredSync()
    let records = [SyncSamples.record(1, uuid: 1), SyncSamples.record(2, uuid: 2)]
    _ = stored.apply(try SyncSamples.delivery(records))
    let page = stored.raw(SyncSamples.steps, after: nil, limit: limit, of: "ann")
    #expect(page.count == max(1, limit))
  }

  @Test func `a batch without a time does not change the time of a sample`() throws {
    var stored = StoredSync()
    for made in [100, nil] as [Int64?] {
      _ = stored.apply(try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made))
    }
    _ = stored.apply(try SyncSamples.delivery(deleted: [1], made: 99))
    #expect(stored.positions(of: "ann").count == 1)
  }
}
