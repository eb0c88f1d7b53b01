package import HoldfastCore
import HoldfastPorts

/// A node that uses a database, as the database knows it.
package struct NodeRecord: Sendable {
  package var name: String
  /// The version of its software.
  package var version: String
  /// Whether the node runs the services that run at one node at a time.
  package var hasRole: Bool
  /// Whether the node moves the content of the database.
  package var moves: Bool
  /// The time since the node has registered.
  package var age: Duration
  /// The time until its lease ends; negative if it has ended.
  package var lease: Duration

  /// Returns the nodes that use a database, or have used it within a day and have not left, by name.
  package static func all(of settings: DatabaseSettings) throws(StoreFailure) -> [NodeRecord] {
    let rows: [Row]
    do throws(DatabaseFailure) {
      let connection = try ServerChoice.open(settings, applicationName: "holdfast", known: 0)
      rows = try connection.run([
        Command(
          """
          SELECT n.name, n.version, r.run IS NOT NULL, n.moves,
            extract(epoch FROM clock_timestamp() - n.since)::bigint,
            (1000 * extract(epoch FROM n.lease_until - clock_timestamp()))::bigint
          FROM nodes n LEFT JOIN roles r ON r.run = n.run
          WHERE n.lease_until > clock_timestamp() - interval '1 day' ORDER BY n.name, n.id
          """)
      ])[0]
    } catch {
      guard case .refused("42P01", _) = error else { throw error.asStoreFailure }
      throw .denied(
        detail:
          "The database has no tables of a backend. Check the URL; `holdfast serve --database "
          + "URL` creates them.")
    }
    var nodes: [NodeRecord] = []
    for row in rows {
      nodes.append(
        NodeRecord(
          name: try row.text(0), version: try row.text(1), hasRole: try row.flag(2),
          moves: try row.flag(3), age: .seconds(try row.integer(4)),
          lease: .milliseconds(try row.integer(5))))
    }
    return nodes
  }
}
