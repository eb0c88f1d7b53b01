package import LinkCore
import LinkRuntime
package import LinkWire

/// What a client of sessions keeps, in one SQLite file, `session-client.sqlite`.
///
/// Every change is one transaction that survives a power cut when it returns: a prompt exists
/// nowhere else, and a message that was acknowledged is not sent again.
package typealias SQLiteClientSessionStore = SQLiteFile<ClientSessionTables>

extension SQLiteFile: ClientSessionStore where T == ClientSessionTables {
  package func open(as client: UUID128) throws(StoreFailure) -> ClientSessionSnapshot {
    try write { tables throws(StoreFailure) in try tables.open(as: client) }
  }

  package func commit(_ change: ClientSessionChange) throws(StoreFailure) -> [NumberedSessionNews] {
    try write { tables throws(StoreFailure) in try tables.commit(change) }
  }

  package func history(
    of conversation: String, before number: UInt64?, limit: Int
  ) throws(StoreFailure) -> [NumberedSessionNews] {
    try read { tables throws(StoreFailure) in
      try tables.history(of: conversation, before: number, limit: limit)
    }
  }

  package func days() throws(StoreFailure) -> [SessionDay] {
    try read { tables throws(StoreFailure) in try tables.days() }
  }
}
