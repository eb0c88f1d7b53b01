package import HoldfastCore
package import HoldfastSyncData

/// Packs pages of a source into batches, within the limits of one request.
package struct SyncPacking: Sendable {
  /// The encoded body of a batch, with the counts of its content.
  package struct Packed: Sendable, Hashable {
    /// The body.
    package var bytes: [UInt8]
    /// The number of records and workouts.
    package var records: Int
    /// The number of deletions.
    package var deletions: Int

    init(_ batch: SyncBatch) {
      bytes = batch.bytes
      records = (batch.records?.count ?? 0) + (batch.workouts?.count ?? 0)
      deletions = batch.deletedUUIDs.count
    }
  }

  /// The maximum number of records in a batch, and the maximum number of deletions, as in the
  /// original app.
  package static let mostRecords = 1_000
  /// The maximum size in bytes of a batch with more than one record. Project choice: a thousand
  /// records have about 350 kB, and hosts accept 4 MB and more.
  package static let mostBytes = 1 << 20

  /// The phone's ID in batches.
  package var deviceID: String

  /// Creates a packer for a phone.
  package init(deviceID: String) { self.deviceID = deviceID }

  /// Packs a page into batches: its deletions first, then its samples, in order.
  ///
  /// - Parameter made: The time when the page was read. It must not be before that of an earlier
  ///   page of this phone.
  package func batches(of type: String, _ page: SourcePage, made: Timestamp) -> [Packed] {
    let empty = SyncBatch(
      dataType: SyncTypes.dataType(of: type), deviceID: deviceID, timestamp: SyncTime(made))
    var found: [Packed] = []
    var deletions = page.deleted[...]
    var samples = page.added[...]
    while !deletions.isEmpty || !samples.isEmpty {
      var batch = empty
      batch.deletedUUIDs = Array(deletions.prefix(Self.mostRecords))
      deletions = deletions.dropFirst(Self.mostRecords)
      // Deletions come before all samples, since a batch applies its deletions before its samples.
      if deletions.isEmpty {
        let part = samples.prefix(Self.mostRecords)
        samples = samples.dropFirst(part.count)
        let (records, workouts) = (
          part.compactMap(SyncTypes.record), part.compactMap(SyncTypes.workout)
        )
        if !records.isEmpty { batch.records = records }
        if !workouts.isEmpty { batch.workouts = workouts }
      }
      found += Self.bounded(batch)
    }
    return found
  }

  /// Returns the batch, split into as many parts as its size requires.
  private static func bounded(_ batch: SyncBatch) -> [Packed] {
    let packed = Packed(batch)
    guard packed.bytes.count > mostBytes, let (first, second) = batch.halves else {
      return [packed]
    }
    return bounded(first) + bounded(second)
  }

  /// Splits an encoded batch into two parts with the same content. Returns `nil` if that is
  /// impossible.
  package static func halves(of body: [UInt8]) -> [Packed]? {
    guard let batch = try? SyncBatch.read(body), let (first, second) = batch.halves else {
      return nil
    }
    return [Packed(first), Packed(second)]
  }
}

extension SyncBatch {
  /// Two batches that together have the same effect; `nil` for a single record or deletion.
  ///
  /// The first batch contains the deletions, unless there are only deletions to split.
  var halves: (SyncBatch, SyncBatch)? {
    let (records, workouts) = (records ?? [], workouts ?? [])
    let count = records.count + workouts.count
    var (first, second) = (self, self)
    second.deletedUUIDs = []
    if count == 0 {
      guard deletedUUIDs.count > 1 else { return nil }
      first.deletedUUIDs = Array(deletedUUIDs.prefix(deletedUUIDs.count / 2))
      second.deletedUUIDs = Array(deletedUUIDs.dropFirst(deletedUUIDs.count / 2))
      return (first, second)
    }
    guard count > 1 || !deletedUUIDs.isEmpty else { return nil }
    let middle = count / 2
    first.take(records.prefix(middle), workouts.prefix(max(0, middle - records.count)))
    second.take(
      records.dropFirst(middle), workouts.dropFirst(max(0, middle - records.count)))
    return (first, second)
  }

  private mutating func take(_ records: ArraySlice<SyncRecord>, _ workouts: ArraySlice<SyncWorkout>)
  {
    self.records = records.isEmpty ? nil : Array(records)
    self.workouts = workouts.isEmpty ? nil : Array(workouts)
  }
}
