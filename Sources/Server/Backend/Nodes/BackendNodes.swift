public import HoldfastCore
import HoldfastPorts
import HoldfastPostgreSQLStores

/// A node of a backend over PostgreSQL.
public struct BackendNode: Sendable {
  /// The state of a node.
  public enum State: String, Sendable {
    /// The node has a lease.
    case alive
    /// The lease of the node has ended.
    case gone
    /// The node moves the content of the database.
    case moving
  }

  /// The name of the node.
  public var name: String
  /// The version of its software.
  public var version: String
  public var state: State
  /// Whether the node runs the relay, the endpoints of assistants and sessions.
  public var runsServicesOfOneNode: Bool
  /// The time since the node has started.
  public var age: Duration
  /// The time until its lease ends; negative if it has ended.
  public var lease: Duration

  /// Returns the nodes that use a database, or have used it within a day and were not stopped.
  ///
  /// - Parameter database: The URL of the database, without a password.
  public static func all(of database: String) throws(StoreFailure) -> [BackendNode] {
    try NodeRecord.all(of: DatabaseSettings(database)).map { record in
      let isAlive = record.lease > .zero
      return BackendNode(
        name: record.name, version: record.version,
        state: !isAlive ? .gone : record.moves ? .moving : .alive,
        runsServicesOfOneNode: isAlive && record.hasRole, age: record.age, lease: record.lease)
    }
  }
}
