package import HoldfastCore
import HoldfastFeaturePorts
package import HoldfastHealthSamples
package import HoldfastSyncData

/// A store of the synced samples of all users in one SQLite file, `sync.sqlite`.
///
/// Batches that wait at the same time are stored in one transaction. A batch survives a power
/// failure once the call has returned, because the phone then deletes its own copy. The epoch is a
/// random value that is drawn when the file is created. A file that is restored from a backup keeps
/// its epoch unless it is opened with `newEpoch`.
package typealias SQLiteSyncStore = SQLiteFile<SyncTables>

extension SQLiteFile: SyncStore where T == SyncTables {
  /// Opens the store, optionally with a new epoch.
  ///
  /// - Parameter newEpoch: Whether to begin a new epoch for the same samples, as after the
  ///   restoration of a backup.
  package static func open(
    in directory: String, newEpoch: Bool
  ) async throws(StoreFailure) -> SQLiteFile {
    let store = try await open(in: directory)
    if newEpoch { try await store.beginEpoch() }
    return store
  }

  private func beginEpoch() throws(StoreFailure) {
    try write { tables throws(StoreFailure) in try tables.beginEpoch() }
  }

  package func epoch() throws(StoreFailure) -> String {
    try read { tables throws(StoreFailure) in try tables.epoch() }
  }

  package func newestStamp(
    of user: String, device: String
  ) throws(StoreFailure) -> Timestamp? {
    try read { tables throws(StoreFailure) in
      try tables.newestStamp(of: user, device: device)
    }
  }

  package func lastSync(of user: String) throws(StoreFailure) -> Timestamp? {
    try read { tables throws(StoreFailure) in try tables.lastSync(of: user) }
  }

  package func apply(_ delivery: SyncDelivery) async throws(StoreFailure) -> IngestCounts {
    let bytes = delivery.samples.reduce(0) { $0 + $1.raw.count }
    return try await writeTogether(bytes: bytes) { tables throws(StoreFailure) in
      try tables.apply(delivery)
    }
  }

  package func samples(
    _ query: HealthSampleQuery, of user: String
  ) throws(StoreFailure) -> HealthSamplePage {
    try read { tables throws(StoreFailure) in try tables.page(query, of: user) }
  }

  package func summary(of user: String) throws(StoreFailure) -> [HealthTypeSummary] {
    try read { tables throws(StoreFailure) in try tables.summary(of: user) }
  }

  package func raw(
    _ type: String, after: HealthSamplePosition?, limit: Int, of user: String
  ) throws(StoreFailure) -> [SyncRaw] {
    try read { tables throws(StoreFailure) in
      try tables.raw(type, after: after, limit: limit, of: user)
    }
  }
}
