package import HoldfastCore
public import HoldfastFeaturePorts
package import HoldfastHealthSamples
package import HoldfastSyncData

/// Checks the promises of `SyncStore`, for any implementation and any test library.
///
/// - Parameter make: Creates a new, empty store for each call.
/// - Throws: `ContractViolation` for the first broken promise, or an error of `make`.
public func syncStoreContract(make: () async throws -> any SyncStore) async throws {
  let checks: [@Sendable (any SyncStore) async throws -> Void] = [
    syncStartsEmpty, countsWhatIsNew, separatesUsers, deletesByUUID, keepsWhatAnotherUUIDNames,
    remembersDeletions, remembersNames, movesUUIDs, returnsSamples, pagesSamples,
    storesRecordsAsSent,
    summarisesAfterDeletions, namesItsEpoch, returnsNewestStamps, boundsStampsByTheClock,
    ordersBoundedStamps, syncFailsWhenClosed,
  ]
  for check in checks {
    let store = try await make()
    try await check(store)
    await store.close()
  }
}

/// Sample deliveries for tests of stores.
package enum SyncSamples {
  package static let steps = "HKQuantityTypeIdentifierStepCount"
  package static let second: Int64 = 1_000_000_000

  package static func time(_ second: Int64) -> SyncTime {
    SyncTime(Timestamp(nanoseconds: second * Self.second))
  }

  package static func uuid(_ number: UInt64) -> UUID128 { UUID128(high: 7, low: number) }

  package static func record(
    _ start: Int64, to end: Int64? = nil, type: String = steps, value: Double? = 1,
    text: SyncText = .absent, unit: String? = "count", source: String = "Watch",
    uuid: UInt64? = nil
  ) -> SyncRecord {
    SyncRecord(
      recordType: type, sourceName: source, value: value, valueText: text, unit: unit,
      start: time(start), end: time(end ?? start), uuid: uuid.map(Self.uuid))
  }

  package static func workout(_ start: Int64, uuid: UInt64? = nil) -> SyncWorkout {
    SyncWorkout(
      workoutType: "HKWorkoutActivityTypeRunning", sourceName: "Watch", start: time(start),
      end: time(start + 60), durationSeconds: 50.5, totalDistance: 2, totalEnergyBurned: 30,
      uuid: uuid.map(Self.uuid))
  }

  /// Returns a delivery of a batch that was encoded and decoded again.
  package static func delivery(
    _ records: [SyncRecord] = [], workouts: [SyncWorkout] = [], deleted: [UInt64] = [],
    user: String = "ann", made: Int64? = 1_000, device: String = "phone", arrived: Int64? = nil,
    hash: ([UInt8]) -> SyncHash = fold
  ) throws -> SyncDelivery {
    let batch = SyncBatch(
      dataType: steps, records: records, workouts: workouts, deletedUUIDs: deleted.map(uuid),
      deviceID: device, timestamp: made.map(time))
    return SyncDelivery(
      of: try SyncReading.read(batch.bytes), user: user,
      arrived: arrived.map { time($0).instant }, hash: hash)
  }

  /// Returns a hash in place of SHA-256. The texts in these tests have different hashes.
  package static func fold(_ text: [UInt8]) -> SyncHash {
    var words = SIMD4<UInt64>(1, 2, 3, 4)
    for (index, byte) in text.enumerated() {
      words[index % 4] = (words[index % 4] ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return SyncHash(words: words)
  }

  package static func query(
    _ types: [String] = [steps], from: Int64 = 0, to: Int64 = 10_000,
    after: HealthSamplePosition? = nil, limit: Int = 100
  ) -> HealthSampleQuery {
    HealthSampleQuery(
      types: types, from: Timestamp(nanoseconds: from * second),
      to: Timestamp(nanoseconds: to * second), after: after, limit: limit)
  }
}

private func starts(_ store: any SyncStore, of user: String = "ann") async throws -> [Int64] {
  try await store.samples(SyncSamples.query(), of: user).samples.map {
    $0.start.nanoseconds / SyncSamples.second
  }
}

private func syncStartsEmpty(_ store: any SyncStore) async throws {
  try ContractViolation.unless(
    try await store.summary(of: "ann"), is: [], "a new store holds nothing")
  try ContractViolation.unless(
    try await store.samples(SyncSamples.query(), of: "ann"), is: HealthSamplePage(samples: []),
    "a new store has no page")
  try ContractViolation.unless(
    try await store.apply(SyncDelivery(user: "ann")), is: IngestCounts(), "nothing adds nothing")
}

private func countsWhatIsNew(_ store: any SyncStore) async throws {
  let records = [SyncSamples.record(1), SyncSamples.record(2), SyncSamples.record(1)]
  let delivery = try SyncSamples.delivery(records, workouts: [SyncSamples.workout(5)])
  try ContractViolation.unless(
    try await store.apply(delivery),
    is: IngestCounts(records: 2, workouts: 1, skippedDuplicates: 1), "equal samples are stored once"
  )
  try ContractViolation.unless(
    try await store.apply(delivery), is: IngestCounts(skippedDuplicates: 4),
    "a batch that comes again adds nothing")
  try ContractViolation.unless(try await starts(store), is: [1, 2], "what was added is there")
}

private func separatesUsers(_ store: any SyncStore) async throws {
  _ = try await store.apply(try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)]))
  let counts = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], user: "ben"))
  try ContractViolation.unless(counts, is: IngestCounts(records: 1), "users share nothing")
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], user: "ben"))
  try ContractViolation.unless(try await starts(store), is: [1], "a user deletes their own only")
  try ContractViolation.unless(try await starts(store, of: "ben"), is: [], "and that is deleted")
}

