package import HoldfastCore
import HoldfastFeaturePorts
import HoldfastHealthSamples
package import HoldfastSyncData
import HoldfastUploads

/// The SQL statements of a phone's sync queue.
package struct SyncQueueTables: Tables {
  package static let kind = StoreKind(
    name: "sync-queue",
    schema: Schema(
      applicationID: 0x4846_7371,  // "HFsq"
      tables: """
        CREATE TABLE queue(
          only_one INTEGER PRIMARY KEY CHECK (only_one = 1), stamp INTEGER, server TEXT,
          user TEXT, epoch TEXT) STRICT;
        INSERT INTO queue(only_one) VALUES (1);
        CREATE TABLE asked(place INTEGER PRIMARY KEY, type TEXT NOT NULL) STRICT;
        CREATE TABLE types(
          type TEXT PRIMARY KEY NOT NULL, anchor BLOB, synced INTEGER NOT NULL,
          accepted INTEGER, earliest INTEGER) STRICT, WITHOUT ROWID;
        CREATE TABLE batches(
          file TEXT PRIMARY KEY NOT NULL, type TEXT NOT NULL, place INTEGER NOT NULL,
          records INTEGER NOT NULL, deletions INTEGER NOT NULL, bytes INTEGER NOT NULL,
          quarantined TEXT) STRICT, WITHOUT ROWID;
        """))

  package let database: Database

  package init(_ database: Database) {
    self.database = database
  }

  func stored() throws(StoreFailure) -> StoredSyncQueue {
    let asked = try database.query("SELECT type FROM asked ORDER BY place") {
      row throws(StoreFailure) in try row.text(0)
    }
    let types = try database.query(
      "SELECT type, anchor, synced, accepted, earliest FROM types"
    ) { row throws(StoreFailure) in
      SyncedType(
        type: try row.text(0), anchor: try row.optionalBlob(1).map { HealthAnchor($0) },
        synced: Int(try row.integer(2)), lastAccepted: try row.optionalTime(3),
        earliest: try row.optionalTime(4))
    }
    let batches = try database.query(
      "SELECT file, type, place, records, deletions, bytes, quarantined FROM batches"
    ) { row throws(StoreFailure) in
      QueuedBatch(
        file: try row.text(0), type: try row.text(1), position: try row.unsigned(2),
        records: Int(try row.integer(3)), deletions: Int(try row.integer(4)),
        bytes: Int(try row.integer(5)), quarantined: try row.optionalText(6))
    }
    let state = try database.query(
      "SELECT stamp, server, user, epoch FROM queue"
    ) { row throws(StoreFailure) in
      let (user, epoch) = (try row.optionalText(2), try row.optionalText(3))
      return (
        stamp: try row.optionalTime(0),
        owner: try row.optionalText(1).map { SyncOwner(server: $0, user: user, epoch: epoch) }
      )
    }.first
    return StoredSyncQueue(
      asked: asked, types: types, batches: batches,
      stamp: state?.stamp ?? Timestamp(nanoseconds: .min), owner: state?.owner)
  }

  func apply(_ step: SyncQueueStep) throws(StoreFailure) {
    switch step {
    case .ask(let types): try ask(types)
    case .anchor(let type, let anchor?):
      try database.run(
        """
        INSERT INTO types(type, anchor, synced) VALUES (?, ?, 0)
        ON CONFLICT (type) DO UPDATE SET anchor = excluded.anchor
        """, [.text(type), .blob(anchor.bytes)])
    case .anchor(let type, nil):
      try database.run("DELETE FROM types WHERE type = ?", [.text(type)])
    case .earliest(let type, let time):
      try database.run(
        """
        INSERT INTO types(type, synced, earliest) VALUES (?, 0, ?)
        ON CONFLICT (type) DO UPDATE SET
          earliest = min(coalesce(earliest, excluded.earliest), excluded.earliest)
        """, [.text(type), .time(time)])
    case .own(let owner, let again): try own(owner, again: again)
    case .add(let batch): try add(batch)
    case .accept(let file, let time): try accept(file, at: time)
    case .remove(let file):
      try database.run("DELETE FROM batches WHERE file = ?", [.text(file)])
    case .quarantine(let file, let reason):
      try database.run(
        "UPDATE batches SET quarantined = ? WHERE file = ?", [.text(reason), .text(file)])
    case .stamp(let time):
      try database.run(
        "UPDATE queue SET stamp = max(coalesce(stamp, ?1), ?1)", [.time(time)])
    }
  }

  private func own(_ owner: SyncOwner, again: Bool) throws(StoreFailure) {
    try database.run(
      "UPDATE queue SET server = ?, user = ?, epoch = ?",
      [.text(owner.server), .text(owner.user), .text(owner.epoch)])
    guard again else { return }
    try database.run("UPDATE types SET anchor = NULL, synced = 0, accepted = NULL")
  }

  private func ask(_ types: [String]) throws(StoreFailure) {
    try database.run("DELETE FROM asked")
    for (index, type) in types.enumerated() {
      try database.run(
        "INSERT INTO asked(place, type) VALUES (?, ?)", [.integer(index), .text(type)])
    }
  }

  private func add(_ batch: QueuedBatch) throws(StoreFailure) {
    try database.run(
      "INSERT OR REPLACE INTO batches VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        .text(batch.file), .text(batch.type), .integer(Int64(clamping: batch.position)),
        .integer(batch.records), .integer(batch.deletions), .integer(batch.bytes),
        .text(batch.quarantined),
      ])
  }

  private func accept(_ file: String, at time: Timestamp) throws(StoreFailure) {
    try database.run(
      """
      INSERT INTO types(type, synced, accepted)
      SELECT type, records, ?2 FROM batches WHERE file = ?1
      ON CONFLICT (type) DO UPDATE SET synced = synced + excluded.synced,
        accepted = excluded.accepted
      """, [.text(file), .time(time)])
    try database.run("DELETE FROM batches WHERE file = ?", [.text(file)])
  }
}

/// A phone's sync queue in one SQLite file, `sync-queue.sqlite`.
///
/// Each change survives a power failure once the call has returned, because anchors advance
/// together with the batches of the samples that were read.
package typealias SQLiteSyncQueueStore = SQLiteFile<SyncQueueTables>

extension SQLiteFile: SyncQueueStore where T == SyncQueueTables {
  package func stored() throws(StoreFailure) -> StoredSyncQueue {
    try read { tables throws(StoreFailure) in try tables.stored() }
  }

  package func apply(_ steps: [SyncQueueStep]) throws(StoreFailure) {
    guard !steps.isEmpty else { return }
    try write { tables throws(StoreFailure) in
      for step in steps { try tables.apply(step) }
    }
  }
}
