package import HoldfastCore
import HoldfastFeaturePorts
import HoldfastPorts
package import HoldfastServerData

/// The stores in a database, while their content is moved. The lease keeps servers away.
package actor PostgreSQLStores: MovableStores {
  /// The maximum time for one page of rows: the first may wait until the database has sorted them.
  private static let patience = Duration.seconds(600)

  package nonisolated let place: String
  private let executor = QueueExecutor(label: "holdfast.postgresql.reading")
  private let node: DatabaseNode
  private let lane: Lane
  private var connection: Connection?
  private var reading: MovedTable?

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe executor.asUnownedSerialExecutor()
  }

  /// Opens a database.
  ///
  /// - Parameter directory: The data directory that identifies the node.
  package init(
    _ url: String, in directory: String, name: String
  ) async throws(StoreFailure) {
    place = url
    node = try await DatabaseNode.openToMove(
      DatabaseSettings(url), in: directory, name: name)
    lane = Lane(.move, of: node)
  }

  package func close() async {
    connection = nil
    await lane.close()
    await node.close()
  }

  package func note() async throws(StoreFailure) -> MoveNote? { try await node.note() }

  package func setNote(_ note: MoveNote?) async throws(StoreFailure) {
    var commands = [Command("DELETE FROM moved")]
    if let note { commands.append(Command("INSERT INTO moved VALUES ($1)", [.text(note.text)])) }
    let all = commands
    _ = try await lane.write { all + $0.ending() }
  }

  private func find(_ table: MovedTable) throws(StoreFailure) -> MovedSQL {
    guard let sql = MovedSQL.all.first(where: { $0.table == table }) else { throw .closed }
    return sql
  }

  package func count(_ table: MovedTable) async throws(StoreFailure) -> Int {
    let sql = try find(table).select
    let rows = try reading([Command("SELECT count(*) FROM (\(sql)) rows")])
    guard let row = rows[0].first else { throw .unanswered }
    return Int(try row.integer(0))
  }

  package func open(_ table: MovedTable, after skipped: Int) throws(StoreFailure) {
    let sql = try find(table).select
    if reading != nil { _ = try reading([.rollback]) }
    _ = try reading([
      .beginReading,
      Command("DECLARE moved_rows NO SCROLL CURSOR FOR \(sql) OFFSET \(skipped)"),
    ])
    reading = table
  }

  package func next(_ limit: Int) throws(StoreFailure) -> [[MovedValue]] {
    guard let table = reading else { return [] }
    var rows: [[MovedValue]] = []
    for row in try reading([Command("FETCH \(limit) FROM moved_rows")])[0] {
      rows.append(try row.moved(table))
    }
    if rows.isEmpty {
      _ = try reading([.commit])
      reading = nil
    }
    return rows
  }

  /// Runs statements on the connection for reading. It is used only after a commit of the lease.
  private func reading(_ commands: [Command]) throws(StoreFailure) -> [[Row]] {
    do throws(DatabaseFailure) {
      if let connection {
        guard connection.timeline >= node.timeline else {
          throw .lost(detail: "a newer server was found")
        }
        return try connection.run(commands, within: Self.patience)
      }
      let connection = try node.connect()
      guard try node.renew(connection) else {
        throw .lost(detail: "the database has no lease of this node")
      }
      self.connection = connection
      // The transaction with the cursor is idle while the other place stores rows.
      _ = try connection.run([Command("SET idle_in_transaction_session_timeout = 0")])
      return try connection.run(commands, within: Self.patience)
    } catch {
      (connection, reading) = (nil, nil)
      throw error.asStoreFailure
    }
  }

  package func add(_ rows: [[MovedValue]], to table: MovedTable) async throws(StoreFailure) {
    let commands = try find(table).commands(adding: rows)
    _ = try await lane.write { commands + $0.ending() }
  }
}