private func deletesByUUID(_ store: any SyncStore) async throws {
  _ = try await store.apply(
    try SyncSamples.delivery(
      [SyncSamples.record(1, uuid: 1), SyncSamples.record(2, uuid: 2), SyncSamples.record(3)],
      workouts: [SyncSamples.workout(5, uuid: 5)]))
  // A sample's UUID may arrive later than the sample.
  _ = try await store.apply(try SyncSamples.delivery([SyncSamples.record(3, uuid: 3)]))
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1, 3, 5, 99]))
  try ContractViolation.unless(try await starts(store), is: [2], "the deleted ones are gone")
  try ContractViolation.unless(
    try await store.samples(SyncSamples.query([HealthSample.workoutType]), of: "ann").samples,
    is: [], "workouts too")
}

private func keepsWhatAnotherUUIDNames(_ store: any SyncStore) async throws {
  _ = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(1, uuid: 1), SyncSamples.record(1, uuid: 2)]))
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1, 1]))
  try ContractViolation.unless(try await starts(store), is: [1], "an equal sample is left")
  _ = try await store.apply(try SyncSamples.delivery(deleted: [2]))
  try ContractViolation.unless(try await starts(store), is: [], "it goes with its last UUID")
}

private func remembersNames(_ store: any SyncStore) async throws {
  func add(_ made: Int64?) async throws {
    _ = try await store.apply(
      try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made))
  }
  try await add(100)
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 99))
  try ContractViolation.unless(
    try await starts(store), is: [1], "a deletion that is older than its sample changes nothing")
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 200))
  try await add(300)
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 200))
  try ContractViolation.unless(
    try await starts(store), is: [1], "nor does one that comes again after its sample came back")
  try await add(400)
  try await add(300)
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 399))
  try ContractViolation.unless(
    try await starts(store), is: [1], "the newest batch that names a sample counts")
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: nil))
  try ContractViolation.unless(
    try await starts(store), is: [], "a deletion without a time applies at once")
  try await add(500)
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 500))
  try ContractViolation.unless(try await starts(store), is: [], "equal times as they come")
}

