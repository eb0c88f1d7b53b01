package import HoldfastCore
import HoldfastPorts

/// The SQL statements of a durable outbox.
package struct OutboxTables: Tables {
  package static let kind = StoreKind(
    name: "outbox",
    schema: Schema(
      applicationID: 0x4846_6F62,  // "HFob"
      tables: """
        CREATE TABLE messages(
          id INTEGER PRIMARY KEY AUTOINCREMENT, is_text INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;
        """),
    settings: "PRAGMA secure_delete = ON")

  package let database: Database

  package init(_ database: Database) {
    self.database = database
  }
}

/// The outbox of one socket in a SQLite file, `outbox.sqlite`.
///
/// A stored message survives a power failure. A removed message is overwritten, and in the
/// write-ahead log this happens at the next checkpoint.
package typealias SQLiteOutbox = SQLiteFile<OutboxTables>

extension SQLiteFile: OutboxStore where T == OutboxTables {
  package func load() throws(StoreFailure) -> [OutboxMessage] {
    // To SQLite, an ID of 2^63 or more is a negative integer.
    try read { tables throws(StoreFailure) in
      try tables.database.query("SELECT id, is_text, bytes FROM messages ORDER BY id < 0, id") {
        row throws(StoreFailure) in
        let bytes = try row.optionalBlob(2) ?? []
        let message =
          try row.integer(1) == 1 ? SocketMessage(text: bytes) : SocketMessage(binary: bytes)
        return OutboxMessage(id: UInt64(bitPattern: try row.integer(0)), message: message)
      }
    }
  }

  package func lastID() throws(StoreFailure) -> UInt64 {
    // SQLite keeps the highest ID of removed rows too, but not a negative one.
    try read { tables throws(StoreFailure) in
      let ids = try tables.database.query(
        """
        SELECT id FROM (
          SELECT seq AS id FROM sqlite_sequence WHERE name = 'messages'
          UNION ALL SELECT id FROM messages)
        ORDER BY id >= 0, id DESC LIMIT 1
        """
      ) { row throws(StoreFailure) in UInt64(bitPattern: try row.integer(0)) }
      return ids.first ?? 0
    }
  }

  package func add(_ entry: OutboxMessage) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in
      _ = try tables.database.run(
        "INSERT OR REPLACE INTO messages(id, is_text, bytes) VALUES (?, ?, ?)",
        [
          .integer(Int64(bitPattern: entry.id)), .integer(entry.message.isText ? 1 : 0),
          .blob(entry.message.bytes ?? []),
        ])
    }
  }

  package func remove(_ ids: [UInt64]) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in
      for id in ids {
        try tables.database.run(
          "DELETE FROM messages WHERE id = ?", [.integer(Int64(bitPattern: id))])
      }
    }
  }
}
