import HoldfastCore
import HoldfastMessageData

/// The SQL statements for the consumers of a shop.
///
/// Each consumer has its own queue, because consumers may start at different messages. A delivery
/// contains the key of its message. The text and edits are read from the timeline. If the message
/// was deleted, so is each of its deliveries: `is_edit` is 0 for a message, 1 for an edit and 2 for a
/// deletion, which has a position.
struct ConsumerTables {
  static let schema = """
    CREATE TABLE consumers(
      number INTEGER PRIMARY KEY, shop TEXT NOT NULL, name TEXT NOT NULL,
      acknowledged INTEGER NOT NULL, last INTEGER NOT NULL, UNIQUE (shop, name)) STRICT;
    CREATE TABLE deliveries(
      consumer INTEGER NOT NULL REFERENCES consumers ON DELETE CASCADE, number INTEGER NOT NULL,
      created_at INTEGER NOT NULL, id BLOB NOT NULL, is_edit INTEGER NOT NULL, epoch TEXT,
      offset INTEGER, PRIMARY KEY (consumer, number)) STRICT, WITHOUT ROWID;
    """

  /// The statements that bring the tables of version 1 to version 2.
  static let upgrade = """
    ALTER TABLE deliveries ADD COLUMN epoch TEXT;
    ALTER TABLE deliveries ADD COLUMN offset INTEGER;
    """

  private static let number = "(SELECT number FROM shops WHERE shop = ?1)"

  let database: Database
  let shop: ShopID
  /// Whether the file has the columns of version 2.
  var isCurrent = true

  private struct Row {
    var number: Int64
    var state: ConsumerState
  }

  /// Returns the consumers, sorted by name.
  func consumers() throws(StoreFailure) -> [ConsumerState] { try rows().map(\.state) }

  private func rows() throws(StoreFailure) -> [Row] {
    try database.query(
      "SELECT number, name, acknowledged, last FROM consumers WHERE shop = ? ORDER BY name",
      [.text(shop.text)]
    ) { row throws(StoreFailure) in
      guard let name = ConsumerName(try row.text(1)) else {
        throw .corrupt(detail: "A consumer of the shop \(shop) has an invalid name.")
      }
      return Row(
        number: try row.integer(0),
        state: ConsumerState(
          name: name, acknowledged: try row.unsigned(2), last: try row.unsigned(3)))
    }
  }

  private func row(_ name: ConsumerName) throws(StoreFailure) -> Row? {
    try rows().first { $0.state.name == name }
  }

  // MARK: Adding and removing

  /// Adds a consumer and its first deliveries, unless the consumer already exists.
  func add(_ name: ConsumerName, from start: ConsumerStart) throws(StoreFailure) {
    guard try row(name) == nil else { return }
    try requireEpoch(of: start)
    try database.run(
      "INSERT INTO consumers(shop, name, acknowledged, last) VALUES (?, ?, 0, 0)",
      [.text(shop.text), .text(name.text)])
    guard let added = try row(name) else { return }
    let (condition, values) = Self.condition(start)
    let count = try database.run(
      """
      INSERT INTO deliveries
      SELECT ?2, row_number() OVER (ORDER BY created_at, id), created_at, id, 0, NULL, NULL FROM (
        SELECT created_at, id FROM messages WHERE shop = \(Self.number) \(condition))
      """, [.text(shop.text), .integer(added.number)] + values)
    try set(last: count, of: added)
  }

  private static func condition(_ start: ConsumerStart) -> (String, [SQLValue]) {
    switch start {
    case .newest(let count):
      ("ORDER BY created_at DESC, id DESC LIMIT ?3", [.integer(count.asLimit)])
    case .all: ("", [])
    case .since(let time): ("AND created_at >= ?3", [.time(time)])
    case .after(let position):
      // An offset above Int64.max is stored as a negative number with the same bits.
      (
        "AND epoch = ?3 AND (offset < 0, offset) > (?4 < 0, ?4)",
        [.text(position.epoch), .integer(Int64(bitPattern: position.offset))]
      )
    }
  }

  private func requireEpoch(of start: ConsumerStart) throws(StoreFailure) {
    guard case .after(let position) = start else { return }
    let found = try database.query(
      "SELECT 1 FROM messages WHERE shop = \(Self.number) AND epoch = ?2 LIMIT 1",
      [.text(shop.text), .text(position.epoch)]
    ) { row throws(StoreFailure) in try row.integer(0) }
    guard !found.isEmpty else { throw .noEpoch(of: position) }
  }

  /// Removes a consumer and its deliveries. Returns false if the consumer does not exist.
  func remove(_ name: ConsumerName) throws(StoreFailure) -> Bool {
    try database.run(
      "DELETE FROM consumers WHERE shop = ? AND name = ?", [.text(shop.text), .text(name.text)])
      == 1
  }