private func remembersDeletions(_ store: any SyncStore) async throws {
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 100))
  for (made, counts) in [
    (99, IngestCounts(refused: 1)), (100, IngestCounts(records: 1)),
  ] as [(Int64, IngestCounts)] {
    try ContractViolation.unless(
      try await store.apply(try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made)),
      is: counts, "a batch that is older than the deletion brings nothing back")
  }
  _ = try await store.apply(try SyncSamples.delivery(deleted: [2], made: nil))
  let counts = try await store.apply(
    try SyncSamples.delivery(
      [SyncSamples.record(2, uuid: 2), SyncSamples.record(3, uuid: 3)], deleted: [3], made: nil))
  try ContractViolation.unless(
    counts, is: IngestCounts(records: 2), "without times the later batch counts, deletions first")
  // A sample that was stored without its UUID remains stored, and the UUID remains deleted.
  _ = try await store.apply(try SyncSamples.delivery([SyncSamples.record(4)]))
  _ = try await store.apply(try SyncSamples.delivery(deleted: [4], made: 100))
  _ = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(4, uuid: 4)], made: 99))
  try ContractViolation.unless(try await starts(store), is: [1, 2, 3, 4], "nothing else is gone")
}

private func movesUUIDs(_ store: any SyncStore) async throws {
  _ = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(1, uuid: 1), SyncSamples.record(2, uuid: 2)]))
  // The same sample arrives under two UUIDs: at first it is new, then it is known.
  let counts = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(3, uuid: 1), SyncSamples.record(3, uuid: 2)]))
  try ContractViolation.unless(
    counts, is: IngestCounts(records: 1, skippedDuplicates: 1),
    "known content under another UUID is a duplicate")
  try ContractViolation.unless(try await starts(store), is: [3], "a UUID names one sample")
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1, 2]))
  try ContractViolation.unless(
    try await starts(store), is: [], "deleting a UUID deletes its sample")
}

private func returnsSamples(_ store: any SyncStore) async throws {
  let sleep = "HKCategoryTypeIdentifierSleepAnalysis"
  _ = try await store.apply(
    try SyncSamples.delivery(
      [
        SyncSamples.record(1, to: 9, value: 7.5, source: "Ännas\u{A0}Watch"),
        SyncSamples.record(2, value: nil), SyncSamples.record(3, value: .infinity),
        SyncSamples.record(4, to: 3),
        SyncSamples.record(5, type: sleep, value: 3, text: .text("AsleepCore"), unit: nil),
        SyncSamples.record(6, type: sleep, value: 5, unit: nil),
        SyncSamples.record(7, type: sleep, value: 6, unit: nil),
      ], workouts: [SyncSamples.workout(8)]))
  func sample(
    _ type: String, _ value: HealthSampleValue, _ start: Int64, _ end: Int64, unit: String? = nil,
    source: String = "Watch"
  ) -> HealthSample {
    HealthSample(
      type: type, value: value, unit: unit, start: SyncSamples.time(start).instant,
      end: SyncSamples.time(end).instant, source: source)
  }
  let types = [SyncSamples.steps, sleep, HealthSample.workoutType, "unknown"]
  try ContractViolation.unless(
    try await store.samples(SyncSamples.query(types), of: "ann").samples,
    is: [
      sample(
        SyncSamples.steps, .quantity(7.5), 1, 9, unit: "count", source: "Ännas\u{A0}Watch"),
      sample(SyncSamples.steps, .quantity(1), 4, 4, unit: "count"),
      sample(sleep, .category("AsleepCore"), 5, 5), sample(sleep, .category("AsleepREM"), 6, 6),
      sample(
        HealthSample.workoutType,
        .workout(
          WorkoutValue(
            activity: "HKWorkoutActivityTypeRunning", duration: .milliseconds(50_500),
            distance: 3_218.688, energy: 30)), 8, 68),
    ], "samples are reported as answers read them; what has no value is not")
}

