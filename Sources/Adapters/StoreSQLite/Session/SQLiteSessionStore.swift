package import LinkCore
import LinkRuntime
package import LinkWire

/// The store of sessions in one SQLite file, `session.sqlite`.
///
/// A change that returned survives a power cut.
package typealias SQLiteSessionStore = SQLiteFile<SessionTables>

extension SQLiteFile: SessionStore where T == SessionTables {
  package func kept() throws(StoreFailure) -> SessionKept {
    try read { tables throws(StoreFailure) in try tables.kept() }
  }

  package func apply(_ changes: [SessionChange]) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in
      for change in changes { try tables.apply(change) }
    }
  }
}
