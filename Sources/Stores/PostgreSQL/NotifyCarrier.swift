package import HoldfastNodeBus

extension NodeBus {
  /// Opens the bus of a node over `LISTEN` and `NOTIFY` of its database.
  package convenience init(of node: DatabaseNode) {
    self.init(of: node.run) { _ throws(NodeBusFailure) in
      try NotifyCarrier.failing { () throws(DatabaseFailure) in try NotifyCarrier(node) }
    }
  }
}

/// A connection for `LISTEN` and `NOTIFY`, whose commits are not synced.
///
/// Within the transaction of a post, `NOTIFY` would hold a lock of the whole server until the commit is
/// synced.
private final class NotifyCarrier: NoteCarrier {
  private let node: DatabaseNode
  private let connection: Connection
  private let channel: String

  var descriptor: Int32 { connection.descriptor }

  init(_ node: DatabaseNode) throws(DatabaseFailure) {
    let connection = try node.connect()
    guard try node.renew(connection) else { throw .lost(detail: "there is no lease") }
    let rows = try connection.run([
      Command(
        """
        SELECT convert_to('holdfast_' || left(md5(current_schema()), 16), 'UTF8'),
          set_config('synchronous_commit', 'off', false)
        """)
    ])
    guard let name = rows[0].first?.columns[0] else { throw .lost(detail: "there is no schema") }
    channel = String(decoding: name, as: UTF8.self)
    _ = try connection.run([Command("LISTEN \(channel)")])
    (self.node, self.connection) = (node, connection)
  }

  func send(_ note: String) throws(NodeBusFailure) {
    try Self.failing { () throws(DatabaseFailure) in
      _ = try connection.run([
        Command(
          "SELECT pg_notify(convert_from($1, 'UTF8'), convert_from($2, 'UTF8'))",
          [.text(channel), .text(note)])
      ])
    }
  }

  func notes() throws(NodeBusFailure) -> [String] {
    guard connection.timeline >= node.timeline else {
      throw NodeBusFailure("a newer server was found")
    }
    return try Self.failing { () throws(DatabaseFailure) in try connection.notes() }
  }

  /// Calls a function whose errors are those of the database.
  static func failing<Value>(
    _ body: () throws(DatabaseFailure) -> Value
  ) throws(NodeBusFailure) -> Value {
    do throws(DatabaseFailure) {
      return try body()
    } catch {
      throw NodeBusFailure(error.detail)
    }
  }
}
