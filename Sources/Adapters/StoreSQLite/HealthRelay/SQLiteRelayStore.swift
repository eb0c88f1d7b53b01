package import LinkCore
import LinkRuntime
package import LinkWire

/// The relay's store in one SQLite file, `relay.sqlite`, apart from the messages: it can be deleted
/// at the price of pairing anew, and a backup of messages holds none of it.
///
/// A change that returned survives a power cut. What is removed is overwritten in the file, and the
/// write-ahead log is emptied after the commit, and when the store is opened and closed.
package typealias SQLiteRelayStore = SQLiteFile<RelayTables>

extension SQLiteFile: RelayStore where T == RelayTables {
  package func kept() throws(StoreFailure) -> RelayKept {
    try read { tables throws(StoreFailure) in try tables.kept() }
  }

  package func apply(_ changes: [RelayChange]) throws(StoreFailure) {
    try write { tables throws(StoreFailure) in
      for change in changes { try tables.apply(change) }
    }
    // The changes are durable. A log that cannot be emptied now must not make them fail.
    if changes.contains(where: \.forgets) { tables?.clean() }
  }
}

extension RelayChange {
  /// Whether it removes something that must not be found in a file.
  fileprivate var forgets: Bool {
    switch self {
    case .endPhone, .endAccess, .endQuestion: true
    case .phone, .access, .question: false
    }
  }
}