  private func set(last: Int, of row: Row) throws(StoreFailure) {
    try database.run(
      "UPDATE consumers SET last = ? WHERE number = ?", [.integer(last), .integer(row.number)])
  }

  // MARK: Deliveries

  /// Adds a delivery to each consumer for each message that a commit removed, inserted or edited.
  func add(_ counts: TimelineCounts) throws(StoreFailure) {
    let commit = counts.commit
    guard !commit.isEmpty else { return }
    for row in try rows() {
      var last = Int64(row.state.last)
      for (key, deletion) in zip(commit.deleted, counts.deletions) {
        last += 1
        let offset = deletion.changed.map { Int64(bitPattern: $0.offset) }
        try database.run(
          "INSERT INTO deliveries VALUES (?, ?, ?, ?, 2, ?, ?)",
          [
            .integer(row.number), .integer(last), .time(key.createdAt), .uuid(key.id),
            deletion.changed.map { .text($0.epoch) } ?? .null, offset.map { .integer($0) } ?? .null,
          ])
      }
      for (ids, isEdit) in [(commit.inserted, Int64(0)), (commit.edited, 1)] {
        for id in ids {
          last += 1
          try database.run(
            """
            INSERT INTO deliveries SELECT ?2, ?3, created_at, id, ?5, NULL, NULL FROM (
              SELECT created_at, id FROM new_ids WHERE shop = \(Self.number) AND id = ?4 UNION ALL
              SELECT created_at, id FROM ids WHERE shop = \(Self.number) AND id = ?4)
            """,
            [
              .text(shop.text), .integer(row.number), .integer(last), .uuid(id), .integer(isEdit),
            ])
        }
      }
      try set(last: Int(last), of: row)
    }
  }

  func deliveries(
    to name: ConsumerName, after number: UInt64, limit: Int
  ) throws(StoreFailure) -> [ShopDelivery] {
    guard let row = try row(name) else { return [] }
    let found = try read(row, after: number, limit: limit)
    guard isCurrent, found.contains(where: \.lacksPosition) else { return found }
    // A delivery of a message that was deleted later has no position of its own.
    let deletions = try deletions(of: row, after: number)
    return found.map { delivery in
      guard delivery.lacksPosition, let deletion = deletions[delivery.id] else { return delivery }
      return ShopDelivery(number: delivery.number, content: .deletion(deletion))
    }
  }

  /// Returns the deletions in the queue of a consumer after a delivery.
  private func deletions(
    of row: Row, after number: UInt64
  ) throws(StoreFailure) -> [MessageID: DeletedMessage] {
    let found = try database.query(
      "SELECT id, epoch, offset FROM deliveries WHERE consumer = ? AND number > ? AND is_edit = 2",
      [.integer(row.number), .integer(Int64(clamping: number))]
    ) { row throws(StoreFailure) in
      DeletedMessage(id: try row.uuid(0), changed: try row.position(1))
    }
    return Dictionary(found.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  private func read(
    _ row: Row, after number: UInt64, limit: Int
  ) throws(StoreFailure) -> [ShopDelivery] {
    try database.query(
      """
      SELECT \(TimelineTables.columns(of: "m", isCurrent: isCurrent)), d.number, d.is_edit, d.id,
        \(isCurrent ? "d.epoch, d.offset" : "NULL, NULL")
      FROM deliveries AS d LEFT JOIN messages AS m
        ON m.shop = \(Self.number) AND m.created_at = d.created_at AND m.id = d.id
      WHERE d.consumer = ?2 AND d.number > ?3 ORDER BY d.number LIMIT ?4
      """,
      [
        .text(shop.text), .integer(row.number), .integer(Int64(clamping: number)),
        .integer(limit.asLimit),
      ]
    ) { row throws(StoreFailure) in
      let (number, kind) = (try row.unsigned(12), try row.integer(13))
      guard kind < 2, try row.optionalUUID(0) != nil else {
        let deletion = DeletedMessage(id: try row.uuid(14), changed: try row.position(15))
        return ShopDelivery(number: number, content: .deletion(deletion))
      }
      let message = try TimelineTables.message(row, of: shop)
      return ShopDelivery(number: number, message: message, isEdit: kind == 1)
    }
  }

  func acknowledge(_ name: ConsumerName, through number: UInt64) throws(StoreFailure) {
    guard let row = try row(name) else { return }
    guard number <= row.state.last else {
      throw .noDelivery(number, last: row.state.last)
    }
    guard number > row.state.acknowledged else { return }
    let values: [SQLValue] = [.integer(row.number), .integer(Int64(number))]
    try database.run("DELETE FROM deliveries WHERE consumer = ?1 AND number <= ?2", values)
    try database.run("UPDATE consumers SET acknowledged = ?2 WHERE number = ?1", values)
  }
}

extension ShopDelivery {
  /// Whether it is a deletion of unknown position.
  fileprivate var lacksPosition: Bool {
    if case .deletion(let deletion) = content { deletion.changed == nil } else { false }
  }
}
