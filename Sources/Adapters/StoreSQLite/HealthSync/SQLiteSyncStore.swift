package import LinkCore
package import LinkHealth
import LinkRuntime
package import LinkWire

/// The synced samples of all users in one SQLite file, `sync.sqlite`.
///
/// A batch is one transaction, and survives a power cut once it returned: the phone deletes its own
/// copy then.
package typealias SQLiteSyncStore = SQLiteFile<SyncTables>

extension SQLiteFile: SyncStore where T == SyncTables {
  package func apply(_ delivery: SyncDelivery) throws(StoreFailure) -> SyncTally {
    try write { tables throws(StoreFailure) in try tables.apply(delivery) }
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
    _ type: String, after: HealthSamplePlace?, limit: Int, of user: String
  ) throws(StoreFailure) -> [SyncRaw] {
    try read { tables throws(StoreFailure) in
      try tables.raw(type, after: after, limit: limit, of: user)
    }
  }
}