private func pagesSamples(_ store: any SyncStore) async throws {
  let records = [
    SyncSamples.record(1, to: 50), SyncSamples.record(5), SyncSamples.record(5, source: "Phone"),
    SyncSamples.record(9), SyncSamples.record(12),
  ]
  _ = try await store.apply(try SyncSamples.delivery(records))
  let whole = try await store.samples(SyncSamples.query(from: 2, to: 12), of: "ann")
  try ContractViolation.unless(
    whole.samples.map { $0.start.nanoseconds / SyncSamples.second }, is: [1, 5, 5, 9],
    "samples that overlap the span, by start")
  try ContractViolation.unless(whole.next, is: nil, "no page follows the last one")
  for limit in [1, 2, 3, 4] {
    var found: [HealthSample] = []
    var after: HealthSamplePosition?
    repeat {
      let page = try await store.samples(
        SyncSamples.query(from: 2, to: 12, after: after, limit: limit), of: "ann")
      found += page.samples
      after = page.next
    } while after != nil
    try ContractViolation.unless(found, is: whole.samples, "pages of \(limit) contain all samples")
  }
}

private func storesRecordsAsSent(_ store: any SyncStore) async throws {
  let body = Array(
    #"{"dataType":"x","records":[{"recordType":"x","sourceName":"s","extra":[1,{"a":null}],"#.utf8)
  let rest = Array(
    #""startTime":"1970-01-01T00:00:0\#(1)Z","endTime":"1970-01-01T00:00:01.50+00:00"}]}"#.utf8)
  let reading = try SyncReading.read(body + rest)
  _ = try await store.apply(
    SyncDelivery(of: reading, user: "ann") { _ in SyncHash(words: SIMD4(1, 2, 3, 4)) })
  _ = try await store.apply(try SyncSamples.delivery([SyncSamples.record(2, type: "x")]))
  let first = try await store.raw("x", after: nil, limit: 1, of: "ann")
  try ContractViolation.unless(
    first.map(\.bytes), is: [Array((body + rest)[reading.recordRanges[0]])],
    "a record is kept as it was sent")
  let next = try await store.raw("x", after: first.first?.position, limit: 5, of: "ann")
  try ContractViolation.unless(next.count, is: 1, "the next ones follow")
  try ContractViolation.unless(
    try await store.raw("y", after: nil, limit: 5, of: "ann"), is: [], "none of other types")
}

private func summarisesAfterDeletions(_ store: any SyncStore) async throws {
  _ = try await store.apply(
    try SyncSamples.delivery([
      SyncSamples.record(3, uuid: 3), SyncSamples.record(1, uuid: 1),
      SyncSamples.record(2, type: "a", uuid: 2), SyncSamples.record(9, source: "Band", uuid: 9),
    ]))
  func summary(
    _ type: String, _ count: Int, _ first: Int64, _ last: Int64, _ sources: [String] = ["Watch"]
  ) -> HealthTypeSummary {
    HealthTypeSummary(
      type: type, count: count, first: SyncSamples.time(first).instant,
      last: SyncSamples.time(last).instant, sources: sources)
  }
  try ContractViolation.unless(
    try await store.summary(of: "ann"),
    is: [summary(SyncSamples.steps, 3, 1, 9, ["Band", "Watch"]), summary("a", 1, 2, 2)],
    "each type is counted, with its sources")
  _ = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(8, uuid: 8)], deleted: [2, 9]))
  try ContractViolation.unless(
    try await store.summary(of: "ann"), is: [summary(SyncSamples.steps, 3, 1, 8)],
    "what was deleted is not counted")
}

private func namesItsEpoch(_ store: any SyncStore) async throws {
  let epoch = try await store.epoch()
  guard (1...64).contains(epoch.utf8.count), epoch.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
  else { throw ContractViolation("an epoch has 1 to 64 printable characters: found \(epoch)") }
  _ = try await store.apply(try SyncSamples.delivery([SyncSamples.record(1)]))
  try ContractViolation.unless(try await store.epoch(), is: epoch, "an epoch stays")
}

private func returnsNewestStamps(_ store: any SyncStore) async throws {
  func newest(_ user: String, _ device: String) async throws -> Int64? {
    try await store.newestStamp(of: user, device: device).map {
      $0.nanoseconds / SyncSamples.second
    }
  }
  try ContractViolation.unless(try await newest("ann", "phone"), is: nil, "none at first")
  for made in [50, 70, 60, nil] as [Int64?] {
    _ = try await store.apply(try SyncSamples.delivery(made: made, arrived: 55))
  }
  _ = try await store.apply(try SyncSamples.delivery(made: 90, device: "watch", arrived: 95))
  _ = try await store.apply(try SyncSamples.delivery(user: "ben", made: 80, arrived: 95))
  func last(_ user: String) async throws -> Int64? {
    try await store.lastSync(of: user).map { $0.nanoseconds / SyncSamples.second }
  }
  try ContractViolation.unless(
    try await newest("ann", "phone"), is: 70, "the newest stamp of a phone, as it was sent")
  try ContractViolation.unless(try await last("ann"), is: 90, "the last sync of all phones")
  try ContractViolation.unless(try await last("cy"), is: nil, "none of a person without batches")
  try ContractViolation.unless(try await newest("ann", "watch"), is: 90, "of each phone")
  try ContractViolation.unless(try await newest("ben", "phone"), is: 80, "of each person")
}

/// A time ten years after the start, in seconds.
private let ahead: Int64 = 315_360_000

private func boundsStampsByTheClock(_ store: any SyncStore) async throws {
  // The clock of one phone is years ahead. Another phone then sends newer changes.
  _ = try await store.apply(
    try SyncSamples.delivery(
      [SyncSamples.record(1, uuid: 1)], made: ahead, device: "ahead", arrived: 100))
  _ = try await store.apply(try SyncSamples.delivery(deleted: [1], made: 105, arrived: 106))
  try ContractViolation.unless(
    try await starts(store), is: [], "a deletion is newer than what came before it")
  let last = try await store.lastSync(of: "ann").map { $0.nanoseconds / SyncSamples.second }
  try ContractViolation.unless(
    last, is: 105, "the last sync is not later than the batch arrived")
  // A copy has the time at which the batch first arrived.
  let copy = try await store.apply(
    try SyncSamples.delivery(
      [SyncSamples.record(1, uuid: 1)], made: ahead, device: "ahead", arrived: 200))
  try ContractViolation.unless(
    copy, is: IngestCounts(refused: 1), "a later copy restores nothing")
  _ = try await store.apply(
    try SyncSamples.delivery(deleted: [2], made: ahead + 1, device: "ahead", arrived: 300))
  let added = try await store.apply(
    try SyncSamples.delivery([SyncSamples.record(2, uuid: 2)], made: 301, arrived: 302))
  try ContractViolation.unless(
    added, is: IngestCounts(records: 1), "a deletion that was ahead ends with the clock")
}

private func ordersBoundedStamps(_ store: any SyncStore) async throws {
  // One phone has sent the time stamps 500 to 503 at time 100. Its batches arrive out of order.
  func add(_ made: Int64, arrived: Int64) async throws -> IngestCounts {
    try await store.apply(
      try SyncSamples.delivery([SyncSamples.record(1, uuid: 1)], made: made, arrived: arrived))
  }
  func delete(_ made: Int64, arrived: Int64) async throws {
    _ = try await store.apply(
      try SyncSamples.delivery(deleted: [1], made: made, arrived: arrived))
  }
  try await delete(503, arrived: 100)
  try ContractViolation.unless(
    try await add(500, arrived: 101), is: IngestCounts(refused: 1), "an earlier stamp is older")
  try ContractViolation.unless(
    try await add(502, arrived: 102), is: IngestCounts(refused: 1), "also between two of them")
  try ContractViolation.unless(
    try await add(501, arrived: 600), is: IngestCounts(refused: 1),
    "also once the clock is behind it")
  try ContractViolation.unless(
    try await add(504, arrived: 100), is: IngestCounts(records: 1),
    "a later one in a second is newer")
  try await delete(503, arrived: 700)
  try ContractViolation.unless(
    try await starts(store), is: [1], "a copy of an older one changes nothing")
  // The clock of the server is set back.
  try await delete(505, arrived: 99)
  try ContractViolation.unless(try await starts(store), is: [], "what comes later is newer")
}

private func syncFailsWhenClosed(_ store: any SyncStore) async throws {
  try await closes(store) { _ = try await store.summary(of: "ann") }
}
